//! Whose yes a rule wants, and who could give one in a set-up.
//!
//! INVARIANT: a rule that names groups is satisfied by a known person of one of them and by nobody else: not by the
//! agent's word, not by an account at the command line.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use crate::assurance::Assurance;
use crate::id::{GroupName, OrgId};

/// The groups whose yes a rule wants.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Approvers {
    /// A person of any of these will do.
    pub groups: BTreeSet<GroupName>,
    /// Who may say yes too, where those do not answer.
    pub fallback: Option<Fallback>,
}

/// Who is asked besides when nobody answers.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Fallback {
    /// How long the others have for themselves.
    pub after: SignedDuration,
    /// A person of any of these will do from then on.
    pub groups: BTreeSet<GroupName>,
}

impl Approvers {
    /// Everybody who may come to say yes.
    pub fn in_the_end(&self) -> impl Iterator<Item = &GroupName> {
        self.groups.iter().chain(self.fallback.iter().flat_map(|fallback| &fallback.groups))
    }
}

/// Groups, as lists and pages name them.
pub fn plainly<'a>(groups: impl IntoIterator<Item = &'a GroupName>) -> String {
    groups.into_iter().map(GroupName::as_str).collect::<Vec<_>>().join(" or ")
}

/// Groups, as sentences name them.
pub fn any_of<'a>(groups: impl IntoIterator<Item = &'a GroupName>) -> String {
    let names: Vec<String> = groups.into_iter().map(|group| format!("`{group}`")).collect();
    names.join(" or ")
}

/// Who could say yes in this set-up, and how well they would be proven.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Reach {
    anybody: Assurance,
    people: Vec<Reachable>,
}

/// Somebody who may decide.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Reachable {
    /// Whose questions they see.
    pub org: OrgId,
    /// The groups that rules know them by.
    pub groups: BTreeSet<GroupName>,
    /// How well their yes can be proven.
    pub assurance: Assurance,
}

impl Reach {
    /// A set-up in which somebody who is nobody in particular can say yes, and nobody else.
    pub const fn anybody(assurance: Assurance) -> Self {
        Self { anybody: assurance, people: Vec::new() }
    }

    /// The same with people who may decide.
    #[must_use]
    pub fn with(mut self, people: impl IntoIterator<Item = Reachable>) -> Self {
        self.people.extend(people);
        self
    }

    /// The best proof of a human that a question of this organisation can get; `None`: nobody could say yes to it.
    pub fn best(&self, org: &OrgId, approvers: Option<&Approvers>) -> Option<Assurance> {
        let people = self.people.iter().filter(|person| person.org == *org);
        match approvers {
            None => people.map(|person| person.assurance).chain([self.anybody]).max(),
            Some(named) => people
                .filter(|person| named.in_the_end().any(|group| person.groups.contains(group)))
                .map(|person| person.assurance)
                .max(),
        }
    }

    /// Whether anybody at all may decide for these groups.
    pub fn knows_any_of(&self, approvers: &Approvers) -> bool {
        self.people.iter().any(|person| approvers.in_the_end().any(|group| person.groups.contains(group)))
    }

    /// The best proof that anybody could give to anything.
    pub fn strongest(&self) -> Assurance {
        self.people.iter().map(|person| person.assurance).fold(self.anybody, Assurance::max)
    }
}

#[cfg(test)]
mod tests;
