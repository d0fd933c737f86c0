//! Modern requests: one `POST`, one answer.

use http::StatusCode;
use serde_json::json;
use std::sync::Arc;

use crate::board::Scope;
use crate::front::fixture::caller;
use crate::front::fixture::client::{Client, Events, json_of, refusal, text};

#[tokio::test]
async fn a_plain_answer_is_one_json_message() {
    let client = Client::new();
    let response = client.call(7, "echo").await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()["content-type"], "application/json");
    assert_eq!(text(response).await, r#"{"jsonrpc":"2.0","id":7,"result":{"said":"echo"}}"#);
    assert_eq!(client.board.log(), ["request echo", "answered echo"]);
}

#[tokio::test]
async fn no_session_is_made_or_echoed() {
    let client = Client::new().header("mcp-session-id", "made-up").header("last-event-id", "1-1");
    let response = client.call(1, "echo").await;
    assert_eq!(response.status(), StatusCode::OK);
    assert!(!response.headers().contains_key("mcp-session-id"));
}

#[tokio::test]
async fn an_answer_after_notices_is_a_stream_in_their_order() {
    let client = Client::new();
    let messages = Events::of(client.call(7, "progress").await).rest().await;
    assert_eq!(messages.len(), 3);
    assert_eq!(messages[0]["params"]["progress"], 1);
    assert_eq!(messages[1]["params"]["progress"], 2);
    assert_eq!(messages[2], json!({"jsonrpc": "2.0", "id": 7, "result": {"said": "done"}}));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_takes_long_becomes_a_stream_that_is_kept_alive() {
    let client = Client::new();
    let start = tokio::time::Instant::now();
    let mut events = Events::of(client.call(7, "wait").await);
    assert_eq!(start.elapsed().as_secs(), 10);
    assert_eq!(events.block().await.unwrap(), ":");
    assert_eq!(events.block().await.unwrap(), ":");
    assert_eq!(start.elapsed().as_secs(), 15);
    assert_eq!(events.block().await.unwrap(), ":");
    assert_eq!(start.elapsed().as_secs(), 30);
    client.board.go.notify_one();
    assert_eq!(events.message().await["result"]["said"], "done");
    assert!(events.block().await.is_none());
}

/// A22: closing the response is the withdrawal.
#[tokio::test]
async fn a_request_is_withdrawn_when_its_response_is_closed_before_the_answer() {
    let client = Client::new();
    {
        let calling = client.call(1, "wait");
        tokio::pin!(calling);
        tokio::select! {
            biased;
            _ = &mut calling => panic!("it waits"),
            () = client.board.noted("request wait") => {}
        }
    }
    assert_eq!(client.board.log(), ["request wait", "dropped wait"]);
}

#[tokio::test]
async fn a_request_is_withdrawn_when_its_stream_is_closed_before_the_answer() {
    let client = Client::new();
    let mut events = Events::of(client.call(1, "progress_then_wait").await);
    events.message().await;
    drop(events);
    client.board.noted("dropped progress_then_wait").await;
}

#[tokio::test]
async fn a_client_that_does_not_read_misses_notices_but_not_the_answer() {
    let client = Client::new();
    let messages = Events::of(client.call(1, "chatty").await).rest().await;
    assert!(messages.len() < 400, "{}", messages.len());
    assert_eq!(messages.last().unwrap()["result"]["said"], "done");
}

#[tokio::test]
async fn errors_have_the_status_that_the_revision_gives_them() {
    let client = Client::new();
    assert_eq!(refusal(client.call(1, "missing").await).await, (404, -32601));
    assert_eq!(refusal(client.call(1, "incapable").await).await, (400, -32021));
    assert_eq!(refusal(client.call(1, "bad").await).await, (200, -32602));
    assert_eq!(refusal(client.call(1, "relayed").await).await, (200, -32603));
    assert_eq!(client.call(1, "none").await.status(), StatusCode::ACCEPTED);
}

#[tokio::test]
async fn removed_and_unknown_methods_are_not_found_and_reach_no_board() {
    let client = Client::new();
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "tasks/list",
        "tools/call ",
        "vendor/x",
    ] {
        let client = client.header("mcp-method", method);
        assert_eq!(refusal(client.modern(1, method, json!({})).await).await, (404, -32601), "{method}");
    }
    assert!(client.board.log().is_empty());
}

#[tokio::test]
async fn a_request_that_does_not_say_who_sends_it_is_bad() {
    let client =
        Client::new().header("mcp-protocol-version", "2026-07-28").header("mcp-method", "tools/list");
    let with_meta =
        |meta| json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}});
    let version = "io.modelcontextprotocol/protocolVersion";
    for meta in [
        json!({}),
        json!({"io.modelcontextprotocol/clientCapabilities": {}}),
        json!({version: "2026-07-28"}),
        json!({version: "2026-07-28", "io.modelcontextprotocol/clientCapabilities": []}),
        json!([]),
    ] {
        assert_eq!(refusal(client.post(&with_meta(meta.clone())).await).await, (400, -32602), "{meta}");
    }
    let bare = json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover"});
    assert_eq!(refusal(Client::new().post(&bare).await).await, (400, -32602));
    assert!(client.board.log().is_empty());
}

/// A18: routing happens on the body, and headers that say otherwise are refused.
#[tokio::test]
async fn headers_that_contradict_the_body_are_refused() {
    let client = Client::new();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}}}});
    let good = client
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", "echo");
    assert_eq!(good.post(&body).await.status(), StatusCode::OK);
    let without = |name: &str| {
        let mut client = good.clone();
        client.headers.retain(|(own, _)| *own != name);
        client
    };
    for bad in [
        without("mcp-protocol-version"),
        without("mcp-method"),
        without("mcp-name"),
        good.header("mcp-method", "tools/list"),
        good.header("mcp-method", "Tools/call"),
        good.header("mcp-name", "other"),
        good.header("mcp-name", "=?base64?!?="),
        good.header("mcp-protocol-version", "2025-11-25"),
    ] {
        assert_eq!(refusal(bad.post(&body).await).await, (400, -32020), "{:?}", bad.headers);
    }
    let mut twice = good.clone();
    twice.headers.push(("mcp-method", "tools/call".into()));
    assert_eq!(refusal(twice.post(&body).await).await, (400, -32020));
    assert_eq!(good.header("mcp-name", "=?base64?ZWNobw==?=").post(&body).await.status(), StatusCode::OK);
    assert_eq!(client.board.log().iter().filter(|noted| noted.starts_with("request")).count(), 2);
}

#[tokio::test]
async fn an_unknown_version_is_told_which_there_are() {
    let client = Client::new();
    for (header, meta) in [
        ("2027-01-01", Some("2027-01-01")),
        ("1999-01-01", Some("1999-01-01")),
        ("2027-01-01", None),
        ("x", None),
    ] {
        let params = match meta {
            Some(version) => json!({"_meta": {"io.modelcontextprotocol/protocolVersion": version,
                "io.modelcontextprotocol/clientCapabilities": {}}}),
            None => json!({}),
        };
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params});
        let response = client
            .header("mcp-protocol-version", header)
            .header("mcp-method", "tools/list")
            .post(&body)
            .await;
        assert_eq!(response.status(), StatusCode::BAD_REQUEST);
        let error = json_of(response).await["error"].clone();
        assert_eq!(error["code"], -32022);
        assert_eq!(error["data"]["requested"], header);
        assert_eq!(
            error["data"]["supported"],
            json!(["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"])
        );
    }
}

#[tokio::test]
async fn notifications_are_taken_and_responses_are_not() {
    let client = Client::new().header("mcp-protocol-version", "2026-07-28");
    let told = json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"});
    let method = client.header("mcp-method", "notifications/roots/list_changed");
    assert_eq!(method.post(&told).await.status(), StatusCode::ACCEPTED);
    let vendor = json!({"jsonrpc": "2.0", "method": "notifications/vendor"});
    assert_eq!(
        client.header("mcp-method", "notifications/vendor").post(&vendor).await.status(),
        StatusCode::ACCEPTED
    );
    assert_eq!(client.board.log(), ["told notifications/roots/list_changed"]);
    let response = json!({"jsonrpc": "2.0", "id": 1, "result": {}});
    assert_eq!(refusal(client.post(&response).await).await, (400, -32600));
}

#[tokio::test]
async fn equal_requests_of_one_caller_share_a_party_and_others_do_not() {
    let client = Client::new();
    client.call(1, "echo").await;
    let first = client.board.party();
    client.call(2, "echo").await;
    assert!(Arc::ptr_eq(&first, &client.board.party()));
    let mut other = client.clone();
    other.caller = caller("bob");
    other.call(3, "echo").await;
    assert_ne!(first.key, client.board.party().key);
}

#[tokio::test]
async fn other_methods_and_places_are_refused() {
    let client = Client::new();
    let modern = client.header("mcp-protocol-version", "2026-07-28");
    for method in ["GET", "DELETE"] {
        let response = modern.send(method, "").await;
        assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED);
        assert_eq!(response.headers()["allow"], "POST");
    }
    let response = client.send("PUT", "").await;
    assert_eq!(response.headers()["allow"], "GET, POST, DELETE");
    let mut nowhere = client.clone();
    nowhere.scope = Scope::One("nowhere".parse().unwrap());
    assert_eq!(nowhere.call(1, "echo").await.status(), StatusCode::NOT_FOUND);
    assert_eq!(client.header("content-type", "text/plain").call(1, "echo").await.status(), 415);
    assert_eq!(client.header("accept", "application/json").call(1, "echo").await.status(), 406);
    assert!(client.board.log().is_empty());
}
