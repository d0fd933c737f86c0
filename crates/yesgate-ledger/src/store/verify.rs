//! Checking the ledger against itself.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use yesgate_core::audit::{AuditEntry, AuditEvent, GENESIS, chain};
use yesgate_core::caller::Caller;
use yesgate_core::digest::Digest;
use yesgate_core::grant::GrantRecord;
use yesgate_core::id::{
    BudgetName, ConnectionId, CredentialId, GrantId, IntentId, KeyId, KeyName, PersonId, ServerName, ToolName,
};
use yesgate_core::key::{BearerKeyHash, KeyRecord};
use yesgate_core::oauth::{End, OAuthEvent};
use yesgate_core::person::{Person, PersonEvent};
use yesgate_core::policy::Pin;

use super::rows::{self, Loaded};
use super::{budgets, grants, keys, oauth, people, queries, regime};
use crate::engine::Sql;
use crate::engine::value::Row;
use crate::error::LedgerError;
use crate::head;
use crate::head::Head;
use crate::oauth::KeptConnection;
use crate::report::{Fault, VerifyReport};
use crate::seal::Seal;
use crate::spending::Spending;
use crate::told::Told;

/// Reads everything once, as of one moment.
pub(super) fn verify(connection: &dyn Sql, seal: &Seal) -> Result<VerifyReport, LedgerError> {
    connection.snapshot(|connection| compare(connection, seal))
}

fn compare(connection: &dyn Sql, seal: &Seal) -> Result<VerifyReport, LedgerError> {
    let mut trail = Trail::default();
    let mut report = VerifyReport { rows: 0, intents: 0, head: GENESIS, faults: Vec::new() };
    trail.read(connection, &mut report)?;
    trail.compare_intents(connection, seal, &mut report)?;
    trail.compare_spends(connection, &mut report)?;
    trail.compare_pins(connection, &mut report)?;
    trail.compare_keys(connection, &mut report)?;
    trail.compare_grants(connection, seal, &mut report)?;
    trail.compare_people(connection, &mut report)?;
    trail.compare_connections(connection, &mut report)?;
    if trail.regime != regime::all_words(connection)? {
        report.find(Fault::RegimeDiffers);
    }
    Ok(report)
}

/// What the audit trail makes of everything.
#[derive(Default)]
struct Trail {
    intents: BTreeMap<IntentId, Told>,
    spends: BTreeMap<(IntentId, BudgetName), Spending>,
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
    purged: BTreeMap<Timestamp, u64>,
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

impl Trail {
    /// Follows the chain from the first row to the last.
    fn read(&mut self, connection: &dyn Sql, report: &mut VerifyReport) -> Result<(), LedgerError> {
        let sql = "SELECT sequence, body, hash, intent, event FROM audit ORDER BY sequence";
        let (mut last, mut hash) = (0_u64, GENESIS);
        connection.each(sql, &[], &mut |row| {
            let sequence = head::sequence(row)?;
            let expected = last.saturating_add(1);
            if sequence != expected {
                report.find(Fault::Gap { expected, found: sequence });
            }
            // A text that is no text at all is caught by its hash like any other.
            let body = row.get(1).unwrap_or_else(|_| String::new());
            let stored = Digest::rehydrate(row.get(2).unwrap_or_default());
            if chain(&hash, sequence, &body) != stored {
                report.find(Fault::BrokenLink { sequence });
            }
            match entry(row, &body) {
                Some(entry) => self.follow(entry, sequence, report),
                None => report.find(Fault::UnreadableRow { sequence }),
            }
            (last, hash) = (sequence, stored);
            report.rows += 1;
            Ok(())
        })?;
        report.head = hash;
        let head = Head::load(connection)?;
        if head.sequence != last || head.hash != hash {
            report.find(Fault::WrongEnd);
        }
        Ok(())
    }

    fn follow(&mut self, entry: AuditEntry, sequence: u64, report: &mut VerifyReport) {
        if self.follow_grant(&entry).is_none() {
            report.find(Fault::ImpossibleStep { sequence });
        }
        if let Some(id) = entry.intent {
            match Told::after(self.intents.get(&id), &entry.event) {
                Ok(told) => {
                    self.follow_spend(&id, &told, entry.at);
                    self.intents.insert(id, told);
                }
                Err(_) => report.find(Fault::ImpossibleStep { sequence }),
            }
            return;
        }
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
                Some(_) | None => report.find(Fault::ImpossibleStep { sequence }),
            },
            AuditEvent::OAuth(event) => {
                if self.follow_connection(event, entry.at).is_none() {
                    report.find(Fault::ImpossibleStep { sequence });
                }
            }
            AuditEvent::Opened { .. }
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
    }

    /// Notes what a yes counts, and what is given back.
    fn follow_spend(&mut self, id: &IntentId, told: &Told, at: Timestamp) {
        let before = self.intents.get(id).and_then(Told::counted);
        match (before, told.counted()) {
            (None, Some(counted)) => {
                for spend in Spending::told(id, counted, at) {
                    self.spends.insert((id.clone(), spend.budget.clone()), spend);
                }
            }
            (Some(_), None) => self.spends.retain(|(intent, _), _| intent != id),
            (None, None) | (Some(_), Some(_)) => {}
        }
    }

    /// Looks for amounts that nobody counted, that are gone, or that are not what was counted.
    fn compare_spends(&self, connection: &dyn Sql, report: &mut VerifyReport) -> Result<(), LedgerError> {
        let stored = budgets::all(connection)?;
        let differs = |key| self.spends.get(key) != stored.get(key);
        let keys: BTreeSet<_> = self.spends.keys().chain(stored.keys()).collect();
        let ids: BTreeSet<_> = keys.into_iter().filter(|key| differs(*key)).map(|(id, _)| id).collect();
        for id in ids {
            report.find(Fault::SpendDiffers { id: id.clone() });
        }
        Ok(())
    }

    /// What a row says of remembered yeses. `None`: it cannot be.
    fn follow_grant(&mut self, entry: &AuditEntry) -> Option<()> {
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

    /// Looks for intents that are not what the trail makes of them.
    fn compare_intents(
        &mut self,
        connection: &dyn Sql,
        seal: &Seal,
        report: &mut VerifyReport,
    ) -> Result<(), LedgerError> {
        let mut purged: BTreeMap<Timestamp, u64> = BTreeMap::new();
        connection.each(&format!("{} ORDER BY number", rows::SELECT), &[], &mut |row| {
            report.intents += 1;
            let id: String = row.get(rows::ID).unwrap_or_default();
            let told = id.parse().ok().and_then(|id: IntentId| self.intents.remove(&id));
            let Ok(Loaded { intent, .. }) = rows::read(row, seal) else {
                report.find(Fault::DamagedIntent { id });
                return Ok(());
            };
            if let Some(at) = intent.purged_at() {
                *purged.entry(at).or_default() += 1;
            }
            if told != Some(Told::of(&intent)) {
                report.find(Fault::IntentDiffers {
                    id: intent.id().clone(),
                    stored: intent.state().as_str(),
                    audited: told.map_or("nothing", |told| told.state().as_str()),
                });
            }
            Ok(())
        })?;
        if purged != self.purged {
            report.find(Fault::PurgeDiffers);
        }
        for id in std::mem::take(&mut self.intents).into_keys() {
            report.find(Fault::MissingIntent { id });
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

/// Reads a row whose columns say the same as its text.
fn entry(row: &Row, body: &str) -> Option<AuditEntry> {
    let (intent, event): (Option<String>, String) = (row.get(3).ok()?, row.get(4).ok()?);
    let value: serde_json::Value = serde_json::from_str(body).ok()?;
    if value.get("event").and_then(serde_json::Value::as_str) != Some(event.as_str()) {
        return None;
    }
    let entry: AuditEntry = serde_json::from_value(value).ok()?;
    (entry.intent.as_ref().map(IntentId::as_str) == intent.as_deref()).then_some(entry)
}
