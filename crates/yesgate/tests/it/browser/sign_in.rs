//! Coming in with a link.

use yesgate_testkit::{Browser, Device};

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
