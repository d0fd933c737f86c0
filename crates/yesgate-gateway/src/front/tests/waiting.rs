//! Clients that wait for something that no question to them can bring about: rounds without questions, and the
//! word that a question by URL is over.

use serde_json::{Value, json};

use crate::front::fixture::caller;
use crate::front::fixture::client::{Client, Events, json_of, refusal};

async fn call(client: &Client, id: u32, tool: &str, state: Option<&Value>, able: Value) -> Value {
    let mut params = json!({"name": tool, "arguments": {"x": 1}});
    if let Some(state) = state {
        params["requestState"] = state.clone();
    }
    json_of(client.modern_able(id, "tools/call", params, able).await).await
}

#[tokio::test]
async fn a_client_that_declares_nothing_can_be_sent_away_and_comes_back() {
    let client = Client::new();
    let first = call(&client, 1, "rest", None, json!({})).await;
    assert_eq!(first["result"]["resultType"], "input_required");
    let members: Vec<&String> = first["result"].as_object().unwrap().keys().collect();
    assert_eq!(members, ["requestState", "resultType"], "nothing is asked");
    let state = &first["result"]["requestState"];
    assert!(state.as_str().unwrap().starts_with("yg1."));
    let last = call(&client, 2, "rest", Some(state), json!({})).await;
    assert_eq!(last, json!({"jsonrpc": "2.0", "id": 2, "result": {"said": "rested"}}));
    assert_eq!(client.board.log().iter().filter(|noted| *noted == "request rest").count(), 1);
}

/// A19: a state without a question is good for its own caller and request, once.
#[tokio::test]
async fn a_state_without_a_question_opens_nothing_for_anybody_or_anything_else() {
    let client = Client::new();
    let first = call(&client, 1, "rest", None, json!({})).await;
    let state = &first["result"]["requestState"];
    let mut bob = client.clone();
    bob.caller = caller("bob");
    assert_eq!(call(&bob, 2, "rest", Some(state), json!({})).await["error"]["code"], -32602);
    assert_eq!(call(&client, 2, "echo", Some(state), json!({})).await["error"]["code"], -32602);
    let odd = json!({"name": "rest", "arguments": {"x": 1}, "requestState": state, "inputResponses": []});
    assert_eq!(refusal(client.modern(2, "tools/call", odd).await).await, (200, -32602));
    assert_eq!(call(&client, 3, "rest", Some(state), json!({})).await["result"]["said"], "rested");
    assert_eq!(call(&client, 4, "rest", Some(state), json!({})).await["error"]["code"], -32602);
}

#[tokio::test]
async fn rounds_of_waiting_and_of_questions_follow_each_other_under_new_states() {
    let client = Client::new();
    let able = || json!({"elicitation": {}});
    let mut states = Vec::new();
    let mut answer = call(&client, 1, "rest_then_ask", None, able()).await;
    for id in 2..4 {
        assert!(answer["result"].get("inputRequests").is_none(), "{answer}");
        states.push(answer["result"]["requestState"].clone());
        answer = call(&client, id, "rest_then_ask", states.last(), able()).await;
    }
    assert!(answer["result"]["inputRequests"]["a"].is_object(), "{answer}");
    assert!(!states.contains(&answer["result"]["requestState"]));
    assert_ne!(states[0], states[1]);
    let params = json!({"name": "rest_then_ask", "arguments": {"x": 1},
        "requestState": answer["result"]["requestState"], "inputResponses": {"a": {"action": "accept"}}});
    let last = json_of(client.modern_able(9, "tools/call", params, able()).await).await;
    assert_eq!(last["result"]["said"], r#"a={"action":"accept"}"#);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_come_back_is_not_waited_for() {
    let client = Client::new();
    call(&client, 1, "rest", None, json!({})).await;
    client.board.noted("dropped rest").await;
}

#[tokio::test]
async fn a_client_of_the_old_era_stays_where_it_is() {
    let client = Client::new().initialize("2025-11-25", json!({"elicitation": {}})).await;
    let answer = json_of(client.legacy_call(1, "rest").await).await;
    assert_eq!(answer["result"]["said"], "the client cannot be asked");
    let talk = client.board.party().session.clone().unwrap();
    assert_eq!(talk.rest().await, Err(crate::talk::AskError::Unable));
}

/// A22: with the request its question goes too, whether whoever asks has heard of that or not.
#[tokio::test]
async fn a_question_is_taken_back_when_its_request_is_withdrawn() {
    let client = Client::new().initialize("2025-11-25", json!({"elicitation": {}})).await;
    let mut events = Events::of(client.legacy_call(1, "ask").await);
    let question = events.message().await;
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    client.post(&cancelled).await;
    client.board.noted("not answered: the client went before it answered").await;
    let withdrawn = events.message().await;
    assert_eq!(withdrawn["method"], "notifications/cancelled");
    assert_eq!(withdrawn["params"]["requestId"], question["id"]);
    assert!(events.event().await.is_none(), "a withdrawn request was answered");
}

#[tokio::test]
async fn whoever_asks_by_url_names_the_question_and_says_on_the_same_stream_that_it_is_over() {
    let able = json!({"elicitation": {"url": {}}});
    let client = Client::new().initialize("2025-11-25", able.clone()).await;
    let mut general = Events::of(client.send("GET", "").await);
    let mut events = Events::of(client.legacy_call(1, "ask_url_to_the_end").await);
    let question = events.message().await;
    assert_eq!(question["params"]["elicitationId"], "e-1");
    client.post(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}})).await;
    assert_eq!(
        events.message().await,
        json!({"jsonrpc": "2.0", "method": "notifications/elicitation/complete", "params": {"elicitationId": "e-1"}})
    );
    assert_eq!(events.message().await["id"], 1);
    client.send("DELETE", "").await;
    assert!(general.event().await.is_none(), "the general stream heard of it");

    let modern = Client::new();
    let asked = call(&modern, 1, "ask_url_to_the_end", None, able.clone()).await["result"].clone();
    assert!(asked["inputRequests"]["a"]["params"].get("elicitationId").is_none());
    let params = json!({"name": "ask_url_to_the_end", "arguments": {"x": 1},
        "requestState": asked["requestState"], "inputResponses": {"a": {"action": "accept"}}});
    // An answer that is no stream: the modern era has no such word, and hears none.
    let last = json_of(modern.modern_able(2, "tools/call", params, able).await).await;
    assert_eq!(last["result"]["said"], r#"a={"action":"accept"}"#);
}
