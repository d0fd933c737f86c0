//! The mock server's way to say things, honestly or not.

use std::io::Write as _;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use super::flags::Flags;
use super::protocol::RpcError;

/// What a request is answered with.
pub(super) type Answer = Result<Value, RpcError>;

/// Writes whole lines to stdout, from any thread.
#[derive(Debug)]
pub(super) struct Wire {
    out: Mutex<std::io::Stdout>,
    garbage: bool,
    twice: bool,
    wrong_id: bool,
}

impl Wire {
    pub(super) fn new(flags: &Flags) -> Self {
        Self {
            out: Mutex::new(std::io::stdout()),
            garbage: flags.garbage,
            twice: flags.answer_twice,
            wrong_id: flags.answer_wrong_id,
        }
    }

    /// Says something of its own accord.
    pub(super) fn say(&self, message: &Value) {
        self.lines(&[message.to_string().into_bytes()]);
    }

    /// Says one line, as it is.
    pub(super) fn say_raw(&self, line: String) {
        self.lines(&[line.into_bytes()]);
    }

    /// Answers a request.
    pub(super) fn answer(&self, id: &Value, answer: &Answer) {
        self.around(vec![message(id, answer)]);
    }

    /// Answers a call, and more than that where it was told to.
    pub(super) fn answer_call(&self, id: &Value, answer: &Answer) {
        let mut messages = Vec::new();
        if self.wrong_id {
            messages.push(message(&wrong(id), &Ok(only_text("the answer to nobody"))));
        }
        messages.push(message(id, answer));
        if self.twice {
            messages.push(message(id, &Ok(only_text("the second answer"))));
        }
        self.around(messages);
    }

    /// Puts noise around messages, if there is to be noise.
    fn around(&self, messages: Vec<Value>) {
        let mut lines: Vec<Vec<u8>> = Vec::new();
        for message in messages {
            if self.garbage {
                lines.extend(BEFORE.iter().map(|noise| noise.to_vec()));
            }
            lines.push(message.to_string().into_bytes());
            if self.garbage {
                lines.extend(AFTER.iter().map(|noise| noise.to_vec()));
            }
        }
        self.lines(&lines);
    }

    fn lines(&self, lines: &[Vec<u8>]) {
        let mut bytes = lines.join(&b'\n');
        bytes.push(b'\n');
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever does not listen any more needs no answer; the end of stdin will follow.
        out.write_all(&bytes).and_then(|()| out.flush()).ok();
    }
}

const BEFORE: [&[u8]; 3] =
    [b"mock-server: DEBUG about to answer", br#"{"jsonrpc":"2.0","id":"#, b"\xff\xfe\x00"];
const AFTER: [&[u8]; 4] = [b"", b"[]", br#"{"jsonrpc":"2.0"}"#, br#"{"level":"info","msg":"answered"}"#];

fn message(id: &Value, answer: &Answer) -> Value {
    match answer {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error.to_value()}),
    }
}

/// An id like this one that nobody used.
fn wrong(id: &Value) -> Value {
    match id.as_i64() {
        Some(number) => json!(number + 1_000_000),
        None => json!(format!("{}-wrong", id.as_str().unwrap_or_default())),
    }
}

/// A tool's answer that is one text, valid in both eras.
fn only_text(text: &str) -> Value {
    json!({"resultType": "complete", "content": [{"type": "text", "text": text}]})
}
