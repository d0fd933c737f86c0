//! Modes: in ask and plan mode nothing is written, and nobody raises their own mode.

use serde_json::json;
use yesgate_testkit::{error_code, refusal, structured, text};

use crate::support::{Era, legacy, stage};

/// M1: in ask mode reads run; a write is explained and refused with guidance, whatever it brings along.
#[test]
fn in_ask_mode_a_write_is_explained_and_refused() {
    for era in Era::BOTH {
        let stage = stage().config("profile = \"modes\"\n");
        let mut host = era.greet(stage.host());
        assert_eq!(text(&host.call("read_note", json!({"id": "a"}))), "the first note");
        for arguments in [json!({"id": "a"}), json!({"id": "a", "confirm_token": "pbc_x", "__confirm": true})]
        {
            let answer = host.call("delete_note", arguments);
            assert_eq!(refusal(&answer), "mode_forbids");
            let payload = structured(&answer);
            assert_eq!(
                (&payload["details"]["mode"], &payload["details"]["class"]),
                (&json!("ask"), &json!("dangerous"))
            );
            let message = payload["message"].as_str().unwrap();
            assert!(message.contains("delete_note") && message.contains("Nothing ran"), "{message}");
            assert!(message.contains("`yesgate_set_mode` to `execute`"), "the one next step: {message}");
        }
        assert!(stage.pending().is_empty(), "nobody is asked");
        host.assert_only_json_rpc();
        assert!(host.close().success());
        assert_eq!(stage.check_history().gated, 0);
    }
}

/// M1: in plan mode, too, nothing is written.
#[test]
fn in_plan_mode_nothing_is_written() {
    let stage = stage().config("mode = \"plan\"\n[[rules]]\ntool = \"*/write_note\"\nthen = \"run\"\n");
    let mut host = legacy(&stage);
    let answer = host.call("write_note", json!({"id": "b", "text": "x"}));
    assert_eq!(refusal(&answer), "mode_forbids");
    assert_eq!(structured(&answer)["details"]["mode"], "plan");
    assert!(host.close().success());
    assert!(stage.upstream_calls().is_empty());
}

/// M2, M6: a call may lower its own mode; raising it is a question; what is no mode is an error.
#[test]
fn a_call_may_lower_its_mode_and_a_human_is_asked_to_raise_it() {
    let stage = stage().config("mode = \"ask\"\n");
    let mut host = legacy(&stage);
    let raised = host.call("delete_note", json!({"id": "a", "__mode": "execute"}));
    assert_eq!(structured(&raised)["reason"], "it raises the mode from ask to execute");
    assert_eq!(structured(&raised)["status"], "confirmation_required");
    let planned = host.call("delete_note", json!({"id": "a", "__mode": "plan"}));
    assert_eq!(
        (refusal(&planned), &structured(&planned)["details"]["wished"]),
        ("mode_forbids", &json!("plan"))
    );
    assert_eq!(text(&host.call("read_note", json!({"id": "a", "__mode": "execute"}))), "the first note");
    let lowered = host.call("delete_note", json!({"id": "a", "__mode": "ask"}));
    assert_eq!(structured(&lowered)["details"]["mode"], "ask");
    for nonsense in [json!("EXECUTE"), json!("root"), json!(1), json!(null)] {
        let answer = host.call("delete_note", json!({"id": "a", "__mode": nonsense}));
        assert_eq!(error_code(&answer), -32602, "{answer:#}");
    }
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 0);
}
