//! Coming in with a link.

use serde_json::json;
use yesgate_testkit::{Browser, Device, MailServer, OIDC_SECRET, OidcServer, ServeStage};

use super::{Play, assert_sound};

/// The link of the first start is used by the button, not by opening it, and once; its code leaves the address.
#[test]
fn the_first_owner_signs_in_with_the_link_that_the_gateway_prints() {
    let play = Play::new();
    let link = play.gateway.first_link();
    let browser = Browser::start();
    let ann = browser.context(Device::phone());
    for _ in 0..2 {
        let page = ann.page();
        assert_eq!(page.goto(&link), 200);
        assert_eq!(page.url(), play.gateway.page("/sign-in"), "nobody reads the code over a shoulder");
        assert_sound(&page);
        assert!(ann.cookies().is_empty(), "opening it changes nothing");
    }
    let page = ann.page();
    page.goto(&link);
    page.click("button", "Sign in");
    page.wait_for_path("/");
    assert_sound(&page);
    page.shot("inbox-empty");
    assert_eq!(ann.cookies().len(), 1);

    let page = browser.context(Device::desktop()).page();
    page.goto(&link);
    page.click("button", "Sign in");
    page.wait_for_text("That link was used already");
    play.finish(browser, 0);
}

/// O-S1, O-K4, O-K5: with a mail server and a provider the page has all ways in, each without a barrier, and each works in a
/// real browser: the link in the browser that asked, and the way to the provider and back.
#[test]
fn people_come_in_by_mail_and_by_way_of_a_provider() {
    let (mail, provider) = (MailServer::start(), OidcServer::start());
    let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate")).env("OIDC_SECRET", OIDC_SECRET);
    let config = format!(
        "[mail]\nfrom = \"gate@example.org\"\nvia = \"{}\"\n[sign_in.oidc]\nissuer = \"{}\"\nclient_id = \"yesgate\"\n\
         client_secret = \"${{OIDC_SECRET}}\"\nname = \"the house\"\n{}",
        mail.url(),
        provider.issuer(),
        stage.child("notes", &[])
    );
    let stage = stage.config(&config);
    stage.stage().yesgate(&["people", "add", "alice", "--mail", "alice@example.org"]).ok();
    let gateway = stage.start();
    let agent = gateway.rest();
    let play = Play { stage, gateway, agent };
    provider.serves(&play.gateway.page(""));
    provider.knows(json!({"sub": "a", "email": "alice@example.org", "email_verified": true}));
    let browser = Browser::start();

    let context = browser.context(Device::phone());
    let page = context.page();
    page.goto(&play.gateway.page("/sign-in"));
    assert_sound(&page);
    page.fill("Your mail address", "alice@example.org");
    page.click("button", "Send me a link");
    page.wait_for_text("a link is on its way there");
    assert_sound(&page);
    let link = mail.next().link();
    let elsewhere = browser.context(Device::desktop()).page();
    elsewhere.goto(&link);
    elsewhere.click("button", "Sign in");
    elsewhere.wait_for_text("asked for in another browser");
    assert_sound(&elsewhere);
    page.goto(&link);
    page.click("button", "Sign in");
    page.wait_for_path("/");
    assert_eq!(context.cookies().len(), 1, "what bound the link is forgotten");

    let context = browser.context(Device::desktop());
    let page = context.page();
    page.goto(&play.gateway.page("/sign-in"));
    page.click("button", "Sign in with the house");
    page.wait_for_path("/");
    // It was elsewhere, as it should.
    page.assert_accessible();
    play.finish(browser, 0);
}
