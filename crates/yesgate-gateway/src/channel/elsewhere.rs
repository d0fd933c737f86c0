//! Waiting for a human who decides away from the agent: the call is held open as long as clients stand it, and
//! a modern client comes back for more in rounds that ask it for nothing (SEP-2322).

use std::time::Duration;

use tokio::time::Instant;
use yesgate_core::id::IntentId;

use crate::errand::Errand;
use crate::gate::Gate;
use crate::reply::Reply;

impl Gate {
    /// Waits for a decision from elsewhere and for its outcome.
    pub(crate) async fn wait_elsewhere(&self, id: &IntentId, errand: &Errand) -> Reply {
        let in_all = self.policy().hold().unsigned_abs() + self.policy().wait().unsigned_abs();
        let until = Instant::now() + self.setting.patience.caller.map_or(in_all, |most| in_all.min(most));
        let mut rounds = 0;
        loop {
            if let Some(reply) = self.wait_once(id, errand).await {
                return reply;
            }
            let Some(person) =
                errand.person.as_ref().filter(|_| rounds < MOST_ROUNDS && Instant::now() < until)
            else {
                return self.still_open(id).await;
            };
            // Whoever cannot come back by itself is answered now.
            if person.talk.rest().await.is_err() {
                return if errand.cancel.is_fired() { Reply::Silent } else { self.still_open(id).await };
            }
            rounds += 1;
        }
    }

    /// How long a client may be kept waiting in one go.
    pub(crate) fn hold(&self) -> Duration {
        let hold = self.policy().hold().unsigned_abs();
        self.setting.patience.caller.map_or(hold, |most| hold.min(most))
    }
}

/// Clients go round ten times at most.
const MOST_ROUNDS: u32 = 8;
