//! Clients that are slow, large or many.

use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::time::{Instant, interval};

use super::{Client, EdgeLimits, PATIENCE, Running, SHORT, soon, status};

/// Sends a byte every now and then until the server has enough; says what it answered and when.
async fn drip(mut client: Client) -> (String, Duration) {
    let started = Instant::now();
    let mut ticks = interval(SHORT / 5);
    let mut heard = Vec::new();
    let (mut read, mut write) = client.0.split();
    soon(async {
        loop {
            tokio::select! {
                _ = read.read_to_end(&mut heard) => break,
                _ = ticks.tick() => drop(tokio::io::AsyncWriteExt::write_all(&mut write, b"x").await),
            }
        }
    })
    .await;
    (super::show(&heard), started.elapsed())
}

/// F1: slow headers.
#[tokio::test]
async fn a_head_that_drips_is_cut_at_its_deadline() {
    let server = Running::with(EdgeLimits { header_time: SHORT, ..EdgeLimits::default() }).await;
    let mut client = server.connect().await;
    client.say("GET /hello HTTP/1.1\r\nhost: ").await;
    let (answer, time) = drip(client).await;
    assert_eq!(answer, "");
    assert!(time < PATIENCE / 2);
    // Also of a second request, and also if nothing comes at all.
    let mut client = server.connect().await;
    client.get("/hello").await;
    client.answer().await;
    client.say("G").await;
    let (answer, time) = drip(client).await;
    assert_eq!(answer, "");
    assert!(time < PATIENCE / 2);
    assert_eq!(server.connect().await.rest().await, "");
}

#[tokio::test]
async fn between_requests_there_is_another_deadline_than_within_a_head() {
    let server = Running::with(EdgeLimits { header_time: SHORT, ..EdgeLimits::default() }).await;
    let mut client = server.connect().await;
    client.get("/hello").await;
    client.answer().await;
    assert!(client.is_left_alone().await);
    client.get("/hello").await;
    assert!(client.answer().await.ends_with("hello\n"));

    let server = Running::with(EdgeLimits { idle_time: SHORT, ..EdgeLimits::default() }).await;
    let mut client = server.connect().await;
    client.get("/hello").await;
    assert!(client.answer().await.ends_with("hello\n"));
    assert_eq!(client.rest().await, "");
}

#[tokio::test]
async fn a_handler_that_thinks_has_no_deadline() {
    let limits =
        EdgeLimits { header_time: SHORT, idle_time: SHORT, stall_time: SHORT, ..EdgeLimits::default() };
    let mut server = Running::with(limits).await;
    let mut client = server.connect().await;
    client.get("/hang").await;
    let release = server.hanging().await;
    assert!(client.is_left_alone().await);
    release.send(()).unwrap();
    assert!(client.answer().await.ends_with("released\n"));
}

/// F1: slow bodies.
#[tokio::test]
async fn a_body_that_drips_is_refused_at_its_deadline() {
    let server = Running::with(EdgeLimits { body_time: SHORT, ..EdgeLimits::default() }).await;
    let mut client = server.connect().await;
    client.say("POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 100000\r\n\r\n").await;
    let (answer, time) = drip(client).await;
    assert_eq!(status(&answer), "HTTP/1.1 408 Request Timeout");
    assert!(time < PATIENCE / 2);
}

/// F3: a body that is announced as too large is refused before any of it is read.
#[tokio::test]
async fn a_body_that_announces_too_much_is_refused_unread() {
    let server = Running::start().await;
    for expect in ["", "expect: 100-continue\r\n"] {
        let mut client = server.connect().await;
        let length = 1024 * 1024 + 1;
        client
            .say(&format!("POST /echo HTTP/1.1\r\nhost: a\r\n{expect}content-length: {length}\r\n\r\n"))
            .await;
        assert_eq!(status(&client.answer().await), "HTTP/1.1 413 Payload Too Large");
    }
    let mut client = server.connect().await;
    client.say("POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 99999999999999999999\r\n\r\n").await;
    assert_eq!(status(&client.rest().await), "HTTP/1.1 400 Bad Request");
}

/// F3: one that is not announced is refused at the byte too many, and its sender still hears why.
#[tokio::test]
async fn a_sender_of_too_much_hears_why_although_it_still_sends() {
    let server = Running::start().await;
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    let head = "POST /echo HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n";
    let unread = "POST /unread HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n";
    for (head, expected) in [(head, "HTTP/1.1 413 Payload Too Large"), (unread, "HTTP/1.1 401 Unauthorized")]
    {
        let mut client = server.connect().await;
        client.say(head).await;
        for _ in 0..40 {
            client.say(&chunk).await;
        }
        let mut heard = Vec::new();
        soon(client.0.read_to_end(&mut heard)).await.unwrap();
        assert_eq!(status(&super::show(&heard)), expected);
        // It was no reset, which a client that writes before it reads would take for the answer.
        client.say(&chunk).await;
    }
}

#[tokio::test]
async fn a_head_that_is_too_large_or_has_too_many_headers_is_refused() {
    let server = Running::start().await;
    let request = |headers: &str| format!("GET /hello HTTP/1.1\r\nhost: a\r\n{headers}\r\n");
    for headers in [
        format!("a: {}\r\n", "x".repeat(32 * 1024)),
        format!("a: {}\r\n", "x".repeat(1024 * 1024)),
        "a: b\r\n".repeat(101),
        "x".repeat(64 * 1024),
    ] {
        let mut client = server.connect().await;
        client.say(&request(&headers)).await;
        assert_eq!(status(&client.rest().await), "HTTP/1.1 431 Request Header Fields Too Large");
    }
    let mut client = server.connect().await;
    client.say(&request(&format!("a: {}\r\n", "x".repeat(31 * 1024)))).await;
    assert!(client.answer().await.ends_with("hello\n"));
}

/// F2: more connections than there is room for are turned away; the others are served on.
#[tokio::test]
async fn a_connection_too_many_is_turned_away() {
    let server = Running::with(EdgeLimits { connections: 2, ..EdgeLimits::default() }).await;
    let mut clients = [server.connect().await, server.connect().await];
    for client in &mut clients {
        client.get("/hello").await;
        client.answer().await;
    }
    let turned_away = server.connect().await.rest().await;
    assert_eq!(status(&turned_away), "HTTP/1.1 503 Service Unavailable");
    for client in &mut clients {
        client.get("/hello").await;
        assert!(client.answer().await.ends_with("hello\n"));
    }
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn one_address_cannot_take_the_room_of_another() {
    let server = Running::with(EdgeLimits { connections_per_address: 1, ..EdgeLimits::default() }).await;
    let connect = async |last| {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind((std::net::Ipv4Addr::new(127, 0, 0, last), 0).into()).unwrap();
        Client(socket.connect(server.address).await.unwrap())
    };
    let mut first = connect(2).await;
    first.get("/hello").await;
    first.answer().await;
    assert_eq!(status(&connect(2).await.rest().await), "HTTP/1.1 503 Service Unavailable");
    let mut other = connect(3).await;
    other.get("/hello").await;
    assert!(other.answer().await.ends_with("hello\n"));
}

#[tokio::test]
async fn a_limit_of_zero_connections_serves_nobody() {
    let server = Running::with(EdgeLimits { connections: 0, ..EdgeLimits::default() }).await;
    assert_eq!(status(&server.connect().await.rest().await), "HTTP/1.1 503 Service Unavailable");
}

#[test]
fn a_share_per_address_is_for_listeners_that_see_addresses() {
    let at = |address: &str| EdgeLimits::listening_at(address.parse().unwrap());
    assert_eq!(at("0.0.0.0:80"), EdgeLimits::default());
    for loopback in ["127.0.0.1:80", "[::1]:80", "[::ffff:127.0.0.1]:80"] {
        assert_eq!(at(loopback).connections_per_address, EdgeLimits::default().connections);
    }
}
