//! What headers say, and when it is not what the body says.

use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};

use super::{accepts, check_headers, is_json};
use crate::front::message::Fields;
use crate::raw::raw;

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(HeaderName::from_static(name), HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    headers
}

#[test]
fn the_named_thing_is_mirrored_for_the_methods_that_name_one() {
    let check = |method: &str, params: &str, name: Option<&str>| {
        let params = raw(params.into());
        let fields = Fields::read(Some(&params)).unwrap();
        let mut pairs = vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
        pairs.extend(name.map(|name| ("mcp-name", name)));
        check_headers(&headers(&pairs), method, &fields, "2026-07-28")
            .map_err(|mismatch| mismatch.to_string())
    };
    assert!(check("tools/list", "{}", None).is_ok());
    assert!(check("tools/list", r#"{"name":"a"}"#, Some("b")).is_ok());
    assert!(check("tools/call", r#"{"name":"a"}"#, Some("a")).is_ok());
    assert!(check("tools/call", r#"{"name":"\u0061"}"#, Some("  a\t")).is_ok());
    assert!(check("resources/read", r#"{"uri":"file:///a"}"#, Some("file:///a")).is_ok());
    assert!(check("tasks/get", r#"{"taskId":"t"}"#, Some("t")).is_ok());
    assert!(check("prompts/get", r#"{"name":"ä"}"#, Some("=?base64?w6Q=?=")).is_ok());
    insta::assert_snapshot!(check("tools/call", r#"{"name":"a"}"#, None).unwrap_err(), @"the header `mcp-name` is missing");
    insta::assert_snapshot!(check("tools/call", r#"{"name":"a"}"#, Some("A")).unwrap_err(), @"the header `mcp-name` does not match the body");
    insta::assert_snapshot!(check("prompts/get", r#"{"name":"ä"}"#, Some("ä")).unwrap_err(), @"the header `mcp-name` is not visible ASCII");
    insta::assert_snapshot!(check("prompts/get", r#"{"name":"ä"}"#, Some("=?base64?w6?=")).unwrap_err(), @"the header `mcp-name` is not valid Base64");
}

/// C2: a web page can send other content types without the browser asking first.
#[test]
fn only_one_content_type_is_taken() {
    assert!(is_json(&headers(&[("content-type", "application/json")])));
    assert!(is_json(&headers(&[("content-type", "Application/JSON; charset=utf-8")])));
    assert!(!is_json(&headers(&[])));
    assert!(!is_json(&headers(&[("content-type", "text/plain")])));
    assert!(!is_json(&headers(&[("content-type", "application/jsonx")])));
    assert!(!is_json(&headers(&[("content-type", "text/plain"), ("content-type", "application/json")])));
}

#[test]
fn a_client_accepts_what_it_names_or_all_if_it_names_nothing() {
    let accepts = |value: &str, kind: &str| accepts(&headers(&[("accept", value)]), kind);
    assert!(accepts("application/json, text/event-stream", "text/event-stream"));
    assert!(accepts("application/json;q=0.5,TEXT/*", "text/event-stream"));
    assert!(accepts("*/*", "application/json"));
    assert!(!accepts("application/json", "text/event-stream"));
    assert!(super::accepts(&headers(&[]), "text/event-stream"));
}
