//! What ends when a client goes: its request, its stream, its place.

use bytes::Bytes;
use tokio::io::AsyncWriteExt;

use super::{EdgeLimits, Running, SHORT, soon};

#[tokio::test]
async fn a_request_ends_when_its_client_closes_the_connection() {
    let mut server = Running::start().await;
    let mut client = server.connect().await;
    client.get("/hang").await;
    let _release = server.hanging().await;
    drop(client);
    server.dropped().await;
}

#[tokio::test]
async fn a_client_that_closes_its_side_has_gone() {
    let mut server = Running::start().await;
    let mut client = server.connect().await;
    client.get("/hang").await;
    let _release = server.hanging().await;
    client.0.shutdown().await.unwrap();
    server.dropped().await;
    assert_eq!(client.rest().await, "");
}

#[tokio::test]
async fn a_request_ends_when_its_client_goes_in_the_middle_of_the_body() {
    let server = Running::with(EdgeLimits { connections: 1, ..EdgeLimits::default() }).await;
    let mut client = server.connect().await;
    client.say("POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\nabc").await;
    drop(client);
    // Its place is free soon, long before the deadline for bodies.
    let mut answer = String::new();
    for _ in 0..10_000 {
        let mut next = server.connect().await;
        next.say("GET /hello HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await;
        answer = next.rest().await;
        if answer.ends_with("hello\n") {
            break;
        }
    }
    assert!(answer.ends_with("hello\n"), "{answer}");
}

#[tokio::test]
async fn the_source_of_a_stream_sees_that_the_client_closed_the_connection() {
    let mut server = Running::start().await;
    let mut client = server.connect().await;
    client.get("/stream").await;
    let stream = server.stream().await;
    stream.send(Bytes::from_static(b"data")).await.unwrap();
    client.hear("data").await;
    assert!(!stream.is_closed());
    drop(client);
    soon(stream.closed()).await;
}

#[tokio::test]
async fn a_stream_of_a_client_that_vanishes_after_bytes_too_many_ends_with_the_next_pieces() {
    let mut server = Running::start().await;
    let mut client = server.connect().await;
    client.say("GET /stream HTTP/1.1\r\nhost: a\r\n\r\nGET /he").await;
    let stream = server.stream().await;
    client.hear("\r\n\r\n").await;
    drop(client);
    soon(async { while stream.send(Bytes::from_static(b"data")).await.is_ok() {} }).await;
}

/// F2: half-open: it holds the connection and takes nothing.
#[tokio::test]
async fn a_client_that_takes_nothing_of_a_stream_is_cut() {
    let mut server = Running::with(EdgeLimits { stall_time: SHORT, ..EdgeLimits::default() }).await;
    let mut client = server.connect().await;
    client.get("/stream").await;
    let stream = server.stream().await;
    let piece = Bytes::from(vec![b'x'; 1024 * 1024]);
    soon(async { while stream.send(piece.clone()).await.is_ok() {} }).await;
    drop(client);
}

#[tokio::test]
async fn a_client_that_takes_nothing_of_an_answer_is_cut() {
    let limits = EdgeLimits { stall_time: SHORT, ..EdgeLimits::default() };
    let server = Running::with(limits).await;
    let mut client = server.connect().await;
    client.get("/large").await;
    client.hear("\r\n\r\n").await;
    let served = server.shut_down();
    // The only connection ends by its own deadline, so the shutdown has nothing left to cut.
    assert_eq!(soon(served).await.unwrap().cut, 0);
    assert!(client.rest().await.len() < 64 * 1024 * 1024);
}

#[tokio::test]
async fn a_silent_stream_to_a_client_that_listens_has_no_deadline() {
    let limits = EdgeLimits {
        header_time: SHORT,
        idle_time: SHORT,
        stall_time: SHORT,
        body_time: SHORT,
        ..EdgeLimits::default()
    };
    let mut server = Running::with(limits).await;
    let mut client = server.connect().await;
    client.get("/stream").await;
    let stream = server.stream().await;
    client.hear("\r\n\r\n").await;
    assert!(client.is_left_alone().await);
    stream.send(Bytes::from_static(b"data")).await.unwrap();
    client.hear("data").await;
}
