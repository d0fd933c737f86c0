//! Who is reachable for whom.

use super::{Approvers, Fallback, Reach, Reachable};
use crate::assurance::Assurance;
use crate::id::OrgId;

fn person(org: &str, groups: &[&str], assurance: Assurance) -> Reachable {
    let groups = groups.iter().map(|group| group.parse().unwrap()).collect();
    Reachable { org: org.parse().unwrap(), groups, assurance }
}

fn named(group: &str) -> Approvers {
    Approvers { groups: [group.parse().unwrap()].into(), fallback: None }
}

/// X6: people of another organisation, or of no group that the rule names, are not counted on.
#[test]
fn only_those_who_may_decide_a_question_are_reached() {
    let reach = Reach::anybody(Assurance::Local).with([
        person("acme", &["ops"], Assurance::SignedIn),
        person("acme", &[], Assurance::Verified),
        person("rival", &["legal"], Assurance::Verified),
    ]);
    let (acme, rival): (OrgId, OrgId) = ("acme".parse().unwrap(), "rival".parse().unwrap());
    let nobody: OrgId = "nobody".parse().unwrap();
    assert_eq!(reach.best(&acme, None), Some(Assurance::Verified));
    assert_eq!(reach.best(&nobody, None), Some(Assurance::Local), "somebody at the command line");
    assert_eq!(reach.best(&acme, Some(&named("ops"))), Some(Assurance::SignedIn));
    assert_eq!(reach.best(&acme, Some(&named("legal"))), None, "they are another organisation's");
    assert_eq!(reach.best(&rival, Some(&named("legal"))), Some(Assurance::Verified));
    assert_eq!(reach.best(&nobody, Some(&named("ops"))), None, "the command line is in no group");
    assert_eq!(reach.strongest(), Assurance::Verified);
}

/// X6: who steps in later is reached too.
#[test]
fn the_fallback_counts_as_reached() {
    let reach = Reach::anybody(Assurance::Local).with([person("acme", &["leads"], Assurance::SignedIn)]);
    let after = jiff::SignedDuration::from_mins(10);
    let fallback = Some(Fallback { after, groups: ["leads".parse().unwrap()].into() });
    let approvers = Approvers { fallback, ..named("ops") };
    assert_eq!(reach.best(&"acme".parse().unwrap(), Some(&approvers)), Some(Assurance::SignedIn));
}
