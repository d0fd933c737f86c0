//! One rule of the operator, as it was written and as it is applied.

use serde_json::{Map, Value};

use super::condition::Condition;
use super::confirm::Confirm;
use super::error::ConfigError;
use super::glob::{ToolGlob, ToolGlobError};
use super::lookup::Lookup;
use super::preview::Preview;
use super::profile::AUTO;
use super::reader::{Entry, Form, Section, shown};
use super::spend::SpendPaths;
use super::template::{Path, Template};
use super::{CLASSES, approvers};
use crate::approvers::Approvers;
use crate::assurance::Assurance;
use crate::class::Class;
use crate::id::BudgetName;
use crate::verdict::{Channel, Quorum};

/// One rule. The first that matches a call decides about it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rule {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) tool: ToolGlob,
    pub(super) when: Option<Condition>,
    pub(super) class: Option<Class>,
    /// What happens; `None`: the class decides, and the rule only says how.
    pub(super) then: Option<Then>,
    /// Where a human may be asked, the preferred place first; empty: wherever the profile says.
    pub(super) channels: Vec<Channel>,
    pub(super) assurance: Option<Assurance>,
    /// How many different people must say yes.
    pub(super) quorum: Quorum,
    /// Whose yes it must be; `None`: that of anybody who may decide.
    pub(super) approvers: Option<Approvers>,
    pub(super) confirm: Confirm,
    pub(super) lookup: Option<Lookup>,
    /// When a call would change nothing (H9).
    pub(super) noop_when: Option<Condition>,
    pub(super) reason: Option<String>,
    pub(super) summary: Option<Template>,
    pub(super) next: Map<String, Value>,
    pub(super) spend: Option<SpendPaths>,
    /// The budgets that its calls count in.
    pub(super) budgets: Vec<BudgetName>,
}

/// What a rule says about the calls it matches.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Then {
    Run,
    Ask,
    Reject,
}

/// Which way is the closed one when a rule's condition has no answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum OnError {
    /// The rule would let more through: it does not match.
    Skip,
    /// The rule would hold the call up: it matches.
    Match,
    /// The rule leaves it to the class: it matches, and a human is asked.
    Ask,
}

impl Rule {
    /// Reads the rule in one `[[rules]]` table.
    pub(super) fn parse(section: &Section<'_>, number: usize) -> Result<Self, ConfigError> {
        let (line, _) = section.place();
        let name = match section.entry("name") {
            Some(name) => name.line()?.to_owned(),
            None => format!("#{number} (line {line})"),
        };
        let confirm = Confirm::parse(section)?;
        let rule = Self {
            name,
            line,
            tool: tool(&section.required("tool")?)?,
            when: section.entry("when").map(|when| condition(&when)).transpose()?,
            class: section.entry("class").map(|class| class.word(&CLASSES)).transpose()?,
            then: then(section, &confirm)?,
            channels: section
                .entry("channel")
                .map_or_else(|| Ok(Vec::new()), |channel| channels(&channel))?,
            assurance: section
                .entry("assurance")
                .map(|level| level.word(&Assurance::ALL.map(|level| (level.as_str(), level))))
                .transpose()?,
            quorum: section.entry("quorum").map_or(Ok(Quorum::ONE), |entry| quorum(&entry))?,
            approvers: approvers::parse(section)?,
            confirm,
            noop_when: section.entry("noop_when").map(|when| condition(&when)).transpose()?,
            lookup: section.entry("lookup").map(|lookup| Lookup::parse(&lookup)).transpose()?,
            reason: section
                .entry("reason")
                .map(|reason| reason.line().map(|words| words.trim_end_matches('.').to_owned()))
                .transpose()?,
            summary: section.entry("summary").map(|summary| template(&summary)).transpose()?,
            next: section.entry("next").map_or_else(|| Ok(Map::new()), |next| next.json_object())?,
            spend: section.entry("spend").map(|spend| SpendPaths::parse(&spend)).transpose()?,
            budgets: section.entry("budget").map_or_else(|| Ok(Vec::new()), |budget| budget.names())?,
        };
        rule.refuse_idle_keys(section)?;
        rule.refuse_state_without_lookup(section)?;
        Ok(rule)
    }

    /// The budgets that it counts in or looks at.
    pub(super) fn all_budgets(&self) -> impl Iterator<Item = &BudgetName> {
        self.budgets.iter().chain(self.when.iter().flat_map(Condition::budgets))
    }

    /// The closed way, should the condition have no answer.
    pub(super) const fn on_error(&self) -> OnError {
        match (self.then, self.class) {
            (Some(Then::Run), _) | (None, Some(Class::ReadOnly | Class::SafeWrite)) => OnError::Skip,
            (Some(Then::Ask | Then::Reject), _) | (None, Some(Class::Dangerous)) => OnError::Match,
            (None, None) => OnError::Ask,
        }
    }

    /// What people must prove at the least where it matters who they are: the agent's word is nobody's in particular.
    pub(super) fn least_of_people(&self) -> Assurance {
        let anybody = self.quorum == Quorum::ONE && self.approvers.is_none();
        if anybody { Assurance::Asserted } else { Assurance::Local }
    }

    /// Whether it lets calls run without asking.
    pub(super) const fn lets_run(&self) -> bool {
        match self.on_error() {
            OnError::Skip => true,
            OnError::Match | OnError::Ask => false,
        }
    }

    /// Whether it matches every call of its tools.
    pub(super) fn is_unconditional(&self) -> bool {
        self.when.as_ref().is_none_or(|when| when.constant() == Some(true))
    }

    /// `state` is what a lookup found: without one there is none.
    fn refuse_state_without_lookup(&self, section: &Section<'_>) -> Result<(), ConfigError> {
        let reads_state = self.when.as_ref().is_some_and(Condition::reads_state);
        if self.lookup.is_some() {
            return Ok(());
        }
        let speaking = [
            ("when", reads_state),
            ("noop_when", self.noop_when.as_ref().is_some_and(Condition::reads_state)),
            ("summary", self.summary.as_ref().is_some_and(Template::shows_state)),
            ("preview", self.confirm.preview.as_ref().is_some_and(Preview::shows_state)),
            ("type", self.confirm.typed.as_ref().is_some_and(Path::is_of_state)),
        ];
        match speaking.into_iter().find(|(_, speaks)| *speaks) {
            None => Ok(()),
            Some((key, _)) => {
                let words = format!("`{key}` speaks of `state`, but the rule names no `lookup`");
                Err(section.required(key)?.error(words))
            }
        }
    }

    /// A key that changes nothing is a misunderstanding; better found now than in an incident.
    fn refuse_idle_keys(&self, section: &Section<'_>) -> Result<(), ConfigError> {
        let (idle, what): (&[&'static str], _) = match self.then {
            // What was spent is looked up for those whom `spend` names.
            Some(Then::Reject) if self.all_budgets().next().is_some() => (
                &["confirm", "preview", "type", "noop_when", "channel", "assurance", "approvers", "summary"],
                "rejects",
            ),
            Some(Then::Reject) => (
                &[
                    "confirm",
                    "preview",
                    "type",
                    "noop_when",
                    "channel",
                    "assurance",
                    "quorum",
                    "approvers",
                    "summary",
                    "spend",
                ],
                "rejects",
            ),
            // Over a budget it may ask; that is looked at where the budgets are known.
            Some(Then::Run) if !self.budgets.is_empty() => (&["type", "noop_when"], "lets calls run"),
            Some(Then::Run) => {
                (&["type", "noop_when", "channel", "assurance", "quorum", "approvers"], "lets calls run")
            }
            Some(Then::Ask) | None => (&[], ""),
        };
        match idle.iter().find_map(|key| section.entry(key).map(|entry| (key, entry))) {
            Some((key, entry)) => Err(entry.error(format!("`{key}` has no effect on a rule that {what}"))),
            None => Ok(()),
        }
    }
}

fn tool(entry: &Entry<'_>) -> Result<ToolGlob, ConfigError> {
    let text = entry.text()?;
    ToolGlob::parse(text).map_err(|error| {
        let wrong = entry.error(format!("`{}` names no tools: {error}", shown(text)));
        match error {
            ToolGlobError::NoServer if !text.is_empty() => wrong
                .with_hint(format!("write `*/{}` for the tool of that name on every server", shown(text))),
            ToolGlobError::NoServer
            | ToolGlobError::Server
            | ToolGlobError::Tool
            | ToolGlobError::Doubled => wrong,
        }
    })
}

fn condition(entry: &Entry<'_>) -> Result<Condition, ConfigError> {
    Condition::compile(entry.text()?).map_err(|error| {
        let wrong = entry.error(error.message);
        match error.hint {
            Some(hint) => wrong.with_hint(hint),
            None => wrong,
        }
    })
}

pub(super) fn template(entry: &Entry<'_>) -> Result<Template, ConfigError> {
    Template::parse(entry.line()?).map_err(|error| {
        let wrong = entry.error(error.message);
        match error.hint {
            Some(hint) => wrong.with_hint(hint),
            None => wrong,
        }
    })
}

fn quorum(entry: &Entry<'_>) -> Result<Quorum, ConfigError> {
    let people = u8::try_from(entry.count()?).ok().filter(|people| *people <= MOST_PEOPLE);
    people.and_then(Quorum::new).ok_or_else(|| {
        entry
            .error(format!("`quorum` must be 1 to {MOST_PEOPLE}"))
            .with_hint("it is how many different people must say yes")
    })
}

/// So many people nobody ever gets together.
const MOST_PEOPLE: u8 = 20;

/// `then`, or what `confirm` says in its place.
fn then(section: &Section<'_>, confirm: &Confirm) -> Result<Option<Then>, ConfigError> {
    let then = section
        .entry("then")
        .map(|then| then.word(&[("run", Then::Run), ("ask", Then::Ask), ("reject", Then::Reject)]))
        .transpose()?;
    let Some(confirmed) = confirm.then() else { return Ok(then) };
    match then {
        None => Ok(Some(confirmed)),
        Some(Then::Reject) => Ok(then),
        Some(said) if said == confirmed => Ok(then),
        Some(_) => Err(section
            .required("confirm")?
            .error("`confirm` and `then` contradict each other")
            .with_hint("`none` goes with \"run\", the others with \"ask\"; one of the two keys is enough")),
    }
}

/// Reads one way to ask, or several with the preferred one first.
pub(super) fn channels(entry: &Entry<'_>) -> Result<Vec<Channel>, ConfigError> {
    let one = |entry: &Entry<'_>| entry.word(&CHANNELS);
    match entry.form() {
        Form::List => {
            let channels = entry.items()?.iter().map(one).collect::<Result<Vec<_>, _>>()?.concat();
            if channels.is_empty() { Err(entry.error("`channel` is an empty list")) } else { Ok(channels) }
        }
        Form::Single | Form::Table => Ok(one(entry)?.to_vec()),
    }
}

const CHANNELS: [(&str, &[Channel]); 5] = [
    ("auto", AUTO),
    (Channel::Chat.as_str(), &[Channel::Chat]),
    (Channel::Elicitation.as_str(), &[Channel::Elicitation]),
    (Channel::Web.as_str(), &[Channel::Web]),
    (Channel::OutOfBand.as_str(), &[Channel::OutOfBand]),
];
