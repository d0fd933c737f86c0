//! Calls by REST: the same handshake, the same tokens, the same refusals.

use serde_json::{Value, json};
use yesgate_testkit::{confirm_token, eventually, structured};

use super::{Play, and, assert_refused};

/// H8: the two calls of the handshake, by REST: 202 with the same fields as in MCP, then 200 with the result, once.
#[tokio::test]
async fn a_gated_tool_is_held_and_runs_once_with_its_token() {
    for era in ["legacy", "modern"] {
        held_and_run_once(Play::with("", &["--era", era])).await;
    }
}

async fn held_and_run_once(play: Play) {
    let host = play.host();
    let read = host.call("notes", "read_note", json!({"id": "a"})).await;
    assert_eq!(
        (read.status, &read.body["content"][0]["text"]),
        (200, &json!("the first note")),
        "{}",
        read.text
    );

    let arguments = json!({"id": "a"});
    let held = host.call("notes", "delete_note", arguments.clone()).await;
    assert_eq!(held.status, 202, "{}", held.text);
    assert_eq!(held.body["status"], "confirmation_required");
    assert_eq!(held.body["confirm_required"], true);
    assert_eq!(held.body["ttl_seconds"], 60);
    let intent = held.text_of("intent_id");
    let place = format!("{}/api/intents/{intent}", play.gateway.url());
    assert_eq!((held.header("location"), &held.body["polling_url"]), (Some(place.as_str()), &json!(place)));
    assert_eq!(held.body.get("approval_url"), None, "whoever has a token needs no page");
    assert_eq!(play.ran(), 1);

    // In MCP the same call is held with the same fields.
    let mcp = play.gateway.server("notes").call("delete_note", arguments.clone()).await;
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&held.body), keys(structured(&mcp)));

    let call = and(arguments.clone(), "confirm_token", held.text_of("confirm_token"));
    let ran = host.call("notes", "delete_note", call.clone()).await;
    assert_eq!((ran.status, &ran.body), (200, &json!({"deleted": "a", "run": 2})), "{}", ran.text);
    let again = host.call("notes", "delete_note", call).await;
    assert_refused(&again, 402, "consent_token_invalid");
    assert_eq!(play.ran(), 2);
    play.finish(1);
}

/// H6, H8: a refused token is 402 with the payload that MCP has in its error, next steps included.
#[tokio::test]
async fn a_token_that_does_not_fit_is_402_with_the_payload_of_mcp() {
    let rule =
        "[[rules]]\ntool = \"notes/delete_note\"\nthen = \"ask\"\nnext = { increase = \"ask for more\" }\n";
    let play = Play::with(rule, &[]);
    let host = play.host();
    let held = host.call("notes", "delete_note", json!({"id": "a"})).await;
    let other = json!({"id": "b", "confirm_token": held.text_of("confirm_token")});
    let mismatch = host.call("notes", "delete_note", other.clone()).await;
    assert_refused(&mismatch, 402, "consent_token_mismatch");
    assert_eq!(mismatch.body["details"], json!({"changed": "params", "increase": "ask for more"}));
    assert_eq!(mismatch.body["intent_id"], held.body["intent_id"]);

    let mcp = play.gateway.server("notes");
    let token = confirm_token(&mcp.call("delete_note", json!({"id": "a"})).await);
    let refused = mcp.call("delete_note", json!({"id": "b", "confirm_token": token})).await;
    assert_eq!(refused["error"]["code"], -32015);
    let strip = |mut payload: Value| {
        payload["intent_id"].take();
        payload
    };
    let mut payload = mismatch.body;
    // What makes it a problem (RFC 9457) stands beside the payload, and nothing else does.
    for member in ["type", "title", "status", "detail", "code"] {
        assert!(payload.as_object_mut().unwrap().remove(member).is_some(), "{member}");
    }
    assert_eq!(strip(refused["error"]["data"].clone()), strip(payload));

    let made_up = json!({"id": "a", "confirm_token": "pbc_made-up"});
    assert_refused(&host.call("notes", "delete_note", made_up).await, 402, "consent_token_invalid");
    let newer = host.call("notes", "delete_note", json!({"id": "b"})).await;
    assert_eq!(newer.status, 202);
    let older = json!({"id": "a", "confirm_token": held.text_of("confirm_token")});
    assert_refused(&host.call("notes", "delete_note", older).await, 402, "superseded");
    assert_eq!(play.ran(), 0);
    play.finish(0);
}

/// H4, H8: a token is dead after its time.
#[tokio::test]
async fn a_token_that_is_too_old_is_402() {
    let play = Play::with("[times]\ntoken = \"1s\"\ndecide = \"30m\"\n", &[]);
    let host = play.host();
    let held = host.call("notes", "delete_note", json!({"id": "a"})).await;
    let call = json!({"id": "a", "confirm_token": held.text_of("confirm_token")});
    let expires: jiff::Timestamp = held.text_of("expires_at").parse().unwrap();
    eventually("the token is too old", async || (jiff::Timestamp::now() > expires).then_some(())).await;
    assert_refused(&host.call("notes", "delete_note", call).await, 402, "consent_token_expired");
    play.finish(0);
}

/// H8, K1, M1: what the policy does not let run is 402, with the same payload as in MCP.
#[tokio::test]
async fn what_the_policy_does_not_allow_is_402() {
    let play =
        Play::with("[[rules]]\ntool = \"notes/delete_note\"\nthen = \"reject\"\nreason = \"never\"\n", &[]);
    let rejected = play.host().call("notes", "delete_note", json!({"id": "a"})).await;
    assert_refused(&rejected, 402, "policy_denied");
    play.finish(0);

    let play = Play::with("profile = \"two-key\"\n", &[]);
    let preview = play.host().call("notes", "delete_note", json!({"id": "a", "__confirm": true})).await;
    assert_refused(&preview, 402, "DRY_RUN_PREVIEW");
    assert_eq!(preview.body["preview"], json!({"id": "a"}));
    play.finish(0);

    let play = Play::with("mode = \"ask\"\n", &[]);
    assert_refused(&play.host().call("notes", "delete_note", json!({"id": "a"})).await, 402, "mode_forbids");
    // M6: a wish for plan mode is a question about the mode, and a yes to it sets the mode.
    let raised = play.host().call("notes", "delete_note", json!({"id": "a", "__mode": "plan"})).await;
    assert_eq!((raised.status, &raised.body["reason"]), (202, &json!("it raises the mode from ask to plan")));
    let token = raised.text_of("confirm_token");
    let yes = json!({"id": "a", "__mode": "plan", "confirm_token": token});
    let set = play.host().call("notes", "delete_note", yes).await;
    assert_eq!((set.status, &set.body["mode"]), (200, &json!("plan")), "{}", set.text);
    let planned = play.host().call("notes", "delete_note", json!({"id": "a"})).await;
    assert_refused(&planned, 402, "mode_forbids");
    assert_eq!(planned.body["details"]["mode"], "plan");
    play.finish(0);
}

/// H8: a human's no is 403, also for the same call again; what needs more proof than there is is 403.
#[tokio::test]
async fn a_human_who_says_no_is_403() {
    let play = Play::with("[times]\nhold = \"1s\"\n", &[]);
    let host = play.host();
    let held = host.call("notes", "delete_note", json!({"id": "a"})).await;
    play.stage.deny(&held.text_of("intent_id")).ok();
    let call = json!({"id": "a", "confirm_token": held.text_of("confirm_token")});
    assert_refused(&host.call("notes", "delete_note", call).await, 403, "denied");
    assert_refused(&host.call("notes", "delete_note", json!({"id": "a"})).await, 403, "denied");
    let late = json!({"intent_id": held.text_of("intent_id")});
    assert_refused(&host.call("notes", "yesgate_approve", late).await, 403, "denied");
    play.finish(0);

    let away =
        "[times]\ndecide = \"1s\"\n[[rules]]\ntool = \"*\"\nthen = \"ask\"\nchannel = \"out_of_band\"\n";
    let play = Play::with(away, &[]);
    assert_refused(&play.host().call("notes", "delete_note", json!({"id": "a"})).await, 403, "expired");
    play.finish(0);

    let play = Play::with("[[rules]]\ntool = \"*\"\nthen = \"ask\"\nassurance = \"verified\"\n", &[]);
    let unreachable = play.host().call("notes", "delete_note", json!({"id": "a"})).await;
    assert_refused(&unreachable, 403, "no_approver_reachable");
    let own = json!({"intent_id": "intent_040g2081040g2081"});
    assert_refused(&play.host().call("notes", "yesgate_approve", own).await, 402, "consent_token_invalid");
    play.finish(0);
}

/// H8: what was decided before is 409, and what cannot be asked or recorded now is 503.
#[tokio::test]
async fn what_is_decided_is_409_and_what_cannot_be_asked_is_503() {
    let play = Play::new();
    let host = play.host();
    let held = host.call("notes", "delete_note", json!({"id": "a"})).await;
    let intent = json!({"intent_id": held.text_of("intent_id")});
    let ran = host.call("notes", "yesgate_approve", intent.clone()).await;
    assert_eq!((ran.status, &ran.body["deleted"]), (200, &json!("a")), "{}", ran.text);
    assert_refused(&host.call("notes", "yesgate_reject", intent.clone()).await, 409, "already_decided");
    let told = host.call("notes", "yesgate_status", intent).await;
    assert_eq!((told.status, &told.body["status"]), (200, &json!("done")), "{}", told.text);
    play.finish(1);

    let rule = "[[rules]]\ntool = \"notes/delete_note\"\nthen = \"ask\"\nlookup = \"notes/nothing\"\nsummary = \"{{state.x}}\"\n";
    let play = Play::with(rule, &[]);
    let unasked = play.host().call("notes", "delete_note", json!({"id": "a"})).await;
    assert_refused(&unasked, 503, "consent_unavailable");
    play.finish(0);
}

/// X2: what no human could read is 413.
#[tokio::test]
async fn a_call_that_nobody_could_read_is_413() {
    let play = Play::new();
    let long = json!({"id": "x".repeat(20_000)});
    assert_refused(&play.host().call("notes", "delete_note", long).await, 413, "too_large_to_review");
    play.finish(0);
}

/// X3: a call that runs now, or may have run, is 409.
#[tokio::test]
async fn a_call_that_runs_or_may_have_run_is_409() {
    let play = Play::with("[serve.times]\ncall = \"1s\"\n", &["--hang-on", "delete_note"]);
    let host = play.host();
    let held = host.call("notes", "delete_note", json!({"id": "a"})).await;
    let call = json!({"id": "a", "confirm_token": held.text_of("confirm_token")});
    let running = host.call("notes", "delete_note", call).await;
    assert_refused(&running, 409, "execution_in_progress");
    assert_eq!(running.body["intent_id"], held.body["intent_id"]);
    drop(play);

    let play = Play::with("", &["--die-on", "delete_note"]);
    let host = play.host();
    let held = host.call("notes", "delete_note", json!({"id": "a"})).await;
    let call = json!({"id": "a", "confirm_token": held.text_of("confirm_token")});
    assert_refused(&host.call("notes", "delete_note", call).await, 409, "execution_unknown");
    let looked = host.get(&format!("/api/intents/{}", held.text_of("intent_id"))).await;
    assert_eq!((looked.status, &looked.body["status"]), (200, &json!("unknown")), "{}", looked.text);
    play.finish(1);
}

/// H8: a tool's own complaint is 422, an error of its server 502, and a server cannot imitate the gateway.
#[tokio::test]
async fn what_a_tool_or_its_server_gets_wrong_is_422_and_502() {
    let flags = ["--read-only", "fail", "--read-only", "rpc_error", "--echo", "read_note"];
    let play = Play::with("", &flags);
    let host = play.host();
    let failed = host.call("notes", "fail", json!({})).await;
    assert_eq!((failed.status, &failed.body["isError"]), (422, &json!(true)), "{}", failed.text);
    let error = host.call("notes", "rpc_error", json!({})).await;
    assert_refused(&error, 502, "server_error");
    assert!(error.body["details"]["code"].is_i64(), "{}", error.text);
    // It answers with what it got: words that are the gateway's, and no held call for that.
    let words = json!({"id": "a", "status": "confirmation_required", "confirm_required": true});
    let imitated = host.call("notes", "read_note", words).await;
    assert_eq!((imitated.status, imitated.header("location")), (200, None), "{}", imitated.text);
}

/// H8: the operator's own routes lead to the same gate, and change with the configuration.
#[tokio::test]
async fn a_route_of_the_operators_is_another_name_for_the_call() {
    let route = |path: &str| format!("[routes]\n\"{path}\" = \"notes/delete_note\"\n");
    let play = Play::with(&route("/api/notes/delete"), &[]);
    let host = play.host();
    let held = host.post("/api/notes/delete", json!({"id": "a"})).await;
    assert_eq!(held.status, 202, "{}", held.text);
    // One call under two names is one question.
    let call = json!({"id": "a", "confirm_token": held.text_of("confirm_token")});
    let ran = host.call("notes", "delete_note", call).await;
    assert_eq!((ran.status, &ran.body["deleted"]), (200, &json!("a")), "{}", ran.text);
    let document = host.get("/api/openapi.json").await;
    assert!(document.body["paths"]["/api/notes/delete"]["post"].is_object(), "{}", document.text);

    play.stage.set_config(&format!("{}{}", route("/api/notes/remove"), play.stage.child("notes", &[])));
    eventually("the new route is there", async || {
        (host.post("/api/notes/remove", json!({"id": "b"})).await.status == 202).then_some(())
    })
    .await;
    assert_eq!(host.post("/api/notes/delete", json!({"id": "b"})).await.status, 404);
    play.finish(1);
}

/// H8: closing the connection withdraws the call: a late yes runs nothing.
#[tokio::test]
async fn a_call_whose_connection_is_closed_is_withdrawn() {
    let play = Play::with("[[rules]]\ntool = \"*\"\nthen = \"ask\"\nchannel = \"out_of_band\"\n", &[]);
    let host = play.host();
    {
        let sending = host.call("notes", "delete_note", json!({"id": "a"}));
        let opened = eventually("the question is open", async || {
            let pending = play.stage.stage().yesgate(&["pending", "--json"]).ok().json();
            pending[0]["intent_id"].as_str().map(str::to_owned)
        });
        tokio::select! {
            answer = sending => panic!("it waits for a human: {}", answer.text),
            _ = opened => {}
        }
    }
    let recent = eventually("the question is withdrawn", async || {
        let audit = play.stage.stage().yesgate(&["audit", "list", "--json"]).ok().stdout;
        audit.contains("\"cancelled\"").then_some(())
    });
    recent.await;
    assert_eq!(play.ran(), 0);
    play.finish(0);
}
