//! Trying a policy: what passes, what does not, and where an operator may say so.

use serde_json::json;

use super::config::table;
use super::{Scene, call, policy};
use crate::assurance::Assurance;
use crate::class::Class;
use crate::mode::Mode;
use crate::pace::Bound;
use crate::refusal::Why;
use crate::render::Sanitized;
use crate::verdict::WouldRefuse;

const RULES: &str = r#"
    [[rules]]
    name = "never"
    tool = "wallet/close"
    then = "reject"
    [[rules]]
    name = "signed"
    tool = "wallet/sign"
    then = "ask"
    assurance = "verified"
    [[rules]]
    name = "reads"
    tool = "wallet/get"
    then = "run"
    [[rules]]
    name = "same"
    tool = "wallet/rename"
    then = "ask"
    noop_when = "args.to == args.from"
"#;

fn both(scene: &Scene, settings: &str) -> (String, String) {
    let tried = policy(&format!("shadow = true\n{settings}\n{RULES}"));
    (scene.says(&tried.in_earnest()), scene.says(&tried))
}

#[track_caller]
fn passes(scene: &Scene, settings: &str, earnest: &str, tried: &str) {
    assert_eq!(both(scene, settings), (earnest.to_owned(), tried.to_owned()));
}

#[track_caller]
fn stays(scene: &Scene, settings: &str, verdict: &str) {
    passes(scene, settings, verdict, verdict);
}

/// X8: what the policy asks about or refuses passes, and says what it would have been.
#[test]
fn what_the_policy_holds_up_passes_where_it_is_tried() {
    passes(&call("wallet/pay"), "", "asks (chat, relayed)", "passes (would ask)");
    passes(&call("wallet/close"), "", "refused (policy_denied)", "passes (would refuse: policy_denied)");
    let sign = call("wallet/sign").reaching(Assurance::Local);
    passes(&sign, "", "refused (no_approver_reachable)", "passes (would refuse: no_approver_reachable)");
    let long = call("wallet/pay").with(json!({"note": "x".repeat(300_000)}));
    passes(&long, "", "refused (too_large_to_review)", "passes (would refuse: too_large_to_review)");
    passes(
        &call("wallet/pay"),
        "otherwise = \"reject\"",
        "refused (policy_denied)",
        "passes (would refuse: policy_denied)",
    );
    passes(&call("wallet/pay"), "mode = \"ask\"", "explained", "passes (would refuse: mode_forbids)");
    passes(
        &call("wallet/pay").wishing(Mode::Execute),
        "mode = \"ask\"",
        "asks (chat, relayed)",
        "passes (would ask)",
    );
}

/// X8: what runs or is answered anyway, what a human has set, and what the caller wished for is the same in a trial.
#[test]
fn what_is_not_the_policys_stays_where_it_is_tried() {
    stays(&call("wallet/get"), "", "runs (rule reads)");
    stays(&call("wallet/list_notes").read_only(), "", "runs (read-only)");
    stays(&call("wallet/rename").with(json!({"from": "a", "to": "a"})), "", "unneeded");
    stays(&call("wallet/pay").wishing(Mode::Plan), "", "explained");
    stays(&call("wallet/pay").wishing(Mode::Plan), "mode = \"ask\"", "refused (mode_forbids)");
    let mut set = call("wallet/pay");
    set.regime.mode = Some(Mode::Ask);
    stays(&set, "", "explained");
    stays(&set.wishing(Mode::Execute), "", "asks (chat, relayed)");
    let mut frozen = call("wallet/pay");
    frozen.regime.frozen = Some("odd".into());
    stays(&frozen, "", "refused (client_frozen)");
    let mut stopped = call("wallet/close");
    stopped.regime.stopped = Some("odd".into());
    stays(&stopped, "", "refused (policy_denied)");
}

/// X8: a trial at some servers is none at the others.
#[test]
fn a_policy_is_tried_at_the_servers_that_are_named() {
    let tried = policy("shadow = [\"wallet\", \"shop\"]");
    assert_eq!(call("wallet/pay").says(&tried), "passes (would ask)");
    assert_eq!(call("bank/pay").says(&tried), "asks (chat, relayed)");
    assert_eq!(tried.shadow().to_string(), "shop, wallet");
    assert_eq!(call("wallet/pay").says(&policy("shadow = false")), "asks (chat, relayed)");
}

/// K4, X8: what cannot be meant is an error; the two keys have no bypass for tests.
#[test]
fn a_trial_that_cannot_be_meant_is_an_error() {
    insta::assert_snapshot!(table(&[
        "profile = \"two-key\"\nshadow = true",
        "profile = \"two-key\"\nshadow = [\"wallet\"]",
        "shadow = []",
        "shadow = \"yes\"",
        "shadow = [\"a b\"]",
        "[servers.wallet]\ncommand = [\"wallet\"]\nshadow = true",
    ]));
}

/// X8: whoever asks why a call is judged as it is reads both.
#[test]
fn an_explanation_says_what_would_be_done_in_earnest() {
    let tried = policy(&format!("shadow = true\n{RULES}"));
    insta::assert_snapshot!(call("wallet/close").explained(&tried), @r"
    wallet/close
    class    dangerous (unknown)
    mode     execute
    profile  none
    rule     never: matches
    decided  by rule never
    verdict  passes, for the policy is only tried (`shadow`); in earnest: refused (policy_denied): The operator's policy does not allow this call: rule never rejects it. Nothing ran.
    ");
}

/// The codes that the trail names are the ones that agents would have seen, and nothing but the policy's own
/// refusals passes.
#[test]
fn only_the_policys_own_refusals_pass() {
    for why in [
        Why::PolicyDenied { reason: "no".into() },
        Why::NoApproverReachable { need: Assurance::Verified },
        Why::TooLargeToReview { bytes: 1 },
    ] {
        assert_eq!(WouldRefuse::of(&why).map(WouldRefuse::code), Some(why.code()));
    }
    let forbids = Why::ModeForbids {
        tool: "pay".parse().unwrap(),
        class: Class::Dangerous,
        mode: Mode::Ask,
        summary: Sanitized::line("x"),
    };
    assert_eq!(WouldRefuse::ModeForbids.code(), forbids.code());
    for why in [
        Why::ToolChanged,
        Why::Denied { reason: None },
        Why::ExecutionUnknown,
        Why::RateLimited { bound: Bound::Open, until: None },
        Why::ClientFrozen { reason: "odd".into() },
        Why::Stopped { reason: "odd".into() },
        Why::ConsentUnavailable { reason: "down" },
    ] {
        assert_eq!(WouldRefuse::of(&why), None, "{why:?}");
    }
}
