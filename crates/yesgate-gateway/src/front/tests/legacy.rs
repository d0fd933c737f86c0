//! Sessions: how they begin, whose they are, and how they end.

use std::time::Duration;

use http::StatusCode;
use serde_json::json;

use crate::board::Scope;
use crate::front::FrontSettings;
use crate::front::fixture::caller;
use crate::front::fixture::client::{Client, Events, json_of, refusal, text};
use crate::front::share::Share;

#[tokio::test]
async fn a_session_begins_with_the_clients_own_revision_or_our_newest() {
    for (wish, given) in [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", "2025-03-26"),
        ("2024-11-05", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("x", "2025-11-25"),
    ] {
        let client = Client::new();
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": {"protocolVersion": wish, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}});
        let response = client.post(&hello).await;
        let id = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        assert!(id.len() >= 22 && id.bytes().all(|byte| byte.is_ascii_graphic()), "{id}");
        assert_eq!(json_of(response).await["result"]["protocolVersion"], given);
        let party = client.board.party();
        assert_eq!(party.version, given);
        assert!(!party.key.0.contains(&id));
    }
}

#[tokio::test]
async fn a_plain_answer_is_one_json_message() {
    let client = Client::new().initialize("2025-11-25", json!({})).await;
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(client.post(&ready).await.status(), StatusCode::ACCEPTED);
    let response = client.header("mcp-protocol-version", "2025-11-25").legacy_call(1, "echo").await;
    assert_eq!(text(response).await, r#"{"jsonrpc":"2.0","id":1,"result":{"said":"echo"}}"#);
    assert_eq!(refusal(client.legacy_call(2, "missing").await).await, (200, -32601));
}

#[tokio::test]
async fn ping_is_answered_here() {
    let client = Client::new().initialize("2025-11-25", json!({})).await;
    let ping = json!({"jsonrpc": "2.0", "id": "p", "method": "ping"});
    assert_eq!(text(client.post(&ping).await).await, r#"{"jsonrpc":"2.0","id":"p","result":{}}"#);
    assert!(!client.board.log().contains(&"request ping".to_owned()));
}

/// CVE-2026-33946: a session id opens nothing for anybody but the caller that began it, where it began.
#[tokio::test]
async fn a_session_is_its_callers_own() {
    let client = Client::new();
    assert_eq!(client.legacy_call(1, "echo").await.status(), StatusCode::BAD_REQUEST);
    assert_eq!(
        client.header("mcp-session-id", "made-up").legacy_call(1, "echo").await.status(),
        StatusCode::NOT_FOUND
    );
    let ann = client.initialize("2025-11-25", json!({})).await;
    let mut bob = ann.clone();
    bob.caller = caller("bob");
    let mut elsewhere = ann.clone();
    elsewhere.scope = Scope::One("files".parse().unwrap());
    let mut other_program = ann.clone();
    other_program.caller.client = "other".parse().unwrap();
    for stranger in [bob, elsewhere, other_program] {
        assert_eq!(stranger.legacy_call(1, "echo").await.status(), StatusCode::NOT_FOUND);
        assert_eq!(stranger.send("GET", "").await.status(), StatusCode::NOT_FOUND);
        assert_eq!(stranger.send("DELETE", "").await.status(), StatusCode::NOT_FOUND);
    }
    assert_eq!(client.board.log(), ["request initialize", "answered initialize"]);
}

#[tokio::test]
async fn a_session_ends_at_its_clients_wish() {
    let client = Client::new().initialize("2025-11-25", json!({})).await;
    let mut general = Events::of(client.send("GET", "").await);
    let mut waiting = Box::pin(client.legacy_call(1, "wait"));
    tokio::select! {
        biased;
        _ = &mut waiting => panic!("it waits"),
        () = client.board.noted("request wait") => {}
    }
    assert_eq!(client.send("DELETE", "").await.status(), StatusCode::NO_CONTENT);
    assert_eq!(waiting.await.status(), StatusCode::ACCEPTED);
    assert!(general.event().await.is_none());
    assert!(client.board.log().contains(&"withdrawn wait".to_owned()));
    assert!(client.board.log().contains(&"left".to_owned()));
    assert_eq!(client.legacy_call(2, "echo").await.status(), StatusCode::NOT_FOUND);
    assert_eq!(client.send("DELETE", "").await.status(), StatusCode::NOT_FOUND);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_nobody_uses_ends_and_one_that_is_listened_to_does_not() {
    let settings = FrontSettings { session_idle: Duration::from_secs(60), ..FrontSettings::default() };
    let client = Client::with(settings);
    let idle = client.initialize("2025-11-25", json!({})).await;
    let listening = client.initialize("2025-11-25", json!({})).await;
    let mut events = Events::of(listening.send("GET", "").await);
    // An opening, its id, and five beats of fifteen seconds.
    for _ in 0..7 {
        events.block().await.unwrap();
    }
    assert_eq!(idle.legacy_call(1, "echo").await.status(), StatusCode::NOT_FOUND);
    assert_eq!(listening.legacy_call(1, "echo").await.status(), StatusCode::OK);
    assert!(client.board.log().contains(&"left".to_owned()));
}

#[tokio::test]
async fn sessions_are_bounded_for_each_caller_and_in_all() {
    let settings = FrontSettings { sessions: Share { all: 3, each: 2 }, ..FrontSettings::default() };
    let client = Client::with(settings);
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}});
    let first = client.initialize("2025-11-25", json!({})).await;
    client.initialize("2025-11-25", json!({})).await;
    let full = client.post(&hello).await;
    assert_eq!(full.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(full.headers()["retry-after"], "10");
    let mut bob = client.clone();
    bob.caller = caller("bob");
    bob.initialize("2025-11-25", json!({})).await;
    assert_eq!(bob.post(&hello).await.status(), StatusCode::SERVICE_UNAVAILABLE);
    first.send("DELETE", "").await;
    client.initialize("2025-11-25", json!({})).await;
}

#[tokio::test]
async fn a_front_that_closes_begins_no_session_but_answers_what_is_under_way() {
    let client = Client::new().initialize("2025-11-25", json!({})).await;
    let mut general = Events::of(client.send("GET", "").await);
    let mut waiting = Events::of(client.legacy_call(1, "progress_then_wait").await);
    waiting.message().await;
    client.front.close();
    assert!(general.event().await.is_none());
    client.board.go.notify_one();
    assert_eq!(waiting.message().await["result"]["said"], "done");
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}});
    let mut fresh = client.clone();
    fresh.headers.clear();
    assert_eq!(fresh.post(&hello).await.status(), StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test]
async fn a_cancelled_request_is_withdrawn_and_not_answered() {
    let client = Client::new().initialize("2025-11-25", json!({})).await;
    let mut waiting = Box::pin(client.legacy_call(5, "wait"));
    tokio::select! {
        biased;
        _ = &mut waiting => panic!("it waits"),
        () = client.board.noted("request wait") => {}
    }
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}});
    assert_eq!(client.post(&cancelled).await.status(), StatusCode::ACCEPTED);
    assert_eq!(waiting.await.status(), StatusCode::ACCEPTED);
    assert!(client.board.log().contains(&"withdrawn wait".to_owned()));
}

#[tokio::test]
async fn an_answer_that_comes_in_spite_of_a_withdrawal_is_dropped() {
    let client = Client::new().initialize("2025-11-25", json!({})).await;
    let mut events = Events::of(client.legacy_call(5, "progress_then_wait").await);
    events.message().await;
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}});
    client.post(&cancelled).await;
    client.board.go.notify_one();
    assert!(events.event().await.is_none());
}

/// A22: in a session, being cut off is no withdrawal.
#[tokio::test]
async fn a_request_goes_on_when_its_client_is_cut_off() {
    let client = Client::new().initialize("2025-11-25", json!({})).await;
    {
        let mut waiting = Box::pin(client.legacy_call(1, "stubborn"));
        tokio::select! {
            biased;
            _ = &mut waiting => panic!("it waits"),
            () = client.board.noted("request stubborn") => {}
        }
    }
    assert_eq!(client.legacy_call(1, "echo").await.status(), StatusCode::BAD_REQUEST);
    client.board.go.notify_one();
    client.board.noted("answered stubborn").await;
    assert!(!client.board.log().contains(&"withdrawn stubborn".to_owned()));
}

#[tokio::test]
async fn a_client_that_was_cut_off_for_good_is_not_waited_for() {
    let client = Client::new().initialize("2025-11-25", json!({"elicitation": {}})).await;
    {
        let mut waiting = Box::pin(client.legacy_call(1, "wait_then_ask"));
        tokio::select! {
            biased;
            _ = &mut waiting => panic!("it waits"),
            () = client.board.noted("request wait_then_ask") => {}
        }
    }
    client.board.go.notify_one();
    client.board.noted("not answered: the client went before it answered").await;
}

#[tokio::test]
async fn a_server_that_asks_without_end_is_not_heard_without_end() {
    let client = Client::new().initialize("2025-11-25", json!({"elicitation": {}})).await;
    let messages = Events::of(client.legacy_call(1, "ask_without_end").await).rest().await;
    assert_eq!(messages.last().unwrap()["result"]["said"], "bounded");
    assert!(messages.len() < 300, "{}", messages.len());
}

#[tokio::test]
async fn an_id_in_use_is_refused_and_free_again_after_the_answer() {
    let client = Client::new().initialize("2025-11-25", json!({})).await;
    let mut events = Events::of(client.legacy_call(1, "progress_then_wait").await);
    assert_eq!(refusal(client.legacy_call(1, "echo").await).await, (400, -32600));
    events.message().await;
    client.board.go.notify_one();
    events.message().await;
    assert_eq!(client.legacy_call(1, "echo").await.status(), StatusCode::OK);
    assert_eq!(client.board.log().iter().filter(|noted| *noted == "request echo").count(), 1);
}

#[tokio::test]
async fn requests_of_a_session_are_bounded() {
    let settings = FrontSettings { requests: 1, ..FrontSettings::default() };
    let client = Client::with(settings).initialize("2025-11-25", json!({})).await;
    let waiting = Events::of(client.legacy_call(1, "progress_then_wait").await);
    assert_eq!(refusal(client.legacy_call(2, "echo").await).await, (429, -32603));
    drop(waiting);
}

#[tokio::test]
async fn a_version_header_in_a_session_must_be_a_known_one() {
    let client = Client::new().initialize("2025-11-25", json!({})).await;
    assert_eq!(
        client.header("mcp-protocol-version", "2025-03-26").legacy_call(1, "echo").await.status(),
        StatusCode::OK
    );
    let bad = client.header("mcp-protocol-version", "2024-11-05");
    assert_eq!(refusal(bad.legacy_call(1, "echo").await).await, (400, -32022));
    assert_eq!(bad.send("GET", "").await.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_question_goes_out_on_the_requests_own_stream_and_its_answer_comes_back() {
    let client = Client::new().initialize("2025-11-25", json!({"elicitation": {}})).await;
    let mut general = Events::of(client.send("GET", "").await);
    let mut events = Events::of(client.legacy_call(1, "ask_two").await);
    let (first, second) = (events.message().await, events.message().await);
    assert_eq!(first["method"], "elicitation/create");
    assert_ne!(first["id"], second["id"]);
    let answer = json!({"jsonrpc": "2.0", "id": second["id"], "result": {"action": "decline"}});
    assert_eq!(client.post(&answer).await.status(), StatusCode::ACCEPTED);
    let error = json!({"jsonrpc": "2.0", "id": first["id"], "error": {"code": 1, "message": "no"}});
    assert_eq!(client.post(&error).await.status(), StatusCode::ACCEPTED);
    assert_eq!(
        events.message().await["result"]["said"],
        r#"b={"action":"decline"} a!{"code":1,"message":"no"}"#
    );
    assert_eq!(client.post(&answer).await.status(), StatusCode::ACCEPTED);
    client.send("DELETE", "").await;
    assert!(general.event().await.is_none(), "the general stream saw a question");
}

/// A22: a yes that comes after the request was withdrawn is no yes.
#[tokio::test]
async fn an_answer_after_the_withdrawal_of_its_request_is_dropped() {
    let client = Client::new().initialize("2025-11-25", json!({"elicitation": {}})).await;
    let mut events = Events::of(client.legacy_call(1, "ask").await);
    let question = events.message().await;
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    client.post(&cancelled).await;
    let late = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}});
    assert_eq!(client.post(&late).await.status(), StatusCode::ACCEPTED);
    client.send("DELETE", "").await;
    client.board.noted("not answered: the client went before it answered").await;
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_never_answered_is_taken_back() {
    let client = Client::new().initialize("2025-11-25", json!({"elicitation": {}})).await;
    let mut events = Events::of(client.legacy_call(1, "ask").await);
    let question = events.message().await;
    let withdrawn = events.message().await;
    assert_eq!(withdrawn["method"], "notifications/cancelled");
    assert_eq!(withdrawn["params"]["requestId"], question["id"]);
    assert_eq!(events.message().await["error"]["message"], "the client did not answer in time");
}

#[tokio::test]
async fn nobody_is_asked_for_what_it_did_not_declare() {
    for (version, capabilities, tool) in [
        ("2025-11-25", json!({}), "ask"),
        ("2025-11-25", json!({"elicitation": {}}), "ask_url"),
        ("2025-11-25", json!({"elicitation": {"url": {}}}), "ask"),
        ("2025-06-18", json!({"elicitation": {"url": {}}}), "ask_url"),
        ("2025-03-26", json!({"elicitation": {}}), "ask"),
    ] {
        let client = Client::new().initialize(version, capabilities.clone()).await;
        let answer = json_of(client.legacy_call(1, tool).await).await;
        assert_eq!(
            answer["error"]["message"], "the client cannot be asked",
            "{version} {capabilities} {tool}"
        );
    }
}

#[tokio::test]
async fn words_outside_of_requests_go_to_the_general_stream_and_wait_for_it() {
    let client = Client::new().initialize("2025-06-18", json!({"roots": {}})).await;
    let talk = client.board.party().session.clone().unwrap();
    talk.notify(crate::front::fixture::progress("1"));
    let asking = tokio::spawn({
        let talk = talk.clone();
        async move {
            let request = crate::talk::InputRequest {
                key: "r".into(),
                method: crate::talk::InputMethod::Roots,
                params: crate::raw::raw("{}".into()),
            };
            talk.ask(vec![request]).await
        }
    });
    let mut events = Events::of(client.send("GET", "").await);
    assert_eq!(events.message().await["params"]["progress"], 1);
    let question = events.message().await;
    assert_eq!(question["method"], "roots/list");
    client.post(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}})).await;
    assert_eq!(asking.await.unwrap().unwrap().len(), 1);
}

#[tokio::test]
async fn a_session_is_not_opened_twice_nor_with_modern_methods() {
    let client = Client::new().initialize("2025-11-25", json!({})).await;
    let hello = json!({"jsonrpc": "2.0", "id": 9, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}});
    assert_eq!(refusal(client.post(&hello).await).await, (400, -32600));
    for method in ["subscriptions/listen", "tasks/update", "vendor/x", "tools/call "] {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method});
        assert_eq!(refusal(client.post(&body).await).await, (200, -32601), "{method}");
    }
    let nameless = json!({"jsonrpc": "2.0", "id": 9, "method": "initialize", "params": {}});
    let mut fresh = client.clone();
    fresh.headers.clear();
    assert_eq!(refusal(fresh.post(&nameless).await).await, (400, -32602));
    assert_eq!(client.board.log().len(), 2);
}
