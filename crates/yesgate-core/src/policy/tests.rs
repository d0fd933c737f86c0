//! The policy, tested through the text of a configuration: what an operator writes, what comes of it.

mod approvers;
mod budgets;
mod checkpoints;
mod conditions;
mod config;
mod confirm;
mod decide;
mod defaults;
mod explain;
mod glob;
mod lookup;
mod mail;
mod matrix;
mod notices;
mod oauth;
mod offer;
mod pages;
mod properties;
mod remember;
mod routes;
mod serve;
mod servers;
mod shadow;
mod sign_in;
mod spend;
mod two_key;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{ClientWays, Config, Facts, Known, Pin, Policy, Trace};
use crate::approvers::Reach;
use crate::assurance::Assurance;
use crate::budget::Sums;
use crate::call::{CallKey, Presented, ToolCall, WishedChannel};
use crate::class::Trust;
use crate::definition::ToolDefinition;
use crate::digest::Binding;
use crate::fixture;
use crate::json::CanonicalJson;
use crate::mode::Mode;
use crate::permit::Permit;
use crate::regime::Regime;
use crate::switch::OperatorSwitch;
use crate::verdict::{Question, Standing, Verdict, Would};

fn policy(text: &str) -> Policy {
    match Config::parse(text) {
        Ok(config) => config.policy,
        Err(error) => panic!("{error} ({:?})", error.hint()),
    }
}

/// A call with all that is known about it; the plain one is a dangerous tool in a set-up where
/// anybody can be reached.
#[derive(Clone, Debug)]
struct Scene {
    server: String,
    definition: Value,
    arguments: Value,
    presented: Presented,
    trust: Trust,
    pin: Option<Pin>,
    regime: Regime,
    ways: ClientWays,
    switch: OperatorSwitch,
    reach: Reach,
    spent: Sums,
    now: Timestamp,
}

/// A call of `server/tool`.
fn call(name: &str) -> Scene {
    let (server, tool) = name.split_once('/').unwrap();
    Scene {
        server: server.to_owned(),
        definition: json!({"name": tool}),
        arguments: json!({}),
        presented: Presented::default(),
        trust: Trust::Full,
        pin: None,
        regime: Regime::default(),
        ways: ClientWays::default(),
        switch: OperatorSwitch::DryRun,
        reach: Reach::anybody(Assurance::Verified),
        spent: Sums::default(),
        now: fixture::t(0),
    }
}

impl Scene {
    fn with(mut self, arguments: Value) -> Self {
        self.arguments = arguments;
        self
    }

    fn annotated(mut self, annotations: Value) -> Self {
        self.definition["annotations"] = annotations;
        self
    }

    fn read_only(self) -> Self {
        self.annotated(json!({"readOnlyHint": true}))
    }

    fn safe_write(self) -> Self {
        self.annotated(json!({"destructiveHint": false}))
    }

    /// Of a client that shows forms.
    fn with_forms(mut self) -> Self {
        self.ways.forms = true;
        self
    }

    fn wishing(mut self, mode: Mode) -> Self {
        self.presented.mode = Some(mode);
        self
    }

    fn wishing_channel(mut self, channel: WishedChannel) -> Self {
        self.presented.channel = Some(channel);
        self
    }

    fn reaching(mut self, reach: Assurance) -> Self {
        self.reach = Reach::anybody(reach);
        self
    }

    fn keys(mut self, switch: OperatorSwitch, key: CallKey) -> Self {
        self.switch = switch;
        self.presented.key = key;
        self
    }

    fn at(mut self, time: &str) -> Self {
        self.now = time.parse().unwrap();
        self
    }

    fn definition(&self) -> ToolDefinition {
        ToolDefinition::parse(&self.definition).unwrap()
    }

    fn tool_call(&self) -> ToolCall {
        let definition = self.definition();
        ToolCall {
            binding: Binding {
                server: self.server.parse().unwrap(),
                tool: definition.name.clone(),
                definition: definition.digest,
                arguments: CanonicalJson::of(&self.arguments).unwrap(),
                ..fixture::binding(&json!({}))
            },
        }
    }

    fn facts<'a>(&'a self, definition: &'a ToolDefinition) -> Facts<'a> {
        Facts {
            definition,
            trust: self.trust,
            known: self.pin.as_ref().map_or(Known::FirstUse, Known::Pinned),
            regime: &self.regime,
            ways: self.ways,
            switch: self.switch,
            reach: &self.reach,
            state: None,
            spent: &self.spent,
            now: self.now,
        }
    }

    fn under(&self, policy: &Policy) -> Verdict {
        policy.decide(self.tool_call(), &self.presented, &self.facts(&self.definition()))
    }

    fn explained(&self, policy: &Policy) -> Trace {
        policy.explain(&self.tool_call(), &self.presented, &self.facts(&self.definition()))
    }

    /// The verdict in a few words.
    fn says(&self, policy: &Policy) -> String {
        short(&self.under(policy))
    }

    fn question(&self, policy: &Policy) -> Question {
        match self.under(policy) {
            Verdict::Ask(question) => *question,
            Verdict::AskWithPreview(question, _) => *question,
            other @ (Verdict::Forward(_)
            | Verdict::Explain(_)
            | Verdict::Preview(_)
            | Verdict::Unneeded(_)
            | Verdict::Refuse(_)) => {
                panic!("not asked: {}", short(&other))
            }
        }
    }

    /// What the agent is told when the call is refused.
    fn refusal(&self, policy: &Policy) -> String {
        match self.under(policy) {
            Verdict::Refuse(refusal) => format!("{}: {}", refusal.why.code(), refusal.why.message()),
            other @ (Verdict::Forward(_)
            | Verdict::Explain(_)
            | Verdict::Preview(_)
            | Verdict::Unneeded(_)
            | Verdict::Ask(_)
            | Verdict::AskWithPreview(..)) => {
                panic!("not refused: {}", short(&other))
            }
        }
    }
}

fn short(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Forward(permitted) => match permitted.permit() {
            Permit::Class(class) => format!("runs ({class})"),
            Permit::Rule(rule) => format!("runs (rule {rule})"),
            Permit::Preview(rule) => format!("runs (preview of {rule})"),
            Permit::Intent(_) | Permit::Edited(_) => panic!("a policy holds no intents"),
        },
        Verdict::Explain(_) => "explained".to_owned(),
        Verdict::Preview(_) => "previewed".to_owned(),
        Verdict::Unneeded(_) => "unneeded".to_owned(),
        Verdict::AskWithPreview(question, _) => {
            format!("asks with preview ({}, {})", question.channel.as_str(), question.least)
        }
        Verdict::Ask(question) => match question.standing {
            Some(Standing::TwoKeys) => "runs (two keys)".to_owned(),
            Some(Standing::Rule) => {
                format!("runs, counted (rule {})", question.rule.as_deref().unwrap_or(""))
            }
            Some(Standing::Shadow(Would::Ask)) => "passes (would ask)".to_owned(),
            Some(Standing::Shadow(Would::Refuse(why))) => format!("passes (would refuse: {})", why.code()),
            None => format!("asks ({}, {})", question.channel.as_str(), question.least),
        },
        Verdict::Refuse(refusal) => format!("refused ({})", refusal.why.code()),
    }
}
