//! A request for authorization that waits for its person.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::client::OAuthClientId;
use super::code::{Challenge, Code};
use super::connection::Connection;
use super::resource::Resources;
use super::scope::Scopes;
use crate::secret::SecretHash;

/// What a client asks for, and where the answer goes. Everything in it was checked.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Parked {
    /// The client.
    pub client: OAuthClientId,
    /// Where the answer goes: one of the client's own addresses.
    pub redirect_uri: String,
    /// What the client wants to hear back.
    pub state: Option<String>,
    /// What the client will have to prove.
    pub challenge: Challenge,
    /// What it wants to do.
    pub scopes: Scopes,
    /// Where.
    pub resources: Resources,
    /// The browser to which it was shown.
    pub browser: SecretHash,
    /// Whether its person has to sign in anew first, whoever is signed in: since this moment.
    pub signed_in_since: Option<Timestamp>,
    /// When it came.
    pub made_at: Timestamp,
    /// What has become of it.
    pub state_of: ParkedState,
}

/// What has become of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParkedState {
    /// It waits.
    Waiting,
    /// It was answered; a second answer changes nothing.
    Answered,
}

impl Parked {
    /// How long one waits.
    pub const LIFETIME: SignedDuration = SignedDuration::from_mins(10);

    /// Whether it can still be answered.
    pub fn counts(&self, now: Timestamp) -> bool {
        now.duration_since(self.made_at) < Self::LIFETIME
    }

    /// Whether a connection and its code are an answer to it: for this client, to this address, and no more than was asked.
    pub fn is_answered_by(&self, connection: &Connection, code: &Code) -> bool {
        let is_for_it = connection.client == self.client
            && connection.redirect_uri.as_ref() == Some(&self.redirect_uri)
            && connection.scopes.is_within(&self.scopes)
            && self.resources.cover_all(&connection.resources);
        let is_its_code = code.connection == connection.id
            && code.client == self.client
            && code.redirect_uri == self.redirect_uri
            && code.challenge == self.challenge
            && connection.resources.cover_all(&code.resources);
        is_for_it && is_its_code
    }
}
