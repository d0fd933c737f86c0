//! People, sign-in links and sessions as rows.

use jiff::Timestamp;
use yesgate_core::digest::Digest;
use yesgate_core::id::SessionId;
use yesgate_core::person::{Link, LinkWay, Person, SecretHash, Session, SignInWay};

use super::queries::parse;
use crate::change::PeopleWrite;
use crate::credentials::KeptCredential;
use crate::engine::Sql;
use crate::engine::value::{Row, values};
use crate::error::LedgerError;
use crate::head::nanoseconds;

/// Carries out what is to be stored about people.
pub(super) fn write(connection: &dyn Sql, write: PeopleWrite, now: Timestamp) -> Result<(), LedgerError> {
    let now = nanoseconds(now);
    match write {
        PeopleWrite::Person(person) => {
            let body = serde_json::to_string(&person).map_err(|_| damaged("a person"))?;
            connection.put(
                "INSERT INTO person (id, body) VALUES (?1, ?2)
                     ON CONFLICT (id) DO UPDATE SET body = excluded.body",
                values![person.id.as_str(), body],
            )?;
        }
        PeopleWrite::SpendLinks(person) => {
            // What nobody can use any more need not be kept; a day later nobody asks why.
            connection.put("DELETE FROM link WHERE ends_at < ?1", values![now - DAY])?;
            connection.put(
                "UPDATE link SET spent_at = ?2 WHERE person = ?1 AND spent_at IS NULL",
                values![person.as_str(), now],
            )?;
        }
        PeopleWrite::SpendMailedLinks(person) => {
            connection.put("DELETE FROM link WHERE ends_at < ?1", values![now - DAY])?;
            connection.put(
                "UPDATE link SET spent_at = ?2 WHERE person = ?1 AND way = 'mail' AND spent_at IS NULL",
                values![person.as_str(), now],
            )?;
        }
        PeopleWrite::Link(link, secret) => {
            connection.put(
                "INSERT INTO link (hash, person, way, made_at, ends_at, spent_at, browser)
                     VALUES (?1, ?2, ?3, ?4, ?5, NULL, ?6)",
                values![
                    secret.0.as_bytes(),
                    link.person.as_str(),
                    link.way.as_str(),
                    nanoseconds(link.made_at),
                    nanoseconds(link.ends_at),
                    link.browser.as_ref().map(|browser| browser.0.as_bytes()),
                ],
            )?;
        }
        PeopleWrite::Session(session, secret) => {
            connection.put(
                "INSERT INTO session (id, hash, person, way, begun_at, seen_at, browser, ended_at)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, NULL)",
                values![
                    session.id.as_str(),
                    secret.0.as_bytes(),
                    session.person.as_str(),
                    session.way.as_str(),
                    nanoseconds(session.begun_at),
                    nanoseconds(session.seen_at),
                    session.browser,
                ],
            )?;
        }
        PeopleWrite::Seen(id) => {
            connection.put(
                "UPDATE session SET seen_at = ?2 WHERE id = ?1 AND ended_at IS NULL",
                values![id.as_str(), now],
            )?;
        }
        PeopleWrite::EndSession(id) => {
            connection.put(
                "UPDATE session SET ended_at = ?2 WHERE id = ?1 AND ended_at IS NULL",
                values![id.as_str(), now],
            )?;
        }
        PeopleWrite::Credential(kept) => {
            connection.put(
                "INSERT INTO credential (id, person, sealed, created_at) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT (id) DO UPDATE SET sealed = excluded.sealed",
                values![kept.id.as_str(), kept.person.as_str(), kept.sealed, now],
            )?;
        }
        PeopleWrite::RevokeCredential(id) => {
            connection.put(
                "UPDATE credential SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL",
                values![id.as_str(), now],
            )?;
        }
    }
    Ok(())
}

/// The keys that count, the oldest first.
pub(super) fn credentials(connection: &dyn Sql) -> Result<Vec<KeptCredential>, LedgerError> {
    let sql = "SELECT id, person, sealed FROM credential WHERE revoked_at IS NULL ORDER BY created_at, id";
    connection.map(sql, &[], |row| {
        let text = |index: usize| row.get::<String>(index);
        Ok(KeptCredential { id: parse(&text(0)?)?, person: parse(&text(1)?)?, sealed: text(2)? })
    })
}

pub(super) fn people(connection: &dyn Sql) -> Result<Vec<Person>, LedgerError> {
    connection.map("SELECT body FROM person ORDER BY number", &[], |row| person(&row.get::<String>(0)?))
}

pub(super) fn link(connection: &dyn Sql, secret: &SecretHash) -> Result<Option<(Link, Person)>, LedgerError> {
    let sql = "SELECT link.person, way, made_at, ends_at, spent_at, browser, body
               FROM link JOIN person ON person.id = link.person WHERE hash = ?1";
    connection.first(sql, values![secret.0.as_bytes()])?.map(|row| read_link(&row)).transpose()
}

pub(super) fn session(
    connection: &dyn Sql,
    secret: &SecretHash,
) -> Result<Option<(Session, Person)>, LedgerError> {
    let sql = "SELECT session.id, session.person, way, begun_at, seen_at, browser, ended_at, body
               FROM session JOIN person ON person.id = session.person WHERE hash = ?1";
    let found = connection.first(sql, values![secret.0.as_bytes()])?;
    found.map(|row| Ok((read_session(&row)?, person(&row.get::<String>(7)?)?))).transpose()
}

/// A session, by its id.
pub(super) fn session_of_id(connection: &dyn Sql, id: &SessionId) -> Result<Option<Session>, LedgerError> {
    let sql = "SELECT id, person, way, begun_at, seen_at, browser, ended_at FROM session WHERE id = ?1";
    connection.first(sql, values![id.as_str()])?.map(|row| read_session(&row)).transpose()
}

/// Sessions that nobody ended, the latest first.
pub(super) fn sessions(connection: &dyn Sql) -> Result<Vec<Session>, LedgerError> {
    let sql = "SELECT id, person, way, begun_at, seen_at, browser, ended_at FROM session
               WHERE ended_at IS NULL ORDER BY begun_at DESC";
    connection.map(sql, &[], read_session)
}

fn read_link(row: &Row) -> Result<(Link, Person), LedgerError> {
    let (person, way): (String, String) = (row.get(0)?, row.get(1)?);
    let browser: Option<[u8; 32]> = row.get(5)?;
    let ways = [LinkWay::Console, LinkWay::Mail];
    let link = Link {
        person: parse(&person)?,
        way: ways.into_iter().find(|known| known.as_str() == way).ok_or_else(|| damaged("a link"))?,
        made_at: time(row.get(2)?)?,
        ends_at: time(row.get(3)?)?,
        spent_at: row.get::<Option<i64>>(4)?.map(time).transpose()?,
        browser: browser.map(|hash| SecretHash(Digest::rehydrate(hash))),
    };
    Ok((link, self::person(&row.get::<String>(6)?)?))
}

fn read_session(row: &Row) -> Result<Session, LedgerError> {
    let text = |index: usize| row.get::<String>(index);
    let way = text(2)?;
    let way = SignInWay::ALL.into_iter().find(|known| known.as_str() == way);
    Ok(Session {
        id: parse(&text(0)?)?,
        person: parse(&text(1)?)?,
        way: way.ok_or_else(|| damaged("a session"))?,
        begun_at: time(row.get(3)?)?,
        seen_at: time(row.get(4)?)?,
        browser: text(5)?,
        ended_at: row.get::<Option<i64>>(6)?.map(time).transpose()?,
    })
}

pub(super) fn person(body: &str) -> Result<Person, LedgerError> {
    serde_json::from_str(body).map_err(|_| damaged("a person"))
}

fn time(nanoseconds: i64) -> Result<Timestamp, LedgerError> {
    Timestamp::from_nanosecond(i128::from(nanoseconds)).map_err(|_| damaged("a time of sign-in"))
}

fn damaged(what: &str) -> LedgerError {
    LedgerError::Damaged(format!("{what} cannot be what was stored"))
}

/// A day in the unit of stored times.
const DAY: i64 = 24 * 60 * 60 * 1_000_000_000;
