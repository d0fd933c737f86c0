//! Forms that are answered too late: the question was decided elsewhere, or the call could not be kept open longer.
//!
//! INVARIANT: what is said in such a form runs nothing, and a no in it is never lost as long as it reaches us.
//! INVARIANT: a result is handed over to somebody who hears it. Who never comes back does not take it along.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use yesgate_core::caller::Caller;
use yesgate_core::id::IntentId;
use yesgate_core::intent::Intent;
use yesgate_ledger::Ledger;

use super::elicitation::{Filled, by_client, filled};
use crate::era::Era;
use crate::errand::{Errand, Person};
use crate::gate::Gate;
use crate::manners::Manners;
use crate::reply::Reply;
use crate::talk::{AskError, Boxed, InputAnswer};

/// A client that is being asked.
pub(super) type Asking = Boxed<'static, Result<Vec<InputAnswer>, AskError>>;

impl Gate {
    /// Answers a call that was decided elsewhere before the form was. A client in a session hears it at once; a modern
    /// one when it comes back, with an answer that is too late. One that never does hears nothing, and the result
    /// stays there for the same call made again.
    pub(super) async fn decided_before(
        &self,
        intent: &Intent,
        person: &Person,
        asking: Asking,
        begun: Instant,
        errand: &Errand,
    ) -> Reply {
        match (person.party.era, &errand.job) {
            // A task is not waited for: its client looks when it likes.
            (Era::Legacy, _) | (Era::Modern, Some(_)) => drop(asking),
            (Era::Modern, None) => match come_back(asking, errand).await {
                Ok(given) => self.late_no(intent, errand).take(Ok(given), begun.elapsed()).await,
                Err(AskError::Gone | AskError::Late | AskError::Unable) => return Reply::Silent,
            },
        }
        self.wait(intent.id(), errand).await
    }

    pub(super) fn late_no(&self, intent: &Intent, errand: &Errand) -> LateNo {
        LateNo {
            id: intent.id().clone(),
            caller: errand.caller.clone(),
            reflex: self.policy().reflex().unsigned_abs(),
            manners: Arc::clone(&self.setting.manners),
            ledger: self.ledger.clone(),
        }
    }
}

/// A form that was waited for long enough. Dropped, it is taken back.
pub(crate) struct LeftOpen {
    pub(super) late_no: LateNo,
    pub(super) asking: Asking,
    pub(super) begun: Instant,
}

impl LeftOpen {
    /// Has it taken back with the answer to its call, and listens on: the human's no may be on its way then, or the
    /// host shows the form on.
    pub(crate) fn heed_a_no(self) {
        let Self { late_no, asking, begun } = self;
        tokio::spawn(async move { late_no.take(asking.await, begun.elapsed()).await });
    }
}

/// Takes a no out of a form that nobody waits for any more. Anything else in it is void.
pub(super) struct LateNo {
    id: IntentId,
    caller: Caller,
    reflex: Duration,
    manners: Arc<Manners>,
    ledger: Ledger,
}

impl LateNo {
    async fn take(self, given: Result<Vec<InputAnswer>, AskError>, took: Duration) {
        match filled(given, took, self.reflex) {
            Ok(Filled::No) => {}
            Ok(Filled::Yes { .. } | Filled::Closed | Filled::Nothing) | Err(_) => return,
        }
        self.manners.answered(&self.caller);
        let by = by_client(None);
        let noted = self.ledger.update(&self.id, move |intent, now| intent.deny(&by, None, now)).await;
        if let Err(error) = noted {
            tracing::error!(intent.id = %self.id, %error, "a late no could not be written: {error}");
        }
    }
}

/// Waits until a modern client comes back.
pub(super) async fn come_back(asking: Asking, errand: &Errand) -> Result<Vec<InputAnswer>, AskError> {
    tokio::select! {
        biased;
        () = errand.cancel.fired() => Err(AskError::Gone),
        given = asking => given,
    }
}
