//! Streams of a session: the general one, and going on after being cut off.

use http::StatusCode;
use serde_json::{Value, json};

use crate::front::fixture::client::{Client, Events};
use crate::front::fixture::progress;

async fn session(version: &str) -> Client {
    Client::new().initialize(version, json!({})).await
}

#[tokio::test]
async fn a_stream_begins_with_an_empty_event_for_clients_that_know_it() {
    let client = session("2025-11-25").await;
    let mut events = Events::of(client.send("GET", "").await);
    assert_eq!(events.block().await.unwrap(), "retry: 3000");
    assert_eq!(events.block().await.unwrap(), "id: 0-0\ndata: ");
    let mut events = Events::of(client.legacy_call(1, "progress").await);
    assert_eq!(events.block().await.unwrap(), "retry: 3000");
    assert_eq!(events.block().await.unwrap(), "id: 1-0\ndata: ");
    let older = session("2025-06-18").await;
    let mut events = Events::of(older.send("GET", "").await);
    assert_eq!(events.block().await.unwrap(), ":");
}

/// CVE-2026-33946: a second reader never takes the place of the first.
#[tokio::test]
async fn a_second_reader_of_the_general_stream_is_turned_away() {
    let client = session("2025-11-25").await;
    let mut first = Events::of(client.send("GET", "").await);
    assert_eq!(client.send("GET", "").await.status(), StatusCode::CONFLICT);
    let resuming = client.header("last-event-id", "0-0");
    assert_eq!(resuming.send("GET", "").await.status(), StatusCode::CONFLICT);
    client.board.party().session.clone().unwrap().notify(progress("1"));
    assert_eq!(first.message().await["params"]["progress"], 1);
}

#[tokio::test]
async fn a_client_goes_on_with_a_requests_stream_where_it_was_cut_off() {
    let client = session("2025-11-25").await;
    let mut events = Events::of(client.legacy_call(1, "progress_then_wait").await);
    let (id, _) = events.event().await.unwrap();
    let id = id.unwrap();
    drop(events);
    client.board.go.notify_one();
    client.board.noted("answered progress_then_wait").await;
    let mut rest = resumed(&client, &id).await;
    let (last, message) = rest.event().await.unwrap();
    assert_eq!(message, json!({"jsonrpc": "2.0", "id": 1, "result": {"said": "done"}}));
    assert!(rest.event().await.is_none());
    assert!(resumed(&client, &last.unwrap()).await.rest().await.is_empty());
    assert_eq!(resumed(&client, "1-0").await.rest().await.len(), 2);
}

/// Waits for the reader that was cut off to be noticed, as a client would that is told to come back.
async fn resumed(client: &Client, id: &str) -> Events {
    let client = client.header("last-event-id", id);
    for _ in 0..1000 {
        let response = client.send("GET", "").await;
        if response.status() == StatusCode::OK {
            return Events::of(response);
        }
        assert_eq!(response.status(), StatusCode::CONFLICT);
        tokio::task::yield_now().await;
    }
    panic!("the stream is never free");
}

#[tokio::test]
async fn an_event_that_is_not_known_is_no_place_to_go_on_from() {
    let client = session("2025-11-25").await;
    for id in ["9-1", "x", "1", "-", "1-x", "99999999999999999999-1"] {
        let response = client.header("last-event-id", id).send("GET", "").await;
        assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{id}");
    }
    // A place that was never reached is taken for the last one.
    let mut events = resumed(&client, "0-77").await;
    client.board.party().session.clone().unwrap().notify(progress("1"));
    assert_eq!(events.message().await["params"]["progress"], 1);
}

#[tokio::test]
async fn notices_wait_for_a_reader_the_newest_of_them() {
    let client = session("2025-11-25").await;
    let talk = client.board.party().session.clone().unwrap();
    for step in 0..1000 {
        talk.notify(progress(&step.to_string()));
    }
    let mut events = Events::of(client.send("GET", "").await);
    let (_, first) = events.event().await.unwrap();
    assert_eq!(first["params"]["progress"], 1000 - 256);
    for _ in 0..255 {
        events.message().await;
    }
    drop(events);
    talk.notify(progress("1000"));
    let mut events = again(&client).await;
    assert_eq!(events.message().await["params"]["progress"], 1000, "nothing comes twice");
}

async fn again(client: &Client) -> Events {
    for _ in 0..1000 {
        let response = client.send("GET", "").await;
        if response.status() == StatusCode::OK {
            return Events::of(response);
        }
        tokio::task::yield_now().await;
    }
    panic!("the stream is never free");
}

#[tokio::test(start_paused = true)]
async fn the_stream_of_an_answered_request_is_kept_for_a_while_only() {
    let client = session("2025-11-25").await;
    let messages = Events::of(client.legacy_call(1, "progress").await).rest().await;
    assert_eq!(messages.len(), 3);
    assert_eq!(resumed(&client, "1-1").await.rest().await.len(), 2);
    let mut general = Events::of(client.send("GET", "").await);
    // An opening, its id, and five beats of fifteen seconds.
    for _ in 0..7 {
        general.block().await.unwrap();
    }
    let response = client.header("last-event-id", "1-1").send("GET", "").await;
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_takes_long_becomes_a_stream_that_can_be_resumed() {
    let client = session("2025-11-25").await;
    let mut events = Events::of(client.legacy_call(1, "stubborn").await);
    assert_eq!(events.block().await.unwrap(), "retry: 3000");
    assert_eq!(events.block().await.unwrap(), "id: 1-0\ndata: ");
    drop(events);
    client.board.go.notify_one();
    client.board.noted("answered stubborn").await;
    let messages: Vec<Value> = resumed(&client, "1-0").await.rest().await;
    assert_eq!(messages[0]["result"]["said"], "done");
}

#[tokio::test]
async fn a_reader_must_accept_events() {
    let client = session("2025-11-25").await.header("accept", "application/json");
    assert_eq!(client.send("GET", "").await.status(), StatusCode::NOT_ACCEPTABLE);
}
