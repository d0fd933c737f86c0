//! Clients, connections and what is under them as rows.

pub(super) mod clients;
pub(super) mod connections;
pub(crate) mod schema;
pub(super) mod tokens;
pub(super) mod waiting;

use jiff::Timestamp;
use yesgate_core::oauth::{DeviceAnswer, DeviceRequest, OAuthEvent};
use yesgate_core::person::{Person, Session};

use super::rows::{self, Loaded};
use super::{keys, people};
use crate::change::{CHUNK, Found};
use crate::engine::value::{Value, values};
use crate::engine::{Expected, Sql};
use crate::error::LedgerError;
use crate::head::nanoseconds;
use crate::oauth::KeptConnection;
use crate::oauth::change::{Answering, OAuthFound, OAuthTarget, OAuthWrite};
use crate::oauth::sweeping::Bounds;
use crate::seal::Seal;

/// Loads what a change is about.
pub(super) fn found(
    connection: &dyn Sql,
    target: &OAuthTarget,
    found: Found,
    now: Timestamp,
) -> Result<Found, LedgerError> {
    let oauth = match target {
        OAuthTarget::Storing { id, from, room } => OAuthFound {
            client: clients::one(connection, id)?,
            room: clients::room(connection, *from, *room)?,
            ..OAuthFound::default()
        },
        OAuthTarget::Client(id) => OAuthFound {
            client: clients::one(connection, id)?,
            connections: connections::of_client(connection, id)?,
            ..OAuthFound::default()
        },
        OAuthTarget::Parking => {
            OAuthFound { count: waiting::count_parked(connection, now)?, ..OAuthFound::default() }
        }
        OAuthTarget::Devising(user) => OAuthFound {
            count: waiting::count_devices(connection, now)?,
            device: waiting::typed(connection, user)?,
            ..OAuthFound::default()
        },
        OAuthTarget::Parked(ticket, who) => {
            let parked = waiting::parked(connection, ticket)?;
            let client = parked.as_ref().map(|parked| &parked.client);
            OAuthFound { parked: parked.clone(), ..answering(connection, who, client)? }
        }
        OAuthTarget::Typed(user, who) => {
            let device = waiting::typed(connection, user)?;
            let client = device.as_ref().map(|(_, request)| &request.client);
            OAuthFound { device: device.clone(), ..answering(connection, who, client)? }
        }
        OAuthTarget::Device(device) => {
            let device = waiting::device(connection, device)?;
            let id = device.as_ref().and_then(|(_, request)| connection_of(request));
            let kept = id.map(|id| connections::one(connection, id)).transpose()?.flatten();
            OAuthFound { device, connection: kept, ..OAuthFound::default() }
        }
        OAuthTarget::Code(hash) => {
            let code = tokens::code(connection, hash)?;
            let kept =
                code.as_ref().map(|code| connections::one(connection, &code.connection)).transpose()?;
            OAuthFound { code, connection: kept.flatten(), ..OAuthFound::default() }
        }
        OAuthTarget::Refresh(hash) => with_refresh(connection, hash)?,
        OAuthTarget::Token(hash) => match tokens::access(connection, hash)? {
            Some((access, kept, person)) => {
                OAuthFound { access: Some(access), connection: Some((kept, person)), ..OAuthFound::default() }
            }
            None => with_refresh(connection, hash)?,
        },
        OAuthTarget::InUse(id) => {
            OAuthFound { connection: connections::one(connection, id)?, ..OAuthFound::default() }
        }
        OAuthTarget::Connection(id) => {
            let kept = connections::one(connection, id)?;
            let callers = kept.as_ref().map(|(kept, _)| connections::of_caller(connection, kept));
            OAuthFound {
                connection: kept.clone(),
                connections: callers.transpose()?.unwrap_or_default(),
                ..OAuthFound::default()
            }
        }
        OAuthTarget::Person(id) => {
            let oauth = OAuthFound {
                clients: clients::of_person(connection, id)?,
                connections: connections::around(connection, id)?,
                ..OAuthFound::default()
            };
            return Ok(Found {
                oauth,
                people: people::people(connection)?,
                sessions: people::sessions(connection)?,
                credentials: people::credentials(connection)?,
                keys: keys::all(connection)?,
                ..found
            });
        }
        OAuthTarget::Unsettled => {
            let unsettled = connections::unsettled(connection, CHUNK)?;
            let mut living = Vec::new();
            for one in &unsettled {
                living.extend(connections::with_caller(connection, &one.connection.caller)?);
            }
            OAuthFound { unsettled, connections: living, ..OAuthFound::default() }
        }
        OAuthTarget::Sweep { unbound, unused } => {
            let bounds = Bounds::at(now, *unbound, *unused);
            OAuthFound {
                count: count_old(connection, &bounds)?,
                connections: connections::idle(connection, &bounds, CHUNK)?,
                ..OAuthFound::default()
            }
        }
    };
    Ok(Found { oauth, ..found })
}

/// Loads the open questions that a change may have to withdraw.
pub(super) fn open_questions(
    connection: &dyn Sql,
    seal: &Seal,
    target: &OAuthTarget,
) -> Result<Vec<Loaded>, LedgerError> {
    let open = |orgs: &str| format!("state IN ('pending', 'approved') AND org IN ({orgs}) ORDER BY number");
    match target {
        OAuthTarget::Client(id) => {
            let orgs = "SELECT org FROM connection WHERE client = ?1 AND ended_at IS NULL";
            rows::select(connection, seal, &open(orgs), values![id.as_str()])
        }
        OAuthTarget::Connection(id) => {
            let orgs = "SELECT org FROM connection WHERE id = ?1 AND ended_at IS NULL";
            rows::select(connection, seal, &open(orgs), values![id.as_str()])
        }
        OAuthTarget::Person(id) => {
            let org = connection.dialect().field("body", "org");
            let orgs = format!("SELECT {org} FROM person WHERE id = ?1");
            rows::select(connection, seal, &open(&orgs), values![id.as_str()])
        }
        OAuthTarget::Unsettled => {
            let orgs = "SELECT org FROM connection WHERE ended_at IS NOT NULL AND is_settled = 0";
            rows::select(connection, seal, &open(orgs), &[])
        }
        OAuthTarget::Storing { .. }
        | OAuthTarget::Parking
        | OAuthTarget::Devising(_)
        | OAuthTarget::Parked(..)
        | OAuthTarget::Typed(..)
        | OAuthTarget::Device(_)
        | OAuthTarget::Code(_)
        | OAuthTarget::Refresh(_)
        | OAuthTarget::Token(_)
        | OAuthTarget::InUse(_)
        | OAuthTarget::Sweep { .. } => Ok(Vec::new()),
    }
}

/// Carries out what is to be stored.
pub(super) fn write(connection: &dyn Sql, write: OAuthWrite, now: Timestamp) -> Result<(), LedgerError> {
    match write {
        OAuthWrite::Client(client, from) => clients::store(connection, &client, from),
        OAuthWrite::ClientUsed(id) => clients::see(connection, &id, now),
        OAuthWrite::ClientBound(id) => clients::bind(connection, &id, now),
        OAuthWrite::ForgetClient(id) => clients::forget(connection, &id),
        OAuthWrite::Park(ticket, parked) => waiting::park(connection, &ticket, &parked),
        OAuthWrite::ForgetParked(before) => waiting::forget_parked(connection, before),
        OAuthWrite::Answered(ticket, parked) => waiting::answered(connection, &ticket, &parked),
        OAuthWrite::Device(device, user, request) => waiting::add(connection, &device, &user, &request),
        OAuthWrite::DeviceChanged(device, request) => waiting::change(connection, &device, &request),
        OAuthWrite::ForgetDevices(before) => waiting::forget_devices(connection, before),
        OAuthWrite::Connection(made) => connections::add(connection, &made),
        OAuthWrite::Used(id, from) => connections::see(connection, &id, from.as_deref(), now),
        OAuthWrite::Settled(id) => connections::settle(connection, &id),
        OAuthWrite::Code(hash, code) => tokens::add_code(connection, &hash, &code),
        OAuthWrite::CodeUsed(hash) => tokens::use_code(connection, &hash, now),
        OAuthWrite::Access(hash, access) => tokens::add_access(connection, &hash, &access),
        OAuthWrite::ForgetAccess(hash) => tokens::forget_access(connection, &hash),
        OAuthWrite::Refresh(hash, refresh) => tokens::add_refresh(connection, &hash, &refresh),
        OAuthWrite::Rotate(hash, refresh, sealed) => {
            tokens::rotate(connection, &hash, &refresh, &sealed, now)
        }
        OAuthWrite::Sweep(bounds) => sweep(connection, &bounds),
    }
}

/// Keeps what a row itself determines: nothing ends without the row of it.
pub(super) fn keep(connection: &dyn Sql, event: &OAuthEvent, now: Timestamp) -> Result<(), LedgerError> {
    match event {
        OAuthEvent::Ended { connection: id, why, by } => {
            connections::end(connection, id, *why, by, now)?;
            tokens::forget_all(connection, id)
        }
        OAuthEvent::ClientEnded { client, .. } => clients::end(connection, client, now),
        OAuthEvent::Connected { .. }
        | OAuthEvent::ConsentDenied { .. }
        | OAuthEvent::Issued { .. }
        | OAuthEvent::Refreshed { .. }
        | OAuthEvent::AccessGivenBack { .. }
        | OAuthEvent::Unproven { .. } => Ok(()),
    }
}

/// What of an answer does not depend on how it was asked for.
fn answering(
    connection: &dyn Sql,
    who: &Answering,
    client: Option<&yesgate_core::oauth::OAuthClientId>,
) -> Result<OAuthFound, LedgerError> {
    let Some(client) = client else { return Ok(OAuthFound::default()) };
    Ok(OAuthFound {
        client: clients::one(connection, client)?,
        connections: connections::between(connection, &who.person, client)?,
        person: person(connection, who)?,
        session: session(connection, who)?,
        ..OAuthFound::default()
    })
}

fn person(connection: &dyn Sql, who: &Answering) -> Result<Option<Person>, LedgerError> {
    let found = connection.first("SELECT body FROM person WHERE id = ?1", values![who.person.as_str()])?;
    found.map(|row| people::person(&row.get::<String>(0)?)).transpose()
}

fn session(connection: &dyn Sql, who: &Answering) -> Result<Option<Session>, LedgerError> {
    who.session.as_ref().map_or(Ok(None), |id| people::session_of_id(connection, id))
}

fn with_refresh(
    connection: &dyn Sql,
    hash: &yesgate_core::secret::SecretHash,
) -> Result<OAuthFound, LedgerError> {
    let Some((refresh, kept, person)) = tokens::refresh(connection, hash)? else {
        return Ok(OAuthFound::default());
    };
    let connection: Option<(KeptConnection, Person)> = Some((kept, person));
    Ok(OAuthFound { refresh: Some(refresh), connection, ..OAuthFound::default() })
}

const fn connection_of(request: &DeviceRequest) -> Option<&yesgate_core::id::ConnectionId> {
    match &request.answer {
        DeviceAnswer::Allowed { connection } | DeviceAnswer::Fetched { connection } => Some(connection),
        DeviceAnswer::Waiting | DeviceAnswer::Denied => None,
    }
}

/// Each table from which old rows go, and which ones do.
fn old_rows(bounds: &Bounds) -> [(&'static str, i64); 7] {
    [
        ("access_token WHERE ends_at <= ?1", nanoseconds(bounds.tokens)),
        ("refresh_token WHERE ends_at <= ?1", nanoseconds(bounds.tokens)),
        ("code WHERE ends_at <= ?1", nanoseconds(bounds.codes)),
        ("parked WHERE made_at <= ?1", nanoseconds(bounds.parked)),
        ("device WHERE made_at <= ?1", nanoseconds(bounds.devices)),
        (clients::UNBOUND_BEFORE, nanoseconds(bounds.unbound)),
        (clients::UNUSED_SINCE, nanoseconds(bounds.unused)),
    ]
}

fn count_old(connection: &dyn Sql, bounds: &Bounds) -> Result<u64, LedgerError> {
    let mut count = 0;
    for (which, before) in old_rows(bounds) {
        count += self::count(connection, which, values![before])?;
    }
    Ok(count)
}

fn sweep(connection: &dyn Sql, bounds: &Bounds) -> Result<(), LedgerError> {
    for (which, before) in old_rows(bounds) {
        connection.put(&format!("DELETE FROM {which}"), values![before])?;
    }
    Ok(())
}

/// Counts rows.
fn count(connection: &dyn Sql, which: &str, parameters: &[Value<'_>]) -> Result<u64, LedgerError> {
    let sql = format!("SELECT count(*) FROM {which}");
    let count = connection.number(&sql, parameters)?;
    Ok(u64::try_from(count).unwrap_or_default())
}

/// Writes a value down.
fn body(value: &impl serde::Serialize, what: &str) -> Result<String, LedgerError> {
    serde_json::to_string(value).map_err(|_| damaged(what))
}

/// Reads a value that was written down.
fn read<T: serde::de::DeserializeOwned>(body: &str, what: &str) -> Result<T, LedgerError> {
    serde_json::from_str(body).map_err(|_| damaged(what))
}

fn time(nanoseconds: i64) -> Result<Timestamp, LedgerError> {
    Timestamp::from_nanosecond(i128::from(nanoseconds)).map_err(|_| damaged("a time"))
}

/// One row changes, which is the only way in which it can be right.
fn expected(otherwise: &str) -> Expected {
    Expected::One(LedgerError::Store(otherwise.to_owned()))
}

fn damaged(what: &str) -> LedgerError {
    LedgerError::Damaged(format!("{what} cannot be what was stored"))
}
