//! What a sender of requests may rely on, shown with servers that write their answers byte by byte.

use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Method, Request};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::time::pause;

use super::error::FetchError;
use super::events::EventStream;
use super::parts::Parts;
use super::trust::Trust;
use super::{Answer, AnswerBody, FetchLimits, HttpClient};

mod bodies;
mod reach;
mod sent;
mod streams;
mod tls;

/// A server that does with every connection what its test tells it.
struct Server {
    address: SocketAddr,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    connections: usize,
    /// Every request that was read: the number of its connection, and all of its text.
    requests: Vec<(usize, String)>,
}

impl Server {
    async fn start<S, F>(serve: S) -> Self
    where
        S: Fn(Peer) -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let server = Self { address, seen: Arc::clone(&seen) };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let number = {
                    let mut seen = seen.lock().unwrap();
                    seen.connections += 1;
                    seen.connections
                };
                tokio::spawn(serve(Peer { stream, number, seen: Arc::clone(&seen) }));
            }
        });
        server
    }

    /// A server that answers every first request of a connection with these bytes, and closes.
    async fn saying(answer: &'static [u8]) -> Self {
        Self::start(move |mut peer| async move {
            peer.request().await;
            peer.say(answer).await;
        })
        .await
    }

    fn get(&self) -> Request<Parts> {
        Request::get(format!("http://{}/mcp", self.address)).body(Parts::default()).unwrap()
    }

    fn post(&self, text: &'static str) -> Request<Parts> {
        let mut request = self.get();
        *request.method_mut() = Method::POST;
        *request.body_mut() = Bytes::from_static(text.as_bytes()).into();
        request
    }

    fn connections(&self) -> usize {
        self.seen.lock().unwrap().connections
    }

    /// The connection and the last line of every request that was read.
    fn requests(&self) -> Vec<(usize, String)> {
        let seen = self.seen.lock().unwrap();
        let last_line = |text: &str| text.rsplit("\r\n").next().unwrap_or_default().to_owned();
        seen.requests.iter().map(|(number, text)| (*number, last_line(text))).collect()
    }

    fn request_text(&self) -> String {
        self.seen.lock().unwrap().requests.first().unwrap().1.clone()
    }
}

/// The server's end of one connection.
struct Peer {
    stream: TcpStream,
    number: usize,
    seen: Arc<Mutex<Seen>>,
}

impl Peer {
    /// Reads one request with its body; false when the client has closed.
    async fn request(&mut self) -> bool {
        let mut text = Vec::new();
        loop {
            let so_far = String::from_utf8_lossy(&text).into_owned();
            if let Some((head, body)) = so_far.split_once("\r\n\r\n") {
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                    self.seen.lock().unwrap().requests.push((self.number, so_far));
                    return true;
                }
            }
            if self.stream.read_buf(&mut text).await.unwrap_or(0) == 0 {
                return false;
            }
        }
    }

    /// Sends bytes; false when the client has closed.
    async fn say(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream.write_all(bytes.as_ref()).await.is_ok() && self.stream.flush().await.is_ok()
    }

    /// Waits until the client closes the connection.
    async fn closed(&mut self) {
        let mut more = [0; 64];
        while self.stream.read(&mut more).await.is_ok_and(|read| read > 0) {}
    }
}

fn client() -> HttpClient {
    client_with(FetchLimits::default())
}

fn client_with(limits: FetchLimits) -> HttpClient {
    // An empty list of whom to trust: the system's own is none of these tests' business.
    HttpClient::trusting(Trust::these(tls::settings([])), limits)
}

/// Waits for something, and once `when` has come lets the time pass as fast as it can: what is too slow is found
/// out without waiting, and on a busy machine nothing else is.
async fn hurried<T>(when: &Notify, waiting: impl Future<Output = T>) -> T {
    let mut waiting = pin!(waiting);
    tokio::select! {
        outcome = &mut waiting => return outcome,
        () = when.notified() => {}
    }
    pause();
    waiting.await
}

async fn whole(server: &Server) -> Result<Bytes, FetchError> {
    whole_of(client().send(server.get()).await?)
}

fn whole_of(answer: Answer) -> Result<Bytes, FetchError> {
    match answer.body {
        AnswerBody::Whole(bytes) => Ok(bytes),
        AnswerBody::Events(_) => panic!("events instead of a whole answer"),
    }
}

async fn events(client: &HttpClient, server: &Server) -> EventStream {
    match client.send(server.get()).await.unwrap().body {
        AnswerBody::Events(events) => *events,
        AnswerBody::Whole(_) => panic!("a whole answer instead of events"),
    }
}
