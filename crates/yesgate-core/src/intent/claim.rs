//! Claiming the one run of an intent, or the result of it.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Answer, Approver, Awaited, Event, IllegalTransition, Intent, State, StoredResult, Surface};
use crate::assurance::Assurance;
use crate::audit::{AuditEvent, Signed};
use crate::call::ToolCall;
use crate::digest::{Binding, Hasher};
use crate::id::BootId;
use crate::permit::{Permit, PermittedCall};
use crate::proof::Witness;
use crate::refusal::{Refusal, Why};
use crate::render::Sanitized;
use crate::verdict::{Question, Standing};

/// What comes of claiming an intent.
#[derive(Debug)]
#[must_use = "a claimed run that is dropped never runs"]
pub enum Claim {
    /// It is ours to run, once.
    Run(PermittedCall),
    /// It ran before, released by a human; this is its stored answer.
    Replay(StoredResult),
    /// It runs right now, released by a human; its answer will come.
    Wait,
    /// Neither.
    Refused(Refusal),
}

/// The process that will run it.
#[derive(Clone, Debug)]
pub struct Runner<'a> {
    /// The start of the gateway that will run it.
    pub boot: &'a BootId,
    /// Whether the question still stands on its ground, as the runner sees it.
    pub ground: Ground,
    /// Whether the agent's own call waits for the answer.
    pub awaited: Awaited,
    /// Who verifies a signature again.
    pub witness: &'a dyn Witness,
}

/// Whether what a question was asked under still holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ground {
    /// It does.
    Holds,
    /// The tool is defined differently now.
    ToolChanged,
    /// The policy would now ask for more, or say no.
    PolicyStricter,
    /// The preview, made again, says something else (M4).
    PreviewChanged,
    /// Another database took over from the one that it was decided in, and may lack what happened there last.
    FailedOver,
}

impl Intent {
    /// The agent brings the token back with the call: a relayed yes and the run, in one step.
    pub fn claim_with_token(
        &mut self,
        presented: &Binding,
        typed: Option<String>,
        runner: &Runner<'_>,
        now: Timestamp,
    ) -> Claim {
        match self.question.binding.difference(presented) {
            None => {}
            Some("tool_definition") => return self.voided(Ground::ToolChanged, now),
            Some("preview") => return self.voided(Ground::PreviewChanged, now),
            Some(field) => return Claim::Refused(self.refusal(Why::TokenMismatch { field })),
        }
        self.notice_expiry(now);
        if self.state == State::Pending {
            if self.token_by.is_none_or(|token_by| now >= token_by) {
                return Claim::Refused(self.refusal(Why::TokenExpired));
            }
            return self.yes_and_run(
                &Approver::relayed("the agent, with the confirm token", typed),
                runner,
                now,
            );
        }
        if self.state == State::Expired {
            return Claim::Refused(self.refusal(Why::TokenExpired));
        }
        self.claim(runner, now)
    }

    /// Somebody says yes while the agent waits, through the client or with the approve tool: the yes and the
    /// run, in one step. Where somebody else was faster, what they decided holds.
    pub fn claim_for(&mut self, by: &Approver, runner: &Runner<'_>, now: Timestamp) -> Claim {
        self.notice_expiry(now);
        if self.state == State::Pending {
            return self.yes_and_run(by, runner, now);
        }
        self.claim(runner, now)
    }

    /// Claims the run of an approved intent, or the result of one that a human released.
    pub fn claim(&mut self, runner: &Runner<'_>, now: Timestamp) -> Claim {
        self.notice_expiry(now);
        match self.state {
            State::Approved => match self.redeem(runner, now) {
                Ok(permitted) => Claim::Run(permitted),
                Err(refusal) => Claim::Refused(refusal),
            },
            State::Running => match self.awaited {
                Awaited::Yes => Claim::Refused(self.refusal(Why::TokenInvalid)),
                Awaited::No => Claim::Wait,
            },
            State::Done(_) => self
                .hand_over(now)
                .map_or_else(|| Claim::Refused(self.refusal(Why::TokenInvalid)), Claim::Replay),
            State::Resolved { .. } => Claim::Refused(self.refusal(Why::TokenInvalid)),
            State::Pending
            | State::Unknown
            | State::Denied
            | State::Expired
            | State::Cancelled
            | State::Superseded
            | State::Voided => Claim::Refused(self.ending()),
        }
    }

    /// Claims it in the given way, by somebody who has just made the preview again. M4: where that says something
    /// else, the question is void, and what it says now is told and kept with it.
    pub fn claim_previewed(
        &mut self,
        preview: Option<&[Sanitized]>,
        claim: impl FnOnce(&mut Self) -> Claim,
    ) -> Claim {
        let was = self.state;
        let claim = claim(self);
        if was != State::Voided && self.voided_for == Some(Ground::PreviewChanged) {
            self.preview_now = preview.map(<[Sanitized]>::to_vec);
        }
        match claim {
            Claim::Refused(refusal) if refusal.why == PREVIEW_CHANGED => {
                Claim::Refused(refusal.showing_preview(preview))
            }
            claim @ (Claim::Run(_) | Claim::Replay(_) | Claim::Wait | Claim::Refused(_)) => claim,
        }
    }

    /// Voids it like [`Self::void`], and keeps what the preview says now where that is the reason.
    ///
    /// # Errors
    /// When it is too late for that.
    pub fn void_previewed(
        &mut self,
        ground: Ground,
        preview: Option<Vec<Sanitized>>,
        now: Timestamp,
    ) -> Result<(), IllegalTransition> {
        self.void(ground, now)?;
        if ground == Ground::PreviewChanged {
            self.preview_now = preview;
        }
        Ok(())
    }

    /// Spends the yes: the one conditional step after which the call may leave, and the only
    /// place where a consent becomes a [`PermittedCall`].
    ///
    /// # Errors
    /// When there is no yes, it is too old or too weak, or its ground has changed.
    pub fn redeem(&mut self, runner: &Runner<'_>, now: Timestamp) -> Result<PermittedCall, Refusal> {
        self.notice_expiry(now);
        if self.state.after(Event::Redeem).is_err() {
            return Err(self.ending());
        }
        match runner.ground {
            Ground::Holds => {}
            Ground::ToolChanged | Ground::PolicyStricter | Ground::PreviewChanged | Ground::FailedOver => {
                return Err(self.void_for(runner.ground, now));
            }
        }
        // The proof is looked at again here, where it lets something run.
        let Some(decision) = self.decision.as_ref().filter(|decision| decision.answer == Answer::Approve)
        else {
            return Err(self.ending());
        };
        if !self.has_quorum(now) {
            return Err(self.quorum_pending(now));
        }
        if decision.assurance < self.question.least {
            let have = decision.assurance;
            return Err(self.refusal(Why::AssuranceTooLow { have, need: self.question.least }));
        }
        self.verify_again(decision, runner.witness, now)?;
        self.advance(Event::Redeem, AuditEvent::Redeemed { boot: runner.boot.clone() }, now)?;
        self.boot = Some(runner.boot.clone());
        self.awaited = runner.awaited;
        let call = ToolCall { binding: self.question.binding.clone() };
        let permit = match &self.edited {
            Some(_) => Permit::Edited(self.id.clone()),
            None => Permit::Intent(self.id.clone()),
        };
        Ok(PermittedCall::new(call, permit))
    }

    /// Hands the stored answer to the agent, once.
    pub fn hand_over(&mut self, now: Timestamp) -> Option<StoredResult> {
        if self.handed_over {
            return None;
        }
        let result = self.result.clone()?;
        self.handed_over = true;
        self.note(AuditEvent::HandedOver, now);
        Some(result)
    }

    /// Both keys are turned: recorded as the weakest of all yeses, and run.
    pub(super) fn two_keys_yes(&mut self, runner: &Runner<'_>, now: Timestamp) -> Claim {
        let by = Approver::beside_the_agent("both keys", Assurance::Asserted, None);
        self.yes_and_run(&by, runner, now)
    }

    pub(super) fn yes_and_run(&mut self, by: &Approver, runner: &Runner<'_>, now: Timestamp) -> Claim {
        if runner.ground != Ground::Holds {
            return self.voided(runner.ground, now);
        }
        match self.approve(by, self.digest, now).and_then(|()| self.redeem(runner, now)) {
            Ok(permitted) => Claim::Run(permitted),
            Err(refusal) => Claim::Refused(refusal),
        }
    }

    fn voided(&mut self, ground: Ground, now: Timestamp) -> Claim {
        Claim::Refused(self.void_for(ground, now))
    }

    /// Voids it, and says why it is over.
    fn void_for(&mut self, ground: Ground, now: Timestamp) -> Refusal {
        match ground {
            Ground::Holds => {}
            // What is over already stays what it is.
            Ground::ToolChanged | Ground::PolicyStricter | Ground::PreviewChanged | Ground::FailedOver => {
                if self.void(ground, now).is_err() {}
            }
        }
        self.ending()
    }
}

/// How a preview that changed is told.
const PREVIEW_CHANGED: Why = Why::TokenMismatch { field: "preview" };

impl From<IllegalTransition> for Refusal {
    fn from(error: IllegalTransition) -> Self {
        Why::AlreadyDecided { state: error.from.as_str() }.into()
    }
}

impl Approver {
    /// Who says no where the agent brings it.
    pub const RELAYED_NO: &str = "the user, relayed by the agent";

    /// Whoever answers on the agent's side, where the agent's own call waits for what comes of it.
    pub fn beside_the_agent(name: &str, assurance: Assurance, typed: Option<String>) -> Self {
        Self {
            name: name.into(),
            identity: None,
            groups: BTreeSet::new(),
            surface: Surface::Agent,
            assurance,
            typed,
            proof: None,
        }
    }

    /// The signature behind the answer, as the audit names it.
    pub(super) fn signed(&self) -> Option<Signed> {
        self.proof.as_ref().map(|proven| proven.proof().signed())
    }

    /// A yes or no that the agent brings.
    pub fn relayed(name: &str, typed: Option<String>) -> Self {
        Self::beside_the_agent(name, Assurance::Relayed, typed)
    }
}

/// Whether a stored question may still run under a verdict that was made anew.
impl Question {
    /// Compares with what the policy would ask now.
    pub fn ground_under(&self, now_asked: &Self) -> Ground {
        let runs_unasked = match now_asked.standing {
            Some(Standing::Rule | Standing::Shadow(_)) => true,
            Some(Standing::TwoKeys) | None => false,
        };
        if now_asked.binding.definition != self.binding.definition {
            Ground::ToolChanged
        } else if !self.counts_as(now_asked) {
            Ground::PolicyStricter
        } else if runs_unasked {
            // It would run without asking: a yes is more than that.
            Ground::Holds
        } else if now_asked.least > self.least
            || now_asked.confirm != self.confirm
            || now_asked.quorum > self.quorum
            || (now_asked.approvers.is_some() && now_asked.approvers != self.approvers)
        {
            Ground::PolicyStricter
        } else if now_asked.binding.preview != self.binding.preview {
            Ground::PreviewChanged
        } else {
            Ground::Holds
        }
    }

    /// The call as it was before a preview was shown.
    pub fn call(&self) -> ToolCall {
        let mut binding = self.binding.clone();
        binding.preview = None;
        ToolCall { binding }
    }

    /// Shows what the preview said; the yes is bound to it from here on.
    #[must_use]
    pub fn previewed(mut self, lines: Vec<Sanitized>) -> Self {
        let mut hasher = Hasher::new("yesgate/preview/1");
        for line in &lines {
            hasher.field(line.as_str().as_bytes());
        }
        self.binding.preview = Some(hasher.finish());
        self.preview = Some(lines);
        self
    }

    /// Whether it counts in every budget that it would count in now, with no more room.
    fn counts_as(&self, now_asked: &Self) -> bool {
        let charges =
            |question: &Self| question.spend.as_ref().map_or_else(Vec::new, |spend| spend.charges.clone());
        let stored = charges(self);
        charges(now_asked).iter().all(|now| stored.iter().any(|stored| stored.holds_as_much_as(now)))
    }
}
