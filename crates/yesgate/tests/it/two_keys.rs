//! Two keys: the operator's `MCP_DRY_RUN=false` and the call's `__confirm: true`, and nothing else.

use serde_json::{Value, json};
use yesgate_testkit::{Stage, intent_id, refusal, structured, text};

use crate::support::{Era, legacy, stage, upstream_arguments};

const TWO_KEY: &str = "profile = \"two-key\"\n";

fn two_key() -> Stage {
    stage().config(TWO_KEY)
}

fn armed() -> Stage {
    two_key().env("MCP_DRY_RUN", "false")
}

/// K1: the preview, word for word.
#[track_caller]
fn assert_preview(answer: &Value, tool: &str, preview: &Value) {
    assert_eq!(answer["result"]["isError"], true, "{answer:#}");
    let payload = structured(answer);
    assert_eq!(payload["code"], "DRY_RUN_PREVIEW");
    assert_eq!(payload["tool"], tool);
    assert_eq!(&payload["preview"], preview);
    assert_eq!(payload["retriable"], false);
    assert_eq!(
        payload["recovery_hint"],
        "Set MCP_DRY_RUN=false AND pass __confirm:true (or use elicitation flow) to actually execute"
    );
    assert_eq!(&serde_json::from_str::<Value>(text(answer)).unwrap(), payload);
}

/// K1, K2: only the exact text `false` arms the operator's key.
#[test]
fn only_the_literal_false_arms_the_operators_key() {
    let unset = two_key();
    let others = [
        "",
        "0",
        "no",
        "off",
        "False",
        "FALSE",
        " false",
        "false ",
        "fasle",
        "disabled",
        "true",
        "\"false\"",
    ];
    let stages = others.map(|value| two_key().env("MCP_DRY_RUN", value));
    for stage in std::iter::once(unset).chain(stages) {
        let mut host = legacy(&stage);
        let answer = host.call("delete_note", json!({"id": "a", "__confirm": true}));
        assert_preview(&answer, "delete_note", &json!({"id": "a"}));
        assert!(host.close().success());
        assert!(stage.upstream_calls().is_empty());
    }
}

/// K1, K3, K7: with the operator's key turned, only the boolean `true` is the other key; it is taken out before the
/// call leaves, and recorded as the weakest yes there is.
#[test]
fn both_keys_run_the_call_and_are_recorded_as_asserted() {
    for era in Era::BOTH {
        let stage = armed();
        let mut host = era.greet(stage.host());
        assert_preview(&host.call("delete_note", json!({"id": "a"})), "delete_note", &json!({"id": "a"}));
        for no_key in
            [json!("true"), json!(1), json!("yes"), json!(null), json!(false), json!([true]), json!({})]
        {
            let answer = host.call("delete_note", json!({"id": "a", "__confirm": no_key}));
            assert_preview(&answer, "delete_note", &json!({"id": "a"}));
        }
        let nested = json!({"id": "a", "options": {"__confirm": true}});
        assert_eq!(refusal(&host.call("delete_note", nested)), "DRY_RUN_PREVIEW");
        assert!(stage.upstream_calls().is_empty());

        let ran = host.call("delete_note", json!({"__confirm": true, "id": "a"}));
        assert_eq!(structured(&ran)["deleted"], "a");
        assert_eq!(upstream_arguments(&stage, "delete_note"), [json!({"id": "a"})]);
        host.assert_only_json_rpc();
        assert!(host.close().success());
        assert_eq!(stage.check_history().gated, 1);
        let yes = stage.audit().into_iter().find(|row| row["entry"]["event"] == "approved").unwrap();
        assert_eq!(yes["entry"]["assurance"], "asserted");
    }
}

/// K4: every tool that is not read-only is covered, whatever it says of itself; a read passes.
#[test]
fn every_tool_that_may_write_needs_both_keys() {
    let stage = armed();
    let mut host = legacy(&stage);
    assert_eq!(text(&host.call("read_note", json!({"id": "a"}))), "the first note");
    // `delete_everything` says that it only reads.
    for tool in ["write_note", "pay", "delete_everything", "fail", "slow"] {
        assert_preview(&host.call(tool, json!({})), tool, &json!({}));
    }
    assert_eq!(host.call("yesgate_approve", json!({"intent_id": "intent_x"}))["error"]["code"], -32602);
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 0);
}

/// K3: `__confirm` is offered only where a schema would forbid it, and stands in no tool's description.
#[test]
fn the_calls_key_is_offered_only_where_a_schema_forbids_extras() {
    let stage = armed();
    let (mut host, mut bare) = (legacy(&stage), Era::Legacy.greet(stage.bare()));
    let (offered, original) = (host.list_tools(), bare.list_tools());
    assert_eq!(offered.len(), original.len(), "there is nothing to complete, so there are no tools for it");
    for (mut seen, tool) in offered.into_iter().zip(original) {
        if tool["name"] == "delete_note" {
            let key = seen["inputSchema"]["properties"].as_object_mut().unwrap().remove("__confirm");
            assert_eq!(key, Some(json!({"type": "boolean"})));
        }
        assert_eq!(seen, tool);
    }
    assert!(host.close().success());
}

/// K6: a preview shows keys, paths, hosts and amounts, and no secret; neither does anything else we write.
#[test]
fn a_preview_shows_everything_but_secrets() {
    let secrets = ["hunter2-and-more", "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "eyJhbGciOi.J9.c2VjcmV0"];
    let stage = two_key();
    let mut host = legacy(&stage);
    let answer = host.call(
        "write_note",
        json!({
            "id": "/srv/notes/plan.md",
            "text": format!("use {} there", secrets[1]),
            "password": secrets[0],
            "nested": {"headers": [{"Authorization": format!("Bearer {}", secrets[2])}]},
            "host": "db.example.com:5432",
            "amount": 12.5,
            "__confirm": true,
        }),
    );
    let preview = &structured(&answer)["preview"];
    assert_eq!(preview["id"], "/srv/notes/plan.md");
    assert_eq!((&preview["host"], &preview["amount"]), (&json!("db.example.com:5432"), &json!(12.5)));
    for hidden in [&preview["password"], &preview["text"], &preview["nested"]["headers"][0]["Authorization"]]
    {
        assert!(hidden.as_str().unwrap().contains("[redacted: "), "{preview:#}");
    }
    assert!(preview.get("__confirm").is_none());
    assert!(host.close().success());
    let everywhere = [host.all_stdout().concat(), host.stderr(), json!(stage.audit()).to_string()];
    for secret in secrets {
        assert!(everywhere.iter().all(|text| !text.contains(secret)), "{secret} is written somewhere");
    }
}

/// K7: a model's `__confirm` does not overrule a human who said no to exactly this call.
#[test]
fn both_keys_do_not_overrule_a_humans_no() {
    let stage = stage().config("profile = \"handshake\"\n").env("MCP_DRY_RUN", "false");
    let mut host = legacy(&stage);
    let held = host.call("delete_note", json!({"id": "a"}));
    stage.yesgate(&["deny", &intent_id(&held), "--reason", "we still need it"]).ok();
    assert!(host.close().success());

    stage.set_config(TWO_KEY);
    let mut host = legacy(&stage);
    let answer = host.call("delete_note", json!({"id": "a", "__confirm": true}));
    assert_eq!(refusal(&answer), "denied");
    assert_eq!(intent_id(&answer), intent_id(&held), "the same call, so the same question");
    assert_eq!(structured(&answer)["details"]["reason"], "we still need it");
    assert!(stage.upstream_calls().is_empty());
    let other = host.call("delete_note", json!({"id": "b", "__confirm": true}));
    assert_eq!(structured(&other)["deleted"], "b", "the no was to that one call");
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 1);
}
