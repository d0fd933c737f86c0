//! What humans set for callers: modes, freezes, and the stop of everything.
//!
//! INVARIANT: while everything is stopped, or a caller is frozen, no yes of it can be spent: the store looks
//! in the transaction that would spend it.

use yesgate_core::audit::AuditEvent;
use yesgate_core::caller::Caller;
use yesgate_core::intent::Intent;
use yesgate_core::mode::Mode;
use yesgate_core::regime::Regimes;

use crate::change::{Effects, Found, Target};
use crate::error::LedgerError;
use crate::ledger::Ledger;

impl Ledger {
    /// What humans have set, for all callers.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn regimes(&self) -> Result<Regimes, LedgerError> {
        self.store().regimes().await
    }

    /// Sets the mode of a caller.
    ///
    /// # Errors
    /// When it is not durable.
    pub async fn set_mode(&self, caller: &Caller, mode: Mode, by: &str) -> Result<(), LedgerError> {
        self.record(AuditEvent::ModeSet { caller: caller.clone(), mode, by: by.to_owned() }).await
    }

    /// Freezes a caller, and withdraws all it has asked.
    ///
    /// # Errors
    /// When it is not durable.
    pub async fn freeze(&self, caller: &Caller, reason: &str, by: &str) -> Result<usize, LedgerError> {
        let (caller, by) = (caller.clone(), by.to_owned());
        let event = AuditEvent::Frozen { caller: caller.clone(), reason: reason.to_owned(), by: by.clone() };
        self.withdraw_open(event, by, move |intent| intent.question().binding.caller == caller).await
    }

    /// Ends a freeze. Says whether there was one.
    ///
    /// # Errors
    /// When it is not durable.
    pub async fn thaw(&self, caller: &Caller, by: &str) -> Result<bool, LedgerError> {
        let was = self.regimes().await?.of(caller).frozen.is_some();
        if was {
            self.record(AuditEvent::Thawed { caller: caller.clone(), by: by.to_owned() }).await?;
        }
        Ok(was)
    }

    /// Stops everything, and withdraws all that is open.
    ///
    /// # Errors
    /// When it is not durable.
    pub async fn stop(&self, reason: &str, by: &str) -> Result<usize, LedgerError> {
        let event = AuditEvent::Stopped { reason: reason.to_owned(), by: by.to_owned() };
        self.withdraw_open(event, by.to_owned(), |_| true).await
    }

    /// Lets things go on. Says whether they were stopped.
    ///
    /// # Errors
    /// When it is not durable.
    pub async fn go_on(&self, by: &str) -> Result<bool, LedgerError> {
        let was = self.regimes().await?.stopped.is_some();
        if was {
            self.record(AuditEvent::WentOn { by: by.to_owned() }).await?;
        }
        Ok(was)
    }

    /// Writes an event down, and withdraws what is open of some callers, in one transaction.
    async fn withdraw_open(
        &self,
        event: AuditEvent,
        by: String,
        concerns: impl Fn(&Intent) -> bool + Send + 'static,
    ) -> Result<usize, LedgerError> {
        self.change(Target::Open, move |Found { mut intents, .. }, now| {
            let concerned = intents.iter_mut().filter(|intent| concerns(intent));
            let withdrawn =
                concerned.filter_map(|intent| intent.cancel(&by, now).is_ok().then_some(())).count();
            (withdrawn, Effects { intents, events: vec![event], ..Effects::default() })
        })
        .await
    }
}
