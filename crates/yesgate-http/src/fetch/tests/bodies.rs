//! Whole answers in every form that HTTP/1.1 has for them, and the requests they answer.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, CONTENT_LENGTH, HeaderValue, TRANSFER_ENCODING};
use tokio::sync::Notify;
use tokio::time::{Duration, Instant, interval};

use super::{Server, client, client_with, hurried, whole, whole_of};
use crate::fetch::FetchLimits;
use crate::fetch::error::FetchError;
use crate::fetch::parts::Parts;

async fn check(answer: &'static [u8], expected: &'static [u8]) {
    let server = Server::saying(answer).await;
    assert_eq!(whole(&server).await, Ok(Bytes::from_static(expected)));
    // The same, a byte at a time.
    let server = Server::start(move |mut peer| async move {
        peer.request().await;
        for byte in answer {
            peer.say([*byte]).await;
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(whole(&server).await, Ok(Bytes::from_static(expected)));
}

#[tokio::test]
async fn an_answer_ends_with_its_length_its_last_chunk_or_its_connection() {
    check(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", b"hello").await;
    check(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nA: b\r\n\r\n",
        b"hello",
    )
    .await;
    check(b"HTTP/1.1 200 OK\r\n\r\nhello", b"hello").await;
    check(b"HTTP/1.0 200 OK\r\n\r\nhello", b"hello").await;
    check(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", b"").await;
    check(b"HTTP/1.1 204 No Content\r\n\r\n", b"").await;
    check(b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", b"ok").await;
}

#[tokio::test]
async fn a_request_has_one_exact_length_and_asks_for_nothing_compressed() {
    let server = Server::saying(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let mut request = server.post("");
    *request.body_mut() =
        ["{\"a\":", "", "1", "}"].map(|piece| Bytes::from_static(piece.as_bytes())).into_iter().collect();
    for (name, value) in [(CONTENT_LENGTH, "99"), (TRANSFER_ENCODING, "chunked"), (ACCEPT_ENCODING, "gzip")] {
        request.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    client().send(request).await.unwrap();
    let text = server.request_text().replace(&server.address.to_string(), "ADDRESS");
    assert_eq!(text, "POST /mcp HTTP/1.1\r\nhost: ADDRESS\r\ncontent-length: 7\r\n\r\n{\"a\":1}");
}

#[tokio::test]
async fn a_request_without_a_body_says_so_where_one_is_usual() {
    for (method, line) in [("POST", "content-length: 0\r\n"), ("GET", ""), ("DELETE", "")] {
        let server = Server::saying(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
        let mut request = server.get();
        *request.method_mut() = method.parse().unwrap();
        client().send(request).await.unwrap();
        let text = server.request_text().replace(&server.address.to_string(), "ADDRESS");
        assert_eq!(text, format!("{method} /mcp HTTP/1.1\r\nhost: ADDRESS\r\n{line}\r\n"));
    }
}

#[test]
fn what_is_sent_is_not_shown() {
    let parts = Parts::from(vec![Bytes::from_static(b"secret"), Bytes::from_static(b"!")]);
    assert_eq!(format!("{parts:?}"), "Parts { bytes: 7 }");
}

/// B10: where a redirect leads is not our choice.
#[tokio::test]
async fn a_redirect_is_returned_and_not_followed() {
    let elsewhere = Server::saying(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let location = elsewhere.address;
    let server = Server::start(move |mut peer| async move {
        peer.request().await;
        peer.say(format!("HTTP/1.1 307 x\r\nLocation: http://{location}/\r\nContent-Length: 0\r\n\r\n"))
            .await;
    })
    .await;
    let answer = client().send(server.post("pay")).await.unwrap();
    assert_eq!(answer.status, 307);
    assert_eq!(answer.headers.get("location").unwrap(), &format!("http://{location}/"));
    assert_eq!(elsewhere.connections(), 0);
    assert_eq!(server.requests().len(), 1);
}

/// B8: what is not unpacked cannot be a bomb.
#[tokio::test]
async fn a_compressed_answer_is_returned_as_it_is() {
    let server = Server::saying(
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08\x00",
    )
    .await;
    let answer = client().send(server.get()).await.unwrap();
    assert_eq!(answer.headers.get("content-encoding").unwrap(), "gzip");
    assert_eq!(whole_of(answer).unwrap(), b"\x1f\x8b\x08\x00"[..]);
}

/// B8: an answer is read up to its cap and no further.
#[tokio::test]
async fn an_endless_answer_is_cut_at_the_cap() {
    for head in ["HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"] {
        let (told, mut closed) = tokio::sync::mpsc::channel(1);
        let server = Server::start(move |mut peer| {
            let told = told.clone();
            async move {
                peer.request().await;
                peer.say(head).await;
                let chunk = format!("1000\r\n{}\r\n", "x".repeat(4096));
                // Far more than sockets hold: only a client that closes ends this early.
                let mut said = 0;
                while said < 100_000 && peer.say(&chunk).await {
                    said += 1;
                }
                told.send(said).await.unwrap();
            }
        })
        .await;
        let client = client_with(FetchLimits { answer_bytes: 100_000, ..FetchLimits::default() });
        let error = client.send(server.get()).await.unwrap_err();
        assert_eq!(error, FetchError::TooLarge);
        assert!(error.was_sent());
        assert!(closed.recv().await.unwrap() < 100_000);
    }
}

#[tokio::test]
async fn an_answer_may_be_as_large_as_the_cap() {
    let client = client_with(FetchLimits { answer_bytes: 5, ..FetchLimits::default() });
    let fits = Server::saying(b"HTTP/1.1 200 OK\r\n\r\nhello").await;
    assert_eq!(whole_of(client.send(fits.get()).await.unwrap()).unwrap(), "hello");
    let too_large = Server::saying(b"HTTP/1.1 200 OK\r\n\r\nhello!").await;
    assert_eq!(client.send(too_large.get()).await.unwrap_err(), FetchError::TooLarge);
}

#[tokio::test]
async fn an_answer_that_announces_too_much_is_not_waited_for() {
    let server = Server::start(|mut peer| async move {
        peer.request().await;
        peer.say("HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n").await;
        peer.closed().await;
    })
    .await;
    assert_eq!(whole(&server).await, Err(FetchError::TooLarge));
}

#[tokio::test]
async fn endless_headers_are_too_large() {
    let server = Server::start(|mut peer| async move {
        peer.request().await;
        peer.say("HTTP/1.1 200 OK\r\nEndless: ").await;
        for _ in 0..10_000 {
            if !peer.say([b'x'; 4096]).await {
                break;
            }
        }
    })
    .await;
    assert_eq!(whole(&server).await, Err(FetchError::TooLarge));
}

#[tokio::test]
async fn an_answer_that_stops_in_the_middle_is_too_slow() {
    let said = Arc::new(Notify::new());
    let told = Arc::clone(&said);
    let server = Server::start(move |mut peer| {
        let told = Arc::clone(&told);
        async move {
            peer.request().await;
            peer.say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel").await;
            told.notify_one();
            peer.closed().await;
        }
    })
    .await;
    let start = Instant::now();
    assert_eq!(hurried(&said, client().send(server.get())).await.unwrap_err(), FetchError::TooSlow);
    assert!(start.elapsed() < FetchLimits::default().whole);
}

/// B8: a server that drips is never silent for long, and has an end all the same.
#[tokio::test]
async fn an_answer_that_drips_for_ever_is_too_slow() {
    let said = Arc::new(Notify::new());
    let told = Arc::clone(&said);
    let server = Server::start(move |mut peer| {
        let told = Arc::clone(&told);
        async move {
            peer.request().await;
            peer.say("HTTP/1.1 200 OK\r\n\r\n").await;
            told.notify_one();
            let mut drip = interval(Duration::from_secs(1));
            while peer.say("x").await {
                drip.tick().await;
            }
        }
    })
    .await;
    let start = Instant::now();
    assert_eq!(hurried(&said, client().send(server.get())).await.unwrap_err(), FetchError::TooSlow);
    assert!(start.elapsed() >= FetchLimits::default().whole);
}
