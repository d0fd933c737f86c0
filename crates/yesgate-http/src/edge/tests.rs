//! The edge as its clients see it: real sockets on loopback, raw bytes, small limits.

use std::future::{Future, pending};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::body::{Body, plain};
use super::guard::Guard;
use super::intake::read_body;
use super::{Crew, Drained, EdgeLimits, Handler, serve};

mod browsers;
mod draining;
mod leaving;
mod limits;
mod wire;

/// Much longer than anything here takes, so that a test that hangs says where.
const PATIENCE: Duration = Duration::from_secs(20);

/// Longer than the limits that a test sets, and short enough to wait for.
const A_WHILE: Duration = Duration::from_millis(400);

const SHORT: Duration = Duration::from_millis(100);

/// What the handler tells the test.
#[derive(Debug)]
enum Event {
    /// A request to `/hang` runs; it ends when its client goes, or when it is released.
    Hanging(oneshot::Sender<()>),
    /// The future of such a request was dropped before it was released.
    Dropped,
    /// A stream is open, and this feeds it.
    Streaming(mpsc::Sender<Bytes>),
}

#[derive(Debug)]
struct Site {
    limits: EdgeLimits,
    guard: Guard,
    events: mpsc::UnboundedSender<Event>,
}

impl Handler for Site {
    async fn handle(&self, request: Request<Incoming>, _: SocketAddr) -> Response<Body> {
        match request.uri().path() {
            "/hello" => plain(StatusCode::OK, "hello"),
            "/echo" => match read_body(request.into_body(), &self.limits).await {
                Ok(bytes) => Response::new(Body::whole(bytes)),
                Err(error) => plain(error.status(), error),
            },
            "/unread" => plain(StatusCode::UNAUTHORIZED, "who are you?"),
            "/parts" => Response::new(Body::parts(["a", "", "bc", "def"].map(Bytes::from))),
            "/empty" => Response::new(Body::empty()),
            "/large" => Response::new(Body::whole(vec![b'x'; 64 * 1024 * 1024])),
            "/hang" => {
                let (release, released) = oneshot::channel();
                self.events.send(Event::Hanging(release)).unwrap();
                let mut guard = TellsOfItsDrop(Some(self.events.clone()));
                if released.await.is_err() {
                    pending::<()>().await;
                }
                guard.0 = None;
                plain(StatusCode::OK, "released")
            }
            "/stream" => {
                let (sender, receiver) = mpsc::channel(1);
                self.events.send(Event::Streaming(sender)).unwrap();
                Response::new(Body::stream(receiver))
            }
            // The second is what `CONNECT` has for a path.
            "/guarded" | "" => {
                let (parts, _) = request.into_parts();
                if let Some(response) = self.guard.preflight(&parts) {
                    return response;
                }
                match self.guard.check(&parts) {
                    Ok(admitted) => {
                        let mut response = plain(StatusCode::OK, "welcome");
                        admitted.decorate(&mut response);
                        response
                    }
                    Err(refused) => refused.response(),
                }
            }
            _ => plain(StatusCode::NOT_FOUND, "nothing here"),
        }
    }
}

struct TellsOfItsDrop(Option<mpsc::UnboundedSender<Event>>);

impl Drop for TellsOfItsDrop {
    fn drop(&mut self) {
        if let Some(events) = &self.0 {
            // The test may be over.
            drop(events.send(Event::Dropped));
        }
    }
}

/// A server that runs.
struct Running {
    address: SocketAddr,
    events: mpsc::UnboundedReceiver<Event>,
    stop: oneshot::Sender<()>,
    served: JoinHandle<Drained>,
}

impl Running {
    async fn with(limits: EdgeLimits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (events, receiver) = mpsc::unbounded_channel();
        let guard = Guard::new(address, &["gate.example.com"], &["https://app.example.com"]).unwrap();
        let site = Arc::new(Site { limits: limits.clone(), guard, events });
        let (stop, stopped) = oneshot::channel();
        let shutdown = async { drop(stopped.await) };
        let served =
            tokio::spawn(async move { serve(listener, site, limits, &Crew::default(), shutdown).await });
        Self { address, events: receiver, stop, served }
    }

    async fn start() -> Self {
        Self::with(EdgeLimits::default()).await
    }

    async fn connect(&self) -> Client {
        Client(TcpStream::connect(self.address).await.unwrap())
    }

    async fn event(&mut self) -> Event {
        soon(self.events.recv()).await.unwrap()
    }

    async fn stream(&mut self) -> mpsc::Sender<Bytes> {
        match self.event().await {
            Event::Streaming(sender) => sender,
            other @ (Event::Hanging(_) | Event::Dropped) => panic!("{other:?}"),
        }
    }

    async fn hanging(&mut self) -> oneshot::Sender<()> {
        match self.event().await {
            Event::Hanging(release) => release,
            other @ (Event::Streaming(_) | Event::Dropped) => panic!("{other:?}"),
        }
    }

    async fn dropped(&mut self) {
        match self.event().await {
            Event::Dropped => {}
            other @ (Event::Streaming(_) | Event::Hanging(_)) => panic!("{other:?}"),
        }
    }

    fn shut_down(self) -> JoinHandle<Drained> {
        self.stop.send(()).unwrap();
        self.served
    }
}

/// One connection of a client that writes bytes itself.
struct Client(TcpStream);

impl Client {
    async fn say(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).await.unwrap();
    }

    async fn get(&mut self, path: &str) {
        self.say(&format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n")).await;
    }

    /// Reads until the text is there, and hands out everything up to its end.
    async fn hear(&mut self, end: &str) -> String {
        let mut heard = Vec::new();
        while !heard.ends_with(end.as_bytes()) {
            let byte = soon(self.0.read_u8()).await;
            heard.push(byte.unwrap_or_else(|error| panic!("{error} after {}", show(&heard))));
        }
        show(&heard)
    }

    /// Reads one response that has a `Content-Length`.
    async fn answer(&mut self) -> String {
        let head = self.hear("\r\n\r\n").await;
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
        soon(self.0.read_exact(&mut body)).await.unwrap();
        head + &show(&body)
    }

    /// Reads everything until the server closes, or resets, the connection.
    async fn rest(&mut self) -> String {
        let mut heard = Vec::new();
        // What came before a reset stays in `heard`.
        drop(soon(self.0.read_to_end(&mut heard)).await);
        show(&heard)
    }

    /// Whether the server leaves the connection open, without a word, for a while.
    async fn is_left_alone(&mut self) -> bool {
        timeout(A_WHILE, self.0.read_u8()).await.is_err()
    }
}

fn show(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The first line, which has the status.
fn status(answer: &str) -> &str {
    answer.lines().next().unwrap_or_default()
}

async fn soon<T>(event: impl Future<Output = T>) -> T {
    timeout(PATIENCE, event).await.expect("it does not come")
}
