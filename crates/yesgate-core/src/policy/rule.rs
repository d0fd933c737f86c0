//! One rule of the operator, as it was written and as it is applied.

use serde_json::{Map, Value};

use super::CLASSES;
use super::condition::Condition;
use super::error::ConfigError;
use super::glob::{ToolGlob, ToolGlobError};
use super::lookup::Lookup;
use super::reader::{Entry, Form, Section, shown};
use super::spend::SpendPaths;
use super::template::Template;
use crate::assurance::Assurance;
use crate::class::Class;
use crate::verdict::Channel;

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
    pub(super) lookup: Option<Lookup>,
    pub(super) reason: Option<String>,
    pub(super) summary: Option<Template>,
    pub(super) next: Map<String, Value>,
    pub(super) spend: Option<SpendPaths>,
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
        let rule = Self {
            name,
            line,
            tool: tool(&section.required("tool")?)?,
            when: section.entry("when").map(|when| condition(&when)).transpose()?,
            class: section.entry("class").map(|class| class.word(&CLASSES)).transpose()?,
            then: then(section)?,
            channels: section
                .entry("channel")
                .map_or_else(|| Ok(Vec::new()), |channel| channels(&channel))?,
            assurance: section
                .entry("assurance")
                .map(|level| level.word(&Assurance::ALL.map(|level| (level.as_str(), level))))
                .transpose()?,
            lookup: section.entry("lookup").map(|lookup| Lookup::parse(&lookup)).transpose()?,
            reason: section
                .entry("reason")
                .map(|reason| reason.line().map(|words| words.trim_end_matches('.').to_owned()))
                .transpose()?,
            summary: section.entry("summary").map(|summary| template(&summary)).transpose()?,
            next: section.entry("next").map_or_else(|| Ok(Map::new()), |next| next.json_object())?,
            spend: section.entry("spend").map(|spend| SpendPaths::parse(&spend)).transpose()?,
        };
        rule.refuse_idle_keys(section)?;
        rule.refuse_state_without_lookup(section)?;
        Ok(rule)
    }

    /// The closed way, should the condition have no answer.
    pub(super) const fn on_error(&self) -> OnError {
        match (self.then, self.class) {
            (Some(Then::Run), _) | (None, Some(Class::ReadOnly | Class::SafeWrite)) => OnError::Skip,
            (Some(Then::Ask | Then::Reject), _) | (None, Some(Class::Dangerous)) => OnError::Match,
            (None, None) => OnError::Ask,
        }
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
        let shows_state = self.summary.as_ref().is_some_and(Template::shows_state);
        let key = match (self.lookup.is_some(), reads_state, shows_state) {
            (true, _, _) | (false, false, false) => return Ok(()),
            (false, true, _) => "when",
            (false, false, true) => "summary",
        };
        let entry = section.required(key)?;
        Err(entry.error(format!("`{key}` speaks of `state`, but the rule names no `lookup`")))
    }

    /// A key that changes nothing is a misunderstanding; better found now than in an incident.
    fn refuse_idle_keys(&self, section: &Section<'_>) -> Result<(), ConfigError> {
        let (idle, what): (&[&'static str], _) = match self.then {
            Some(Then::Reject) => (&["confirm", "channel", "assurance", "summary", "spend"], "rejects"),
            Some(Then::Run) => (&["channel", "assurance"], "lets calls run"),
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

fn template(entry: &Entry<'_>) -> Result<Template, ConfigError> {
    Template::parse(entry.line()?).map_err(|error| {
        let wrong = entry.error(error.message);
        match error.hint {
            Some(hint) => wrong.with_hint(hint),
            None => wrong,
        }
    })
}

/// `then`, or what `confirm` says in its place.
fn then(section: &Section<'_>) -> Result<Option<Then>, ConfigError> {
    let then = section
        .entry("then")
        .map(|then| then.word(&[("run", Then::Run), ("ask", Then::Ask), ("reject", Then::Reject)]))
        .transpose()?;
    let Some(confirm) = section.entry("confirm") else { return Ok(then) };
    refuse_later(&confirm, &["preview", "type"])?;
    let confirmed = confirm.word(&[("none", Then::Run), ("simple", Then::Ask)])?;
    match then {
        None => Ok(Some(confirmed)),
        Some(Then::Reject) => Ok(then),
        Some(said) if said == confirmed => Ok(then),
        Some(_) => Err(confirm
            .error("`confirm` and `then` contradict each other")
            .with_hint("`none` goes with \"run\", `simple` with \"ask\"; one of the two keys is enough")),
    }
}

fn channels(entry: &Entry<'_>) -> Result<Vec<Channel>, ConfigError> {
    let chat = ("chat", Some(Channel::Chat));
    let out_of_band = ("out_of_band", Some(Channel::OutOfBand));
    match entry.form() {
        Form::List => {
            let mut channels = Vec::new();
            for item in entry.items()? {
                refuse_later(&item, &LATER_CHANNELS)?;
                channels.extend(item.word(&[chat, out_of_band])?);
            }
            if channels.is_empty() { Err(entry.error("`channel` is an empty list")) } else { Ok(channels) }
        }
        Form::Single | Form::Table => {
            refuse_later(entry, &LATER_CHANNELS)?;
            Ok(entry.word(&[("auto", None), chat, out_of_band])?.into_iter().collect())
        }
    }
}

/// Refuses a word that a later version will know, so that nobody relies on it now.
fn refuse_later(entry: &Entry<'_>, words: &[&str]) -> Result<(), ConfigError> {
    match entry.text() {
        Ok(text) if words.contains(&text) => {
            Err(entry.error(format!("`{text}` is not available in this version")))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

const LATER_CHANNELS: [&str; 2] = ["web", "elicitation"];
