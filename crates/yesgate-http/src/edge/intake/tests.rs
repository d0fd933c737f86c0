//! What counts as JSON, and how bodies in pieces come together. Slow and large bodies on the wire are in
//! `edge/tests`.

use std::convert::Infallible;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{HeaderMap, StatusCode};
use http_body_util::{BodyExt, Full};
use tokio::sync::mpsc;

use super::{BodyError, is_json, read_body};
use crate::edge::EdgeLimits;
use crate::edge::body::Body;

#[track_caller]
fn check(types: &[&str], expected: bool) {
    let mut headers = HeaderMap::new();
    for text in types {
        headers.append(CONTENT_TYPE, HeaderValue::from_bytes(text.as_bytes()).unwrap());
    }
    assert_eq!(is_json(&headers), expected, "{types:?}");
}

/// C2: the content types that a page of another site can send without a preflight are all refused.
#[test]
fn only_one_clear_announcement_of_json_is_json() {
    check(&["application/json"], true);
    check(&["Application/JSON"], true);
    check(&["application/json; charset=utf-8"], true);
    check(&["application/json;charset=\"UTF-8\""], true);

    check(&[], false);
    check(&[""], false);
    check(&["text/plain"], false);
    check(&["text/plain; application/json"], false);
    check(&["text/plain;a=application/json"], false);
    check(&["application/x-www-form-urlencoded"], false);
    check(&["multipart/form-data; boundary=application/json"], false);
    check(&["application/json; charset=utf-16"], false);
    check(&["application/json; charset"], false);
    check(&["application/json; boundary=x"], false);
    check(&["application/json, text/plain"], false);
    check(&["application/jsonx"], false);
    check(&["application/json\u{e9}"], false);
    check(&["application/json", "application/json"], false);
    check(&["application/json", "text/plain"], false);
}

fn limits(body_bytes: usize) -> EdgeLimits {
    EdgeLimits { body_bytes, ..EdgeLimits::default() }
}

fn pieces(pieces: &[&'static str]) -> Body {
    let (sender, receiver) = mpsc::channel(pieces.len().max(1));
    for piece in pieces {
        sender.try_send(Bytes::from_static(piece.as_bytes())).unwrap();
    }
    Body::stream(receiver)
}

#[tokio::test]
async fn one_piece_is_handed_on_without_a_copy() {
    let sent = Bytes::from(vec![b'x'; 1000]);
    let read = read_body(Body::whole(sent.clone()), &limits(1000)).await.unwrap();
    assert_eq!(read.as_ptr(), sent.as_ptr());
    assert_eq!(read, sent);
}

#[tokio::test]
async fn pieces_come_together_in_their_order_and_trailers_are_left_out() {
    assert_eq!(read_body(pieces(&[]), &limits(8)).await.unwrap(), "");
    assert_eq!(read_body(pieces(&["", "ab", "", "c", "defgh"]), &limits(8)).await.unwrap(), "abcdefgh");
    let trailers = async { Some(Ok::<_, Infallible>(HeaderMap::new())) };
    let with_trailers = Full::new(Bytes::from_static(b"abc")).with_trailers(trailers);
    assert_eq!(read_body(with_trailers, &limits(8)).await.unwrap(), "abc");
}

#[tokio::test]
async fn a_body_may_have_the_cap_and_not_a_byte_more() {
    let too_large = Err(BodyError::TooLarge { cap: 3 });
    assert_eq!(read_body(Body::whole("abc"), &limits(3)).await.unwrap(), "abc");
    assert_eq!(read_body(Body::whole("abcd"), &limits(3)).await, too_large);
    assert_eq!(read_body(pieces(&["ab", "c"]), &limits(3)).await.unwrap(), "abc");
    assert_eq!(read_body(pieces(&["ab", "cd"]), &limits(3)).await, too_large);
    assert_eq!(read_body(pieces(&["a"]), &limits(0)).await, Err(BodyError::TooLarge { cap: 0 }));
    assert_eq!(BodyError::TooLarge { cap: 3 }.status(), StatusCode::PAYLOAD_TOO_LARGE);
}
