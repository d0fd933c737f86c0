//! Whether the server may have the request: certain when it is denied, and never sent twice.

use std::sync::Arc;

use http::Request;
use http::header::{CONNECTION, HeaderValue};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::yield_now;
use tokio::time::{Instant, pause, resume};

use super::{Server, client, hurried, whole_of};
use crate::fetch::FetchLimits;
use crate::fetch::error::{FetchError, LostReason, NotSentReason};
use crate::fetch::parts::Parts;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

#[tokio::test]
async fn a_refused_connection_means_that_nothing_was_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let request = Request::post(format!("http://{address}/")).body(Parts::default()).unwrap();
    let error = client().send(request).await.unwrap_err();
    assert_eq!(error, FetchError::NotSent(NotSentReason::Refused));
    assert!(!error.was_sent());
}

#[tokio::test]
async fn an_address_that_is_none_means_that_nothing_was_sent() {
    for address in ["/mcp", "ftp://127.0.0.1/", "localhost:1"] {
        let request = Request::get(address).body(Parts::default()).unwrap();
        let error = client().send(request).await.unwrap_err();
        assert_eq!(error, FetchError::NotSent(NotSentReason::Address), "{address}");
    }
}

#[tokio::test]
async fn a_request_that_was_read_and_not_answered_is_lost_and_was_sent_once() {
    let server = Server::start(|mut peer| async move {
        peer.request().await;
    })
    .await;
    let error = client().send(server.post("pay")).await.unwrap_err();
    assert_eq!(error, FetchError::Lost(LostReason::Closed));
    assert!(error.was_sent());
    assert_eq!(server.connections(), 1);
    assert_eq!(server.requests(), [(1, "pay".into())]);
}

/// The trap: a client that takes every close of a kept connection for one that came before its request.
#[tokio::test]
async fn a_request_that_was_read_on_a_kept_connection_is_not_sent_again() {
    let server = Server::start(|mut peer| async move {
        peer.request().await;
        peer.say(OK).await;
        peer.request().await;
    })
    .await;
    let client = client();
    client.send(server.post("look")).await.unwrap();
    let error = client.send(server.post("pay")).await.unwrap_err();
    assert_eq!(error, FetchError::Lost(LostReason::Closed));
    assert_eq!(server.connections(), 1);
    assert_eq!(server.requests(), [(1, "look".into()), (1, "pay".into())]);
}

#[tokio::test]
async fn a_connection_is_kept_and_used_again() {
    let server =
        Server::start(|mut peer| async move { while peer.request().await && peer.say(OK).await {} }).await;
    let client = client();
    for _ in 0..3 {
        assert_eq!(whole_of(client.send(server.post("look")).await.unwrap()).unwrap(), "ok");
    }
    assert_eq!(server.connections(), 1);
    assert_eq!(server.requests().len(), 3);
}

/// RFC 9112 §9.6: whoever says `close` sends nothing more. The server closes when it has answered, whether it says so or
/// not, and a request that met that would be lost.
#[tokio::test]
async fn a_connection_is_not_used_again_after_a_request_that_said_close() {
    let server =
        Server::start(|mut peer| async move { while peer.request().await && peer.say(OK).await {} }).await;
    let client = client();
    for told in ["close", "te, Close"] {
        let mut request = server.post("look");
        request.headers_mut().insert(CONNECTION, HeaderValue::from_static(told));
        client.send(request).await.unwrap();
    }
    client.send(server.post("pay")).await.unwrap();
    assert_eq!(server.connections(), 3);
    assert_eq!(server.requests(), [(1, "look".into()), (2, "look".into()), (3, "pay".into())]);
}

#[tokio::test]
async fn a_kept_connection_that_was_closed_is_replaced() {
    check_replaced("").await;
}

/// Some servers say why they close. It is no answer to a request that comes later.
#[tokio::test]
async fn what_is_said_on_an_idle_connection_is_no_answer() {
    check_replaced("HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n").await;
}

async fn check_replaced(last_words: &'static str) {
    let idle = Arc::new(Notify::new());
    let closed = Arc::new(Notify::new());
    let (close, told) = (Arc::clone(&idle), Arc::clone(&closed));
    let server = Server::start(move |mut peer| {
        let (close, told) = (Arc::clone(&close), Arc::clone(&told));
        async move {
            peer.request().await;
            peer.say(OK).await;
            close.notified().await;
            peer.say(last_words).await;
            drop(peer);
            told.notify_one();
        }
    })
    .await;
    let client = client();
    client.send(server.post("look")).await.unwrap();
    idle.notify_one();
    closed.notified().await;
    let_sockets_settle().await;
    let answer = client.send(server.post("pay")).await.unwrap();
    assert_eq!(answer.status, 200);
    assert_eq!(whole_of(answer).unwrap(), "ok");
    assert_eq!(server.connections(), 2);
    assert_eq!(server.requests(), [(1, "look".into()), (2, "pay".into())]);
}

/// Gives everybody time to notice what has come: sockets are looked at every 61 turns at the latest.
async fn let_sockets_settle() {
    for _ in 0..200 {
        yield_now().await;
    }
}

/// Closing races with the request here. Whatever wins, what is said about it is true.
#[tokio::test]
async fn a_request_that_was_read_is_never_said_to_be_unsent() {
    for turns in 0..100 {
        let server = Server::start(move |mut peer| async move {
            if peer.number == 1 {
                peer.request().await;
                peer.say(OK).await;
                for _ in 0..turns {
                    yield_now().await;
                }
            } else {
                peer.request().await;
                peer.say(OK).await;
            }
        })
        .await;
        let client = client();
        client.send(server.post("look")).await.unwrap();
        let outcome = client.send(server.post("pay")).await;
        let_sockets_settle().await;
        let read = server.requests().iter().filter(|(_, text)| text == "pay").count();
        match outcome {
            Ok(_) => assert_eq!(read, 1),
            Err(error) if error.was_sent() => assert!(read <= 1, "{error}"),
            Err(error) => assert_eq!(read, 0, "{error}"),
        }
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_lost() {
    for answer in ["HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"] {
        let server = Server::saying(answer.as_bytes()).await;
        let error = client().send(server.post("pay")).await.unwrap_err();
        assert_eq!(error, FetchError::Lost(LostReason::Closed), "{answer}");
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn an_answer_that_is_not_http_is_lost() {
    let server = Server::saying(b"220 mail.example ESMTP\r\n\r\n").await;
    let error = client().send(server.post("pay")).await.unwrap_err();
    assert_eq!(error, FetchError::Lost(LostReason::NotHttp));
    assert!(error.was_sent());
}

/// B8: a server that says nothing is not waited for, and may have the request.
#[tokio::test]
async fn a_silent_server_is_too_slow_and_may_have_the_request() {
    let (server, read, closed) = silent().await;
    let error = hurried(&read, client().send(server.post("pay"))).await.unwrap_err();
    assert_eq!(error, FetchError::TooSlow);
    assert!(error.was_sent());
    assert_eq!(server.requests(), [(1, "pay".into())]);
    closed.notified().await;
}

#[tokio::test]
async fn a_request_may_be_given_a_time_of_its_own() {
    for own in [FetchLimits::default().answer / 10, FetchLimits::default().answer * 10] {
        let (server, read, _) = silent().await;
        let start = Instant::now();
        let error = hurried(&read, client().send_within(server.post("pay"), own)).await.unwrap_err();
        assert_eq!(error, FetchError::TooSlow);
        assert!((own..own * 2).contains(&start.elapsed()));
        resume();
    }
}

#[tokio::test]
async fn a_tls_server_that_says_nothing_was_sent_nothing() {
    let limits = FetchLimits::default();
    for answer in [limits.connect / 2, limits.connect * 2] {
        let greeted = Arc::new(Notify::new());
        let told = Arc::clone(&greeted);
        let server = Server::start(move |mut peer| {
            let told = Arc::clone(&told);
            async move {
                peer.stream.readable().await.unwrap();
                told.notify_one();
                peer.closed().await;
            }
        })
        .await;
        let request = Request::post(format!("https://{}/", server.address)).body(Parts::default()).unwrap();
        let error = hurried(&greeted, client().send_within(request, answer)).await.unwrap_err();
        assert_eq!(error, FetchError::NotSent(NotSentReason::TooSlow));
        resume();
    }
}

#[tokio::test]
async fn a_request_that_is_given_up_closes_its_connection() {
    let (server, read, closed) = silent().await;
    let client = client();
    tokio::select! {
        _ = client.send(server.post("pay")) => panic!("the server does not answer"),
        () = read.notified() => {}
    }
    closed.notified().await;
}

/// A server that reads one request and never answers, and how it tells that it has read and that the client
/// has closed.
async fn silent() -> (Server, Arc<Notify>, Arc<Notify>) {
    let (read, closed) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let told = (Arc::clone(&read), Arc::clone(&closed));
    let server = Server::start(move |mut peer| {
        let (read, closed) = told.clone();
        async move {
            peer.request().await;
            read.notify_one();
            peer.closed().await;
            closed.notify_one();
        }
    })
    .await;
    (server, read, closed)
}

/// Servers close what is idle for a while; a request must not meet that.
#[tokio::test]
async fn a_connection_that_rested_for_too_long_is_closed_and_not_used_again() {
    let closed = Arc::new(Notify::new());
    let told = Arc::clone(&closed);
    let server = Server::start(move |mut peer| {
        let told = Arc::clone(&told);
        async move {
            while peer.request().await && peer.say(OK).await {}
            told.notify_one();
        }
    })
    .await;
    let client = client();
    client.send(server.post("look")).await.unwrap();
    pause();
    // Nobody sends anything: it is closed all the same.
    closed.notified().await;
    resume();
    client.send(server.post("look")).await.unwrap();
    assert_eq!(server.requests(), [(1, "look".into()), (2, "look".into())]);
}
