//! A call that passes because the policy is only tried (X8).
//!
//! INVARIANT: what would have become of it is written down in the transaction that lets it go.

use jiff::Timestamp;

use super::Intent;
use crate::audit::AuditEvent;
use crate::verdict::{Standing, Would};

impl Intent {
    /// Writes down what the policy would have done, where it is only tried.
    pub(super) fn note_what_would_be(&mut self, now: Timestamp) {
        let would = match self.question.standing {
            Some(Standing::Shadow(would)) => would,
            Some(Standing::Rule | Standing::TwoKeys) | None => return,
        };
        let server = self.question.binding.server.clone();
        let tool = self.question.binding.tool.clone();
        let class = self.question.classified.class;
        let rule = self.question.rule.clone();
        let reason = self.question.reason.as_ref().map(ToString::to_string);
        self.note(
            match would {
                Would::Ask => AuditEvent::WouldAsk { server, tool, class, rule, reason },
                Would::Refuse(refuse) => {
                    let code = refuse.code().to_owned();
                    AuditEvent::WouldRefuse { server, tool, class, rule, reason, code }
                }
            },
            now,
        );
    }
}
