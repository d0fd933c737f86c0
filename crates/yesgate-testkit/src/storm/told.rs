//! What clients and people were told, held against the server's own log and the ledger.
//!
//! The joiner that ships says whether every call had a yes of its own. It does not know what clients heard; this does:
//! nobody was told that something ran that did not, and no decision that somebody was told is taken is lost.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::upstream_log::Received;

/// One call, as whoever made it and whoever decided about it saw it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Told {
    /// What was to be deleted; no other call has the same.
    pub note: String,
    /// The question that was asked, where its answer came.
    pub intent: Option<String>,
    /// What somebody beside the client was told about their decision.
    pub decision: Decision,
    /// Whether an answer to a call with the token was lost: then the call may have run unheard.
    pub heard: Heard,
    /// How it ended for the client.
    pub end: End,
}

/// What somebody beside the client was told.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Decision {
    /// Nothing: the client brought the token, or the answer was lost.
    None,
    /// The yes is taken.
    Yes,
    /// The no is taken.
    No,
}

/// Whether the client heard all answers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Heard {
    /// All of them.
    All,
    /// One at least was lost.
    Some,
}

/// How a call ended for its client.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum End {
    /// It ran.
    Done,
    /// The server turned it away.
    TurnedAway,
    /// It was not sent.
    NotSent,
    /// Nobody knows.
    Unknown,
    /// It was refused, with this code.
    Refused(String),
    /// There was no answer, however often it was tried.
    Silence,
}

/// What the ledger says about one question.
#[derive(Clone, Debug, Default)]
struct Written {
    is_approved: bool,
    is_denied: bool,
    outcome: Option<String>,
}

/// Compares what was told with the server's log and with the rows of `yesgate audit list --json`.
///
/// # Errors
/// With one sentence for each thing that does not fit.
pub fn check(told: &[Told], received: &[Received], rows: &[Value]) -> Result<(), Vec<String>> {
    let ran = count(received);
    let ledger = read(rows);
    let mut problems = Vec::new();
    for one in told {
        let times = ran.get(&one.note).copied().unwrap_or_default();
        let written = one.intent.as_ref().and_then(|intent| ledger.get(intent)).cloned().unwrap_or_default();
        let mut wrong = |words: &str| {
            problems.push(format!("{words} ({times} times in the log, {written:?} in the ledger): {one:?}"));
        };
        if times > 1 {
            wrong("ran more than once");
        }
        match one.decision {
            Decision::Yes if !written.is_approved => wrong("a yes is lost"),
            Decision::No if !written.is_denied => wrong("a no is lost"),
            Decision::No if times > 0 => wrong("ran after a no"),
            Decision::None | Decision::Yes | Decision::No => {}
        }
        let outcome = written.outcome.as_deref();
        match (&one.end, one.heard) {
            (End::Done, _) if times != 1 => wrong("told that it ran, and it did not"),
            (End::Done, _) if outcome != Some("ok") => {
                wrong("told that it ran, and the ledger does not say so")
            }
            (End::TurnedAway, _) if times != 1 => wrong("told that the server turned it away"),
            (End::TurnedAway, _) if outcome != Some("tool_error") => {
                wrong("turned away, but not in the ledger")
            }
            (End::NotSent, _) if times > 0 => wrong("told that it was not sent, and it was"),
            (End::Refused(_), Heard::All) if times > 0 && one.decision == Decision::None => {
                wrong("told that it was refused, and it ran");
            }
            (
                End::Done | End::TurnedAway | End::NotSent | End::Unknown | End::Refused(_) | End::Silence,
                Heard::All | Heard::Some,
            ) => {}
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// How often each note was deleted, by the server's own log.
fn count(received: &[Received]) -> BTreeMap<String, usize> {
    let mut ran = BTreeMap::new();
    for call in received.iter().filter_map(Received::call) {
        if let Some(note) = call["params"]["arguments"]["id"].as_str() {
            *ran.entry(note.to_owned()).or_default() += 1;
        }
    }
    ran
}

fn read(rows: &[Value]) -> BTreeMap<String, Written> {
    let mut ledger: BTreeMap<String, Written> = BTreeMap::new();
    for row in rows {
        let entry = row.get("entry").unwrap_or(row);
        let Some(intent) = entry["intent"].as_str() else { continue };
        let written = ledger.entry(intent.to_owned()).or_default();
        match entry["event"].as_str().unwrap_or_default() {
            "approved" => written.is_approved = true,
            "denied" => written.is_denied = true,
            "finished" => written.outcome = entry["outcome"].as_str().map(str::to_owned),
            _ => {}
        }
    }
    ledger
}

#[cfg(test)]
mod tests;
