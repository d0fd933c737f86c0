//! Time: no request takes longer than it may, and what a human approved is not given up with it.
//!
//! INVARIANT: a run that was begun goes to its end. A caller that cannot be kept waiting for it is told which
//! question it belongs to, and how to ask for its outcome.

use std::pin::pin;

use tokio::time::timeout;
use yesgate_core::refusal::{Refusal, Why};

use super::Hub;
use crate::board::Ask;
use crate::era::Era;
use crate::errand::Begun;
use crate::metrics::labels::{Front, MethodClass, Outcome};
use crate::reply::{Own, Reply};

/// What became of a request whose time is over.
enum Left {
    /// What was begun for it goes on; this is what its caller is told.
    Running(Reply),
    /// What was begun for it has just ended: its answer is there in a moment.
    Ended,
    /// Nothing was begun that may not be given up.
    Nothing,
}

impl Hub {
    /// Answers within the time that a request may take, and counts it.
    pub(super) async fn timed(&self, ask: Ask) -> Reply {
        let front = match ask.party.era {
            Era::Modern => Front::Modern,
            Era::Legacy => Front::Legacy,
        };
        let counted = self.metrics.request(front, MethodClass::of(&ask.method));
        let begun = Begun::default();
        let mut answering = pin!(self.answer(&ask, &begun));
        let reply = match timeout(self.longest, &mut answering).await {
            Ok(reply) => reply,
            Err(_) => match Box::pin(self.leave_running(&begun)).await {
                Left::Running(reply) => reply,
                Left::Ended => answering.await,
                Left::Nothing => {
                    ask.cancel.fire();
                    let longest = self.longest.as_secs();
                    let words = format!("The request took longer than {longest} s and was given up.");
                    Reply::error(-32603, &words, None)
                }
            },
        };
        counted.end(match &reply {
            Reply::Result(_) | Reply::Relayed => Outcome::Answered,
            Reply::Own(own) => outcome_of(own),
            Reply::Error(_) => Outcome::Failed,
            Reply::Silent => Outcome::Cancelled,
        });
        reply
    }

    /// Leaves the run that was begun for a request to itself.
    async fn leave_running(&self, begun: &Begun) -> Left {
        let Some(id) = begun.intent() else { return Left::Nothing };
        let left = self
            .ledger
            .update(id, |intent, now| (intent.leave_running(now), intent.question().binding.server.clone()));
        let server = match left.await {
            Ok(Some((true, server))) => Some(server),
            Ok(Some((false, _)) | None) => return Left::Ended,
            Err(error) => {
                tracing::error!(intent.id = %id, %error, "that a caller left could not be written: {error}");
                None
            }
        };
        let refusal = Refusal::from(Why::ExecutionInProgress).about(id);
        // One policy is in force at all gates.
        let policy = self.servers().first().map(|server| server.gate.policy());
        let form = policy.as_ref().map_or(refusal.why.wire_form(), |policy| policy.wire_form(&refusal.why));
        let refusal = match (policy, server) {
            (Some(policy), Some(server)) => refusal.naming(policy.own_names(&server)),
            (Some(_) | None, _) => refusal,
        };
        Left::Running(Reply::refuse(&refusal, form))
    }
}

fn outcome_of(own: &Own) -> Outcome {
    match own {
        Own::Held(_) | Own::Task(_) | Own::Told(_) => Outcome::Answered,
        Own::Refused(_, _) | Own::Unscoped(_) => Outcome::Refused,
        Own::Unreadable { .. } | Own::NoSuchTool => Outcome::Invalid,
        Own::InWords(own) => outcome_of(own),
    }
}
