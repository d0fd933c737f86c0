//! What changes to clients and connections load and store, in whatever store.

use std::net::IpAddr;

use jiff::SignedDuration;
use yesgate_core::id::{ConnectionId, PersonId, SessionId};
use yesgate_core::oauth::{
    Access, Code, Connection, DeviceRequest, OAuthClient, OAuthClientId, Parked, Refresh,
};
use yesgate_core::person::{Person, Session};
use yesgate_core::secret::SecretHash;

use super::sweeping::Bounds;
use super::{KeptConnection, Room};

/// What a change is about.
#[derive(Clone, Debug)]
pub(crate) enum OAuthTarget {
    /// A client as it is known; and where it would be one too many of those that nobody has allowed anything, which of
    /// them goes first.
    Storing {
        /// The client.
        id: OAuthClientId,
        /// Whoever made it, where a stranger did.
        from: Option<IpAddr>,
        /// How many there may be.
        room: Room,
    },
    /// A client and its connections that count, and the open questions of their organisations.
    Client(OAuthClientId),
    /// How many requests are parked.
    Parking,
    /// How many clients without a browser wait, and the one under this typed code.
    Devising(SecretHash),
    /// A request that was parked, its client, who answers, and what they have allowed that client.
    Parked(SecretHash, Answering),
    /// The same of a client without a browser, by the code that is typed.
    Typed(SecretHash, Answering),
    /// A client without a browser, by the code that it holds, and what came of it.
    Device(SecretHash),
    /// A code, and its connection.
    Code(SecretHash),
    /// A refresh token, and its connection.
    Refresh(SecretHash),
    /// A token of either kind, and its connection.
    Token(SecretHash),
    /// A connection.
    InUse(ConnectionId),
    /// A connection, those that count and have the same caller, and the open questions of its organisation.
    Connection(ConnectionId),
    /// Everything of one person: everybody with their sessions and keys, all bearer keys, the connections of that person
    /// that count and those of others with the same clients, the registered clients that they ever allowed anything, and
    /// the open questions of their organisation.
    Person(PersonId),
    /// Some connections that have ended and whose questions were not withdrawn, those that count and have the same callers,
    /// and the open questions of their organisations.
    Unsettled,
    /// Some connections that nobody can use any more, and how many rows are too old.
    Sweep {
        /// How long a client is kept that nobody has allowed anything.
        unbound: SignedDuration,
        /// How long another one is kept after its last use.
        unused: SignedDuration,
    },
}

/// Who answers a request.
#[derive(Clone, Debug)]
pub(crate) struct Answering {
    /// The person.
    pub(crate) person: PersonId,
    /// From which of their sessions, where they say yes.
    pub(crate) session: Option<SessionId>,
}

/// What was loaded; what the target does not name is empty.
#[derive(Debug, Default)]
pub(crate) struct OAuthFound {
    /// The client.
    pub(crate) client: Option<OAuthClient>,
    /// How many there are of what has a bound, or is too old.
    pub(crate) count: u64,
    /// Whether there is room for another client that nobody has allowed anything.
    pub(crate) room: RoomFound,
    /// Registered clients that a person ever allowed anything, and that were not ended.
    pub(crate) clients: Vec<OAuthClient>,
    /// A request that was parked.
    pub(crate) parked: Option<Parked>,
    /// A client without a browser, and the hash of what it holds.
    pub(crate) device: Option<(SecretHash, DeviceRequest)>,
    /// A code.
    pub(crate) code: Option<Code>,
    /// A refresh token.
    pub(crate) refresh: Option<Refresh>,
    /// An access token.
    pub(crate) access: Option<Access>,
    /// The connection of what was looked up, ended or not, and whose it is.
    pub(crate) connection: Option<(KeptConnection, Person)>,
    /// Connections that count.
    pub(crate) connections: Vec<KeptConnection>,
    /// Connections whose questions are to be withdrawn.
    pub(crate) unsettled: Vec<Unsettled>,
    /// Whoever answers.
    pub(crate) person: Option<Person>,
    /// From which session.
    pub(crate) session: Option<Session>,
}

/// Whether there is room for another client that nobody has allowed anything.
#[derive(Debug, Default)]
pub(crate) enum RoomFound {
    /// There is.
    #[default]
    Free,
    /// There is none, and this is whose turn it is to go, if there is any: one that was never used, the oldest; else the
    /// one whose last use is longest ago. Where an address has as many as it may have, one of its own.
    Full(Option<Box<OAuthClient>>),
}

/// A connection that has ended, and whose questions were not withdrawn.
#[derive(Debug)]
pub(crate) struct Unsettled {
    /// The connection.
    pub(crate) connection: Connection,
    /// Who ended it.
    pub(crate) by: String,
}

/// Something to store. That a connection or a client ends is told by its audit row, and stored with that.
#[derive(Debug)]
pub(crate) enum OAuthWrite {
    /// A client, new or changed, and whoever made it, where a stranger did.
    Client(Box<OAuthClient>, Option<IpAddr>),
    /// A client came for something.
    ClientUsed(OAuthClientId),
    /// Somebody has allowed a client something.
    ClientBound(OAuthClientId),
    /// A client is not known any more.
    ForgetClient(OAuthClientId),
    /// A request that waits.
    Park(SecretHash, Box<Parked>),
    /// Requests that came before a moment are not known any more.
    ForgetParked(jiff::Timestamp),
    /// A request was answered.
    Answered(SecretHash, Box<Parked>),
    /// A client without a browser waits, under the hashes of what it holds and of what is typed.
    Device(SecretHash, SecretHash, Box<DeviceRequest>),
    /// It has changed.
    DeviceChanged(SecretHash, Box<DeviceRequest>),
    /// Those that came before a moment are not known any more.
    ForgetDevices(jiff::Timestamp),
    /// A connection that begins. Its audit row comes with the same change.
    Connection(Box<Connection>),
    /// A connection was used, and from where that was, if it is known.
    Used(ConnectionId, Option<String>),
    /// What was asked through an ended connection was withdrawn.
    Settled(ConnectionId),
    /// A code.
    Code(SecretHash, Box<Code>),
    /// A code that was not used is used up.
    CodeUsed(SecretHash),
    /// An access token.
    Access(SecretHash, Box<Access>),
    /// An access token counts no more.
    ForgetAccess(SecretHash),
    /// A refresh token.
    Refresh(SecretHash, Box<Refresh>),
    /// A refresh token that was not used has a successor, sealed like this; and so its predecessor's answer was not lost.
    Rotate(SecretHash, Box<Refresh>, Vec<u8>),
    /// What is too old is not known any more.
    Sweep(Bounds),
}
