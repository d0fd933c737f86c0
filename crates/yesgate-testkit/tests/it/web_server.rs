//! A mock server over HTTP that behaves, and the client that hears it.
#![cfg(test)]

use serde_json::{Value, json};
use yesgate_testkit::mock_http::End;
use yesgate_testkit::{MockEras, MockHttp, MockSettings, On, WebHost, error_code, text};

/// A server, and a modern client of it.
fn modern() -> (MockHttp, WebHost) {
    let server = MockHttp::start(MockEras::Both);
    let host = WebHost::new(server.url());
    (server, host)
}

/// A server, and a client with a session.
async fn legacy() -> (MockHttp, WebHost) {
    let (server, mut host) = modern();
    host.initialize().await;
    (server, host)
}

#[tokio::test]
async fn a_modern_client_discovers_lists_and_calls() {
    let (server, host) = modern();
    let found = host.discover().await;
    assert_eq!(found["result"]["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(host.list_tools().await.len(), 12);
    let read = host.call("read_note", json!({"id": "a"})).await;
    assert_eq!(text(&read), "the first note");
    assert_eq!(read["result"]["resultType"], "complete");
    assert_eq!(server.calls().len(), 1);
}

#[tokio::test]
async fn a_session_is_opened_used_and_ended() {
    let (server, host) = legacy().await;
    assert_eq!(host.session_id(), Some("mock-session-1"));
    let deleted = host.call("delete_note", json!({"id": "a"})).await;
    assert_eq!(deleted["result"]["structuredContent"], json!({"deleted": "a", "run": 1}));
    assert_eq!(deleted["result"].get("resultType"), None);
    assert_eq!(host.leave().await, 204);
    assert_eq!(host.draft("tools/list", json!({})).send().await.status(), 404);
    assert_eq!(server.requests().last().unwrap().header("mcp-session-id"), Some("mock-session-1"));
}

#[tokio::test]
async fn a_server_of_one_era_refuses_the_other() {
    let old = MockHttp::start(MockEras::Legacy);
    let answer = WebHost::new(old.url()).draft("server/discover", json!({})).send().await;
    assert_eq!(answer.status(), 400);
    let new = MockHttp::start(MockEras::Modern);
    let mut host = WebHost::new(old.url());
    host.initialize().await;
    let stray = WebHost::new(new.url());
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}});
    let mut answer = stray.raw(body.to_string()).without("mcp-protocol-version").send().await;
    assert_eq!((answer.status(), error_code(&answer.answer().await)), (400, -32022));
    assert_eq!(stray.get().without("mcp-protocol-version").send().await.status(), 405);
}

#[tokio::test]
async fn headers_that_do_not_mirror_the_body_are_refused() {
    let (_server, host) = modern();
    let call = || host.draft_call("read_note", json!({"id": "a"}));
    for broken in [
        call().without("mcp-method"),
        call().without("mcp-name"),
        call().header("mcp-method", "tools/list"),
        call().header("mcp-name", "delete_note"),
        call().and_header("mcp-name", "delete_note"),
        call().header("mcp-protocol-version", "2025-11-25"),
    ] {
        let mut answer = broken.send().await;
        assert_eq!((answer.status(), error_code(&answer.answer().await)), (400, -32020));
    }
    let mut answer = call().replace("protocolVersion", "protocolVision").send().await;
    assert_eq!((answer.status(), error_code(&answer.answer().await)), (400, -32602));
    let strange = host.call("Lösche ", json!({})).await;
    assert_eq!(error_code(&strange), -32602, "a name in base64 is understood: {strange}");
}

#[tokio::test]
async fn a_session_is_needed_and_may_be_forgotten() {
    let (server, host) = legacy().await;
    let list = || host.draft("tools/list", json!({}));
    assert_eq!(list().without("mcp-session-id").send().await.status(), 400);
    server.forget_sessions();
    assert_eq!(list().send().await.status(), 404);
}

#[tokio::test]
async fn it_asks_the_user_in_the_way_of_each_era() {
    let (_server, host) = legacy().await;
    let mut call = host.draft_call("ask_user", json!({"question": "Why?"})).send().await;
    let asked = call.next_of("elicitation/create").await;
    assert_eq!(asked["params"]["message"], "Why?");
    let said = json!({"action": "accept", "content": {"words": "because"}});
    assert_eq!(host.respond(&asked["id"], said.clone()).await, 202);
    assert_eq!(text(&call.answer().await), said.to_string());

    let (_server, host) = modern();
    let asked = host.call("ask_user", json!({})).await;
    assert_eq!(asked["result"]["resultType"], "input_required");
    let again = json!({
        "name": "ask_user", "arguments": {},
        "requestState": asked["result"]["requestState"], "inputResponses": {"answer": said},
    });
    assert_eq!(text(&host.request("tools/call", again).await), said.to_string());
}

#[tokio::test]
async fn it_reports_progress_and_waits_for_its_gate() {
    let (server, host) = modern();
    server.close_gate();
    let mut call = host.draft_call("slow", json!({})).meta("progressToken", json!("p")).send().await;
    for step in 1..=3 {
        assert_eq!(call.next_of("notifications/progress").await["params"]["progress"], step);
    }
    assert_eq!(server.requests()[0].end, End::Open);
    server.open_gate();
    assert_eq!(text(&call.answer().await), "run 1: slowly done");
}

#[tokio::test]
async fn it_logs_for_those_who_want_to_hear_it() {
    let (_server, host) = modern();
    let quiet = host.draft_call("log_and_list_changed", json!({})).send().await.next().await.unwrap();
    assert_eq!(text(&quiet), "run 1: announced");
    let loud = host.draft_call("log_and_list_changed", json!({}));
    let mut loud = loud.meta("io.modelcontextprotocol/logLevel", json!("info")).send().await;
    assert_eq!(loud.next_of("notifications/message").await["params"]["logger"], "mock");
}

#[tokio::test]
async fn changes_are_told_to_sessions_and_to_subscribers() {
    let (server, session) = legacy().await;
    let mut stream = session.listen().await;
    let modern = WebHost::new(server.url());
    let wants = json!({"notifications": {"toolsListChanged": true, "resourceSubscriptions": ["note://a"]}});
    let mut subscription = modern.draft("subscriptions/listen", wants).send().await;
    subscription.next_of("notifications/subscriptions/acknowledged").await;
    assert_eq!(server.listeners(), 2);
    server.tools_changed();
    stream.next_of("notifications/tools/list_changed").await;
    let told = subscription.next_of("notifications/tools/list_changed").await;
    assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
    server.resource_changed("note://b");
    server.resource_changed("note://a");
    let told = subscription.next_of("notifications/resources/updated").await;
    assert_eq!(told["params"]["uri"], "note://a");
    server.end_streams();
    assert_eq!(subscription.answer().await["result"]["resultType"], "complete");
    while stream.next().await.is_some() {}
}

#[tokio::test]
async fn what_it_echoes_is_byte_for_byte_what_it_got() {
    let (server, host) = modern();
    let odd = r#"{ "a" : 1.10, "b":1E+2,"c":"\u0041\/é",
  "d":[ 123456789012345678901234567890 ]}"#;
    let call = host.draft_call("echo", json!("ODD"));
    let mut answer = call.replace(r#""ODD""#, odd).send().await;
    let body = String::from_utf8(answer.rest().await.to_vec()).unwrap();
    assert!(body.contains(odd), "{body}");
    assert!(server.requests()[0].text().contains(odd));
    server.answer_with("pay", r#"{"resultType":"complete", "vendor" : 1.0}"#);
    let mut answer = host.draft_call("pay", json!({})).send().await;
    assert!(answer.rest().await.ends_with(br#""result":{"resultType":"complete", "vendor" : 1.0}}"#));
}

#[tokio::test]
async fn it_has_resources_and_prompts_and_pages() {
    let settings = MockSettings { pages: Some(5), read_only: vec!["pay".into()], ..MockSettings::default() };
    let server = MockHttp::with(settings);
    let host = WebHost::new(server.url());
    let listed = host.request("resources/list", json!({})).await;
    assert_eq!(listed["result"]["resources"][0]["uri"], "note://a");
    let read = host.request("resources/read", json!({"uri": "note://a"})).await;
    assert_eq!(read["result"]["contents"][0]["text"], "the first note");
    let got = host.request("prompts/get", json!({"name": "greet", "arguments": {"whom": "you"}})).await;
    assert_eq!(got["result"]["messages"][0]["content"]["text"], "Hello, you!");
    let tools = host.list_tools().await;
    let pay = tools.iter().find(|tool| tool["name"] == "pay").unwrap();
    assert_eq!((tools.len(), &pay["annotations"]["readOnlyHint"]), (12, &Value::Bool(true)));
    let length = text(&host.call("bytes", json!({"count": 100_000})).await).len();
    assert_eq!(length, 100_000);
}

#[tokio::test]
async fn every_request_is_kept_whole() {
    let (server, host) = modern();
    let host = host.bearer("secret").header("Cookie", "a=b");
    host.call("read_note", json!({"id": "a"})).await;
    let kept = server.arrival("an answer was given", |arrived| arrived.end == End::Said).await;
    assert_eq!((kept.method.as_str(), kept.target.as_str()), ("POST", "/mcp"));
    assert_eq!(kept.header("authorization"), Some("Bearer secret"));
    assert_eq!(kept.header("COOKIE"), Some("a=b"));
    assert_eq!(kept.rpc_method(), "tools/call");
    assert_eq!(server.received()[0].call().unwrap()["params"]["name"], "read_note");
}

#[tokio::test]
async fn a_client_that_leaves_is_noticed() {
    let (server, host) = modern();
    server.close_gate();
    let call = host.draft_call("slow", json!({})).send().await;
    drop(call);
    server.arrival("the client is gone", |arrived| arrived.end == End::ClientLeft).await;
}

#[tokio::test]
async fn it_is_killed_and_comes_back_without_its_sessions() {
    let (mut server, host) = legacy().await;
    server.kill();
    assert!(host.draft("tools/list", json!({})).try_send().await.is_err());
    server.restart();
    assert_eq!(host.draft("tools/list", json!({})).send().await.status(), 404);
}

#[tokio::test]
async fn an_order_holds_for_what_it_names_and_as_often_as_it_says() {
    let (server, host) = modern();
    server.misbehave_times(1, On::Tool("read_note"), yesgate_testkit::Misbehaviour::Status(503));
    host.call("pay", json!({})).await;
    assert_eq!(host.draft_call("read_note", json!({})).send().await.status(), 503);
    host.call("read_note", json!({})).await;
    server.misbehave(On::Method("tools/list"), yesgate_testkit::Misbehaviour::Status(500));
    assert_eq!(host.draft("tools/list", json!({})).send().await.status(), 500);
    server.behave();
    assert_eq!(host.draft("tools/list", json!({})).send().await.status(), 200);
}
