//! Running what was redeemed, writing down how it ended, and waiting for what others run.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};
use yesgate_core::held::held_payload;
use yesgate_core::id::{IntentId, ToolName};
use yesgate_core::intent::{
    Awaited, Claim, DoneKind, Ground, Intent, ResultKind, Runner, State, StoredResult,
};
use yesgate_core::json::{Limits, parse_lenient};
use yesgate_core::refusal::{Refusal, Why};
use yesgate_ledger::{Filter, LedgerError};

use crate::cancel::Cancel;
use crate::errand::{Errand, Ways, own_meta};
use crate::gate::Gate;
use crate::hearing::Hearing;
use crate::own_tools::OwnTool;
use crate::reply::{Own, Reply};
use crate::upstream::{Answer, Execution, Form, NotSent, TOO_LONG, TurnedAway};

impl Gate {
    /// Waits for the end of a run, but not for ever: one that hangs is given up, and its outcome is unknown. So
    /// is one that is under way when the gateway has to end.
    pub(crate) async fn in_time(&self, running: impl Future<Output = Execution>) -> Execution {
        let too_long = async {
            match self.setting.patience.outcome {
                Some(longest) => tokio::time::sleep(longest).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            execution = running => execution,
            () = too_long => Execution::Lost("the server did not answer in time"),
            () = self.runs.are_given_up() => Execution::Lost("the gateway ended before the server answered"),
        }
    }

    /// Writes down how a run ended. The call has left: whatever happens here, it is not sent again.
    pub(crate) async fn settle(&self, id: &IntentId, execution: &Execution, cancel: &Cancel) {
        let (done, stored) = match execution {
            Execution::Answered(answer) => {
                let stored = answer.to_stored();
                (done_kind(&stored), Some(stored))
            }
            Execution::NotSent(_) => (DoneKind::NotSent, None),
            // The server had it, so that it is not `not_sent`, whatever it says about what it did.
            Execution::TurnedAway(how) => (DoneKind::ToolError, Some(turned_away(how, Some(id)).to_stored())),
            Execution::TooLong => return self.lose(id, "the answer was larger than allowed").await,
            Execution::Lost(why) => return self.lose(id, why).await,
            Execution::Relayed => return,
        };
        let given_up = cancel.is_fired();
        let finish = move |intent: &mut Intent, now| {
            if given_up {
                // The caller went: its answer is kept for when it asks again.
                intent.nobody_waits();
            }
            intent.finish(done, stored, now)
        };
        let settled = self.write_down(id, finish).await;
        match settled {
            Ok(Some(Ok(()))) => {}
            Ok(Some(Err(error))) => {
                tracing::error!(intent.id = %id, %error, "an outcome came twice: {error}")
            }
            Ok(None) => tracing::error!(intent.id = %id, "an outcome has no question"),
            Err(error) => {
                tracing::error!(intent.id = %id, %error, "an outcome could not be written: {error}")
            }
        }
    }

    /// Changes a question that has run, however long its ledger cannot be reached: nobody else can say how it ended, and
    /// for as long as we live all others believe that it runs.
    async fn write_down<T, F>(&self, id: &IntentId, change: F) -> Result<Option<T>, LedgerError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Intent, Timestamp) -> T + Clone + Send + 'static,
    {
        loop {
            let written = self.ledger.update(id, change.clone()).await;
            let Err(error) = written else { return written };
            if !error.may_pass() {
                return Err(error);
            }
            tracing::warn!(intent.id = %id, %error, "an outcome cannot be written yet: {error}");
            tokio::select! {
                () = self.runs.are_given_up() => return Err(error),
                () = tokio::time::sleep(WRITE_AGAIN) => {}
            }
        }
    }

    async fn lose(&self, id: &IntentId, why: &'static str) {
        match self.write_down(id, move |intent: &mut Intent, now| intent.lose(why, now)).await {
            Ok(_) => tracing::warn!(intent.id = %id, "the answer of an approved call is lost: {why}"),
            Err(error) => {
                tracing::error!(intent.id = %id, %error, "a lost answer could not be written: {error}")
            }
        }
    }

    /// What the caller is told about an execution.
    pub(crate) fn outcome(&self, execution: Execution, id: Option<&IntentId>, cancel: &Cancel) -> Reply {
        if cancel.is_fired() {
            return Reply::Silent;
        }
        match execution {
            Execution::Relayed => Reply::Relayed,
            Execution::Answered(answer) => Reply::answer(answer),
            Execution::NotSent(why) => {
                let spent = if id.is_some() { " The yes is spent; call again to ask again." } else { "" };
                let data = json!({"outcome": "not_sent", "intent_id": id.map(IntentId::as_str)});
                Reply::error(
                    -32603,
                    &format!("The call was not sent: {why}. Nothing ran.{spent}"),
                    Some(data),
                )
            }
            Execution::TurnedAway(how) => Reply::answer(turned_away(&how, id)),
            Execution::TooLong => match id {
                Some(id) => self.unknown(TOO_LONG, Some(id)),
                None => Reply::error(-32603, TOO_LONG, None),
            },
            Execution::Lost(why) => self.unknown(why, id),
        }
    }

    /// The call left, and how it ended is not known, because of this.
    fn unknown(&self, why: &str, id: Option<&IntentId>) -> Reply {
        let refusal = Refusal::from(Why::ExecutionUnknown).because(why);
        self.refusal(&match id {
            Some(id) => refusal.about(id),
            None => refusal,
        })
    }

    /// Waits for a human's answer and its outcome, as long as a client may be kept waiting in one go.
    pub(crate) async fn wait(&self, id: &IntentId, errand: &Errand) -> Reply {
        match self.wait_once(id, errand).await {
            Some(reply) => reply,
            None => self.still_open(id).await,
        }
    }

    /// The same; `None`: it is still open. Nobody is kept waiting by a task.
    pub(crate) async fn wait_once(&self, id: &IntentId, errand: &Errand) -> Option<Reply> {
        let mut changes = self.ledger.changes();
        let deadline = errand.job.is_none().then(|| errand.waits_since() + self.hold());
        loop {
            let intent = match self.present(id).await {
                Ok(Some(intent)) => intent,
                Ok(None) => return Some(self.refusal(&Why::NoSuchIntent.into())),
                Err(error) => {
                    let why = Why::ConsentUnavailable { reason: error.public_reason() };
                    return Some(self.refusal(&why.into()));
                }
            };
            if errand.job.as_ref().is_some_and(|job| job.is_created()) {
                // What came of a task is in the ledger, and is handed over when its client fetches it.
                if intent.state().is_over() {
                    return Some(Reply::Silent);
                }
            } else if let Some(reply) = self.ended(&intent).await {
                return Some(reply);
            }
            let now = Instant::now();
            if deadline.is_some_and(|deadline| now >= deadline) {
                return None;
            }
            // Nobody announces that a question's own time is over.
            let its_end = self.time_left(&intent).map(|left| now + left);
            let look_again = async {
                match deadline.into_iter().chain(its_end).min() {
                    Some(end) => drop(timeout_at(end, changes.changed()).await),
                    None => changes.changed().await,
                }
            };
            tokio::select! {
                () = errand.cancel.fired() => {
                    self.withdraw(intent.id()).await;
                    return Some(Reply::Silent);
                }
                // Whatever it was, the question is looked at again.
                () = look_again => {}
            }
        }
    }

    /// The intent as it is now: one whose time is over has expired, whether somebody noticed or not, and one that a
    /// human changed is what they made of it.
    pub(crate) async fn present(&self, id: &IntentId) -> Result<Option<Intent>, LedgerError> {
        let found = match self.ledger.intent(id).await? {
            Some(intent) => match intent.edited_as() {
                Some(changed) => self.ledger.intent(changed).await?,
                None => Some(intent),
            },
            None => None,
        };
        match found {
            Some(intent) if self.time_left(&intent) == Some(Duration::ZERO) => {
                let noticed = self.ledger.update(intent.id(), |intent, now| {
                    intent.notice_expiry(now);
                    intent.clone()
                });
                noticed.await
            }
            found => Ok(found),
        }
    }

    /// How long the question may stay as it is; `None`: as long as it takes.
    pub(crate) fn time_left(&self, intent: &Intent) -> Option<Duration> {
        let until = intent.ends_at()?;
        let left = until.duration_since(self.ledger.now());
        Some(if left.is_negative() { Duration::ZERO } else { left.unsigned_abs() })
    }

    /// The answer for a question that is over; `None` while it is not.
    async fn ended(&self, intent: &Intent) -> Option<Reply> {
        match intent.state() {
            State::Pending | State::Approved | State::Running => None,
            State::Done(DoneKind::NotSent) => {
                Some(self.outcome(Execution::NotSent(NotSent::Down), Some(intent.id()), &Cancel::new()))
            }
            State::Done(DoneKind::Ok | DoneKind::ToolError) => {
                let handed = self.ledger.update(intent.id(), |intent, now| intent.hand_over(now)).await;
                Some(match handed {
                    Ok(Some(Some(stored))) => {
                        own_words(Reply::stored(stored), &intent.question().binding.tool)
                    }
                    Ok(Some(None) | None) | Err(_) => self.refuse_about(intent, Why::TokenInvalid),
                })
            }
            State::Resolved { .. } => Some(self.refuse_about(intent, Why::ExecutionUnknown)),
            State::Unknown
            | State::Denied
            | State::Expired
            | State::Cancelled
            | State::Superseded
            | State::Voided => Some(self.refusal(&intent.ending())),
        }
    }

    fn refuse_about(&self, intent: &Intent, why: Why) -> Reply {
        self.refusal(&Refusal::from(why).about(intent.id()))
    }

    /// The held answer after all the waiting that a client stands.
    pub(crate) async fn still_open(&self, id: &IntentId) -> Reply {
        match self.present(id).await {
            Ok(Some(intent)) if intent.state().is_under_way() => {
                self.refuse_about(&intent, Why::ExecutionInProgress)
            }
            Ok(Some(intent)) => match self.ended(&intent).await {
                Some(reply) => reply,
                None => Own::Held(held_payload(&intent, None, &self.own_names(), self.ledger.now())).into(),
            },
            Ok(None) => self.refusal(&Why::NoSuchIntent.into()),
            Err(error) => self.refusal(&Why::ConsentUnavailable { reason: error.public_reason() }.into()),
        }
    }

    /// The caller gave up while a human was being asked: a late yes must not run it.
    pub(crate) async fn withdraw(&self, id: &IntentId) {
        match self.ledger.update(id, |intent, now| intent.cancel("the caller", now)).await {
            // Too late to withdraw: it runs, and its result is kept.
            Ok(_) => {}
            Err(error) => {
                tracing::error!(intent.id = %id, %error, "a withdrawal could not be written: {error}")
            }
        }
    }

    /// Runs what humans approve on their own surfaces, for as long as the gate stands.
    pub async fn release(self: Arc<Self>, ways: Arc<dyn Ways>) {
        loop {
            // Nothing is open: no need to watch the ledger until something is. Somebody else's question
            // may become ours to run, when they end before it is answered: a look now and then is enough.
            tokio::select! {
                () = self.opened.notified() => {}
                () = tokio::time::sleep(NEIGHBOURS) => {}
            }
            let mut changes = self.ledger.changes();
            while self.release_approved(&ways).await {
                // A yes that could not be used yet (the server was starting) is tried again.
                tokio::select! {
                    () = changes.changed() => {}
                    () = self.opened.notified() => {}
                    () = tokio::time::sleep(RETRY) => {}
                }
            }
        }
    }

    /// Runs what has a yes, and says whether anything is still open.
    async fn release_approved(self: &Arc<Self>, ways: &Arc<dyn Ways>) -> bool {
        match self.ledger.releasable(&self.server.name, &self.server.identity).await {
            Ok(approved) => {
                for id in approved {
                    tokio::spawn(Arc::clone(self).release_one(id, Arc::clone(ways)));
                }
            }
            Err(error) => tracing::error!(%error, "approved calls cannot be looked up: {error}"),
        }
        self.ledger.any_open(&self.server.name, &self.server.identity).await.unwrap_or(true)
    }

    /// Looks at every open question again, after the policy changed: what it would not ask like that any
    /// more is void.
    pub async fn reconsider(&self, ways: &dyn Ways) {
        let open = match self.ledger.intents(Filter::Open).await {
            Ok(open) => open,
            Err(error) => {
                tracing::error!(%error, "open questions cannot be looked at again: {error}");
                return;
            }
        };
        for intent in open.iter().filter(|intent| self.serves(intent)) {
            // One whose server cannot be reached is looked at again when it is to run.
            let Some(way) = ways.way(&intent.question().binding.caller).await else { continue };
            let (ground, preview) = match self.ground(&way, intent.question()).await {
                Ok((Ground::Holds, _)) | Err(_) => continue,
                Ok(
                    found @ (
                        Ground::ToolChanged
                        | Ground::PolicyStricter
                        | Ground::PreviewChanged
                        | Ground::FailedOver,
                        _,
                    ),
                ) => found,
            };
            let voided = self
                .ledger
                .update(intent.id(), move |intent, now| intent.void_previewed(ground, preview, now))
                .await;
            match voided {
                Ok(Some(Ok(()))) => {
                    tracing::warn!(intent.id = %intent.id(), "a question is void: the policy became stricter");
                }
                // It was decided, or it runs.
                Ok(Some(Err(_)) | None) => {}
                Err(error) => tracing::error!(%error, "a question could not be voided: {error}"),
            }
        }
    }

    /// Whether the gateway that asked is another one that lives: its server is the one that the host
    /// has been talking with, and ours may be in another state.
    async fn is_anothers(&self, intent: &Intent) -> bool {
        match intent.asked_by().boot.as_ref().filter(|boot| **boot != self.setting.boot) {
            Some(boot) => !self.ledger.is_over(boot).await.unwrap_or(false),
            None => false,
        }
    }

    async fn release_one(self: Arc<Self>, id: IntentId, ways: Arc<dyn Ways>) {
        let intent = match self.ledger.intent(&id).await {
            Ok(Some(intent)) if intent.state() == State::Approved => intent,
            Ok(Some(_) | None) | Err(_) => return,
        };
        if self.is_anothers(&intent).await {
            return;
        }
        let question = intent.question().clone();
        // A yes that cannot be used now stays, and dies with its clock.
        let Some(way) = ways.way(&question.binding.caller).await else { return };
        let (ground, preview) = match self.ground(&way, &question).await {
            Ok(found) => found,
            Err(refusal) => {
                // The yes stays unused and dies with its clock.
                tracing::warn!(intent.id = %id, "an approved call does not run: {}", refusal.why.message());
                return;
            }
        };
        let _running = self.runs.begin();
        let boot = self.setting.boot.clone();
        let witness = Arc::clone(&self.setting.witness);
        let claim = self
            .ledger
            .update(&id, move |intent, now| {
                let ground = intent.ground_as_judged(&question, ground);
                let runner = Runner { boot: &boot, ground, awaited: Awaited::No, witness: &*witness };
                // Otherwise another process, or the agent's own call, was faster.
                if intent.state() == State::Approved {
                    intent.claim_previewed(preview.as_deref(), |intent| intent.claim(&runner, now))
                } else {
                    Claim::Wait
                }
            })
            .await;
        if let Ok(Some(Claim::Run(permitted))) = claim {
            let never = Cancel::new();
            let mirrored = way.mirrored(&permitted.call().binding);
            let form = Form::Canonical { meta: own_meta(&way), mirrored };
            let hearing = Hearing::deaf();
            let running = self.execute(permitted, form, &way, &hearing, &never);
            let execution = self.in_time(running).await;
            self.settle(&id, &execution, &never).await;
        }
    }
}

/// What the gateway answered itself is put into the words of each caller's era.
pub(crate) fn own_words(reply: Reply, tool: &ToolName) -> Reply {
    match reply {
        Reply::Result(json) if tool.as_str() == OwnTool::SetMode.name() => {
            let result = parse_lenient(&json, Limits::SERVER).unwrap_or_default();
            let told = result.get("structuredContent").and_then(Value::as_object).cloned();
            Own::Told(told.unwrap_or_default()).into()
        }
        reply @ (Reply::Relayed | Reply::Result(_) | Reply::Own(_) | Reply::Error(_) | Reply::Silent) => {
            reply
        }
    }
}

/// How long an outcome that could not be written waits for the next try.
const WRITE_AGAIN: Duration = Duration::from_millis(200);
/// How long a yes that could not be used waits for the next try.
const RETRY: Duration = Duration::from_secs(1);
/// How often a gateway that has asked nothing looks whether somebody else has.
const NEIGHBOURS: Duration = Duration::from_secs(5);

/// What is said in place of an answer where a server turned a call away.
fn turned_away(how: &TurnedAway, id: Option<&IntentId>) -> Answer {
    let spent = if id.is_some() { " The yes is spent; call again to ask again." } else { "" };
    let words = format!("The server turned the call away: {how}. By its own word nothing ran.{spent}");
    let data = json!({"outcome": DoneKind::ToolError.as_str(), "intent_id": id.map(IntentId::as_str)});
    Answer::error(-32603, &words, Some(data))
}

/// How the tool says that it ended. One that asks for more input has not done its work, and a gated
/// call cannot give it any: that is no success.
fn done_kind(stored: &StoredResult) -> DoneKind {
    match stored.kind {
        ResultKind::Error => DoneKind::ToolError,
        ResultKind::Result => {
            let result = parse_lenient(stored.json.as_bytes(), Limits::SERVER).unwrap_or_default();
            let failed = result.get("isError").and_then(Value::as_bool) == Some(true);
            let asks = result.get("resultType").and_then(Value::as_str) == Some("input_required");
            if failed || asks { DoneKind::ToolError } else { DoneKind::Ok }
        }
    }
}

#[cfg(test)]
mod tests {
    use yesgate_core::intent::{DoneKind, ResultKind, StoredResult};

    use super::done_kind;

    #[test]
    fn only_a_result_that_says_nothing_else_is_a_success() {
        for (kind, json, expected) in [
            (ResultKind::Result, r#"{"content":[]}"#, DoneKind::Ok),
            (ResultKind::Result, r#"{"resultType":"complete","isError":false}"#, DoneKind::Ok),
            (ResultKind::Result, r#"{"isError":true}"#, DoneKind::ToolError),
            (ResultKind::Result, r#"{"resultType":"input_required"}"#, DoneKind::ToolError),
            (ResultKind::Error, r#"{"code":1}"#, DoneKind::ToolError),
        ] {
            assert_eq!(done_kind(&StoredResult { kind, json: json.into() }), expected, "{json}");
        }
    }
}
