//! What the database of a shared ledger can promise: who it is, how it is spoken to, and what a failover would do.

use std::sync::Arc;

use yesgate::SystemClock;
use yesgate_core::policy::Standby;
use yesgate_ledger::{DatabaseAddress, DatabaseState, Followers, Line, Revival, Role};

use super::{Finding, fine, know, mend};
use crate::settings::{LedgerPlace, Settings};

/// What is found; nothing where the ledger is a file.
pub(super) async fn findings(settings: &Settings) -> Vec<Finding> {
    let address = match settings.place() {
        Ok(LedgerPlace::Database(address)) => address,
        Ok(LedgerPlace::File(_)) | Err(_) => return Vec::new(),
    };
    match address.inspect(Arc::new(SystemClock)).await {
        Ok(seen) => vec![
            server(&address, &seen),
            line(&seen),
            clock(&seen),
            failover(&seen, settings.config.ledger.standby),
        ],
        Err(error) => vec![mend("database", format!("{address}: {error}"))],
    }
}

fn server(address: &DatabaseAddress, seen: &DatabaseState) -> Finding {
    let version = &seen.version;
    match &seen.role {
        Role::Primary(history) => fine(
            "database",
            format!("{address}: PostgreSQL {version}, the primary, system and timeline {history}"),
        ),
        Role::Standby => mend(
            "database",
            format!(
                "{address}: PostgreSQL {version}, a standby, which cannot be written; name the primary, or both"
            ),
        ),
    }
}

fn line(seen: &DatabaseState) -> Finding {
    match seen.line {
        Line::Encrypted => fine("line", "the line to the database is encrypted"),
        Line::OnThisMachine => fine("line", "the line to the database does not leave this machine"),
        Line::InClear => mend(
            "line",
            "the line to the database is in clear: whoever is on the way reads and changes what passes. Switch TLS on \
             there, and say `sslmode=verify-full`",
        ),
    }
}

fn clock(seen: &DatabaseState) -> Finding {
    let (ahead, away) = (seen.ahead.as_millis(), seen.ahead.abs().as_secs());
    match away {
        0..=5 => fine("clock", format!("the database's clock, which counts, is {ahead} ms ahead of ours")),
        _ => know(
            "clock",
            format!("the database's clock, which counts, is {ahead} ms ahead of ours; set one right"),
        ),
    }
}

/// In plain words: whether a failover can bring a spent yes back, and what to change.
fn failover(seen: &DatabaseState, standby: Standby) -> Finding {
    let off = match seen.off.as_slice() {
        [] => String::new(),
        settings => {
            format!(". Switch `{}` on: a power cut can damage what was committed", settings.join("` and `"))
        }
    };
    let names = match &seen.followers {
        Followers::Hidden => String::new(),
        Followers::Seen { synchronous, asynchronous } => {
            let told = |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            format!(" (synchronous: {}; asynchronous: {})", told(synchronous), told(asynchronous))
        }
    };
    match (seen.revival(), standby) {
        (Revival::NobodyFollows, Standby::NoneMeant) => know(
            "failover",
            format!(
                "no standby follows the database: while it is away nothing is asked and nothing runs{off}"
            ),
        ),
        (Revival::Impossible, Standby::TakesOver) => fine(
            "failover",
            format!("a failover cannot bring a spent yes back: every commit waits for a standby{names}{off}"),
        ),
        (Revival::Impossible, Standby::NoneMeant) => know(
            "failover",
            format!(
                "every commit waits for a standby{names}, but nobody relies on it: after a failover all open \
                 questions are void. Say `ha = true` in [ledger] where that is to stay so{off}"
            ),
        ),
        (Revival::ByTheWrongOne, _) => know(
            "failover",
            format!(
                "a failover cannot bring a spent yes back, unless one takes over that is asynchronous{names}: let only \
                 a synchronous one be promoted{off}"
            ),
        ),
        (Revival::Possible, Standby::NoneMeant) => know(
            "failover",
            format!(
                "a failover CAN lose the last commits{names}, and with them bring a spent yes back. Yesgate then voids \
                 all open questions and remembered yeses before it runs anything. What was revoked or frozen in the \
                 last moments may count again. To lose nothing, set `synchronous_standby_names` on the primary, and \
                 `ha = true` in [ledger]{off}"
            ),
        ),
        (Revival::Possible | Revival::NobodyFollows, Standby::TakesOver) => mend(
            "failover",
            format!(
                "`ha = true` says that a standby takes over, but commits do not wait for one{names}: nothing starts. \
                 Connect a standby and set `synchronous_standby_names` on the primary{off}"
            ),
        ),
        (Revival::Untold, Standby::NoneMeant) => know("failover", format!("{UNTOLD}{off}")),
        (Revival::Untold, Standby::TakesOver) => mend("failover", format!("{UNTOLD}{off}")),
    }
}

const UNTOLD: &str = "whether a failover can bring a spent yes back cannot be told: this account does not see the \
                      standbys. On the primary, `GRANT pg_read_all_stats` to it";
