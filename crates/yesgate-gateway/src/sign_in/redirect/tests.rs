//! What comes back through the browser is read strictly.

use super::super::error::SignInError;
use super::{Answer, Redirected};

#[test]
fn a_redirect_is_read_whole_or_not_at_all() {
    let read =
        Redirected::parse(" http://127.0.0.1:1/callback?code=c%20d&state=s&iss=https%3A%2F%2Fi\n").unwrap();
    assert_eq!((read.state.as_str(), read.issuer.as_deref()), ("s", Some("https://i")));
    assert!(read.answer == Answer::Code("c d".into()));
    for wrong in [
        "",
        "callback?code=c&state=s",
        "http://127.0.0.1/callback",
        "http://127.0.0.1/callback?code=c",
        "http://127.0.0.1/callback?state=s",
        "http://127.0.0.1/callback?code=c&state=s&state=t",
        "http://127.0.0.1/callback?code=c&code=d&state=s",
        "http://127.0.0.1/callback?code=c&state=s&iss=a&iss=a",
        "http://127.0.0.1/callback?code=c&error=e&state=s",
    ] {
        assert_eq!(Redirected::parse(wrong).unwrap_err(), SignInError::NotOurs, "{wrong}");
    }
}

#[test]
fn a_redirect_prints_no_code() {
    let read = Redirected::parse("http://127.0.0.1/callback?code=hush&state=hush").unwrap();
    assert!(!format!("{read:?}").contains("hush"));
}
