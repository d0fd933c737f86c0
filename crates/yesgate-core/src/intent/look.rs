//! What surfaces and the ledger read off an intent.

use jiff::Timestamp;

use super::{Asker, Awaited, Decision, Intent, State, StoredResult};
use crate::digest::CallDigest;
use crate::id::{BootId, IntentId};
use crate::render::Sanitized;
use crate::token::ConfirmTokenHash;
use crate::verdict::Question;

impl Intent {
    /// Its id.
    pub const fn id(&self) -> &IntentId {
        &self.id
    }

    /// What was asked.
    pub const fn question(&self) -> &Question {
        &self.question
    }

    /// What a yes to it is bound to.
    pub const fn digest(&self) -> CallDigest {
        self.digest
    }

    /// The process that asked.
    pub const fn asked_by(&self) -> &Asker {
        &self.asked_by
    }

    /// Where it stands.
    pub const fn state(&self) -> State {
        self.state
    }

    /// When it was opened.
    pub const fn opened_at(&self) -> Timestamp {
        self.opened_at
    }

    /// Until when a human may decide.
    pub const fn decide_by(&self) -> Timestamp {
        self.decide_by
    }

    /// Until when the yes may be used.
    pub const fn run_by(&self) -> Option<Timestamp> {
        self.run_by
    }

    /// The hash of the token that is valid now.
    pub const fn token(&self) -> Option<&ConfirmTokenHash> {
        self.token.as_ref()
    }

    /// Until when the token is valid.
    pub const fn token_by(&self) -> Option<Timestamp> {
        self.token_by
    }

    /// The yes or no, once there is one.
    pub const fn decision(&self) -> Option<&Decision> {
        self.decision.as_ref()
    }

    /// What the preview said when it was made again and had changed: the question is void since.
    pub fn preview_now(&self) -> Option<&[Sanitized]> {
        self.preview_now.as_deref()
    }

    /// Whether the agent's own call waits for the answer.
    pub const fn awaited(&self) -> Awaited {
        self.awaited
    }

    /// The process that ran it.
    pub const fn boot(&self) -> Option<&BootId> {
        self.boot.as_ref()
    }

    /// What the server answered.
    pub const fn result(&self) -> Option<&StoredResult> {
        self.result.as_ref()
    }

    /// Whether the agent has had the result.
    pub const fn handed_over(&self) -> bool {
        self.handed_over
    }
}
