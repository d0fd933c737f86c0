//! A host: starts a server command, speaks MCP with it over pipes, and takes the time.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

/// One conversation with one server process. Everything blocks.
#[derive(Debug)]
pub(crate) struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: Vec<u8>,
    last_id: u64,
}

/// What came back for one request.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Which request it answers.
    pub(crate) id: u64,
    /// The result.
    pub(crate) result: Value,
}

impl Client {
    /// Starts a server and opens a session with it.
    pub(crate) fn open(command: Command) -> Result<Self> {
        Self::open_timed(command).map(|(client, _)| client)
    }

    /// Starts a server and opens a session with it; says how long it took from before the start of
    /// the process until its first answer was here.
    pub(crate) fn open_timed(mut command: Command) -> Result<(Self, Duration)> {
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        });
        let hello = message(1, "initialize", &hello.to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let before = Instant::now();
        let mut child = command.spawn().with_context(|| format!("{command:?} did not start"))?;
        let input = child.stdin.take().context("the child has no stdin")?;
        let output =
            BufReader::with_capacity(64 * 1024, child.stdout.take().context("the child has no stdout")?);
        let mut client = Self { child, input, output, line: Vec::new(), last_id: 1 };
        client.input.write_all(&hello)?;
        client.read_line()?;
        let time = before.elapsed();
        client.answer().context("`initialize` failed")?;
        client.input.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
        Ok((client, time))
    }

    /// The id of the process.
    pub(crate) fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Asks for the tools and says how many there are.
    pub(crate) fn list_tools(&mut self) -> Result<usize> {
        let (answer, _) = self.request("tools/list", "{}")?;
        Ok(answer.result.get("tools").and_then(Value::as_array).map_or(0, Vec::len))
    }

    /// Calls a tool, waits for the answer, and says how long that took. A tool that fails is an error.
    pub(crate) fn call(&mut self, params: &str) -> Result<(Value, Duration)> {
        let (answer, time) = self.request("tools/call", params)?;
        Ok((answer.result, time))
    }

    /// Sends one call without waiting for its answer; gives the id that the answer will have.
    pub(crate) fn send_call(&mut self, params: &str) -> Result<u64> {
        let message = self.next_message("tools/call", params);
        self.input.write_all(&message)?;
        Ok(self.last_id)
    }

    /// Waits for the next answer, whichever request it is for.
    pub(crate) fn receive(&mut self) -> Result<Answer> {
        self.read_line()?;
        self.answer()
    }

    /// Closes the conversation and waits for the process to end.
    pub(crate) fn close(self) -> Result<()> {
        let Self { mut child, input, output, .. } = self;
        drop(input);
        drop(output);
        child.wait()?;
        Ok(())
    }

    fn request(&mut self, method: &str, params: &str) -> Result<(Answer, Duration)> {
        let message = self.next_message(method, params);
        let before = Instant::now();
        self.input.write_all(&message)?;
        self.read_line()?;
        let time = before.elapsed();
        // What an answer says is looked at outside the time.
        let answer = self.answer()?;
        if answer.id != self.last_id {
            bail!("request {} got the answer to {}", self.last_id, answer.id);
        }
        Ok((answer, time))
    }

    fn next_message(&mut self, method: &str, params: &str) -> Vec<u8> {
        self.last_id += 1;
        message(self.last_id, method, params)
    }

    fn read_line(&mut self) -> Result<()> {
        self.line.clear();
        if self.output.read_until(b'\n', &mut self.line)? == 0 {
            bail!("the server ended without an answer");
        }
        Ok(())
    }

    fn answer(&self) -> Result<Answer> {
        let mut message: Value = serde_json::from_slice(&self.line)?;
        let id = message.get("id").and_then(Value::as_u64);
        let result = message.get_mut("result").map(Value::take);
        let (Some(id), Some(result)) = (id, result) else { bail!("not the answer we wanted: {message}") };
        if result.get("isError") == Some(&Value::Bool(true)) {
            bail!("the tool failed: {result}");
        }
        Ok(Answer { id, result })
    }
}

fn message(id: u64, method: &str, params: &str) -> Vec<u8> {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}\n").into_bytes()
}
