//! A connection: what one person allowed one client, and the tokens under it.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::client::OAuthClientId;
use super::resource::Resources;
use super::scope::Scopes;
use crate::caller::Caller;
use crate::digest::{Digest, Hasher};
use crate::id::{ConnectionId, PersonId};
use crate::person::Person;

/// What one person allowed one client. All tokens under it live and die with it.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Connection {
    /// Its id.
    pub id: ConnectionId,
    /// Who allowed it.
    pub person: PersonId,
    /// Who is calling when a token of it is sent.
    pub caller: Caller,
    /// The client.
    pub client: OAuthClientId,
    /// What the client was called when it was allowed.
    pub client_name: Option<String>,
    /// The host that vouched for that client, where one did.
    pub verified_host: Option<String>,
    /// Where its code went; `None`: it was allowed by a typed code.
    pub redirect_uri: Option<String>,
    /// What it may do.
    pub scopes: Scopes,
    /// Where it may do it.
    pub resources: Resources,
    /// When it was allowed.
    pub made_at: Timestamp,
}

impl Connection {
    /// How exactly it is known when a connection was last used.
    pub const USED_STEP: SignedDuration = SignedDuration::from_mins(1);

    /// Whether a person can have allowed it: it calls for them, and for nobody else.
    pub fn is_of(&self, person: &Person) -> bool {
        let Caller { org, principal, .. } = &self.caller;
        self.person == person.id && *org == person.org && *principal == person.name
    }

    /// What tells whether a stored connection is still the one that was allowed.
    pub fn fingerprint(&self) -> Digest {
        let text = serde_json::to_string(self).unwrap_or_default();
        let mut hasher = Hasher::new("yesgate/connection/1");
        hasher.field(text.as_bytes());
        hasher.finish()
    }
}

/// Why a connection ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// A person revoked it.
    Revoked,
    /// The client itself gave it back.
    GivenBack,
    /// The client was ended, by a person or by itself.
    ClientEnded,
    /// Its person revoked everything, or was removed.
    PersonEnded,
    /// A refresh token came back that had been used long before: somebody has a copy.
    RefreshReused,
    /// A code came back that had been used before.
    CodeReplayed,
    /// The same person allowed the same client again, at the same place.
    Replaced,
    /// Nobody used it for as long as a refresh token lives.
    Idle,
}

impl End {
    /// Every reason.
    pub const ALL: [Self; 8] = [
        Self::Revoked,
        Self::GivenBack,
        Self::ClientEnded,
        Self::PersonEnded,
        Self::RefreshReused,
        Self::CodeReplayed,
        Self::Replaced,
        Self::Idle,
    ];

    /// The word that is stored.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Revoked => "revoked",
            Self::GivenBack => "given_back",
            Self::ClientEnded => "client_ended",
            Self::PersonEnded => "person_ended",
            Self::RefreshReused => "refresh_reused",
            Self::CodeReplayed => "code_replayed",
            Self::Replaced => "replaced",
            Self::Idle => "idle",
        }
    }
}

/// What an access token stands for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Access {
    /// Under which connection.
    pub connection: ConnectionId,
    /// What it allows: a part of what the connection does.
    pub scopes: Scopes,
    /// Where.
    pub resources: Resources,
    /// Until when.
    pub ends_at: Timestamp,
}

impl Access {
    /// What it allows under its connection: never more than that does, whatever was stored.
    #[must_use]
    pub fn under(self, connection: &Connection) -> Self {
        let resources = self.resources.0.into_iter().filter(|one| connection.resources.cover(one)).collect();
        Self { scopes: self.scopes.within(&connection.scopes), resources: Resources(resources), ..self }
    }
}
