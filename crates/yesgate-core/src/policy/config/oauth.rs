//! `[oauth]`: how clients are connected, and what their scopes mean.
//!
//! INVARIANT: a scope allows calls and never decides about them: there is no scope for saying yes.

pub(in crate::policy) mod reading;
mod scopes;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use jiff::SignedDuration;

use super::super::glob::ToolGlob;
use super::address::HttpUrl;
use super::variables::Template;
use crate::class::Class;
use crate::id::{OrgId, ScopeName, ServerName, ToolName};
use crate::oauth::{AuthMethod, Scopes};

/// How clients are connected.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OAuthConfig {
    /// Whether clients are connected by OAuth; `None`: where the gateway has a public URL.
    pub enabled: Option<bool>,
    /// Who may register.
    pub registration: Registration,
    /// Whose documents are taken.
    pub documents: Documents,
    /// Further private-use schemes that a redirect may have.
    pub schemes: Vec<String>,
    /// How long things count.
    pub times: OAuthTimes,
    /// How much there may be.
    pub limits: OAuthLimits,
    /// What scopes mean.
    pub scopes: ScopePolicy,
    /// Clients that the operator wrote down, by their ids.
    pub clients: BTreeMap<String, KnownClient>,
    /// Who else says who calls, instead of the gateway itself.
    pub external: Option<ExternalIssuer>,
}

/// Who may register a client (RFC 7591).
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Registration {
    /// Anybody.
    #[default]
    Open,
    /// Whoever has this token.
    WithToken(Template),
    /// Nobody.
    Off,
}

/// Whose documents are taken for a client (CIMD).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Documents {
    /// Which hosts.
    pub from: DocumentHosts,
    /// Hosts whose documents are never taken.
    pub denied: Vec<String>,
    /// A file with further authorities that documents' servers may be trusted by.
    pub authorities: Option<PathBuf>,
    /// Whether documents on this machine are taken. For trying things out.
    pub on_this_machine: bool,
}

/// Which hosts' documents are taken.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum DocumentHosts {
    /// Anybody's.
    #[default]
    Any,
    /// Only those of these hosts.
    Only(Vec<String>),
    /// Nobody's.
    Nobody,
}

/// How long things count.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct OAuthTimes {
    /// A code.
    pub code: SignedDuration,
    /// An access token.
    pub access: SignedDuration,
    /// A refresh token that nobody uses.
    pub refresh: SignedDuration,
    /// How long a used refresh token brings the same answer again.
    pub retry: SignedDuration,
    /// A connection at most, however much it is used; `None`: for ever.
    pub longest: Option<SignedDuration>,
    /// A registration that nobody ever allowed anything.
    pub unbound: SignedDuration,
    /// A registration after its last use.
    pub unused: SignedDuration,
    /// How fresh a sign-in has to be for scopes that want a fresh one.
    pub fresh: SignedDuration,
}

/// How much there may be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct OAuthLimits {
    /// Registrations that nobody has allowed anything.
    pub unbound: u32,
    /// Those of one address.
    pub unbound_per_address: u32,
    /// Requests for authorization that wait.
    pub parked: u32,
    /// Clients without a browser that wait.
    pub devices: u32,
    /// Registrations of one address in a minute.
    pub register_per_minute: u32,
    /// Requests of one client to the token endpoint in a minute.
    pub token_per_minute: u32,
    /// The same of one address.
    pub token_per_address: u32,
    /// Requests for authorization of one address in fifteen minutes.
    pub authorize_per_address: u32,
}

/// A client that the operator wrote down.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownClient {
    /// What people are told it is called.
    pub name: String,
    /// Where browsers may bring it codes.
    pub redirect_uris: Vec<String>,
    /// How it proves that it is the one.
    pub method: AuthMethod,
    /// Its secret, if it has one: always a variable.
    pub secret: Option<Template>,
    /// Whether it may ask about tokens (RFC 7662).
    pub introspects: bool,
    /// How long a used refresh token of it brings the same answer again; `None`: as long as anybody's.
    pub retry: Option<SignedDuration>,
}

/// Somebody else who says who calls.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ExternalIssuer {
    /// Its issuer, word for word.
    pub issuer: HttpUrl,
    /// Where its keys are; `None`: where its metadata says.
    pub keys: Option<HttpUrl>,
    /// Whose people they are.
    pub org: OrgId,
    /// Which claim names the user.
    pub user: String,
    /// Which claims may name the client, the first that is there.
    pub client: Vec<String>,
}

/// What scopes mean.
#[derive(Clone, Debug, PartialEq)]
pub struct ScopePolicy(BTreeMap<ScopeName, ScopeRule>);

/// What one scope means.
#[derive(Clone, Debug, PartialEq)]
pub struct ScopeRule {
    /// What people read when they are asked for it.
    pub says: String,
    /// Which tools; empty: those of all servers.
    pub(in crate::policy) tools: Vec<ToolGlob>,
    /// Which classes; `None`: all.
    pub classes: Option<BTreeSet<Class>>,
    /// The scopes that go without saying where this one was given.
    pub includes: Scopes,
    /// Whether a client that asks for nothing asks for this.
    pub is_usual: bool,
    /// Whether it is given only by somebody who has just signed in.
    pub wants_fresh: bool,
}

impl ScopePolicy {
    /// All scopes that there are.
    pub fn known(&self) -> Scopes {
        self.0.keys().cloned().collect()
    }

    /// Those that a client asks for which asks for nothing, and that challenges name.
    pub fn usual(&self) -> Scopes {
        self.0.iter().filter(|(_, rule)| rule.is_usual).map(|(name, _)| name.clone()).collect()
    }

    /// What one of them means.
    pub fn rule(&self, scope: &ScopeName) -> Option<&ScopeRule> {
        self.0.get(scope)
    }

    /// These and all that go without saying with them.
    #[must_use]
    pub fn with_included(&self, scopes: &Scopes) -> Scopes {
        let mut all = scopes.clone();
        loop {
            let more: Scopes = all
                .iter()
                .filter_map(|scope| self.0.get(scope))
                .flat_map(|rule| rule.includes.iter().cloned())
                .collect();
            if more.is_within(&all) {
                return all;
            }
            all = all.and(&more);
        }
    }

    /// Whether somebody who was given these scopes may call a tool.
    pub fn allows(&self, given: &Scopes, server: &ServerName, tool: &ToolName, class: Class) -> bool {
        self.with_included(given)
            .iter()
            .filter_map(|scope| self.0.get(scope))
            .any(|rule| rule.covers(server, tool, class))
    }

    /// The scopes of which one is needed to call a tool: those that allow the least first; `None`: no scope allows it.
    pub fn needed(&self, server: &ServerName, tool: &ToolName, class: Class) -> Option<&ScopeName> {
        let fitting = self.0.iter().filter(|(_, rule)| rule.covers(server, tool, class));
        fitting
            .min_by_key(|(name, _)| {
                self.with_included(&[(*name).clone()].into_iter().collect()).iter().count()
            })
            .map(|(name, _)| name)
    }
}

impl ScopeRule {
    fn covers(&self, server: &ServerName, tool: &ToolName, class: Class) -> bool {
        let is_named = self.tools.is_empty() || self.tools.iter().any(|glob| glob.matches(server, tool));
        is_named && self.classes.as_ref().is_none_or(|classes| classes.contains(&class))
    }
}

impl Default for ScopePolicy {
    /// Reading, and everything: what is dangerous waits for a person whatever was given.
    fn default() -> Self {
        let rule = |says: &str, classes: Option<BTreeSet<Class>>, includes: &str| ScopeRule {
            says: says.to_owned(),
            tools: Vec::new(),
            classes,
            includes: Scopes::read(includes),
            is_usual: true,
            wants_fresh: false,
        };
        let read = rule(
            "See which tools there are, and use those that only read",
            Some([Class::ReadOnly].into()),
            "",
        );
        let call = rule("Use every tool; what is dangerous waits for your yes each time", None, "mcp:read");
        let named = [("mcp:read", read), ("mcp:call", call)];
        Self(named.into_iter().filter_map(|(name, rule)| Some((name.parse().ok()?, rule))).collect())
    }
}

impl Default for OAuthTimes {
    fn default() -> Self {
        let days = |days: i64| SignedDuration::from_hours(24 * days);
        Self {
            code: SignedDuration::from_secs(60),
            access: SignedDuration::from_hours(1),
            refresh: days(30),
            retry: SignedDuration::from_secs(60),
            longest: None,
            unbound: days(7),
            unused: days(90),
            fresh: SignedDuration::from_mins(15),
        }
    }
}

impl Default for OAuthLimits {
    fn default() -> Self {
        Self {
            unbound: 10_000,
            unbound_per_address: 1_000,
            parked: 10_000,
            devices: 10_000,
            register_per_minute: 20,
            token_per_minute: 60,
            token_per_address: 600,
            authorize_per_address: 100,
        }
    }
}
