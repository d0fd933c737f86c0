//! HTTP/1.1 by hand, so that every byte that goes out can be wrong.
//!
//! The reading side is honest and small: one request after the other, with a length or in chunks. The two
//! halves are apart, so that a client that leaves is noticed while it is being answered.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

/// A request as it came off the wire.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) target: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

/// What a client says.
#[derive(Debug)]
pub(super) struct Incoming {
    half: OwnedReadHalf,
    buffer: Vec<u8>,
}

/// What a client is told.
#[derive(Debug)]
pub(super) struct Outgoing {
    half: OwnedWriteHalf,
}

/// Takes a connection apart.
pub(super) fn split(stream: TcpStream) -> (Incoming, Outgoing) {
    let (reader, writer) = stream.into_split();
    (Incoming { half: reader, buffer: Vec::new() }, Outgoing { half: writer })
}

impl Incoming {
    /// The next request; `None` when the client has no more, or says something that is no HTTP.
    pub(super) async fn request(&mut self) -> Option<Request> {
        let head = self.until(b"\r\n\r\n").await?;
        let head = String::from_utf8_lossy(&head).into_owned();
        let mut lines = head.split("\r\n").filter(|line| !line.is_empty());
        let mut first = lines.next()?.split(' ');
        let (method, target) = (first.next()?.to_owned(), first.next()?.to_owned());
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
            .collect();
        let find = |wanted: &str| {
            headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.clone())
        };
        let body = match (find("content-length"), find("transfer-encoding")) {
            (Some(length), _) => self.exactly(length.parse().ok()?).await?,
            (None, Some(coding)) if coding.eq_ignore_ascii_case("chunked") => self.chunks().await?,
            (None, _) => Vec::new(),
        };
        Some(Request { method, target, headers, body })
    }

    /// Waits until the client has left; for ever if it stays.
    pub(super) async fn gone(&mut self) {
        let mut one = [0];
        match self.half.peek(&mut one).await {
            Ok(0) | Err(_) => {}
            // It says more before it has its answer: it is there.
            Ok(_) => std::future::pending().await,
        }
    }

    async fn chunks(&mut self) -> Option<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = self.until(b"\r\n").await?;
            let line = String::from_utf8_lossy(&line).trim().to_owned();
            let length = usize::from_str_radix(line.split(';').next()?, 16).ok()?;
            let piece = self.exactly(length).await?;
            self.until(b"\r\n").await?;
            if length == 0 {
                return Some(body);
            }
            body.extend(piece);
        }
    }

    /// The bytes up to and with this end.
    async fn until(&mut self, end: &[u8]) -> Option<Vec<u8>> {
        loop {
            let found = self.buffer.windows(end.len()).position(|window| window == end);
            if let Some(start) = found {
                return Some(self.buffer.drain(..start + end.len()).collect());
            }
            self.more().await?;
        }
    }

    async fn exactly(&mut self, length: usize) -> Option<Vec<u8>> {
        while self.buffer.len() < length {
            self.more().await?;
        }
        Some(self.buffer.drain(..length).collect())
    }

    async fn more(&mut self) -> Option<()> {
        match self.half.read_buf(&mut self.buffer).await {
            Ok(0) | Err(_) => None,
            Ok(_) if self.buffer.len() > MOST => None,
            Ok(_) => Some(()),
        }
    }
}

/// More than any test sends in one request.
const MOST: usize = 64 << 20;

impl Outgoing {
    /// Writes bytes as they are.
    pub(super) async fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.half.write_all(bytes).await
    }

    /// Writes bytes one by one, with a pause before each.
    pub(super) async fn drip(&mut self, bytes: &[u8], pause: Duration) -> io::Result<()> {
        for byte in bytes {
            tokio::time::sleep(pause).await;
            self.raw(&[*byte]).await?;
        }
        Ok(())
    }

    /// Writes the first line and the headers.
    pub(super) async fn head(&mut self, status: u16, headers: &[(&str, &str)]) -> io::Result<()> {
        self.raw(head(status, headers).as_bytes()).await
    }

    /// Writes a whole answer, with its length.
    pub(super) async fn whole(
        &mut self,
        status: u16,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> io::Result<()> {
        let length = body.len().to_string();
        let mut all = headers.to_vec();
        all.push(("Content-Length", &length));
        let mut bytes = head(status, &all).into_bytes();
        bytes.extend_from_slice(body);
        self.raw(&bytes).await
    }

    /// Begins an answer that is a stream of events, in chunks.
    pub(super) async fn events(&mut self, headers: &[(&str, &str)]) -> io::Result<()> {
        let mut all = vec![
            ("Content-Type", "text/event-stream"),
            ("Cache-Control", "no-cache"),
            ("Transfer-Encoding", "chunked"),
        ];
        all.extend_from_slice(headers);
        self.head(200, &all).await
    }

    /// Writes one event.
    pub(super) async fn event(&mut self, data: &str) -> io::Result<()> {
        self.chunk(event(data, None).as_bytes()).await
    }

    /// Writes one event from which the stream can be gone on with.
    pub(super) async fn numbered(&mut self, id: &str, data: &str) -> io::Result<()> {
        self.chunk(event(data, Some(id)).as_bytes()).await
    }

    /// Writes one chunk.
    pub(super) async fn chunk(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
        chunk.extend_from_slice(bytes);
        chunk.extend_from_slice(b"\r\n");
        self.raw(&chunk).await
    }

    /// Ends an answer in chunks.
    pub(super) async fn last_chunk(&mut self) -> io::Result<()> {
        self.raw(b"0\r\n\r\n").await
    }

    /// Has the connection end with a reset in place of a farewell, as soon as the other half is dropped.
    pub(super) fn reset(self) {
        // Where that is not possible the connection ends all the same.
        self.half.as_ref().set_zero_linger().ok();
        // Dropped, it would say farewell.
        self.half.forget();
    }
}

/// One event as text; line breaks in the data become several lines.
pub(super) fn event(data: &str, id: Option<&str>) -> String {
    let mut text = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    for line in data.split('\n') {
        text.push_str("data: ");
        text.push_str(line);
        text.push('\n');
    }
    text.push('\n');
    text
}

fn head(status: u16, headers: &[(&str, &str)]) -> String {
    let mut text = format!("HTTP/1.1 {status} {}\r\n", reason(status));
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    text
}

fn reason(status: u16) -> &'static str {
    http::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason()).unwrap_or("Strange")
}
