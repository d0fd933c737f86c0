//! Forms that are taken back while a human reads them: in a session the call cannot be kept open any longer, and the
//! human's answer may be on its way, or the host shows the form on.
//!
//! INVARIANT: what is said in such a form runs nothing, and a no is never lost.

use serde_json::{Value, json};
use yesgate_testkit::{
    ServeStage, WebHost, confirm_token, eventually, intent_id, refusal, structured, until,
};

use crate::support::{legacy_capable, stage, state};

const SHORT: &str = "[times]\nhold = \"1s\"\nreflex = \"0s\"\n";

fn note() -> Value {
    json!({"id": "a"})
}

fn no() -> Value {
    json!({"action": "decline"})
}

fn yes() -> Value {
    json!({"action": "accept", "content": {"approve": true}})
}

/// Time, K7: the agent was given a token when the form was taken back, and then the human's no arrives: it holds.
#[test]
fn a_no_in_a_form_that_was_taken_back_holds_on_stdio() {
    let stage = stage().config(SHORT);
    let mut host = legacy_capable(&stage, json!({"elicitation": {}}));
    let call = host.call_async("delete_note", note());
    let form = host.next_of("elicitation/create");
    let held = host.answer_to(call);
    assert_eq!(host.next_of("notifications/cancelled")["params"]["requestId"], form["id"]);
    host.respond(&form, no());
    until("the no", || (state(&stage, &intent_id(&held)) == "denied").then_some(()));
    let brought = host.call("delete_note", json!({"id": "a", "confirm_token": confirm_token(&held)}));
    assert_eq!(refusal(&brought), "denied");
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 0);
}

/// Time: a yes in it is void. The question is as open as it was, and the agent's token is good.
#[test]
fn a_yes_in_a_form_that_was_taken_back_is_void_on_stdio() {
    let stage = stage().config(SHORT);
    let mut host = legacy_capable(&stage, json!({"elicitation": {}}));
    let call = host.call_async("delete_note", note());
    let form = host.next_of("elicitation/create");
    let held = host.answer_to(call);
    host.respond(&form, yes());
    // Twice is no better than once.
    host.respond(&form, yes());
    let again = host.call("delete_note", note());
    assert_eq!((intent_id(&again), state(&stage, &intent_id(&held)).as_str()), (intent_id(&held), "pending"));
    assert!(stage.upstream_calls().is_empty());
    let ran = host.call("delete_note", json!({"id": "a", "confirm_token": confirm_token(&again)}));
    assert_eq!(structured(&ran)["deleted"], "a");
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 1);
}

/// Time, K7: the same over HTTP, where the no comes by a request of its own. A stranger's no is nobody's.
#[tokio::test]
async fn a_no_in_a_form_that_was_taken_back_holds_over_http() {
    let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate"));
    let server = stage.child("notes", &[]);
    let stage = stage.config(&format!("{SHORT}{server}"));
    let mut gateway = stage.start();
    let session = async |name: &str| -> WebHost {
        let mut host = gateway.server("notes").named(name).capable(json!({"elicitation": {}}));
        host.initialize().await;
        host
    };
    let (host, stranger) = (session("host").await, session("stranger").await);
    let mut stream = host.draft_call("delete_note", note()).send().await;
    let form = stream.next_of("elicitation/create").await;
    let held = stream.answer().await;
    let intent = intent_id(&held);
    stranger.respond(&form["id"], no()).await;
    assert_eq!(stage.shown(&intent)["state"], "pending");
    host.respond(&form["id"], no()).await;
    eventually("the no", async || (stage.shown(&intent)["state"] == "denied").then_some(())).await;
    let brought = host.call("delete_note", json!({"id": "a", "confirm_token": confirm_token(&held)})).await;
    assert_eq!(refusal(&brought), "denied");
    assert!(gateway.close().success());
    assert_eq!(stage.check_history("notes", &[]).gated, 0);
}
