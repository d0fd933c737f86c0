//! What a reader and a writer of events may rely on, however the bytes are cut.

use std::time::Duration;

use bytes::Bytes;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::{collection, proptest};

use super::decoder::{Decoder, EventError};
use super::{Event, comment, event, retry};

const CAP: usize = 64;

/// All events of a stream that comes in these pieces.
fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<Event>, EventError> {
    let mut decoder = Decoder::new(CAP);
    let mut events = Vec::new();
    for piece in pieces {
        decoder.feed(Bytes::copy_from_slice(piece));
        while let Some(event) = decoder.next_event()? {
            events.push(event);
        }
    }
    Ok(events)
}

/// An event in short: its name, id and waiting time if it has them, and its data.
fn short(event: &Event) -> String {
    let name = event.name.as_ref().map(|name| format!("{name}! ")).unwrap_or_default();
    let id = event.id.as_ref().map(|id| format!("#{id} ")).unwrap_or_default();
    let retry = event.retry.map(|retry| format!("{retry:?} ")).unwrap_or_default();
    format!("{name}{id}{retry}{}", String::from_utf8_lossy(&event.data))
}

fn check(stream: &str, expected: &[&str]) {
    for size in [1, 2, 3, 7, 4096] {
        let events = decode(stream.as_bytes().chunks(size)).unwrap();
        assert_eq!(events.iter().map(short).collect::<Vec<_>>(), expected, "{stream:?} by {size}");
    }
}

#[test]
fn an_event_ends_with_a_blank_line_and_never_with_the_stream() {
    check("data: a\n\ndata: b\n\n", &["a", "b"]);
    check("data: a\n\ndata: cut off\n", &["a"]);
    check("data: a\n\ndata: cut off", &["a"]);
    check("", &[]);
}

#[test]
fn lines_end_in_three_ways() {
    check("data: a\r\n\r\ndata: b\r\rdata: c\n\n", &["a", "b", "c"]);
    check("data: a\r\ndata: b\r\n\r\n", &["a\nb"]);
    check("data: a\rdata: b\n\r\n", &["a\nb"]);
}

#[test]
fn an_event_that_ends_with_a_return_is_not_kept_waiting_for_a_newline() {
    let mut decoder = Decoder::new(CAP);
    decoder.feed(Bytes::from_static(b"data: a\r\r"));
    assert_eq!(short(&decoder.next_event().unwrap().unwrap()), "a");
    decoder.feed(Bytes::from_static(b"\ndata: b\r\r"));
    assert_eq!(short(&decoder.next_event().unwrap().unwrap()), "b");
}

#[test]
fn data_lines_are_joined_and_lose_one_space() {
    check("data:a\ndata: b\ndata:  c\n\n", &["a\nb\n c"]);
    check("data\n\n", &[""]);
    check("data:\n\n", &[""]);
    check("data\ndata\n\n", &["\n"]);
    check("data: a: b\n\n", &["a: b"]);
}

#[test]
fn fields_are_read_as_the_standard_says() {
    check("event: ping\nid: 7\nretry: 1500\ndata: x\n\n", &["ping! #7 1.5s x"]);
    check("id: 1\nid: 2\ndata: x\n\ndata: y\n\n", &["#2 x", "y"]);
    check("id\ndata: x\n\n", &["# x"]);
    check("id: a\0b\ndata: x\n\n", &["x"]);
    check("retry: soon\nretry: -1\nretry:\nretry: 99999999999999999999999\ndata: x\n\n", &["x"]);
    check("Data: x\nfoo: bar\n data: y\n\n", &[]);
}

#[test]
fn an_id_or_a_waiting_time_without_data_is_told_and_a_name_alone_is_not() {
    check("id: 7\n\n", &["#7 "]);
    check("retry: 3000\n\n", &["3s "]);
    check("event: ping\n\ndata: x\n\n", &["x"]);
}

#[test]
fn a_byte_order_mark_is_skipped_at_the_start_only() {
    check("\u{feff}data: a\n\n\u{feff}data: b\n\n", &["a"]);
    check("\u{feff}\n\ndata: a\n\n", &["a"]);
    check("\u{feff}: hello\ndata: a\n\n", &["a"]);
}

#[test]
fn comments_and_blank_lines_say_nothing() {
    check(": hello\n\n:\n\n\n\ndata: a\n: in between\ndata: b\n\n", &["a\nb"]);
}

#[test]
fn an_event_may_be_as_large_as_the_cap_and_no_larger() {
    let fits = format!("data: {}\n\n", "x".repeat(CAP - 6));
    let too_large = [
        format!("data: {}\n\n", "x".repeat(CAP - 5)),
        "data: x\n".repeat(CAP),
        "event: x\n".repeat(CAP),
        "unknown: x\n".repeat(CAP),
        "endless".repeat(CAP),
    ];
    for size in [1, 5, 4096] {
        assert_eq!(decode(fits.repeat(3).as_bytes().chunks(size)).unwrap().len(), 3);
        for stream in &too_large {
            let stream = format!("{fits}{stream}");
            let failed = decode(stream.as_bytes().chunks(size));
            assert_eq!(failed, Err(EventError { cap: CAP }), "{stream:?} by {size}");
        }
    }
}

#[test]
fn nothing_is_read_after_an_event_that_was_too_large() {
    let mut decoder = Decoder::new(CAP);
    decoder.feed(Bytes::from("x".repeat(CAP + 1)));
    assert!(decoder.next_event().is_err());
    assert!(decoder.next_event().is_err());
    decoder.feed(Bytes::from_static(b"\n\ndata: x\n\n"));
    assert!(decoder.next_event().is_err());
}

/// B8: what is no event takes no memory, however much of it there is.
#[test]
fn endless_comments_are_not_held() {
    let mut decoder = Decoder::new(CAP);
    let long = Bytes::from(vec![b':'; 64 * 1024]);
    for _ in 0..10 {
        decoder.feed(long.clone());
        assert_eq!(decoder.next_event(), Ok(None));
        assert!(decoder.held() < 64, "{}", decoder.held());
    }
    let short = Bytes::from(":\n".repeat(32 * 1024));
    for _ in 0..10 {
        decoder.feed(short.clone());
        assert_eq!(decoder.next_event(), Ok(None));
        assert!(decoder.held() < 64, "{}", decoder.held());
    }
    decoder.feed(Bytes::from_static(b"data: still there\n\n"));
    assert_eq!(short_of(&mut decoder), "still there");
}

fn short_of(decoder: &mut Decoder) -> String {
    short(&decoder.next_event().unwrap().unwrap())
}

#[test]
fn data_on_one_line_of_one_chunk_is_not_copied() {
    let chunk = Bytes::from_static(b"id: 1\ndata: {\"a\":1}\n\ndata: {}\n\n");
    let mut decoder = Decoder::new(CAP);
    decoder.feed(chunk.clone());
    for (start, length) in [(12, 7), (27, 2)] {
        let data = decoder.next_event().unwrap().unwrap().data;
        assert_eq!(data.as_ptr(), chunk[start..].as_ptr());
        assert_eq!(data.len(), length);
    }
}

#[test]
fn a_chunk_may_be_fed_before_the_last_one_was_read() {
    let mut decoder = Decoder::new(CAP);
    decoder.feed(Bytes::from_static(b"data: a\n\nda"));
    decoder.feed(Bytes::from_static(b"ta: b\n\n"));
    assert_eq!((short_of(&mut decoder), short_of(&mut decoder)), ("a".into(), "b".into()));
}

fn written(pieces: &[&'static str], id: Option<&str>) -> String {
    let pieces = pieces.iter().map(|piece| Bytes::from_static(piece.as_bytes()));
    String::from_utf8(event(pieces, id).concat()).unwrap()
}

#[test]
fn an_event_is_written_as_one_block() {
    assert_eq!(written(&["{}"], None), "data: {}\n\n");
    assert_eq!(written(&["{", "", "}"], Some("s-1")), "id: s-1\ndata: {}\n\n");
    assert_eq!(written(&[], Some("s-0")), "id: s-0\ndata: \n\n");
    assert_eq!(comment(), ":\n\n");
    assert_eq!(retry(Duration::from_secs(2)), "retry: 2000\n\n");
}

#[test]
fn the_pieces_of_an_event_are_not_copied() {
    let piece = Bytes::from_static(b"{\"a\":1}");
    let written = event([piece.clone()], None);
    assert!(written.iter().any(|part| part.as_ptr() == piece.as_ptr()));
}

#[test]
fn a_line_break_in_the_data_starts_a_data_line() {
    assert_eq!(written(&["a\nb"], None), "data: a\ndata: b\n\n");
    assert_eq!(written(&["a\r\nb\rc"], None), "data: a\ndata: b\ndata: c\n\n");
    assert_eq!(written(&["a\r", "", "\nb"], None), "data: a\ndata: b\n\n");
    assert_eq!(written(&["a\n\r\n\nb"], None), "data: a\ndata: \ndata: \ndata: b\n\n");
    assert_eq!(written(&["a\n"], None), "data: a\ndata: \n\n");
}

/// What a server sends as data stays data, and so does what it sends as an id.
#[test]
fn neither_data_nor_an_id_can_start_a_line_of_its_own() {
    assert_eq!(written(&["a\n\nid: forged\n\ndata: b"], None).matches("\n\n").count(), 1);
    for id in ["a\nb", "a\rb", "a\0b"] {
        assert_eq!(written(&["{}"], Some(id)), "data: {}\n\n");
    }
}

/// Text that is made of what matters to the format.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(&b"\n"[..]),
        Just(&b"\r"[..]),
        Just(&b"\n\n"[..]),
        Just(&b"data: "[..]),
        Just(&b"data"[..]),
        Just(&b"id:"[..]),
        Just(&b"event: "[..]),
        Just(&b"retry: 1"[..]),
        Just(&b":"[..]),
        Just(&b"\xEF\xBB\xBF"[..]),
        Just(&b"\0"[..]),
        Just(&b"some longer text "[..]),
    ];
    collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn events_are_the_same_however_the_bytes_are_cut(
        stream in stream(),
        sizes in collection::vec(1..20_usize, 1..20),
    ) {
        let mut pieces = Vec::new();
        let mut rest = stream.as_slice();
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, more) = rest.split_at((*size).min(rest.len()));
            pieces.push(piece);
            rest = more;
        }
        assert_eq!(decode(pieces), decode([stream.as_slice()]));
    }

    #[test]
    fn what_is_written_is_read_back(
        pieces in collection::vec(collection::vec(any::<u8>(), 0..12), 0..4),
        id in proptest::option::of("[ -~]{0,9}"),
        line_breaks in any::<bool>(),
    ) {
        let pieces: Vec<Vec<u8>> = pieces
            .into_iter()
            .map(|piece| piece.into_iter().filter(|byte| *byte != b'\r').collect())
            .map(|piece: Vec<u8>| if line_breaks { in_many_lines(&piece) } else { piece })
            .collect();
        let bytes = event(pieces.iter().cloned().map(Bytes::from), id.as_deref()).concat();
        let mut decoder = Decoder::new(4096);
        decoder.feed(Bytes::from(bytes));
        let read = decoder.next_event().unwrap().unwrap();
        assert_eq!(read, Event { id, data: pieces.concat().into(), ..Event::default() });
        assert_eq!(decoder.next_event(), Ok(None));
    }

    #[test]
    fn any_line_break_is_read_back_as_a_newline(
        pieces in collection::vec("[a\r\n]{0,6}", 0..4),
    ) {
        let expected = pieces.concat().replace("\r\n", "\n").replace('\r', "\n");
        let mut decoder = Decoder::new(4096);
        decoder.feed(Bytes::from(event(pieces.into_iter().map(Bytes::from), None).concat()));
        assert_eq!(decoder.next_event().unwrap().unwrap().data, expected);
    }
}

fn in_many_lines(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| if byte % 3 == 0 { b'\n' } else { *byte }).filter(|byte| *byte != b'\r').collect()
}
