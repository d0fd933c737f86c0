//! What the pages need of the operator's side: the configuration, the policy in force, the tools as they were last seen.
//!
//! The site never talks to the agent's side, and knows no configuration. Whoever has both implements [`Desk`].
//!
//! INVARIANT: what comes from an agent or a server comes as [`yesgate_core::render::Sanitized`], or as what is rendered
//! by us before it is shown.

use std::fmt::Debug;

use async_trait::async_trait;
use yesgate_core::intent::Intent;
use yesgate_core::refusal::Refusal;
use yesgate_core::verdict::Question;

/// The operator's side, as far as pages ask it.
#[async_trait]
pub trait Desk: Debug + Send + Sync {
    /// Puts a question anew with these arguments, as the policy in force judges them. Nothing is changed by it.
    async fn revise(&self, intent: &Intent, arguments: &str) -> Result<Revised, DeskError>;
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
