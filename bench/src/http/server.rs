//! The server behind the gateways: MCP over Streamable HTTP, in both eras, with as little work as a server can do.
//!
//! One thread, one tool that answers with the text that it is given, every answer a plain JSON body. What it
//! costs is the same for every way to it, and small beside any of them.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io::Read as _;
use std::pin::Pin;
use std::task::{Context, Poll};

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::value::RawValue;
use tokio::net::TcpListener;

use crate::server::{INITIALIZED, text_argument, tools};

/// Listens at a free port, says on stdout which, and answers until stdin is closed.
pub(crate) fn serve() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("{}", listener.local_addr()?);
        end_with_stdin();
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer));
            // A connection that breaks is the client's affair.
            drop(tokio::spawn(connection));
        }
    })
}

/// Ends this process when whoever started it closes our stdin, or is gone.
pub(crate) fn end_with_stdin() {
    drop(std::thread::spawn(|| {
        let mut rest = Vec::new();
        std::io::stdin().read_to_end(&mut rest).ok();
        std::process::exit(0);
    }));
}

async fn answer(request: Request<Incoming>) -> Result<Response<Words>> {
    let is_modern = request.headers().get("mcp-protocol-version").is_some_and(|said| said == "2026-07-28");
    match *request.method() {
        Method::POST => {}
        Method::DELETE => return Ok(bare(StatusCode::NO_CONTENT)),
        _ => return Ok(bare(StatusCode::METHOD_NOT_ALLOWED)),
    }
    let body = request.into_body().collect().await?.to_bytes();
    let message: HashMap<&str, &RawValue> = serde_json::from_slice(&body).context("not a message")?;
    let (Some(id), Some(method)) = (message.get("id"), message.get("method")) else {
        return Ok(bare(StatusCode::ACCEPTED));
    };
    let complete = if is_modern { r#""resultType":"complete","# } else { "" };
    let kept = if is_modern { r#""ttlMs":0,"cacheScope":"private","# } else { "" };
    let said = match method.get() {
        r#""initialize""# => format!(r#""result":{INITIALIZED}"#),
        r#""server/discover""# => format!(r#""result":{{{complete}{kept}{DISCOVERED}}}"#),
        r#""tools/list""# => {
            let list = tools(0);
            let list = list.strip_prefix('{').unwrap_or_default();
            format!(r#""result":{{{complete}{kept}{list}"#)
        }
        r#""tools/call""# => {
            let params = message.get("params").context("a call without parameters")?;
            let text = text_argument(params)?.unwrap_or(r#""done""#);
            format!(r#""result":{{{complete}"content":[{{"type":"text","text":{text}}}]}}"#)
        }
        r#""subscriptions/listen""# => return Ok(listening(id)),
        r#""ping""# => r#""result":{}"#.to_owned(),
        _ => r#""error":{"code":-32601,"message":"unknown method"}"#.to_owned(),
    };
    let whole = format!(r#"{{"jsonrpc":"2.0","id":{},{said}}}"#, id.get());
    let mut response = Response::new(Words { words: Some(whole.into()), end: End::WithThem });
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if method.get() == r#""initialize""# {
        response.headers_mut().insert("mcp-session-id", HeaderValue::from_static("one-for-all"));
    }
    Ok(response)
}

/// A stream that acknowledges and then never says anything.
fn listening(id: &RawValue) -> Response<Words> {
    let acknowledged = format!(
        "data: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{{\"_meta\":\
         {{\"io.modelcontextprotocol/subscriptionId\":{}}},\"notifications\":{{\"toolsListChanged\":true}}}}}}\n\n",
        id.get()
    );
    let mut response = Response::new(Words { words: Some(acknowledged.into()), end: End::Never });
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response
}

fn bare(status: StatusCode) -> Response<Words> {
    let mut response = Response::new(Words { words: None, end: End::WithThem });
    *response.status_mut() = status;
    response
}

/// The body of an answer.
struct Words {
    words: Option<Bytes>,
    end: End,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum End {
    WithThem,
    Never,
}

impl Body for Words {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match (self.words.take(), self.end) {
            (Some(words), _) => Poll::Ready(Some(Ok(Frame::data(words)))),
            (None, End::WithThem) => Poll::Ready(None),
            (None, End::Never) => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.words.is_none() && self.end == End::WithThem
    }

    fn size_hint(&self) -> SizeHint {
        match (&self.words, self.end) {
            (words, End::WithThem) => {
                let length = words.as_ref().map_or(0, Bytes::len);
                SizeHint::with_exact(u64::try_from(length).unwrap_or(u64::MAX))
            }
            (_, End::Never) => SizeHint::new(),
        }
    }
}

const DISCOVERED: &str = r#""supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"bench","version":"1"}}"#;
