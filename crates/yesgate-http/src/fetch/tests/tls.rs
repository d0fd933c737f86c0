//! TLS: a server that is not trusted is told nothing.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{JoinHandle, spawn};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::Request;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig, ServerConnection, Stream};

use super::{Server, client, whole_of};
use crate::fetch::error::{FetchError, NotSentReason};
use crate::fetch::parts::Parts;
use crate::fetch::trust::Trust;
use crate::fetch::{FetchLimits, HttpClient};

/// TLS settings that trust these certificates alone.
pub(super) fn settings(trusted: impl IntoIterator<Item = CertificateDer<'static>>) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    for certificate in trusted {
        roots.add(certificate).unwrap();
    }
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth()
}

/// A server that takes one connection. The thread ends with what it read.
fn serve_one() -> (SocketAddr, JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let key = PrivatePkcs8KeyDer::from(BASE64_STANDARD.decode(KEY).unwrap());
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate()], key.into())
        .unwrap();
    let server = spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut connection = ServerConnection::new(Arc::new(config)).unwrap();
        let mut stream = Stream::new(&mut connection, &mut socket);
        let mut read = Vec::new();
        let mut more = [0; 4096];
        while !read.ends_with(b"\r\n\r\npay") {
            match stream.read(&mut more) {
                Ok(0) | Err(_) => return read,
                Ok(length) => read.extend_from_slice(&more[..length]),
            }
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npaid").unwrap();
        stream.flush().unwrap();
        read
    });
    (address, server)
}

fn pay(address: SocketAddr) -> Request<Parts> {
    Request::post(format!("https://{address}/")).body(bytes::Bytes::from_static(b"pay").into()).unwrap()
}

#[tokio::test]
async fn a_server_that_is_not_trusted_is_sent_nothing() {
    let (address, server) = serve_one();
    // The system's list, as the gateway uses it, does not have this certificate either.
    let of_the_system = HttpClient::new(FetchLimits::default());
    let client = match of_the_system.prepare_for("https://localhost/") {
        Ok(()) => of_the_system,
        Err(_) => client(),
    };
    let error = client.send(pay(address)).await.unwrap_err();
    assert_eq!(error, FetchError::NotSent(NotSentReason::Tls));
    assert_eq!(server.join().unwrap(), b"");
}

#[tokio::test]
async fn a_server_that_is_trusted_answers() {
    let (address, server) = serve_one();
    let client = HttpClient::trusting(Trust::these(settings([certificate()])), FetchLimits::default());
    assert_eq!(whole_of(client.send(pay(address)).await.unwrap()).unwrap(), "paid");
    assert!(server.join().unwrap().starts_with(b"POST / HTTP/1.1\r\n"));
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_is_sent_nothing() {
    let server = Server::start(|mut peer| async move {
        peer.say("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").await;
        peer.closed().await;
    })
    .await;
    let error = client().send(pay(server.address)).await.unwrap_err();
    assert_eq!(error, FetchError::NotSent(NotSentReason::Tls));
}

fn certificate() -> CertificateDer<'static> {
    BASE64_STANDARD.decode(CERTIFICATE).unwrap().into()
}

/// Signed by itself, for 127.0.0.1, valid from 2020 to 2120.
const CERTIFICATE: &str = "\
    MIIBXzCCAQWgAwIBAgIBATAKBggqhkjOPQQDAjAXMRUwEwYDVQQDDAx5ZXNnYXRlIHRlc3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEy\
    MDAxMDEwMDAwMDBaMBcxFTATBgNVBAMMDHllc2dhdGUgdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABBjqvcLje1rI4w+n\
    CJtmaUd3JspWsFgPwAyD63PyNH+J2sp/3fAd1wBvljs/AqYr8X8Qf6XsKa+iGzLA4fBdfjKjQDA+MA8GA1UdEQQIMAaHBH8AAAEw\
    DAYDVR0TAQH/BAIwADAdBgNVHQ4EFgQUyWY8BBgdWE1xmtgElI+lAY1so9YwCgYIKoZIzj0EAwIDSAAwRQIhAKl7WrgBzOlp7h0V\
    SRR/675QQoK6cMl02sUcW3TUEZJHAiAzE9xFkdxpLfOaLMxj1ShT5c2crxf9WyalDsyr9wr8Vw==";

/// The key of that certificate, which nobody trusts.
const KEY: &str = "\
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgI6xMZWWRbL9Z2AhHLisLuCvoWGPMTsnfR9KSwFfKOM6hRANCAAQY\
    6r3C43tayOMPpwibZmlHdybKVrBYD8AMg+tz8jR/idrKf93wHdcAb5Y7PwKmK/F/EH+l7CmvohsywOHwXX4y";
