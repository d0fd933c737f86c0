//! Addresses: what is taken is read by everybody alike, and what is not says why.

use super::{AddressError, Authority, HttpUrl, Origin};

#[track_caller]
fn check(text: &str, expected: Result<(&str, bool), AddressError>) {
    let found = text.parse::<HttpUrl>();
    let found = found.map(|url| (url.origin().to_string(), url.origin().authority().is_loopback()));
    assert_eq!(found, expected.map(|(origin, loopback)| (origin.to_owned(), loopback)), "{text}");
}

#[test]
fn a_url_leads_to_its_origin() {
    check("https://api.example.org/mcp?x=1&y=%20", Ok(("https://api.example.org", false)));
    check("https://API.Example.org:443", Ok(("https://api.example.org", false)));
    check("https://api.example.org:80/", Ok(("https://api.example.org:80", false)));
    check("http://my_server:3000/mcp", Ok(("http://my_server:3000", false)));
    check("http://10.0.0.7/..a/.b/c..", Ok(("http://10.0.0.7", false)));
    check("http://[2001:DB8::1]:8080/mcp", Ok(("http://[2001:db8::1]:8080", false)));
}

/// Only what can be nothing else is this machine.
#[test]
fn loopback_is_only_what_cannot_be_elsewhere() {
    for loopback in ["localhost", "LOCALHOST", "127.0.0.1", "127.9.9.9", "[::1]", "[0:0:0:0:0:0:0:1]"] {
        assert!(format!("{loopback}:80").parse::<Authority>().unwrap().is_loopback(), "{loopback}");
    }
    for other in
        ["localhost.example.org", "x.localhost", "0.0.0.0", "[::]", "[::ffff:127.0.0.1]", "128.0.0.1"]
    {
        assert!(!other.parse::<Authority>().unwrap().is_loopback(), "{other}");
    }
}

#[test]
fn what_parsers_could_read_differently_is_refused() {
    for host in [
        "",
        "2130706433",
        "0x7f.1",
        "0x7f000001",
        "127.1",
        "127.0.0.01",
        "1.2.3.4.5",
        "example.org.",
        ".org",
        "a..b",
        "-a.org",
        "a-.org",
        "a b",
        "a%41",
        "a\\b",
        "[::1",
        "[::1%25eth0]",
        "[::1]x",
        "[a.org]",
        "*",
        "*.org",
        "a\tb",
    ] {
        check(&format!("https://{host}/"), Err(AddressError::Host));
    }
    for port in ["", "0", "65536", "+1", "-1", "1a", "1:1", " 1"] {
        check(&format!("https://a.org:{port}/"), Err(AddressError::Port));
    }
    for path in ["/.", "/..", "/a/../b", "/a/./b", "/%2e%2E/b", "/.%2e"] {
        check(&format!("https://a.org{path}"), Err(AddressError::DotSegment));
    }
    for tail in ["/ a", "/\\", "/{a}", "/${A}", "/\"", "/%4", "/%zz", "/%", "/a\n", "/<", "/^"] {
        check(&format!("https://a.org{tail}"), Err(AddressError::Character));
    }
    check("https://a.org/?a=../b", Ok(("https://a.org", false)));
    check("https://a.org/#b", Err(AddressError::Fragment));
    check("https://user@a.org/", Err(AddressError::UserInfo));
    check("https://user:secret@a.org/", Err(AddressError::UserInfo));
    check("https://bücher.example/", Err(AddressError::NotAscii));
    check("https://a.org/ü", Err(AddressError::NotAscii));
    for text in ["", "a.org", "//a.org", "ftp://a.org", "HTTPS://a.org", " https://a.org", "https:/a.org"] {
        check(text, Err(AddressError::Scheme));
    }
    check(&format!("https://a.org/{}", "a".repeat(2048)), Err(AddressError::Long));
    check(&format!("https://{}/", "a.".repeat(130) + "org"), Err(AddressError::Host));
}

#[test]
fn an_origin_is_nothing_more_and_has_one_form() {
    let origin = |text: &str| text.parse::<Origin>().map(|origin| origin.to_string());
    for text in ["https://App.Example.org", "https://app.example.org/", "https://app.example.org:443"] {
        assert_eq!(origin(text).as_deref(), Ok("https://app.example.org"));
    }
    for text in ["https://a.org/x", "https://a.org//", "https://a.org?x", "https://a.org/#"] {
        assert_eq!(origin(text), Err(AddressError::NotAnOrigin), "{text}");
    }
}

#[test]
fn a_host_keeps_the_port_that_was_written() {
    let host = |text: &str| text.parse::<Authority>().map(|host| host.to_string());
    assert_eq!(host("Gate.Internal:443").as_deref(), Ok("gate.internal:443"));
    assert_eq!(host("gate").as_deref(), Ok("gate"));
    assert_eq!(host("[::1]:8787").as_deref(), Ok("[::1]:8787"));
    assert_eq!(host("https://gate"), Err(AddressError::NotAHost));
    assert_eq!(host("gate/x"), Err(AddressError::NotAHost));
    assert_eq!(host("::1"), Err(AddressError::Host));
}
