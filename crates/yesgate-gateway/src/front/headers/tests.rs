//! What headers say.

use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};

use super::{Wish, accepts};

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(HeaderName::from_static(name), HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    headers
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

#[test]
fn a_client_that_names_streams_first_gets_one() {
    let wish = |value: &str| Wish::of(&headers(&[("accept", value)]));
    assert_eq!(wish("text/event-stream, application/json"), Wish::Stream);
    assert_eq!(wish("application/json, text/event-stream"), Wish::Whole);
    assert_eq!(wish("*/*"), Wish::Whole);
    assert_eq!(Wish::of(&headers(&[])), Wish::Whole);
}
