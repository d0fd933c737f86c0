//! Questions, for programs of people: listed, looked at, decided and withdrawn.
//!
//! INVARIANT: a person sees the questions of their own organisation; all others are not there.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};
use yesgate_core::digest::{CallDigest, Digest};
use yesgate_core::grant::{Limits, Wish, WishedScope};
use yesgate_core::id::GrantId;
use yesgate_core::intent::{Answer as Said, Intent, State};
use yesgate_core::policy::Pattern;
use yesgate_core::refusal::{Refusal, Why};
use yesgate_core::render::Sanitized;
use yesgate_core::verdict::Remember;
use yesgate_http::problem::Problem;
use yesgate_ledger::Stage;

use super::read::Fields;
use super::{Told, Undone, json as told};
use crate::history::has;
use crate::leafing::{Leaf, Leafing};
use crate::question::{claim, lines, result, state};
use crate::saying::{Decided, Saying, Yes};
use crate::site::{Site, Visit};
use crate::visit::{Address, Visitor};

impl Site {
    /// Lists questions, some at a time.
    pub(super) async fn list_intents(&self, visit: &Visit, visitor: &Visitor) -> Told {
        let wanted = Wanted::read(visit)?;
        let Wanted { stage, after, most, .. } = wanted;
        let leafing = Leafing { stage, after, most, chunk: Leafing::CHUNK };
        let leaf = self.leaf(&visitor.person.org, leafing, |intent| wanted.has(intent, visit.now));
        let Leaf { intents, next } = leaf.await?;
        let found: Vec<_> = intents.iter().map(|intent| line(intent, &visit.address, visit.now)).collect();
        let next = next.map(|number| number.to_string());
        told(&json!({"intents": found, "next": next}))
    }

    /// One question, whole.
    pub(super) async fn look_at(&self, visit: &Visit, visitor: &Visitor) -> Told {
        let intent = self.find(visit, visitor).await?;
        told(&Value::Object(whole(&intent, &visit.address, visit.now)))
    }

    /// Takes what a person says about a question: the same as on its page, but for what a key would have to sign.
    pub(super) async fn decide_by_rest(&self, visit: &Visit, visitor: &Visitor, fields: &Fields) -> Told {
        let intent = self.find(visit, visitor).await?;
        let saying = match fields.text("answer")? {
            Some("approve") => Saying::Yes(Box::new(Yes {
                seen: seen(fields)?,
                typed: fields.text("typed")?.map(str::to_owned),
                proof: None,
                remember: self.wish_of(fields, visit.now)?,
            })),
            Some("deny") => Saying::No(fields.words("reason")?),
            Some("report") => Saying::Suspicious(fields.words("reason")?),
            Some("respond") => {
                let words = fields.words("reason")?;
                Saying::Words(words.ok_or_else(|| Undone::invalid("`reason` has no words to answer with"))?)
            }
            Some(_) | None => {
                return Err(Undone::invalid("`answer` must be `approve`, `deny`, `respond` or `report`"));
            }
        };
        match self.say(visitor, &intent, saying).await? {
            Decided::Done | Decided::Counted => self.look_at(visit, visitor).await,
            Decided::Not(refusal) => Err(self.undecided(visit, visitor, &refusal).await),
        }
    }

    /// Withdraws a question before it runs.
    pub(super) async fn cancel(&self, visit: &Visit, visitor: &Visitor) -> Told {
        let intent = self.find(visit, visitor).await?;
        let by = self.approver(visitor, None).name;
        let withdrawn = self.ledger.update(intent.id(), move |intent, now| {
            intent.notice_expiry(now);
            intent.cancel(&by, now).map_err(|_| intent.ending())
        });
        match withdrawn.await?.ok_or_else(Undone::nothing_here)? {
            Ok(()) => self.look_at(visit, visitor).await,
            Err(refusal) => Err(self.undecided(visit, visitor, &refusal).await),
        }
    }

    /// Why nothing was decided, and the page on which it can be.
    async fn undecided(&self, visit: &Visit, visitor: &Visitor, refusal: &Refusal) -> Undone {
        let intent = match self.find(visit, visitor).await {
            Ok(intent) => intent,
            Err(trouble) => return trouble.into(),
        };
        let problem = match intent.state() {
            // Who comes second is told that, whatever the first one said.
            state @ (State::Denied | State::Approved | State::Done(_) | State::Resolved { .. }) => {
                Problem::refusal(&Why::AlreadyDecided { state: state.as_str() }.into())
            }
            State::Pending
            | State::Running
            | State::Unknown
            | State::Expired
            | State::Cancelled
            | State::Superseded
            | State::Voided => Problem::refusal(refusal),
        };
        problem
            .with("intent_id", intent.id().as_str())
            .with("approval_url", page_of(&intent, &visit.address))
            .into()
    }

    /// What is to be remembered, where anything is.
    fn wish_of(&self, fields: &Fields, now: Timestamp) -> Result<Option<Wish>, Undone> {
        let Some(wish) = fields.object("remember", &REMEMBER_KEYS)? else { return Ok(None) };
        let scope = match wish.text("scope")? {
            Some("exact") => WishedScope::Exact,
            Some("tool") => WishedScope::Tool,
            Some("pattern") => {
                let pattern = wish.words("pattern")?.and_then(|text| Pattern::parse(&text).ok());
                let why = || Undone::invalid("`pattern` is no condition over `args`");
                WishedScope::Pattern(pattern.ok_or_else(why)?)
            }
            Some(_) | None => return Err(Undone::invalid("`scope` must be `exact`, `tool` or `pattern`")),
        };
        let uses = wish.number("uses", MOST_USES)?;
        let minutes = wish.number("minutes", MOST_MINUTES)?;
        let until = minutes.map(|minutes| now + SignedDuration::from_mins(i64::from(minutes)));
        let limits = Limits::new(uses, until, now);
        let limits = limits.ok_or_else(|| Undone::invalid("a yes is not remembered without a limit"))?;
        Ok(Some(Wish { id: GrantId::from_entropy(self.draw()?), scope, limits }))
    }
}

fn seen(fields: &Fields) -> Result<CallDigest, Undone> {
    let digest = fields.text("seen")?.and_then(|digest| Digest::try_from(digest.to_owned()).ok());
    let why = "`seen` must be the `digest` of what was looked at";
    digest.map(CallDigest).ok_or_else(|| Undone::invalid(why))
}

/// Which questions a list is to have.
struct Wanted {
    stage: Stage,
    after: Option<u64>,
    most: usize,
    state: Option<String>,
    server: Option<String>,
    tool: Option<String>,
    caller: Option<String>,
    search: String,
}

impl Wanted {
    fn read(visit: &Visit) -> Result<Self, Undone> {
        let wanted = |name: &str| visit.query(name).filter(|value| !value.is_empty());
        let number = |name: &str| match wanted(name).map(|value| value.parse::<u64>()) {
            Some(Ok(number)) if number <= MOST_NUMBER => Ok(Some(number)),
            None => Ok(None),
            Some(Ok(_) | Err(_)) => Err(Undone::invalid(&format!("`{name}` is no number of ours"))),
        };
        let state = wanted("state");
        let stage = match state.as_deref() {
            None => Stage::Any,
            // One whose time is over is listed as expired, whether somebody has noticed or not.
            Some("pending") => Stage::Waiting,
            Some("approved" | "running") => Stage::UnderWay,
            Some("unknown") => Stage::Lost,
            Some("expired") => Stage::Any,
            Some(ended) if STATES.contains(&ended) => Stage::Over,
            Some(_) => return Err(Undone::invalid(&format!("`state` must be one of {}", STATES.join(", ")))),
        };
        let most = match number("limit")? {
            Some(most @ 1..=MOST_LISTED) => most,
            None => USUAL_LISTED,
            Some(_) => return Err(Undone::invalid(&format!("`limit` must be from 1 to {MOST_LISTED}"))),
        };
        let search = wanted("search").unwrap_or_default();
        Ok(Self {
            stage,
            after: number("after")?,
            most: usize::try_from(most).unwrap_or(usize::MAX),
            state,
            server: wanted("server"),
            tool: wanted("tool"),
            caller: wanted("caller"),
            search: search.trim().chars().take(LONGEST_SEARCH).collect(),
        })
    }

    fn has(&self, intent: &Intent, now: Timestamp) -> bool {
        let binding = &intent.question().binding;
        let is = |wanted: &Option<String>, names: &[&str]| {
            wanted.as_ref().is_none_or(|wanted| names.contains(&wanted.as_str()))
        };
        let caller = &binding.caller;
        is(&self.state, &[state(intent, now)])
            && is(&self.server, &[binding.server.as_str()])
            && is(&self.tool, &[binding.tool.as_str()])
            && is(&self.caller, &[caller.principal.as_str(), caller.client.as_str()])
            && has(intent, &self.search)
    }
}

fn page_of(intent: &Intent, address: &Address) -> String {
    format!("{}/approve/{}", address.origin, intent.id())
}

/// What a list has of a question.
fn line(intent: &Intent, address: &Address, now: Timestamp) -> Map<String, Value> {
    let question = intent.question();
    let binding = &question.binding;
    let line = json!({
        "intent_id": intent.id(),
        "state": state(intent, now),
        "summary": question.summary.as_str(),
        "server": binding.server,
        "tool": binding.tool,
        "class": question.classified.class.as_str(),
        "client": Sanitized::line(binding.caller.client.as_str()).as_str(),
        "user": binding.caller.principal,
        "match_code": intent.digest().match_code(),
        "digest": intent.digest().0.to_string(),
        "asked_at": intent.opened_at(),
        "decide_by": intent.decide_by(),
        "quorum": {"have": intent.yeses().len(), "need": question.quorum.people()},
        "approval_url": page_of(intent, address),
    });
    line.as_object().cloned().unwrap_or_default()
}

/// A question with all that its page has.
fn whole(intent: &Intent, address: &Address, now: Timestamp) -> Map<String, Value> {
    let question = intent.question();
    let arguments = question.binding.arguments.to_value();
    let mut all = line(intent, address, now);
    let mut set = |key: &str, value: Value| {
        all.insert(key.to_owned(), value);
    };
    set("arguments", arguments.clone());
    set("shown", texts(&lines(&arguments)));
    set("preview", question.preview.as_deref().map(texts).into());
    set("definition", question.binding.definition.0.to_string().into());
    set("rule", question.rule.as_ref().map(ToString::to_string).into());
    set("reason", question.reason.as_ref().map(|reason| reason.as_str().to_owned()).into());
    set("claim", claim(intent).as_deref().map(texts).into());
    set("needs", question.least.as_str().into());
    set("whose_yes", intent.whose_yes().into());
    set("confirm", question.confirm.as_str().into());
    set("to_type", intent.text_to_type().map(|text| Sanitized::quoted(text).as_str().to_owned()).into());
    let scopes: &[&str] = match question.remember {
        Remember::Never => &[],
        Remember::ExactCall => &["exact"],
        Remember::AnyScope => &["exact", "pattern", "tool"],
    };
    set("remember", scopes.into());
    let decision = intent.decision().map(|decision| {
        let answer = match decision.answer {
            Said::Approve => "approve",
            Said::Deny => "deny",
            Said::Respond => "respond",
        };
        let reason = decision.words().map(|words| words.as_str().to_owned());
        json!({
            "answer": answer, "by": Sanitized::line(&decision.by).as_str(),
            "assurance": decision.assurance.as_str(), "at": decision.at, "reason": reason,
        })
    });
    set("decision", decision.into());
    set("result", result(intent).as_deref().map(texts).into());
    all
}

fn texts(lines: &[Sanitized]) -> Value {
    lines.iter().map(Sanitized::as_str).collect()
}

pub(super) const DECIDE_KEYS: [&str; 5] = ["answer", "seen", "reason", "typed", "remember"];
pub(super) const REMEMBER_KEYS: [&str; 4] = ["scope", "pattern", "uses", "minutes"];
pub(super) const MOST_USES: u32 = 1_000;
/// A week.
pub(super) const MOST_MINUTES: u32 = 7 * 24 * 60;
/// Every state by which a list can be narrowed.
pub(super) const STATES: [&str; 11] = [
    "pending",
    "approved",
    "running",
    "done",
    "unknown",
    "resolved",
    "denied",
    "expired",
    "cancelled",
    "superseded",
    "voided",
];
pub(super) const MOST_LISTED: u64 = 100;
pub(super) const USUAL_LISTED: u64 = 50;
const MOST_NUMBER: u64 = i64::MAX.unsigned_abs();
const LONGEST_SEARCH: usize = 200;

#[cfg(test)]
mod tests {
    use yesgate_core::intent::{DoneKind, State};

    use super::STATES;

    #[test]
    fn every_state_can_be_asked_for() {
        let all = [
            State::Pending,
            State::Approved,
            State::Running,
            State::Done(DoneKind::Ok),
            State::Unknown,
            State::Resolved { ran: true },
            State::Denied,
            State::Expired,
            State::Cancelled,
            State::Superseded,
            State::Voided,
        ];
        assert_eq!(all.map(State::as_str), STATES);
    }
}
