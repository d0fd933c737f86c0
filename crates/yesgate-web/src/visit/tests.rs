//! Where a request comes from, and what a browser is given to hold.

use http::HeaderMap;
use http::header::{COOKIE, HOST, HeaderName, HeaderValue, ORIGIN};
use yesgate_core::person::SessionSecret;

use super::{Address, SEC_FETCH_SITE};

fn headers(pairs: &[(HeaderName, &'static str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(name, HeaderValue::from_static(value));
    }
    headers
}

fn address(host: &'static str, public: Option<&str>) -> Address {
    Address::of(&headers(&[(HOST, host)]), public).unwrap()
}

#[test]
fn the_operators_address_holds_for_its_own_name_only() {
    let public = Some("https://gate.example.org/");
    assert_eq!(address("gate.example.org", public).origin, "https://gate.example.org");
    assert_eq!(address("127.0.0.1:8787", public).origin, "http://127.0.0.1:8787");
    assert_eq!(address("localhost:8787", None).origin, "http://localhost:8787");
    assert_eq!(Address::of(&headers(&[]), public), None);
}

/// O-K3: cross-site, without an origin, or with two of them, no form counts.
#[test]
fn a_form_comes_from_a_page_of_ours_or_not_at_all() {
    let ours = address("localhost:8787", None);
    let sent = |pairs: &[(HeaderName, &'static str)]| ours.sent(&headers(pairs));
    assert!(sent(&[(ORIGIN, "http://localhost:8787")]));
    assert!(sent(&[(ORIGIN, "http://localhost:8787"), (SEC_FETCH_SITE, "same-origin")]));
    for bad in
        ["null", "http://localhost", "https://localhost:8787", "http://localhost:8788", "http://evil.example"]
    {
        assert!(!sent(&[(ORIGIN, bad)]), "{bad}");
    }
    assert!(!sent(&[]));
    assert!(!sent(&[(SEC_FETCH_SITE, "same-origin")]));
    assert!(!sent(&[(ORIGIN, "http://localhost:8787"), (SEC_FETCH_SITE, "cross-site")]));
    assert!(!sent(&[(ORIGIN, "http://localhost:8787"), (ORIGIN, "http://localhost:8787")]));
}

/// O-K10: the cookie's attributes, on https and on a plain loopback.
#[test]
fn a_cookie_is_as_closed_as_its_address_allows() {
    let secret = SessionSecret::presented("s");
    let held = |address: Address| address.hold(&secret).unwrap().1.to_str().unwrap().to_owned();
    assert_eq!(
        held(address("gate.example.org", Some("https://gate.example.org"))),
        "__Host-yesgate=s; Max-Age=2592000; Path=/; HttpOnly; SameSite=Lax; Secure"
    );
    assert_eq!(
        held(address("localhost:8787", None)),
        "yesgate-8787=s; Max-Age=2592000; Path=/; HttpOnly; SameSite=Lax"
    );
    let found = address("localhost:8787", None)
        .secret(&headers(&[(COOKIE, "a=b; yesgate-8788=no; yesgate-8787=yes")]));
    assert_eq!(found.unwrap().expose(), "yes");
}
