//! One connection that is kept, and the clients that come by it, one after the other.
//!
//! INVARIANT: an answer counts only if it is what was asked for: new tokens, or the result of the call.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST};
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::filling::Connected;
use crate::server::READ_TOOL;
use crate::stats::Times;

/// What clients come for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Does {
    /// New tokens for a refresh token.
    Refresh,
    /// A call of a tool that only reads, with an access token.
    Call,
}

impl Does {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Refresh => "refresh of a token",
            Self::Call => "call with a token",
        }
    }
}

/// One connection, and the clients that come by it.
pub(super) struct Lane {
    sender: SendRequest<Full<Bytes>>,
    address: SocketAddr,
    clients: Vec<Connected>,
}

#[derive(Deserialize)]
struct NewTokens {
    access_token: String,
    refresh_token: String,
}

impl Lane {
    pub(super) async fn open(address: SocketAddr, clients: Vec<Connected>) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        // Its end is seen by whoever sends.
        drop(tokio::spawn(connection));
        Ok(Self { sender, address, clients })
    }

    /// Has each client come once; gives how long each waited.
    pub(super) async fn go(&mut self, does: Does) -> Result<Times> {
        let mut times = Times::default();
        for client in &mut self.clients {
            let request = match does {
                Does::Refresh => refresh(client),
                Does::Call => call(client),
            };
            let mut request = request?;
            request.headers_mut().insert(HOST, self.address.to_string().try_into()?);
            request.headers_mut().insert("x-forwarded-for", client.address.as_str().try_into()?);
            self.sender.ready().await?;
            let before = Instant::now();
            let answer = timeout(PATIENCE, async {
                let (head, body) = self.sender.send_request(request).await?.into_parts();
                anyhow::Ok((head.status, body.collect().await?.to_bytes()))
            });
            let (status, body) = answer.await.context("nothing was answered in time")??;
            times.push(before.elapsed());
            let said = String::from_utf8_lossy(&body);
            ensure!(status == StatusCode::OK, "{}: HTTP {status}: {said}", does.name());
            match does {
                Does::Refresh => {
                    let new: NewTokens = serde_json::from_slice(&body).context("no new tokens")?;
                    (client.access, client.refresh) = (new.access_token, new.refresh_token);
                }
                Does::Call => ensure!(said.contains(TEXT), "another answer: {said}"),
            }
        }
        Ok(times)
    }
}

fn refresh(client: &Connected) -> Result<Request<Full<Bytes>>> {
    // Nothing in these has to be escaped.
    let form =
        format!("grant_type=refresh_token&refresh_token={}&client_id={}", client.refresh, client.client);
    let request =
        Request::post("/api/mcp/oauth/token").header(CONTENT_TYPE, "application/x-www-form-urlencoded");
    Ok(request.body(Full::new(form.into()))?)
}

fn call(client: &Connected) -> Result<Request<Full<Bytes>>> {
    let meta = crate::http::modern_meta();
    let message = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{READ_TOOL}","arguments":{{"text":"{TEXT}"}}{meta}}}}}"#
    );
    let request = Request::post("/mcp/notes")
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json, text/event-stream")
        .header(AUTHORIZATION, format!("Bearer {}", client.access))
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", READ_TOOL);
    Ok(request.body(Full::new(message.into()))?)
}

const TEXT: &str = "a text that comes back";
/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(20);
