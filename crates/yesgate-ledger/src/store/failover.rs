//! What is done first when another database took over: nothing that may have been spent can be spent again.
//!
//! INVARIANT: where commits may be missing, no yes from before counts: open questions are void, with a yes or without
//! (whoever relays a yes brings it with the token, so a question that is open here may have been spent there), and no yes
//! is remembered any more, for its uses may have been counted there. What was running is unknown.

use jiff::Timestamp;
use yesgate_core::audit::AuditEvent;
use yesgate_core::grant::GrantRecord;
use yesgate_core::intent::{Ground, Intent, State};

use crate::change::{Change, Effects, Found, Run, Target, Write};
use crate::engine::Sql;
use crate::engine::value::values;
use crate::error::LedgerError;
use crate::origin::{Inheritance, Origin, Succession};

/// Takes note that another database took over.
pub(super) struct TakeOver {
    target: Target,
    succession: Succession,
}

impl TakeOver {
    pub(super) const fn new(succession: Succession) -> Self {
        let target = match succession.inheritance {
            Inheritance::Whole => Target::Nothing,
            Inheritance::Doubtful => Target::Unsettled,
        };
        Self { target, succession }
    }
}

impl Change for TakeOver {
    fn target(&self) -> &Target {
        &self.target
    }

    fn apply(&mut self, found: Found, now: Timestamp) -> Effects {
        let Found { mut intents, grants, .. } = found;
        let Succession { from, to, inheritance } = &self.succession;
        let complete = match inheritance {
            Inheritance::Whole => true,
            Inheritance::Doubtful => false,
        };
        let (from, system) = (from.to_string(), to.history.to_string());
        tracing::warn!(
            ledger.from = from,
            ledger.to = system,
            ledger.complete = complete,
            unsettled = intents.len(),
            "another database took over the ledger"
        );
        intents.iter_mut().for_each(|intent| unsettle(intent, now));
        let counting = grants.iter().filter(|record| record.revoked_at.is_none());
        let revoked = |record: &GrantRecord| AuditEvent::GrantRevoked {
            grant: record.grant.id.clone(),
            by: BY.to_owned(),
        };
        let mut events = vec![AuditEvent::FailedOver { from, to: system, complete }];
        events.extend(counting.map(revoked));
        Effects { intents, events, writes: vec![Write::Origin(to.clone())], ..Effects::default() }
    }

    fn begins(&mut self, _runs: &[Run]) {}

    fn is_abandoned(&self) -> bool {
        false
    }

    /// Whoever wanted something hears whether that was written down, and this with it.
    fn settle(self: Box<Self>, _committed: Result<(), LedgerError>) -> Vec<Run> {
        Vec::new()
    }
}

/// Ends what may have been spent, and admits that nobody knows of what ran.
fn unsettle(intent: &mut Intent, now: Timestamp) {
    let ended = match intent.state() {
        State::Pending | State::Approved => intent.void(Ground::FailedOver, now),
        State::Running => intent.lose("the database that knew of it failed over", now),
        State::Done(_)
        | State::Unknown
        | State::Denied
        | State::Expired
        | State::Cancelled
        | State::Superseded
        | State::Voided
        | State::Resolved { .. } => Ok(()),
    };
    // Neither is ever too late for these states.
    if let Err(error) = ended {
        tracing::error!(intent.id = %intent.id(), %error, "a question could not be ended after a failover");
    }
}

/// Writes down which database writes.
pub(super) fn keep(connection: &dyn Sql, origin: &Origin) -> Result<(), LedgerError> {
    connection.put(
        "INSERT INTO origin (system, timeline, copies) VALUES (?1, ?2, ?3)
         ON CONFLICT (single) DO UPDATE
             SET system = excluded.system, timeline = excluded.timeline, copies = excluded.copies",
        values![origin.history.system.as_str(), origin.history.timeline, origin.copies.stored()],
    )
}

/// Who takes remembered yeses back.
const BY: &str = "the failover of the database";
