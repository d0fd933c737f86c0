//! Two keys: the operator's and the caller's, and nothing else.

use serde_json::json;

use super::super::Config;
use super::{Scene, call, policy};
use crate::assurance::Assurance;
use crate::call::CallKey;
use crate::class::Trust;
use crate::mode::Mode;
use crate::refusal::{RECOVERY_HINT, Refusal};
use crate::switch::OperatorSwitch;
use crate::verdict::{ConfirmType, Standing, Verdict};

const TWO_KEY: &str = "profile = \"two-key\"\n";

fn refused(scene: &Scene, text: &str) -> Refusal {
    match scene.under(&policy(text)) {
        Verdict::Refuse(refusal) => refusal,
        other @ (Verdict::Forward(_)
        | Verdict::Explain(_)
        | Verdict::Preview(_)
        | Verdict::Unneeded(_)
        | Verdict::Ask(_)
        | Verdict::AskWithPreview(..)) => panic!("not refused: {}", super::short(&other)),
    }
}

/// K1: it fires only with both keys turned.
#[test]
fn a_tool_fires_only_with_both_keys_turned() {
    let policy = policy(TWO_KEY);
    for (switch, key, expected) in [
        (OperatorSwitch::Live, CallKey::Turned, "runs (two keys)"),
        (OperatorSwitch::Live, CallKey::Absent, "refused (DRY_RUN_PREVIEW)"),
        (OperatorSwitch::DryRun, CallKey::Turned, "refused (DRY_RUN_PREVIEW)"),
        (OperatorSwitch::DryRun, CallKey::Absent, "refused (DRY_RUN_PREVIEW)"),
    ] {
        let scene = call("discord/messages_delete").keys(switch, key);
        assert_eq!(scene.says(&policy), expected, "{switch:?} {key:?}");
    }
}

/// K1: the preview has the published fields and the exact hint, and its secrets are redacted (K6).
#[test]
fn the_preview_has_the_published_words() {
    let scene = call("discord/send").with(json!({"channel": "general", "password": "hunter2-hunter2"}));
    let payload = serde_json::Value::Object(refused(&scene, TWO_KEY).payload());
    assert_eq!(payload["code"], "DRY_RUN_PREVIEW");
    assert_eq!(payload["tool"], "send");
    assert_eq!(payload["retriable"], false);
    assert_eq!(payload["preview"]["channel"], "general");
    assert_ne!(payload["preview"]["password"], "hunter2-hunter2");
    assert_eq!(payload["recovery_hint"], RECOVERY_HINT);
    assert_eq!(
        RECOVERY_HINT,
        "Set MCP_DRY_RUN=false AND pass __confirm:true (or use elicitation flow) to actually execute"
    );
}

/// K2: whatever the operator's variable holds, only the literal `false` lets anything fire.
#[test]
fn only_the_literal_false_lets_anything_fire() {
    let policy = policy(TWO_KEY);
    for variable in [None, Some(""), Some("0"), Some("no"), Some("False"), Some("disabled"), Some("fasle")] {
        let scene = call("discord/ban").keys(OperatorSwitch::parse(variable), CallKey::Turned);
        assert_eq!(scene.says(&policy), "refused (DRY_RUN_PREVIEW)", "{variable:?}");
    }
    let armed = call("discord/ban").keys(OperatorSwitch::parse(Some("false")), CallKey::Turned);
    assert_eq!(armed.says(&policy), "runs (two keys)");
}

/// K7: a model's key is no human: it is recorded as the weakest of all proofs.
#[test]
fn both_keys_are_recorded_as_nobodys_yes() {
    let scene = call("discord/ban").keys(OperatorSwitch::Live, CallKey::Turned).reaching(Assurance::Asserted);
    let question = scene.question(&policy(TWO_KEY));
    assert_eq!(question.standing, Some(Standing::TwoKeys));
    assert_eq!(question.least, Assurance::Asserted);
    assert_eq!(question.confirm, ConfirmType::None);
}

/// K4: every tool that is not read-only is covered, `idempotentHint` or not.
#[test]
fn every_tool_that_is_not_read_only_is_covered() {
    let policy = policy(TWO_KEY);
    assert_eq!(call("discord/list").read_only().says(&policy), "runs (read-only)");
    assert_eq!(call("discord/react").safe_write().says(&policy), "refused (DRY_RUN_PREVIEW)");
    let idempotent = call("discord/delete").annotated(json!({"idempotentHint": true}));
    assert_eq!(idempotent.says(&policy), "refused (DRY_RUN_PREVIEW)");
}

/// K4: following `idempotentHint` is an option, and an untrusted server's hint is not followed.
#[test]
fn the_idempotent_hint_is_followed_only_where_the_operator_says_so_and_trusts_the_server() {
    let policy = policy("profile = \"two-key\"\ncover = \"not_idempotent\"");
    let mut scene = call("discord/set_topic").annotated(json!({"idempotentHint": true}));
    assert_eq!(scene.says(&policy), "runs (dangerous)");
    scene.trust = Trust::None;
    assert_eq!(scene.says(&policy), "refused (DRY_RUN_PREVIEW)");
    let unsaid = call("discord/set_topic");
    assert_eq!(unsaid.says(&policy), "refused (DRY_RUN_PREVIEW)");
}

/// K4: no exceptions for single tools: a rule that is one is refused at load.
#[test]
fn a_rule_can_only_reject() {
    for line in [
        "then = \"run\"",
        "then = \"ask\"",
        "class = \"read-only\"",
        "confirm = \"simple\"",
        "summary = \"x\"",
    ] {
        let error = Config::parse(&format!("{TWO_KEY}[[rules]]\ntool = \"*\"\n{line}")).unwrap_err();
        assert!(error.message().contains("a rule can only reject"), "{line}: {error}");
    }
    let text = format!(
        "{TWO_KEY}[[rules]]\ntool = \"discord/ban\"\nthen = \"reject\"\nreason = \"nobody is banned here\""
    );
    let scene = call("discord/ban").keys(OperatorSwitch::Live, CallKey::Turned);
    assert_eq!(scene.says(&policy(&text)), "refused (policy_denied)");
    assert!(Config::parse("profile = \"two-key\"\notherwise = \"ask\"").is_err());
    assert!(Config::parse("profile = \"handshake\"\ncover = \"not_idempotent\"").is_err());
}

/// K4: there is no mode below the keys: nobody is asked there who could raise it.
#[test]
fn a_lower_mode_is_refused_at_load() {
    for mode in ["ask", "plan"] {
        let error = Config::parse(&format!("{TWO_KEY}mode = \"{mode}\"")).unwrap_err();
        assert!(error.message().contains(&format!("has no `{mode}` mode")), "{error}");
    }
    assert!(Config::parse("profile = \"two-key\"\nmode = \"execute\"").is_ok());
}

/// K1: nobody reads the call, so its size is no reason to refuse it; the summary stays short.
#[test]
fn a_large_call_fires_too_and_its_summary_stays_short() {
    let scene = call("files/write")
        .with(json!({"text": "x".repeat(300_000)}))
        .keys(OperatorSwitch::Live, CallKey::Turned);
    let question = scene.question(&policy(TWO_KEY));
    insta::assert_snapshot!(question.summary, @r#""write" with arguments too large to show, on files"#);
}

/// M1: a lower mode holds here too; the keys do not turn it.
#[test]
fn both_keys_do_not_raise_the_mode() {
    let scene = call("discord/ban").keys(OperatorSwitch::Live, CallKey::Turned).wishing(Mode::Ask);
    assert_eq!(scene.says(&policy(TWO_KEY)), "explained");
}
