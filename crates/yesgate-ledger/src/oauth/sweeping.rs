//! What is too old to matter.
//!
//! INVARIANT: nothing goes that anybody can still use, and no client that has a connection that counts.

use jiff::{SignedDuration, Timestamp};
use yesgate_core::audit::AuditEvent;
use yesgate_core::oauth::{DeviceRequest, End, OAuthEvent, Parked};

use super::KeptConnection;
use super::change::{OAuthTarget, OAuthWrite};
use super::tokens::THE_GATEWAY;
use crate::change::{Effects, Found, Target, Write};
use crate::error::LedgerError;
use crate::ledger::Ledger;

/// Moments before which things do not matter any more.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Bounds {
    /// Tokens that ended at or before this one.
    pub(crate) tokens: Timestamp,
    /// Codes that ended at or before it: one that was used is known for a while, for its replay tells of a thief.
    pub(crate) codes: Timestamp,
    /// Requests that came at or before it.
    pub(crate) parked: Timestamp,
    /// Clients without a browser that came at or before it: a while longer, so that they hear that they are too late.
    pub(crate) devices: Timestamp,
    /// Clients that nobody has allowed anything, last used at or before it.
    pub(crate) unbound: Timestamp,
    /// Other clients without a connection that counts, last used and not ended after it.
    pub(crate) unused: Timestamp,
    /// Connections without anything that counts, last used at or before it.
    pub(crate) idle: Timestamp,
}

impl Bounds {
    /// The bounds at some moment.
    pub(crate) fn at(now: Timestamp, unbound: SignedDuration, unused: SignedDuration) -> Self {
        let before = |by: SignedDuration| now.checked_sub(by).unwrap_or(Timestamp::MIN);
        Self {
            tokens: now,
            codes: before(DAY),
            parked: before(Parked::LIFETIME),
            devices: before(DeviceRequest::LIFETIME.saturating_mul(2)),
            unbound: before(unbound),
            unused: before(unused),
            idle: before(DAY),
        }
    }
}

impl Ledger {
    /// Removes what is too old to matter: requests, codes, tokens, clients; ends connections that nobody can use any more;
    /// and withdraws what a crash left of those that have ended. Says how many rows.
    ///
    /// # Errors
    /// When a change is not durable; those before it are.
    pub async fn sweep_oauth(
        &self,
        unbound: SignedDuration,
        unused: SignedDuration,
    ) -> Result<u64, LedgerError> {
        let mut rows = 0;
        loop {
            let target = Target::OAuth(OAuthTarget::Sweep { unbound, unused });
            let (removed, ended) = self
                .change(target, move |Found { oauth, .. }, now| {
                    let end = |kept: &KeptConnection| {
                        let (connection, by) = (kept.connection.id.clone(), THE_GATEWAY.to_owned());
                        AuditEvent::OAuth(OAuthEvent::Ended { connection, why: End::Idle, by })
                    };
                    let events: Vec<_> = oauth.connections.iter().map(end).collect();
                    let ended = events.len();
                    if oauth.count == 0 {
                        return ((0, ended), Effects { events, ..Effects::default() });
                    }
                    let writes = vec![Write::OAuth(OAuthWrite::Sweep(Bounds::at(now, unbound, unused)))];
                    ((oauth.count, ended), Effects { writes, events, ..Effects::default() })
                })
                .await?;
            rows += removed;
            if ended == 0 {
                break;
            }
        }
        self.settle_ended().await?;
        Ok(rows)
    }
}

const DAY: SignedDuration = SignedDuration::from_hours(24);
