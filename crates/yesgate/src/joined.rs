//! Joins what a server says it received with what the ledger says was let go.
//!
//! Set joins, no search: each call in the server's log belongs to one redemption of the same tool with the same arguments,
//! written down before the call arrived, by the process that the call's id names where it names one.
//!
//! INVARIANT: the log is read line by line, and of the ledger only what was redeemed is kept, a few words for each. A
//! redemption without a call is no fault by itself: the process may have died in between, and `unknown` or `not_sent` is
//! then the honest end. A call that arrived is not `not_sent`, also where the server turned it away.

mod line;
mod releases;
mod report;

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use yesgate_core::id::IntentId;

use self::line::Call;
pub(crate) use self::line::LONGEST;
use self::releases::Ending;
pub(crate) use self::releases::Releases;
pub(crate) use self::report::Joined;
use self::report::{Finding, Wrong};

/// What the operator says about the log.
#[derive(Clone, Debug)]
pub(crate) struct About {
    /// Whose log it is, where its lines do not say so.
    pub(crate) server: Option<String>,
    /// Tools that need no yes.
    pub(crate) free: BTreeSet<String>,
    /// How far the clock of the server and that of the ledger may be apart.
    pub(crate) skew: SignedDuration,
    /// When the log begins.
    pub(crate) since: Option<Timestamp>,
}

/// Goes through a log.
#[derive(Debug)]
pub(crate) struct Joiner {
    about: About,
    releases: Releases,
    joined: Joined,
}

impl Joiner {
    pub(crate) fn new(about: About, releases: Releases) -> Self {
        let mut joined = Joined { redeemed: releases.count(), ..Joined::default() };
        for (intent, fault) in releases.faults() {
            joined.find(Finding {
                line: None,
                at: None,
                tool: None,
                intent: Some(intent.clone()),
                wrong: *fault,
            });
        }
        Self { about, releases, joined }
    }

    /// Takes one line of the log.
    pub(crate) fn read(&mut self, number: u64, text: &[u8]) {
        match Call::parse(text) {
            Ok(Some(call)) => self.judge(number, &call),
            // Something else that the server received.
            Ok(None) => {}
            Err(error) => {
                let wrong = Wrong::Unreadable(error);
                self.joined.find(Finding { line: Some(number), at: None, tool: None, intent: None, wrong });
            }
        }
    }

    fn judge(&mut self, number: u64, call: &Call) {
        if self.about.since.is_some_and(|since| call.at < since) {
            return;
        }
        self.joined.calls += 1;
        let server = call.server.as_deref().or(self.about.server.as_deref());
        let Some(server) = server.map(str::to_owned) else {
            return self.complain(number, call, None, Wrong::WhoseLog);
        };
        let latest = call.at.checked_add(self.about.skew).unwrap_or(Timestamp::MAX);
        match self.releases.claim(&server, call, latest) {
            Ok(released) => {
                // The further rounds of a call that asks its user are the same run.
                if !call.goes_on {
                    self.joined.consented += 1;
                }
                let (intent, ending) = (released.intent.clone(), released.ending);
                match ending {
                    Ending::NotSent => self.complain(number, call, Some(intent), Wrong::NotSent),
                    Ending::Open | Ending::Finished(_) | Ending::Unknown => {}
                }
            }
            Err(_) if self.about.free.contains(&call.tool) => self.joined.free += 1,
            Err((intent, wrong)) => self.complain(number, call, intent, wrong),
        }
    }

    fn complain(&mut self, number: u64, call: &Call, intent: Option<IntentId>, wrong: Wrong) {
        self.joined.find(Finding {
            line: Some(number),
            at: Some(call.at),
            tool: Some(call.tool.clone()),
            intent,
            wrong,
        });
    }

    /// The log is at its end: what should have been in it, and was not?
    pub(crate) fn finish(mut self, log_ended: Timestamp) -> Joined {
        for release in self.releases.unused() {
            if self.about.since.is_some_and(|since| release.at < since) {
                continue;
            }
            match release.ending {
                // What ended after the log was looked at may have arrived after it, too.
                Ending::Finished(at) if at > log_ended => {}
                Ending::Finished(_) => self.joined.find(Finding {
                    line: None,
                    at: Some(release.at),
                    tool: Some(release.tool.to_string()),
                    intent: Some(release.intent.clone()),
                    wrong: Wrong::NeverArrived,
                }),
                Ending::Open | Ending::Unknown => self.joined.unknown += 1,
                Ending::NotSent => self.joined.not_sent += 1,
            }
        }
        self.joined
    }
}

#[cfg(test)]
mod tests;
