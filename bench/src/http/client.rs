//! The load: connections that are kept, and on each of them one call after the other.
//!
//! INVARIANT: an answer counts only if it has the id of its call and a text of the length that was sent.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderValue};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::stats::Times;

/// The two families of protocol revisions.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Era {
    /// 2025-11-25: each connection has a session.
    Legacy,
    /// 2026-07-28: each call stands alone.
    Modern,
}

impl Era {
    pub(crate) const fn revision(self) -> &'static str {
        match self {
            Self::Legacy => "2025-11-25",
            Self::Modern => "2026-07-28",
        }
    }

    /// What a request carries beside its own parameters.
    pub(crate) const fn meta(self) -> &'static str {
        match self {
            Self::Legacy => "",
            Self::Modern => {
                r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}"#
            }
        }
    }
}

/// Where and how a tool is called.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    pub(crate) address: SocketAddr,
    pub(crate) path: String,
    pub(crate) era: Era,
    /// The tool's name there.
    pub(crate) tool: String,
    /// The value of `Authorization`, where one is wanted.
    pub(crate) authorization: Option<String>,
}

/// Connections to one endpoint, each with a session where the era has them.
pub(crate) struct Crowd {
    members: Vec<Connection>,
}

/// What is called, and how often for each connection that there is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) text_bytes: usize,
    pub(crate) calls: usize,
}

impl Crowd {
    /// Opens so many connections.
    pub(crate) async fn gather(endpoint: &Endpoint, connections: usize) -> Result<Self> {
        let mut members = Vec::new();
        for _ in 0..connections {
            let opened = timeout(PATIENCE, Connection::open(endpoint));
            members.push(opened.await.context("nothing was answered in time")??);
        }
        Ok(Self { members })
    }

    /// Ends the sessions: with some gateways each of them is a process. Not all of them know how, or say so.
    pub(crate) async fn leave(self) {
        let mut leaving = JoinSet::new();
        for mut member in self.members {
            if member.headers.contains_key("mcp-session-id") {
                leaving.spawn(async move {
                    timeout(FAREWELL, member.send(Method::DELETE, Bytes::new()))
                        .await
                        .is_ok_and(|sent| sent.is_ok())
                });
            }
        }
        leaving.join_all().await;
    }

    /// Makes the calls on all connections at once; gives the time of each call, and of all together.
    ///
    /// Whichever connection has its answer makes the next call, so that all of them are busy until the last calls: with
    /// a number for each, the quick ones would be done early, and the rest would be the time of a few connections.
    pub(crate) async fn call(&mut self, load: Load) -> Result<(Times, Duration)> {
        let text = "x".repeat(load.text_bytes);
        let left = Arc::new(AtomicUsize::new(load.calls * self.members.len()));
        let before = Instant::now();
        let mut under_way = JoinSet::new();
        for mut member in self.members.drain(..) {
            let (text, left) = (text.clone(), Arc::clone(&left));
            under_way.spawn(async move {
                let mut times = Vec::with_capacity(load.calls);
                let one_more = |left: usize| left.checked_sub(1);
                while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok() {
                    times.push(timeout(PATIENCE, member.call(&text)).await.context("a call had no answer")??);
                }
                anyhow::Ok((member, times))
            });
        }
        let mut all = Times::default();
        while let Some(done) = under_way.join_next().await {
            let (member, times) = done??;
            self.members.push(member);
            times.into_iter().for_each(|time| all.push(time));
        }
        Ok((all, before.elapsed()))
    }
}

struct Connection {
    sender: SendRequest<Full<Bytes>>,
    path: String,
    /// What every request of it says.
    headers: HeaderMap,
    /// What a call begins with behind its id, up to the text.
    opening: String,
    closing: String,
    last_id: u64,
}

impl Connection {
    async fn open(endpoint: &Endpoint) -> Result<Self> {
        let stream = TcpStream::connect(endpoint.address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        // Its end is seen by whoever sends.
        drop(tokio::spawn(connection));
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::try_from(endpoint.address.to_string())?);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        if let Some(authorization) = &endpoint.authorization {
            headers.insert(AUTHORIZATION, HeaderValue::try_from(authorization)?);
        }
        let mut connection = Self {
            sender,
            path: endpoint.path.clone(),
            headers,
            opening: format!(
                r#","method":"tools/call","params":{{"name":"{}","arguments":{{"text":""#,
                endpoint.tool
            ),
            closing: format!(r#""}}{}}}}}"#, endpoint.era.meta()),
            last_id: 1,
        };
        let version = HeaderValue::from_static(endpoint.era.revision());
        match endpoint.era {
            Era::Legacy => {
                let (answer, session) =
                    connection.post(INITIALIZE.into()).await.context("`initialize` failed")?;
                let is_result = serde_json::from_slice(&answer)
                    .is_ok_and(|answer: HashMap<&str, &RawValue>| answer.contains_key("result"));
                ensure!(is_result, "`initialize` failed: {}", String::from_utf8_lossy(&answer));
                connection.headers.insert("mcp-protocol-version", version);
                if let Some(session) = session {
                    connection.headers.insert("mcp-session-id", session);
                }
                connection.post(INITIALIZED.into()).await?;
            }
            Era::Modern => {
                connection.headers.insert("mcp-protocol-version", version);
                connection.headers.insert("mcp-method", HeaderValue::from_static("tools/call"));
                connection.headers.insert("mcp-name", HeaderValue::try_from(endpoint.tool.as_str())?);
            }
        }
        Ok(connection)
    }

    /// Calls the tool, and says how long that took.
    async fn call(&mut self, text: &str) -> Result<Duration> {
        self.last_id += 1;
        let id = self.last_id.to_string();
        let message = [r#"{"jsonrpc":"2.0","id":"#, &id, &self.opening, text, &self.closing].concat();
        let before = Instant::now();
        let (answer, _) = self.post(message.into()).await?;
        let time = before.elapsed();
        check(&answer, &id, text.len())?;
        Ok(time)
    }

    /// Sends a message; gives the body of the answer, and the session that it names.
    async fn post(&mut self, message: Bytes) -> Result<(Bytes, Option<HeaderValue>)> {
        let (head, body) = self.send(Method::POST, message).await?;
        ensure!(
            head.status == StatusCode::OK || head.status == StatusCode::ACCEPTED,
            "HTTP {}: {}",
            head.status,
            String::from_utf8_lossy(&body)
        );
        let is_stream = head
            .headers
            .get(CONTENT_TYPE)
            .is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        let answer = if is_stream { last_event(&body)? } else { body };
        Ok((answer, head.headers.get("mcp-session-id").cloned()))
    }
}

impl Connection {
    async fn send(&mut self, method: Method, body: Bytes) -> Result<(http::response::Parts, Bytes)> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = self.path.parse()?;
        request.headers_mut().clone_from(&self.headers);
        self.sender.ready().await?;
        let (head, body) = self.sender.send_request(request).await?.into_parts();
        Ok((head, body.collect().await?.to_bytes()))
    }
}

/// The data of the last event that has some; those before it are no answer.
fn last_event(stream: &Bytes) -> Result<Bytes> {
    let lines = stream.split(|byte| *byte == b'\n');
    let mut data = lines.filter_map(|line| line.strip_prefix(b"data:")).map(<[u8]>::trim_ascii);
    let last = data.rfind(|data| !data.is_empty()).context("a stream without an answer")?;
    Ok(stream.slice_ref(last))
}

fn check(answer: &[u8], id: &str, length: usize) -> Result<()> {
    #[derive(Deserialize)]
    struct Answer<'a> {
        #[serde(borrow)]
        content: Vec<HashMap<&'a str, &'a RawValue>>,
    }
    let message: HashMap<&str, &RawValue> = serde_json::from_slice(answer)?;
    let Some(result) = message.get("result") else {
        bail!("no result: {}", String::from_utf8_lossy(answer));
    };
    ensure!(message.get("id").is_some_and(|found| found.get() == id), "call {id} got another's answer");
    let result: Answer<'_> = serde_json::from_str(result.get())?;
    let text = result.content.first().and_then(|block| block.get("text"));
    // With its two quotes.
    ensure!(text.is_some_and(|text| text.get().len() == length + 2), "call {id} got another text");
    Ok(())
}

/// How long it may take to end a session.
const FAREWELL: Duration = Duration::from_secs(1);
/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(20);

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
