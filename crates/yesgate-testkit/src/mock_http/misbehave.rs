//! All the other ways.
//!
//! Each function writes what it writes and says whether the connection may carry another request. What has
//! no end is ended by the client, or with the server.

use std::io;
use std::time::Duration;

use serde_json::{Value, json};

use super::behaviour::Misbehaviour;
use super::plan::Plan;
use super::play::play;
use super::server::Server;
use super::socket::{Outgoing, event};

/// What becomes of the connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Connection {
    Keep,
    Close,
    Reset,
}

const JSON: (&str, &str) = ("Content-Type", "application/json");

/// Answers in this way, whatever was planned.
pub(super) async fn misbehave(
    how: Misbehaviour,
    server: &Server,
    plan: Plan,
    out: &mut Outgoing,
) -> io::Result<Connection> {
    let answer = plan.answer();
    match how {
        Misbehaviour::NeverAnswer => std::future::pending().await,
        Misbehaviour::HangAfterHead => {
            out.head(200, &[JSON, ("Content-Length", &answer.len().to_string())]).await?;
            std::future::pending().await
        }
        Misbehaviour::HangInStream => {
            out.events(&[]).await?;
            std::future::pending().await
        }
        Misbehaviour::Drip(pause) => {
            out.head(200, &[JSON, ("Content-Length", &answer.len().to_string())]).await?;
            out.drip(answer.as_bytes(), pause).await?;
            Ok(Connection::Keep)
        }
        Misbehaviour::EndlessBody => {
            out.head(200, &[JSON, ("Transfer-Encoding", "chunked")]).await?;
            out.chunk(br#"{"jsonrpc":"2.0","result":{"content":""#).await?;
            endless(out, &PIECE).await
        }
        Misbehaviour::HugeLength => {
            out.head(200, &[JSON, ("Content-Length", "10000000000")]).await?;
            out.raw(br#"{"jsonrpc":"2.0","#).await?;
            std::future::pending().await
        }
        Misbehaviour::EndlessComments => {
            out.events(&[]).await?;
            endless(out, &[b": ".as_slice(), &PIECE, b"\n"].concat()).await
        }
        Misbehaviour::EndlessEvent => {
            out.events(&[]).await?;
            endless(out, &[b"data: ".as_slice(), &PIECE, b"\n"].concat()).await
        }
        Misbehaviour::EndlessNotices => {
            out.events(&[]).await?;
            let noise = "x".repeat(PIECE.len());
            let params = json!({"level": "info", "data": noise});
            let notice = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": params});
            endless(out, event(&notice.to_string(), None).as_bytes()).await
        }
        Misbehaviour::Huge(length) => {
            let text = "x".repeat(length);
            let body = another(&answer, &json!({"content": [{"type": "text", "text": text}]}));
            out.whole(200, &[JSON], body.as_bytes()).await?;
            Ok(Connection::Keep)
        }
        Misbehaviour::WrongId => {
            out.whole(200, &[JSON], wrong(&answer).as_bytes()).await?;
            Ok(Connection::Keep)
        }
        Misbehaviour::WrongIdFirst => stream(out, &[&wrong(&answer), &answer]).await,
        Misbehaviour::Twice => stream(out, &[&answer, &second(&answer)]).await,
        Misbehaviour::TwiceOnTheWire => {
            out.whole(200, &[JSON], answer.as_bytes()).await?;
            out.whole(200, &[JSON], second(&answer).as_bytes()).await?;
            Ok(Connection::Keep)
        }
        Misbehaviour::AfterTheEnd => {
            stream(out, &[]).await?;
            out.whole(200, &[JSON], answer.as_bytes()).await?;
            Ok(Connection::Keep)
        }
        Misbehaviour::EndUnanswered => stream(out, &[]).await,
        Misbehaviour::CloseMidBody => {
            half_a_body(out, &answer).await?;
            Ok(Connection::Close)
        }
        Misbehaviour::ResetMidBody => {
            half_a_body(out, &answer).await?;
            // What was written is on its way before the reset is.
            tokio::time::sleep(Duration::from_millis(20)).await;
            Ok(Connection::Reset)
        }
        Misbehaviour::CloseMidEvent => {
            out.events(&[]).await?;
            let text = event(&answer, None);
            out.chunk(half(text.as_bytes())).await?;
            Ok(Connection::Close)
        }
        Misbehaviour::Close => Ok(Connection::Close),
        Misbehaviour::Reset => Ok(Connection::Reset),
        Misbehaviour::Garbage => {
            out.raw(b"\x16\x03\x01 this is no HTTP\r\n\r\n").await?;
            Ok(Connection::Close)
        }
        Misbehaviour::BrokenJson => {
            out.whole(200, &[JSON], half(answer.as_bytes())).await?;
            Ok(Connection::Keep)
        }
        Misbehaviour::ErrorPage => {
            let page = b"<!doctype html><h1>Something went wrong</h1>";
            out.whole(500, &[("Content-Type", "text/html")], page).await?;
            Ok(Connection::Keep)
        }
        Misbehaviour::PlainText => {
            out.whole(200, &[("Content-Type", "text/plain")], b"It worked!").await?;
            Ok(Connection::Keep)
        }
        Misbehaviour::Gzip => {
            out.whole(200, &[JSON, ("Content-Encoding", "gzip")], &gzip(answer.as_bytes())).await?;
            Ok(Connection::Keep)
        }
        Misbehaviour::Redirect(to) => {
            out.whole(307, &[("Location", &to)], b"").await?;
            Ok(Connection::Keep)
        }
        Misbehaviour::Unauthorized(challenge) => {
            out.whole(401, &[("WWW-Authenticate", &challenge)], b"").await?;
            Ok(Connection::Keep)
        }
        Misbehaviour::Status(status) => {
            out.whole(status, &[], b"").await?;
            Ok(Connection::Keep)
        }
        // The sessions were forgotten when the request came; the plan says so.
        Misbehaviour::ForgetSession => {
            play(server, plan, out).await?;
            Ok(Connection::Keep)
        }
        Misbehaviour::Poll => {
            let event = {
                let mut state = server.state();
                let event = format!("poll-{}", state.polls.len() + 1);
                state.polls.insert(event.clone(), answer);
                event
            };
            out.events(&[]).await?;
            out.chunk(b"retry: 10\n").await?;
            out.numbered(&event, "").await?;
            out.last_chunk().await?;
            Ok(Connection::Keep)
        }
    }
}

/// Writes the same again and again, until the client has had enough.
async fn endless(out: &mut Outgoing, piece: &[u8]) -> io::Result<Connection> {
    loop {
        out.chunk(piece).await?;
        // Others on this thread want to speak too.
        tokio::task::yield_now().await;
    }
}

const PIECE: [u8; 8192] = [b'x'; 8192];

async fn stream(out: &mut Outgoing, messages: &[&str]) -> io::Result<Connection> {
    out.events(&[]).await?;
    for message in messages {
        out.event(message).await?;
    }
    out.last_chunk().await?;
    Ok(Connection::Keep)
}

async fn half_a_body(out: &mut Outgoing, answer: &str) -> io::Result<()> {
    out.head(200, &[JSON, ("Content-Length", &answer.len().to_string())]).await?;
    out.raw(half(answer.as_bytes())).await
}

fn half(bytes: &[u8]) -> &[u8] {
    bytes.split_at(bytes.len() / 2).0
}

/// The answer to nobody.
fn wrong(answer: &str) -> String {
    let mut message: Value = serde_json::from_str(answer).unwrap_or_default();
    message["id"] = match message["id"].as_i64() {
        Some(number) => json!(number + 1_000_000),
        None => json!(format!("{}-wrong", message["id"].as_str().unwrap_or_default())),
    };
    message.to_string()
}

/// Another answer to the same request.
fn second(answer: &str) -> String {
    another(answer, &json!({"content": [{"type": "text", "text": "the second answer"}]}))
}

/// The answer with another result, valid in both eras.
fn another(answer: &str, result: &Value) -> String {
    let mut message: Value = serde_json::from_str(answer).unwrap_or_default();
    let mut result = result.clone();
    result["resultType"] = "complete".into();
    json!({"jsonrpc": "2.0", "id": message["id"].take(), "result": result}).to_string()
}

/// The bytes in a valid gzip that stores them as they are (RFC 1951 §3.2.4, RFC 1952).
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    let mut blocks = bytes.chunks(0xffff).peekable();
    while let Some(block) = blocks.next() {
        let length = u16::try_from(block.len()).unwrap_or(u16::MAX);
        packed.push(u8::from(blocks.peek().is_none()));
        packed.extend(length.to_le_bytes());
        packed.extend((!length).to_le_bytes());
        packed.extend(block);
    }
    packed.extend(crc32(bytes).to_le_bytes());
    packed.extend(u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes());
    packed
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg()))
    })
}
