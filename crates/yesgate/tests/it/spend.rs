//! Spending: a rule reads the money in a call, asks in its own words, and the approve tool runs what was stored.

use serde_json::{Value, json};
use yesgate_testkit::{Host, Stage, confirm_token, error_code, intent_id, refusal, structured, text};

use crate::support::{Era, legacy, stage, upstream_arguments};

const SPEND: &str = r#"
profile = "spend"

[[rules]]
name = "small change"
tool = "mock/pay"
when = 'decimal(args.amount) <= 1.00'
then = "run"

[[rules]]
name = "payments"
tool = "mock/pay"
then = "ask"
reason = "above the free limit"
summary = "Pay {{args.amount}} {{args.currency}} to {{args.to}}"
spend = { amount = "args.amount", currency = "args.currency", recipient = "args.to" }
"#;

fn spend() -> Stage {
    stage().config(SPEND)
}

fn pay(host: &mut Host, amount: &Value) -> Value {
    host.call("pay", json!({"amount": amount, "currency": "USDC", "to": "ann"}))
}

fn own(host: &mut Host, tool: &str, intent: &str) -> Value {
    host.call(tool, json!({ "intent_id": intent }))
}

/// I2, I3: asking about money is no error and says what it costs; the approve tool runs the stored call, once.
#[test]
fn a_payment_is_asked_about_and_the_approve_tool_runs_it_once() {
    for era in Era::BOTH {
        let stage = spend();
        let mut host = era.greet(stage.host());
        let held = pay(&mut host, &json!("7.50"));
        assert_eq!(held["result"].get("isError"), None);
        let fields = structured(&held);
        assert_eq!((&fields["ok"], &fields["status"]), (&json!(false), &json!("approval_required")));
        assert_eq!((&fields["currency"], &fields["recipient"]), (&json!("USDC"), &json!("ann")));
        assert_eq!(fields["amount"].as_f64(), Some(7.5));
        assert_eq!(fields["reason"], "above the free limit");
        assert_eq!(fields["summary"], r#"Pay "7.50" "USDC" to "ann""#);
        assert!(fields["expires_at"].is_string() && fields["message"].is_string());
        assert_eq!((&fields["confirm_required"], &fields["ttl_seconds"]), (&json!(true), &json!(600)));
        assert!(stage.upstream_calls().is_empty());

        let intent = intent_id(&held);
        assert_eq!(structured(&own(&mut host, "yesgate_status", &intent))["status"], "pending");
        assert_eq!(text(&own(&mut host, "yesgate_approve", &intent)), "run 1: paid 7.50 USDC to ann");
        let again = own(&mut host, "yesgate_approve", &intent);
        assert_eq!((error_code(&again), refusal(&again)), (-32015, "consent_token_invalid"));
        let ended = own(&mut host, "yesgate_status", &intent);
        let status = structured(&ended);
        assert_eq!((&status["status"], &status["outcome"]), (&json!("done"), &json!("ok")));
        assert_eq!(status["assurance"], "relayed");
        assert_eq!(status["result"]["content"][0]["text"], "run 1: paid 7.50 USDC to ann");
        host.assert_only_json_rpc();
        assert!(host.close().success());
        assert_eq!(stage.check_history().gated, 1);
    }
}

/// H2, I2: agents of either vocabulary are served: the token of the same answer works too, and then the tool does
/// not.
#[test]
fn the_token_of_a_payment_works_as_well_as_the_tool() {
    let stage = spend();
    let mut host = legacy(&stage);
    let held = pay(&mut host, &json!(7.5));
    let token = confirm_token(&held);
    let arguments = json!({"amount": 7.5, "currency": "USDC", "to": "ann", "confirm_token": token});
    assert_eq!(text(&host.call("pay", arguments)), "run 1: paid 7.5 USDC to ann");
    let late = own(&mut host, "yesgate_approve", &intent_id(&held));
    assert_eq!(refusal(&late), "consent_token_invalid");
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 1);
}

/// I1: what the policy lets run is not asked about.
#[test]
fn a_small_payment_runs_at_once() {
    let stage = spend().ungated(&["pay"]);
    let mut host = legacy(&stage);
    assert_eq!(text(&pay(&mut host, &json!("1.00"))), "run 1: paid 1.00 USDC to ann");
    assert_eq!(structured(&pay(&mut host, &json!("1.01")))["confirm_required"], true);
    assert!(host.close().success());
    let history = stage.check_history();
    assert_eq!((history.gated, history.ungated), (0, 1));
}

/// I6: an amount that cannot be read is a loud refusal, never a dropped limit.
#[test]
fn an_amount_that_cannot_be_read_is_refused() {
    let stage = spend();
    let mut host = legacy(&stage);
    let odd = ["NaN", "Infinity", "-1", "-0.5", "1usd", "1e2", "0x10", "1,000", " 1", "", "١"]
        .map(|text| json!(text));
    let odder = [json!(null), json!(-1), json!(-0.01), json!(true), json!([1]), json!({"value": 1})];
    for amount in odd.into_iter().chain(odder) {
        let answer = pay(&mut host, &amount);
        assert_eq!(refusal(&answer), "policy_denied", "{amount}: {answer:#}");
    }
    let absent = host.call("pay", json!({"currency": "USDC", "to": "ann"}));
    assert_eq!(refusal(&absent), "policy_denied");
    assert!(stage.upstream_calls().is_empty());
    assert!(stage.pending().is_empty());
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 0);
}

/// I3: a rejected payment does not run, and the agent is told so whichever way it tries.
#[test]
fn a_rejected_payment_stays_rejected() {
    let stage = spend();
    let mut host = legacy(&stage);
    let held = pay(&mut host, &json!(7.5));
    let intent = intent_id(&held);
    let rejected = host.call("yesgate_reject", json!({"intent_id": intent, "reason": "too dear"}));
    assert_eq!(structured(&rejected)["status"], "denied");
    assert_eq!(rejected["result"].get("isError"), None);

    let token = confirm_token(&held);
    let with_token = json!({"amount": 7.5, "currency": "USDC", "to": "ann", "confirm_token": token});
    for answer in [
        own(&mut host, "yesgate_approve", &intent),
        pay(&mut host, &json!(7.5)),
        host.call("pay", with_token),
    ] {
        assert_eq!(refusal(&answer), "denied", "{answer:#}");
        assert_eq!(intent_id(&answer), intent);
        assert!(answer.to_string().contains("too dear"), "{answer:#}");
    }
    let status = own(&mut host, "yesgate_status", &intent);
    assert_eq!(structured(&status)["status"], "denied");
    assert!(stage.upstream_calls().is_empty());
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 0);
}

/// I2: what is paid is what was asked about: the tools take an id and nothing else.
#[test]
fn the_approve_tool_cannot_change_the_payment() {
    let stage = spend();
    let mut host = legacy(&stage);
    let intent = intent_id(&pay(&mut host, &json!(7.5)));
    let arguments =
        json!({"intent_id": intent, "amount": 9999, "to": "mallory", "arguments": {"to": "mallory"}});
    assert_eq!(text(&host.call("yesgate_approve", arguments)), "run 1: paid 7.5 USDC to ann");
    assert_eq!(upstream_arguments(&stage, "pay"), [json!({"amount": 7.5, "currency": "USDC", "to": "ann"})]);
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 1);
}
