//! What a mock server received over HTTP: each request whole, as it came.
//!
//! INVARIANT: a request is kept here before the server acts on it.

use jiff::Timestamp;
use serde_json::Value;

use super::socket::Request;
use crate::upstream_log::Received;

/// One request that a mock server received.
#[derive(Clone, Debug)]
pub struct Arrived {
    /// Its number in the life of the server; the first is 1.
    pub number: u64,
    /// The connection that carried it; the first is 1.
    pub connection: u64,
    /// When, by the same clock as the ledger's.
    pub at: Timestamp,
    /// `POST`, `GET`, `DELETE`.
    pub method: String,
    /// The path.
    pub target: String,
    /// All headers, in order, as they were spelt.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte.
    pub body: Vec<u8>,
    /// How it ended so far.
    pub end: End,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum End {
    /// It has not.
    Open,
    /// The server has said what it wanted to say.
    Said,
    /// The client left before.
    ClientLeft,
}

impl Arrived {
    pub(super) fn new(number: u64, connection: u64, request: Request) -> Self {
        let Request { method, target, headers, body } = request;
        Self { number, connection, at: Timestamp::now(), method, target, headers, body, end: End::Open }
    }

    /// The first header of this name.
    pub fn header(&self, wanted: &str) -> Option<&str> {
        let is_it = |(name, _): &&(String, String)| name.eq_ignore_ascii_case(wanted);
        self.headers.iter().find(is_it).map(|(_, value)| value.as_str())
    }

    /// The body as text; what is not UTF-8 is replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON, if it is.
    pub fn message(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    /// The method of MCP; empty if there is none.
    pub fn rpc_method(&self) -> String {
        let message = self.message().unwrap_or_default();
        message["method"].as_str().unwrap_or_default().to_owned()
    }

    /// The body as a line of the upstream log. A line break in JSON is a space.
    pub(super) fn received(&self) -> Received {
        let raw = self.text().replace('\n', " ");
        Received { number: self.number, pid: std::process::id(), at: self.at, raw }
    }
}
