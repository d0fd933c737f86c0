//! A client for strangers' addresses goes where it may, by the address that it looked at.

use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use http::Request;
use hyper_util::client::legacy::connect::dns::Name;
use tower_service::Service;

use super::{Server, tls, whole_of};
use crate::fetch::error::{FetchError, NotSentReason};
use crate::fetch::names::{Names, Resolver};
use crate::fetch::parts::Parts;
use crate::fetch::place::Reach;
use crate::fetch::trust::{Authorities, NoAuthorities, Trust};
use crate::fetch::{FetchLimits, HttpClient};

/// Names that have other addresses each time they are looked up, and at last none.
#[derive(Debug)]
struct Turning {
    answers: Mutex<Vec<Vec<IpAddr>>>,
    asked: AtomicUsize,
}

impl Turning {
    fn new(answers: &[&[&str]]) -> Arc<Self> {
        let parse = |answer: &&[&str]| answer.iter().map(|text| text.parse().unwrap()).collect();
        let answers = answers.iter().rev().map(parse).collect();
        Arc::new(Self { answers: Mutex::new(answers), asked: AtomicUsize::new(0) })
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Names for Turning {
    async fn look_up(&self, _: Name) -> io::Result<Vec<IpAddr>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        Ok(self.answers.lock().unwrap().pop().unwrap_or_default())
    }
}

fn client(names: &Arc<Turning>, reach: Reach) -> HttpClient {
    let resolver = Resolver::new(Arc::<Turning>::clone(names), reach);
    HttpClient::resolving(Trust::these(tls::settings([])), resolver, FetchLimits::default())
}

fn get(address: &str) -> Request<Parts> {
    Request::get(address).body(Parts::default()).unwrap()
}

const OUT: FetchError = FetchError::NotSent(NotSentReason::OutOfReach);

/// O-C3: a name that was public when it was looked at and is this machine the next time leads nowhere.
#[tokio::test]
async fn a_name_that_turns_to_this_machine_is_refused() {
    let names = Turning::new(&[&["93.184.216.34", "2606:4700::1111"], &["127.0.0.1"], &["::1"]]);
    let mut resolver = Resolver::new(names, Reach::Public);
    let mut resolve = || resolver.call("turns.example".parse().unwrap());
    let first: Vec<_> = resolve().await.unwrap().map(|found| found.ip().to_string()).collect();
    assert_eq!(first, ["93.184.216.34", "2606:4700::1111"]);
    assert!(resolve().await.is_err());
    assert!(resolve().await.is_err());
    assert!(resolve().await.is_err(), "no answer is no address");
}

/// O-C3: what was looked at is what is connected to: there is one lookup for each connection, and no second.
#[tokio::test]
async fn a_connection_goes_to_the_address_that_was_looked_at() {
    let server = Server::saying(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi").await;
    let names = Turning::new(&[&["127.0.0.1"], &["10.0.0.1"]]);
    let client = client(&names, Reach::PublicAndThisMachine);
    let address = format!("http://turns.example:{}/", server.address.port());
    assert_eq!(whole_of(client.send(get(&address)).await.unwrap()).unwrap(), "hi");
    assert_eq!(names.asked(), 1);
    assert_eq!(client.send(get(&address)).await.unwrap_err(), OUT);
    assert_eq!((names.asked(), server.connections()), (2, 1));
}

/// O-C3: one private address among public ones spoils them all: which of them is used would be a matter of luck.
#[tokio::test]
async fn a_mixed_answer_is_refused() {
    let server = Server::saying(b"").await;
    for mixed in [["127.0.0.1", "93.184.216.34"], ["93.184.216.34", "127.0.0.1"], ["2606:4700::1111", "::1"]]
    {
        let names = Turning::new(&[&mixed]);
        let address = format!("http://mixed.example:{}/", server.address.port());
        assert_eq!(client(&names, Reach::Public).send(get(&address)).await.unwrap_err(), OUT, "{mixed:?}");
    }
    assert_eq!(server.connections(), 0);
}

/// O-C3: a host that is an address is looked at too, however it is written.
#[tokio::test]
async fn an_address_in_any_spelling_is_refused() {
    let server = Server::saying(b"").await;
    let client = HttpClient::reaching(Reach::Public, Authorities::default(), FetchLimits::default()).unwrap();
    let port = server.address.port();
    for host in
        ["127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0", "[::1]", "[::ffff:127.0.0.1]"]
    {
        let error = client.send(get(&format!("http://{host}:{port}/"))).await.unwrap_err();
        // Some systems know no address by the odd spellings.
        let expected = [OUT, FetchError::NotSent(NotSentReason::Unreachable)];
        assert!(expected.contains(&error), "{host}: {error:?}");
    }
    for host in
        ["169.254.169.254", "10.0.0.1", "[fe80::1]", "[fd00:ec2::254]", "[64:ff9b::7f00:1]", "localhost"]
    {
        let error = client.send(get(&format!("http://{host}:{port}/"))).await.unwrap_err();
        assert_eq!(error, OUT, "{host}");
    }
    assert_eq!(server.connections(), 0);
}

#[test]
fn authorities_are_certificates_and_nothing_else() {
    let certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    assert!(Authorities::from_pem(certificate.as_bytes()).is_ok());
    for bad in [
        "",
        "no PEM",
        "-----BEGIN CERTIFICATE-----\nAAAA\n",
        "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
    ] {
        assert_eq!(Authorities::from_pem(bad.as_bytes()).unwrap_err(), NoAuthorities, "{bad}");
    }
    // It is read, and turns out to be none when it is to be trusted.
    let authorities = Authorities::from_pem(certificate.as_bytes()).unwrap();
    assert!(HttpClient::reaching(Reach::Public, authorities, FetchLimits::default()).is_err());
}
