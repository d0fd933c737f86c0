//! Streams of events: read one by one, ended by either side, bounded whatever the server does.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{pause, resume, timeout};

use super::{Server, client, client_with, events};
use crate::fetch::error::{FetchError, LostReason};
use crate::fetch::events::EventStream;
use crate::fetch::{AnswerBody, FetchLimits};

const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";

#[tokio::test]
async fn events_come_one_by_one_until_the_server_ends() {
    let server = Server::saying(
        b"HTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n\
        9\r\ndata: one\r\n9\r\n\n\nid: 7\nd\r\nb\r\nata: two\n\n:\r\n0\r\n\r\n",
    )
    .await;
    let mut events = events(&client(), &server).await;
    assert_eq!(events.next().await.unwrap().unwrap().data, "one");
    let two = events.next().await.unwrap().unwrap();
    assert_eq!((two.data.as_ref(), two.id.as_deref()), (&b"two"[..], Some("7")));
    assert_eq!(events.next().await, None);
    assert_eq!(events.next().await, None);
}

#[tokio::test]
async fn what_only_looks_like_a_stream_of_events_is_a_whole_answer() {
    for kind in ["text/event-streams", "application/json", "text/plain; x=text/event-stream"] {
        let server = Server::start(move |mut peer| async move {
            peer.request().await;
            peer.say(format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: 0\r\n\r\n")).await;
        })
        .await;
        match client().send(server.get()).await.unwrap().body {
            AnswerBody::Whole(_) => {}
            AnswerBody::Events(_) => panic!("{kind}"),
        }
    }
}

#[tokio::test]
async fn a_stream_that_breaks_is_lost_and_says_so_once() {
    let server = Server::saying(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n\
        b\r\ndata: one\n\n\r\nff\r\ndata: t",
    )
    .await;
    let mut events = events(&client(), &server).await;
    assert_eq!(events.next().await.unwrap().unwrap().data, "one");
    assert_eq!(events.next().await, Some(Err(FetchError::Lost(LostReason::Closed))));
    assert_eq!(events.next().await, None);
}

#[tokio::test]
async fn a_stream_that_is_dropped_closes_its_connection() {
    let closed = Arc::new(Notify::new());
    let told = Arc::clone(&closed);
    let server = Server::start(move |mut peer| {
        let told = Arc::clone(&told);
        async move {
            peer.request().await;
            peer.say(format!("{HEAD}data: one\n\n")).await;
            peer.closed().await;
            told.notify_one();
        }
    })
    .await;
    let mut events = events(&client(), &server).await;
    assert_eq!(events.next().await.unwrap().unwrap().data, "one");
    drop(events);
    closed.notified().await;
}

#[tokio::test]
async fn a_wait_that_was_given_up_loses_nothing() {
    let go_on = Arc::new(Notify::new());
    let told = Arc::clone(&go_on);
    let server = Server::start(move |mut peer| {
        let told = Arc::clone(&told);
        async move {
            peer.request().await;
            peer.say(format!("{HEAD}data: o")).await;
            told.notified().await;
            peer.say("ne\n\n").await;
            peer.closed().await;
        }
    })
    .await;
    let mut events = events(&client(), &server).await;
    for _ in 0..3 {
        assert!(timeout(Duration::from_millis(10), events.next()).await.is_err());
    }
    go_on.notify_one();
    assert_eq!(events.next().await.unwrap().unwrap().data, "one");
}

/// B8: an event that never ends is not held.
#[tokio::test]
async fn an_endless_event_is_too_large() {
    for piece in ["x", "data: x\n", "id: 1\n"] {
        let server = Server::start(move |mut peer| async move {
            peer.request().await;
            peer.say(format!("{HEAD}data: ok\n\ndata:")).await;
            let many = piece.repeat(1000);
            while peer.say(&many).await {}
        })
        .await;
        let client = client_with(FetchLimits { event_bytes: 100_000, ..FetchLimits::default() });
        let mut events = events(&client, &server).await;
        assert_eq!(events.next().await.unwrap().unwrap().data, "ok");
        assert_eq!(events.next().await, Some(Err(FetchError::TooLarge)));
        assert_eq!(events.next().await, None);
    }
}

/// B8: a server that never pauses does not keep the reader from being interrupted.
#[tokio::test]
async fn endless_comments_can_be_left() {
    let server = Server::start(|mut peer| async move {
        peer.request().await;
        peer.say(HEAD).await;
        let many = ": nothing\n\n".repeat(1000);
        while peer.say(&many).await {}
    })
    .await;
    let mut events = events(&client(), &server).await;
    assert!(timeout(Duration::from_millis(50), events.next()).await.is_err());
}

#[tokio::test]
async fn a_silent_stream_is_too_slow_only_where_that_was_asked_for() {
    let mut impatient = silent_after_one(Some(LONG)).await;
    pause();
    assert_eq!(impatient.next().await, Some(Err(FetchError::TooSlow)));
    assert_eq!(impatient.next().await, None);
    resume();

    let mut patient = silent_after_one(None).await;
    pause();
    assert!(timeout(LONG * 100, patient.next()).await.is_err());
}

/// A reader that waits in short turns must notice the silence too.
#[tokio::test]
async fn silence_is_measured_from_the_last_byte_and_not_from_the_last_wait() {
    let mut events = silent_after_one(Some(LONG)).await;
    pause();
    let turn = LONG / 4 + Duration::from_secs(1);
    for _ in 0..3 {
        assert!(timeout(turn, events.next()).await.is_err());
    }
    assert_eq!(timeout(turn, events.next()).await.unwrap(), Some(Err(FetchError::TooSlow)));
}

/// The stream of a server that is silent after its first event, which was read.
async fn silent_after_one(stream_silence: Option<Duration>) -> EventStream {
    let server = Server::start(|mut peer| async move {
        peer.request().await;
        peer.say(format!("{HEAD}data: one\n\n")).await;
        peer.closed().await;
    })
    .await;
    let client = client_with(FetchLimits { stream_silence, ..FetchLimits::default() });
    let mut events = events(&client, &server).await;
    assert_eq!(events.next().await.unwrap().unwrap().data, "one");
    events
}

const LONG: Duration = Duration::from_secs(3600);

const CHUNKED: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\nb\r\ndata: one\n\n\r\n";

/// A server ends its stream right after the answer, but not in the same moment.
#[tokio::test]
async fn the_connection_of_a_stream_that_is_seen_off_is_used_again() {
    let (end, ended) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let told = (Arc::clone(&end), Arc::clone(&ended));
    let server = Server::start(move |mut peer| {
        let (end, ended) = told.clone();
        async move {
            peer.stream.set_nodelay(true).unwrap();
            while peer.request().await {
                peer.say(CHUNKED).await;
                end.notified().await;
                peer.say("0\r\n\r\n").await;
                ended.notify_one();
            }
        }
    })
    .await;
    let client = client();
    for _ in 0..3 {
        let mut events = events(&client, &server).await;
        assert_eq!(events.next().await.unwrap().unwrap().data, "one");
        events.see_off();
        end.notify_one();
        ended.notified().await;
        for _ in 0..200 {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_stream_that_is_seen_off_and_does_not_end_is_closed() {
    let closed = Arc::new(Notify::new());
    let told = Arc::clone(&closed);
    let server = Server::start(move |mut peer| {
        let told = Arc::clone(&told);
        async move {
            peer.request().await;
            peer.say(CHUNKED).await;
            peer.closed().await;
            told.notify_one();
        }
    })
    .await;
    let mut events = events(&client(), &server).await;
    assert_eq!(events.next().await.unwrap().unwrap().data, "one");
    events.see_off();
    pause();
    closed.notified().await;
}
