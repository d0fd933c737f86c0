//! A modern host is asked by the answer to its call, and comes back with another one.

use std::time::Duration;

use serde_json::{Value, json};

use super::{FORM, GONE, Scene, able, asked, cancelled};
use crate::front::reach::Charge;

fn call(id: u32, capabilities: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "t", "arguments": {"x": 1},
    "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
        "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
    }}})
}

fn able_call(id: u32) -> Value {
    call(id, &json!({"elicitation": {}}))
}

/// The call that comes back with a state and an answer.
fn back(id: u32, state: &Value) -> Value {
    let mut call = able_call(id);
    call["params"]["requestState"] = state.clone();
    call["params"]["inputResponses"] = json!({"q": {"action": "accept"}});
    call
}

impl Scene {
    /// The state of a call that was parked with a question.
    async fn parked(&mut self, id: u32) -> Value {
        self.ask(able_call(id)).await;
        let asked = self.host_hears().await;
        assert_eq!(asked["id"], id);
        assert_eq!(asked["result"]["resultType"], "input_required");
        asked["result"]["requestState"].clone()
    }

    async fn refused(&mut self, message: Value) {
        let id = message["id"].clone();
        self.host_says(message).await;
        let refused = self.host_hears().await;
        assert_eq!((&refused["id"], &refused["error"]["code"]), (&id, &json!(-32602)), "{refused}");
    }
}

#[tokio::test]
async fn a_modern_host_is_asked_by_an_answer_and_its_call_goes_on_with_the_next_one() {
    let mut scene = Scene::new().await;
    scene.ask(able_call(1)).await;
    let asked = scene.host_hears().await;
    let form: Value = serde_json::from_str(FORM).unwrap();
    assert_eq!(
        asked["result"]["inputRequests"],
        json!({"q": {"method": "elicitation/create", "params": form}})
    );
    let state = &asked["result"]["requestState"];
    assert!(state.as_str().unwrap().starts_with("yg1."));
    scene.host_says(back(2, state)).await;
    let answer = json!({"jsonrpc": "2.0", "id": 2, "result": {"said": r#"{"action":"accept"}"#}});
    assert_eq!(scene.host_hears().await, answer);
    scene.nothing_else_passed().await;
}

/// A19: a state is good for its own caller and call, once.
#[tokio::test]
async fn a_state_opens_nothing_for_anything_else_and_nothing_twice() {
    let mut scene = Scene::new().await;
    let state = scene.parked(1).await;
    let mut other_tool = back(2, &state);
    other_tool["params"]["name"] = "u".into();
    let mut other_arguments = back(2, &state);
    other_arguments["params"]["arguments"]["x"] = 2.into();
    let mut other_program = back(2, &state);
    other_program["params"]["_meta"]["io.modelcontextprotocol/clientInfo"]["name"] = "d".into();
    let mut nonsense = back(2, &state);
    nonsense["params"]["inputResponses"]["q"]["action"] = "yes".into();
    let mut nobody = back(2, &state);
    nobody["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = Value::Null;
    let mut other_era = back(2, &state);
    other_era["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2027-01-01".into();
    let made_up = back(2, &json!("yg1.made-up"));
    for wrong in [other_tool, other_arguments, other_program, nonsense, nobody, other_era, made_up] {
        scene.refused(wrong).await;
    }
    assert!(scene.fates.try_recv().is_err());
    scene.host_says(back(3, &state)).await;
    assert_eq!(scene.host_hears().await["result"]["said"], r#"{"action":"accept"}"#);
    scene.refused(back(4, &state)).await;
    scene.nothing_else_passed().await;
}

#[tokio::test]
async fn what_was_left_out_is_asked_again() {
    let mut scene = Scene::new().await;
    let state = scene.parked(1).await;
    let mut empty = back(2, &state);
    empty["params"]["inputResponses"] = json!({});
    scene.host_says(empty).await;
    let again = scene.host_hears().await["result"]["requestState"].clone();
    assert_ne!(again, state);
    scene.refused(back(3, &state)).await;
    scene.host_says(back(4, &again)).await;
    assert_eq!(scene.host_hears().await["id"], 4);
}

#[tokio::test]
async fn an_id_in_use_does_not_use_a_state_up() {
    let mut scene = Scene::new().await;
    let state = scene.parked(1).await;
    let waiting = |charge: Charge| async move {
        drop(charge);
        std::future::pending().await
    };
    scene.call(able_call(2), waiting).await;
    scene.host_says(back(2, &state)).await;
    assert_eq!(scene.host_hears().await["error"]["code"], -32600);
    scene.host_says(back(3, &state)).await;
    assert_eq!(scene.host_hears().await["id"], 3);
}

#[tokio::test]
async fn a_host_that_declares_nothing_can_be_sent_away_and_comes_back() {
    let mut scene = Scene::new().await;
    let resting = |charge: Charge| async move {
        let person = charge.person.unwrap();
        let rested = [person.talk.rest().await, person.talk.rest().await];
        format!("{rested:?} {}", asked(&person, FORM).await)
    };
    scene.call(call(1, &json!({})), resting).await;
    for id in 2..4 {
        let asked = scene.host_hears().await["result"].clone();
        let members: Vec<&String> = asked.as_object().unwrap().keys().collect();
        assert_eq!(members, ["requestState", "resultType"]);
        let mut back = call(id, &json!({}));
        back["params"]["requestState"] = asked["requestState"].clone();
        scene.host_says(back).await;
    }
    assert_eq!(scene.host_hears().await["result"]["said"], "[Ok(()), Ok(())] the client cannot be asked");
}

#[tokio::test]
async fn a_host_in_a_session_is_not_sent_away() {
    let mut scene = Scene::open("2025-11-25", json!({"elicitation": {}})).await;
    let resting = |charge: Charge| async move {
        let person = charge.person.unwrap();
        let session = person.party.session.clone().unwrap();
        format!("{:?} {:?}", person.talk.rest().await, session.rest().await)
    };
    scene.call(super::call(1), resting).await;
    assert_eq!(scene.host_hears().await["result"]["said"], "Err(Unable) Err(Unable)");
}

/// A22: with a leg the whole call is withdrawn, and it is not answered.
#[tokio::test]
async fn a_call_that_is_withdrawn_in_a_later_leg_is_over() {
    let mut scene = Scene::new().await;
    let resting = |Charge { person, cancel, .. }: Charge| async move {
        let rested = person.unwrap().talk.rest().await;
        cancel.fired().await;
        format!("{rested:?}")
    };
    scene.call(able_call(1), resting).await;
    let state = scene.host_hears().await["result"]["requestState"].clone();
    scene.host_says(back(2, &state)).await;
    scene.host_says(cancelled(2)).await;
    assert_eq!(scene.fate().await, "Ok(()), withdrawn");
    while scene.tasks.join_next().await.is_some() {}
    scene.nothing_else_passed().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_never_fetched_is_withdrawn() {
    let mut scene = Scene::new().await;
    let asking = |Charge { person, cancel, .. }: Charge| async move {
        let said = asked(&person.unwrap(), FORM).await;
        cancel.fired().await;
        said
    };
    scene.call(able_call(1), asking).await;
    let state = scene.host_hears().await["result"]["requestState"].clone();
    let start = tokio::time::Instant::now();
    assert_eq!(scene.fate().await, "the client did not answer in time, withdrawn");
    assert!(start.elapsed() <= Duration::from_secs(615), "{:?}", start.elapsed());
    scene.refused(back(2, &state)).await;
}

/// What is open when the host goes stays open; only the question through the host is over.
#[tokio::test]
async fn a_modern_host_that_goes_can_be_asked_nothing_and_withdraws_nothing() {
    let mut scene = Scene::new().await;
    let state = scene.parked(1).await;
    scene.session.host_gone();
    assert_eq!(scene.fate().await, GONE);
    scene.refused(back(2, &state)).await;
}

#[tokio::test]
async fn a_modern_request_that_does_not_say_what_it_must_has_nobody_to_ask() {
    let mut scene = Scene::new().await;
    let mut unknown = able_call(1);
    unknown["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2031-01-01".into();
    let mut silent = able_call(2);
    silent["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = Value::Null;
    for message in [unknown, silent] {
        scene.call(message, |charge| async move { able(charge.person.as_ref()) }).await;
        assert_eq!(scene.host_hears().await["result"]["said"], "nobody");
    }
    scene.call(able_call(3), |charge| async move { able(charge.person.as_ref()) }).await;
    assert_eq!(scene.host_hears().await["result"]["said"], "form true url false");
}
