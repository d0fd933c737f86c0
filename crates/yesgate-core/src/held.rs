//! What an agent is told while a human is asked.
//!
//! Two published vocabularies meet here (H2 and I2); every field of both stands in the answer, so
//! that agents written against either of them work.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Number, Value, json};

use crate::intent::Intent;
use crate::policy::OwnNames;
use crate::token::ConfirmToken;
use crate::verdict::{ConfirmType, Quorum};

/// How long an agent that waits leaves between two looks.
pub const POLL: SignedDuration = SignedDuration::from_secs(5);

/// Where a question can be decided and looked up, as far as its front knows.
///
/// An address only names the question (H3): it carries no secret.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Links {
    /// The page for the human.
    pub approval: Option<String>,
    /// What the agent asks for the result.
    pub polling: Option<String>,
}

impl Links {
    /// Adds them to a held answer: the page only where the agent has no token to bring back.
    pub fn add_to(&self, payload: &mut Map<String, Value>) {
        if let (Some(approval), false) = (&self.approval, payload.contains_key("confirm_token")) {
            payload.insert("approval_url".into(), json!(approval));
            if let Some(Value::String(message)) = payload.get_mut("message") {
                message.push_str(&format!(" The user can decide on the page {approval} as well."));
            }
        }
        if let Some(polling) = &self.polling {
            payload.insert("polling_url".into(), json!(polling));
        }
    }
}

/// The payload of a held answer.
pub fn held_payload(
    intent: &Intent,
    token: Option<&ConfirmToken>,
    names: &OwnNames,
    now: Timestamp,
) -> Map<String, Value> {
    let question = intent.question();
    let summary = question.summary.to_string();
    let mut payload = Map::new();
    let mut set = |key: &str, value: Value| {
        payload.insert(key.to_owned(), value);
    };
    let expires_at = match (token, intent.token_by()) {
        (Some(_), Some(token_by)) => token_by,
        (Some(_) | None, _) => intent.decide_by(),
    };
    let seconds = whole_seconds(expires_at.duration_since(now));
    match token {
        Some(token) => {
            set("status", json!("confirmation_required"));
            set("confirm_token", json!(token.expose()));
        }
        None => {
            set("status", json!("approval_required"));
            set("poll_interval_seconds", json!(POLL.as_secs()));
        }
    }
    set("confirm_required", json!(true));
    set("summary", json!(summary));
    set("message", json!(message(intent, token.is_some(), names, seconds)));
    set("ttl_seconds", json!(seconds));
    set("expires_in", json!(seconds));
    set("expires_at", json!(format!("{expires_at:.3}")));
    set("intent_id", json!(intent.id().as_str()));
    set("confirm_type", json!(question.confirm.as_str()));
    if let Some(preview) = &question.preview {
        set("preview", preview.iter().map(|line| json!(line.as_str())).collect());
    }
    if let Some(approvers) = &question.approvers {
        set("approvers", json!(approvers.groups));
    }
    if question.quorum > Quorum::ONE {
        set("quorum", json!({"have": intent.yeses().len(), "need": question.quorum.people()}));
    }
    set("match_code", json!(intent.digest().match_code()));
    set("ok", json!(false));
    if let Some(reason) = &question.reason {
        set("reason", json!(reason.as_str()));
    }
    if let Some(spend) = &question.spend {
        // I2: asking about money has its own word for the state.
        set("status", json!("approval_required"));
        set("amount", amount(&spend.amount));
        set("currency", json!(spend.currency));
        set("recipient", json!(spend.recipient));
        if question.reason.is_none() {
            set("reason", json!("this payment needs a human's yes"));
        }
    }
    payload
}

/// The summary and what to do next, for agents that show one text. The tool is not named: where several servers
/// share an endpoint, the agent knows it by another name than its server does.
fn message(intent: &Intent, token: bool, names: &OwnNames, seconds: i64) -> String {
    let OwnNames { reject, status, .. } = names;
    let question = intent.question();
    let code = intent.digest().match_code();
    let id = intent.id();
    let summary = &question.summary;
    let next = match (token, question.confirm) {
        (true, ConfirmType::Type) => format!(
            "Nothing has run. Show this to the user word for word, and ask them to type the name of what it \
             concerns. Repeat the call with the same arguments, `confirm_token`, and what they typed as \
             `__typed` within {seconds} seconds; if they do not agree, call `{reject}`."
        ),
        (true, ConfirmType::None | ConfirmType::Simple | ConfirmType::Preview) => format!(
            "Nothing has run. Show this to the user word for word. If they agree, repeat the call with the same \
             arguments and `confirm_token` within {seconds} seconds; if not, call `{reject}`."
        ),
        (false, _) => format!(
            "Nothing has run. A human must decide away from this conversation. Tell the user to run `yesgate \
             approve {id}` and to compare the code {code}; then call `{status}` or repeat the same call \
             for the result."
        ),
    };
    let preview: String = question.preview.iter().flatten().map(|line| format!("\n  {line}")).collect();
    let preview = if preview.is_empty() { preview } else { format!("\n\nPreview:{preview}") };
    format!("{summary}{preview}\n\n{next}")
}

/// Counts a second that has begun as a whole one: a token of sixty seconds says sixty.
fn whole_seconds(left: SignedDuration) -> i64 {
    let begun = i64::from(left.subsec_nanos() > 0);
    (left.as_secs() + begun).max(0)
}

/// A JSON number where that is exact, else the decimal text.
fn amount(text: &str) -> Value {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    match serde_json::from_str::<Number>(text) {
        Ok(number) if digits <= 15 => Value::Number(number),
        Ok(_) | Err(_) => json!(text),
    }
}

#[cfg(test)]
mod tests;
