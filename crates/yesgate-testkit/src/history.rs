//! The judge: does what the server received fit what the ledger says?
//!
//! Set joins, no search. For one server:
//! - an intent is redeemed at most once, after it was opened and after a yes;
//! - every gated call that reached the server belongs to exactly one redemption: of the same tool, with the same
//!   arguments, written down before the call arrived, by the process that the call's id names (over HTTP,
//!   where each request has its own answer, an id names no process);
//! - a call that brings the input which the server asked for belongs to a redemption that let a call go before it;
//! - what the ledger calls finished (`ok`, `tool_error`) did reach the server;
//! - no call carries the gateway's own arguments.
//!
//! A redemption without a call is no fault: the process may have died in between, and `unknown` or
//! `not_sent` is then the honest outcome.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::Value;

use crate::upstream_log::Received;

/// What a history that fits consists of.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct History {
    /// How many gated calls reached the server, each with its own redemption.
    pub gated: usize,
    /// How many calls reached it that need no question, and had none.
    pub ungated: usize,
    /// How many intents were redeemed; more than `gated` where a process died in between.
    pub redeemed: usize,
}

/// What carried the calls to the server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Carrier {
    /// Stdin, where a call's id names the process that sent it.
    Pipe,
    /// HTTP, where it is a number.
    Web,
}

/// Compares the two sides, and lists what does not fit.
///
/// `rows` is what `yesgate audit list --json` prints; `shown` gives the arguments of an intent as
/// `yesgate show --json` prints them, with secrets redacted.
///
/// # Errors
/// With one sentence for each thing that does not fit.
pub fn check(
    server: &str,
    carrier: Carrier,
    received: &[Received],
    rows: &[Value],
    ungated: &[String],
    shown: impl Fn(&str) -> Value,
) -> Result<History, Vec<String>> {
    let mut problems = Vec::new();
    let intents = read_intents(server, rows, &mut problems);
    let redeemed: Vec<(&String, &Intent)> =
        intents.iter().filter(|(_, intent)| !intent.redemptions.is_empty()).collect();
    for (id, intent) in &redeemed {
        if intent.redemptions.len() > 1 {
            problems.push(format!("{id} was redeemed {} times", intent.redemptions.len()));
        }
    }
    let arguments: BTreeMap<&String, Value> = redeemed.iter().map(|(id, _)| (*id, shown(id))).collect();

    let mut history = History { gated: 0, ungated: 0, redeemed: redeemed.len() };
    let mut used = BTreeSet::new();
    for call in received.iter().filter_map(Call::read) {
        for own in OWN_ARGUMENTS.iter().filter(|own| call.arguments.get(**own).is_some()) {
            problems.push(format!("{call} carries `{own}`, which is the gateway's own"));
        }
        let fits = |(id, intent): &&(&String, &Intent)| {
            used.contains(*id) == call.goes_on
                && intent.tool == call.tool
                && arguments.get(*id).is_some_and(|shown| is_shown_as(shown, &call.arguments))
                && intent.redemptions.iter().any(|redemption| redemption.let_go(&call, carrier))
        };
        let first = |(_, intent): &&(&String, &Intent)| intent.redemptions.iter().map(|one| one.at).min();
        if let Some((id, _)) = redeemed.iter().filter(fits).min_by_key(first) {
            // The further rounds of a call that asks its user are the same run.
            if used.insert(*id) {
                history.gated += 1;
            }
        } else if ungated.contains(&call.tool) {
            history.ungated += 1;
        } else {
            problems.push(format!("{call} reached the server without a redemption of its own before it"));
        }
    }
    for (id, intent) in &redeemed {
        if intent.is_finished && !used.contains(id) {
            problems.push(format!(
                "{id} is finished in the ledger, but `{}` never reached the server",
                intent.tool
            ));
        }
        if intent.is_not_sent && used.contains(id) {
            problems
                .push(format!("{id} is not sent in the ledger, but `{}` reached the server", intent.tool));
        }
    }
    if problems.is_empty() { Ok(history) } else { Err(problems) }
}

/// What a caller tells the gateway in the arguments, and no server may see.
const OWN_ARGUMENTS: [&str; 6] = ["confirm_token", "__confirm", "__mode", "__channel", "__typed", "__reason"];

/// A question about the caller's own mode: no server hears of it.
const SET_MODE: &str = "yesgate_set_mode";

/// One question, as the audit trail tells it.
#[derive(Debug, Default)]
struct Intent {
    tool: String,
    is_approved: bool,
    redemptions: Vec<Redemption>,
    is_finished: bool,
    is_not_sent: bool,
}

#[derive(Debug)]
struct Redemption {
    at: Timestamp,
    boot: String,
}

impl Redemption {
    /// Whether a call may have left because of this redemption.
    fn let_go(&self, call: &Call, carrier: Carrier) -> bool {
        let own = self.boot.strip_prefix("boot_").unwrap_or(&self.boot);
        let is_named = match carrier {
            Carrier::Pipe => call.id.starts_with(&format!("yesgate-{own}-")),
            Carrier::Web => call.id.parse::<u64>().is_ok(),
        };
        self.at <= call.at && is_named
    }
}

/// Reads the questions about one server from the audit trail.
fn read_intents(server: &str, rows: &[Value], problems: &mut Vec<String>) -> BTreeMap<String, Intent> {
    let mut intents: BTreeMap<String, Intent> = BTreeMap::new();
    for row in rows {
        let entry = row.get("entry").unwrap_or(row);
        let Some(id) = entry["intent"].as_str() else { continue };
        let event = entry["event"].as_str().unwrap_or_default();
        if event == "opened" {
            if entry["server"] == server && entry["tool"] != SET_MODE {
                let tool = entry["tool"].as_str().unwrap_or_default().to_owned();
                intents.insert(id.to_owned(), Intent { tool, ..Intent::default() });
            }
            continue;
        }
        let Some(intent) = intents.get_mut(id) else {
            if event == "redeemed" && !rows.iter().any(|row| opens(row, id)) {
                problems.push(format!("{id} was redeemed and never opened"));
            }
            continue;
        };
        match event {
            "approved" => intent.is_approved = true,
            "redeemed" => {
                if !intent.is_approved {
                    problems.push(format!("{id} was redeemed without a yes before it"));
                }
                match entry["at"].as_str().and_then(|at| at.parse().ok()) {
                    Some(at) => {
                        let boot = entry["boot"].as_str().unwrap_or_default().to_owned();
                        intent.redemptions.push(Redemption { at, boot });
                    }
                    None => problems.push(format!("the redemption of {id} has no time: {entry}")),
                }
            }
            "finished" if entry["outcome"] == "not_sent" => intent.is_not_sent = true,
            "finished" => intent.is_finished = true,
            _ => {}
        }
    }
    intents
}

fn opens(row: &Value, id: &str) -> bool {
    let entry = row.get("entry").unwrap_or(row);
    entry["event"] == "opened" && entry["intent"] == id
}

/// One call that reached the server.
#[derive(Debug)]
struct Call {
    number: u64,
    pid: u32,
    at: Timestamp,
    id: String,
    tool: String,
    arguments: Value,
    /// It brings the input that the server asked for in its answer to an earlier one.
    goes_on: bool,
}

impl Call {
    fn read(received: &Received) -> Option<Self> {
        let message = received.call()?;
        Some(Self {
            number: received.number,
            pid: received.pid,
            at: received.at,
            id: message["id"].as_str().map_or_else(|| message["id"].to_string(), str::to_owned),
            tool: message["params"]["name"].as_str().unwrap_or_default().to_owned(),
            arguments: message["params"]["arguments"].clone(),
            goes_on: message["params"].get("inputResponses").is_some(),
        })
    }
}

impl std::fmt::Display for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { number, pid, at, id, tool, arguments, .. } = self;
        write!(f, "line {number} of process {pid} at {at}, call {id} of `{tool}` with {arguments},")
    }
}

/// Whether what was shown is what was sent, but for what is redacted.
fn is_shown_as(shown: &Value, sent: &Value) -> bool {
    match (shown, sent) {
        (Value::String(text), _) if text.contains("[redacted: ") => true,
        (Value::Array(shown), Value::Array(sent)) => {
            shown.len() == sent.len() && shown.iter().zip(sent).all(|(shown, sent)| is_shown_as(shown, sent))
        }
        (Value::Object(shown), Value::Object(sent)) => {
            let fits =
                |(key, shown): (&String, &Value)| sent.get(key).is_some_and(|sent| is_shown_as(shown, sent));
            shown.len() == sent.len() && shown.iter().all(fits)
        }
        (Value::Number(shown), Value::Number(sent)) => shown == sent || shown.as_f64() == sent.as_f64(),
        (shown, sent) => shown == sent,
    }
}

#[cfg(test)]
mod tests;
