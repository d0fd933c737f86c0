//! Remembered yeses: made, listed, used and taken back.
//!
//! INVARIANT: a grant is stored in the transaction of the yes that it is made from, and a use is counted in the
//! transaction of the run that it allows; the store refuses a use beyond the last one.

use yesgate_core::audit::AuditEvent;
use yesgate_core::digest::CallDigest;
use yesgate_core::grant::{Grant, GrantRecord, Wish};
use yesgate_core::id::{GrantId, IntentId};
use yesgate_core::intent::{Approver, SlotKey};
use yesgate_core::refusal::Refusal;

use crate::change::{Effects, Found, Target, Write};
use crate::error::LedgerError;
use crate::ledger::Ledger;

impl Ledger {
    /// Records a yes and has it remembered, in one step. `None`: there is no such intent.
    ///
    /// # Errors
    /// When it is not durable.
    pub async fn approve_and_remember(
        &self,
        id: &IntentId,
        by: Approver,
        seen: CallDigest,
        wish: Wish,
    ) -> Result<Option<Result<Grant, Refusal>>, LedgerError> {
        self.change(Target::Intent(id.clone()), move |Found { mut intents, .. }, now| {
            let made = intents.first_mut().map(|intent| intent.approve_and_remember(&by, seen, wish, now));
            let writes = match &made {
                Some(Ok(grant)) => vec![Write::Grant(Box::new(grant.clone()))],
                Some(Err(_)) | None => Vec::new(),
            };
            (made, Effects { intents, writes, ..Effects::default() })
        })
        .await
    }

    /// Lists all remembered yeses, those that count no more too, the oldest first.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn grants(&self) -> Result<Vec<GrantRecord>, LedgerError> {
        self.store().grants().await
    }

    /// Lists the remembered yeses about one operation of one caller.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn grants_for(&self, slot: SlotKey) -> Result<Vec<GrantRecord>, LedgerError> {
        self.store().grants_for(slot).await
    }

    /// Takes a remembered yes back, and says whether there was one to take back.
    ///
    /// # Errors
    /// When that is not durable.
    pub async fn revoke_grant(&self, id: &GrantId, by: &str) -> Result<bool, LedgerError> {
        let (id, by) = (id.clone(), by.to_owned());
        self.change(Target::Grants, move |found, _| {
            let counts = |record: &GrantRecord| record.grant.id == id && record.revoked_at.is_none();
            if !found.grants.iter().any(counts) {
                return (false, Effects::default());
            }
            // The store takes it back when it writes this row.
            let events = vec![AuditEvent::GrantRevoked { grant: id, by }];
            (true, Effects { events, ..Effects::default() })
        })
        .await
    }
}
