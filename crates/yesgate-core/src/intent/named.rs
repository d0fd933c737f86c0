//! Only the groups that the rule names say yes; where they do not answer, those who step in for them (X6).
//!
//! INVARIANT: a no is anybody's to say. Nobody is in a group by their own word: whoever makes an [`Approver`] looks the
//! groups up.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::{Approver, Intent};
use crate::approvers::plainly;
use crate::id::GroupName;
use crate::refusal::{Refusal, Why};

impl Intent {
    /// When those who step in may say yes, where the rule names some.
    pub const fn fallback_at(&self) -> Option<Timestamp> {
        self.fallback_at
    }

    /// Whether somebody of these groups may say yes now.
    pub fn may_be_approved_by(&self, groups: &BTreeSet<GroupName>, now: Timestamp) -> bool {
        let Some(named) = &self.question.approvers else { return true };
        let stepped_in = named.fallback.as_ref().filter(|_| self.fallback_at.is_some_and(|at| now >= at));
        let stepped_in = stepped_in.map(|fallback| &fallback.groups);
        !named.groups.is_disjoint(groups) || stepped_in.is_some_and(|named| !named.is_disjoint(groups))
    }

    /// Whose yes it waits for, in words; `None`: that of anybody who may decide.
    pub fn whose_yes(&self) -> Option<String> {
        let named = self.question.approvers.as_ref()?;
        let groups = plainly(&named.groups);
        Some(match (&named.fallback, self.fallback_at) {
            (Some(fallback), Some(at)) => {
                let at = at.strftime("%Y-%m-%d %H:%M:%S UTC");
                format!("somebody in {groups}, from {at} on also in {}", plainly(&fallback.groups))
            }
            (Some(_), None) | (None, _) => format!("somebody in {groups}"),
        })
    }

    /// Compares the approver's groups with the rule's.
    ///
    /// # Errors
    /// When the rule wants somebody else's yes.
    pub(super) fn compare_groups(&self, by: &Approver, now: Timestamp) -> Result<(), Refusal> {
        if self.may_be_approved_by(&by.groups, now) {
            return Ok(());
        }
        let named = self.question.approvers.iter().flat_map(|approvers| &approvers.groups);
        Err(self.refusal(Why::NotAnApprover { groups: named.cloned().collect() }))
    }
}

#[cfg(test)]
mod tests;
