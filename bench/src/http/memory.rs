//! What `serve` keeps in memory: idle, and with ten thousand clients that only listen.

use std::net::SocketAddr;
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::AsyncReadExt as _;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::client::{Crowd, Era, Load};
use super::ways::{Scene, Server, Way};
use crate::memory::Memory;
use crate::report::{Section, Target};
use crate::stats::{Pace, Unit};
use crate::subject::Subject;

pub(crate) fn measure(subject: &Subject, pace: Pace) -> Result<Section> {
    let mut section = Section {
        title: "Memory of `serve`",
        how: format!(
            "In front of four servers over HTTP, after a few calls in each era and one idle second; then with {STREAMS} \
             open `subscriptions/listen` streams, all acknowledged, and one more idle second. One gate at a time."
        ),
        columns: vec!["`yesgate serve`", "resident", "proportional"],
        rows: Vec::new(),
        targets: Vec::new(),
    };
    if !Path::new("/proc/self/smaps_rollup").exists() {
        section.how.push_str(" Not measured here: this system does not tell.");
        return Ok(section);
    }
    allow_files()?;
    let (mut idle, mut listening) = (Memory::default(), Memory::default());
    let runtime = super::runtime()?;
    for _ in 0..pace.repeats(3) {
        let scene = Scene::set(subject)?;
        let gate = scene.between(Way::Gate).context("there is no gate")?;
        runtime.block_on(call_in_each_era(&scene, CALLS))?;
        thread::sleep(REST);
        idle.add(gate.process_id()?)?;
        runtime.block_on(async {
            let streams = listen(gate.address, "/mcp/lean-modern").await?;
            thread::sleep(REST);
            listening.add(gate.process_id()?)?;
            for stream in &streams {
                let silent = stream.try_read(&mut [0]);
                ensure!(
                    silent.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock),
                    "a stream that should be open and silent is not"
                );
            }
            anyhow::Ok(())
        })?;
    }
    section.targets = vec![
        Target::at_most("memory of an idle `serve`, resident", 20e6, &idle.resident, Unit::Megabytes),
        Target::at_most(
            "memory of `serve` with 10,000 idle streams, resident",
            300e6,
            &listening.resident,
            Unit::Megabytes,
        ),
    ];
    section.rows = vec![idle.row("idle"), listening.row("10,000 idle streams")];
    Ok(section)
}

/// Starts a gate, has it do what is measured at rest, with so many calls in each era, and lets it rest.
pub(crate) fn call_a_little(subject: &Subject, calls: usize) -> Result<()> {
    let scene = Scene::set(subject)?;
    super::runtime()?.block_on(call_in_each_era(&scene, calls))?;
    thread::sleep(REST);
    Ok(())
}

async fn call_in_each_era(scene: &Scene, calls: usize) -> Result<()> {
    for era in [Era::Legacy, Era::Modern] {
        let mut client = Crowd::gather(&scene.endpoint(Way::Gate, Server::Lean, era), 1).await?;
        client.call(Load { text_bytes: 100, calls }).await?;
    }
    Ok(())
}

/// Opens streams, each on a connection of its own, and waits until all are acknowledged.
async fn listen(address: SocketAddr, path: &str) -> Result<Vec<TcpStream>> {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{{"notifications":{{"toolsListChanged":true}}{}}}}}"#,
        Era::Modern.meta()
    );
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\naccept: application/json, \
         text/event-stream\r\nmcp-protocol-version: {}\r\nmcp-method: subscriptions/listen\r\ncontent-length: {}\r\n\r\n{body}",
        Era::Modern.revision(),
        body.len()
    );
    let mut streams = Vec::with_capacity(STREAMS);
    for _ in 0..STREAMS {
        let opened = timeout(PATIENCE, open(address, &request)).await.context("a stream was not opened")?;
        streams.push(opened?);
    }
    Ok(streams)
}

async fn open(address: SocketAddr, request: &str) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut heard = Vec::new();
    // The acknowledgement is a chunk, and ends as an event does.
    while !heard.ends_with(b"\n\n\r\n") {
        let count = stream.read_buf(&mut heard).await?;
        ensure!(count > 0, "the stream ended: {}", String::from_utf8_lossy(&heard));
    }
    let heard = String::from_utf8_lossy(&heard);
    ensure!(heard.contains("notifications/subscriptions/acknowledged"), "not acknowledged: {heard}");
    Ok(stream)
}

/// Each stream is a file to us and one to the gate, which inherits what we may have.
fn allow_files() -> Result<()> {
    let limit = getrlimit(Resource::Nofile);
    let wanted = u64::try_from(STREAMS)? + 1000;
    if limit.current.is_some_and(|current| current < wanted) {
        setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum })
            .context("this system does not allow so many open files")?;
    }
    Ok(())
}

/// How many calls a gate has made in each era before it rests.
const CALLS: usize = 10;
const STREAMS: usize = 10_000;
const REST: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(10);
