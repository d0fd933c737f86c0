//! `yesgate.toml` as a whole.

pub(super) mod address;
pub(super) mod checkpoints;
pub(super) mod ledger;
pub(super) mod limits;
pub(super) mod mail;
pub(super) mod notices;
pub(super) mod oauth;
pub(super) mod pages;
pub(super) mod prefix;
pub(super) mod proxies;
pub(super) mod remote;
pub(super) mod routes;
pub(super) mod serve;
pub(super) mod server;
pub(super) mod sign_in;
pub(super) mod variables;

use std::collections::{BTreeMap, BTreeSet};

use self::checkpoints::CheckpointsConfig;
use self::ledger::LedgerConfig;
use self::mail::MailConfig;
use self::notices::{ByMail, NoticesConfig};
use self::oauth::OAuthConfig;
use self::pages::PagesConfig;
use self::routes::Routes;
use self::serve::{ServeConfig, TelemetryConfig};
use self::server::ServerConfig;
use self::sign_in::OidcConfig;
use super::error::ConfigError;
use super::example::Example;
use super::profile::{Defaults, LONGEST_HOLD, Profile, Shown};
use super::reader::{Entry, Section, Source, shown};
use super::rule::{Rule, Then, channels};
use super::shadow::Shadow;
use super::{
    ASKING_KEYS, Cover, Grants, Lint, Otherwise, Policy, RULE_KEYS, TIME_KEYS, TOP_KEYS, TokenErrors, budget,
};
use crate::id::ServerName;
use crate::mode::Mode;
use crate::pace::Pace;
use crate::token::TokenPrefix;

/// A whole configuration. The default is what holds where there is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// What decides about calls.
    pub policy: Policy,
    /// The servers behind the gateway, by the operator's names.
    pub servers: BTreeMap<ServerName, ServerConfig>,
    /// Further paths of the REST front, each for one tool.
    pub routes: Routes,
    /// How clients of `yesgate serve` are met.
    pub serve: ServeConfig,
    /// How long what is stored is kept.
    pub ledger: LedgerConfig,
    /// Where marks of the audit trail are kept besides, where they are.
    pub checkpoints: Option<CheckpointsConfig>,
    /// Who is told that a question waits.
    pub notices: NoticesConfig,
    /// The pages of `yesgate wrap`.
    pub pages: PagesConfig,
    /// How mail leaves the gateway, where it does.
    pub mail: Option<MailConfig>,
    /// Who else says who people are, where somebody does.
    pub oidc: Option<OidcConfig>,
    /// How clients are connected.
    pub oauth: OAuthConfig,
    /// What is measured, and who is told.
    pub telemetry: TelemetryConfig,
    /// How many examples were tried, and held.
    pub examples: usize,
}

impl Config {
    /// Reads a configuration, and tries the examples in it.
    ///
    /// # Errors
    /// On the first thing that is unknown, ill-typed, contradictory or untrue.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let source = Source::new(text);
        let document = source.parse()?;
        let top = Section::open(source, document.get_ref(), 0, &TOP_KEYS)?;
        let servers = top
            .entry("servers")
            .map_or_else(|| Ok(BTreeMap::new()), |servers| server::parse_all(&servers))?;
        let routes = top.entry("routes").map(|routes| routes::parse(&routes, &servers)).transpose()?;
        let serve = top.entry("serve").map(|serve| ServeConfig::parse(&serve, &servers)).transpose()?;
        let ledger = top.entry("ledger").map(|entry| LedgerConfig::parse(&entry)).transpose()?;
        let checkpoints =
            top.entry("checkpoints").map(|entry| CheckpointsConfig::parse(&entry)).transpose()?;
        let notices = top.entry("notices").map(|entry| NoticesConfig::parse(&entry)).transpose()?;
        let pages = top.entry("pages").map(|entry| PagesConfig::parse(&entry)).transpose()?;
        let mail = top.entry("mail").map(|entry| MailConfig::parse(&entry)).transpose()?;
        refuse_mail_without_a_way(&top, notices.as_ref(), mail.as_ref())?;
        let oidc = top.entry("sign_in").map(|entry| sign_in::parse(&entry)).transpose()?.flatten();
        let oauth =
            top.entry("oauth").map(|entry| OAuthConfig::parse(&entry)).transpose()?.unwrap_or_default();
        oauth::reading::refuse_issuer(&top, serve.as_ref().unwrap_or(&ServeConfig::default()), &oauth)?;
        let telemetry = top.entry("telemetry").map(|entry| TelemetryConfig::parse(&entry)).transpose()?;
        let mut policy = parse_settings(&top)?;
        policy.scopes = oauth.scopes.clone();
        if let Some(budgets) = top.entry("budgets") {
            policy.budgets = budget::parse_all(&budgets)?;
        }
        let mut examples = Vec::new();
        if let Some(rules) = top.entry("rules") {
            for (index, entry) in rules.items()?.into_iter().enumerate() {
                let section = entry.section(&RULE_KEYS)?;
                let rule = Rule::parse(&section, index + 1)?;
                refuse_in_two_key(&policy, &rule, &section)?;
                policy.check_budgets(&rule, &section)?;
                policy.check_fallback(&rule, &section)?;
                examples.extend(Example::parse_all(&section, index)?);
                policy.rules.push(rule);
            }
            refuse_same_names(&policy, &rules)?;
        }
        for example in &examples {
            example.try_on(&policy)?;
        }
        Ok(Self {
            policy,
            servers,
            routes: routes.unwrap_or_default(),
            serve: serve.unwrap_or_default(),
            ledger: ledger.unwrap_or_default(),
            checkpoints,
            notices: notices.unwrap_or_default(),
            pages: pages.unwrap_or_default(),
            mail,
            oidc,
            oauth,
            telemetry: telemetry.unwrap_or_default(),
            examples: examples.len(),
        })
    }

    /// What is allowed but probably not meant, in the rules and between rules and servers.
    pub fn lint(&self) -> Vec<Lint> {
        let mut lints = self.policy.lint();
        let servers: Vec<&ServerName> = self.servers.keys().collect();
        lints.extend(super::lint::unknown_servers(&self.policy, &servers));
        lints.sort_by_key(Lint::line);
        lints
    }
}

fn parse_settings(top: &Section<'_>) -> Result<Policy, ConfigError> {
    let profile = top
        .entry("profile")
        .map(|name| name.word(&Profile::ALL.map(|profile| (profile.as_str(), profile))))
        .transpose()?;
    let mut defaults = Defaults::of(profile);
    if let Some(mode) = top.entry("mode") {
        defaults.mode = mode.word(&Mode::ALL.map(|mode| (mode.as_str(), mode)))?;
        refuse_lower_mode(profile, defaults.mode, &mode)?;
    }
    if let Some(times) = top.entry("times") {
        parse_times(&times.section(&TIME_KEYS)?, &mut defaults)?;
    }
    let (grants, shadow) = (parse_grants(top, profile)?, Shadow::parse(top, profile)?);
    let mut policy = Policy { profile, defaults, grants, shadow, ..Policy::default() };
    if let Some(asking) = top.entry("asking") {
        policy.pace = parse_asking(&asking.section(&ASKING_KEYS)?)?;
    }
    if let Some(prefix) = top.entry("token_prefix") {
        policy.token_prefix = TokenPrefix::try_from(prefix.text()?.to_owned())
            .map_err(|error| prefix.error(error.to_string()))?;
    }
    if let Some(channel) = top.entry("channel") {
        policy.channels = Some(channels(&channel)?);
    }
    if let Some(names) = top.entry("own_tools") {
        policy.names = super::names::parse_all(&names)?;
    }
    if let Some(clients) = top.entry("clients") {
        policy.hosts = super::hosts::parse_all(&clients)?;
    }
    if let Some(form) = top.entry("token_errors") {
        policy.token_errors =
            form.word(&[("error", TokenErrors::Error), ("tool_result", TokenErrors::ToolResult)])?;
    }
    if let Some(end) = top.entry("otherwise") {
        policy.otherwise = end.word(&[
            ("by-class", Otherwise::ByClass),
            ("ask", Otherwise::Ask),
            ("reject", Otherwise::Reject),
        ])?;
        if profile == Some(Profile::TwoKey) && policy.otherwise == Otherwise::Ask {
            return Err(
                end.error("the profile `two-key` asks nobody: `otherwise` can be `by-class` or `reject`")
            );
        }
    }
    if let Some(cover) = top.entry("cover") {
        policy.cover =
            cover.word(&[("not_read_only", Cover::NotReadOnly), ("not_idempotent", Cover::NotIdempotent)])?;
        if profile != Some(Profile::TwoKey) {
            return Err(cover.error("`cover` belongs to the profile `two-key`"));
        }
    }
    Ok(policy)
}

/// Two of the designs know of no yes but a fresh one; there, remembering has to be switched on.
fn parse_grants(top: &Section<'_>, profile: Option<Profile>) -> Result<Grants, ConfigError> {
    let usual = match profile {
        Some(Profile::Handshake | Profile::TwoKey) => Grants::Never,
        Some(Profile::Spend | Profile::Modes | Profile::Strict) | None => Grants::Allowed,
    };
    match top.entry("grants") {
        None => Ok(usual),
        Some(entry) => Ok(if entry.boolean()? { Grants::Allowed } else { Grants::Never }),
    }
}

fn parse_asking(section: &Section<'_>) -> Result<Pace, ConfigError> {
    let mut pace = Pace::default();
    for (key, bound) in
        [("breaker", &mut pace.breaker), ("per_minute", &mut pace.per_minute), ("open", &mut pace.open)]
    {
        let Some(entry) = section.entry(key) else { continue };
        let count = entry.count()?;
        *bound = u32::try_from(count).ok().filter(|count| *count > 0).ok_or_else(|| {
            entry
                .error(format!("`{key}` must be 1 or more"))
                .with_hint("to ask nobody at all, write otherwise = \"reject\"")
        })?;
    }
    if let Some(window) = section.entry("window") {
        pace.window = window.duration()?;
    }
    Ok(pace)
}

fn parse_times(section: &Section<'_>, defaults: &mut Defaults) -> Result<(), ConfigError> {
    let token = section.entry("token").map(|time| time.duration()).transpose()?;
    let decide = section.entry("decide").map(|time| time.duration()).transpose()?;
    let (times, shown) = (&mut defaults.times, &mut defaults.shown);
    match (token, decide) {
        (Some(token), Some(decide)) if decide < token => {
            return Err(section.required("decide")?.error("`decide` must not be shorter than `token`"));
        }
        (Some(token), Some(decide)) => {
            (times.token, times.decide) = (token, decide);
            *shown = Shown { token, decide };
        }
        // The one that was written holds, and the other gives way.
        (Some(token), None) => {
            (times.token, times.decide) = (token, times.decide.max(token));
            *shown = Shown { token, decide: shown.decide.max(token) };
        }
        (None, Some(decide)) => {
            (times.token, times.decide) = (times.token.min(decide), decide);
            *shown = Shown { token: shown.token.min(decide), decide };
        }
        (None, None) => {}
    }
    if let Some(run) = section.entry("run") {
        times.run = run.duration()?;
    }
    if let Some(wait) = section.entry("wait") {
        defaults.wait = wait.duration_or_none()?;
    }
    if let Some(reflex) = section.entry("reflex") {
        defaults.reflex = reflex.duration_or_none()?;
    }
    if let Some(cool_off) = section.entry("cool_off") {
        times.cool_off = cool_off.duration()?;
    }
    if let Some(hold) = section.entry("hold") {
        defaults.hold = hold.duration()?;
        if defaults.hold > LONGEST_HOLD {
            return Err(hold
                .error("`hold` can be 45s at most")
                .with_hint("most clients give up on a call after 60 seconds"));
        }
    }
    Ok(())
}

/// K4: the gate of two keys looks at nothing but the two keys, and nobody is asked who could raise a mode.
fn refuse_lower_mode(profile: Option<Profile>, mode: Mode, entry: &Entry<'_>) -> Result<(), ConfigError> {
    if profile != Some(Profile::TwoKey) || mode == Mode::Execute {
        return Ok(());
    }
    Err(entry
        .error(format!(
            "the profile `two-key` has no `{mode}` mode: nobody is asked there who could raise the mode"
        ))
        .with_hint(
            "leave `mode` out, since without both keys every call is a preview; or choose the profile `modes`",
        ))
}

/// K4: the gate of two keys looks at nothing but the two keys; a rule may only reject.
fn refuse_in_two_key(policy: &Policy, rule: &Rule, section: &Section<'_>) -> Result<(), ConfigError> {
    if policy.profile != Some(Profile::TwoKey) || (rule.then == Some(Then::Reject) && rule.class.is_none()) {
        return Ok(());
    }
    let culprit = ["then", "class", "confirm"].into_iter().find_map(|key| section.entry(key));
    let words = "the profile `two-key` has no exceptions for single tools: a rule can only reject";
    Err(culprit
        .map_or_else(|| section.error(words), |entry| entry.error(words))
        .with_hint("write then = \"reject\", or choose another profile"))
}

/// Notices by mail need mail.
fn refuse_mail_without_a_way(
    top: &Section<'_>,
    notices: Option<&NoticesConfig>,
    mail: Option<&MailConfig>,
) -> Result<(), ConfigError> {
    match (notices.map(|notices| notices.mail), mail, top.entry("notices")) {
        (Some(ByMail::Told), None, Some(entry)) => Err(entry
            .error("`mail` in [notices] needs [mail]")
            .with_hint("say there how mail leaves the gateway: `from` and `via`")),
        (Some(ByMail::Told | ByMail::Silent) | None, _, _) => Ok(()),
    }
}

/// Two rules of one name could not be told apart in the audit.
fn refuse_same_names(policy: &Policy, rules: &Entry<'_>) -> Result<(), ConfigError> {
    let mut seen = BTreeSet::new();
    for (rule, entry) in policy.rules.iter().zip(rules.items()?) {
        if !seen.insert(&rule.name) {
            return Err(entry.error(format!("two rules are called `{}`", shown(&rule.name))));
        }
    }
    Ok(())
}
