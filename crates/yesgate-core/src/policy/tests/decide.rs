//! Rules, classes, modes and channels: what is decided about one call.

use serde_json::json;

use super::super::{Known, Pin};
use super::{call, policy};
use crate::assurance::Assurance;
use crate::call::WishedChannel;
use crate::class::{Class, ClassSource, Trust};
use crate::mode::Mode;
use crate::refusal::{Why, WireForm};
use crate::verdict::Verdict;

/// DESIGN "Policy": the first rule that matches decides.
#[test]
fn the_first_rule_that_matches_decides() {
    let policy = policy(
        r#"
        [[rules]]
        name = "large"
        tool = "wallet/pay"
        when = "args.amount > 100"
        then = "reject"

        [[rules]]
        name = "small"
        tool = "wallet/pay"
        when = "args.amount < 5"
        then = "run"

        [[rules]]
        tool = "wallet/*"
        then = "ask"
        "#,
    );
    let pay = |amount: i64| call("wallet/pay").with(json!({"amount": amount})).says(&policy);
    assert_eq!(pay(101), "refused (policy_denied)");
    assert_eq!(pay(4), "runs (rule small)");
    assert_eq!(pay(50), "asks (chat, relayed)");
    assert_eq!(call("wallet/balance").read_only().says(&policy), "asks (chat, relayed)");
    assert_eq!(call("shop/list").read_only().says(&policy), "runs (read-only)");
}

/// H7: no trust and no reviewed class lets a call run that a rule asks about.
#[test]
fn a_rule_that_asks_is_stronger_than_any_class() {
    let policy = policy("[[rules]]\ntool = \"*\"\nconfirm = \"simple\"");
    let mut scene = call("shop/refund").read_only();
    scene.pin = Some(Pin { definition: scene.definition().digest, class: Some(Class::ReadOnly) });
    assert_eq!(scene.says(&policy), "asks (chat, relayed)");
}

/// X5, DESIGN "Policy": rule, then pin, then annotations, which count only for what was accepted; what is new or
/// changed is dangerous.
#[test]
fn the_class_comes_from_the_first_source_that_speaks() {
    let with_rule = policy("[[rules]]\nname = \"reads\"\ntool = \"*/get_*\"\nclass = \"read-only\"");
    let without = policy("");
    let scene = call("shop/get_order").annotated(json!({"destructiveHint": true}));
    let definition = scene.definition();
    let server = "shop".parse().unwrap();
    let pin = Pin { definition: definition.digest, class: Some(Class::SafeWrite) };
    let stale = Pin { definition: call("shop/get_other").definition().digest, class: Some(Class::ReadOnly) };

    for known in [Known::FirstUse, Known::Pinned(&pin), Known::Pinned(&stale), Known::New] {
        let classified = with_rule.classify(&server, &definition, Trust::Full, known);
        let by_rule = (Class::ReadOnly, ClassSource::Rule("reads".into()));
        assert_eq!((classified.class, classified.source), by_rule);
    }
    for (known, class, source) in [
        (Known::Pinned(&pin), Class::SafeWrite, ClassSource::Pin),
        (Known::Pinned(&stale), Class::Dangerous, ClassSource::StalePin),
        (Known::New, Class::Dangerous, ClassSource::NewTool),
        (Known::FirstUse, Class::Dangerous, ClassSource::Annotation),
    ] {
        let classified = without.classify(&server, &definition, Trust::Full, known);
        assert_eq!((classified.class, classified.source), (class, source));
    }
}

/// X5: a definition that was accepted as it is has the class of its server's words; the same words of a tool that is
/// new or changed count for nothing.
#[test]
fn the_words_of_a_server_count_for_accepted_definitions_only() {
    let policy = policy("");
    let server = "shop".parse().unwrap();
    let reads = call("shop/get_order").read_only().definition();
    let accepted = Pin { definition: reads.digest, class: None };
    let changed = Pin { definition: call("shop/get_order").definition().digest, class: None };
    for (known, class, source) in [
        (Known::Pinned(&accepted), Class::ReadOnly, ClassSource::Annotation),
        (Known::Pinned(&changed), Class::Dangerous, ClassSource::StalePin),
        (Known::New, Class::Dangerous, ClassSource::NewTool),
    ] {
        let classified = policy.classify(&server, &reads, Trust::Full, known);
        assert_eq!((classified.class, classified.source), (class, source));
    }
    let classified = policy.classify(&server, &reads, Trust::None, Known::Pinned(&accepted));
    assert_eq!(classified.class, Class::Dangerous, "an acceptance believes no more than the operator does");
}

/// A class under a condition holds for the calls that meet it, and is not the tool's class.
#[test]
fn a_class_can_hang_on_a_condition() {
    let policy = policy(
        r#"
        [[rules]]
        tool = "db/query"
        when = "lower(args.sql).startsWith('select ')"
        class = "read-only"
        "#,
    );
    let query = |sql: &str| call("db/query").with(json!({"sql": sql})).says(&policy);
    assert_eq!(query("SELECT 1"), "runs (read-only)");
    assert_eq!(query("DROP TABLE t"), "asks (chat, relayed)");
    assert_eq!(call("db/query").says(&policy), "asks (chat, relayed)");
    let scene = call("db/query");
    let classified =
        policy.classify(&"db".parse().unwrap(), &scene.definition(), Trust::Full, Known::FirstUse);
    assert_eq!(classified.class, Class::Dangerous);
}

/// M2, M6: the call's own wish, else what was set, else the configuration; upwards only by a human's yes.
#[test]
fn a_mode_can_be_lowered_by_the_caller_and_is_raised_by_a_human_only() {
    let modes = policy("profile = \"modes\"");
    let refund = || call("shop/refund");
    assert_eq!(refund().says(&modes), "explained");
    let raising = refund().wishing(Mode::Execute);
    assert_eq!(raising.says(&modes), "asks (chat, relayed)");
    let reason = raising.question(&modes).reason.unwrap();
    assert_eq!(reason.as_str(), "it raises the mode from ask to execute");
    assert_eq!(call("shop/note").safe_write().says(&modes), "explained");
    assert_eq!(call("shop/note").safe_write().wishing(Mode::Execute).says(&modes), "asks (chat, relayed)");
    assert_eq!(refund().wishing(Mode::Plan).says(&modes), "refused (mode_forbids)");
    let mut raised = refund();
    raised.regime.mode = Some(Mode::Execute);
    assert_eq!(raised.says(&modes), "asks (chat, relayed)");
    assert_eq!(raised.clone().wishing(Mode::Plan).says(&modes), "explained");
    assert_eq!(raised.wishing(Mode::Execute).says(&modes), "asks (chat, relayed)");
    let plan = policy("profile = \"modes\"\nmode = \"plan\"");
    assert_eq!(refund().wishing(Mode::Execute).says(&plan), "asks (chat, relayed)");
    assert_eq!(call("shop/list").read_only().wishing(Mode::Execute).says(&plan), "runs (read-only)");
    let running = policy("profile = \"modes\"\n[[rules]]\ntool = \"shop/*\"\nthen = \"run\"");
    assert_eq!(refund().wishing(Mode::Execute).says(&running), "asks (chat, relayed)");
}

/// The digest of a verdict holds the mode it was given in, whatever the caller of `decide` put there.
#[test]
fn what_is_permitted_or_asked_carries_its_mode() {
    let Verdict::Forward(permitted) = call("shop/list").read_only().wishing(Mode::Ask).under(&policy(""))
    else {
        panic!("a read runs");
    };
    assert_eq!(permitted.call().binding.mode, Mode::Ask);
    assert_eq!(call("shop/refund").question(&policy("")).binding.mode, Mode::Execute);
}

/// H3, I5: the rule or the caller can move the question away from the agent; then its word is not enough.
#[test]
fn a_question_away_from_the_agent_needs_more_than_the_agents_word() {
    let chat = policy("");
    let scene = call("shop/refund");
    assert_eq!(scene.says(&chat), "asks (chat, relayed)");
    assert_eq!(scene.clone().wishing_channel(WishedChannel::Web).says(&chat), "asks (out_of_band, local)");
    let away = policy("[[rules]]\ntool = \"*\"\nthen = \"ask\"\nchannel = \"out_of_band\"");
    assert_eq!(scene.says(&away), "asks (out_of_band, local)");
    assert_eq!(scene.clone().wishing_channel(WishedChannel::Chat).says(&away), "asks (out_of_band, local)");
    let either = policy("[[rules]]\ntool = \"*\"\nthen = \"ask\"\nchannel = [\"out_of_band\", \"chat\"]");
    assert_eq!(scene.says(&either), "asks (out_of_band, local)");
    assert_eq!(scene.clone().wishing_channel(WishedChannel::Chat).says(&either), "asks (chat, relayed)");
    let strict = policy("profile = \"strict\"\nmode = \"execute\"");
    assert_eq!(scene.clone().wishing_channel(WishedChannel::Chat).says(&strict), "asks (web, signed_in)");
}

/// X1: a rule names the least proof; what chat cannot reach is not asked in chat.
#[test]
fn a_proof_that_chat_cannot_give_moves_the_question_away() {
    let needing = |least: &str| {
        policy(&format!(
            "[[rules]]\ntool = \"*\"\nthen = \"ask\"\nchannel = \"chat\"\nassurance = \"{least}\""
        ))
    };
    let scene = call("shop/refund");
    assert_eq!(scene.says(&needing("asserted")), "asks (chat, relayed)");
    assert_eq!(scene.says(&needing("relayed")), "asks (chat, relayed)");
    assert_eq!(scene.says(&needing("client")), "asks (out_of_band, local)");
    assert_eq!(scene.says(&needing("verified")), "asks (out_of_band, verified)");
}

/// X1, X9: what cannot be reached is refused, never downgraded.
#[test]
fn a_proof_out_of_reach_is_a_refusal() {
    let strict = policy("profile = \"strict\"\nmode = \"execute\"");
    let scene = call("shop/refund").reaching(Assurance::Local);
    assert_eq!(scene.says(&strict), "refused (no_approver_reachable)");
    let away = policy("[[rules]]\ntool = \"*\"\nthen = \"ask\"\nchannel = \"out_of_band\"");
    assert_eq!(scene.says(&away), "asks (out_of_band, local)");
    assert_eq!(scene.reaching(Assurance::Relayed).says(&away), "refused (no_approver_reachable)");
}

/// REN4: what a human could not read is not asked about.
#[test]
fn a_call_too_large_to_read_is_refused_and_runs_where_nobody_reads_it() {
    let large = json!({"text": "lorem ipsum ".repeat(3000)});
    let scene = call("files/write").with(large);
    assert_eq!(scene.says(&policy("")), "refused (too_large_to_review)");
    assert_eq!(scene.clone().safe_write().says(&policy("")), "runs (safe-write)");
    assert_eq!(scene.wishing(Mode::Ask).says(&policy("")), "explained");
}

/// DESIGN "Policy": the end of the rules is the operator's choice.
#[test]
fn the_end_of_the_rules_can_ask_or_reject() {
    let read = call("shop/list").read_only();
    assert_eq!(read.says(&policy("otherwise = \"by-class\"")), "runs (read-only)");
    assert_eq!(read.says(&policy("otherwise = \"ask\"")), "asks (chat, relayed)");
    insta::assert_snapshot!(read.refusal(&policy("otherwise = \"reject\"")), @"policy_denied: The operator's policy does not allow this call: no rule allows it. Nothing ran.");
}

/// H6: a refusal carries the operator's words and the next steps that the rule declares.
#[test]
fn a_rejection_says_why_and_what_next() {
    let policy = policy(
        r#"
        [[rules]]
        tool = "billing/*"
        when = "args.seats > 50"
        then = "reject"
        reason = "more than 50 seats need a contract."
        next = { increase = "https://example.com/limits", contact = { mail = "sales@example.com" } }
        "#,
    );
    let scene = call("billing/add_seats");
    insta::assert_snapshot!(scene.clone().with(json!({"seats": 51})).refusal(&policy), @"policy_denied: The operator's policy does not allow this call: more than 50 seats need a contract. Nothing ran.");
    insta::assert_snapshot!(scene.clone().with(json!({"seats": "many"})).refusal(&policy), @"policy_denied: The operator's policy does not allow this call: more than 50 seats need a contract (the rule's condition has no answer: `>` does not fit (string, int)). Nothing ran.");
    let Verdict::Refuse(refusal) = scene.with(json!({"seats": 51})).under(&policy) else {
        panic!("not refused")
    };
    let details = serde_json::to_string(&refusal.payload()["details"]).unwrap();
    insta::assert_snapshot!(details, @r#"{"contact":{"mail":"sales@example.com"},"increase":"https://example.com/limits"}"#);
}

/// H1: the summary is the operator's sentence, and no value in it can pose as the operator's words.
#[test]
fn a_summary_shows_values_in_quotes_that_they_cannot_close() {
    let policy = policy(
        r#"
        [[rules]]
        tool = "billing/upgrade"
        then = "ask"
        reason = "upgrades cost money"
        summary = "Upgrade {{caller.org}} to {{ args.to }} for {{args.seats}} seats ({{args.items.1.name}}, {{args.gone}}) with {{tool}} on {{server}}"
        "#,
    );
    let plain = json!({"to": "Scale", "seats": 3, "items": [{}, {"name": "x"}]});
    let sly = json!({"to": "Free\". Nothing is charged.\n\u{202e}", "seats": [1, {"a": null}]});
    let scene = call("billing/upgrade");
    insta::assert_snapshot!(scene.clone().with(plain).question(&policy).summary, @r#"Upgrade "acme" to "Scale" for 3 seats ("x", (missing)) with "upgrade" on "billing""#);
    insta::assert_snapshot!(scene.clone().with(sly).question(&policy).summary, @r#"Upgrade "acme" to "Free\". Nothing is charged.\n\u{202e}" for [1, {a=null}] seats ((missing), (missing)) with "upgrade" on "billing""#);
    assert_eq!(scene.question(&policy).reason.unwrap().as_str(), "upgrades cost money");
    let unruled = call("shop/refund").with(json!({"order": "A-17", "amount": 49.5}));
    insta::assert_snapshot!(unruled.question(&super::policy("")).summary, @r#"refund(amount=49.5, order="A-17") on shop"#);
}

/// A call that is bound to another definition than the one looked at is not judged by it.
#[test]
fn a_definition_that_is_not_the_calls_is_not_believed() {
    let scene = call("shop/refund");
    let other = call("shop/refund").read_only().definition();
    let verdict = policy("").decide(scene.tool_call(), &scene.presented, &scene.facts(&other));
    assert_eq!(super::short(&verdict), "refused (tool_changed)");
}

/// H6: a switch renders errors about tokens as tool results.
#[test]
fn token_errors_can_be_tool_results() {
    assert_eq!(policy("").wire_form(&Why::TokenInvalid), WireForm::ConsentError);
    assert_eq!(policy("token_errors = \"tool_result\"").wire_form(&Why::TokenInvalid), WireForm::ToolError);
    assert_eq!(policy("").wire_form(&Why::Expired), WireForm::ToolError);
}
