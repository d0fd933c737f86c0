//! What the pages need of the operator's side: the configuration, the policy in force, the tools as they were last seen.
//!
//! The site never talks to the agent's side, and knows no configuration. Whoever has both implements [`Desk`].
//!
//! INVARIANT: what comes from an agent or a server comes as [`yesgate_core::render::Sanitized`], or as what is rendered
//! by us before it is shown.

use std::fmt::Debug;

use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::Value;
use yesgate_core::class::Class;
use yesgate_core::digest::DefinitionDigest;
use yesgate_core::id::{KeyId, OrgId, ServerName, ToolName};
use yesgate_core::intent::Intent;
use yesgate_core::policy::RuleWords;
use yesgate_core::refusal::Refusal;
use yesgate_core::render::{Sanitized, TooLargeToReview};
use yesgate_core::verdict::Question;

/// The operator's side, as far as pages ask it.
#[async_trait]
pub trait Desk: Debug + Send + Sync {
    /// Puts a question anew with these arguments, as the policy in force judges them. Nothing is changed by it.
    async fn revise(&self, intent: &Intent, arguments: &str) -> Result<Revised, DeskError>;

    /// Every server that was seen, with its tools as they were last seen.
    async fn tools(&self) -> Result<Vec<ServerTools>, DeskError>;

    /// One tool, whole. `None`: there is no such tool.
    async fn tool(&self, server: &ServerName, tool: &ToolName) -> Result<Option<ToolLook>, DeskError>;

    /// Accepts one definition of a tool, with a class or as it is.
    async fn pin(&self, wish: PinWish, by: &str) -> Result<Pinned, DeskError>;

    /// What was spent in every budget, as far as people of this organisation may see it.
    async fn budgets(&self, org: &OrgId) -> Result<Vec<BudgetLine>, DeskError>;

    /// The policy in force.
    async fn policy(&self) -> Result<PolicyLook, DeskError>;

    /// What the policy in force says of a call that nobody makes; its words, where they are no call.
    async fn explain(&self, call: &CallWords) -> Result<Result<Vec<Sanitized>, Sanitized>, DeskError>;

    /// What the policy in force would say of calls that were asked about, one by one. `None`: their tool is described
    /// differently by now, or is gone.
    async fn hindsight(&self, intents: &[Intent]) -> Result<Vec<Option<Hindsight>>, DeskError>;

    /// The description of the whole API (OpenAPI), with the paths that the operator named.
    fn document(&self) -> Value;

    /// Revokes keys of agents. When it is done, none of them is let in any more.
    async fn revoke_clients(&self, keys: Vec<KeyId>, by: &str) -> Result<(), DeskError>;

    /// Has the door know the keys that count now: somebody has revoked some of them in the ledger.
    async fn look_at_keys_again(&self);
}

/// What becomes of a question whose arguments a human changed.
#[derive(Clone, Debug)]
pub enum Revised {
    /// It can be put like this, and a human's yes to it would run it.
    As(Box<Question>),
    /// The arguments are what they were.
    Same,
    /// It cannot be put.
    Refused(Refusal),
    /// The arguments are none; says why, in words that may have come from them.
    Unreadable(String),
}

/// The tools of one server.
#[derive(Clone, Debug)]
pub struct ServerTools {
    /// The server.
    pub server: ServerName,
    /// Its tools.
    pub tools: Vec<ToolLine>,
}

/// One tool in a list.
#[derive(Clone, Debug)]
pub struct ToolLine {
    /// Its name.
    pub name: ToolName,
    /// How dangerous it is.
    pub class: Class,
    /// How that is known.
    pub source: Sanitized,
    /// Whether its definition was accepted, in a word.
    pub standing: &'static str,
    /// Whether it waits for somebody to accept it.
    pub waits: bool,
    /// Whether somebody always has a say before it runs.
    pub asks: bool,
    /// What comes of a call in execute mode, in a word.
    pub executes: &'static str,
}

/// One tool, whole.
#[derive(Clone, Debug)]
pub struct ToolLook {
    /// What a list shows of it.
    pub line: ToolLine,
    /// What its definition is known by: whoever accepts it accepts this one.
    pub definition: DefinitionDigest,
    /// How its server describes it.
    pub says: Result<Vec<Sanitized>, TooLargeToReview>,
    /// How its server described it when it was accepted, where that was different and is still known.
    pub said: Option<Vec<Sanitized>>,
    /// The class that its words speak for.
    pub suggested: Class,
    /// Why.
    pub suggested_by: Sanitized,
}

/// What somebody wants to accept.
#[derive(Clone, Debug)]
pub struct PinWish {
    /// The server.
    pub server: ServerName,
    /// The tool.
    pub tool: ToolName,
    /// The definition that they saw.
    pub definition: DefinitionDigest,
    /// The class that they give it. `None`: its server's own words give one, as far as they are believed.
    pub class: Option<Class>,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Pinned {
    /// It is accepted.
    Done,
    /// The tool is another one by now, or gone: nothing was accepted.
    OtherByNow,
}

/// One budget, or one share of it.
#[derive(Clone, Debug)]
pub struct BudgetLine {
    /// Its name.
    pub name: String,
    /// Whose share it is.
    pub whose: Sanitized,
    /// What was spent, with its currency.
    pub spent: String,
    /// What may be.
    pub most: String,
    /// What is left.
    pub left: String,
    /// In which time.
    pub per: String,
    /// How much of it is spent, in percent.
    pub percent: u8,
    /// What happens to a call that would go over it.
    pub over: &'static str,
    /// When the first of it is free again.
    pub frees_at: Option<Timestamp>,
}

/// A policy, for people who want to know what is in force.
#[derive(Clone, Debug)]
pub struct PolicyLook {
    /// The file that it was read from, where there is one.
    pub file: Option<Sanitized>,
    /// The profile whose defaults hold.
    pub profile: &'static str,
    /// The mode.
    pub mode: &'static str,
    /// The rules, in order.
    pub rules: Vec<RuleWords>,
    /// What holds where none matches.
    pub otherwise: &'static str,
}

/// A call that nobody makes.
#[derive(Clone, Debug)]
pub struct CallWords {
    /// `SERVER/TOOL`.
    pub tool: String,
    /// Its arguments, as JSON.
    pub arguments: String,
}

/// What the policy in force would say of a call that was asked about.
#[derive(Clone, Debug)]
pub struct Hindsight {
    /// What would decide.
    pub decided_by: Sanitized,
    /// The verdict.
    pub verdict: Sanitized,
}

/// The desk cannot be asked now. It says why to the operator, not to the visitor.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct DeskError(String);

impl DeskError {
    /// With the reason.
    pub const fn new(why: String) -> Self {
        Self(why)
    }
}
