//! One question, whole: what would run, who asks, why it is asked, and how it ended.
//!
//! INVARIANT: everything that a yes is bound to is on the page, above the button that says it (REN1, REN4, REN5).

use askama::Template;
use http::StatusCode;
use jiff::Timestamp;
use serde_json::Value;
use yesgate_core::assurance::Assurance;
use yesgate_core::id::IntentId;
use yesgate_core::intent::{
    Answer as Said, CLAIM, DoneKind, Intent, ResultKind, State, Surface, WHY_CLAIMED,
};
use yesgate_core::json::{Limits, on_screen, parse_lenient};
use yesgate_core::person::Role;
use yesgate_core::proof::Nonce;
use yesgate_core::redact::redact;
use yesgate_core::render::{Sanitized, fence, render_value};
use yesgate_core::verdict::{ConfirmType, Remember, Spend};

use crate::answer::{self, Answer};
use crate::site::{Site, Trouble, Visit};
use crate::view::{Frame, Left, Tab, moment};
use crate::visit::Visitor;

#[derive(Template)]
#[template(path = "question.html")]
struct Page {
    frame: Frame,
    id: String,
    /// What went wrong with what was just tried.
    notice: Option<String>,
    summary: Sanitized,
    state: &'static str,
    /// What became of it, in a sentence.
    standing: String,
    left: Option<Left>,
    code: String,
    facts: Vec<Fact>,
    preview: Option<Vec<Sanitized>>,
    preview_now: Option<Vec<Sanitized>>,
    arguments: Vec<Sanitized>,
    bytes: usize,
    keys: usize,
    claim: Option<Vec<Sanitized>>,
    result: Option<Vec<Sanitized>>,
    /// What can be decided here, where anything can.
    decision: Option<Decision>,
    /// The token of the form that settles a lost answer, where there is one to settle.
    settle: Option<String>,
    /// When it is worth looking again: others may say yes from then on.
    again: Option<i64>,
    /// Whether there is a receipt to be kept.
    has_receipt: bool,
    /// What tells one content from another.
    version: String,
}

/// A line about a question.
#[derive(Clone, Debug)]
pub(crate) struct Fact {
    pub(crate) name: &'static str,
    pub(crate) value: Sanitized,
}

/// What a visitor can decide.
struct Decision {
    /// The tokens of the forms that say yes, no, and something else.
    yes: String,
    no: String,
    other: String,
    /// What was seen: the yes is to that.
    seen: String,
    /// What must be typed.
    typed: Option<Sanitized>,
    /// Why this visitor cannot say yes, where that is so.
    not_yes: Option<String>,
    /// What their passkey is to sign, where the yes needs that.
    signing: Option<Signing>,
    remember: Remembering,
    client: Sanitized,
    /// The form that changes the arguments, where they can be changed.
    edit: Option<Editing>,
}

/// The form that changes the arguments.
struct Editing {
    token: String,
    /// What stands in it: the arguments, or what the visitor made of them.
    text: String,
    rows: usize,
    is_open: bool,
}

/// What a passkey is to sign.
struct Signing {
    /// The options for the browser, as JSON.
    options: String,
    /// What the challenge was made with.
    nonce: String,
    /// Until when the signature counts.
    until: String,
}

/// How far a yes can be remembered.
struct Remembering {
    exact: bool,
    tool: bool,
}

impl Site {
    /// Looks a question up that this visitor may see.
    pub(crate) async fn find(&self, visit: &Visit, visitor: &Visitor) -> Result<Intent, Trouble> {
        let id = visit.name.parse::<IntentId>().map_err(|_| Trouble::NotFound)?;
        let found = self.ledger.intent(&id).await?.ok_or(Trouble::NotFound)?;
        if found.question().binding.caller.org != visitor.person.org {
            return Err(Trouble::NotFound);
        }
        Ok(found)
    }

    /// The page of a question, with what went wrong with an answer to it, where something did.
    pub(crate) async fn question(
        &self,
        visit: &Visit,
        visitor: &Visitor,
        notice: Option<String>,
    ) -> Result<Answer, Trouble> {
        let intent = self.find(visit, visitor).await?;
        let now = self.ledger.now();
        let status = if notice.is_some() { StatusCode::CONFLICT } else { StatusCode::OK };
        let now_theirs = not_theirs(&intent, visitor, now).is_none();
        let question = intent.question();
        let arguments = question.binding.arguments.to_value();
        let page = Page {
            frame: self.frame(visitor, Tab::Inbox, "Question").await?,
            id: intent.id().to_string(),
            notice,
            summary: question.summary.clone(),
            state: state(&intent, now),
            standing: standing(&intent, now),
            left: Left::of(&intent, now),
            code: intent.digest().match_code(),
            facts: facts(&intent),
            preview: question.preview.clone(),
            preview_now: intent.preview_now().map(<[Sanitized]>::to_vec),
            bytes: question.binding.arguments.as_str().len(),
            keys: keys(&arguments),
            arguments: lines(&arguments),
            claim: claim(&intent),
            result: result(&intent),
            decision: self.decision(visit, &intent, visitor, now)?,
            settle: match intent.state() == State::Unknown && visitor.person.may(Role::Approver) {
                true => Some(self.token(visitor, &format!("/approve/{}/resolve", intent.id()), now)?),
                false => None,
            },
            again: intent.fallback_at().filter(|at| now < *at).map(Timestamp::as_millisecond),
            version: format!("{}{}{now_theirs}", state(&intent, now), intent.yeses().len()),
            has_receipt: intent.state().is_settled(),
        };
        Ok(answer::page(status, &page))
    }

    fn decision(
        &self,
        visit: &Visit,
        intent: &Intent,
        visitor: &Visitor,
        now: Timestamp,
    ) -> Result<Option<Decision>, Trouble> {
        let waits = intent.state() == State::Pending && now < intent.decide_by();
        if !waits || !visitor.person.may(Role::Approver) {
            return Ok(None);
        }
        let action = format!("/approve/{}", intent.id());
        let token = || self.token(visitor, &action, now);
        let question = intent.question();
        let not_theirs = not_theirs(intent, visitor, now);
        let signing = if not_theirs.is_none() && self.wants_key(intent, visitor) {
            self.signing(intent, visitor)?
        } else {
            None
        };
        let not_yes = not_theirs.or_else(|| self.not_yes(intent, visitor));
        Ok(Some(Decision {
            yes: token()?,
            no: token()?,
            other: token()?,
            seen: intent.digest().0.to_string(),
            typed: intent.text_to_type().map(Sanitized::quoted),
            not_yes: if signing.is_some() { None } else { not_yes.clone() },
            signing,
            remember: match question.remember {
                Remember::Never => Remembering { exact: false, tool: false },
                Remember::ExactCall => Remembering { exact: true, tool: false },
                Remember::AnyScope => Remembering { exact: true, tool: true },
            },
            client: Sanitized::line(question.binding.caller.client.as_str()),
            edit: match question.can_be_edited() && not_yes.is_none() {
                true => Some(self.editing(visit, intent, visitor, now)?),
                false => None,
            },
        }))
    }

    fn editing(
        &self,
        visit: &Visit,
        intent: &Intent,
        visitor: &Visitor,
        now: Timestamp,
    ) -> Result<Editing, Trouble> {
        let made = visit.form.one("arguments").map(str::to_owned);
        let is_open = made.is_some();
        let text = made.unwrap_or_else(|| {
            let arguments = intent.question().binding.arguments.to_value();
            on_screen(&format!("{arguments:#}"))
        });
        let token = self.token(visitor, &format!("/approve/{}/edit", intent.id()), now)?;
        Ok(Editing { token, rows: text.lines().count().clamp(4, 24), text, is_open })
    }

    /// Whether only a key will do: the rule says so, or it is the visitor's own call.
    fn wants_key(&self, intent: &Intent, visitor: &Visitor) -> bool {
        let question = intent.question();
        let is_own = question.binding.caller.principal == visitor.person.name;
        question.least == Assurance::Verified || question.least == Assurance::SignedIn && is_own
    }

    /// What the visitor's passkey is to sign, where they have one.
    fn signing(&self, intent: &Intent, visitor: &Visitor) -> Result<Option<Signing>, Trouble> {
        let Some(keys) = self.keys() else { return Ok(None) };
        let passkeys = keys.passkeys(&visitor.person.id);
        if passkeys.is_empty() {
            return Ok(None);
        }
        let nonce = Nonce::from_entropy(self.draw()?);
        let statement = intent.statement(Said::Approve);
        let options = keys.ceremonies.approval_options(&statement.challenge(&nonce), &passkeys);
        let options = options.map_err(|error| {
            tracing::error!(%error, "a ceremony could not begin: {error}");
            Trouble::Nonsense("passkeys cannot be used at this moment")
        })?;
        let nonce = serde_json::to_value(nonce).ok().and_then(|nonce| nonce.as_str().map(str::to_owned));
        Ok(nonce.map(|nonce| Signing { options, nonce, until: statement.until.to_string() }))
    }

    /// Why nobody can say yes here, where that is so.
    pub(crate) fn not_yes(&self, intent: &Intent, visitor: &Visitor) -> Option<String> {
        if self.wants_key(intent, visitor) && intent.question().least != Assurance::Verified {
            return Some(
                "It is your own call: only a key of yours says yes to it. Enrol a passkey under Keys."
                    .to_owned(),
            );
        }
        let (have, need) = (self.proves(), intent.question().least);
        (have < need).then(|| match need {
            Assurance::Verified => {
                {
                "This needs a key that signs exactly this call: enrol a passkey under Keys, or use `yesgate approve --sign`."
                    .to_owned()
            }
            }
            Assurance::Asserted
            | Assurance::Relayed
            | Assurance::Client
            | Assurance::Local
            | Assurance::SignedIn => {
                format!("This needs a yes at level `{need}`, and this page gives `{have}`.")
            }
        })
    }
}

/// Whose yes a question waits for, where it is not the visitor's.
pub(crate) fn not_theirs(intent: &Intent, visitor: &Visitor, now: Timestamp) -> Option<String> {
    if intent.may_be_approved_by(&visitor.person.groups, now) {
        return None;
    }
    let whose = intent.whose_yes().unwrap_or_default();
    Some(format!("The rule wants the yes of {whose}. You can deny it."))
}

pub(crate) fn facts(intent: &Intent) -> Vec<Fact> {
    let question = intent.question();
    let binding = &question.binding;
    let mut facts = Vec::new();
    let mut fact = |name: &'static str, text: &str| facts.push(Fact { name, value: Sanitized::line(text) });
    fact("Asked by", &format!("{} for {}", binding.caller.client, binding.caller.principal));
    fact("Server", binding.server.as_str());
    fact("Tool", &format!("{} (definition {})", binding.tool, binding.definition.0.short()));
    fact("Class", &format!("{} ({})", question.classified.class, question.classified.source));
    if let Some(rule) = &question.rule {
        fact("Asked because of", &format!("rule {rule}"));
    }
    if let Some(spend) = &question.spend {
        fact("Costs", &costs(spend));
        for charge in &spend.charges {
            let (budget, most) = (&charge.window.account.budget, &charge.most);
            fact("Counts in", &format!("budget {budget}, {most} at most"));
        }
    }
    fact("Needs", &format!("a yes at level {} or better", question.least));
    if let Some(whose) = intent.whose_yes() {
        fact("Whose yes", &whose);
    }
    if question.quorum.people() > 1 {
        let names: Vec<&str> = intent.yeses().iter().map(|yes| yes.by.as_str()).collect();
        let so_far = if names.is_empty() { "nobody yet".to_owned() } else { names.join(", ") };
        let words = format!("{} of {} people have said yes: {so_far}", names.len(), question.quorum.people());
        fact("Quorum", &words);
    }
    if let Some(edited) = intent.edited() {
        fact("Changed", &format!("a human changed the arguments of {}", edited.from));
    }
    if let Some(id) = intent.edited_as() {
        fact("Changed", &format!("a human made {id} of it"));
    }
    fact("Asked at", &moment(intent.opened_at()));
    fact("Decide by", &moment(intent.decide_by()));
    if let Some(decision) = intent.decision() {
        let said = match decision.answer {
            Said::Approve => "yes",
            Said::Deny => "no",
            Said::Respond => "in words",
        };
        let words =
            format!("{said}, by {} at level {}, {}", decision.by, decision.assurance, moment(decision.at));
        fact("Decided", &words);
        if let (Some(reason), Surface::Human | Surface::Rule) = (&decision.reason, decision.surface) {
            fact("With the words", reason);
        }
    }
    // What the operator wrote is safe already, and may use marks of ours.
    if let Some(reason) = &question.reason {
        facts.insert(4.min(facts.len()), Fact { name: "Why it is asked", value: reason.clone() });
    }
    facts
}

fn costs(spend: &Spend) -> String {
    let currency = spend.currency.as_ref().map(|currency| format!(" {currency}")).unwrap_or_default();
    let recipient = spend.recipient.as_ref().map(|recipient| format!(" to {recipient}")).unwrap_or_default();
    format!("{}{currency}{recipient}", spend.amount)
}

/// Words that only the agent brought.
pub(crate) fn claim(intent: &Intent) -> Option<Vec<Sanitized>> {
    let why = intent.question().claim.as_deref().map(|claim| fence(WHY_CLAIMED, claim));
    let said = intent.decision().filter(|decision| decision.surface == Surface::Agent);
    let said = said.and_then(|decision| decision.reason.as_deref()).map(|said| fence(CLAIM, said));
    let lines: Vec<Sanitized> = [why, said].into_iter().flatten().flatten().collect();
    (!lines.is_empty()).then_some(lines)
}

/// What the server answered, with secrets taken out.
pub(crate) fn result(intent: &Intent) -> Option<Vec<Sanitized>> {
    let stored = intent.result()?;
    let value = parse_lenient(stored.json.as_bytes(), Limits::SERVER).ok()?;
    let shown = match stored.kind {
        ResultKind::Result => redact(&value),
        ResultKind::Error => redact(&serde_json::json!({"error": value})),
    };
    Some(lines(&shown))
}

pub(crate) fn lines(value: &Value) -> Vec<Sanitized> {
    render_value(value).unwrap_or_else(|error| vec![Sanitized::line(&error.to_string())])
}

/// How many keys there are, at all levels (REN5).
pub(crate) fn keys(value: &Value) -> usize {
    match value {
        Value::Object(members) => members.values().map(|member| 1 + keys(member)).sum(),
        Value::Array(items) => items.iter().map(keys).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// The state as it is now: one whose time is over has expired, whether somebody noticed or not.
pub(crate) fn state(intent: &Intent, now: Timestamp) -> &'static str {
    let is_over = intent.ends_at().is_some_and(|end| now >= end);
    if is_over { State::Expired.as_str() } else { intent.state().as_str() }
}

fn standing(intent: &Intent, now: Timestamp) -> String {
    if intent.ends_at().is_some_and(|end| now >= end) {
        return "Its time is over. Nothing ran.".to_owned();
    }
    match intent.state() {
        State::Pending => match intent.question().confirm {
            ConfirmType::Type => {
                "Nobody has decided. It runs only after somebody typed what is asked for below."
            }
            ConfirmType::None | ConfirmType::Simple | ConfirmType::Preview => {
                "Nobody has decided. Nothing has run."
            }
        },
        State::Approved => "A human said yes. It is about to run.",
        State::Running => "A human said yes. It runs now.",
        State::Done(DoneKind::Ok) => "It ran once, and the tool answered.",
        State::Done(DoneKind::ToolError) => "It ran once, and the tool answered with an error.",
        State::Done(DoneKind::NotSent) => "A human said yes, and the call was not sent. Nothing ran.",
        State::Unknown => {
            "It was sent, and the answer was lost: nobody knows whether it ran. Look, and settle it."
        }
        State::Resolved { ran: true } => "The answer was lost, and a human settled that it ran.",
        State::Resolved { ran: false } => "The answer was lost, and a human settled that it did not run.",
        State::Denied => "A human said no. Nothing ran.",
        State::Expired => "Nobody decided in time, or the yes was not used in time. Nothing ran.",
        State::Cancelled => "It was withdrawn. Nothing ran.",
        State::Superseded => "The agent asked for something else instead. Nothing ran.",
        State::Voided => "What it was about has changed. Nothing ran.",
    }
    .to_owned()
}
