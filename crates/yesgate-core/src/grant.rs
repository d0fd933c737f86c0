//! A yes that a human wants remembered (X4): for which calls, how often and how long.
//!
//! INVARIANT: a grant is made from a human's yes to one question, and covers that very call. It belongs to one
//! caller, one server and one definition of one tool, always has a limit, and never proves more than the yes
//! that it was made from.

use std::collections::BTreeSet;
use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::assurance::Assurance;
use crate::caller::Caller;
use crate::digest::{Binding, CallDigest, DefinitionDigest, Digest, Hasher, ServerIdentity};
use crate::id::{GrantId, GroupName, IntentId, ServerName, ToolName};
use crate::intent::{Approver, Intent};
use crate::policy::Pattern;
use crate::verdict::{Question, Remember};

/// A yes that is remembered. What it says never changes; what became of it stands in a [`GrantRecord`].
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Grant {
    /// Its id.
    pub id: GrantId,
    /// The question whose yes it was made from.
    pub from: IntentId,
    /// Whose calls it covers.
    pub caller: Caller,
    /// On which server.
    pub server: ServerName,
    /// What that server is.
    pub identity: ServerIdentity,
    /// Of which tool.
    pub tool: ToolName,
    /// As the server defined it then.
    pub definition: DefinitionDigest,
    /// Which calls.
    pub scope: Scope,
    /// How often and how long.
    pub limits: Limits,
    /// How well a human was proven by the yes.
    pub assurance: Assurance,
    /// Who said yes.
    pub by: String,
    /// The groups that rules knew them by: it covers what these may say yes to.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub groups: BTreeSet<GroupName>,
    /// When.
    pub made_at: Timestamp,
}

/// Which calls of the tool a grant covers.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The very same call again.
    Exact(CallDigest),
    /// Calls whose arguments a condition holds for.
    Pattern(Pattern),
    /// Every call.
    Tool,
}

/// How often and how long a grant counts; there is always at least one limit.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    uses: Option<u32>,
    until: Option<Timestamp>,
}

/// What a human wishes to have remembered.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Wish {
    /// The id that the grant would get.
    pub id: GrantId,
    /// Which calls.
    pub scope: WishedScope,
    /// How often and how long.
    pub limits: Limits,
}

/// Which calls a human wishes to have covered.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum WishedScope {
    /// The same call again.
    Exact,
    /// Calls whose arguments a condition holds for.
    Pattern(Pattern),
    /// Every call of the tool.
    Tool,
}

/// A grant, and what has become of it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct GrantRecord {
    /// The grant.
    pub grant: Grant,
    /// How often it was used.
    pub used: u32,
    /// When it was taken back.
    pub revoked_at: Option<Timestamp>,
}

/// Whether a grant still counts.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It does.
    Live,
    /// It was used as often as it may be.
    UsedUp,
    /// Its time is over.
    Expired,
    /// It was taken back.
    Revoked,
}

impl Standing {
    /// The word used in tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::UsedUp => "used up",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
        }
    }
}

impl Limits {
    /// Puts limits together; `None`: there is none, or one that is over before it begins.
    pub fn new(uses: Option<u32>, until: Option<Timestamp>, now: Timestamp) -> Option<Self> {
        let any = uses.is_some() || until.is_some();
        (any && uses != Some(0) && until.is_none_or(|until| until > now)).then_some(Self { uses, until })
    }

    /// How often it may be used.
    pub const fn uses(&self) -> Option<u32> {
        self.uses
    }

    /// Until when it may be used.
    pub const fn until(&self) -> Option<Timestamp> {
        self.until
    }
}

impl Scope {
    /// The word used on the command line and in the audit.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Exact(_) => "exact",
            Self::Pattern(_) => "pattern",
            Self::Tool => "tool",
        }
    }

    fn covers(&self, binding: &Binding, now: Timestamp) -> bool {
        match self {
            Self::Exact(digest) => binding.digest() == *digest,
            Self::Pattern(pattern) => pattern.holds(binding, now),
            Self::Tool => true,
        }
    }

    /// Whether the policy lets a yes be remembered this far.
    const fn is_within(&self, remember: Remember) -> bool {
        match (self, remember) {
            (_, Remember::Never) | (Self::Pattern(_) | Self::Tool, Remember::ExactCall) => false,
            (Self::Exact(_), Remember::ExactCall) | (_, Remember::AnyScope) => true,
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(_) => f.write_str("exactly this call"),
            Self::Pattern(pattern) => write!(f, "calls where {}", pattern.as_str()),
            Self::Tool => f.write_str("every call of the tool"),
        }
    }
}

impl Grant {
    /// Makes a grant of a yes to a question that is open.
    ///
    /// # Errors
    /// With the reason why such a yes cannot be remembered.
    pub(crate) fn of(
        intent: &Intent,
        by: &Approver,
        wish: Wish,
        now: Timestamp,
    ) -> Result<Self, &'static str> {
        let Question { binding, remember, .. } = intent.question();
        let scope = match wish.scope {
            WishedScope::Exact => Scope::Exact(intent.digest()),
            WishedScope::Pattern(pattern) => Scope::Pattern(pattern),
            WishedScope::Tool => Scope::Tool,
        };
        if *remember == Remember::Never || !binding.is_tool_call() {
            return Err("the policy, or the kind of question, does not allow it");
        }
        if !question_is_theirs(intent.question(), &by.groups) {
            return Err("the rule names others, who did not answer; only their yes can be remembered");
        }
        if !scope.is_within(*remember) {
            return Err("the yes is bound to a preview, so only exactly this call can be remembered");
        }
        if !scope.covers(binding, now) {
            return Err("the pattern does not hold for the very call that it is made from");
        }
        Ok(Self {
            id: wish.id,
            from: intent.id().clone(),
            caller: binding.caller.clone(),
            server: binding.server.clone(),
            identity: binding.identity,
            tool: binding.tool.clone(),
            definition: binding.definition,
            scope,
            limits: wish.limits,
            // A key signs one question; what is remembered of it is that a person was there.
            assurance: by.assurance.min(Assurance::SignedIn),
            by: by.name.clone(),
            groups: by.groups.clone(),
            made_at: now,
        })
    }

    /// What tells whether a stored grant is still the one that was written down.
    pub fn fingerprint(&self) -> Digest {
        let text = serde_json::to_string(self).unwrap_or_default();
        let mut hasher = Hasher::new("yesgate/grant/1");
        hasher.field(text.as_bytes());
        hasher.finish()
    }
}

impl GrantRecord {
    /// Whether it still counts.
    pub fn standing(&self, now: Timestamp) -> Standing {
        let Limits { uses, until } = self.grant.limits;
        if self.revoked_at.is_some() {
            Standing::Revoked
        } else if until.is_some_and(|until| now >= until) {
            Standing::Expired
        } else if uses.is_some_and(|uses| self.used >= uses) {
            Standing::UsedUp
        } else {
            Standing::Live
        }
    }

    /// How many uses are left, where they are counted.
    pub fn uses_left(&self) -> Option<u32> {
        self.grant.limits.uses.map(|uses| uses.saturating_sub(self.used))
    }

    /// Whether it is a yes to this question. In doubt it is not, and a human is asked.
    pub fn covers(&self, question: &Question, now: Timestamp) -> bool {
        let Grant { caller, server, identity, tool, definition, scope, assurance, groups, .. } = &self.grant;
        let binding = &question.binding;
        self.standing(now) == Standing::Live
            && binding.is_tool_call()
            && *caller == binding.caller
            && *server == binding.server
            && *identity == binding.identity
            && *tool == binding.tool
            && *definition == binding.definition
            && scope.is_within(question.remember)
            && *assurance >= question.least
            && question_is_theirs(question, groups)
            && scope.covers(binding, now)
    }
}

/// Whether a question is for these groups from the start: who steps in where nobody answers does so each time.
fn question_is_theirs(question: &Question, groups: &BTreeSet<GroupName>) -> bool {
    question.approvers.as_ref().is_none_or(|named| !named.groups.is_disjoint(groups))
}

#[cfg(test)]
mod tests;
