//! Budgets as the operator writes them, and what they mean for one call.
//!
//! INVARIANT: a rule under a budget can always say which account a call belongs to, or the call is
//! refused. What could only be found out with the first payment is refused when the policy is loaded.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::condition::{Spending, World};
use super::error::{ConfigError, hint_for};
use super::judge::Action;
use super::reader::{Entry, Section, shown};
use super::rule::{Rule, Then};
use super::{BUDGET_KEYS, Policy};
use crate::amount::Amount;
use crate::budget::{Account, Charge, Over, RecipientDigest, Share, Window, currency};
use crate::caller::Caller;
use crate::digest::Binding;
use crate::id::BudgetName;

/// How much may be spent in a while.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Budget {
    pub(super) name: BudgetName,
    pub(super) line: usize,
    most: Amount,
    per: SignedDuration,
    currency: Option<String>,
    each: Each,
    over: Over,
}

/// Who has a budget of their own.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Each {
    /// Nobody: all callers of an organisation share it.
    Everyone,
    /// Each recipient.
    Recipient,
    /// Each caller: the user on whose behalf it is spent.
    Caller,
}

/// Who gets the money of a call, and in which currency.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Parties {
    pub(super) currency: Option<String>,
    pub(super) recipient: Option<String>,
}

impl Budget {
    /// Its name.
    pub const fn name(&self) -> &BudgetName {
        &self.name
    }

    /// The most that may be spent in [`Self::per`].
    pub const fn most(&self) -> Amount {
        self.most
    }

    /// How long a spend counts.
    pub const fn per(&self) -> SignedDuration {
        self.per
    }

    /// The one currency it is in, where it names one.
    pub fn currency(&self) -> Option<&str> {
        self.currency.as_deref()
    }

    /// Who has one of their own.
    pub const fn each(&self) -> Each {
        self.each
    }

    /// What happens to more.
    pub const fn over(&self) -> Over {
        self.over
    }

    fn parse(entry: &Entry<'_>) -> Result<Self, ConfigError> {
        let name = entry.name().parse::<BudgetName>().map_err(|error| entry.error(error.to_string()))?;
        let section = entry.section(&BUDGET_KEYS)?;
        let most = section.required("most")?;
        let (line, _) = section.place();
        Ok(Self {
            name,
            line,
            most: most.text()?.parse().map_err(|error| {
                most.error(format!("`most` cannot be read: {error}")).with_hint("write \"50.00\"")
            })?,
            per: per(&section.required("per")?)?,
            currency: section.entry("currency").map(|entry| entry.line().map(currency)).transpose()?,
            each: section.entry("each").map_or(Ok(Each::Everyone), |each| {
                each.word(&[("recipient", Each::Recipient), ("caller", Each::Caller)])
            })?,
            over: section.entry("over").map_or(Ok(Over::Reject), |over| {
                over.word(&[("ask", Over::Ask), ("reject", Over::Reject)])
            })?,
        })
    }

    /// The account that a call belongs to, and how far back it is looked at.
    pub(super) fn window(&self, caller: &Caller, parties: &Parties) -> Result<Window, String> {
        let name = &self.name;
        let of_call = parties.currency.as_deref().map(currency);
        let currency = match (&self.currency, of_call) {
            (Some(ours), Some(other)) if *ours != other => {
                return Err(format!("the budget `{name}` is in {ours}, and the call is in another currency"));
            }
            (Some(ours), _) => Some(ours.clone()),
            (None, of_call) => of_call,
        };
        let share = match (self.each, &parties.recipient) {
            (Each::Everyone, _) => Share::Everyone,
            (Each::Caller, _) => Share::Caller(caller.principal.clone()),
            (Each::Recipient, Some(recipient)) => Share::Recipient(RecipientDigest::of(recipient)),
            (Each::Recipient, None) => {
                return Err(format!("the budget `{name}` is for each recipient, and the call names none"));
            }
        };
        let account = Account { budget: name.clone(), org: caller.org.clone(), currency, share };
        Ok(Window { account, per: self.per })
    }

    /// What a call of these parties counts in.
    pub(super) fn charge(&self, caller: &Caller, parties: &Parties) -> Result<Charge, String> {
        Ok(Charge { window: self.window(caller, parties)?, most: self.most, over: self.over })
    }
}

/// Reads all `[budgets.NAME]` tables.
pub(super) fn parse_all(entry: &Entry<'_>) -> Result<BTreeMap<BudgetName, Budget>, ConfigError> {
    let budgets = entry.named_entries()?.into_iter().map(|entry| {
        let budget = Budget::parse(&entry)?;
        Ok((budget.name.clone(), budget))
    });
    budgets.collect()
}

fn per(entry: &Entry<'_>) -> Result<SignedDuration, ConfigError> {
    const HOURS: [(&str, i64); 4] = [("hour", 1), ("day", 24), ("week", 7 * 24), ("month", 30 * 24)];
    match HOURS.iter().find(|(word, _)| entry.text().is_ok_and(|text| text == *word)) {
        Some((_, hours)) => Ok(SignedDuration::from_hours(*hours)),
        None => entry.duration().map_err(|error| {
            error.with_hint(
                "write \"hour\", \"day\", \"week\", \"month\" (30 days), or a time such as \"90m\"",
            )
        }),
    }
}

impl Policy {
    /// The budgets, by name.
    pub fn budgets(&self) -> impl Iterator<Item = &Budget> {
        self.budgets.values()
    }

    /// The sums that have to be known before a call is judged. What cannot be told is left out: whatever
    /// needs it then has no answer.
    pub fn windows(&self, call: &Binding) -> Vec<Window> {
        let mut windows = Vec::new();
        if self.budgets.is_empty() {
            return windows;
        }
        let mut arguments = None;
        for rule in self.rules.iter().filter(|rule| rule.tool.matches(&call.server, &call.tool)) {
            for name in rule.all_budgets() {
                let arguments = arguments.get_or_insert_with(|| call.arguments.to_value());
                match self.window(rule, name, &call.caller, arguments) {
                    Ok(window) if !windows.contains(&window) => windows.push(window),
                    Ok(_) | Err(_) => {}
                }
            }
        }
        windows
    }

    /// The window of a budget that a rule means for one call.
    pub(super) fn window(
        &self,
        rule: &Rule,
        name: &BudgetName,
        caller: &Caller,
        arguments: &serde_json::Value,
    ) -> Result<Window, String> {
        let budget = self.budgets.get(name).ok_or_else(|| format!("there is no budget `{name}`"))?;
        let parties = rule.spend.as_ref().map(|spend| spend.parties(arguments)).transpose()?;
        budget.window(caller, &parties.unwrap_or_default())
    }

    /// What becomes of a rule's call that one of its budgets has no room for.
    pub(super) fn over_budget(&self, rule: &Rule) -> impl Iterator<Item = Action> {
        rule.budgets.iter().filter_map(|name| self.budgets.get(name)).map(|budget| match budget.over {
            Over::Ask => Action::Ask,
            Over::Reject => Action::Reject,
        })
    }

    /// What was spent in a budget, as a rule means it for one call.
    pub(super) fn spent(&self, rule: &Rule, name: &BudgetName, world: &World<'_>) -> Result<Amount, String> {
        match world.subject().spent {
            Spending::Told(told) => Ok(told.get(name).copied().unwrap_or(Amount::ZERO)),
            Spending::Read(sums) => {
                let window = self.window(rule, name, world.subject().caller, world.arguments())?;
                let sum = sums.of(&window);
                sum.map(|sum| sum.spent)
                    .ok_or_else(|| format!("what was spent in the budget `{name}` is not known"))
            }
        }
    }

    /// Refuses what a rule says of budgets if it could only fail, or count beside the mark, later.
    pub(super) fn check_budgets(&self, rule: &Rule, section: &Section<'_>) -> Result<(), ConfigError> {
        let counts = section.entry("budget");
        if let (Some(entry), None) = (&counts, &rule.spend) {
            return Err(entry
                .error("`budget` counts what `spend` reads, and the rule has no `spend`")
                .with_hint("add spend = { amount = \"args.amount\" }"));
        }
        if let (Some(entry), Some(Then::Reject)) = (&counts, rule.then) {
            return Err(entry.error("`budget` has no effect on a rule that rejects"));
        }
        for name in rule.all_budgets() {
            let key = if rule.budgets.contains(name) { "budget" } else { "when" };
            let wrong = |words: String| section.required(key).map(|entry| entry.error(words));
            let Some(budget) = self.budgets.get(name) else {
                let known: Vec<&str> = self.budgets.keys().map(BudgetName::as_str).collect();
                let error = wrong(format!("there is no budget `{}`", shown(name.as_str())))?;
                return Err(if known.is_empty() {
                    error.with_hint(format!("write a table [budgets.{name}]"))
                } else {
                    error.with_hint(hint_for(name.as_str(), &known))
                });
            };
            if let Some(words) = self.misfit(budget, rule) {
                return Err(wrong(words)?);
            }
        }
        let never_asks =
            rule.then == Some(Then::Run) && !self.over_budget(rule).any(|over| over == Action::Ask);
        match ["channel", "assurance"].into_iter().find_map(|key| Some((key, section.entry(key)?))) {
            Some((key, entry)) if never_asks => Err(entry
                .error(format!("`{key}` has no effect on a rule that lets calls run"))
                .with_hint("a budget with over = \"ask\" asks")),
            Some(_) | None => Ok(()),
        }
    }

    /// Why a rule cannot use a budget.
    fn misfit(&self, budget: &Budget, rule: &Rule) -> Option<String> {
        let name = &budget.name;
        let spend = rule.spend.as_ref();
        let says_currency = spend.is_some_and(|spend| spend.says_currency());
        if budget.each == Each::Recipient && !spend.is_some_and(|spend| spend.says_recipient()) {
            return Some(format!(
                "the budget `{name}` is for each recipient, and the rule's `spend` names none"
            ));
        }
        if let Some(ours) = &budget.currency {
            let literal = spend.and_then(|spend| spend.literal_currency()).map(currency);
            if literal.as_ref().is_some_and(|literal| literal != ours) {
                return Some(format!(
                    "the budget `{name}` is in {ours}, and the rule spends another currency"
                ));
            }
            // A rule that only looks at the sum need not say it again.
            return (rule.budgets.contains(name) && !says_currency).then(|| {
                format!("the budget `{name}` is in {ours}, and the rule's `spend` names no currency")
            });
        }
        // Sums are kept by currency: with and without one are two sums, and a limit on the one is none on the other.
        let other = self.rules.iter().find(|other| {
            other.all_budgets().any(|used| used == name)
                && other.spend.as_ref().is_some_and(|spend| spend.says_currency()) != says_currency
        })?;
        Some(format!(
            "rule {} and this one use the budget `{name}`, one with a currency and one without",
            shown(&other.name)
        ))
    }
}
