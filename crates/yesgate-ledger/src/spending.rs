//! What was spent, as the ledger tells it.

use jiff::Timestamp;
use yesgate_core::amount::Amount;
use yesgate_core::budget::{Counted, RecipientDigest, Sums, Window};
use yesgate_core::digest::CallDigest;
use yesgate_core::id::{BudgetName, IntentId, OrgId, PrincipalId};

use crate::error::LedgerError;
use crate::ledger::Ledger;

/// One amount that counts in one budget.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Spending {
    /// The call.
    pub intent: IntentId,
    /// The budget.
    pub budget: BudgetName,
    /// The organisation whose budget it is.
    pub org: OrgId,
    /// On whose behalf.
    pub principal: PrincipalId,
    /// In which currency.
    pub currency: Option<String>,
    /// For whom.
    pub recipient: Option<RecipientDigest>,
    /// How much.
    pub amount: Amount,
    /// Since when it counts.
    pub at: Timestamp,
}

impl Spending {
    /// What an audit row counts, one for each budget.
    pub(crate) fn told(intent: &IntentId, counted: &Counted, at: Timestamp) -> Vec<Self> {
        let one = |budget: &BudgetName| Self {
            intent: intent.clone(),
            budget: budget.clone(),
            org: counted.org.clone(),
            principal: counted.principal.clone(),
            currency: counted.currency.clone(),
            recipient: counted.recipient,
            amount: counted.amount,
            at,
        };
        counted.budgets.iter().map(one).collect()
    }
}

impl Ledger {
    /// What was spent in some windows up to now, for judging a call. What is counted for that very call, and
    /// waits for its caller, does not stand in its way.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn spent(&self, windows: Vec<Window>, call: CallDigest) -> Result<Sums, LedgerError> {
        self.store().spent(windows, self.now(), call).await
    }

    /// What counts in a budget after a moment, the oldest first.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn spending(
        &self,
        budget: &BudgetName,
        after: Timestamp,
    ) -> Result<Vec<Spending>, LedgerError> {
        self.store().spending(budget.clone(), after).await
    }
}
