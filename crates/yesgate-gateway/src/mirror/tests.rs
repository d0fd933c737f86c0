//! Headers and body say the same, or the request is refused.

use http::{HeaderMap, HeaderName, HeaderValue};
use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
use serde_json::value::RawValue;

use super::{Fault, METHOD, Mismatch, NAME, PROTOCOL_VERSION, check, decode, encode, name_of};

const VERSION: &str = "2026-07-28";

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

/// The headers of a request to call the tool `deploy`, with changes: a value is added to those of
/// its header, and none takes them all away.
fn headers(changes: &[(&HeaderName, Option<&'static str>)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(PROTOCOL_VERSION, HeaderValue::from_static(VERSION));
    headers.insert(METHOD, HeaderValue::from_static("tools/call"));
    headers.insert(NAME, HeaderValue::from_static("deploy"));
    for (header, value) in changes {
        match value {
            Some(value) => {
                headers.append(*header, HeaderValue::from_static(value));
            }
            None => {
                headers.remove(*header);
            }
        }
    }
    headers
}

fn call(headers: &HeaderMap) -> Result<(), Mismatch> {
    check(headers, "tools/call", Some(&raw(r#"{"name":"deploy","arguments":{"name":"x"}}"#)), Some(VERSION))
}

fn refused(result: Result<(), Mismatch>) -> (HeaderName, Fault) {
    let mismatch = result.unwrap_err();
    (mismatch.header, mismatch.fault)
}

#[test]
fn headers_that_repeat_the_body_pass() {
    assert_eq!(call(&headers(&[])), Ok(()));
    // White space around a value does not belong to it.
    let padded = headers(&[(&NAME, None), (&NAME, Some(" \t deploy  "))]);
    assert_eq!(call(&padded), Ok(()));
    let wrapped = headers(&[(&NAME, None), (&NAME, Some("=?base64?ZGVwbG95?="))]);
    assert_eq!(call(&wrapped), Ok(()));
}

/// A18: a request passes under no other name than its own.
#[test]
fn headers_that_say_something_else_are_refused() {
    for header in [&PROTOCOL_VERSION, &METHOD, &NAME] {
        let refused = |changes: &[_]| refused(call(&headers(changes)));
        assert_eq!(refused(&[(header, None)]), (header.clone(), Fault::Missing));
        assert_eq!(refused(&[(header, None), (header, Some("other"))]), (header.clone(), Fault::Different));
        assert_eq!(refused(&[(header, None), (header, Some(""))]), (header.clone(), Fault::Different));
        assert_eq!(refused(&[(header, Some("other"))]), (header.clone(), Fault::Repeated));
    }
    for (header, value) in [
        (&METHOD, "TOOLS/CALL"),
        (&METHOD, "=?base64?dG9vbHMvY2FsbA==?="),
        (&METHOD, "tools/call, tools/list"),
        (&NAME, "Deploy"),
        (&NAME, "deploy, deploy"),
        (&NAME, "=?BASE64?ZGVwbG95?="),
    ] {
        let changed = headers(&[(header, None), (header, Some(value))]);
        assert_eq!(refused(call(&changed)), (header.clone(), Fault::Different), "{value}");
    }
}

/// A18: a header that is there twice is refused even where both say the same, or nobody asks.
#[test]
fn a_header_that_is_there_twice_is_refused() {
    for (header, same) in [(&PROTOCOL_VERSION, VERSION), (&METHOD, "tools/call"), (&NAME, "deploy")] {
        assert_eq!(refused(call(&headers(&[(header, Some(same))]))), (header.clone(), Fault::Repeated));
    }
    let twice = headers(&[(&METHOD, None), (&METHOD, Some("tools/list")), (&NAME, Some("deploy"))]);
    assert_eq!(refused(check(&twice, "tools/list", None, Some(VERSION))), (NAME, Fault::Repeated));
    let twice = headers(&[(&PROTOCOL_VERSION, Some(VERSION))]);
    let params = raw(r#"{"name":"deploy"}"#);
    assert_eq!(
        refused(check(&twice, "tools/call", Some(&params), None)),
        (PROTOCOL_VERSION, Fault::Repeated)
    );
}

#[test]
fn a_method_that_is_about_nothing_needs_no_name() {
    let list = headers(&[(&METHOD, None), (&METHOD, Some("tools/list")), (&NAME, None)]);
    assert_eq!(check(&list, "tools/list", None, Some(VERSION)), Ok(()));
    assert_eq!(check(&list, "tools/list", Some(&raw(r#"{"name":"x"}"#)), Some(VERSION)), Ok(()));
    // One that is there all the same is nobody's business.
    let named = headers(&[(&METHOD, None), (&METHOD, Some("tools/list"))]);
    assert_eq!(check(&named, "tools/list", None, Some(VERSION)), Ok(()));
}

/// A18: there is no name for a call that has none, or has two.
#[test]
fn a_body_without_one_clear_name_matches_no_header() {
    for (params, fault) in [
        (r#"{"arguments":{"name":"deploy"}}"#, Fault::Surplus),
        (r#"{"name":["deploy"]}"#, Fault::Surplus),
        (r#"{"name":null}"#, Fault::Surplus),
        (r#"{"Name":"deploy"}"#, Fault::Surplus),
        (r#"["deploy"]"#, Fault::Surplus),
        (r#"{"name":"deploy","name":"deploy"}"#, Fault::Ambiguous),
        (r#"{"name":"deploy","n\u0061me":"other"}"#, Fault::Ambiguous),
    ] {
        let result = check(&headers(&[]), "tools/call", Some(&raw(params)), Some(VERSION));
        assert_eq!(refused(result), (NAME, fault), "{params}");
    }
    assert_eq!(refused(check(&headers(&[]), "tools/call", None, Some(VERSION))), (NAME, Fault::Surplus));
    let unnamed = headers(&[(&NAME, None)]);
    assert_eq!(refused(check(&unnamed, "tools/call", None, Some(VERSION))), (NAME, Fault::Missing));
}

#[test]
fn each_method_has_its_own_name() {
    let params = raw(r#"{"name":"n","uri":"file:///\u00e9","taskId":"t","_meta":{}}"#);
    let name = |method| name_of(method, Some(&params)).unwrap();
    assert_eq!(name("tools/call").as_deref(), Some("n"));
    assert_eq!(name("prompts/get").as_deref(), Some("n"));
    assert_eq!(name("resources/read").as_deref(), Some("file:///é"));
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        assert_eq!(name(method).as_deref(), Some("t"));
    }
    for method in ["tools/list", "initialize", "tasks/list", "Tools/call", ""] {
        assert_eq!(name(method), None);
    }
}

#[test]
fn a_value_travels_as_it_is_or_in_base64() {
    let check = |value: &str, expected: &str| assert_eq!(encode(value), expected);
    check("us-west1", "us-west1");
    check("us west 1", "us west 1");
    check("", "");
    check("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?=");
    check(" padded ", "=?base64?IHBhZGRlZCA=?=");
    check(" us-west1", "=?base64?IHVzLXdlc3Qx?=");
    check("us-west1 ", "=?base64?dXMtd2VzdDEg?=");
    check("\tindented", "=?base64?CWluZGVudGVk?=");
    check("a\tb", "=?base64?YQli?=");
    check("line1\nline2", "=?base64?bGluZTEKbGluZTI=?=");
    check("line1\r\nline2", "=?base64?bGluZTENCmxpbmUy?=");
    check("\u{7f}", "=?base64?fw==?=");
    check("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=");
    check("=?base64?literal", "=?base64?literal");
}

#[test]
fn a_wrapped_value_is_read_strictly_and_any_other_as_it_stands() {
    let read = |value: &'static [u8]| {
        decode(&NAME, &HeaderValue::from_bytes(value).unwrap()).map(std::borrow::Cow::into_owned)
    };
    assert_eq!(read(b"=?base64?SGVsbG8=?=").unwrap(), "Hello");
    assert_eq!(read(b"  =?base64?SGVsbG8=?= ").unwrap(), "Hello");
    assert_eq!(read(b"=?base64??=").unwrap(), "");
    assert_eq!(read(b"SGVsbG8=").unwrap(), "SGVsbG8=");
    assert_eq!(read(b"=?base64?SGVsbG8=").unwrap(), "=?base64?SGVsbG8=");
    assert_eq!(read(b"=?base64?=").unwrap(), "=?base64?=");
    assert_eq!(read(b"=?Base64?SGVsbG8=?=").unwrap(), "=?Base64?SGVsbG8=?=");
    for garbled in [
        &b"=?base64?SGVsbG8?="[..],
        b"=?base64?SGVs!!!bG8=?=",
        b"=?base64?SGVsbG9=?=",
        b"=?base64?SGVs bG8=?=",
        b"=?base64?SGVsbG8==?=",
        b"=?base64?-_-_?=",
        b"=?base64?gA==?=",
        "世界".as_bytes(),
        b"caf\xe9",
    ] {
        assert_eq!(read(garbled).unwrap_err(), Mismatch { header: NAME, fault: Fault::Garbled });
    }
}

#[test]
fn a_mismatch_names_the_header_and_what_is_wrong() {
    let fault = call(&headers(&[(&NAME, None)])).unwrap_err();
    insta::assert_snapshot!(fault, @"the header `mcp-name` is missing");
    insta::assert_snapshot!(Mismatch { header: METHOD, fault: Fault::Different }, @"the header `mcp-method` does not say what the body says");
}

proptest! {
    #[test]
    fn what_was_encoded_is_decoded_to_the_same(value in any::<String>(), plain in "[ -~]{0,20}", inside in "[=?a-z0-9/+]{0,9}") {
        for value in [value, plain, format!("=?base64?{inside}"), format!("=?base64?{inside}?="), format!("{inside}?=")] {
            let header = encode(&value);
            prop_assert!(header.as_bytes().iter().all(|byte| (b' '..=b'~').contains(byte)));
            let decoded = decode(&NAME, &header).unwrap();
            prop_assert_eq!(decoded, value);
        }
    }

    /// A18: what we write to a server is what we would accept ourselves, and only for that body.
    #[test]
    fn what_is_written_passes_the_check(name in any::<String>(), other in any::<String>()) {
        let params = raw(&serde_json::json!({"name": name, "uri": name, "taskId": name}).to_string());
        let changed = raw(&serde_json::json!({"name": other, "uri": other, "taskId": other}).to_string());
        for method in ["tools/call", "resources/read", "tasks/get", "ping"] {
            let mut headers = HeaderMap::new();
            headers.insert(PROTOCOL_VERSION, HeaderValue::from_static(VERSION));
            let subject = name_of(method, Some(&params)).unwrap();
            headers.extend(super::headers(method, subject.as_deref()));
            prop_assert_eq!(check(&headers, method, Some(&params), Some(VERSION)), Ok(()));
            let passes = name == other || method == "ping";
            prop_assert_eq!(check(&headers, method, Some(&changed), Some(VERSION)).is_ok(), passes);
        }
    }
}
