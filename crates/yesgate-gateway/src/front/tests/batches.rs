//! Batches, which one revision has and all others have not.

use http::StatusCode;
use serde_json::{Value, json};

use crate::front::FrontSettings;
use crate::front::fixture::client::{Client, Events, json_of, legacy_call, refusal};

async fn session() -> Client {
    Client::new().initialize("2025-03-26", json!({})).await
}

/// A16: every element is read and judged by itself.
#[tokio::test]
async fn every_element_is_a_message_of_its_own() {
    let client = session().await;
    let batch = json!([
        legacy_call(1, "echo"),
        {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"},
        {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "danger"}},
        {"jsonrpc": "2.0", "id": 2, "method": "ping"},
        {"jsonrpc": "2.0", "id": 3, "method": "initialize", "params": {}},
        {"jsonrpc": "2.0", "id": 4, "method": "vendor/x"},
        {"jsonrpc": "2.0", "id": null, "method": "tools/list"},
        legacy_call(1, "danger"),
        7,
        {"jsonrpc": "2.0", "id": "yg-1-0", "result": {}},
    ]);
    let answers = json_of(client.post(&batch).await).await;
    let mut codes: Vec<(Value, Value)> = answers
        .as_array()
        .unwrap()
        .iter()
        .map(|answer| (answer["id"].clone(), answer["error"]["code"].clone()))
        .collect();
    codes.sort_by_key(|(id, code)| (id.to_string(), code.to_string()));
    let expected = [
        (json!(1), json!(-32600)),
        (json!(1), json!(null)),
        (json!(2), json!(null)),
        (json!(3), json!(-32600)),
        (json!(4), json!(-32601)),
        (json!(null), json!(-32600)),
        (json!(null), json!(-32600)),
        (json!(null), json!(-32600)),
    ];
    assert_eq!(codes, expected);
    assert!(!client.board.log().contains(&"request danger".to_owned()));
    assert!(client.board.log().contains(&"told notifications/roots/list_changed".to_owned()));
}

#[tokio::test]
async fn a_batch_that_needs_no_answer_gets_none() {
    let client = session().await;
    let batch = json!([{"jsonrpc": "2.0", "method": "notifications/initialized"}]);
    assert_eq!(client.post(&batch).await.status(), StatusCode::ACCEPTED);
}

#[tokio::test]
async fn a_batch_with_notices_is_a_stream_of_single_messages() {
    let client = session().await;
    let batch = json!([legacy_call(1, "echo"), legacy_call(2, "progress"), legacy_call(3, "echo")]);
    let messages = Events::of(client.post(&batch).await).rest().await;
    let mut ids: Vec<i64> = messages.iter().filter_map(|message| message["id"].as_i64()).collect();
    ids.sort_unstable();
    assert_eq!(ids, [1, 2, 3]);
    assert_eq!(messages.len(), 5);
}

#[tokio::test]
async fn elements_are_worked_on_together_but_not_all_at_once() {
    let settings = FrontSettings { batch_at_once: 2, ..FrontSettings::default() };
    let client = Client::with(settings).initialize("2025-03-26", json!({})).await;
    let batch = json!([legacy_call(1, "wait"), legacy_call(2, "wait"), legacy_call(3, "echo")]);
    let mut calling = Box::pin(client.post(&batch));
    tokio::select! {
        biased;
        _ = &mut calling => panic!("it waits"),
        () = client.board.noted("request wait") => {}
    }
    assert_eq!(client.board.log().iter().filter(|noted| *noted == "request wait").count(), 2);
    assert!(!client.board.log().contains(&"request echo".to_owned()));
    client.board.go.notify_one();
    client.board.go.notify_waiters();
    let answers = tokio::select! {
        response = &mut calling => json_of(response).await,
        () = async { client.board.noted("request echo").await; client.board.go.notify_one(); std::future::pending().await } => Value::Null,
    };
    assert_eq!(answers.as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn an_empty_or_huge_batch_and_one_in_another_revision_are_refused_whole() {
    let client = session().await;
    assert_eq!(refusal(client.post(&json!([])).await).await, (400, -32600));
    let huge: Vec<Value> = (0..65).map(|id| legacy_call(id, "echo")).collect();
    assert_eq!(refusal(client.post(&huge.into()).await).await, (400, -32600));
    let batch = json!([legacy_call(1, "echo")]);
    for version in ["2025-06-18", "2025-11-25"] {
        let client = Client::new().initialize(version, json!({})).await;
        assert_eq!(refusal(client.post(&batch).await).await, (400, -32600));
        assert_eq!(client.board.log().len(), 2);
    }
    let modern = Client::new().header("mcp-protocol-version", "2026-07-28");
    assert_eq!(refusal(modern.post(&batch).await).await, (400, -32600));
    assert_eq!(refusal(Client::new().post(&batch).await).await, (400, -32600));
    assert_eq!(refusal(client.send("POST", "[1,").await).await, (400, -32700));
    assert_eq!(refusal(client.send("POST", "[\r1]").await).await, (400, -32600));
    assert_eq!(client.board.log().len(), 2);
}
