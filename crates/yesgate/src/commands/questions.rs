//! `pending` and `show`: what waits for an answer.

use jiff::Timestamp;
use serde_json::{Value, json};
use yesgate_core::intent::{CLAIM, Decision, DoneKind, Intent, State, Surface, WHY_CLAIMED};
use yesgate_core::redact::redact;
use yesgate_core::render::{Sanitized, fence, render_value};
use yesgate_core::verdict::{Quorum, Spend};
use yesgate_ledger::{Filter, Ledger};

use super::regime::stops;
use crate::output::{self, Done};
use crate::settings::{Settings, now};

pub(super) async fn pending(settings: &Settings, as_json: bool) -> anyhow::Result<Done> {
    let (ledger, _) = settings.ledger().await?;
    let mut open = ledger.intents(Filter::Unknown).await?;
    open.extend(ledger.intents(Filter::Open).await?);
    let stops = stops(&ledger.regimes().await?);
    if as_json {
        stops.iter().for_each(|stop| eprintln!("{stop}"));
        output::json(&open.iter().map(|intent| describe(intent, now())).collect::<Vec<_>>())?;
        return Ok(Done::Ok);
    }
    for stop in &stops {
        output::line(stop);
    }
    if !stops.is_empty() {
        output::line("");
    }
    let (unknown, waiting): (Vec<_>, Vec<_>) =
        open.iter().partition(|intent| intent.state() == State::Unknown);
    if !unknown.is_empty() {
        output::line("These calls were sent and their answer was lost. Look, and settle each of them with");
        output::line("`yesgate resolve ID --ran` or `yesgate resolve ID --did-not-run`:");
        list(&unknown);
        output::line("");
    }
    if waiting.is_empty() {
        output::line("Nothing waits for an answer.");
    } else {
        list(&waiting);
        output::line("");
        output::line(
            "Look at one with `yesgate show ID`; answer with `yesgate approve ID` or `yesgate deny ID`.",
        );
    }
    Ok(Done::Ok)
}

fn list(intents: &[&Intent]) {
    let rows: Vec<Vec<String>> = intents
        .iter()
        .map(|intent| {
            let binding = &intent.question().binding;
            vec![
                intent.id().to_string(),
                intent.state().to_string(),
                age(now().duration_since(intent.opened_at()).as_secs()),
                left(intent, now()),
                intent.digest().match_code(),
                Sanitized::line(binding.caller.client.as_str()).to_string(),
                intent.question().summary.to_string(),
            ]
        })
        .collect();
    output::table(&["ID", "STATE", "AGE", "LEFT", "CODE", "CLIENT", "SUMMARY"], &rows);
}

/// How much time is left to decide.
pub(super) fn left(intent: &Intent, now: Timestamp) -> String {
    if intent.state() == State::Pending {
        age(intent.decide_by().duration_since(now).as_secs())
    } else {
        "–".into()
    }
}

fn age(seconds: i64) -> String {
    match seconds {
        ..0 => "0s".into(),
        0..120 => format!("{seconds}s"),
        120..7200 => format!("{}m", seconds / 60),
        7200.. => format!("{}h", seconds / 3600),
    }
}

pub(super) async fn show(settings: &Settings, id: &str, as_json: bool) -> anyhow::Result<Done> {
    let (ledger, _) = settings.ledger().await?;
    match find(&ledger, id).await? {
        Found::One(intent) if as_json => output::json(&describe(&intent, now()))?,
        Found::One(intent) => print(&intent),
        Found::Other(done) => return Ok(done),
    }
    Ok(Done::Ok)
}

/// What looking an id up gave.
pub(super) enum Found {
    One(Box<Intent>),
    Other(Done),
}

/// Finds the one question whose id begins like this.
pub(super) async fn find(ledger: &Ledger, id: &str) -> anyhow::Result<Found> {
    let ids = ledger.find(id).await?;
    let hint = "`yesgate pending` lists the questions that are open";
    match ids.as_slice() {
        [] => Ok(Found::Other(output::not_found(
            &format!("there is no question `{}`", id.escape_debug()),
            hint,
        ))),
        [one] => match ledger.intent(one).await? {
            Some(intent) => Ok(Found::One(Box::new(intent))),
            None => Ok(Found::Other(output::not_found("the question is gone", hint))),
        },
        several => {
            let words = format!("{} questions begin with `{}`", several.len(), id.escape_debug());
            Ok(Found::Other(output::not_found(&words, "give more letters of the id")))
        }
    }
}

/// Shows a question whole: everything that will run, and everything that was said about it.
pub(super) fn print(intent: &Intent) {
    lines(intent).iter().for_each(output::line);
}

/// The lines of a question, whole.
pub(super) fn lines(intent: &Intent) -> Vec<String> {
    let mut lines = Vec::new();
    let question = intent.question();
    let binding = &question.binding;
    lines.push(question.summary.to_string());
    lines.push(String::new());
    let row = |lines: &mut Vec<String>, name: &str, value: &dyn std::fmt::Display| {
        lines.push(format!("  {name:<10} {value}"));
    };
    row(&mut lines, "question", intent.id());
    row(&mut lines, "state", &intent.state());
    row(&mut lines, "code", &intent.digest().match_code());
    row(&mut lines, "server", &binding.server);
    row(&mut lines, "tool", &format_args!("{} (definition {})", binding.tool, binding.definition.0.short()));
    row(
        &mut lines,
        "class",
        &format_args!(
            "{} ({})",
            question.classified.class,
            Sanitized::line(&question.classified.source.to_string())
        ),
    );
    row(
        &mut lines,
        "asked by",
        &format_args!("{} for {}", Sanitized::line(binding.caller.client.as_str()), binding.caller.principal),
    );
    if let Some(rule) = &question.rule {
        row(&mut lines, "rule", &Sanitized::line(rule));
    }
    if let Some(reason) = &question.reason {
        row(&mut lines, "because", reason);
    }
    if let Some(spend) = &question.spend {
        row(&mut lines, "costs", &costs(spend));
        for charge in &spend.charges {
            row(
                &mut lines,
                "budget",
                &format_args!("{}, {} at most", charge.window.account.budget, charge.most),
            );
        }
    }
    row(&mut lines, "needs", &format_args!("a yes at level `{}` or better", question.least));
    if let Some(whose) = intent.whose_yes() {
        row(&mut lines, "whose yes", &whose);
    }
    if question.quorum > Quorum::ONE {
        let (have, need) = (intent.yeses().len(), question.quorum.people());
        row(&mut lines, "quorum", &format_args!("{have} of {need} different people have said yes"));
    }
    if let Some(text) = intent.text_to_type() {
        row(&mut lines, "by typing", &Sanitized::quoted(text));
    }
    row(&mut lines, "asked at", &intent.opened_at());
    if let Some(at) = intent.purged_at() {
        row(&mut lines, "purged", &format_args!("at {at}: what was asked, shown and answered is gone"));
    }
    if intent.state() == State::Pending {
        row(&mut lines, "decide by", &intent.decide_by());
    }
    if let Some(decision) = intent.decision() {
        row(
            &mut lines,
            "decided",
            &format_args!("by {} at level `{}`", Sanitized::line(&decision.by), decision.assurance),
        );
        match (&decision.reason, decision.surface) {
            // X2: what only the agent says a human said stands apart from what we know.
            (Some(claimed), Surface::Agent) => {
                fence(CLAIM, claimed).iter().for_each(|line| lines.push(format!("  {line}")));
            }
            (Some(reason), Surface::Human | Surface::Rule) => {
                row(&mut lines, "reason", &Sanitized::line(reason))
            }
            (None, _) => {}
        }
    }
    if let Some(claim) = &question.claim {
        fence(WHY_CLAIMED, claim).iter().for_each(|line| lines.push(format!("  {line}")));
    }
    if let Some(preview) = &question.preview {
        lines.push(String::new());
        lines.push("Preview, to which the yes is bound:".to_owned());
        preview.iter().for_each(|line| lines.push(format!("  {line}")));
    }
    if intent.purged_at().is_some() {
        return lines;
    }
    lines.extend(preview_now(intent));
    lines.push(String::new());
    lines.push(format!("Arguments ({} bytes), exactly as they will run:", binding.arguments.as_str().len()));
    match render_value(&binding.arguments.to_value()) {
        Ok(shown) => shown.iter().for_each(|line| lines.push(format!("  {line}"))),
        Err(error) => lines.push(format!("  {error}")),
    }
    lines
}

/// Shows what the preview says by now, where it changed and so nothing ran (M4).
pub(super) fn print_preview_now(intent: &Intent) {
    preview_now(intent).iter().for_each(output::line);
}

fn preview_now(intent: &Intent) -> Vec<String> {
    let Some(preview) = intent.preview_now() else { return Vec::new() };
    let head = [String::new(), "The preview says something else now, so nothing ran:".to_owned()];
    head.into_iter().chain(preview.iter().map(|line| format!("  {line}"))).collect()
}

/// What a call costs, on one line.
fn costs(spend: &Spend) -> Sanitized {
    let mut words = spend.amount.clone();
    if let Some(currency) = &spend.currency {
        words.push_str(&format!(" {currency}"));
    }
    if let Some(recipient) = &spend.recipient {
        words.push_str(&format!(" to {recipient}"));
    }
    Sanitized::line(&words)
}

/// A decision for programs: words that only the agent brought are its claim there too.
fn as_told(decision: &Decision) -> Decision {
    let reason = match decision.surface {
        Surface::Agent => decision.words().map(|claim| claim.to_string()),
        Surface::Human | Surface::Rule => decision.reason.clone(),
    };
    Decision { reason, ..decision.clone() }
}

/// A question for programs. Secrets in the arguments are redacted; the digest is over all of them.
pub(super) fn describe(intent: &Intent, now: Timestamp) -> Value {
    let question = intent.question();
    let binding = &question.binding;
    json!({
        "intent_id": intent.id(),
        "state": intent.state().as_str(),
        "match_code": intent.digest().match_code(),
        "digest": intent.digest(),
        "summary": question.summary.as_str(),
        "server": binding.server,
        "tool": binding.tool,
        "definition": binding.definition,
        "caller": binding.caller,
        "class": question.classified.class,
        "class_source": question.classified.source.to_string(),
        "rule": question.rule,
        "reason": question.reason.as_ref().map(Sanitized::as_str),
        "arguments": intent.purged_at().is_none().then(|| redact(&binding.arguments.to_value())),
        "purged_at": intent.purged_at(),
        "spend": question.spend.as_ref().map(|spend| json!({
            "amount": spend.amount,
            "currency": spend.currency,
            "recipient": spend.recipient,
            "budgets": spend.charges.iter().map(|charge| &charge.window.account.budget).collect::<Vec<_>>(),
        })),
        "claim": question.claim.as_deref().map(|claim| Sanitized::line(claim).to_string()),
        "channel": question.channel,
        "least_assurance": question.least,
        "approvers": question.approvers.as_ref().map(|named| json!({
            "groups": named.groups,
            "fallback": named.fallback.as_ref().map(|fallback| &fallback.groups),
            "fallback_at": intent.fallback_at(),
        })),
        "quorum": {"have": intent.yeses().len(), "need": question.quorum.people()},
        "opened_at": intent.opened_at(),
        "decide_by": intent.decide_by(),
        "seconds_left": intent.decide_by().duration_since(now).as_secs().max(0),
        "decision": intent.decision().map(as_told),
        "preview": question.preview,
        "preview_now": intent.preview_now(),
        "outcome": intent.state().done().map(DoneKind::as_str),
    })
}
