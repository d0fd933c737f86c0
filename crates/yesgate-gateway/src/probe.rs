//! Asking a server for its tools without a host: which era it speaks, and what it offers.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use serde_json::value::RawValue;
use tokio::time::timeout;
use yesgate_core::id::BootId;
use yesgate_core::intent::ResultKind;

use crate::book::ToolBook;
use crate::child::{Child, ChildSpec};
use crate::envelope::{Envelope, Kind};
use crate::era::Era;
use crate::raw::raw;
use crate::stdio::lines::LineError;
use crate::upstream::pipe::Pipe;
use crate::upstream::{Answer, OwnRequest, Upstream};

/// What a server said of itself.
#[derive(Debug)]
pub struct Listing {
    /// The era it speaks.
    pub era: Era,
    /// Its tools, as it describes them.
    pub tools: Vec<Box<RawValue>>,
}

/// Why a server's tools could not be listed.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The process could not be started.
    #[error("the server could not be started: {0}")]
    Spawn(#[from] std::io::Error),
    /// The process ended before it answered.
    #[error("the server did not answer: {0}")]
    Ended(String),
    /// It took too long.
    #[error("the server did not answer within {} seconds", PATIENCE.as_secs())]
    Silent,
    /// It answered, but not with a list.
    #[error("the server did not list its tools: {0}")]
    Refused(String),
}

/// How long a server may take: some Python servers need half a minute to start.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a server of the old era may leave the era probe unanswered.
const PROBE: Duration = Duration::from_secs(10);

/// Starts a server, lists its tools, and ends it.
///
/// # Errors
/// When the server does not start, answer, or list.
pub async fn list_tools(spec: &ChildSpec, boot: &BootId) -> Result<Listing, ProbeError> {
    let mut spawned = Child::spawn(spec)?;
    let pipe = Arc::new(Pipe::new(boot));
    let upstream = Upstream::over_pipe(Arc::clone(&pipe));
    pipe.up(spawned.stdin.clone());
    let listed = {
        let asking = ask(&upstream);
        tokio::pin!(asking);
        let conversation = async {
            loop {
                tokio::select! {
                    listing = &mut asking => return Some(listing),
                    line = spawned.stdout.next() => match line {
                        Some(Ok(line)) => hear(&pipe, line),
                        Some(Err(LineError::TooLong { .. })) => {}
                        Some(Err(LineError::Read(_))) | None => return None,
                    },
                }
            }
        };
        timeout(PATIENCE, conversation).await
    };
    pipe.down();
    let report = spawned.child.stop(Duration::from_secs(1)).await;
    match listed {
        Ok(Some(listing)) => listing,
        Ok(None) => Err(ProbeError::Ended(report.text)),
        Err(_) => Err(ProbeError::Silent),
    }
}

fn hear(pipe: &Pipe, line: &[u8]) {
    if let Ok(envelope) = Envelope::parse(line)
        && envelope.kind() == Kind::Response
    {
        // Only our own questions are open, so every answer is ours or nobody's.
        pipe.answered(&envelope);
    }
}

async fn ask(upstream: &Upstream) -> Result<Listing, ProbeError> {
    let era = probe(upstream).await?;
    let book = ToolBook::default();
    book.refresh(upstream).await.map_err(|error| ProbeError::Refused(error.to_string()))?;
    Ok(Listing { era, tools: book.all() })
}

/// Any answer to the probe that is not a modern one, or none at all, means the old era.
async fn probe(upstream: &Upstream) -> Result<Era, ProbeError> {
    let discovered = timeout(PROBE, upstream.request(OwnRequest::Discover)).await;
    if let Ok(Ok(Answer { kind: ResultKind::Result, json })) = &discovered
        && String::from_utf8_lossy(json).contains(crate::era::MODERN_VERSION)
    {
        upstream.speaks(Era::Modern);
        return Ok(Era::Modern);
    }
    let params = raw(Era::own_initialize().to_string());
    match upstream.request(OwnRequest::Initialize { params: &params }).await {
        Ok(Answer { kind: ResultKind::Result, .. }) => {}
        Ok(Answer { kind: ResultKind::Error, json }) => {
            return Err(ProbeError::Refused(String::from_utf8_lossy(&json).into_owned()));
        }
        Err(error) => return Err(ProbeError::Ended(error.to_string())),
    }
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    upstream.notify(ready.into()).await.map_err(|error| ProbeError::Ended(error.to_string()))?;
    upstream.speaks(Era::Legacy);
    Ok(Era::Legacy)
}
