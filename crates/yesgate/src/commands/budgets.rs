//! `budgets`: what was spent in each budget, what is left, and when it is free again.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use yesgate_core::amount::Amount;
use yesgate_core::budget::{Over, RecipientDigest};
use yesgate_core::id::{OrgId, PrincipalId};
use yesgate_core::policy::{Budget, Each};
use yesgate_core::render::Sanitized;
use yesgate_ledger::{Ledger, Spending};

use crate::output::{self, Done};
use crate::settings::{Settings, now};

pub(super) async fn run(settings: &Settings, as_json: bool) -> anyhow::Result<Done> {
    let (ledger, _) = settings.ledger().await?;
    let rows = all(settings, &ledger).await?;
    if as_json {
        output::json(&rows.iter().map(Row::to_json).collect::<Vec<_>>())?;
    } else if rows.is_empty() {
        output::line("There are no budgets. A table [budgets.NAME] in the configuration makes one.");
    } else {
        let cells: Vec<Vec<String>> = rows.iter().map(Row::cells).collect();
        output::table(&["BUDGET", "FOR", "SPENT", "OF", "LEFT", "PER", "FREES"], &cells);
    }
    Ok(Done::Ok)
}

/// One budget, or one share of it.
#[derive(Debug)]
pub(super) struct Row<'a> {
    budget: &'a Budget,
    /// Whose share it is; `None`: nothing was spent in any.
    share: Option<Share>,
    spent: Amount,
    frees_at: Option<Timestamp>,
}

/// What was spent, may be and is left, and in which time.
#[derive(Debug)]
pub(super) struct Sums {
    pub(super) spent: String,
    pub(super) most: String,
    pub(super) left: String,
    pub(super) per: String,
}

/// Whose spending was added up.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Share {
    org: OrgId,
    currency: Option<String>,
    recipient: Option<RecipientDigest>,
    caller: Option<PrincipalId>,
    /// The recipient as the call wrote it.
    name: Option<String>,
}

/// What was spent in every budget of the configuration, share by share.
pub(super) async fn all<'a>(settings: &'a Settings, ledger: &Ledger) -> anyhow::Result<Vec<Row<'a>>> {
    let mut rows = Vec::new();
    for budget in settings.config.policy.budgets() {
        let after = now().checked_sub(budget.per()).unwrap_or(Timestamp::MIN);
        let shares = shares(ledger, budget, ledger.spending(budget.name(), after).await?).await?;
        if shares.is_empty() {
            rows.push(Row { budget, share: None, spent: Amount::ZERO, frees_at: None });
        }
        rows.extend(shares);
    }
    Ok(rows)
}

/// Adds up what counts, in the order in which it is free again.
async fn shares<'a>(
    ledger: &Ledger,
    budget: &'a Budget,
    spends: Vec<Spending>,
) -> anyhow::Result<Vec<Row<'a>>> {
    let mut rows: Vec<Row<'a>> = Vec::new();
    for spend in spends {
        let share = share(budget, &spend);
        let same = |row: &&mut Row<'_>| row.share.as_ref().is_some_and(|other| share.is(other));
        let too_large = || anyhow::anyhow!("more was counted in `{}` than any sum of money", budget.name());
        match rows.iter_mut().find(same) {
            Some(row) => row.spent = row.spent.checked_add(spend.amount).ok_or_else(too_large)?,
            None => {
                let name = match budget.each() {
                    Each::Recipient => recipient(ledger, &spend).await?,
                    Each::Everyone | Each::Caller => None,
                };
                rows.push(Row {
                    budget,
                    share: Some(Share { name, ..share }),
                    spent: spend.amount,
                    frees_at: spend.at.checked_add(budget.per()).ok(),
                });
            }
        }
    }
    Ok(rows)
}

fn share(budget: &Budget, spend: &Spending) -> Share {
    let (recipient, caller) = match budget.each() {
        Each::Everyone => (None, None),
        Each::Recipient => (spend.recipient, None),
        Each::Caller => (None, Some(spend.principal.clone())),
    };
    Share { org: spend.org.clone(), currency: spend.currency.clone(), recipient, caller, name: None }
}

/// The trail has no names of recipients; the question has.
async fn recipient(ledger: &Ledger, spend: &Spending) -> anyhow::Result<Option<String>> {
    let intent = ledger.intent(&spend.intent).await?;
    Ok(intent.and_then(|intent| intent.question().spend.as_ref()?.recipient.clone()))
}

impl Share {
    fn is(&self, other: &Self) -> bool {
        self.org == other.org
            && self.currency == other.currency
            && self.recipient == other.recipient
            && self.caller == other.caller
    }
}

impl Row<'_> {
    /// The budget's name.
    pub(super) fn name(&self) -> &str {
        self.budget.name().as_str()
    }

    /// Whether nothing is left.
    pub(super) fn is_used_up(&self) -> bool {
        self.spent >= self.budget.most()
    }

    /// Whose share it is, in words.
    pub(super) fn whose(&self) -> String {
        let Some(share) = &self.share else {
            return match self.budget.each() {
                Each::Everyone => "everyone".to_owned(),
                Each::Recipient => "each recipient".to_owned(),
                Each::Caller => "each caller".to_owned(),
            };
        };
        let name = match (&share.name, &share.caller) {
            (Some(recipient), _) => Sanitized::line(recipient).to_string(),
            (None, Some(caller)) => caller.to_string(),
            (None, None) => "everyone".to_owned(),
        };
        format!("{name} ({})", share.org)
    }

    fn left(&self) -> Amount {
        self.budget.most().less(self.spent)
    }

    fn currency(&self) -> Option<&str> {
        self.share.as_ref().map_or(self.budget.currency(), |share| share.currency.as_deref())
    }

    /// Whether people of this organisation may see it.
    pub(super) fn is_of(&self, org: &OrgId) -> bool {
        self.share.as_ref().is_none_or(|share| share.org == *org)
    }

    /// The sums, in words that are safe to show.
    pub(super) fn sums(&self) -> Sums {
        let money = |amount: Amount| match self.currency() {
            Some(currency) => format!("{amount} {}", Sanitized::line(currency)),
            None => amount.to_string(),
        };
        Sums {
            spent: money(self.spent),
            most: money(self.budget.most()),
            left: money(self.left()),
            per: length(self.budget.per()),
        }
    }

    /// How much of it is spent, in percent.
    pub(super) fn percent(&self) -> u8 {
        // Only to be looked at: nothing is decided by it.
        let number = |amount: Amount| amount.to_string().parse::<f64>().unwrap_or_default();
        let most = number(self.budget.most());
        let percent = if most > 0.0 { (number(self.spent) / most * 100.0).clamp(0.0, 100.0) } else { 100.0 };
        (0..=100).rev().find(|whole| f64::from(*whole) <= percent).unwrap_or_default()
    }

    /// When the first of it is free again.
    pub(super) const fn frees_at(&self) -> Option<Timestamp> {
        self.frees_at
    }

    /// What happens to a call that would go over it.
    pub(super) const fn over(&self) -> &'static str {
        match self.budget.over() {
            Over::Ask => "ask",
            Over::Reject => "reject",
        }
    }

    fn cells(&self) -> Vec<String> {
        let Sums { spent, most, left, per } = self.sums();
        let frees = self.frees_at.map_or_else(|| "–".to_owned(), |at| format!("{at:.0}"));
        vec![self.name().to_owned(), self.whose(), spent, most, left, per, frees]
    }

    fn to_json(&self) -> Value {
        let share = self.share.as_ref();
        json!({
            "budget": self.budget.name(),
            "org": share.map(|share| &share.org),
            "recipient": share.and_then(|share| share.name.as_ref()),
            "caller": share.and_then(|share| share.caller.as_ref()),
            "currency": self.currency(),
            "spent": self.spent,
            "most": self.budget.most(),
            "left": self.left(),
            "per_seconds": self.budget.per().as_secs(),
            "over": self.over(),
            "frees_at": self.frees_at,
        })
    }
}

/// A length of time in its largest whole unit.
fn length(per: SignedDuration) -> String {
    let seconds = per.as_secs();
    let units = [(24 * 60 * 60, "d"), (60 * 60, "h"), (60, "m")];
    let unit = units.into_iter().find(|(each, _)| seconds % each == 0);
    unit.map_or_else(|| format!("{seconds}s"), |(each, unit)| format!("{}{unit}", seconds / each))
}
