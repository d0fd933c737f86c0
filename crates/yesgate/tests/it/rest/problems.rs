//! What goes wrong is a problem (RFC 9457) with the code that agents match on, and polling has a pace.

use serde_json::{Value, json};
use yesgate_testkit::{RestAnswer, eventually};

use super::{Play, and, assert_refused};

const AWAY: &str = "[times]\nhold = \"1s\"\nwait = \"0s\"\n[[rules]]\ntool = \"notes/delete_note\"\nthen = \"ask\"\nchannel = \"out_of_band\"\n";

/// Fails unless an answer is a problem, whole.
#[track_caller]
fn assert_problem(answer: &RestAnswer, status: u16, code: &str) {
    assert_refused(answer, status, code);
    assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{}", answer.text);
    let body = &answer.body;
    assert_eq!((&body["status"], &body["code"]), (&json!(status), &json!(code)));
    assert_eq!(body["detail"], body["message"], "the same sentence");
    assert_eq!(body["type"], format!("/api/docs#problem-{code}"));
    assert_ne!(body["title"].as_str().unwrap(), "Not done", "every code has a title");
}

/// H6, H8: whatever goes wrong is told in one form, and a refusal keeps the payload that MCP has.
#[tokio::test]
async fn everything_that_goes_wrong_is_a_problem_with_its_code() {
    let play = Play::new();
    let host = play.host();
    let invalid = host.call("notes", "delete_note", json!({"id": "a", "confirm_token": "pbc_x"})).await;
    assert_problem(&invalid, 402, "consent_token_invalid");
    assert_eq!(invalid.body["details"], json!({}));
    assert_problem(&host.call("nowhere", "x", json!({})).await, 404, "no_such_server");
    assert_problem(&host.call("notes", "no_such", json!({})).await, 404, "no_such_tool");
    assert_problem(&host.call("notes", "read_note", json!([])).await, 400, "invalid_call");
    assert_problem(&host.get("/api/intents/nonsense").await, 404, "no_such_intent");
    assert_problem(&host.get("/api/nowhere").await, 404, "not_found");
    assert_problem(&host.post("/api/consent/mint", json!({"x": 1})).await, 400, "invalid_request");
    assert_problem(&host.get("/api/consent/mint").await, 405, "method_not_allowed");
    let form = host.draft("POST", "/api/consent/mint").header("content-type", "text/plain").body("{}");
    assert_problem(&RestAnswer::read(form.send().await).await, 415, "unsupported_media_type");
    let stranger = play.gateway.rest().bearer("ygk_nobody");
    assert_problem(&stranger.get("/api/openapi.json").await, 401, "unauthorized");
    // A tool that complains is no problem of ours: it ran, and its answer is its own.
    let held = host.call("notes", "delete_note", json!({"id": "a"})).await;
    let call = and(json!({"id": "a"}), "confirm_token", held.text_of("confirm_token"));
    assert_eq!(host.call("notes", "delete_note", call.clone()).await.status, 200);
    assert_problem(&host.call("notes", "delete_note", call).await, 402, "consent_token_invalid");
    play.finish(1);
}

/// H3: whoever polls faster than the interval is told to slow down, with a longer interval; the result is never held
/// back.
#[tokio::test]
async fn polling_too_fast_is_told_to_slow_down_and_a_result_is_told_at_once() {
    let play = Play::with(AWAY, &[]);
    let host = play.host();
    let intent = host.call("notes", "delete_note", json!({"id": "a"})).await.text_of("intent_id");
    let path = format!("/api/intents/{intent}");
    // Two looks without a pause; on a machine that stops for seconds in between, two others.
    let slowed = eventually("a look comes too soon", async || {
        let looked = host.get(&path).await;
        (looked.status != 200).then_some(looked)
    });
    let slowed = slowed.await;
    assert_problem(&slowed, 429, "slow_down");
    let longer = slowed.body["poll_interval_seconds"].as_u64().unwrap();
    assert!(longer >= 10, "{}", slowed.text);
    assert_eq!(slowed.header("retry-after"), Some(longer.to_string().as_str()));
    assert_eq!(slowed.body.get("summary"), None::<&Value>);
    play.stage.approve(&intent).ok();
    play.is(&intent, "done").await;
    let looked = host.get(&path).await;
    assert_eq!((looked.status, &looked.body["status"]), (200, &json!("approved")), "{}", looked.text);
    play.finish(1);
}
