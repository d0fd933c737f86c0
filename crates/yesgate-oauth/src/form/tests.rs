//! Forms that are read, and those that are not.

use http::HeaderMap;
use http::header::{CONTENT_TYPE, HeaderValue};

use super::{Form, LONGEST};

fn headers(types: &[&'static str]) -> HeaderMap {
    types.iter().map(|kind| (CONTENT_TYPE, HeaderValue::from_static(kind))).collect()
}

fn read(body: &[u8]) -> Option<Form> {
    Form::read(&headers(&["application/x-www-form-urlencoded"]), body).ok()
}

/// O-T1: the media type is what it must be, and nothing like it.
#[test]
fn only_a_form_is_read_as_one() {
    let take = |types: &[&'static str]| Form::read(&headers(types), b"a=b").is_ok();
    assert!(take(&["application/x-www-form-urlencoded"]));
    assert!(take(&["Application/X-WWW-Form-URLencoded; charset=UTF-8"]));
    assert!(!take(&[]));
    assert!(!take(&["application/json"]));
    assert!(!take(&["application/json, application/x-www-form-urlencoded"]));
    assert!(!take(&["application/x-www-form-urlencoded", "application/json"]));
    assert!(!take(&["application/x-www-form-urlencodedly"]));
    assert!(!take(&["multipart/form-data; boundary=application/x-www-form-urlencoded"]));
}

/// O-T1, RFC 6749 §3.1: each parameter once; without a value it was not sent.
#[test]
fn a_parameter_counts_once() {
    let form = read(b"a=b+c%2Bd&empty=&resource=x&&resource=y&alone").unwrap();
    assert_eq!(form.value("a"), Some("b c+d"));
    assert_eq!((form.value("empty"), form.value("alone")), (None, None));
    assert_eq!(form.resources().collect::<Vec<_>>(), ["x", "y"]);
    assert!(read(b"a=b&a=b").is_none());
    assert!(read(b"a=&a=b").is_none());
    assert!(read(b"%61=b&a=b").is_none());
}

/// O-T1: what cannot be read is refused.
#[test]
fn a_malformed_form_is_refused() {
    for body in [&b"a=%"[..], b"a=%2", b"a=%zz", b"a=%+1", b"a=\xff", b"a=%ff", b"%c3=a"] {
        assert!(read(body).is_none(), "{body:?}");
    }
    assert!(read(format!("a={}", "b".repeat(LONGEST)).as_bytes()).is_none());
}
