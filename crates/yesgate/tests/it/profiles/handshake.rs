//! The handshake: the first call asks, the second, with the token, runs what was asked about, once.
//!
//! Every test ends with the server's own log beside the ledger: the gateway's word alone proves nothing.

use std::fs;

use jiff::Timestamp;
use serde_json::{Value, json};
use yesgate_testkit::{
    Human, Lane, Player, confirm_token, error_code, intent_id, refusal, structured, text, until,
};

use super::{forms, plain, setup};
use crate::support::{legacy, stage};

const HANDSHAKE: &str = "profile = \"handshake\"\n";

fn delete(player: &mut Player, note: &str) -> Value {
    player.call("delete_note", json!({"id": note}))
}

fn delete_with(player: &mut Player, note: &str, token: &str) -> Value {
    player.call("delete_note", json!({"id": note, "confirm_token": token}))
}

/// H6: the error of the wire, and the code in it.
#[track_caller]
fn token_error(answer: &Value) -> &str {
    assert_eq!(error_code(answer), -32015, "{answer:#}");
    assert_eq!(answer["error"]["data"]["message"], answer["error"]["message"]);
    refusal(answer)
}

/// H1, H2, H4: a read passes; a write answers with a token and a summary and does not run; the second call runs it
/// once, and the token is dead. A client that could show a form is asked in the conversation like any other.
#[test]
fn a_write_asks_first_and_its_token_runs_it_once() {
    for lane in Lane::ALL {
        let mut player = setup(lane).config(HANDSHAKE).open(forms());
        assert_eq!(text(&player.call("read_note", json!({"id": "a"}))), "the first note");

        let told = player.call_answering("delete_note", json!({"id": "a"}), Human::IsNotAsked);
        let held = told.answer;
        assert_eq!(held["result"].get("isError"), None, "asking is no error");
        let fields = structured(&held);
        assert_eq!(fields["status"], "confirmation_required");
        assert_eq!(fields["confirm_required"], true);
        assert_eq!(fields["confirm_type"], "simple");
        assert_eq!((&fields["ttl_seconds"], &fields["expires_in"]), (&json!(60), &json!(60)));
        assert!(fields["expires_at"].as_str().unwrap().parse::<Timestamp>().unwrap() > Timestamp::now());
        let summary = fields["summary"].as_str().unwrap();
        assert!(summary.contains("delete_note"), "{summary}");
        assert!(fields["message"].as_str().unwrap().starts_with(summary));
        assert!(intent_id(&held).starts_with("intent_"));
        assert_eq!(&serde_json::from_str::<Value>(text(&held)).unwrap(), fields, "for those who read text");
        assert!(player.runs("delete_note").is_empty(), "nothing left before the yes");

        let token = confirm_token(&held);
        assert_eq!(structured(&delete_with(&mut player, "a", &token)), &json!({"deleted": "a", "run": 2}));
        assert_eq!(player.runs("delete_note"), [json!({"id": "a"})]);
        assert_eq!(player.yeses(), ["relayed"]);

        let again = delete_with(&mut player, "a", &token);
        assert_eq!(token_error(&again), "consent_token_invalid");
        assert_eq!(intent_id(&again), intent_id(&held));
        assert_eq!(player.runs("delete_note").len(), 1);
        player.finish(1);
    }
}

/// H1: the summary shows the current state, read by the tool that the rule names.
#[test]
fn the_summary_shows_what_is_there_now() {
    let rule = r#"
        [[rules]]
        tool = "mock/write_note"
        then = "ask"
        lookup = { tool = "mock/read_note", args = { id = "args.id" } }
        when = 'state.text != args.text'
        summary = "Overwrite {{state.text}} with {{args.text}}"
    "#;
    for lane in Lane::ALL {
        let mut player = plain(lane, rule);
        let held = player.call("write_note", json!({"id": "a", "text": "x"}));
        assert_eq!(structured(&held)["summary"], r#"Overwrite "the first note" with "x""#);
        let token = confirm_token(&held);
        player.call("write_note", json!({"id": "a", "text": "x", "confirm_token": token}));
        let calls = player.upstream_calls();
        let names: Vec<&str> = calls.iter().map(|call| call["params"]["name"].as_str().unwrap()).collect();
        // It is looked up for the question, and again before the call runs.
        assert_eq!(names, ["read_note", "read_note", "write_note"]);
        player.finish(1);
    }
}

/// H1: what runs is what was stored, in its one canonical form, however the second call is written.
#[test]
fn the_stored_call_runs_in_its_canonical_form() {
    let stage = stage();
    let mut host = legacy(&stage);
    host.send_raw(concat!(
        r#"{"jsonrpc":"2.0","id":"odd","method":"tools/call","params":{"name":"write_note","#,
        r#""arguments":{"text":"\u0068i","n":1.50,"id":"b"}}}"#
    ));
    let token = confirm_token(&host.answer_to("odd"));
    host.send_raw(&format!(
        concat!(
            r#"{{"params":{{"arguments":{{"confirm_token":"{}","id":"b","n":15e-1,"text":"hi"}},"#,
            r#""name":"write_note"}},"method":"tools/call","id":"again","jsonrpc":"2.0"}}"#
        ),
        token
    ));
    assert_eq!(text(&host.answer_to("again")), "run 1: wrote b");
    let lines = stage.upstream_lines();
    let sent = lines.iter().find(|line| line.call().is_some()).unwrap();
    let params =
        r#""method":"tools/call","params":{"name":"write_note","arguments":{"id":"b","n":1.5,"text":"hi"}}"#;
    assert!(sent.raw.contains(params), "{}", sent.raw);
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 1);
}

/// H4, H6: a token is good for the call it was given for, and the refusal says what changed. It spends nothing.
#[test]
fn a_token_for_another_call_names_the_difference() {
    for lane in Lane::ALL {
        let mut player = plain(lane, "");
        let token = confirm_token(&delete(&mut player, "a"));

        let other_note = delete_with(&mut player, "b", &token);
        let other_tool = player.call("fail", json!({"id": "a", "confirm_token": token}));
        let mut stranger = player.another("somebody else", json!({}));
        let other_client = delete_with(&mut stranger, "a", &token);
        for (answer, changed) in [(other_note, "params"), (other_tool, "operation"), (other_client, "client")]
        {
            assert_eq!(token_error(&answer), "consent_token_mismatch");
            assert_eq!(answer["error"]["data"]["details"]["changed"], changed);
        }
        assert!(player.upstream_calls().is_empty());
        stranger.leave();
        assert_eq!(structured(&delete_with(&mut player, "a", &token))["deleted"], "a");
        player.finish(1);
    }
}

/// H4, H6: an old token is refused as expired; the question is still there, and a fresh token runs it.
#[test]
fn an_old_token_is_refused_and_a_fresh_one_is_good() {
    for lane in Lane::ALL {
        let mut player = plain(lane, "[times]\ntoken = \"1s\"\n");
        let held = delete(&mut player, "a");
        assert_eq!(structured(&held)["ttl_seconds"], 1);
        let end: Timestamp = structured(&held)["expires_at"].as_str().unwrap().parse().unwrap();
        until("the token's end", || (Timestamp::now() > end).then_some(()));
        let late = delete_with(&mut player, "a", &confirm_token(&held));
        assert_eq!(token_error(&late), "consent_token_expired");
        assert!(player.upstream_calls().is_empty());

        // A second is short on a busy machine, so it may take more than one fresh token.
        let ran = until("a token that is used in time", || {
            let fresh = delete(&mut player, "a");
            assert_eq!(intent_id(&fresh), intent_id(&held));
            let ran = delete_with(&mut player, "a", &confirm_token(&fresh));
            Some(ran).filter(|ran| ran.get("result").is_some())
        });
        assert_eq!(structured(&ran)["deleted"], "a");
        player.finish(1);
    }
}

/// H4: a token has at least 128 random bits behind a prefix of the operator's, and is stored as its hash only.
#[test]
fn a_token_is_a_secret_that_the_ledger_does_not_know() {
    for lane in Lane::ALL {
        let mut player = plain(lane, "token_prefix = \"acme_\"\n");
        let tokens = [confirm_token(&delete(&mut player, "a")), confirm_token(&delete(&mut player, "a"))];
        let secrets = tokens.each_ref().map(|token| token.strip_prefix("acme_").expect("the prefix"));
        assert_ne!(secrets[0].get(..8), secrets[1].get(..8), "no time and no counter in front");
        for secret in secrets {
            // 26 letters of an alphabet of 32.
            assert!(secret.len() >= 26, "{secret}");
            for file in fs::read_dir(player.home()).unwrap().map(|entry| entry.unwrap().path()) {
                let stored = fs::read(&file).unwrap_or_default();
                let found = stored.windows(secret.len()).any(|window| window == secret.as_bytes());
                assert!(!found, "a token is in {}", file.display());
            }
            assert!(!player.stderr().contains(secret));
        }
        player.finish(0);
    }
}

/// H5: other params: a new question, and the old token is dead. Only for the same client and operation.
#[test]
fn other_params_supersede_within_one_client_and_operation() {
    for lane in Lane::ALL {
        let mut player = plain(lane, "");
        let mut stranger = player.another("somebody else", json!({}));
        let theirs = confirm_token(&delete(&mut stranger, "x"));
        let written = confirm_token(&player.call("write_note", json!({"id": "c", "text": "kept"})));

        let first = delete(&mut player, "a");
        let second = delete(&mut player, "b");
        assert_ne!(intent_id(&first), intent_id(&second));
        assert_ne!(structured(&first)["summary"], structured(&second)["summary"]);
        assert_eq!(token_error(&delete_with(&mut player, "a", &confirm_token(&first))), "superseded");
        assert!(player.upstream_calls().is_empty());

        assert_eq!(structured(&delete_with(&mut player, "b", &confirm_token(&second)))["deleted"], "b");
        let wrote = player.call("write_note", json!({"id": "c", "text": "kept", "confirm_token": written}));
        assert!(text(&wrote).ends_with("wrote c"), "{wrote:#}");
        assert_eq!(structured(&delete_with(&mut stranger, "x", &theirs))["deleted"], "x");
        stranger.leave();
        player.finish(3);
    }
}

/// H5: the same params again are the same question with a fresh token, and the earlier token is dead.
#[test]
fn a_fresh_token_kills_the_earlier_one() {
    for lane in Lane::ALL {
        let mut player = plain(lane, "");
        let (first, second) = (delete(&mut player, "a"), delete(&mut player, "a"));
        assert_eq!(intent_id(&first), intent_id(&second));
        assert_eq!(player.pending().len(), 1);
        let dead = delete_with(&mut player, "a", &confirm_token(&first));
        assert_eq!(token_error(&dead), "consent_token_invalid");
        assert!(player.upstream_calls().is_empty());
        assert_eq!(structured(&delete_with(&mut player, "a", &confirm_token(&second)))["deleted"], "a");
        player.finish(1);
    }
}

/// H6: a policy switch turns errors about tokens into tool results, for hosts that hide errors from the model.
#[test]
fn token_errors_can_be_tool_results() {
    for lane in Lane::ALL {
        let mut player = plain(lane, "token_errors = \"tool_result\"\n");
        let answer = delete_with(&mut player, "a", "pbc_unknown");
        assert_eq!(answer["result"]["isError"], true);
        assert_eq!(refusal(&answer), "consent_token_invalid");
        let token = confirm_token(&delete(&mut player, "a"));
        let answer = delete_with(&mut player, "b", &token);
        assert_eq!(refusal(&answer), "consent_token_mismatch");
        assert_eq!(structured(&answer)["details"]["changed"], "params");
        player.finish(0);
    }
}

/// H6: the next steps that a rule declares stand in the details of every refusal under it.
#[test]
fn refusals_carry_the_rules_next_steps() {
    let next = r#"{ upgrade = "https://example.com/plans", increase = "ask the owner" }"#;
    let rule = format!("[[rules]]\ntool = \"mock/delete_note\"\nthen = \"ask\"\nnext = {next}\n");
    for lane in Lane::ALL {
        let mut player = plain(lane, &rule);
        let token = confirm_token(&delete(&mut player, "a"));
        let mismatch = delete_with(&mut player, "b", &token);
        assert_eq!(structured(&delete_with(&mut player, "a", &token))["deleted"], "a");
        let used = delete_with(&mut player, "a", &token);
        for answer in [mismatch, used] {
            let details = &answer["error"]["data"]["details"];
            assert_eq!(details["upgrade"], "https://example.com/plans", "{answer:#}");
            assert_eq!(details["increase"], "ask the owner");
        }
        player.finish(1);
    }
}

/// H7: nothing but a yes runs it, however often and however trusted the server.
#[test]
fn calling_again_without_a_token_only_asks_again() {
    for lane in Lane::ALL {
        let mut player = plain(lane, HANDSHAKE);
        for token in
            [json!(null), json!(""), json!("pbc_"), json!("yes"), json!("pbc_0123456789abcdef0123456789")]
        {
            assert!(structured(&delete(&mut player, "a"))["confirm_required"].as_bool().unwrap());
            let answer = player.call("delete_note", json!({"id": "a", "confirm_token": token}));
            match answer.get("error") {
                None => assert_eq!(structured(&answer)["confirm_required"], true),
                Some(_) => assert_eq!(token_error(&answer), "consent_token_invalid"),
            }
        }
        assert_eq!(player.pending().len(), 1);
        assert!(player.upstream_calls().is_empty());
        player.finish(0);
    }
}

/// H2, K3: what is said to the gateway is taken out of every call, gated or not; null and nothing are no token.
#[test]
fn what_is_said_to_the_gateway_never_reaches_the_server() {
    for lane in Lane::ALL {
        let mut player = plain(lane, "");
        let own = json!({
            "id": "a", "confirm_token": null, "__confirm": true, "__mode": "execute", "__channel": "chat",
            "__typed": "a",
        });
        assert_eq!(text(&player.call("read_note", own.clone())), "the first note");
        let mut own = own;
        own["confirm_token"] = json!("");
        let held = player.call("delete_note", own.clone());
        own["confirm_token"] = json!(confirm_token(&held));
        // The mock server refuses arguments of `delete_note` that it does not know.
        assert_eq!(structured(&player.call("delete_note", own))["deleted"], "a");
        for call in player.upstream_calls() {
            assert_eq!(call["params"]["arguments"], json!({"id": "a"}));
        }
        let ill_typed = player.call("delete_note", json!({"id": "a", "confirm_token": 7}));
        assert_eq!(error_code(&ill_typed), -32602);
        player.finish(1);
    }
}

/// H9: a call that would change nothing is answered at once: nobody is asked, and nothing runs.
#[test]
fn a_call_that_would_change_nothing_is_answered_at_once() {
    let rule = r#"
        [[rules]]
        tool = "mock/write_note"
        then = "ask"
        lookup = { tool = "mock/read_note", args = { id = "args.id" } }
        noop_when = 'state.text == args.text'
    "#;
    for lane in Lane::ALL {
        let mut player = setup(lane).config(rule).open(forms());
        let same = json!({"id": "a", "text": "the first note"});
        let told = player.call_answering("write_note", same, Human::IsNotAsked);
        let fields = structured(&told.answer);
        assert_eq!((&fields["status"], &fields["changed"]), (&json!("unchanged"), &json!(false)));
        assert!(fields.get("confirm_required").is_none());
        assert!(player.pending().is_empty() && player.runs("write_note").is_empty());

        let other = json!({"id": "a", "text": "another"});
        let told = player.call_answering("write_note", other, Human::Accepts);
        assert!(text(&told.answer).ends_with("wrote a"), "{:#}", told.answer);
        player.finish(1);
    }
}
