//! Whose yes a rule wants.

use super::{call, policy};
use crate::approvers::{Reach, Reachable};
use crate::assurance::Assurance;
use crate::policy::Config;
use crate::verdict::{Channel, Remember};

const RULE: &str = r#"
[[rules]]
tool = "a/rm"
then = "ask"
approvers = ["ops", "finance"]
fallback = { after = "10m", approvers = "leads" }
"#;

fn reach(groups: &[&str]) -> Reach {
    let groups = groups.iter().map(|group| group.parse().unwrap()).collect();
    let org = super::fixture::caller().org;
    Reach::anybody(Assurance::Local).with([Reachable { org, groups, assurance: Assurance::SignedIn }])
}

/// X6: the question goes to the groups that the rule names, away from the agent, whose word is nobody's.
#[test]
fn a_rule_names_the_groups_whose_yes_it_wants() {
    let mut scene = call("a/rm");
    for known in [&["ops"][..], &["finance"], &["leads"]] {
        scene.reach = reach(known);
        let question = scene.question(&policy(RULE));
        let approvers = question.approvers.unwrap();
        assert_eq!(approvers.groups.len(), 2);
        assert_eq!(approvers.fallback.unwrap().after.as_mins(), 10);
        assert_eq!((question.channel, question.least), (Channel::OutOfBand, Assurance::Local));
        assert_eq!(question.remember, Remember::AnyScope);
    }
    let weak =
        policy("profile = \"handshake\"\n[[rules]]\ntool = \"a/rm\"\nthen = \"ask\"\napprovers = \"ops\"\n");
    scene.reach = reach(&["ops"]);
    assert_eq!(scene.question(&weak).least, Assurance::Local, "a relayed yes is in no group");
}

/// X6, X9: where nobody of these groups may decide, the call is refused, and never asked of others.
#[test]
fn groups_that_nobody_is_in_cannot_be_reached() {
    let mut scene = call("a/rm");
    for known in [&[][..], &["sales"]] {
        scene.reach = reach(known);
        assert_eq!(scene.says(&policy(RULE)), "refused (no_approver_reachable)", "{known:?}");
    }
    scene.reach = Reach::anybody(Assurance::Local);
    assert_eq!(scene.says(&policy(RULE)), "refused (no_approver_reachable)");
}

/// X8: what means nothing is an error, with the place and what to do.
#[test]
fn approvers_that_mean_nothing_are_an_error() {
    let errors: String = [
        "approvers = []",
        "approvers = [\"ops\", \"ops\"]",
        "approvers = \"two words\"",
        "approvers = 3",
        "fallback = { after = \"5m\", approvers = \"leads\" }",
        "approvers = \"ops\"\nfallback = { after = \"5m\" }",
        "approvers = \"ops\"\nfallback = { after = \"0s\", approvers = \"leads\" }",
        "approvers = \"ops\"\nfallback = { afterwards = \"5m\", approvers = \"leads\" }",
        "approvers = \"ops\"\nfallback = { after = \"31m\", approvers = \"leads\" }",
        "then = \"run\"\napprovers = \"ops\"",
        "then = \"reject\"\napprovers = \"ops\"",
    ]
    .into_iter()
    .map(|keys| {
        let error = Config::parse(&format!("[[rules]]\ntool = \"*\"\n{keys}\n")).unwrap_err();
        format!("{keys}\n    {error}\n")
    })
    .collect();
    insta::assert_snapshot!(errors);
}
