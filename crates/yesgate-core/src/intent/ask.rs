//! Asking: one open question per caller and operation.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Asker, Awaited, Claim, Event, Ground, Intent, Runner, State};
use crate::assurance::Assurance;
use crate::audit::AuditEvent;
use crate::budget::Sums;
use crate::caller::Caller;
use crate::digest::{Binding, Digest, Hasher};
use crate::grant::{Grant, GrantRecord};
use crate::id::{IntentId, ServerName, ToolName};
use crate::pace::{Pace, Recent};
use crate::refusal::{Refusal, Why};
use crate::token::ConfirmTokenHash;
use crate::verdict::{Channel, Question, Standing};

/// What names a slot: caller, server, method and tool.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SlotKey(pub Digest);

impl SlotKey {
    /// The slot of a call.
    pub fn of(binding: &Binding) -> Self {
        Self::of_call(&binding.caller, &binding.server, binding.method.as_ref(), &binding.tool)
    }

    /// The slot of all calls of one tool by one caller.
    pub fn of_call(caller: &Caller, server: &ServerName, method: &str, tool: &ToolName) -> Self {
        let mut hasher = Hasher::new("yesgate/slot/1");
        for field in [
            caller.org.as_str(),
            caller.principal.as_str(),
            caller.client.as_str(),
            server.as_str(),
            method,
            tool.as_str(),
        ] {
            hasher.field(field.as_bytes());
        }
        Self(hasher.finish())
    }
}

/// The questions of one caller about one operation that still matter: open ones, results nobody
/// has fetched, and fresh noes; and the yeses about it that are remembered.
#[derive(Debug, Default)]
pub struct Slot {
    intents: Vec<Intent>,
    sums: Sums,
    grants: Vec<GrantRecord>,
    pace: Option<(Pace, Recent)>,
}

/// What was drawn for a question that may be opened.
#[derive(Clone, Debug)]
pub struct Fresh {
    /// The id it would get.
    pub id: IntentId,
    /// The hash of the token it would get, where the agent may relay a yes.
    pub token: Option<ConfirmTokenHash>,
    /// The process that asks.
    pub asked_by: Asker,
}

/// What comes of asking.
#[derive(Debug)]
#[must_use]
pub enum Asked {
    /// The question is open, newly or still.
    Open(Box<Intent>),
    /// The same call was decided before: run it, wait for it, or take its result.
    Claimed(IntentId, Box<Claim>),
    /// It is not asked.
    Refused(Box<Refusal>),
}

impl Slot {
    /// Takes the intents that the ledger holds for one slot.
    pub const fn new(intents: Vec<Intent>) -> Self {
        Self { intents, sums: Sums::new(Vec::new()), grants: Vec::new(), pace: None }
    }

    /// Adds what was spent in the budgets of the call that will be asked about.
    #[must_use]
    pub fn with_sums(self, sums: Sums) -> Self {
        Self { sums, ..self }
    }

    /// Adds the remembered yeses that the ledger holds for it.
    #[must_use]
    pub fn with_grants(mut self, grants: Vec<GrantRecord>) -> Self {
        self.grants = grants;
        self
    }

    /// Bounds how often the caller may ask.
    #[must_use]
    pub const fn at_pace(mut self, pace: Pace, recent: Recent) -> Self {
        self.pace = Some((pace, recent));
        self
    }

    /// Asks a human whatever is remembered.
    pub fn forget_grants(&mut self) {
        self.grants.clear();
    }

    /// Gives them back, changed and new ones included.
    pub fn into_intents(self) -> Vec<Intent> {
        self.intents
    }

    /// What was spent in the budgets of the call that is asked about.
    pub(super) const fn sums(&self) -> &Sums {
        &self.sums
    }

    /// The intents of the slot.
    pub fn intents(&self) -> &[Intent] {
        &self.intents
    }

    /// The intents of the slot, to be changed.
    pub fn intents_mut(&mut self) -> &mut [Intent] {
        &mut self.intents
    }

    /// Adds a question.
    pub(super) fn push(&mut self, intent: Intent) {
        self.intents.push(intent);
    }

    /// Asks about a call.
    ///
    /// H5: the same call again is the same intent with a fresh token; another call supersedes.
    /// H7: without a yes it only ever asks again.
    pub fn ask(&mut self, question: Question, fresh: Fresh, runner: &Runner<'_>, now: Timestamp) -> Asked {
        for intent in &mut self.intents {
            intent.notice_expiry(now);
        }
        let digest = question.binding.digest();
        let standing = match question.standing {
            Some(Standing::TwoKeys) => Yes::TwoKeys,
            Some(Standing::Rule | Standing::Shadow(_)) => Yes::OfRule,
            None => self.granted(&question, now).map_or(Yes::None, |grant| Yes::Granted(Box::new(grant))),
        };
        if let Some(same) =
            self.intents.iter_mut().filter(|intent| intent.answers(digest)).max_by_key(weight(now))
            && same.stands_under(&question, now)
            && let Some(asked) = ask_again(same, &fresh, &standing, runner, now)
        {
            return asked;
        }
        match standing {
            Yes::None => {
                if let Some(why) = self.too_much(now) {
                    return Asked::Refused(Box::new(why.into()));
                }
            }
            Yes::OfRule => return self.run_by_rule(question, fresh, runner, now),
            Yes::TwoKeys | Yes::Granted(_) => {}
        }
        for other in &mut self.intents {
            let by = AuditEvent::Superseded { by: fresh.id.clone() };
            // What is not open any more has nothing to be superseded.
            if other.advance(Event::Supersede, by, now).is_err() {}
        }
        let mut intent = Intent::open(fresh.id, question, fresh.asked_by, now).with_sums(self.sums.clone());
        let asked = begin(&mut intent, fresh.token, &standing, runner, now);
        self.intents.push(intent);
        asked
    }

    /// Opens, approves, counts and redeems in one step what a rule, or the trial of a policy, lets run. It asks
    /// nobody, so it takes no question's place, and where it may not run it leaves no question behind.
    fn run_by_rule(
        &mut self,
        question: Question,
        fresh: Fresh,
        runner: &Runner<'_>,
        now: Timestamp,
    ) -> Asked {
        let mut intent = Intent::open(fresh.id, question, fresh.asked_by, now).with_sums(self.sums.clone());
        intent.note_what_would_be(now);
        match intent.rule_yes(runner, now) {
            Ok(permitted) => {
                let id = intent.id.clone();
                self.intents.push(intent);
                Asked::Claimed(id, Box::new(Claim::Run(permitted)))
            }
            Err(refusal) => Asked::Refused(Box::new(refusal)),
        }
    }

    /// Why the caller may not ask any more now. What it would supersede is not counted.
    fn too_much(&self, now: Timestamp) -> Option<Why> {
        let (pace, recent) = self.pace?;
        let replaced = self.intents.iter().filter(|intent| intent.state == State::Pending).count();
        let open = recent.open.saturating_sub(u32::try_from(replaced).unwrap_or(u32::MAX));
        pace.refusal(&Recent { open, ..recent }, now)
    }

    /// The remembered yes that covers a question. A human's no that is newer than it, and still fresh, overrules
    /// it: then a human is asked again.
    fn granted(&self, question: &Question, now: Timestamp) -> Option<Grant> {
        let fresh_no = self
            .intents
            .iter()
            .filter(|intent| intent.state == State::Denied && intent.cools_off(now))
            .filter_map(|intent| intent.decision.as_ref().map(|no| no.at))
            .max();
        // A remembered yes was to a call, not to more than a budget has: then a human is asked again.
        if !question.has_room(&self.sums) {
            return None;
        }
        let covering = self.grants.iter().filter(|record| record.covers(question, now));
        let mut counting = covering.filter(|record| fresh_no.is_none_or(|no| record.grant.made_at > no));
        counting.next().map(|record| record.grant.clone())
    }
}

/// A yes that is there before anybody is asked.
enum Yes {
    None,
    TwoKeys,
    OfRule,
    Granted(Box<Grant>),
}

/// Of several intents for the same call, the one that speaks.
fn weight(now: Timestamp) -> impl Fn(&&mut Intent) -> u8 {
    move |intent| match intent.state {
        State::Unknown => 5,
        State::Running => 4,
        State::Approved => 3,
        State::Pending => 2,
        State::Done(_) if !intent.handed_over && intent.result.is_some() => 1,
        State::Denied if intent.cools_off(now) => 6,
        State::Done(_)
        | State::Resolved { .. }
        | State::Denied
        | State::Expired
        | State::Cancelled
        | State::Superseded
        | State::Voided => 0,
    }
}

/// Asks about a call that was asked about before. `None`: that one is over, ask anew.
fn ask_again(
    same: &mut Intent,
    fresh: &Fresh,
    standing: &Yes,
    runner: &Runner<'_>,
    now: Timestamp,
) -> Option<Asked> {
    match same.state {
        State::Pending => Some(begin(same, fresh.token, standing, runner, now)),
        // A human's yes is released by itself; whoever repeats the call waits for that one run.
        State::Approved => Some(Asked::Claimed(same.id.clone(), Box::new(Claim::Wait))),
        State::Running => match same.awaited {
            Awaited::No => Some(Asked::Claimed(same.id.clone(), Box::new(Claim::Wait))),
            // Another call of the agent's waits for that run; this one is a call of its own.
            Awaited::Yes => None,
        },
        State::Done(_) => {
            let result = same.hand_over(now)?;
            Some(Asked::Claimed(same.id.clone(), Box::new(Claim::Replay(result))))
        }
        State::Unknown => Some(Asked::Refused(Box::new(same.ending()))),
        State::Denied if same.cools_off(now) => Some(Asked::Refused(Box::new(same.ending()))),
        State::Denied
        | State::Resolved { .. }
        | State::Expired
        | State::Cancelled
        | State::Superseded
        | State::Voided => None,
    }
}

/// Puts an open question: with a standing yes it runs, else the agent gets its handle.
fn begin(
    intent: &mut Intent,
    token: Option<ConfirmTokenHash>,
    standing: &Yes,
    runner: &Runner<'_>,
    now: Timestamp,
) -> Asked {
    match standing {
        Yes::TwoKeys => {
            let claim = intent.two_keys_yes(runner, now);
            Asked::Claimed(intent.id.clone(), Box::new(claim))
        }
        // Only a fresh intent is a rule's; what a human is asked about stays theirs.
        Yes::OfRule => Asked::Refused(Box::new(intent.ending())),
        Yes::Granted(grant) => {
            let claim = intent.granted_yes(grant, runner, now);
            Asked::Claimed(intent.id.clone(), Box::new(claim))
        }
        Yes::None => {
            // A question that was put away from the agent gives it no handle, however it asks again.
            let may_have_one =
                intent.question.channel == Channel::Chat || intent.question.least <= Assurance::Relayed;
            if let Some(hash) = token
                && may_have_one
                && let Err(refusal) = intent.issue_token(hash, now)
            {
                return Asked::Refused(Box::new(refusal));
            }
            Asked::Open(Box::new(intent.clone()))
        }
    }
}

impl Intent {
    /// Voids an open question that the policy would now put more strictly.
    fn stands_under(&mut self, now_asked: &Question, now: Timestamp) -> bool {
        let by = match now_asked.standing {
            Some(Standing::Rule) => Some("the rule that lets it run"),
            Some(Standing::Shadow(_)) => Some("the trial of the policy, which lets it run"),
            Some(Standing::TwoKeys) | None => None,
        };
        if let Some(by) = by {
            // It runs now: nobody need decide any more. What has a yes or runs goes its way.
            return self.state != State::Pending || self.cancel(by, now).is_err();
        }
        match self.question.ground_under(now_asked) {
            Ground::Holds => true,
            ground @ (Ground::ToolChanged
            | Ground::PolicyStricter
            | Ground::PreviewChanged
            | Ground::FailedOver) => self.void_previewed(ground, now_asked.preview.clone(), now).is_err(),
        }
    }

    /// Whether a human's no is still fresh enough to stand for the same call.
    fn cools_off(&self, now: Timestamp) -> bool {
        self.decision.as_ref().is_some_and(|decision| now < decision.at + self.question.times.cool_off)
    }
}
