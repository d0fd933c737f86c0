//! What `tools/list` promises: whatever we answer in place of a tool fits its output schema, and what we want of an
//! agent its input schema lets it send. (A client on a lane checks every answer against the schema that it was offered,
//! errors too, and panics where the strictest clients would throw.)

use std::collections::BTreeSet;

use serde_json::{Value, json};
use yesgate_testkit::{Lane, Player, confirm_token, intent_id, refusal, structured, text, until};

use super::{forms, setup};

/// The tool with an output schema, and with an input schema that forbids what it does not name.
const STRICT: &str = "delete_note";

#[track_caller]
fn delete(player: &mut Player, arguments: Value) -> Value {
    player.call(STRICT, arguments)
}

/// The tool as it is offered.
#[track_caller]
fn offered(player: &mut Player, name: &str) -> Value {
    let tools = player.list_tools();
    tools.into_iter().find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("no {name}"))
}

/// What can be sent to the tool, but for its own arguments.
#[track_caller]
fn ours(player: &mut Player, name: &str) -> BTreeSet<String> {
    let tool = offered(player, name);
    let names = tool["inputSchema"]["properties"].as_object().unwrap().keys();
    names.filter(|name| name.starts_with("__") || *name == "confirm_token").cloned().collect()
}

/// H2, H6, H9, M1: held, needless, previewed, explained and refused calls all fit.
#[test]
fn no_answer_of_ours_breaks_what_a_tool_promises() {
    let config = r#"
        token_errors = "tool_result"
        [[rules]]
        tool = "mock/delete_note"
        when = 'args.id == "never"'
        then = "reject"
        [[rules]]
        tool = "mock/delete_note"
        then = "ask"
        noop_when = 'args.id == "gone"'
        confirm = "preview"
        preview = { text = "it will be gone" }
    "#;
    for lane in Lane::ALL {
        let mut player = setup(lane).config(config).open(json!({}));
        assert_eq!(refusal(&delete(&mut player, json!({"id": "never"}))), "policy_denied");
        assert_eq!(structured(&delete(&mut player, json!({"id": "gone"})))["status"], "unchanged");
        let planned = delete(&mut player, json!({"id": "a", "__mode": "plan"}));
        assert_eq!(structured(&planned)["status"], "preview");
        let hint = json!({"tool": STRICT, "arguments": {"id": "a"}});
        assert_eq!(structured(&planned)["execute_hint"], hint, "there is no mode to be set");
        let explained = delete(&mut player, json!({"id": "a", "__mode": "ask"}));
        assert_eq!(refusal(&explained), "mode_forbids");
        assert!(text(&explained).contains("call it without `__mode`"), "{}", text(&explained));

        let held = delete(&mut player, json!({"id": "a"}));
        assert_eq!(structured(&held)["confirm_required"], true);
        let mismatch = delete(&mut player, json!({"id": "b", "confirm_token": confirm_token(&held)}));
        assert_eq!(refusal(&mismatch), "consent_token_mismatch");
        player.call("yesgate_reject", json!({"intent_id": intent_id(&held)}));
        assert_eq!(refusal(&delete(&mut player, json!({"id": "a"}))), "denied");
        let held = delete(&mut player, json!({"id": "b"}));
        let ran = delete(&mut player, json!({"id": "b", "confirm_token": confirm_token(&held)}));
        assert_eq!(structured(&ran)["deleted"], "b");
        player.yesgate(&["freeze", "testkit"]).ok();
        assert_eq!(refusal(&delete(&mut player, json!({"id": "a"}))), "client_frozen");
        player.finish(1);
    }
}

/// M6: a safe write that raises its own mode is held, fits, and can be confirmed.
#[test]
fn a_safe_write_that_raises_its_mode_fits_too() {
    let config = "mode = \"ask\"\n[[rules]]\ntool = \"mock/delete_note\"\nclass = \"safe-write\"\n";
    for lane in Lane::ALL {
        let mut player = setup(lane).config(config).open(json!({}));
        let own = ours(&mut player, STRICT);
        assert_eq!(own, ["__channel", "__mode", "__reason", "confirm_token"].map(str::to_owned).into());
        assert_eq!(refusal(&delete(&mut player, json!({"id": "a"}))), "mode_forbids");
        let raised = json!({"id": "a", "__mode": "execute"});
        let held = delete(&mut player, raised.clone());
        let mut confirmed = raised;
        confirmed["confirm_token"] = confirm_token(&held).into();
        assert_eq!(structured(&delete(&mut player, confirmed))["deleted"], "a");
        assert_eq!(player.runs(STRICT), [json!({"id": "a"})]);
        let mut planned = json!({"id": "a", "__mode": "plan"});
        planned["confirm_token"] = confirm_token(&delete(&mut player, planned.clone())).into();
        assert_eq!(structured(&delete(&mut player, planned))["status"], "mode_set");
        player.finish(1);
    }
}

/// K1: the preview of two keys fits what its tool promises.
#[test]
fn the_preview_of_two_keys_fits_too() {
    for lane in Lane::ALL {
        let config = "profile = \"two-key\"\n";
        for client in [json!({}), forms()] {
            let mut player = setup(lane).config(config).open(client);
            assert_eq!(refusal(&delete(&mut player, json!({"id": "a"}))), "DRY_RUN_PREVIEW");
            assert_eq!(ours(&mut player, STRICT), ["__confirm".to_owned()].into());
            player.finish(0);
        }
    }
}

/// X10: what only reads, or simply runs, is offered as its server offers it; what we have to say about it all the same
/// is an error in words.
#[test]
fn what_is_not_gated_keeps_its_promise_and_our_errors_are_words() {
    for lane in Lane::ALL {
        for line in ["class = \"read-only\"", "then = \"run\""] {
            let config = format!("[[rules]]\ntool = \"mock/delete_note\"\n{line}\n");
            let mut player = setup(lane).config(&config).ungated(&[STRICT]).open(json!({}));
            let tool = offered(&mut player, STRICT);
            assert_eq!(tool["outputSchema"]["required"], json!(["deleted", "run"]), "{tool:#}");
            assert!(ours(&mut player, STRICT).is_empty());
            assert_eq!(structured(&delete(&mut player, json!({"id": "a"})))["deleted"], "a");
            player.yesgate(&["panic", "--reason", "smoke"]).ok();
            // Whoever only reads hears of it within a second.
            let stopped = until("everything stops", || {
                Some(delete(&mut player, json!({"id": "a"}))).filter(|told| told["result"]["isError"] == true)
            });
            assert!(stopped["result"].get("structuredContent").is_none(), "{stopped:#}");
            let payload: Value = serde_json::from_str(text(&stopped)).unwrap();
            assert_eq!(payload["error"], "policy_denied");
            assert!(payload["message"].as_str().unwrap().contains("smoke"), "{payload:#}");
            player.finish(0);
        }
    }
}

/// K3, M2, M3, H3: where a schema forbids what it does not name, everything that may be wanted of the agent is named;
/// where it does not, nothing but the token is.
#[test]
fn a_strict_schema_lets_the_agent_send_what_is_wanted_of_it() {
    let typed =
        "[[rules]]\ntool = \"mock/delete_note\"\nthen = \"ask\"\nconfirm = \"type\"\ntype = \"args.id\"\n";
    for lane in Lane::ALL {
        for (config, expected) in [
            ("profile = \"handshake\"\n".to_owned(), vec!["__channel", "__reason", "confirm_token"]),
            (
                format!("profile = \"handshake\"\n{typed}"),
                vec!["__channel", "__reason", "__typed", "confirm_token"],
            ),
            ("profile = \"modes\"\n".to_owned(), vec!["__channel", "__mode", "__reason", "confirm_token"]),
            // What is typed there must be proven better than the agent can.
            (format!("profile = \"spend\"\n{typed}"), vec!["__reason"]),
        ] {
            let mut player = setup(lane).config(&config).open(json!({}));
            let expected: BTreeSet<String> = expected.into_iter().map(str::to_owned).collect();
            assert_eq!(ours(&mut player, STRICT), expected, "{config}");
            let open = ["__reason", "confirm_token"].map(str::to_owned);
            assert_eq!(ours(&mut player, "write_note"), open.into(), "{config}");
            player.finish(0);
        }

        let config = format!("profile = \"handshake\"\n{typed}[times]\nhold = \"1s\"\nwait = \"0s\"\n");
        let mut player = setup(lane).config(&config).open(json!({}));
        let away = delete(&mut player, json!({"id": "b", "__channel": "web"}));
        assert_eq!(structured(&away)["status"], "approval_required");
        let held = delete(&mut player, json!({"id": "a"}));
        let confirmed = json!({"id": "a", "confirm_token": confirm_token(&held), "__typed": "a"});
        assert_eq!(structured(&delete(&mut player, confirmed))["deleted"], "a");
        assert_eq!(player.runs(STRICT), [json!({"id": "a"})], "the server sees none of it");
        player.finish(1);
    }
}

/// I3, H6: the next step names the tools as they are called at this server.
#[test]
fn a_refusal_names_the_tools_as_they_are_called_here() {
    let config = "[own_tools.mock]\nreject = \"take_back\"\nstatus = \"look_up\"\n[asking]\nopen = 1\n";
    for lane in Lane::ALL {
        let mut player = setup(lane).config(config).open(json!({}));
        let held = delete(&mut player, json!({"id": "a"}));
        let bounded = player.call("write_note", json!({"id": "b", "text": "x"}));
        assert_eq!(refusal(&bounded), "rate_limited");
        assert!(text(&bounded).contains("take some back with take_back"), "{}", text(&bounded));
        let confirmed = json!({"id": "a", "confirm_token": confirm_token(&held)});
        assert_eq!(structured(&delete(&mut player, confirmed.clone()))["deleted"], "a");
        let used = delete(&mut player, confirmed);
        assert_eq!(refusal(&used), "consent_token_invalid");
        for message in [&used["error"]["message"], &used["error"]["data"]["message"]] {
            assert!(message.as_str().unwrap().contains("is read with look_up"), "{message}");
        }
        assert!(!player.heard_by_agent().contains("yesgate_status"), "it is not offered");
        assert!(!player.heard_by_agent().contains("yesgate_reject"), "it is not offered");
        player.finish(1);
    }
}
