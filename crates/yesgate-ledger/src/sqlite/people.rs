//! People, sign-in links and sessions as rows.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use yesgate_core::digest::Digest;
use yesgate_core::person::{Link, LinkWay, Person, SecretHash, Session, SignInWay};

use super::fault::Fault;
use super::queries::parse;
use super::rows::nanoseconds;
use crate::change::PeopleWrite;
use crate::credentials::KeptCredential;
use crate::error::LedgerError;

/// Carries out what is to be stored about people.
pub(super) fn write(connection: &Connection, write: PeopleWrite, now: Timestamp) -> Result<(), Fault> {
    let now = nanoseconds(now);
    match write {
        PeopleWrite::Person(person) => {
            let body = serde_json::to_string(&person).map_err(|_| damaged("a person"))?;
            connection
                .prepare_cached(
                    "INSERT INTO person (id, body) VALUES (?1, ?2)
                     ON CONFLICT (id) DO UPDATE SET body = excluded.body",
                )?
                .execute(params![person.id.as_str(), body])?;
        }
        PeopleWrite::SpendLinks(person) => {
            // What nobody can use any more need not be kept; a day later nobody asks why.
            connection.prepare_cached("DELETE FROM link WHERE ends_at < ?1")?.execute([now - DAY])?;
            connection
                .prepare_cached("UPDATE link SET spent_at = ?2 WHERE person = ?1 AND spent_at IS NULL")?
                .execute(params![person.as_str(), now])?;
        }
        PeopleWrite::SpendMailedLinks(person) => {
            connection.prepare_cached("DELETE FROM link WHERE ends_at < ?1")?.execute([now - DAY])?;
            connection
                .prepare_cached(
                    "UPDATE link SET spent_at = ?2 WHERE person = ?1 AND way = 'mail' AND spent_at IS NULL",
                )?
                .execute(params![person.as_str(), now])?;
        }
        PeopleWrite::Link(link, secret) => {
            connection
                .prepare_cached(
                    "INSERT INTO link (hash, person, way, made_at, ends_at, spent_at, browser)
                     VALUES (?1, ?2, ?3, ?4, ?5, NULL, ?6)",
                )?
                .execute(params![
                    secret.0.as_bytes(),
                    link.person.as_str(),
                    link.way.as_str(),
                    nanoseconds(link.made_at),
                    nanoseconds(link.ends_at),
                    link.browser.as_ref().map(|browser| browser.0.as_bytes()),
                ])?;
        }
        PeopleWrite::Session(session, secret) => {
            connection
                .prepare_cached(
                    "INSERT INTO session (id, hash, person, way, begun_at, seen_at, browser, ended_at)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, NULL)",
                )?
                .execute(params![
                    session.id.as_str(),
                    secret.0.as_bytes(),
                    session.person.as_str(),
                    session.way.as_str(),
                    nanoseconds(session.begun_at),
                    nanoseconds(session.seen_at),
                    session.browser,
                ])?;
        }
        PeopleWrite::Seen(id) => {
            connection
                .prepare_cached("UPDATE session SET seen_at = ?2 WHERE id = ?1 AND ended_at IS NULL")?
                .execute(params![id.as_str(), now])?;
        }
        PeopleWrite::EndSession(id) => {
            connection
                .prepare_cached("UPDATE session SET ended_at = ?2 WHERE id = ?1 AND ended_at IS NULL")?
                .execute(params![id.as_str(), now])?;
        }
        PeopleWrite::Credential(kept) => {
            connection
                .prepare_cached(
                    "INSERT INTO credential (id, person, sealed, created_at) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT (id) DO UPDATE SET sealed = excluded.sealed",
                )?
                .execute(params![kept.id.as_str(), kept.person.as_str(), kept.sealed, now])?;
        }
        PeopleWrite::RevokeCredential(id) => {
            connection
                .prepare_cached("UPDATE credential SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL")?
                .execute(params![id.as_str(), now])?;
        }
    }
    Ok(())
}

/// The keys that count, the oldest first.
pub(super) fn credentials(connection: &Connection) -> Result<Vec<KeptCredential>, Fault> {
    let sql = "SELECT id, person, sealed FROM credential WHERE revoked_at IS NULL ORDER BY created_at, id";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut kept = Vec::new();
    while let Some(row) = rows.next()? {
        let text = |index: usize| row.get::<_, String>(index);
        kept.push(KeptCredential { id: parse(&text(0)?)?, person: parse(&text(1)?)?, sealed: text(2)? });
    }
    Ok(kept)
}

pub(super) fn people(connection: &Connection) -> Result<Vec<Person>, Fault> {
    let mut statement = connection.prepare_cached("SELECT body FROM person ORDER BY number")?;
    let bodies = statement.query_map([], |row| row.get::<_, String>(0))?;
    bodies.map(|body| person(&body?)).collect()
}

pub(super) fn link(connection: &Connection, secret: &SecretHash) -> Result<Option<(Link, Person)>, Fault> {
    let sql = "SELECT link.person, way, made_at, ends_at, spent_at, browser, body
               FROM link JOIN person ON person.id = link.person WHERE hash = ?1";
    let found = connection.prepare_cached(sql)?.query_row([secret.0.as_bytes()], raw_link).optional()?;
    found.map(RawLink::read).transpose()
}

pub(super) fn session(
    connection: &Connection,
    secret: &SecretHash,
) -> Result<Option<(Session, Person)>, Fault> {
    let sql = "SELECT session.id, session.person, way, begun_at, seen_at, browser, ended_at, body
               FROM session JOIN person ON person.id = session.person WHERE hash = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([secret.0.as_bytes()])?;
    match rows.next()? {
        Some(row) => Ok(Some((read_session(row)?, person(&row.get::<_, String>(7)?)?))),
        None => Ok(None),
    }
}

/// Sessions that nobody ended, the latest first.
pub(super) fn sessions(connection: &Connection) -> Result<Vec<Session>, Fault> {
    let sql = "SELECT id, person, way, begun_at, seen_at, browser, ended_at FROM session
               WHERE ended_at IS NULL ORDER BY begun_at DESC";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut sessions = Vec::new();
    while let Some(row) = rows.next()? {
        sessions.push(read_session(row)?);
    }
    Ok(sessions)
}

struct RawLink {
    person: String,
    way: String,
    times: (i64, i64, Option<i64>),
    browser: Option<[u8; 32]>,
    body: String,
}

fn raw_link(row: &Row<'_>) -> rusqlite::Result<RawLink> {
    Ok(RawLink {
        person: row.get(0)?,
        way: row.get(1)?,
        times: (row.get(2)?, row.get(3)?, row.get(4)?),
        browser: row.get(5)?,
        body: row.get(6)?,
    })
}

impl RawLink {
    fn read(self) -> Result<(Link, Person), Fault> {
        let ways = [LinkWay::Console, LinkWay::Mail];
        let way = ways.into_iter().find(|way| way.as_str() == self.way).ok_or_else(|| damaged("a link"))?;
        let (made_at, ends_at, spent_at) = self.times;
        let link = Link {
            person: parse(&self.person)?,
            way,
            made_at: time(made_at)?,
            ends_at: time(ends_at)?,
            spent_at: spent_at.map(time).transpose()?,
            browser: self.browser.map(|hash| SecretHash(Digest::rehydrate(hash))),
        };
        Ok((link, person(&self.body)?))
    }
}

fn read_session(row: &Row<'_>) -> Result<Session, Fault> {
    let text = |index: usize| row.get::<_, String>(index);
    let way = text(2)?;
    let way = SignInWay::ALL.into_iter().find(|known| known.as_str() == way);
    Ok(Session {
        id: parse(&text(0)?)?,
        person: parse(&text(1)?)?,
        way: way.ok_or_else(|| damaged("a session"))?,
        begun_at: time(row.get(3)?)?,
        seen_at: time(row.get(4)?)?,
        browser: text(5)?,
        ended_at: row.get::<_, Option<i64>>(6)?.map(time).transpose()?,
    })
}

fn person(body: &str) -> Result<Person, Fault> {
    serde_json::from_str(body).map_err(|_| damaged("a person").into())
}

fn time(nanoseconds: i64) -> Result<Timestamp, Fault> {
    Timestamp::from_nanosecond(i128::from(nanoseconds)).map_err(|_| damaged("a time of sign-in").into())
}

fn damaged(what: &str) -> LedgerError {
    LedgerError::Damaged(format!("{what} cannot be what was stored"))
}

/// A day in the unit of stored times.
const DAY: i64 = 24 * 60 * 60 * 1_000_000_000;
