//! What humans set for callers: modes, freezes, and the stop of everything.
//!
//! INVARIANT: while everything is stopped, or a caller is frozen, nothing of it can be asked and no yes of it
//! can be spent: the store looks in the transaction that would do it.

use yesgate_core::audit::AuditEvent;
use yesgate_core::caller::Caller;
use yesgate_core::intent::{Approver, Intent};
use yesgate_core::mode::Mode;
use yesgate_core::refusal::Refusal;
use yesgate_core::regime::Regimes;

use crate::change::{Effects, Found, Target};
use crate::error::LedgerError;
use crate::ledger::Ledger;

/// What came of a no that reports its caller.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Suspected {
    /// The no itself: it may come too late for that one call.
    pub denied: Result<(), Refusal>,
    /// How many other questions of the caller were withdrawn.
    pub withdrawn: usize,
}

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

    /// Says no to a question and freezes whoever asked it, in one step. The freeze holds even where the no
    /// comes too late.
    ///
    /// # Errors
    /// When it is not durable.
    pub async fn suspect(
        &self,
        about: &Intent,
        by: Approver,
        reason: &str,
    ) -> Result<Suspected, LedgerError> {
        let (about, caller) = (about.clone(), about.question().binding.caller.clone());
        let reason = reason.to_owned();
        self.change(Target::Open, move |Found { mut intents, .. }, now| {
            let mut denied = Err(about.ending());
            let mut withdrawn = 0;
            for intent in intents.iter_mut().filter(|one| one.question().binding.caller == caller) {
                if intent.id() == about.id() {
                    denied = intent.deny(&by, Some(reason.clone()), now);
                } else if intent.cancel(&by.name, now).is_ok() {
                    withdrawn += 1;
                }
            }
            let event = AuditEvent::Frozen { caller, reason, by: by.name };
            (Suspected { denied, withdrawn }, Effects { intents, events: vec![event], ..Effects::default() })
        })
        .await
    }

    /// Everybody who ever asked, was refused, or has a key, in the order of their names.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn callers(&self) -> Result<Vec<Caller>, LedgerError> {
        self.store().callers().await
    }

    /// Ends a freeze, and lets a caller ask again that was denied too often. Says whether it was frozen.
    ///
    /// # Errors
    /// When it is not durable.
    pub async fn thaw(&self, caller: &Caller, by: &str) -> Result<bool, LedgerError> {
        let was = self.regimes().await?.of(caller).frozen.is_some();
        self.record(AuditEvent::Thawed { caller: caller.clone(), by: by.to_owned() }).await?;
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
