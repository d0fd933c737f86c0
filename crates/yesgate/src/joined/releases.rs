//! What the ledger let go: every redemption, by what it was of.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use yesgate_core::audit::{AuditEntry, AuditEvent};
use yesgate_core::id::{BootId, IntentId};
use yesgate_core::intent::DoneKind;
use yesgate_core::json::CanonicalJson;

use super::line::{Call, Sha};
use super::report::Wrong;

/// One redemption.
#[derive(Clone, Debug)]
pub(crate) struct Release {
    pub(crate) intent: IntentId,
    pub(crate) tool: Arc<str>,
    pub(crate) at: Timestamp,
    pub(crate) boot: BootId,
    pub(crate) ending: Ending,
    pub(crate) is_used: bool,
}

/// How it ended, as the ledger says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Ending {
    /// It has not.
    Open,
    /// With an answer of the server.
    Finished(Timestamp),
    /// No byte of it left.
    NotSent,
    /// Nobody knows.
    Unknown,
}

/// All redemptions, first as the audit trail tells them, then by what they were of.
#[derive(Debug, Default)]
pub(crate) struct Releases {
    names: BTreeSet<Arc<str>>,
    told: BTreeMap<IntentId, Told>,
    faults: Vec<(IntentId, Wrong)>,
    by_tool: BTreeMap<(Arc<str>, Arc<str>), OfTool>,
    servers: BTreeSet<Arc<str>>,
}

#[derive(Debug)]
struct Told {
    server: Arc<str>,
    tool: Arc<str>,
    is_approved: bool,
    redeemed: Option<(Timestamp, BootId)>,
    ending: Ending,
}

/// The redemptions for one tool of one server.
#[derive(Debug, Default)]
struct OfTool {
    by_arguments: BTreeMap<Sha, Pile>,
    /// Those whose arguments were purged: any could be theirs.
    purged: Pile,
}

/// Redemptions of the same call, the oldest first.
#[derive(Debug, Default)]
struct Pile {
    releases: Vec<Release>,
    /// All before this one are used: a call that is made every minute does not look at all of its past.
    first_unused: usize,
}

impl Releases {
    /// Follows the trail by one row.
    pub(crate) fn follow(&mut self, entry: &AuditEntry) {
        let Some(id) = &entry.intent else { return };
        if let AuditEvent::Opened { server, tool, .. } = &entry.event {
            // A question about the caller's own mode: no server hears of it.
            if tool.as_str() != SET_MODE {
                let (server, tool) = (self.name(server.as_str()), self.name(tool.as_str()));
                let told = Told { server, tool, is_approved: false, redeemed: None, ending: Ending::Open };
                self.told.insert(id.clone(), told);
            }
            return;
        }
        let Some(told) = self.told.get_mut(id) else { return };
        match Step::of(&entry.event) {
            Step::Yes => told.is_approved = true,
            Step::Redeemed(boot) => {
                if !told.is_approved {
                    self.faults.push((id.clone(), Wrong::RedeemedWithoutYes));
                }
                if told.redeemed.replace((entry.at, boot.clone())).is_some() {
                    self.faults.push((id.clone(), Wrong::RedeemedTwice));
                }
            }
            Step::NotSent => told.ending = Ending::NotSent,
            Step::Finished => told.ending = Ending::Finished(entry.at),
            Step::Lost => told.ending = Ending::Unknown,
            // Nothing was let go, and nothing will be.
            Step::Closed => drop(self.told.remove(id)),
            Step::Other => {}
        }
    }

    /// Those that were redeemed, whose arguments have yet to be said.
    pub(crate) fn redeemed(&mut self) -> Vec<IntentId> {
        self.told.retain(|_, told| told.redeemed.is_some());
        self.told.keys().cloned().collect()
    }

    /// Says what a redeemed call was called with; `None`: that was purged.
    pub(crate) fn called_with(&mut self, id: &IntentId, arguments: Option<&CanonicalJson>) {
        let Some(Told { server, tool, redeemed: Some((at, boot)), ending, .. }) = self.told.remove(id) else {
            return;
        };
        let release =
            Release { intent: id.clone(), tool: Arc::clone(&tool), at, boot, ending, is_used: false };
        self.servers.insert(Arc::clone(&server));
        let of_tool = self.by_tool.entry((server, tool)).or_default();
        let pile = match arguments {
            Some(arguments) => of_tool.by_arguments.entry(Sha::of(arguments)).or_default(),
            None => &mut of_tool.purged,
        };
        let place = pile.releases.partition_point(|other| other.at <= at);
        pile.releases.insert(place, release);
    }

    /// The one server that anything was let go to, where there is one.
    pub(crate) fn only_server(&self) -> Option<&str> {
        self.servers.first().filter(|_| self.servers.len() == 1).map(AsRef::as_ref)
    }

    /// Forgets what was let go to other servers.
    pub(crate) fn keep_only(&mut self, servers: &BTreeSet<String>) {
        self.by_tool.retain(|(server, _), _| servers.contains(server.as_ref()));
    }

    pub(crate) fn count(&self) -> u64 {
        self.all().count() as u64
    }

    pub(crate) fn faults(&self) -> &[(IntentId, Wrong)] {
        &self.faults
    }

    /// Finds the redemption that let this call go; what it is used for, nothing else can be.
    ///
    /// # Errors
    /// When there is none: what is wrong, and with which one, where one comes close.
    pub(super) fn claim(
        &mut self,
        server: &str,
        call: &Call,
        latest: Timestamp,
    ) -> Result<&Release, (Option<IntentId>, Wrong)> {
        let key = (Arc::from(server), Arc::from(call.tool.as_str()));
        let Some(OfTool { by_arguments, purged }) = self.by_tool.get_mut(&key) else {
            return Err((None, Wrong::NoConsent));
        };
        let mut closest = (None, Wrong::NoConsent);
        for pile in by_arguments.get_mut(&call.arguments).into_iter().chain([purged]) {
            match pile.claim(call, latest) {
                Ok(release) => return Ok(release),
                Err(found) if found.1 > closest.1 => closest = found,
                Err(_) => {}
            }
        }
        Err(closest)
    }

    pub(super) fn unused(&self) -> impl Iterator<Item = &Release> {
        self.all().filter(|release| !release.is_used)
    }

    fn all(&self) -> impl Iterator<Item = &Release> {
        let piles =
            self.by_tool.values().flat_map(|of_tool| of_tool.by_arguments.values().chain([&of_tool.purged]));
        piles.flat_map(|pile| &pile.releases)
    }

    fn name(&mut self, name: &str) -> Arc<str> {
        match self.names.get(name) {
            Some(known) => Arc::clone(known),
            None => {
                let new: Arc<str> = name.into();
                self.names.insert(Arc::clone(&new));
                new
            }
        }
    }
}

impl Pile {
    fn claim(&mut self, call: &Call, latest: Timestamp) -> Result<&Release, (Option<IntentId>, Wrong)> {
        let is_of =
            |release: &Release| call.process().is_none_or(|process| process == process_of(&release.boot));
        if call.goes_on {
            let mut used = self.releases.iter().rev().filter(|release| release.is_used && is_of(release));
            return used.find(|release| release.at <= latest).ok_or((None, Wrong::NoConsent));
        }
        let mut closest = (None, Wrong::NoConsent);
        let mut found = None;
        for (place, release) in self.releases.iter().enumerate().skip(self.first_unused) {
            let wrong = if release.at > latest {
                Wrong::TooEarly
            } else if !is_of(release) {
                Wrong::OtherProcess
            } else if release.is_used {
                Wrong::Twice
            } else {
                found = Some(place);
                break;
            };
            if wrong > closest.1 {
                closest = (Some(release.intent.clone()), wrong);
            }
            if wrong == Wrong::TooEarly {
                break;
            }
        }
        let Some(place) = found else {
            // The one before those that are left is used, and the nearest in time.
            return Err(match self.first_unused.checked_sub(1).and_then(|last| self.releases.get(last)) {
                Some(used) if closest.1 < Wrong::Twice => (Some(used.intent.clone()), Wrong::Twice),
                Some(_) | None => closest,
            });
        };
        if let Some(release) = self.releases.get_mut(place) {
            release.is_used = true;
        }
        while self.releases.get(self.first_unused).is_some_and(|release| release.is_used) {
            self.first_unused += 1;
        }
        self.releases.get(place).ok_or((None, Wrong::NoConsent))
    }
}

/// What the id of a call says of the process that sent it.
fn process_of(boot: &BootId) -> &str {
    boot.as_str().strip_prefix(BootId::PREFIX).unwrap_or(boot.as_str())
}

const SET_MODE: &str = "yesgate_set_mode";

/// What a row means here.
enum Step<'a> {
    Yes,
    Redeemed(&'a BootId),
    NotSent,
    Finished,
    Lost,
    Closed,
    Other,
}

impl<'a> Step<'a> {
    fn of(event: &'a AuditEvent) -> Self {
        match event {
            AuditEvent::Approved { .. } => Self::Yes,
            AuditEvent::Redeemed { boot } => Self::Redeemed(boot),
            AuditEvent::Finished { outcome } if outcome == DoneKind::NotSent.as_str() => Self::NotSent,
            AuditEvent::Finished { .. } => Self::Finished,
            AuditEvent::Lost { .. } => Self::Lost,
            AuditEvent::Denied { .. }
            | AuditEvent::Responded { .. }
            | AuditEvent::Expired
            | AuditEvent::Superseded { .. }
            | AuditEvent::Voided { .. }
            | AuditEvent::Cancelled { .. } => Self::Closed,
            AuditEvent::OAuth(_)
            | AuditEvent::Opened { .. }
            | AuditEvent::WouldAsk { .. }
            | AuditEvent::WouldRefuse { .. }
            | AuditEvent::TokenIssued
            | AuditEvent::Resolved { .. }
            | AuditEvent::CallerLeft
            | AuditEvent::HandedOver
            | AuditEvent::LateAnswer { .. }
            | AuditEvent::WrongText { .. }
            | AuditEvent::Edited { .. }
            | AuditEvent::YesCounted { .. }
            | AuditEvent::Granted { .. }
            | AuditEvent::GrantUsed { .. }
            | AuditEvent::GrantRevoked { .. }
            | AuditEvent::Purged { .. }
            | AuditEvent::Pruned { .. }
            | AuditEvent::ModeSet { .. }
            | AuditEvent::Frozen { .. }
            | AuditEvent::Thawed { .. }
            | AuditEvent::Stopped { .. }
            | AuditEvent::WentOn { .. }
            | AuditEvent::FirstUse { .. }
            | AuditEvent::Pinned { .. }
            | AuditEvent::KeyAdded { .. }
            | AuditEvent::KeyRevoked { .. }
            | AuditEvent::Person(_)
            | AuditEvent::FailedOver { .. }
            | AuditEvent::Refused { .. } => Self::Other,
        }
    }
}
