//! What is kept of a session's streams, and for whom.

use std::time::Duration;

use bytes::Bytes;

use super::{AttachError, GENERAL, Place, Read, ReplayCaps, Streams, Weight, parse_event_id};

fn streams(caps: ReplayCaps) -> Streams {
    Streams::new(caps)
}

const CAPS: ReplayCaps =
    ReplayCaps { events: 4, bytes: 1000, ended_bytes: 100, ended_for: Duration::from_secs(60) };

fn say(streams: &Streams, stream: u64, text: &str, weight: Weight) {
    streams.say(stream, [Bytes::copy_from_slice(text.as_bytes())], weight);
}

fn all(streams: &Streams, place: &mut Place) -> Vec<String> {
    let mut events = Vec::new();
    while let Read::Event(pieces) = streams.read(place) {
        events.push(String::from_utf8(pieces.concat()).unwrap());
    }
    events
}

#[tokio::test]
async fn notices_go_first_and_what_somebody_waits_for_never() {
    let streams = streams(CAPS);
    let stream = streams.open();
    say(&streams, stream, "question", Weight::Due);
    for step in 0..9 {
        say(&streams, stream, &format!("notice {step}"), Weight::Light);
    }
    say(&streams, stream, &"x".repeat(2000), Weight::Due);
    let mut place = streams.attach(stream, None).unwrap();
    let events = all(&streams, &mut place);
    assert_eq!(events.len(), 2, "{events:?}");
    assert_eq!(events[0], "id: 1-1\ndata: question\n\n");
    assert!(events[1].starts_with("id: 1-11\ndata: xxx"));
}

#[tokio::test]
async fn a_line_break_in_a_message_starts_no_field() {
    let streams = streams(CAPS);
    say(&streams, GENERAL, "{\n\"a\":\r1}", Weight::Light);
    let mut place = streams.attach(GENERAL, None).unwrap();
    assert_eq!(all(&streams, &mut place), ["id: 0-1\ndata: {\ndata: \"a\":\ndata: 1}\n\n"]);
}

#[tokio::test]
async fn streams_that_ended_are_forgotten_the_oldest_first_and_never_the_last() {
    let streams = streams(CAPS);
    let numbers: Vec<u64> = (0..5).map(|_| streams.open()).collect();
    for number in &numbers {
        say(&streams, *number, &"x".repeat(60), Weight::Due);
        streams.end(*number);
    }
    for number in &numbers[..4] {
        assert_eq!(streams.attach(*number, None).unwrap_err(), AttachError::Unknown);
    }
    let mut place = streams.attach(numbers[4], Some(0)).unwrap();
    assert_eq!(all(&streams, &mut place).len(), 1);
    assert!(matches!(streams.read(&mut place), Read::Over));
}

#[tokio::test]
async fn a_stream_has_one_reader_and_is_free_when_it_goes() {
    let streams = streams(CAPS);
    let place = streams.attach(GENERAL, None).unwrap();
    assert_eq!(streams.attach(GENERAL, None).unwrap_err(), AttachError::Taken);
    assert!(streams.is_read());
    streams.detach(&place);
    assert!(!streams.is_read());
    streams.attach(GENERAL, None).unwrap();
    streams.close();
    assert_eq!(streams.attach(GENERAL, None).unwrap_err(), AttachError::Unknown);
    say(&streams, GENERAL, "lost", Weight::Due);
}

#[tokio::test]
async fn what_was_read_but_never_sent_is_left_for_the_next_reader() {
    let streams = streams(CAPS);
    say(&streams, GENERAL, "one", Weight::Light);
    let mut gone = streams.attach(GENERAL, None).unwrap();
    assert_eq!(all(&streams, &mut gone).len(), 1);
    streams.detach(&gone);
    let mut next = streams.attach(GENERAL, None).unwrap();
    assert_eq!(all(&streams, &mut next), ["id: 0-1\ndata: one\n\n"]);
    streams.sent(&next);
    streams.detach(&next);
    let mut last = streams.attach(GENERAL, None).unwrap();
    assert!(all(&streams, &mut last).is_empty());
}

#[tokio::test]
async fn even_what_somebody_waits_for_is_bounded_where_nobody_ever_reads() {
    let streams = streams(CAPS);
    for step in 0..100 {
        say(&streams, GENERAL, &format!("question {step}"), Weight::Due);
    }
    let mut place = streams.attach(GENERAL, None).unwrap();
    let events = all(&streams, &mut place);
    assert_eq!(events.len(), 4);
    assert!(events[3].contains("question 99"));
}

#[test]
fn event_ids_are_two_numbers() {
    assert_eq!(parse_event_id("7-12"), Some((7, 12)));
    for bad in ["", "7", "7-", "-7", "a-b", "7-12-3", "7 -1"] {
        assert_eq!(parse_event_id(bad), None, "{bad}");
    }
}
