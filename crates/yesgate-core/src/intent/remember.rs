//! Saying yes and having it remembered, and running on a yes that is (X4).

use jiff::Timestamp;

use super::{Approver, Claim, Intent, Runner, State, Surface};
use crate::assurance::Assurance;
use crate::audit::AuditEvent;
use crate::digest::CallDigest;
use crate::grant::{Grant, Wish};
use crate::refusal::{Refusal, Why};

impl Intent {
    /// Records a yes by somebody who saw exactly this, and makes a grant of it. Both happen or neither.
    ///
    /// # Errors
    /// Like [`Intent::approve`], and when this yes cannot be remembered like that.
    pub fn approve_and_remember(
        &mut self,
        by: &Approver,
        seen: CallDigest,
        wish: Wish,
        now: Timestamp,
    ) -> Result<Grant, Refusal> {
        self.notice_expiry(now);
        let grant = match Grant::of(self, by, wish, now) {
            Ok(grant) => grant,
            // What is over says so first.
            Err(reason) if self.state == State::Pending => {
                return Err(self.refusal(Why::NotRemembered { reason }));
            }
            Err(_) => return Err(self.ending()),
        };
        self.approve(by, seen, now)?;
        self.note(
            AuditEvent::Granted {
                grant: grant.id.clone(),
                scope: grant.scope.as_str().into(),
                uses: grant.limits.uses(),
                until: grant.limits.until(),
                fingerprint: grant.fingerprint(),
                by: by.name.clone(),
            },
            now,
        );
        Ok(grant)
    }

    /// A remembered yes covers it: counted as one use, and run.
    pub(super) fn granted_yes(&mut self, grant: &Grant, runner: &Runner<'_>, now: Timestamp) -> Claim {
        let by = Approver {
            name: format!("grant {} of {}", grant.id, grant.by),
            identity: None,
            groups: grant.groups.clone(),
            surface: Surface::Agent,
            // What was signed was another question: this yes is no more than a person's word.
            assurance: grant.assurance.min(Assurance::SignedIn),
            typed: None,
            proof: None,
        };
        let claim = self.yes_and_run(&by, runner, now);
        match &claim {
            Claim::Run(_) => self.note(AuditEvent::GrantUsed { grant: grant.id.clone() }, now),
            Claim::Replay(_) | Claim::Wait | Claim::Refused(_) => {}
        }
        claim
    }
}
