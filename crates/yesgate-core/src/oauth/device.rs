//! A client without a browser that waits for a person to type its code (RFC 8628).

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::client::OAuthClientId;
use super::connection::Connection;
use super::resource::Resources;
use super::scope::Scopes;
use crate::id::ConnectionId;

/// What such a client asks for.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct DeviceRequest {
    /// The client.
    pub client: OAuthClientId,
    /// What it wants to do.
    pub scopes: Scopes,
    /// Where.
    pub resources: Resources,
    /// When it came.
    pub made_at: Timestamp,
    /// How long it has to wait between two looks, in seconds.
    pub interval: u32,
    /// When it last looked.
    pub polled_at: Option<Timestamp>,
    /// What its person said.
    pub answer: DeviceAnswer,
}

/// What became of it.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum DeviceAnswer {
    /// Nobody has answered.
    Waiting,
    /// Somebody said no.
    Denied,
    /// Somebody said yes; the tokens were not fetched.
    Allowed {
        /// What came of it.
        connection: ConnectionId,
    },
    /// The tokens were fetched.
    Fetched {
        /// What came of it.
        connection: ConnectionId,
    },
}

/// What a client hears when it looks.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Poll {
    /// Go on looking.
    Pending,
    /// Look less often.
    SlowDown,
    /// No.
    Denied,
    /// Too late.
    Expired,
    /// Yes, once.
    Allowed(ConnectionId),
    /// It was fetched before.
    Spent,
}

impl DeviceRequest {
    /// How long one waits.
    pub const LIFETIME: SignedDuration = SignedDuration::from_mins(10);
    /// How long a client waits between two looks, in seconds.
    pub const INTERVAL: u32 = 5;

    /// Whether it can still be answered.
    pub fn counts(&self, now: Timestamp) -> bool {
        now.duration_since(self.made_at) < Self::LIFETIME
    }

    /// Whether somebody can still answer it, and nobody has.
    pub fn waits(&self, now: Timestamp) -> bool {
        let is_open = match self.answer {
            DeviceAnswer::Waiting => true,
            DeviceAnswer::Denied | DeviceAnswer::Allowed { .. } | DeviceAnswer::Fetched { .. } => false,
        };
        is_open && self.counts(now)
    }

    /// Whether a connection is an answer to it: for this client, and no more than was asked.
    pub fn is_answered_by(&self, connection: &Connection) -> bool {
        connection.client == self.client
            && connection.redirect_uri.is_none()
            && connection.scopes.is_within(&self.scopes)
            && self.resources.cover_all(&connection.resources)
    }

    /// What the client hears now; the look is noted.
    pub fn poll(&mut self, now: Timestamp) -> Poll {
        let interval = SignedDuration::from_secs(self.interval.into());
        let is_early = self.polled_at.is_some_and(|last| now.duration_since(last) < interval);
        self.polled_at = Some(now);
        match &self.answer {
            DeviceAnswer::Fetched { .. } => Poll::Spent,
            DeviceAnswer::Waiting | DeviceAnswer::Denied | DeviceAnswer::Allowed { .. }
                if !self.counts(now) =>
            {
                Poll::Expired
            }
            DeviceAnswer::Denied => Poll::Denied,
            DeviceAnswer::Allowed { connection } => {
                let connection = connection.clone();
                self.answer = DeviceAnswer::Fetched { connection: connection.clone() };
                Poll::Allowed(connection)
            }
            DeviceAnswer::Waiting if is_early => {
                // RFC 8628 §3.5: from here on, five seconds more.
                self.interval = self.interval.saturating_add(5).min(60);
                Poll::SlowDown
            }
            DeviceAnswer::Waiting => Poll::Pending,
        }
    }
}
