//! Requests and answers on the wire: framing, keep-alive, pipelining, and what is not HTTP.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::super::{ACCEPT_PAUSE, Crew, Door, serve_from};
use super::{
    Client, EdgeLimits, Guard, Running, Site, SocketAddr, TcpListener, TcpStream, oneshot, soon, status,
};

#[tokio::test]
async fn a_connection_serves_one_request_after_the_other() {
    let server = Running::start().await;
    let mut client = server.connect().await;
    for _ in 0..3 {
        client.get("/hello").await;
        assert!(client.answer().await.ends_with("hello\n"));
    }
    client.say("POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\nabc").await;
    assert!(client.answer().await.ends_with("\r\n\r\nabc"));
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_their_order() {
    let server = Running::start().await;
    let mut client = server.connect().await;
    let echo = |text| format!("POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\n\r\n{text}");
    client.say(&format!("{}{}{}", echo("1"), echo("2"), echo("3"))).await;
    for expected in ["1", "2", "3"] {
        assert!(client.answer().await.ends_with(&format!("\r\n\r\n{expected}")));
    }
}

#[tokio::test]
async fn a_body_that_is_known_goes_out_with_its_length_and_a_stream_in_chunks() {
    let mut server = Running::start().await;
    let mut client = server.connect().await;
    client.get("/parts").await;
    let answer = client.answer().await;
    assert!(answer.contains("content-length: 6\r\n") && answer.ends_with("\r\n\r\nabcdef"), "{answer}");
    client.get("/empty").await;
    assert!(client.answer().await.contains("content-length: 0\r\n"));
    client.get("/stream").await;
    let stream = server.stream().await;
    let head = client.hear("\r\n\r\n").await;
    assert!(head.contains("transfer-encoding: chunked"), "{head}");
    // Each piece goes out when it comes.
    for (piece, chunk) in [("one", "3\r\none\r\n"), ("three", "5\r\nthree\r\n")] {
        stream.send(Bytes::from_static(piece.as_bytes())).await.unwrap();
        assert_eq!(client.hear("\r\n").await + &client.hear("\r\n").await, chunk);
    }
    drop(stream);
    assert_eq!(client.hear("\r\n\r\n").await, "0\r\n\r\n");
}

/// F4: what two readers could take for different requests is refused, and ends the connection.
#[tokio::test]
async fn a_request_with_two_meanings_ends_the_connection() {
    let server = Running::start().await;
    let smuggled = "GET /hello HTTP/1.1\r\nhost: a\r\n\r\n";
    for headers in [
        "content-length: 1\r\ncontent-length: 2",
        "content-length: +1",
        "content-length: 1, 2",
        "content-length: -1",
        "content-length : 0",
        "transfer-encoding: chunked, identity",
        "transfer-encoding: identity",
        "transfer-encoding: xchunked",
        "transfer-encoding : chunked",
        "content-length: 0\r\n folded: 1",
        "no colon",
        "bad\0name: 1",
    ] {
        let mut client = server.connect().await;
        client.say(&format!("POST /echo HTTP/1.1\r\nhost: a\r\n{headers}\r\n\r\n{smuggled}")).await;
        let answer = client.rest().await;
        assert_eq!(status(&answer), "HTTP/1.1 400 Bad Request", "{headers:?}");
        assert!(!answer.contains("hello"), "{headers:?}: {answer}");
    }
    // With both, the chunks count (RFC 9112 §6.3), and nothing after them.
    let mut client = server.connect().await;
    let both = "content-length: 6\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n";
    client.say(&format!("POST /echo HTTP/1.1\r\nhost: a\r\n{both}{smuggled}")).await;
    let answer = client.rest().await;
    assert!(answer.contains("connection: close") && !answer.contains("hello"), "{answer}");
}

#[tokio::test]
async fn what_is_not_http_is_refused_and_the_server_goes_on() {
    let server = Running::start().await;
    for noise in ["\u{16}\u{3}\u{1}\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "hello\r\n\r\n"] {
        let mut client = server.connect().await;
        client.say(noise).await;
        let answer = client.rest().await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400 "), "{noise:?}: {answer}");
    }
    let mut client = server.connect().await;
    client.get("/hello").await;
    assert!(client.answer().await.ends_with("hello\n"));
}

/// A listener of a machine without file descriptors, for some time.
struct StuckDoor {
    listener: TcpListener,
    tries: AtomicUsize,
}

impl Door for StuckDoor {
    async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        if self.tries.fetch_add(1, Ordering::Relaxed) < 3 {
            return Err(rustix::io::Errno::MFILE.into());
        }
        self.listener.accept().await
    }
}

#[tokio::test]
async fn a_listener_in_trouble_is_tried_again_and_not_in_a_hurry() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let door = StuckDoor { listener, tries: AtomicUsize::new(0) };
    let started = Instant::now();
    let guard = Guard::new(address, &[""; 0], &[""; 0]).unwrap();
    let limits = EdgeLimits::default();
    let site = Site { limits: limits.clone(), guard, events: mpsc::unbounded_channel().0 };
    let (stop, stopped) = oneshot::channel::<()>();
    let crew = Crew::default();
    let serving = serve_from(door, Arc::new(site), limits, &crew, async { drop(stopped.await) });
    let asking = async {
        let mut client = Client(TcpStream::connect(address).await.unwrap());
        client.get("/hello").await;
        let answer = client.answer().await;
        stop.send(()).unwrap();
        answer
    };
    let (_, answer) = soon(async { tokio::join!(serving, asking) }).await;
    assert!(answer.ends_with("hello\n"));
    assert!(started.elapsed() >= 3 * ACCEPT_PAUSE);
}
