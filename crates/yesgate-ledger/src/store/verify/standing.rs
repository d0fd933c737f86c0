//! What the trail makes of everything that is no question: pins, keys, people, remembered yeses, connections, and what
//! humans set for callers. All of it grows with what people do, not with what is asked.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use yesgate_core::audit::{AuditEntry, AuditEvent};
use yesgate_core::caller::Caller;
use yesgate_core::digest::Digest;
use yesgate_core::grant::GrantRecord;
use yesgate_core::id::{ConnectionId, CredentialId, GrantId, KeyId, KeyName, PersonId, ServerName, ToolName};
use yesgate_core::key::{BearerKeyHash, KeyRecord};
use yesgate_core::oauth::{End, OAuthEvent};
use yesgate_core::person::{Person, PersonEvent};
use yesgate_core::policy::Pin;

use super::super::{grants, keys, oauth, people, queries, regime};
use crate::engine::Sql;
use crate::error::LedgerError;
use crate::oauth::KeptConnection;
use crate::report::{Fault, VerifyReport};
use crate::seal::Seal;

/// What the trail makes of everything that is no question.
#[derive(Default)]
pub(super) struct Standing {
    in_use: BTreeSet<ServerName>,
    pins: BTreeMap<(ServerName, ToolName), Pin>,
    keys: BTreeMap<KeyId, Key>,
    regime: BTreeMap<regime::Key, String>,
    grants: BTreeMap<GrantId, Remembered>,
    people: BTreeMap<PersonId, Digest>,
    /// The keys of people that count, and whose each is. What they are, their seals say.
    credentials: BTreeMap<CredentialId, PersonId>,
    connections: BTreeMap<ConnectionId, Connected>,
    /// How many questions were purged, and when.
    pub(super) purged: BTreeMap<Timestamp, u64>,
}

/// The part of a remembered yes that its audit rows determine.
#[derive(Debug, Eq, PartialEq)]
struct Remembered {
    fingerprint: Digest,
    used: u32,
    revoked_at: Option<Timestamp>,
}

/// The part of a connection that its audit rows determine.
#[derive(Debug, Eq, PartialEq)]
struct Connected {
    fingerprint: Digest,
    ended: Option<(Timestamp, End)>,
}

/// The part of a key that its audit rows determine.
#[derive(Debug, Eq, PartialEq)]
struct Key {
    name: KeyName,
    caller: Caller,
    fingerprint: Digest,
    /// Whether it was revoked, and when.
    revoked_at: Option<Timestamp>,
}

impl Key {
    fn of((record, hash): &(KeyRecord, BearerKeyHash)) -> Self {
        Self {
            name: record.name.clone(),
            caller: record.caller.clone(),
            fingerprint: hash.fingerprint(),
            revoked_at: record.revoked_at,
        }
    }
}

impl Standing {
    /// Goes on by a row that belongs to no question. `None`: it cannot be.
    pub(super) fn follow(&mut self, entry: AuditEntry) -> Option<()> {
        match regime::told_by(&entry.event) {
            Some((key, Some(words))) => drop(self.regime.insert(key, words)),
            Some((key, None)) => drop(self.regime.remove(&key)),
            None => {}
        }
        match entry.event {
            AuditEvent::Purged { count, .. } => *self.purged.entry(entry.at).or_default() += count,
            AuditEvent::FirstUse { server } => drop(self.in_use.insert(server)),
            AuditEvent::Pinned { server, tool, definition, class, .. } => {
                self.pins.insert((server, tool), Pin { definition, class });
            }
            AuditEvent::KeyAdded { id, name, caller, fingerprint, .. } => {
                self.keys.insert(id, Key { name, caller, fingerprint, revoked_at: None });
            }
            AuditEvent::Person(PersonEvent::Set { person, fingerprint, .. }) => {
                self.people.insert(person, fingerprint);
            }
            // They end by themselves, and let nobody do what a person who is known could not.
            AuditEvent::Person(
                PersonEvent::LinkMade { .. } | PersonEvent::SignedIn { .. } | PersonEvent::SignedOut { .. },
            ) => {}
            AuditEvent::Person(PersonEvent::KeyEnrolled { person, credential, .. }) => {
                self.credentials.insert(credential, person);
            }
            AuditEvent::Person(PersonEvent::KeyRevoked { credential, .. }) => {
                self.credentials.remove(&credential);
            }
            AuditEvent::KeyRevoked { id, .. } => match self.keys.get_mut(&id) {
                Some(key) if key.revoked_at.is_none() => key.revoked_at = Some(entry.at),
                Some(_) | None => return None,
            },
            AuditEvent::OAuth(event) => return self.follow_connection(event, entry.at),
            AuditEvent::Pruned { .. }
            | AuditEvent::Opened { .. }
            | AuditEvent::WouldAsk { .. }
            | AuditEvent::WouldRefuse { .. }
            | AuditEvent::TokenIssued
            | AuditEvent::Approved { .. }
            | AuditEvent::Denied { .. }
            | AuditEvent::Responded { .. }
            | AuditEvent::Redeemed { .. }
            | AuditEvent::Finished { .. }
            | AuditEvent::Lost { .. }
            | AuditEvent::Resolved { .. }
            | AuditEvent::Expired
            | AuditEvent::Superseded { .. }
            | AuditEvent::Voided { .. }
            | AuditEvent::Cancelled { .. }
            | AuditEvent::CallerLeft
            | AuditEvent::HandedOver
            | AuditEvent::LateAnswer { .. }
            | AuditEvent::WrongText { .. }
            | AuditEvent::Edited { .. }
            | AuditEvent::YesCounted { .. }
            | AuditEvent::Granted { .. }
            | AuditEvent::GrantUsed { .. }
            | AuditEvent::GrantRevoked { .. }
            | AuditEvent::ModeSet { .. }
            | AuditEvent::Frozen { .. }
            | AuditEvent::Thawed { .. }
            | AuditEvent::Stopped { .. }
            | AuditEvent::WentOn { .. }
            | AuditEvent::FailedOver { .. }
            | AuditEvent::Refused { .. } => {}
        }
        Some(())
    }

    /// Compares with what is stored.
    pub(super) fn compare(
        &self,
        connection: &dyn Sql,
        seal: &Seal,
        report: &mut VerifyReport,
    ) -> Result<(), LedgerError> {
        self.compare_pins(connection, report)?;
        self.compare_keys(connection, report)?;
        self.compare_grants(connection, seal, report)?;
        self.compare_people(connection, report)?;
        self.compare_connections(connection, report)?;
        if self.regime != regime::all_words(connection)? {
            report.find(Fault::RegimeDiffers);
        }
        Ok(())
    }

    /// What a row says of remembered yeses. `None`: it cannot be.
    pub(super) fn follow_grant(&mut self, entry: &AuditEntry) -> Option<()> {
        if let AuditEvent::Granted { grant, fingerprint, .. } = &entry.event {
            let made = Remembered { fingerprint: *fingerprint, used: 0, revoked_at: None };
            return self.grants.insert(grant.clone(), made).is_none().then_some(());
        }
        if let AuditEvent::GrantUsed { grant } = &entry.event {
            let counting = self.grants.get_mut(grant).filter(|grant| grant.revoked_at.is_none())?;
            counting.used = counting.used.checked_add(1)?;
        }
        if let AuditEvent::GrantRevoked { grant, .. } = &entry.event {
            let counting = self.grants.get_mut(grant).filter(|grant| grant.revoked_at.is_none())?;
            counting.revoked_at = Some(entry.at);
        }
        Some(())
    }

    /// Looks for remembered yeses that nobody gave, that are gone, or that were used otherwise.
    fn compare_grants(
        &self,
        connection: &dyn Sql,
        seal: &Seal,
        report: &mut VerifyReport,
    ) -> Result<(), LedgerError> {
        let stored: BTreeMap<GrantId, Remembered> = grants::all(connection, seal)?
            .into_iter()
            .map(|GrantRecord { grant, used, revoked_at }| {
                (grant.id.clone(), Remembered { fingerprint: grant.fingerprint(), used, revoked_at })
            })
            .collect();
        let differs = |id| self.grants.get(id) != stored.get(id);
        let ids: BTreeSet<_> = self.grants.keys().chain(stored.keys()).collect();
        for id in ids.into_iter().filter(|id| differs(*id)) {
            report.find(Fault::GrantDiffers { id: id.clone() });
        }
        Ok(())
    }

    /// What a row says of connections. `None`: it cannot be.
    fn follow_connection(&mut self, event: OAuthEvent, at: Timestamp) -> Option<()> {
        match event {
            OAuthEvent::Connected { connection, fingerprint, .. } => {
                let made = Connected { fingerprint, ended: None };
                self.connections.insert(connection, made).is_none().then_some(())
            }
            OAuthEvent::Issued { connection }
            | OAuthEvent::Refreshed { connection, .. }
            | OAuthEvent::AccessGivenBack { connection } => {
                self.connections.get(&connection)?.ended.is_none().then_some(())
            }
            OAuthEvent::Ended { connection, why, .. } => {
                let counting = self.connections.get_mut(&connection).filter(|one| one.ended.is_none())?;
                counting.ended = Some((at, why));
                Some(())
            }
            OAuthEvent::ConsentDenied { .. }
            | OAuthEvent::ClientEnded { .. }
            | OAuthEvent::Unproven { .. } => Some(()),
        }
    }

    /// Looks for connections that nobody allowed, that are gone, that allow something else, or that ended otherwise.
    fn compare_connections(
        &self,
        connection: &dyn Sql,
        report: &mut VerifyReport,
    ) -> Result<(), LedgerError> {
        let stored: BTreeMap<ConnectionId, Connected> = oauth::connections::all(connection)?
            .into_iter()
            .map(|KeptConnection { connection, ended, .. }| {
                (connection.id.clone(), Connected { fingerprint: connection.fingerprint(), ended })
            })
            .collect();
        let differs = |id| self.connections.get(id) != stored.get(id);
        let ids: BTreeSet<_> = self.connections.keys().chain(stored.keys()).collect();
        for id in ids.into_iter().filter(|id| differs(*id)) {
            report.find(Fault::ConnectionDiffers { id: id.clone() });
        }
        Ok(())
    }

    /// Looks for people whom nobody added, who are gone, or who are not what was written down last.
    fn compare_people(&self, connection: &dyn Sql, report: &mut VerifyReport) -> Result<(), LedgerError> {
        let stored: BTreeMap<PersonId, Digest> = people::people(connection)?
            .iter()
            .map(|person| (person.id.clone(), Person::fingerprint(person)))
            .collect();
        let differs = |id| self.people.get(id) != stored.get(id);
        let ids: BTreeSet<_> = self.people.keys().chain(stored.keys()).collect();
        for id in ids.into_iter().filter(|id| differs(*id)) {
            report.find(Fault::PersonDiffers { id: id.clone() });
        }
        let kept: BTreeMap<CredentialId, PersonId> =
            people::credentials(connection)?.into_iter().map(|kept| (kept.id, kept.person)).collect();
        let differs = |id| self.credentials.get(id) != kept.get(id);
        let ids: BTreeSet<_> = self.credentials.keys().chain(kept.keys()).collect();
        for id in ids.into_iter().filter(|id| differs(*id)) {
            report.find(Fault::CredentialDiffers { id: id.clone() });
        }
        Ok(())
    }

    /// Looks for pins that are not the ones written down last, and for first uses that were not.
    fn compare_pins(&self, connection: &dyn Sql, report: &mut VerifyReport) -> Result<(), LedgerError> {
        for server in self.in_use.symmetric_difference(&queries::servers_in_use(connection)?) {
            report.find(Fault::FirstUseDiffers { server: server.clone() });
        }
        let stored = queries::all_pins(connection)?;
        let differs = |key| self.pins.get(key) != stored.get(key);
        let keys: BTreeSet<_> = self.pins.keys().chain(stored.keys()).collect();
        for (server, tool) in keys.into_iter().filter(|key| differs(*key)) {
            report.find(Fault::PinDiffers { server: server.clone(), tool: tool.clone() });
        }
        Ok(())
    }

    /// Looks for keys that nobody added, that are gone, or that are not what was added.
    fn compare_keys(&self, connection: &dyn Sql, report: &mut VerifyReport) -> Result<(), LedgerError> {
        let stored = keys::with_hashes(connection)?;
        let differs = |id| self.keys.get(id) != stored.get(id).map(Key::of).as_ref();
        let ids: BTreeSet<_> = self.keys.keys().chain(stored.keys()).collect();
        for id in ids.into_iter().filter(|id| differs(*id)) {
            report.find(Fault::KeyDiffers { id: id.clone() });
        }
        Ok(())
    }
}
