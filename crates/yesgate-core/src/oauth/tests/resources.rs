//! Resources and scopes.

use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

use super::super::{Resource, Resources, Scopes};
use super::resources;

/// O-D6: the same address has one form, however it is written.
#[test]
fn an_address_has_one_form() {
    let table = [
        ("https://h.example", "https://h.example"),
        ("https://h.example/", "https://h.example"),
        ("HTTPS://H.Example/", "https://h.example"),
        ("https://h.example:443/api/mcp", "https://h.example/api/mcp"),
        ("http://h.example:80", "http://h.example"),
        ("http://h.example:443", "http://h.example:443"),
        ("https://h.example:8443/", "https://h.example:8443"),
        ("https://h.example/api/mcp/", "https://h.example/api/mcp"),
        ("https://h.example/API/mcp", "https://h.example/API/mcp"),
        ("http://127.0.0.1:8787/mcp", "http://127.0.0.1:8787/mcp"),
        ("http://[::1]:8787/mcp", "http://[::1]:8787/mcp"),
        ("http://[0:0::1]/mcp", "http://[::1]/mcp"),
    ];
    for (text, form) in table {
        assert_eq!(Resource::parse(text).unwrap().as_str(), form, "{text}");
    }
}

/// O-A4: what is no plain address, or could be read in two ways, is none.
#[test]
fn what_is_no_address_is_refused() {
    let texts = [
        "",
        "h.example",
        "/api/mcp",
        "ftp://h.example/",
        "https://",
        "https:///path",
        "https://h.example/#part",
        "https://h.example#part",
        "https://h.example/?a=b",
        "https://h.example?a=b",
        "https://user@h.example/",
        "https://h.example@evil.example/",
        "https://h.example\\@evil.example/",
        "https://h.example/a/../b",
        "https://h.example/a/%2e%2E/b",
        "https://h.example//",
        "https://h.example/a//b",
        "https://h.example/a//",
        "https://h.example:0/",
        "https://h.example:99999/",
        "https://h.example /",
        " https://h.example/",
        "https://h.example/\n",
        "https://0x7f000001/",
        "https://hé.example/",
    ];
    for text in texts {
        assert!(Resource::parse(text).is_err(), "{text:?}");
    }
}

/// O-D6: a token for one address is good there and below, and nowhere else.
#[test]
fn a_resource_covers_what_lies_below_it() {
    let covers =
        |one: &str, other: &str| Resource::parse(one).unwrap().covers(&Resource::parse(other).unwrap());
    for (one, other) in [
        ("https://h.example", "https://h.example"),
        ("https://h.example/", "https://h.example/api/mcp"),
        ("https://h.example/mcp", "https://h.example/mcp/"),
        ("https://h.example/mcp/", "https://h.example/mcp/files"),
        ("https://H.EXAMPLE:443/mcp", "https://h.example/mcp"),
    ] {
        assert!(covers(one, other), "{one} {other}");
    }
    for (one, other) in [
        ("https://h.example/mcp", "https://h.example/mcp-other"),
        ("https://h.example/mcp", "https://h.example/mc"),
        ("https://h.example/mcp", "https://h.example"),
        ("https://h.example/mcp/a", "https://h.example/mcp/b"),
        ("https://h.example/mcp", "https://h.example/MCP"),
        ("https://h.example", "http://h.example"),
        ("https://h.example", "https://h.example:8443"),
        ("https://h.example", "https://h.example.evil.example"),
        ("https://h.exampl", "https://h.example"),
        ("http://127.0.0.1:80", "http://127.0.0.1:8080"),
    ] {
        assert!(!covers(one, other), "{one} {other}");
    }
}

/// O-A4: some resources cover others where each of those is covered by one; nothing is covered by none.
#[test]
fn resources_cover_one_by_one() {
    let two = resources(&["https://h.example/mcp/a", "https://h.example/mcp/b"]);
    assert!(two.cover_all(&resources(&["https://h.example/mcp/b"])));
    assert!(two.cover_all(&two) && two.cover_all(&Resources::default()));
    assert!(!two.cover_all(&resources(&["https://h.example/mcp/a", "https://h.example/mcp/c"])));
    assert!(!Resources::default().cover_all(&two));
    let text = serde_json::to_string(&two).unwrap();
    assert_eq!(text, r#"["https://h.example/mcp/a","https://h.example/mcp/b"]"#);
    assert_eq!(serde_json::from_str::<Resources>(&text).unwrap(), two);
    assert!(serde_json::from_str::<Resources>(r#"["javascript:alert(1)"]"#).is_err());
}

proptest! {
    /// O-D6: the one form is read as itself, covers itself, and no text makes us stumble.
    #[test]
    fn the_form_of_an_address_is_its_own(text in "(https?|HTTPS)://[a-zA-Z0-9.:-]{1,12}(/[a-z%/.?#]{0,3}){0,4}|\\PC{0,20}") {
        if let Ok(resource) = Resource::parse(&text) {
            prop_assert_eq!(&Resource::parse(resource.as_str()).unwrap(), &resource);
            prop_assert!(resource.covers(&resource));
            prop_assert!(!resource.as_str().ends_with('/'));
        }
    }

    /// O-D6: whatever a resource covers is its own origin.
    #[test]
    fn nothing_covers_another_origin(host in "[a-c]{1,3}", other in "[a-c]{1,3}", port in 1_u16..100, path in "(/[a-c]{1,2}){0,2}") {
        let one = Resource::parse(&format!("https://{host}.example:{port}{path}")).unwrap();
        let two = Resource::parse(&format!("https://{other}.example:{port}{path}/x")).unwrap();
        prop_assert_eq!(one.covers(&two), host == other);
        prop_assert!(!two.covers(&one));
    }
}

/// O-A5: a set of scopes is read from words between spaces; what can be no scope is passed over.
#[test]
fn scopes_are_words() {
    let read = |text: &str| Scopes::read(text).to_string();
    assert_eq!(read("b a  a"), "a b");
    assert_eq!(read(""), "");
    assert_eq!(read("a\tb \"c\" d\\e é ok"), "ok");
    assert!(Scopes::read("  ").is_empty());
    let (some, more) = (Scopes::read("a b"), Scopes::read("b c"));
    assert_eq!(some.within(&more), Scopes::read("b"));
    assert_eq!(some.and(&more), Scopes::read("a b c"));
    assert!(Scopes::read("b").is_within(&some) && !more.is_within(&some));
    assert!(Scopes::default().is_within(&some));
    assert!(some.has(&"a".parse().unwrap()) && !some.has(&"c".parse().unwrap()));
    assert_eq!(serde_json::to_string(&some).unwrap(), r#""a b""#);
    assert_eq!(serde_json::from_str::<Scopes>(r#""b a""#).unwrap(), some);
}
