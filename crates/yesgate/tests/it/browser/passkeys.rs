//! Passkeys: enrolling one, signing exactly one call with it, and signing in with it.

use serde_json::{Value, json};
use yesgate_testkit::browser::authenticator::Verification;
use yesgate_testkit::browser::page::Page;
use yesgate_testkit::{Browser, Device, eventually};

use super::{Play, assert_sound, read};

/// Has the agent ask for what only a key says yes to, as soon as somebody has one.
async fn ask_to_pay(play: &Play, amount: u32) -> String {
    let arguments = json!({"amount": amount, "currency": "EUR", "to": "ACME"});
    eventually("somebody has a key", async || {
        let held = play.agent.call("notes", "pay", arguments.clone()).await;
        (held.status == 202).then(|| held.text_of("intent_id"))
    })
    .await
}

fn enrol(page: &Page, play: &Play, label: &str) {
    page.goto(&play.gateway.page("/keys"));
    page.fill("What you call it", label);
    page.click("button", "Enrol a passkey");
}

/// X1, REN: a passkey is enrolled on the page, signs one call and no other, and the yes is `verified` and stored whole;
/// without a finger on it nothing is decided. A second key needs the first, and it signs its owner in.
#[tokio::test]
async fn a_passkey_signs_exactly_one_call() {
    let play = Play::new();
    let browser = Browser::start();
    let page = play.signed_in(&browser.context(Device::desktop()));
    let refused =
        play.agent.call("notes", "pay", json!({"amount": 1, "currency": "EUR", "to": "ACME"})).await;
    assert_eq!(refused.body["error"], "no_approver_reachable", "{}", refused.text);

    let device = page.authenticator();
    enrol(&page, &play, "my laptop");
    page.wait_for_text("my laptop");
    assert_sound(&page);
    page.shot("keys");

    let intent = ask_to_pay(&play, 5).await;
    page.goto(&play.address(&intent));
    read(&page);
    // A device that cannot tell whose finger it is signs nothing that counts.
    device.verification(Verification::Fails);
    page.click("button", "Approve with a passkey");
    page.wait_for_text("The passkey was not used");
    assert_eq!(play.stage.shown(&intent)["state"], "pending");
    device.verification(Verification::Succeeds);
    assert_sound(&page);
    page.click("button", "Approve with a passkey");
    play.becomes(&intent, "done").await;
    let decision = play.stage.shown(&intent)["decision"].clone();
    assert_eq!((&decision["assurance"], &decision["by"]), (&json!("verified"), &json!("owner on a page")));
    assert_eq!(decision["proof"]["evidence"]["kind"], "passkey", "{decision:#}");
    page.wait_for_text("It ran once");

    // What was signed for one call is no yes to another.
    let other = ask_to_pay(&play, 500).await;
    page.goto(&play.address(&other));
    read(&page);
    let assertion = Value::from(decision["proof"]["evidence"]["assertion"].as_str().unwrap());
    let nonce = decision["proof"]["evidence"]["nonce"].clone();
    page.evaluate(&format!(
        "(() => {{ const form = document.querySelector('form.yes'); form.elements.assertion.value = {assertion}; \
         form.elements.nonce.value = {nonce}; const said = document.createElement('input'); \
         said.name = 'answer'; said.value = 'approve'; form.append(said); form.submit(); }})()"
    ));
    page.wait_for_text("did not sign this call");
    assert_eq!(play.stage.shown(&other)["state"], "pending");

    // Browsers complain of every refusal; of this one rightly.
    drop(page.troubles());

    // Signing out, and in again by the passkey alone.
    page.goto(&play.gateway.page("/"));
    page.click("button", "Sign out");
    page.wait_for_path("/sign-in");
    assert_sound(&page);
    page.shot("sign-in-passkey");
    page.click("button", "Sign in with a passkey");
    page.wait_for_path("/");
    page.assert_untroubled();
    assert_eq!(device.credentials().len(), 1);

    // THREATS §4.3: whoever has the session and not the key enrols nothing.
    device.verification(Verification::Fails);
    enrol(&page, &play, "the agent's own");
    page.wait_for_text("The passkey was not used");
    page.goto(&play.gateway.page("/keys"));
    assert_eq!(page.count(".line"), 1);
    play.finish(browser, 1);
}
