//! Refresh tokens: each is used once, and whoever lost the answer may ask again for a little while.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::id::ConnectionId;

/// A refresh token as the ledger knows it.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Refresh {
    /// Under which connection.
    pub connection: ConnectionId,
    /// Which one it is, counted from 1.
    pub generation: u32,
    /// Until when it counts if nobody uses it.
    pub ends_at: Timestamp,
    /// What became of it, where it was used.
    pub rotated: Option<Rotated>,
}

/// A refresh token was used, and has a successor.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Rotated {
    /// When.
    pub at: Timestamp,
    /// The successor, sealed so that only whoever holds the used token can open it.
    pub sealed: Vec<u8>,
    /// Whether the successor itself was used since: then nobody has lost its answer.
    pub successor_used: bool,
}

/// What is to be done with a refresh token that is presented.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Presented {
    /// It gets a successor.
    Rotate,
    /// It has one, and whoever asks may have lost it: the same one again.
    Again,
    /// It came back when nobody can have lost anything: somebody has a copy. The connection ends.
    Reused,
    /// Nobody used it for too long.
    Idle,
}

impl Refresh {
    /// What is to be done with it.
    pub fn present(&self, window: SignedDuration, now: Timestamp) -> Presented {
        match &self.rotated {
            None if now < self.ends_at => Presented::Rotate,
            None => Presented::Idle,
            Some(rotated) if now.duration_since(rotated.at) < window && !rotated.successor_used => {
                Presented::Again
            }
            Some(_) => Presented::Reused,
        }
    }
}
