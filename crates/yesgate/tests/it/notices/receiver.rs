//! A little receiver of webhooks on a loopback port: it takes what is sent, and answers as it is told to.

use std::convert::Infallible;
use std::sync::mpsc::{self, Receiver as Channel, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_body_util::{BodyExt as _, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use ring::hmac;
use serde_json::Value;
use tokio::net::TcpListener;

/// What it says to a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Says {
    Status(u16),
    /// `307` to another path of its own.
    Elsewhere,
    /// Nothing, ever.
    Nothing,
}

/// It runs as long as the test's runtime, on threads of its own: a test may block while it waits for a notice.
pub(crate) struct Receiver {
    pub(crate) url: String,
    arrived: Channel<Arrived>,
    /// What is said next; the last one is said for ever.
    says: Arc<Mutex<Vec<Says>>>,
}

/// One request, whose signature was good.
#[derive(Debug)]
pub(crate) struct Arrived {
    pub(crate) path: String,
    pub(crate) id: String,
    pub(crate) body: Value,
    /// Everything that came, headers too.
    pub(crate) whole: String,
}

impl Arrived {
    pub(crate) fn kind(&self) -> &str {
        self.body["type"].as_str().unwrap()
    }
}

/// What both sides know.
pub(crate) const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

impl Receiver {
    /// Says these, one for each request, and the last one from then on.
    pub(crate) fn that_says(says: &[Says]) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let (sender, arrived) = mpsc::channel();
        let says = Arc::new(Mutex::new(says.to_vec()));
        tokio::spawn(accept(TcpListener::from_std(listener).unwrap(), Arc::clone(&says), sender));
        Self { url, arrived, says }
    }

    /// Says something else from now on.
    pub(crate) fn now_says(&self, says: Says) {
        *self.says.lock().unwrap() = vec![says];
    }

    /// The next request, as soon as it is there.
    #[track_caller]
    pub(crate) fn next(&self) -> Arrived {
        self.arrived.recv_timeout(Duration::from_secs(40)).expect("a notice comes")
    }

    /// The next request, which is of this kind.
    #[track_caller]
    pub(crate) fn next_is(&self, kind: &str) -> Arrived {
        let next = self.next();
        assert_eq!(next.kind(), kind, "{next:#?}");
        next
    }

    /// Drops what has come so far.
    pub(crate) fn forget(&self) {
        while self.arrived.try_recv().is_ok() {}
    }

    /// Nothing more has come.
    #[track_caller]
    pub(crate) fn is_silent(&self) {
        let more = self.arrived.try_recv();
        assert!(more.is_err(), "{more:#?}");
    }
}

async fn accept(listener: TcpListener, says: Arc<Mutex<Vec<Says>>>, arrived: Sender<Arrived>) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let (says, arrived) = (Arc::clone(&says), arrived.clone());
        let answer = move |request| answer(request, Arc::clone(&says), arrived.clone());
        let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer));
        tokio::spawn(async move {
            // A sender that goes away is what some of the tests are about.
            connection.await.ok();
        });
    }
}

async fn answer(
    request: Request<Incoming>,
    says: Arc<Mutex<Vec<Says>>>,
    arrived: Sender<Arrived>,
) -> Result<Response<Empty<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let header = |name: &str| head.headers.get(name).unwrap().to_str().unwrap().to_owned();
    let (id, timestamp) = (header("webhook-id"), header("webhook-timestamp"));
    let signature = header("webhook-signature");
    let key = STANDARD.decode(SECRET.strip_prefix("whsec_").unwrap()).unwrap();
    let signed = [format!("{id}.{timestamp}.").as_bytes(), &body].concat();
    let tag = STANDARD.decode(signature.strip_prefix("v1,").unwrap()).unwrap();
    hmac::verify(&hmac::Key::new(hmac::HMAC_SHA256, &key), &signed, &tag).unwrap();
    let age = jiff::Timestamp::now().as_second() - timestamp.parse::<i64>().unwrap();
    assert!((0..60).contains(&age), "the time of the attempt is {age} s ago");
    assert_eq!(header("content-type"), "application/json");
    let whole = format!("{head:?} {}", String::from_utf8_lossy(&body));
    let says = {
        let mut says = says.lock().unwrap();
        if says.len() > 1 { says.remove(0) } else { says[0] }
    };
    let body = serde_json::from_slice(&body).unwrap();
    arrived.send(Arrived { path: head.uri.path().to_owned(), id, body, whole }).ok();
    let mut response = Response::new(Empty::new());
    match says {
        Says::Status(status) => *response.status_mut() = StatusCode::from_u16(status).unwrap(),
        Says::Elsewhere => {
            *response.status_mut() = StatusCode::TEMPORARY_REDIRECT;
            response.headers_mut().insert("location", "/elsewhere".parse().unwrap());
        }
        Says::Nothing => std::future::pending().await,
    }
    Ok(response)
}
