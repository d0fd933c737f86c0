//! The mock server's own record of what it received: the truth that everything else is held against.
//!
//! One line for each line received: a number that grows within one process, the process, the time, and
//! the bytes as they came. INVARIANT: a line is on disk before the server acts on it.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use jiff::Timestamp;
use serde_json::{Value, json};

/// One line that a mock server received.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Received {
    /// Its number in the life of that process; the first is 1.
    pub number: u64,
    /// The process.
    pub pid: u32,
    /// When, by the same clock as the ledger's.
    pub at: Timestamp,
    /// The line as it came, without its end; what is not UTF-8 is replaced.
    pub raw: String,
}

impl Received {
    /// The line as JSON, if it is.
    pub fn message(&self) -> Option<Value> {
        serde_json::from_str(&self.raw).ok()
    }

    /// The line as a `tools/call`, if it is one.
    pub fn call(&self) -> Option<Value> {
        self.message().filter(|message| message["method"] == "tools/call")
    }

    fn parse(line: &str) -> Option<Self> {
        let mut parts = line.splitn(4, ' ');
        Some(Self {
            number: parts.next()?.parse().ok()?,
            pid: parts.next()?.parse().ok()?,
            at: parts.next()?.parse().ok()?,
            raw: parts.next()?.to_owned(),
        })
    }
}

/// Reads a log; a log that was never begun is empty.
///
/// # Panics
/// When it cannot be read, or has a line that no mock server wrote.
pub fn read(path: &Path) -> Vec<Received> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => panic!("the upstream log cannot be read: {error}"),
    };
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let line = String::from_utf8_lossy(line);
            Received::parse(&line).unwrap_or_else(|| panic!("a strange line in the upstream log: {line}"))
        })
        .collect()
}

/// Writes what was received as JSON lines, as `yesgate audit verify --upstream-log` reads them.
///
/// # Panics
/// When the file cannot be written.
pub fn write_json(path: &Path, received: &[Received]) {
    let mut text = String::new();
    for one in received {
        // What is no JSON is no call.
        if let Some(message) = one.message() {
            text.push_str(&json!({"at": one.at.to_string(), "message": message}).to_string());
            text.push('\n');
        }
    }
    std::fs::write(path, text).expect("a file can be written");
}

/// The server's end of the log.
#[derive(Debug)]
pub(crate) struct Writer {
    file: File,
    number: u64,
}

impl Writer {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: OpenOptions::new().create(true).append(true).open(path)?, number: 0 })
    }

    /// Writes one line in one piece, so that several servers can share a log, and waits for the disk.
    pub(crate) fn write(&mut self, raw: &[u8]) -> io::Result<()> {
        self.number += 1;
        let mut line = format!("{} {} {} ", self.number, std::process::id(), Timestamp::now()).into_bytes();
        line.extend_from_slice(raw);
        line.push(b'\n');
        self.file.write_all(&line)?;
        self.file.sync_data()
    }
}
