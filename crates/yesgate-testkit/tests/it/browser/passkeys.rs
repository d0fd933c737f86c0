//! Passkeys without a finger: keys are made and used on a page at `localhost`, as a sign-in will do it.

use serde_json::Value;
use yesgate_testkit::browser::page::Page;
use yesgate_testkit::{Browser, Device, Presence, Verification};

use super::site;

const PAGE: &str = "<title>Passkeys</title><main><h1>Passkeys</h1></main>";

/// Makes a key, and gives back its id, or the name of the error.
#[track_caller]
fn create(page: &Page) -> Value {
    page.evaluate(
        "navigator.credentials.create({publicKey: {
            challenge: new Uint8Array(32), rp: {name: 'Yesgate'},
            user: {id: new Uint8Array(16), name: 'ann', displayName: 'Ann'},
            pubKeyCredParams: [{type: 'public-key', alg: -7}, {type: 'public-key', alg: -257}],
            authenticatorSelection: {residentKey: 'required', userVerification: 'required'},
        }}).then(made => made.id, error => error.name)",
    )
}

/// Uses a key, and gives back its id and the flags that were signed, or the name of the error.
#[track_caller]
fn assert_with(page: &Page, timeout_ms: u32) -> Value {
    page.evaluate(&format!(
        "navigator.credentials.get({{publicKey: {{
            challenge: new Uint8Array(32), userVerification: 'required', timeout: {timeout_ms},
        }}}}).then(used => [used.id, new Uint8Array(used.response.authenticatorData)[32] & 5], error => error.name)"
    ))
}

/// What the flags say where somebody was present (1) and was the owner (4).
const PRESENT_AND_VERIFIED: u8 = 5;

const LONG: u32 = 20_000;

#[test]
fn a_passkey_is_made_and_used_and_lost() {
    let browser = Browser::start();
    let ann = browser.context(Device::phone());
    let url = site(PAGE);
    let page = ann.page();
    page.goto(&url);
    let authenticator = page.authenticator();

    let key = create(&page);
    let credentials = authenticator.credentials();
    assert_eq!(credentials.len(), 1, "{key}");
    assert_eq!(credentials[0]["rpId"], "localhost");
    assert_eq!(assert_with(&page, LONG), serde_json::json!([key, PRESENT_AND_VERIFIED]));

    authenticator.verification(Verification::Fails);
    assert_eq!(assert_with(&page, LONG), "NotAllowedError");
    authenticator.verification(Verification::Succeeds);
    authenticator.presence(Presence::Withheld);
    assert_eq!(assert_with(&page, 500), "NotAllowedError", "nobody came in time");
    authenticator.presence(Presence::Given);
    assert_eq!(assert_with(&page, LONG)[0], key);

    // Another tab has the key only when it is given to it.
    let other = ann.page();
    other.goto(&url);
    let second = other.authenticator();
    assert_eq!(second.credentials(), Vec::<Value>::new());
    second.add(&credentials[0]);
    assert_eq!(assert_with(&other, LONG)[0], key);

    authenticator.clear();
    assert_eq!(authenticator.credentials(), Vec::<Value>::new());
    assert_eq!(assert_with(&page, LONG), "NotAllowedError");
    page.assert_untroubled();
    other.assert_untroubled();
}
