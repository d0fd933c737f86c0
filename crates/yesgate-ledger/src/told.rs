//! What the audit rows of an intent tell about it.
//!
//! The same reading is used twice: when a change is stored, so that none gets in without rows that
//! account for it, and when the ledger is verified, so that none got in behind our back.

use std::collections::BTreeSet;

use serde::Serialize;
use yesgate_core::assurance::Assurance;
use yesgate_core::audit::{AuditEvent, Signed};
use yesgate_core::budget::Counted;
use yesgate_core::digest::{CallDigest, Digest, Hasher};
use yesgate_core::id::BootId;
use yesgate_core::intent::{Answer, DoneKind, Event, Intent, State};

use crate::head::nanoseconds;
use crate::spending::Spending;

/// The part of an intent that its audit rows determine. What few have is boxed: a look at a long trail holds many of these.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub(crate) struct Told {
    state: State,
    digest: CallDigest,
    yes: Option<Yes>,
    /// The yeses that were counted, where several people must agree.
    yeses: Vec<Yes>,
    boot: Option<BootId>,
    counted: Option<Box<Counted>>,
}

/// Who said the yes that stands, and how well that was proven.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
struct Yes {
    by: Box<str>,
    assurance: Assurance,
    signed: Option<Box<Signed>>,
}

impl Yes {
    fn of(by: &str, assurance: Assurance, signed: Option<&Signed>) -> Self {
        Self { by: by.into(), assurance, signed: signed.cloned().map(Box::new) }
    }
}

/// The rows tell of a step that was not possible.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Impossible;

impl Told {
    /// Reads off an intent what its rows should have told.
    pub(crate) fn of(intent: &Intent) -> Self {
        let yes = intent
            .decision()
            .filter(|decision| decision.answer == Answer::Approve && keeps_yes(intent.state()))
            .map(|decision| Yes {
                by: decision.by.as_str().into(),
                assurance: decision.assurance,
                signed: decision.proof.as_ref().map(|proof| Box::new(proof.signed())),
            });
        let yeses = intent.yeses().iter().map(|yes| Yes {
            by: yes.by.as_str().into(),
            assurance: yes.assurance,
            signed: yes.proof.as_ref().map(|proof| Box::new(proof.signed())),
        });
        Self {
            state: intent.state(),
            digest: intent.digest(),
            yes,
            yeses: yeses.collect(),
            boot: intent.boot().cloned(),
            counted: intent.counted().map(Box::new),
        }
    }

    /// What tells later whether a question that is settled, and what counts for it, is still this. It is stored: what goes
    /// into it, and its order, must stay.
    pub(crate) fn digest<'a>(&self, spends: impl IntoIterator<Item = &'a Spending>) -> Digest {
        let mut hasher = Hasher::new("yesgate/told/1");
        hasher.field(&serde_json::to_vec(self).unwrap_or_default());
        for spend in spends {
            let recipient = spend.recipient.map(|recipient| *recipient.0.as_bytes());
            hasher
                .field(spend.budget.as_str().as_bytes())
                .field(spend.org.as_str().as_bytes())
                .field(spend.principal.as_str().as_bytes())
                .field(spend.currency.as_deref().unwrap_or_default().as_bytes())
                .field(recipient.as_ref().map(<[u8; 32]>::as_slice).unwrap_or_default())
                .field(spend.amount.to_string().as_bytes())
                .field(&nanoseconds(spend.at).to_be_bytes());
        }
        hasher.finish()
    }

    /// What it counts in budgets.
    pub(crate) fn counted(&self) -> Option<&Counted> {
        self.counted.as_deref()
    }

    /// Shares the name of a process with all that it ran.
    pub(crate) fn share_boot(&mut self, known: &mut BTreeSet<BootId>) {
        let Some(boot) = &mut self.boot else { return };
        match known.get(boot) {
            Some(known) => boot.clone_from(known),
            None => drop(known.insert(boot.clone())),
        }
    }

    /// The state.
    pub(crate) const fn state(&self) -> State {
        self.state
    }

    /// Goes one row further; before the first there is nothing.
    pub(crate) fn after(so_far: Option<&Self>, event: &AuditEvent) -> Result<Self, Impossible> {
        let Some(mut told) = so_far.cloned() else { return opened(event) };
        if let Some(step) = step(event)? {
            told.state = told.state.after(step).map_err(|_| Impossible)?;
        }
        match event {
            AuditEvent::Approved { by, assurance, counted, signed, own_call: _ } => {
                told.yes = Some(Yes::of(by, *assurance, signed.as_ref()));
                told.counted = counted.clone().map(Box::new);
            }
            AuditEvent::YesCounted { by, assurance, signed } => {
                told.yeses.push(Yes::of(by, *assurance, signed.as_ref()));
            }
            AuditEvent::Redeemed { boot } => told.boot = Some(boot.clone()),
            AuditEvent::Opened { .. }
            | AuditEvent::WouldAsk { .. }
            | AuditEvent::WouldRefuse { .. }
            | AuditEvent::TokenIssued
            | AuditEvent::Denied { .. }
            | AuditEvent::Responded { .. }
            | AuditEvent::Finished { .. }
            | AuditEvent::Lost { .. }
            | AuditEvent::Resolved { .. }
            | AuditEvent::Expired
            | AuditEvent::Superseded { .. }
            | AuditEvent::Voided { .. }
            | AuditEvent::Cancelled { .. }
            | AuditEvent::CallerLeft
            | AuditEvent::HandedOver
            | AuditEvent::LateAnswer { .. }
            | AuditEvent::WrongText { .. }
            | AuditEvent::Edited { .. }
            | AuditEvent::Granted { .. }
            | AuditEvent::GrantUsed { .. }
            | AuditEvent::GrantRevoked { .. }
            | AuditEvent::Purged { .. }
            | AuditEvent::Pruned { .. }
            | AuditEvent::ModeSet { .. }
            | AuditEvent::Frozen { .. }
            | AuditEvent::Thawed { .. }
            | AuditEvent::Stopped { .. }
            | AuditEvent::WentOn { .. }
            | AuditEvent::FailedOver { .. }
            | AuditEvent::Refused { .. }
            | AuditEvent::FirstUse { .. }
            | AuditEvent::Pinned { .. }
            | AuditEvent::KeyAdded { .. }
            | AuditEvent::KeyRevoked { .. }
            | AuditEvent::Person(_)
            | AuditEvent::OAuth(_) => {}
        }
        if !keeps_yes(told.state) {
            told.yes = None;
        }
        if !told.state.counts() {
            told.counted = None;
        }
        Ok(told)
    }
}

/// The first row of an intent can only open it.
fn opened(event: &AuditEvent) -> Result<Told, Impossible> {
    if let AuditEvent::Opened { digest, .. } = event {
        let yeses = Vec::new();
        Ok(Told { state: State::Pending, digest: *digest, yes: None, yeses, boot: None, counted: None })
    } else {
        Err(Impossible)
    }
}

/// The step of the state machine that a row stands for, where it stands for one.
fn step(event: &AuditEvent) -> Result<Option<Event>, Impossible> {
    match event {
        AuditEvent::Approved { .. } => Ok(Some(Event::Approve)),
        AuditEvent::Denied { .. } | AuditEvent::Responded { .. } => Ok(Some(Event::Deny)),
        AuditEvent::Redeemed { .. } => Ok(Some(Event::Redeem)),
        AuditEvent::Finished { outcome } => [DoneKind::Ok, DoneKind::ToolError, DoneKind::NotSent]
            .into_iter()
            .find(|done| done.as_str() == outcome)
            .map(|done| Some(Event::Finish(done)))
            .ok_or(Impossible),
        AuditEvent::Lost { .. } => Ok(Some(Event::Lose)),
        AuditEvent::Resolved { ran, .. } => Ok(Some(Event::Resolve { ran: *ran })),
        AuditEvent::Expired => Ok(Some(Event::Expire)),
        AuditEvent::Superseded { .. } => Ok(Some(Event::Supersede)),
        AuditEvent::Voided { .. } => Ok(Some(Event::Void)),
        AuditEvent::Cancelled { .. } => Ok(Some(Event::Cancel)),
        AuditEvent::WouldAsk { .. }
        | AuditEvent::WouldRefuse { .. }
        | AuditEvent::TokenIssued
        | AuditEvent::CallerLeft
        | AuditEvent::HandedOver
        | AuditEvent::LateAnswer { .. }
        | AuditEvent::WrongText { .. }
        | AuditEvent::Edited { .. }
        | AuditEvent::YesCounted { .. }
        | AuditEvent::Granted { .. }
        | AuditEvent::GrantUsed { .. } => Ok(None),
        // These belong to no intent, or only to its beginning.
        AuditEvent::Opened { .. }
        | AuditEvent::GrantRevoked { .. }
        | AuditEvent::FailedOver { .. }
        | AuditEvent::Refused { .. }
        | AuditEvent::Purged { .. }
        | AuditEvent::Pruned { .. }
        | AuditEvent::ModeSet { .. }
        | AuditEvent::Frozen { .. }
        | AuditEvent::Thawed { .. }
        | AuditEvent::Stopped { .. }
        | AuditEvent::WentOn { .. }
        | AuditEvent::FirstUse { .. }
        | AuditEvent::Pinned { .. }
        | AuditEvent::KeyAdded { .. }
        | AuditEvent::KeyRevoked { .. }
        | AuditEvent::Person(_)
        | AuditEvent::OAuth(_) => Err(Impossible),
    }
}

/// Whether a yes is part of what the state means. In the other states a later no may have taken
/// its place, which the rows tell less exactly.
const fn keeps_yes(state: State) -> bool {
    match state {
        State::Approved | State::Running | State::Done(_) | State::Unknown | State::Resolved { .. } => true,
        State::Pending
        | State::Denied
        | State::Expired
        | State::Cancelled
        | State::Superseded
        | State::Voided => false,
    }
}
