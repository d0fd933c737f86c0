//! When keys are fetched, and when they are not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use yesgate_http::fetch::HttpClient;

use super::{Keys, Unverified};
use crate::fetching::LIMITS;
use crate::jws::JwsError;
use crate::jws::tests::Signer;

/// Where keys are: the first signer's at first, and the second's too after so many fetches.
async fn issuer(first: &Signer, second: &Signer, after: usize) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/keys", listener.local_addr().unwrap());
    let fetched = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&fetched);
    let sets = [json!({"keys": [first.key("one")]}), json!({"keys": [first.key("one"), second.key("two")]})];
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut request = [0; 4096];
            let _ = socket.read(&mut request).await.unwrap();
            let number = count.fetch_add(1, Ordering::SeqCst);
            let body = sets[usize::from(number >= after)].to_string();
            let head =
                format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
            socket.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        }
    });
    (url, fetched)
}

/// A key that is new is found when a token names it, once a minute at most; one that was withdrawn is gone within the hour.
#[tokio::test]
async fn keys_are_fetched_anew_for_a_new_one_and_once_a_minute_at_most() {
    let (first, second) = (Signer::new(), Signer::new());
    let (url, fetched) = issuer(&first, &second, 1).await;
    let keys = Keys::new(HttpClient::new(LIMITS), url.parse().unwrap());
    let at = |seconds| Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds);
    let head = |kid: &str| format!(r#"{{"alg":"EdDSA","kid":"{kid}"}}"#);
    let (old, new) = (first.sign(&head("one"), "{}"), second.sign(&head("two"), "{}"));
    let unknown = async |token: &str, seconds| match keys.verify(token, at(seconds)).await {
        Err(Unverified::Token(JwsError::UnknownKey)) => true,
        Ok(_) | Err(_) => false,
    };
    assert!(keys.verify(&old, at(0)).await.is_ok());
    for _ in 0..100 {
        assert!(unknown(&new, 59).await);
    }
    assert_eq!(fetched.load(Ordering::SeqCst), 1, "a flood of unknown names fetches nothing");
    assert!(keys.verify(&new, at(60)).await.is_ok());
    assert!(keys.verify(&old, at(61)).await.is_ok());
    assert!(unknown(&first.sign(&head("three"), "{}"), 62).await);
    assert_eq!(fetched.load(Ordering::SeqCst), 2);
    assert!(keys.verify(&old, at(60 + 3599)).await.is_ok());
    assert_eq!(fetched.load(Ordering::SeqCst), 2);
    assert!(keys.verify(&old, at(60 + 3600)).await.is_ok());
    assert_eq!(fetched.load(Ordering::SeqCst), 3);
}

/// Nobody can tell what is right while the keys cannot be had, so nothing is.
#[tokio::test]
async fn without_keys_nothing_is_taken() {
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let keys = Keys::new(HttpClient::new(LIMITS), format!("http://{gone}/keys").parse().unwrap());
    let token = Signer::new().sign(r#"{"alg":"EdDSA","kid":"one"}"#, "{}");
    assert!(keys.verify(&token, Timestamp::UNIX_EPOCH).await.is_err());
}

/// An issuer that is away is asked now and then, not for each token; what is no token has nothing fetched at all.
#[tokio::test]
async fn an_issuer_that_is_away_is_not_asked_for_each_token() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/keys", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::SeqCst);
            drop(socket);
        }
    });
    let keys = Keys::new(HttpClient::new(LIMITS), url.parse().unwrap());
    let at = |seconds| Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds);
    let token = Signer::new().sign(r#"{"alg":"EdDSA","kid":"one"}"#, "{}");
    for bad in ["", "no token", "a.b.c", &token.replacen('.', "..", 1)] {
        let Err(Unverified::Token(_)) = keys.verify(bad, at(0)).await else { panic!("{bad}") };
    }
    assert_eq!(asked.load(Ordering::SeqCst), 0);
    for seconds in [0, 0, 1, 4] {
        assert!(keys.verify(&token, at(seconds)).await.is_err());
    }
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    assert!(keys.verify(&token, at(5)).await.is_err());
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}
