//! What a shutdown ends, and what it waits for.

use bytes::Bytes;
use tokio::net::TcpStream;

use super::{Drained, EdgeLimits, Running, SHORT, soon};

#[tokio::test]
async fn a_running_request_is_finished_and_the_last_of_its_connection() {
    let mut server = Running::start().await;
    let mut client = server.connect().await;
    client.get("/hang").await;
    let release = server.hanging().await;
    let address = server.address;
    let served = server.shut_down();
    // Once new connections are refused the shutdown has begun.
    soon(async { while TcpStream::connect(address).await.is_ok() {} }).await;
    release.send(()).unwrap();
    let answer = client.rest().await;
    assert!(answer.contains("connection: close") && answer.ends_with("released\n"), "{answer}");
    drop(client);
    assert_eq!(soon(served).await.unwrap(), Drained { finished: 1, cut: 0 });
}

#[tokio::test]
async fn an_endless_stream_is_cut_when_the_time_is_over() {
    let mut server = Running::with(EdgeLimits { drain_time: SHORT, ..EdgeLimits::default() }).await;
    let mut client = server.connect().await;
    client.get("/stream").await;
    let stream = server.stream().await;
    stream.send(Bytes::from_static(b"data")).await.unwrap();
    client.hear("data").await;
    assert_eq!(soon(server.shut_down()).await.unwrap(), Drained { finished: 0, cut: 1 });
    assert!(stream.is_closed());
    assert_eq!(client.rest().await, "\r\n");
}

#[tokio::test]
async fn a_stream_that_ends_in_time_is_not_cut() {
    let mut server = Running::start().await;
    let mut client = server.connect().await;
    client.get("/stream").await;
    let stream = server.stream().await;
    client.hear("\r\n\r\n").await;
    let served = server.shut_down();
    stream.send(Bytes::from_static(b"bye")).await.unwrap();
    drop(stream);
    assert_eq!(client.rest().await, "3\r\nbye\r\n0\r\n\r\n");
    drop(client);
    assert_eq!(soon(served).await.unwrap(), Drained { finished: 1, cut: 0 });
}

#[tokio::test]
async fn idle_connections_end_at_once() {
    let server = Running::start().await;
    let mut used = server.connect().await;
    used.get("/hello").await;
    used.answer().await;
    let served = server.shut_down();
    assert_eq!(used.rest().await, "");
    drop(used);
    assert_eq!(soon(served).await.unwrap(), Drained { finished: 1, cut: 0 });
}

#[tokio::test]
async fn a_server_that_is_dropped_leaves_nothing_behind() {
    let mut server = Running::start().await;
    let mut client = server.connect().await;
    client.get("/hang").await;
    let _release = server.hanging().await;
    server.served.abort();
    server.dropped().await;
    assert_eq!(client.rest().await, "");
}
