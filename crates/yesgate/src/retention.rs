//! How long contents are kept: what a running gateway purges by itself.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use yesgate_ledger::Ledger;

/// Purges what has been kept long enough, now and from time to time, for as long as it is polled. Without a length of
/// time everything is kept, and this never ends.
pub(crate) async fn keep_for(keep: Option<SignedDuration>, ledger: Ledger) {
    let Some(keep) = keep else { return std::future::pending().await };
    loop {
        match ledger.purge(before(ledger.now(), keep), BY).await {
            Ok(purged) if purged.questions == 0 => {}
            Ok(purged) => {
                tracing::info!(questions = purged.questions, "contents that were kept long enough are purged")
            }
            // What could not be purged is purged next time.
            Err(error) => tracing::warn!(%error, "what was kept long enough could not be purged: {error}"),
        }
        tokio::time::sleep(BETWEEN).await;
    }
}

/// The moment since which nothing may have happened to a question that is purged.
pub(crate) fn before(now: Timestamp, keep: SignedDuration) -> Timestamp {
    now.checked_sub(keep).unwrap_or(Timestamp::MIN)
}

const BY: &str = "the gateway, as `keep` says";
const BETWEEN: Duration = Duration::from_secs(60 * 60);
