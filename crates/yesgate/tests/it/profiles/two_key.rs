//! Two keys: the operator's `MCP_DRY_RUN=false` and the call's `__confirm: true`, or a human at the client in place of
//! the second, and nothing else.

use serde_json::{Value, json};
use yesgate_testkit::lane::Setup;
use yesgate_testkit::{Human, Lane, intent_id, refusal, structured, text};

use super::{forms, setup};

const TWO_KEY: &str = "profile = \"two-key\"\n";

fn dry(lane: Lane) -> Setup {
    setup(lane).config(TWO_KEY)
}

fn armed(lane: Lane) -> Setup {
    dry(lane).env("MCP_DRY_RUN", "false")
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

/// K1, K2, FC-31: only the exact text `false` arms the operator's key. (All other texts: `switch.rs`.)
#[test]
fn only_the_literal_false_arms_the_operators_key() {
    for lane in Lane::ALL {
        let others =
            ["", "0", "no", "disabled", "False", "fasle"].map(|value| dry(lane).env("MCP_DRY_RUN", value));
        for setup in std::iter::once(dry(lane)).chain(others) {
            let mut player = setup.open(json!({}));
            let answer = player.call("delete_note", json!({"id": "a", "__confirm": true}));
            assert_preview(&answer, "delete_note", &json!({"id": "a"}));
            assert!(player.upstream_calls().is_empty());
            player.finish(0);
        }
    }
}

/// K1, K3, K7: with the operator's key turned, only the boolean `true` is the other key; it is taken out before the
/// call leaves, and recorded as the weakest yes there is.
#[test]
fn both_keys_run_the_call_and_are_recorded_as_asserted() {
    for lane in Lane::ALL {
        let mut player = armed(lane).open(json!({}));
        let bare = player.call("delete_note", json!({"id": "a"}));
        assert_preview(&bare, "delete_note", &json!({"id": "a"}));
        for no_key in [json!(false), json!("true"), json!(1), json!("yes"), json!(null), json!([true])] {
            let answer = player.call("delete_note", json!({"id": "a", "__confirm": no_key}));
            assert_preview(&answer, "delete_note", &json!({"id": "a"}));
        }
        let nested = json!({"id": "a", "options": {"__confirm": true}});
        assert_eq!(refusal(&player.call("delete_note", nested)), "DRY_RUN_PREVIEW");
        assert!(player.upstream_calls().is_empty());
        let ran = player.call("delete_note", json!({"__confirm": true, "id": "a"}));
        assert_eq!(structured(&ran)["deleted"], "a");
        assert_eq!(player.runs("delete_note"), [json!({"id": "a"})]);
        assert_eq!(player.yeses(), ["asserted"]);
        player.finish(1);
    }
}

/// K3: `__confirm` is offered only where a schema would forbid it, and stands in no tool's description.
#[test]
fn the_calls_key_is_offered_only_where_a_schema_forbids_extras() {
    for lane in Lane::ALL {
        let mut player = armed(lane).open(json!({}));
        for tool in player.list_tools() {
            let name = tool["name"].as_str().unwrap();
            assert!(
                !name.starts_with("yesgate_"),
                "there is nothing to complete, so there is no tool for it"
            );
            let key = tool["inputSchema"]["properties"].get("__confirm");
            let expected = json!({"type": "boolean"});
            assert_eq!(key, (name == "delete_note").then_some(&expected), "{tool:#}");
            assert!(!tool["description"].to_string().contains("confirm"), "{tool:#}");
        }
        player.finish(0);
    }
}

/// K4: every tool that is not read-only is covered, whatever it says of itself; a read passes. Nothing else opens it.
#[test]
fn every_tool_that_may_write_needs_both_keys() {
    for lane in Lane::ALL {
        let mut player = armed(lane).open(json!({}));
        assert_eq!(text(&player.call("read_note", json!({"id": "a"}))), "the first note");
        // `delete_everything` says that it only reads.
        for tool in ["write_note", "pay", "delete_everything", "fail", "slow"] {
            assert_preview(&player.call(tool, json!({})), tool, &json!({}));
        }
        let approve = player.call("yesgate_approve", json!({"intent_id": "intent_x"}));
        assert_eq!(approve["error"]["code"], -32602, "{approve:#}");
        player.finish(0);
    }
}

/// K5: a human at the client may turn the caller's key, and that is recorded as more than the model's word.
#[test]
fn a_human_at_the_client_turns_the_callers_key() {
    for lane in Lane::ALL {
        let mut player = armed(lane).open(forms());
        let told = player.call_answering("delete_note", json!({"id": "a"}), Human::Accepts);
        assert_eq!((structured(&told.answer)["deleted"].as_str(), told.asked.len()), (Some("a"), 1));
        // The model's own key still works, and then nobody is asked.
        let keyed = json!({"id": "b", "__confirm": true});
        let told = player.call_answering("delete_note", keyed, Human::IsNotAsked);
        assert_eq!(structured(&told.answer)["deleted"], "b");
        assert_eq!(player.yeses(), ["client", "asserted"]);
        player.finish(2);
    }
}

/// K5: without the operator's key nobody is asked at all.
#[test]
fn without_the_operators_key_no_form_is_shown() {
    for lane in Lane::ALL {
        let mut player = dry(lane).open(forms());
        for arguments in [json!({"id": "a"}), json!({"id": "a", "__confirm": true})] {
            let told = player.call_answering("delete_note", arguments, Human::IsNotAsked);
            assert_preview(&told.answer, "delete_note", &json!({"id": "a"}));
        }
        assert!(player.pending().is_empty());
        player.finish(0);
    }
}

/// K5, X9: where nobody is at the client, what is left are the two keys: the preview says so, and no question stays
/// open that only a form could have asked.
#[test]
fn a_client_with_nobody_there_gets_the_preview() {
    let hasty = format!("{TWO_KEY}[times]\nreflex = \"1h\"\n");
    for lane in Lane::ALL {
        let mut player = armed(lane).config(&hasty).open(forms());
        let told = player.call_answering("delete_note", json!({"id": "a"}), Human::Cancels);
        assert_eq!(told.asked.len(), 1);
        assert_preview(&told.answer, "delete_note", &json!({"id": "a"}));
        assert!(player.pending().is_empty());
        let told = player.call_answering("delete_note", json!({"id": "a"}), Human::IsNotAsked);
        assert_preview(&told.answer, "delete_note", &json!({"id": "a"}));
        let ran = player.call("delete_note", json!({"id": "a", "__confirm": true}));
        assert_eq!(structured(&ran)["deleted"], "a");
        player.finish(1);
    }
}

/// K6: a preview shows keys, paths, hosts and amounts, and no secret; neither does anything else we write.
#[test]
fn a_preview_shows_everything_but_secrets() {
    let secrets = ["hunter2-and-more", "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "eyJhbGciOi.J9.c2VjcmV0"];
    for lane in Lane::ALL {
        let mut player = dry(lane).open(json!({}));
        let answer = player.call(
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
        let header = &preview["nested"]["headers"][0]["Authorization"];
        for hidden in [&preview["password"], &preview["text"], header] {
            assert!(hidden.as_str().unwrap().contains("[redacted: "), "{preview:#}");
        }
        assert!(preview.get("__confirm").is_none());
        let everywhere = [player.heard_by_agent(), player.stderr(), json!(player.audit()).to_string()];
        for secret in secrets {
            assert!(everywhere.iter().all(|text| !text.contains(secret)), "{secret} is written somewhere");
        }
        player.finish(0);
    }
}

/// K7: a model's `__confirm` does not overrule a human who said no to exactly this call.
#[test]
fn both_keys_do_not_overrule_a_humans_no() {
    for lane in Lane::ALL {
        let setup = setup(lane).config("profile = \"handshake\"\n").env("MCP_DRY_RUN", "false");
        let mut player = setup.open(json!({}));
        let held = player.call("delete_note", json!({"id": "a"}));
        player.yesgate(&["deny", &intent_id(&held), "--reason", "we still need it"]).ok();

        player.set_config(TWO_KEY);
        player.restart();
        let answer = player.call("delete_note", json!({"id": "a", "__confirm": true}));
        assert_eq!(refusal(&answer), "denied");
        assert_eq!(intent_id(&answer), intent_id(&held), "the same call, so the same question");
        assert_eq!(structured(&answer)["details"]["reason"], "we still need it");
        assert!(player.upstream_calls().is_empty());
        let other = player.call("delete_note", json!({"id": "b", "__confirm": true}));
        assert_eq!(structured(&other)["deleted"], "b", "the no was to that one call");
        player.finish(1);
    }
}

/// K7: neither do both keys overrule a no that the human gave in the client's form.
#[test]
fn both_keys_do_not_overrule_a_no_in_a_form() {
    let calm = format!("{TWO_KEY}[times]\nreflex = \"0s\"\n");
    for lane in Lane::ALL {
        let mut player = armed(lane).config(&calm).open(forms());
        let told = player.call_answering("delete_note", json!({"id": "a"}), Human::Declines);
        assert_eq!(refusal(&told.answer), "denied");
        let answer = player.call("delete_note", json!({"id": "a", "__confirm": true}));
        assert_eq!((refusal(&answer), intent_id(&answer)), ("denied", intent_id(&told.answer)));
        player.finish(0);
    }
}
