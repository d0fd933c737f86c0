//! Asking, and no more often than a caller may.
//!
//! INVARIANT: what a caller has asked is counted in the transaction that would ask more, over all processes.

use jiff::Timestamp;
use yesgate_core::budget::Window;
use yesgate_core::digest::Binding;
use yesgate_core::intent::{Slot, SlotKey};
use yesgate_core::pace::Pace;

use crate::change::{Effects, Target};
use crate::error::LedgerError;
use crate::ledger::Ledger;

impl Ledger {
    /// Changes the slot of a call like [`Self::update_slot_with`], and keeps its caller from asking too often.
    ///
    /// # Errors
    /// When the change is not durable, for whatever reason; what the closure returned is dropped.
    pub async fn ask<T, F>(
        &self,
        about: &Binding,
        pace: Pace,
        windows: Vec<Window>,
        closure: F,
    ) -> Result<T, LedgerError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Slot, Timestamp) -> T + Send + 'static,
    {
        let target = Target::Asking(SlotKey::of(about), about.caller.clone(), pace, windows);
        self.change(target, move |found, now| {
            let mut slot = Slot::new(found.intents)
                .with_sums(found.sums)
                .with_grants(found.grants)
                .at_pace(pace, found.recent);
            let returned = closure(&mut slot, now);
            (returned, Effects { intents: slot.into_intents(), ..Effects::default() })
        })
        .await
    }
}
