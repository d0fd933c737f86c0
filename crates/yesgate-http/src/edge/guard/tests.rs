//! How a guard is set up, and what a page may that a call may not. The headers themselves are tried on the
//! wire, in `edge/tests/browsers.rs`.

use std::net::SocketAddr;

use http::Request;
use http::request::Parts;

use super::{Guard, GuardError, Refused};

const NOTHING: [&str; 0] = [];

fn guard(bound: &str, own: &[&str], origins: &[&str]) -> Guard {
    Guard::new(bound.parse::<SocketAddr>().unwrap(), own, origins).unwrap()
}

fn request(headers: &[(&str, &str)]) -> Parts {
    let mut request = Request::get("/");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap().into_parts().0
}

#[track_caller]
fn check(guard: &Guard, headers: &[(&str, &str)], expected: Result<(), Refused>) {
    assert_eq!(guard.check(&request(headers)).map(drop), expected, "{headers:?}");
}

#[test]
fn a_listener_for_everybody_has_the_names_it_was_given_and_no_others() {
    let nameless = guard("0.0.0.0:8080", &NOTHING, &NOTHING);
    for host in ["localhost", "localhost:8080", "127.0.0.1:8080", "[::1]:8080", "0.0.0.0:8080"] {
        check(&nameless, &[("host", host)], Err(Refused::ForeignHost));
    }
    let named = guard("0.0.0.0:8080", &["gate.example.com:8443"], &NOTHING);
    check(&named, &[("host", "gate.example.com:8443")], Ok(()));
    check(&named, &[("host", "gate.example.com:8080")], Err(Refused::ForeignHost));
    check(&named, &[("host", "gate.example.com")], Err(Refused::ForeignHost));
    let page = |origin| [("host", "gate.example.com:8443"), ("origin", origin)];
    check(&named, &page("https://gate.example.com:8443"), Ok(()));
    check(&named, &page("https://gate.example.com"), Err(Refused::Origin));
    check(&named, &page("http://localhost:8080"), Err(Refused::Origin));
}

#[test]
fn an_allowed_page_may_have_a_scheme_of_its_own() {
    let guard = guard("127.0.0.1:80", &NOTHING, &["vscode-file://vscode-app"]);
    let page = |origin| [("host", "localhost"), ("origin", origin)];
    check(&guard, &page("vscode-file://vscode-app"), Ok(()));
    check(&guard, &page("vscode-file://other"), Err(Refused::Origin));
    check(&guard, &page("https://vscode-app"), Err(Refused::Origin));
    // At port 80 the port goes without saying.
    check(&guard, &page("http://localhost"), Ok(()));
    check(&guard, &page("http://localhost:80"), Ok(()));
}

#[test]
fn a_setting_that_says_nothing_clear_is_an_error_and_never_everything() {
    let bound: SocketAddr = "127.0.0.1:80".parse().unwrap();
    for name in ["", "*", "*.example.com", "https://gate.example.com", "gate.example.com.", "a:b", "a/"] {
        let error = Guard::new(bound, &[name], &NOTHING).unwrap_err();
        assert_eq!(error, GuardError::Name(name.to_owned()));
    }
    for origin in ["", "*", "null", "app.example.com", "https://", "https://*", "https://a/", "://a", "1://a"]
    {
        let error = Guard::new(bound, &NOTHING, &[origin]).unwrap_err();
        assert_eq!(error, GuardError::Origin(origin.to_owned()));
    }
}

#[test]
fn a_page_may_be_opened_by_a_link_and_a_call_may_not() {
    let guard = guard("127.0.0.1:80", &NOTHING, &NOTHING);
    let link = [
        ("host", "localhost"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "navigate"),
        ("sec-fetch-dest", "document"),
    ];
    check(&guard, &link, Err(Refused::CrossSite));
    let open = |parts: &Parts| guard.check_page(parts).map(drop);
    assert_eq!(open(&request(&link)), Ok(()));
    // Not as a picture or a frame, not to change something, not with another name or page.
    assert_eq!(open(&request(&link[..2])), Err(Refused::CrossSite));
    assert_eq!(open(&request(&link[..3])), Err(Refused::CrossSite));
    let mut post = request(&link);
    post.method = http::Method::POST;
    assert_eq!(open(&post), Err(Refused::CrossSite));
    assert_eq!(open(&request(&[("host", "evil.example")])), Err(Refused::ForeignHost));
    let with_page = [("host", "localhost"), ("origin", "https://evil.example")];
    assert_eq!(open(&request(&with_page)), Err(Refused::Origin));
}

/// O-D10: what every client may call, pages of whatever origin may call too; the name is looked at all the same.
#[test]
fn what_is_open_looks_at_the_name_and_not_at_the_page() {
    let guard = guard("127.0.0.1:8080", &["gate.example.com"], &NOTHING);
    let open = |headers: &[(&str, &str)]| guard.check_open(&request(headers));
    for origin in ["https://evil.example", "null", "http://localhost:1", "not an origin"] {
        assert_eq!(open(&[("host", "gate.example.com"), ("origin", origin)]), Ok(()), "{origin}");
    }
    assert_eq!(open(&[("host", "gate.example.com"), ("sec-fetch-site", "cross-site")]), Ok(()));
    assert_eq!(open(&[("host", "evil.example")]), Err(Refused::ForeignHost));
    assert_eq!(open(&[]), Err(Refused::BadHost));
    assert_eq!(open(&[("host", "localhost"), ("host", "localhost")]), Err(Refused::BadHost));
    assert_eq!(open(&[("host", "localhost"), ("content-encoding", "gzip")]), Err(Refused::Encoded));
}
