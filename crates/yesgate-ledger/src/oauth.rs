//! Clients that people connect: registrations, requests that wait, connections, and the tokens under them.
//!
//! INVARIANT: each step is one transaction. A code and a refresh token are spent in the very transaction that stores what
//! comes of them, and only where the connection still counts in it: a revocation is never undone by what was under way.
//! Secrets are here as their hashes only.
//!
//! A connection that ends takes its tokens with it in the same transaction. What its client has asked is withdrawn in that
//! transaction too, or in the next one where the end was found out on the way to something else; what a crash left in
//! between, the sweep withdraws.

mod asking;
pub(crate) mod change;
mod clients;
pub(crate) mod ending;
pub(crate) mod sweeping;
mod tokens;

use jiff::{SignedDuration, Timestamp};
use yesgate_core::id::{ConnectionId, PersonId, SessionId};
use yesgate_core::oauth::{Access, Code, CodeFault, Connection, End, OAuthClientId, Resources, Scopes};
use yesgate_core::person::Person;
use yesgate_core::secret::SecretHash;

/// There is no room for one more of something that strangers can make.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NoRoom;

/// How many clients there may be that strangers made and nobody has allowed anything.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Room {
    /// Of everybody together.
    pub all: u32,
    /// Of one address.
    pub each: u32,
}

/// A connection as the ledger knows it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct KeptConnection {
    /// What was allowed.
    pub connection: Connection,
    /// When it was last used; known to the minute.
    pub used_at: Timestamp,
    /// From where, and by what: the address and the `User-Agent` of the last use.
    pub used_from: Option<String>,
    /// Since when it counts no more, and why.
    pub ended: Option<(Timestamp, End)>,
}

/// Whoever comes with an access token that counts.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Admitted {
    /// What the token allows.
    pub access: Access,
    /// The connection that it is under.
    pub kept: KeptConnection,
    /// Whose it is.
    pub person: Person,
}

/// Tokens that are about to count.
#[derive(Clone, Copy, Debug)]
pub struct NewTokens {
    /// The access token.
    pub access: SecretHash,
    /// How long it counts.
    pub access_for: SignedDuration,
    /// The refresh token, where the client gets one, and how long it counts.
    pub refresh: Option<(SecretHash, SignedDuration)>,
    /// How long a connection lasts at most. No token under it counts longer.
    pub longest: Option<SignedDuration>,
}

/// What the tokens that were issued allow.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Issued {
    /// Under which connection.
    pub connection: ConnectionId,
    /// What they allow.
    pub scopes: Scopes,
    /// Where.
    pub resources: Resources,
    /// How long the access token counts.
    pub access_for: SignedDuration,
}

/// What came of a code.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Exchanged {
    /// Tokens.
    Tokens(Issued),
    /// Nothing, for this reason.
    Fault(CodeFault),
    /// There is no such code, or what it stood for has ended.
    Unknown,
}

/// A refresh token that is presented.
#[derive(Clone, Debug)]
pub struct Refreshing {
    /// The token.
    pub token: SecretHash,
    /// The client, who has proven itself.
    pub client: OAuthClientId,
    /// The scopes that it wants; `None`: all that it has. What it does not have is left out.
    pub scopes: Option<Scopes>,
    /// Where it wants to use the token; empty: wherever it may.
    pub resources: Resources,
    /// The tokens that count afterwards. Their refresh token is always there.
    pub new: NewTokens,
    /// The successor, sealed under the token that is presented.
    pub sealed: Vec<u8>,
    /// How long a used token brings the same successor again.
    pub window: SignedDuration,
}

/// What came of a refresh token.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Refreshed {
    /// The new tokens count.
    Rotated(Issued),
    /// It was used a moment ago: the new access token counts, and the refresh token is the one sealed here.
    Again(Issued, Vec<u8>),
    /// It came back too late: the connection has ended.
    Reused(ConnectionId),
    /// It is good for other resources. Nothing happened.
    OtherResource,
    /// There is no such token of this client, or it counts no more.
    Unknown,
}

/// What came of an answer to a request that was parked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ParkedAnswer {
    /// It holds.
    Done,
    /// Somebody had answered already; nothing changed.
    Already,
    /// There is no such request, or it is too old, or was shown to another browser.
    Gone,
}

/// What came of an answer to a client without a browser.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DeviceAnswered {
    /// It holds.
    Done,
    /// There is no such request, or it is too old, or was answered.
    Gone,
}

/// What a person says to a client.
#[derive(Clone, Debug)]
pub enum Consent {
    /// Yes, from this session of its person: this connection. `Some`: and this code, by its hash. Where the session has
    /// ended meanwhile there is no yes.
    Yes(Box<Connection>, Option<(SecretHash, Code)>, SessionId),
    /// No, says this person.
    No(PersonId),
}

/// What a revocation of everything of one person ended.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct EndedAll {
    /// Signed-in browsers.
    pub sessions: usize,
    /// Connections.
    pub connections: usize,
    /// Bearer keys.
    pub keys: usize,
    /// Clients that had registered and were theirs alone.
    pub clients: usize,
    /// Questions that were withdrawn.
    pub intents: usize,
}
