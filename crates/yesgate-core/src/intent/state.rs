//! The states of a question, and the one function that moves them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Where a question stands.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Nobody has decided.
    Pending,
    /// A human said yes; it has not run.
    Approved,
    /// The one run was claimed; the call may have left.
    Running,
    /// It ended, and we know how.
    Done(DoneKind),
    /// It may have run; the answer is lost.
    Unknown,
    /// A human settled a lost answer.
    Resolved {
        /// Whether it ran.
        ran: bool,
    },
    /// A human said no.
    Denied,
    /// A clock ran out.
    Expired,
    /// It was withdrawn.
    Cancelled,
    /// A newer question took its place.
    Superseded,
    /// What it was bound to no longer holds.
    Voided,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DoneKind {
    /// The tool answered.
    Ok,
    /// The tool, or the server, answered with an error.
    ToolError,
    /// We know that no byte of it left.
    NotSent,
}

impl DoneKind {
    /// The word used in tables and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::ToolError => "tool_error",
            Self::NotSent => "not_sent",
        }
    }
}

/// What can happen to a question.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Event {
    /// A human says yes.
    Approve,
    /// A human says no.
    Deny,
    /// The one run is claimed.
    Redeem,
    /// The run ended.
    Finish(DoneKind),
    /// The run's answer is lost.
    Lose,
    /// A human settles a lost answer.
    Resolve {
        /// Whether it ran.
        ran: bool,
    },
    /// A clock runs out.
    Expire,
    /// It is withdrawn.
    Cancel,
    /// A newer question takes its place.
    Supersede,
    /// Its ground has changed.
    Void,
}

/// An event that a state has no place for.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a question that is {from} cannot do that")]
pub struct IllegalTransition {
    /// The state.
    pub from: State,
    /// The event.
    pub event: Event,
}

impl State {
    /// The state after an event: the whole state machine.
    ///
    /// # Errors
    /// When the event has no place in this state.
    pub fn after(self, event: Event) -> Result<Self, IllegalTransition> {
        match (self, event) {
            (Self::Pending, Event::Approve) => Ok(Self::Approved),
            (Self::Pending, Event::Deny) => Ok(Self::Denied),
            (Self::Approved, Event::Redeem) => Ok(Self::Running),
            (Self::Running, Event::Finish(done)) => Ok(Self::Done(done)),
            (Self::Running, Event::Lose) => Ok(Self::Unknown),
            (Self::Unknown, Event::Resolve { ran }) => Ok(Self::Resolved { ran }),
            (Self::Pending | Self::Approved, Event::Expire) => Ok(Self::Expired),
            (Self::Pending | Self::Approved, Event::Cancel) => Ok(Self::Cancelled),
            (Self::Pending | Self::Approved, Event::Supersede) => Ok(Self::Superseded),
            (Self::Pending | Self::Approved, Event::Void) => Ok(Self::Voided),
            // A no that comes after the yes and before the run withdraws it.
            (Self::Approved, Event::Deny) => Ok(Self::Cancelled),
            (Self::Pending, Event::Redeem | Event::Finish(_) | Event::Lose | Event::Resolve { .. })
            | (Self::Approved, Event::Approve | Event::Finish(_) | Event::Lose | Event::Resolve { .. })
            | (
                Self::Running,
                Event::Approve
                | Event::Deny
                | Event::Redeem
                | Event::Resolve { .. }
                | Event::Expire
                | Event::Cancel
                | Event::Supersede
                | Event::Void,
            )
            | (
                Self::Unknown,
                Event::Approve
                | Event::Deny
                | Event::Redeem
                | Event::Finish(_)
                | Event::Lose
                | Event::Expire
                | Event::Cancel
                | Event::Supersede
                | Event::Void,
            )
            | (
                Self::Done(_)
                | Self::Resolved { .. }
                | Self::Denied
                | Self::Expired
                | Self::Cancelled
                | Self::Superseded
                | Self::Voided,
                _,
            ) => Err(IllegalTransition { from: self, event }),
        }
    }

    /// The word used in tables and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Running => "running",
            Self::Done(_) => "done",
            Self::Unknown => "unknown",
            Self::Resolved { .. } => "resolved",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
            Self::Superseded => "superseded",
            Self::Voided => "voided",
        }
    }

    /// How its run ended, once that is known.
    pub const fn done(self) -> Option<DoneKind> {
        match self {
            Self::Done(done) => Some(done),
            Self::Pending
            | Self::Approved
            | Self::Running
            | Self::Unknown
            | Self::Resolved { .. }
            | Self::Denied
            | Self::Expired
            | Self::Cancelled
            | Self::Superseded
            | Self::Voided => None,
        }
    }

    /// Whether nothing more comes of it by itself.
    pub fn is_over(self) -> bool {
        self != Self::Pending && !self.is_under_way()
    }

    /// Whether nothing can come of it any more, and nobody has to look at it: a lost answer waits for a human.
    pub const fn is_settled(self) -> bool {
        match self {
            Self::Done(_)
            | Self::Resolved { .. }
            | Self::Denied
            | Self::Expired
            | Self::Cancelled
            | Self::Superseded
            | Self::Voided => true,
            Self::Pending | Self::Approved | Self::Running | Self::Unknown => false,
        }
    }

    /// Whether there is a yes whose run has not ended.
    pub fn is_under_way(self) -> bool {
        [Self::Approved, Self::Running].contains(&self)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
