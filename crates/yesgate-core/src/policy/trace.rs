//! Why a call was judged as it was, for people and for `--json`.

use std::fmt;

use jiff::Timestamp;
use serde::Serialize;

use super::judge::{Asking, Ruling};
use super::{Facts, Policy};
use crate::amount::Amount;
use crate::assurance::Assurance;
use crate::budget::Sum;
use crate::call::{Presented, ToolCall};
use crate::class::Class;
use crate::id::{BudgetName, ServerName, ToolName};
use crate::mode::Mode;
use crate::permit::Permit;
use crate::render::Sanitized;
use crate::verdict::{Channel, Standing};

/// Everything that led to a verdict.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Trace {
    /// The server.
    pub server: ServerName,
    /// The tool.
    pub tool: ToolName,
    /// How dangerous the tool is for this call.
    pub class: Class,
    /// How we know.
    pub class_source: String,
    /// The mode the call was judged in.
    pub mode: Mode,
    /// The profile whose defaults hold.
    pub profile: Option<&'static str>,
    /// The rules that were looked at, in order; the last one may have matched.
    pub rules: Vec<RuleTrace>,
    /// What was spent in the budgets that were looked at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub budgets: Vec<BudgetTrace>,
    /// What decided.
    pub decided_by: DecidedBy,
    /// The verdict.
    pub answer: Answer,
}

/// What came of one rule.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct RuleTrace {
    /// The rule's name.
    pub rule: String,
    /// The line it begins on.
    pub line: usize,
    /// The tools it speaks of.
    pub tool: String,
    /// Its condition, where it has one.
    pub when: Option<String>,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: RuleOutcome,
}

/// What was spent in one budget, as the call counts in it.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct BudgetTrace {
    /// The budget.
    pub budget: BudgetName,
    /// What was spent.
    pub spent: Amount,
    /// The most that may be.
    pub most: Amount,
    /// In which currency.
    pub currency: Option<String>,
    /// When the first of it is free again.
    pub frees_at: Option<Timestamp>,
}

/// What came of holding a rule against a call.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum RuleOutcome {
    /// It speaks of other tools.
    OtherTool,
    /// Its condition is false.
    ConditionFalse,
    /// Its condition has no answer, and it would let more through: it does not match.
    SkippedOnError {
        /// Why there is no answer.
        error: String,
    },
    /// It matches.
    Matched,
    /// Its condition has no answer, and it would hold the call up: it matches.
    MatchedOnError {
        /// Why there is no answer.
        error: String,
    },
}

/// What decided about a call.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    /// The first rule that matched.
    Rule(String),
    /// No rule matched: the tool's class.
    Class,
    /// No rule matched: the setting `otherwise`.
    Otherwise,
    /// The two keys.
    TwoKeys,
    /// What stands before all rules: the mode wished for, the tool's definition.
    Gate,
}

/// A verdict in short.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Answer {
    /// It runs.
    Runs {
        /// What allows it.
        permit: String,
    },
    /// The mode does not run it; it is explained.
    Explained {
        /// What it would do.
        summary: Sanitized,
    },
    /// The mode does not run it; its preview is made and shown.
    Previewed {
        /// What it would do.
        summary: Sanitized,
    },
    /// It would change nothing: it does not run, and nobody is asked.
    Unneeded {
        /// What it would do.
        summary: Sanitized,
    },
    /// A human is asked.
    Asks {
        /// What the human reads first.
        summary: Sanitized,
        /// Where.
        channel: Channel,
        /// The least proof of a human.
        least: Assurance,
        /// How long they may take, in seconds.
        decide_seconds: i64,
        /// How long a chat token lives, in seconds.
        token_seconds: i64,
    },
    /// Both keys are turned: it runs, and is written down as nobody's yes.
    RunsByTwoKeys,
    /// The policy is only tried: it passes.
    Passes {
        /// What the policy would do in earnest.
        would: Box<Self>,
    },
    /// A rule lets it run within budgets: it is counted, and written down as the rule's yes.
    RunsCounted {
        /// The rule.
        rule: String,
        /// What it costs.
        amount: String,
        /// In which budgets that counts.
        budgets: Vec<BudgetName>,
    },
    /// It is refused.
    Refused {
        /// The code agents match on.
        code: &'static str,
        /// What the agent reads.
        message: String,
    },
}

pub(super) fn explain(policy: &Policy, call: &ToolCall, presented: &Presented, facts: &Facts<'_>) -> Trace {
    let mut rules = Vec::new();
    let judged = policy.judge(call, presented, facts, &mut |rule, outcome| {
        rules.push(RuleTrace {
            rule: rule.name.clone(),
            line: rule.line,
            tool: rule.tool.to_string(),
            when: rule.when.as_ref().map(|when| when.source().to_owned()),
            outcome,
        });
    });
    Trace {
        server: call.binding.server.clone(),
        tool: call.binding.tool.clone(),
        class: judged.classified.class,
        class_source: judged.classified.source.to_string(),
        mode: judged.mode,
        profile: policy.profile.map(super::Profile::as_str),
        rules,
        budgets: facts.spent.iter().filter_map(|sum| BudgetTrace::of(policy, sum)).collect(),
        decided_by: judged.by,
        answer: if judged.ruling.passes() {
            let earnest = policy.in_earnest().judge(call, presented, facts, &mut |_, _| {});
            Answer::Passes { would: Box::new(Answer::of(&earnest.ruling)) }
        } else {
            Answer::of(&judged.ruling)
        },
    }
}

impl BudgetTrace {
    fn of(policy: &Policy, sum: &Sum) -> Option<Self> {
        let account = &sum.window.account;
        let budget = policy.budgets.get(&account.budget)?;
        Some(Self {
            budget: account.budget.clone(),
            spent: sum.spent,
            most: budget.most(),
            currency: account.currency.clone(),
            frees_at: sum.frees_at(),
        })
    }
}

impl Answer {
    fn of(ruling: &Ruling) -> Self {
        match ruling {
            Ruling::Forward(Permit::Class(class)) => Self::Runs { permit: format!("class {class}") },
            Ruling::Forward(Permit::Rule(rule)) => Self::Runs { permit: format!("rule {rule}") },
            Ruling::Forward(Permit::Intent(intent) | Permit::Edited(intent)) => {
                Self::Runs { permit: intent.to_string() }
            }
            Ruling::Forward(Permit::Preview(rule)) => {
                Self::Runs { permit: format!("preview of rule {rule}") }
            }
            Ruling::Explain(words) => Self::Explained { summary: words.summary.clone() },
            Ruling::Preview(words, _) => Self::Previewed { summary: words.summary.clone() },
            Ruling::Unneeded(words) => Self::Unneeded { summary: words.summary.clone() },
            Ruling::Refuse(refusal) => {
                Self::Refused { code: refusal.why.code(), message: refusal.why.message() }
            }
            Ruling::Ask(asking) => Self::of_asking(asking),
        }
    }

    fn of_asking(asking: &Asking) -> Self {
        match asking.standing {
            Some(Standing::TwoKeys) => Self::RunsByTwoKeys,
            Some(Standing::Rule) => {
                let spend = asking.spend.as_ref();
                let charges = spend.map_or(&[][..], |spend| &spend.charges);
                Self::RunsCounted {
                    rule: asking.rule.clone().unwrap_or_default(),
                    amount: spend.map(|spend| spend.amount.clone()).unwrap_or_default(),
                    budgets: charges.iter().map(|charge| charge.window.account.budget.clone()).collect(),
                }
            }
            // Where it passes, what it would be is found by judging in earnest.
            Some(Standing::Shadow(_)) | None => Self::Asks {
                summary: asking.summary.clone(),
                channel: asking.channel,
                least: asking.least,
                decide_seconds: asking.times.decide.as_secs(),
                token_seconds: asking.times.token.as_secs(),
            },
        }
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}/{}", self.server, self.tool)?;
        writeln!(f, "class    {} ({})", self.class, self.class_source)?;
        writeln!(f, "mode     {}", self.mode)?;
        writeln!(f, "profile  {}", self.profile.unwrap_or("none"))?;
        for rule in &self.rules {
            writeln!(f, "rule     {}: {}", rule.rule, rule.outcome)?;
        }
        for BudgetTrace { budget, spent, most, currency, .. } in &self.budgets {
            let currency = currency.as_deref().unwrap_or_default();
            let words = format!("{spent} of {most} {currency}");
            writeln!(f, "budget   {budget}: {} spent", words.trim_end())?;
        }
        writeln!(f, "decided  by {}", self.decided_by)?;
        write!(f, "verdict  {}", self.answer)
    }
}

impl fmt::Display for RuleOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherTool => f.write_str("speaks of other tools"),
            Self::ConditionFalse => f.write_str("its condition is false"),
            Self::SkippedOnError { error } => {
                write!(f, "does not match, for its condition has no answer: {error}")
            }
            Self::Matched => f.write_str("matches"),
            Self::MatchedOnError { error } => write!(f, "matches, for its condition has no answer: {error}"),
        }
    }
}

impl fmt::Display for DecidedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(rule) => write!(f, "rule {rule}"),
            Self::Class => f.write_str("the class; no rule matches"),
            Self::Otherwise => f.write_str("`otherwise`; no rule matches"),
            Self::TwoKeys => f.write_str("the two keys"),
            Self::Gate => f.write_str("what stands before the rules"),
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Runs { permit } => write!(f, "runs, by {permit}"),
            Self::Explained { summary } => write!(f, "explained: {summary}"),
            Self::Previewed { summary } => write!(f, "previewed: {summary}"),
            Self::Unneeded { summary } => {
                write!(f, "answered at once, for it would change nothing: {summary}")
            }
            Self::Asks { summary, channel, least, decide_seconds, token_seconds } => {
                write!(
                    f,
                    "asks a human ({}, at least {least}, {decide_seconds} s to decide",
                    channel.as_str()
                )?;
                match channel {
                    Channel::Chat => write!(f, ", {token_seconds} s for the token): {summary}"),
                    Channel::Elicitation | Channel::Web | Channel::OutOfBand => write!(f, "): {summary}"),
                }
            }
            Self::Passes { would } => {
                write!(f, "passes, for the policy is only tried (`shadow`); in earnest: {would}")
            }
            Self::RunsByTwoKeys => f.write_str("runs, by both keys"),
            Self::RunsCounted { rule, amount, budgets } => {
                let budgets: Vec<&str> = budgets.iter().map(BudgetName::as_str).collect();
                write!(f, "runs, by rule {rule}, and counts {amount} in {}", budgets.join(", "))
            }
            Self::Refused { code, message } => write!(f, "refused ({code}): {message}"),
        }
    }
}
