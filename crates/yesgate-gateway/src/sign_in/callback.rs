//! The loopback listener that a browser is sent back to (RFC 8252 §7.3).
//!
//! Any page and any process of the machine can send something here. What does not carry the state of the
//! sign-in that was begun is answered with an error, and the wait goes on.

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::connecting::Connecting;
use super::redirect::Redirected;

/// A place on this machine where the browser is sent back to.
#[derive(Debug)]
pub struct Callback {
    listener: TcpListener,
    port: u16,
}

impl Callback {
    /// Listens on this port of the loopback address; on one that is free where none is given.
    ///
    /// # Errors
    /// When the port cannot be had.
    pub async fn listen(port: Option<u16>) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port.unwrap_or(0))).await?;
        let port = listener.local_addr()?.port();
        Ok(Self { listener, port })
    }

    /// The address for the authorization server to send the browser to.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// Waits for the answer to this sign-in, and for the browser to have its page.
    ///
    /// # Errors
    /// When nothing can be accepted any more.
    pub async fn wait(&self, connecting: &Connecting) -> std::io::Result<Redirected> {
        let mut visits = JoinSet::new();
        loop {
            tokio::select! {
                visit = self.listener.accept(), if visits.len() < MOST_VISITS => {
                    let (stream, _) = visit?;
                    visits.spawn(timeout(VISIT, serve(stream, connecting.state().to_owned())));
                }
                Some(visit) = visits.join_next() => {
                    if let Ok(Ok(Some(redirected))) = visit {
                        return Ok(redirected);
                    }
                }
            }
        }
    }
}

/// Answers one request, and gives back what it brought if that was ours.
async fn serve(stream: TcpStream, state: String) -> Option<Redirected> {
    let (found, mut finds) = mpsc::unbounded_channel();
    let service = service_fn(move |request: Request<Incoming>| {
        let redirected = read(&request).filter(|redirected| redirected.state == state);
        let page = page(redirected.is_some());
        if let Some(redirected) = redirected {
            found.send(redirected).ok();
        }
        std::future::ready(Ok::<_, Infallible>(page))
    });
    let connection = http1::Builder::new()
        .keep_alive(false)
        .timer(TokioTimer::new())
        .header_read_timeout(VISIT)
        .max_buf_size(LONGEST_HEAD)
        .serve_connection(TokioIo::new(stream), service);
    // A browser that went before it had its page brought its message all the same.
    connection.await.ok();
    finds.try_recv().ok()
}

fn read(request: &Request<Incoming>) -> Option<Redirected> {
    let target = request.uri();
    if request.method() != Method::GET || target.path() != PATH {
        return None;
    }
    Redirected::parse(&format!("http://127.0.0.1{PATH}?{}", target.query()?)).ok()
}

fn page(is_ours: bool) -> Response<Full<Bytes>> {
    let (status, words) = if is_ours {
        (StatusCode::OK, "Yesgate has the answer. Close this page and look at your terminal.")
    } else {
        (StatusCode::NOT_FOUND, "This is not the answer that Yesgate waits for.")
    };
    let html = format!("<!doctype html><meta charset=utf-8><title>Yesgate</title><p>{words}</p>\n");
    let mut response = Response::new(Full::new(Bytes::from(html)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
    ] {
        headers.insert(name, http::HeaderValue::from_static(value));
    }
    response
}

const PATH: &str = "/callback";
/// A visitor that has not sent its request by then is gone.
const VISIT: Duration = Duration::from_secs(10);
const MOST_VISITS: usize = 32;
const LONGEST_HEAD: usize = 64 * 1024;
