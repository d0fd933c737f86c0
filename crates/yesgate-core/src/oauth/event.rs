//! What happened to clients and connections, for the audit trail.
//!
//! INVARIANT: no secret and no hash of one stands in an event, and nothing that strangers alone can make happen without a
//! bound is one.

use serde::{Deserialize, Serialize};

use super::client::OAuthClientId;
use super::connection::End;
use super::resource::Resources;
use super::scope::Scopes;
use crate::caller::Caller;
use crate::digest::Digest;
use crate::id::{ConnectionId, PersonId};

/// One step.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum OAuthEvent {
    /// Somebody allowed a client something.
    Connected {
        /// As which connection.
        connection: ConnectionId,
        /// Who.
        person: PersonId,
        /// Who is calling from here on.
        caller: Caller,
        /// The client.
        client: OAuthClientId,
        /// What it may do.
        scopes: Scopes,
        /// Where.
        resources: Resources,
        /// What tells whether the stored connection is still this one.
        fingerprint: Digest,
        /// How they were asked.
        way: Way,
    },
    /// Somebody did not.
    ConsentDenied {
        /// Who.
        person: PersonId,
        /// The client.
        client: OAuthClientId,
    },
    /// A client has its first tokens.
    Issued {
        /// Under which connection.
        connection: ConnectionId,
    },
    /// A client has its next tokens.
    Refreshed {
        /// Under which connection.
        connection: ConnectionId,
        /// Which refresh token it has now.
        generation: u32,
    },
    /// A client gave an access token back. The connection goes on.
    AccessGivenBack {
        /// Under which connection.
        connection: ConnectionId,
    },
    /// A connection ended: no token of it counts.
    Ended {
        /// Which.
        connection: ConnectionId,
        /// Why.
        why: End,
        /// By whom.
        by: String,
    },
    /// A client was ended, with all that people had allowed it.
    ClientEnded {
        /// Which.
        client: OAuthClientId,
        /// By whom.
        by: String,
    },
    /// Somebody did not prove to be the client that they said they are. Written down now and then, not every time.
    Unproven {
        /// Which, where there is such a client.
        client: Option<OAuthClientId>,
        /// At what. `at` is when, in every row.
        #[serde(rename = "endpoint")]
        at: String,
    },
}

/// How somebody was asked.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// In the browser that the client opened.
    Browser,
    /// By a code that they typed.
    Device,
}
