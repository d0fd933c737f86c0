//! What the operator allows: from the text of `yesgate.toml` to a verdict on one call.
//!
//! Rules are ordered and the first that matches decides; where none does, the tool's class does.
//!
//! INVARIANT: what cannot be evaluated never lets more through. A condition without an answer makes
//! a rule that allows not match and a rule that asks or rejects match; an unreadable amount, an
//! unreachable approver and an unreadable call are refusals.

mod approvers;
mod budget;
mod condition;
mod config;
mod confirm;
mod consequence;
mod error;
mod example;
mod glob;
mod hosts;
mod judge;
mod ladder;
mod lint;
mod lookup;
mod names;
mod needs;
mod offer;
mod pattern;
mod pin;
mod preview;
mod profile;
mod raise;
mod reader;
mod rule;
mod shadow;
mod spend;
mod template;
mod trace;
mod words;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

pub use self::budget::{Budget, Each};
use self::condition::{ConditionError, World};
pub use self::config::Config;
pub use self::config::address::{AddressError, Authority, HttpUrl, Origin, Scheme};
pub use self::config::checkpoints::CheckpointsConfig;
pub use self::config::ledger::{LedgerConfig, Standby};
pub use self::config::limits::ServeLimits;
pub use self::config::mail::{Carried, MailConfig, MailWay, SmtpConfig, SmtpLogin};
pub use self::config::notices::{ByMail, Desktop, NoticesConfig, Remind, WebhookConfig};
pub use self::config::oauth::{
    DocumentHosts, Documents, ExternalIssuer, KnownClient, OAuthConfig, OAuthLimits, OAuthTimes,
    Registration, ScopePolicy, ScopeRule,
};
pub use self::config::pages::{Inbox, PagesConfig};
pub use self::config::prefix::{ParsePrefixError, Prefix};
pub use self::config::proxies::Proxies;
pub use self::config::remote::{
    AuthSetting, HeaderName, HeaderNameError, HttpPlace, OAuthClient, OAuthSetting,
};
pub use self::config::routes::{OWN_SEGMENTS, RouteTarget, Routes};
pub use self::config::serve::{ServeConfig, ServeTimes, TelemetryConfig};
pub use self::config::server::{ChildPlace, EraSetting, Place, ServerConfig};
pub use self::config::sign_in::OidcConfig;
pub use self::config::variables::{MissingVariable, Template, TemplateError};
pub use self::consequence::Consequence;
pub use self::error::ConfigError;
use self::hosts::HostEntry;
pub use self::hosts::{Belief, HostWay};
pub use self::ladder::ClientWays;
pub use self::lint::{Lint, LintKind};
pub use self::lookup::Lookup;
pub use self::names::OwnNames;
pub use self::needs::Needs;
pub use self::offer::{Answers, Offer, OwnArgument};
pub use self::pattern::{Pattern, PatternError};
pub use self::pin::{Known, Pin, Pins, Usage};
use self::profile::Defaults;
pub use self::profile::Profile;
use self::rule::{OnError, Rule};
pub use self::shadow::Shadow;
pub use self::trace::{Answer, BudgetTrace, DecidedBy, RuleOutcome, RuleTrace, Trace};
pub use self::words::RuleWords;
use crate::approvers::Reach;
use crate::budget::Sums;
use crate::call::{Presented, ToolCall};
use crate::class::{Class, ClassSource, Classified, Trust};
use crate::definition::ToolDefinition;
use crate::id::{BudgetName, ServerName, ToolName};
use crate::mode::Mode;
use crate::pace::Pace;
use crate::refusal::{Why, WireForm};
use crate::regime::Regime;
use crate::switch::OperatorSwitch;
use crate::token::TokenPrefix;
use crate::verdict::{Channel, Verdict};

/// Everything that decides about calls. Immutable: a changed configuration is another policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    profile: Option<Profile>,
    defaults: Defaults,
    token_prefix: TokenPrefix,
    token_errors: TokenErrors,
    otherwise: Otherwise,
    cover: Cover,
    /// Whether a yes may be remembered.
    grants: Grants,
    pace: Pace,
    /// Where a human may be asked, where the operator says so for all calls.
    channels: Option<Vec<Channel>>,
    /// What the gateway's own tools are called at some servers.
    names: BTreeMap<ServerName, OwnNames>,
    hosts: Vec<HostEntry>,
    budgets: BTreeMap<BudgetName, Budget>,
    rules: Vec<Rule>,
    /// What the scopes of clients mean.
    scopes: ScopePolicy,
    /// Where it is only tried.
    shadow: Shadow,
}

/// What is known about a call beyond the call itself.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The tool as its server describes it now.
    pub definition: &'a ToolDefinition,
    /// How far the server is believed.
    pub trust: Trust,
    /// What is known of the tool from earlier.
    pub known: Known<'a>,
    /// What humans have set for this caller.
    pub regime: &'a Regime,
    /// The operator's key.
    pub switch: OperatorSwitch,
    /// Who could say yes, and how well they would be proven.
    pub reach: &'a Reach,
    /// What the client can do for the human behind it.
    pub ways: ClientWays,
    /// The time.
    pub now: Timestamp,
    /// What the lookup of a rule found, where one was made.
    pub state: Option<&'a serde_json::Value>,
    /// What was spent in [`Policy::windows`]; what is not there is not known.
    pub spent: &'a Sums,
}

/// How errors about tokens are put on the wire (H6).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum TokenErrors {
    Error,
    ToolResult,
}

/// The end of the rules: what holds where none matches.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Otherwise {
    ByClass,
    Ask,
    Reject,
}

/// Whether humans may have a yes remembered (X4).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Grants {
    Allowed,
    Never,
}

/// Which tools the two keys cover (K4).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Cover {
    NotReadOnly,
    NotIdempotent,
}

impl Default for Policy {
    /// The policy where there is no configuration.
    fn default() -> Self {
        Self {
            profile: None,
            defaults: Defaults::of(None),
            token_prefix: TokenPrefix::default(),
            token_errors: TokenErrors::Error,
            otherwise: Otherwise::ByClass,
            cover: Cover::NotReadOnly,
            grants: Grants::Allowed,
            pace: Pace::default(),
            channels: None,
            names: BTreeMap::new(),
            hosts: Vec::new(),
            budgets: BTreeMap::new(),
            rules: Vec::new(),
            scopes: ScopePolicy::default(),
            shadow: Shadow::Off,
        }
    }
}

impl Policy {
    /// Says how dangerous a tool is. The first that speaks wins: a rule of the operator, a human who
    /// looked at this very definition, the server's own words as far as they are believed. Those
    /// count only for a definition that was accepted, or was there at the first use.
    pub fn classify(
        &self,
        server: &ServerName,
        definition: &ToolDefinition,
        trust: Trust,
        known: Known<'_>,
    ) -> Classified {
        if let Some((class, rule)) = self.class_by_rule(server, &definition.name) {
            return Classified { class, source: ClassSource::Rule(rule.to_owned()) };
        }
        match known {
            Known::FirstUse => definition.classify(trust),
            Known::Pinned(pin) if pin.definition == definition.digest => match pin.class {
                Some(class) => Classified { class, source: ClassSource::Pin },
                None => definition.classify(trust),
            },
            // X5: whoever accepted it, accepted something else.
            Known::Pinned(_) => Classified { class: Class::Dangerous, source: ClassSource::StalePin },
            Known::New => Classified { class: Class::Dangerous, source: ClassSource::NewTool },
        }
    }

    /// Decides about one call.
    pub fn decide(&self, call: ToolCall, presented: &Presented, facts: &Facts<'_>) -> Verdict {
        self.judge(&call, presented, facts, &mut |_, _| {}).into_verdict(call)
    }

    /// Decides like [`Self::decide`], and says why.
    pub fn explain(&self, call: &ToolCall, presented: &Presented, facts: &Facts<'_>) -> Trace {
        trace::explain(self, call, presented, facts)
    }

    /// What is allowed but probably not meant, in the order of the rules.
    pub fn lint(&self) -> Vec<Lint> {
        let mut lints = lint::rules(&self.rules);
        lints.extend(lint::budgets(self));
        lints
    }

    /// What happens to a tool of this class in this mode, as far as that can be said without a call.
    pub fn consequence(
        &self,
        server: &ServerName,
        definition: &ToolDefinition,
        trust: Trust,
        class: Class,
        mode: Mode,
    ) -> Consequence {
        consequence::of(self, server, definition, trust, class, mode)
    }

    /// The profile, if one is chosen.
    pub const fn profile(&self) -> Option<Profile> {
        self.profile
    }

    /// The mode where nothing else was set.
    pub const fn mode(&self) -> Mode {
        self.defaults.mode
    }

    /// Where a human may be asked unless a rule says otherwise, the preferred place first.
    fn default_channels(&self) -> &[Channel] {
        self.channels.as_deref().unwrap_or(self.defaults.channels)
    }

    /// How long a call may be held open while a human is asked elsewhere.
    pub const fn hold(&self) -> SignedDuration {
        self.defaults.hold
    }

    /// How long a modern client may go on waiting in rounds after that.
    pub const fn wait(&self) -> SignedDuration {
        self.defaults.wait
    }

    /// What is answered faster than this was not read by anybody.
    pub const fn reflex(&self) -> SignedDuration {
        self.defaults.reflex
    }

    /// How often a caller may ask.
    pub const fn pace(&self) -> Pace {
        self.pace
    }

    /// What the scopes of clients mean.
    pub const fn scopes(&self) -> &ScopePolicy {
        &self.scopes
    }

    /// What confirm tokens begin with.
    pub const fn token_prefix(&self) -> &TokenPrefix {
        &self.token_prefix
    }

    /// How a refusal is put on the wire (H6).
    pub const fn wire_form(&self, why: &Why) -> WireForm {
        match self.token_errors {
            TokenErrors::Error => why.wire_form(),
            TokenErrors::ToolResult => WireForm::ToolError,
        }
    }

    /// The class that a rule gives a tool whatever the call is, with the rule's name.
    fn class_by_rule(&self, server: &ServerName, tool: &ToolName) -> Option<(Class, &str)> {
        self.rules
            .iter()
            .filter(|rule| rule.when.is_none() && rule.tool.matches(server, tool))
            .find_map(|rule| Some((rule.class?, rule.name.as_str())))
    }

    /// The rule that decides about a call. `look` is told what came of each rule on the way.
    fn first_match(&self, world: &World<'_>, look: &mut dyn FnMut(&Rule, RuleOutcome)) -> Option<Match<'_>> {
        let subject = world.subject();
        for (index, rule) in self.rules.iter().enumerate() {
            if !rule.tool.matches(subject.server, subject.tool) {
                look(rule, RuleOutcome::OtherTool);
                continue;
            }
            let spent = |name: &BudgetName| self.spent(rule, name, world);
            let error = match rule.when.as_ref().map(|when| when.holds(world, &spent)) {
                None | Some(Ok(true)) => {
                    look(rule, RuleOutcome::Matched);
                    None
                }
                Some(Ok(false)) => {
                    look(rule, RuleOutcome::ConditionFalse);
                    continue;
                }
                Some(Err(error)) => match rule.on_error() {
                    OnError::Skip => {
                        look(rule, RuleOutcome::SkippedOnError { error: error.to_string() });
                        continue;
                    }
                    OnError::Match | OnError::Ask => {
                        look(rule, RuleOutcome::MatchedOnError { error: error.to_string() });
                        Some(error)
                    }
                },
            };
            return Some(Match { index, rule, error });
        }
        None
    }
}

/// The rule that decides about a call, and whether it does so because its condition has no answer.
#[derive(Debug)]
struct Match<'p> {
    index: usize,
    rule: &'p Rule,
    error: Option<ConditionError>,
}

/// The keys of the whole configuration.
const TOP_KEYS: [&str; 26] = [
    "profile",
    "shadow",
    "mode",
    "channel",
    "token_prefix",
    "token_errors",
    "otherwise",
    "cover",
    "own_tools",
    "clients",
    "grants",
    "asking",
    "times",
    "serve",
    "ledger",
    "checkpoints",
    "notices",
    "pages",
    "mail",
    "sign_in",
    "oauth",
    "telemetry",
    "servers",
    "routes",
    "budgets",
    "rules",
];
const TIME_KEYS: [&str; 7] = ["token", "decide", "run", "hold", "wait", "cool_off", "reflex"];
const ASKING_KEYS: [&str; 4] = ["breaker", "window", "per_minute", "open"];
const SERVE_KEYS: [&str; 7] = ["listen", "public_url", "hosts", "origins", "proxies", "times", "limits"];
const SERVE_TIME_KEYS: [&str; 7] = ["headers", "body", "idle", "call", "outcome", "session", "drain"];
const SERVE_LIMIT_KEYS: [&str; 11] = [
    "connections",
    "connections_per_address",
    "streams",
    "streams_per_caller",
    "sessions",
    "sessions_per_caller",
    "body",
    "answer",
    "bytes",
    "bytes_per_caller",
    "children",
];
const LEDGER_KEYS: [&str; 3] = ["at", "keep", "ha"];
const CHECKPOINT_KEYS: [&str; 5] = ["file", "webhook", "rows", "every", "refuse_after"];
const PAGES_KEYS: [&str; 2] = ["wrap", "port"];
const NOTICE_KEYS: [&str; 4] = ["desktop", "webhook", "mail", "remind"];
const SIGN_IN_KEYS: [&str; 1] = ["oidc"];
const OIDC_KEYS: [&str; 7] = ["issuer", "client_id", "client_secret", "name", "org", "subjects", "new"];
const OAUTH_KEYS: [&str; 9] =
    ["enabled", "registration", "schemes", "documents", "times", "limits", "scopes", "clients", "external"];
const DOCUMENT_KEYS: [&str; 4] = ["from", "except", "authorities", "this_machine"];
const OAUTH_TIME_KEYS: [&str; 8] =
    ["code", "access", "refresh", "retry", "longest", "unbound", "unused", "fresh"];
const OAUTH_LIMIT_KEYS: [&str; 8] = [
    "unbound",
    "unbound_per_address",
    "parked",
    "devices",
    "register_per_minute",
    "token_per_minute",
    "token_per_address",
    "authorize_per_address",
];
const SCOPE_KEYS: [&str; 6] = ["says", "tools", "classes", "includes", "usual", "fresh"];
const KNOWN_CLIENT_KEYS: [&str; 6] = ["name", "redirect_uris", "method", "secret", "introspects", "retry"];
const EXTERNAL_KEYS: [&str; 5] = ["issuer", "keys", "org", "user", "client"];
const MAIL_KEYS: [&str; 4] = ["from", "via", "user", "password"];
const WEBHOOK_KEYS: [&str; 2] = ["url", "secret"];
const TELEMETRY_KEYS: [&str; 2] = ["otlp", "metrics"];
const SERVER_KEYS: [&str; 15] = [
    "command",
    "folder",
    "env",
    "pass_env",
    "url",
    "insecure",
    "headers",
    "auth",
    "scopes",
    "client_id",
    "client_secret",
    "client_metadata_url",
    "prefix",
    "era",
    "trusted",
];
const FALLBACK_KEYS: [&str; 2] = ["after", "approvers"];
const RULE_KEYS: [&str; 22] = [
    "name",
    "tool",
    "when",
    "class",
    "then",
    "confirm",
    "preview",
    "type",
    "channel",
    "assurance",
    "quorum",
    "approvers",
    "fallback",
    "lookup",
    "noop_when",
    "reason",
    "summary",
    "next",
    "spend",
    "budget",
    "match",
    "not_match",
];
const BUDGET_KEYS: [&str; 5] = ["most", "per", "currency", "each", "over"];
const SPEND_KEYS: [&str; 3] = ["amount", "currency", "recipient"];
const OWN_TOOL_KEYS: [&str; 3] = ["approve", "reject", "status"];
const CLIENT_KEYS: [&str; 1] = ["ways"];
const PREVIEW_KEYS: [&str; 3] = ["tool", "args", "text"];
const LOOKUP_KEYS: [&str; 2] = ["tool", "args"];
const EXAMPLE_KEYS: [&str; 4] = ["tool", "args", "state", "spent"];

/// The words for classes.
const CLASSES: [(&str, Class); 3] = [
    (Class::ReadOnly.as_str(), Class::ReadOnly),
    (Class::SafeWrite.as_str(), Class::SafeWrite),
    (Class::Dangerous.as_str(), Class::Dangerous),
];

#[cfg(test)]
mod tests;
