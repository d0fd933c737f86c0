//! Budgets: how much may be spent in a while, and who shares it.
//!
//! INVARIANT: sums are exact and of one currency, and what is not known is not zero: where a sum is
//! missing, nothing has room.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::amount::Amount;
use crate::digest::{Digest, Hasher};
use crate::id::{BudgetName, OrgId, PrincipalId};

/// What one sum is kept of: a budget of an organisation, in one currency, and whose share of it.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// The budget.
    pub budget: BudgetName,
    /// The organisation: no other one's spending counts.
    pub org: OrgId,
    /// The currency, as [`currency`] writes it; amounts of two currencies never add up.
    pub currency: Option<String>,
    /// Whose spending counts.
    pub share: Share,
}

/// Whose spending counts in an account.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Share {
    /// That of all callers, whoever gets it.
    Everyone,
    /// What one recipient gets.
    Recipient(RecipientDigest),
    /// What is spent on behalf of one principal. The client does not count: its name is its own word.
    Caller(PrincipalId),
}

/// A recipient without the name: audit rows hold no arguments.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RecipientDigest(pub Digest);

impl RecipientDigest {
    /// The digest of a recipient. Spaces around it and the case of its letters make nobody another one.
    pub fn of(recipient: &str) -> Self {
        let mut hasher = Hasher::new("yesgate/recipient/1");
        hasher.field(recipient.trim().to_lowercase().as_bytes());
        Self(hasher.finish())
    }
}

/// A currency as sums are kept by it: `usdc` and ` USDC` are one.
pub fn currency(text: &str) -> String {
    text.trim().to_uppercase()
}

/// An account, and the time that is looked back.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// The account.
    pub account: Account,
    /// How long a spend counts.
    pub per: SignedDuration,
}

impl Window {
    /// The moment before the window: what was spent then, or earlier, counts no more.
    pub fn opens_after(&self, now: Timestamp) -> Timestamp {
        now.checked_sub(self.per).unwrap_or(Timestamp::MIN)
    }
}

/// What was spent in one window.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Sum {
    /// The window.
    pub window: Window,
    /// The exact sum.
    pub spent: Amount,
    /// When the oldest spend in it was counted.
    pub oldest: Option<Timestamp>,
}

impl Sum {
    /// When the oldest spend counts no more.
    pub fn frees_at(&self) -> Option<Timestamp> {
        self.oldest.and_then(|oldest| oldest.checked_add(self.window.per).ok())
    }
}

/// What is known of what was spent; a window that is not there is not known.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Sums(Vec<Sum>);

impl Sums {
    /// Nothing is known.
    pub const UNKNOWN: &'static Self = &Self(Vec::new());

    /// Takes what was read.
    pub const fn new(sums: Vec<Sum>) -> Self {
        Self(sums)
    }

    /// What was spent in a window, if that is known.
    pub fn of(&self, window: &Window) -> Option<&Sum> {
        self.0.iter().find(|sum| sum.window == *window)
    }

    /// All that is known.
    pub fn iter(&self) -> impl Iterator<Item = &Sum> {
        self.0.iter()
    }

    /// Whether more was spent in any of these windows than somebody saw earlier, or that is not known.
    pub(crate) fn exceed(&self, seen: &Self) -> bool {
        seen.iter().any(|seen| self.of(&seen.window).is_none_or(|now| now.spent > seen.spent))
    }
}

/// One budget that a call counts in, as it was when the call was judged.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Charge {
    /// Where it counts, and for how long.
    pub window: Window,
    /// The most that may be spent in that time.
    pub most: Amount,
    /// What happens to more.
    pub over: Over,
}

/// What happens to a call that a budget has no room for.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Over {
    /// A human is asked, whose yes may go over it.
    Ask,
    /// It is refused.
    Reject,
}

/// Whether a budget has room for a call.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Room {
    /// It has.
    Enough,
    /// It has not.
    Short(Box<Exceeded>),
    /// What was spent is not known.
    Unknown,
}

impl Charge {
    /// Whether there is room for an amount beside what was spent.
    pub fn room(&self, sums: &Sums, amount: Amount) -> Room {
        let Some(sum) = sums.of(&self.window) else { return Room::Unknown };
        if sum.spent.checked_add(amount).is_some_and(|then| then <= self.most) {
            return Room::Enough;
        }
        Room::Short(Box::new(Exceeded {
            budget: self.window.account.budget.clone(),
            amount,
            most: self.most,
            left: self.most.less(sum.spent),
            currency: self.window.account.currency.clone(),
            frees_at: sum.frees_at().filter(|_| amount <= self.most),
            over: self.over,
        }))
    }
}

impl Charge {
    /// Whether it limits the same account no less than another one.
    pub(crate) fn holds_as_much_as(&self, other: &Self) -> bool {
        let no_laxer = match (self.over, other.over) {
            (Over::Reject, _) | (Over::Ask, Over::Ask) => true,
            (Over::Ask, Over::Reject) => false,
        };
        self.window.account == other.window.account
            && self.window.per >= other.window.per
            && self.most <= other.most
            && no_laxer
    }
}

/// A call that costs more than a budget has left.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Exceeded {
    /// The budget.
    pub budget: BudgetName,
    /// What the call costs.
    pub amount: Amount,
    /// The most that may be spent.
    pub most: Amount,
    /// What is left of it.
    pub left: Amount,
    /// In which currency.
    pub currency: Option<String>,
    /// When the first of what was spent is free again; `None`: waiting does not help.
    pub frees_at: Option<Timestamp>,
    /// What the budget says about more.
    pub over: Over,
}

impl Exceeded {
    /// How much is left, in a few words.
    pub fn left_of(&self) -> String {
        let Self { budget, most, left, .. } = self;
        match &self.currency {
            Some(currency) => format!("the budget `{budget}` has {left} of {most} {currency} left"),
            None => format!("the budget `{budget}` has {left} of {most} left"),
        }
    }
}

/// What a yes counted: the part of an audit row from which all sums can be made again.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    /// In which budgets.
    pub budgets: Vec<BudgetName>,
    /// How much.
    pub amount: Amount,
    /// In which currency.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub currency: Option<String>,
    /// For whom.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub recipient: Option<RecipientDigest>,
    /// In which organisation.
    pub org: OrgId,
    /// On whose behalf.
    pub principal: PrincipalId,
}

#[cfg(test)]
mod tests;
