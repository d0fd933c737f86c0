//! Servers over HTTP.

use std::time::Duration;

use serde_json::json;
use yesgate_testkit::{Misbehaviour, MockEras, On, intent_id, refusal, text};

use super::Fate::{Ok, TurnedAway, Unknown};
use super::{Fate, Play, fate, hold, is_ok, wait_for_server};

/// What a server can do wrong that shows at once, and what then becomes of a gated call.
fn quick(elsewhere: &str) -> Vec<(Misbehaviour, Fate)> {
    vec![
        (Misbehaviour::EndlessBody, Unknown),
        (Misbehaviour::HugeLength, Unknown),
        (Misbehaviour::EndlessEvent, Unknown),
        (Misbehaviour::Huge(6 << 20), Unknown),
        (Misbehaviour::WrongId, Unknown),
        (Misbehaviour::WrongIdFirst, Ok),
        (Misbehaviour::Twice, Ok),
        (Misbehaviour::TwiceOnTheWire, Ok),
        (Misbehaviour::AfterTheEnd, Unknown),
        (Misbehaviour::CloseMidBody, Unknown),
        (Misbehaviour::CloseMidEvent, Unknown),
        (Misbehaviour::EndUnanswered, Unknown),
        (Misbehaviour::Close, Unknown),
        (Misbehaviour::Reset, Unknown),
        (Misbehaviour::ResetMidBody, Unknown),
        (Misbehaviour::Garbage, Unknown),
        (Misbehaviour::BrokenJson, Unknown),
        (Misbehaviour::ErrorPage, Unknown),
        (Misbehaviour::PlainText, Unknown),
        (Misbehaviour::Gzip, Unknown),
        (Misbehaviour::Redirect(elsewhere.to_owned()), Unknown),
        (Misbehaviour::Status(503), Unknown),
        (Misbehaviour::Status(204), Unknown),
        (Misbehaviour::Unauthorized("Bearer".into()), TurnedAway),
        (Misbehaviour::Status(400), TurnedAway),
        (Misbehaviour::Status(429), TurnedAway),
    ]
}

/// What a server can do wrong that only time shows.
fn slow() -> Vec<Misbehaviour> {
    vec![
        Misbehaviour::NeverAnswer,
        Misbehaviour::HangAfterHead,
        Misbehaviour::HangInStream,
        Misbehaviour::Drip(Duration::from_millis(100)),
        Misbehaviour::EndlessComments,
        Misbehaviour::EndlessNotices,
    ]
}

/// X3: whatever a server over HTTP does with a gated call, the call reaches it once, the ledger says what is
/// known about it, the caller is told, and the next answer is the right one.
#[tokio::test]
async fn a_gated_call_over_http_is_sent_once_whatever_the_server_answers() {
    for eras in [MockEras::Modern, MockEras::Legacy] {
        let play = Play::new(eras, "");
        let host = play.gateway.server("web");
        let elsewhere = Play::new(MockEras::Both, "");
        let cases = quick(&elsewhere.server.url());
        for (how, expected) in &cases {
            let held = hold(&host, &format!("{how:?}")).await;
            let before = play.server.calls().len();
            play.server.misbehave(On::Tool("delete_note"), how.clone());
            let answer = host.call("delete_note", held.arguments.clone()).await;
            match expected {
                Ok => assert!(is_ok(&answer), "{how:?}: {answer:#}"),
                Unknown => assert_eq!(refusal(&answer), "execution_unknown", "{how:?}"),
                TurnedAway => {
                    assert_eq!(answer["error"]["data"]["outcome"], "tool_error", "{how:?}: {answer:#}");
                    assert_eq!(answer["error"]["data"]["intent_id"], *held.intent);
                }
            }
            fate(&play.stage, &held.intent, *expected).await;
            let again = host.call("delete_note", held.arguments).await;
            assert!(!is_ok(&again), "{how:?}: {again:#}");
            assert_eq!(play.server.calls().len() - before, 1, "{how:?}");
            play.server.behave();
            let read = host.call("read_note", json!({"id": "a"})).await;
            assert_eq!(text(&read), "the first note", "after {how:?}");
        }
        assert!(elsewhere.server.requests().is_empty(), "a redirect was followed");
        play.finish(cases.len());
    }
}

/// X3, FC-20: a gated call that a server does not answer in time is given up and unknown; the caller is told in time.
#[tokio::test]
async fn a_gated_call_over_http_that_is_not_answered_in_time_is_unknown() {
    for eras in [MockEras::Modern, MockEras::Legacy] {
        let play = Play::new(eras, "[serve.times]\ncall = \"2s\"\noutcome = \"3s\"\n");
        let mut under_way = Vec::new();
        for how in slow() {
            let host = play.gateway.server("web");
            let held = hold(&host, &format!("{how:?}")).await;
            play.server.misbehave_times(1, On::Tool("delete_note"), how);
            let (note, arguments) = (held.arguments["id"].clone(), held.arguments.clone());
            let call = tokio::spawn(async move { host.call("delete_note", arguments).await });
            let is_it = |call: &serde_json::Value| call["params"]["arguments"]["id"] == note;
            play.server
                .arrival("the call", |arrived| arrived.message().is_some_and(|message| is_it(&message)))
                .await;
            under_way.push((held, call));
        }
        let host = play.gateway.server("web");
        let gated = under_way.len();
        for (held, call) in under_way {
            let answer = call.await.unwrap();
            assert_eq!(refusal(&answer), "execution_in_progress", "{answer:#}");
            assert_eq!(intent_id(&answer), held.intent);
            fate(&play.stage, &held.intent, Unknown).await;
            let again = host.call("delete_note", held.arguments).await;
            assert_eq!(refusal(&again), "execution_unknown");
        }
        assert_eq!(play.server.calls().len(), gated);
        play.finish(gated);
    }
}

/// A server that forgets the session before a call ran nothing: the session is opened again, and the call is made
/// in it, once. One that says so to the gated call itself did not run it either, but that call is never put on the
/// wire again: the yes is spent.
#[tokio::test]
async fn a_forgotten_session_is_opened_again_and_no_gated_call_is_sent_twice() {
    let play = Play::new(MockEras::Legacy, "");
    let host = play.gateway.server("web");
    let held = hold(&host, "by token").await;
    play.server.forget_sessions();
    let answer = host.call("delete_note", held.arguments).await;
    assert_eq!(answer["result"]["structuredContent"]["deleted"], "by token", "{answer:#}");
    fate(&play.stage, &held.intent, Ok).await;

    let held = hold(&host, "by tool").await;
    play.server.forget_sessions();
    let answer = host.call("yesgate_approve", json!({"intent_id": held.intent})).await;
    assert_eq!(answer["result"]["structuredContent"]["deleted"], "by tool", "{answer:#}");
    fate(&play.stage, &held.intent, Ok).await;

    let held = hold(&host, "elsewhere").await;
    play.server.forget_sessions();
    play.stage.approve(&held.intent).ok();
    fate(&play.stage, &held.intent, Ok).await;

    play.server.forget_sessions();
    assert_eq!(text(&host.call("read_note", json!({"id": "a"})).await), "the first note");

    let held = hold(&host, "with").await;
    play.server.misbehave_times(1, On::Tool("delete_note"), Misbehaviour::ForgetSession);
    let answer = host.call("delete_note", held.arguments.clone()).await;
    assert_eq!(answer["error"]["data"]["outcome"], "tool_error", "{answer:#}");
    fate(&play.stage, &held.intent, TurnedAway).await;
    assert_eq!(refusal(&host.call("delete_note", held.arguments).await), "consent_token_invalid");
    play.finish(4);
}

/// A yes is not spent where a forgotten session cannot be opened again, and counts when it can.
#[tokio::test]
async fn a_yes_outlives_a_forgotten_session_that_cannot_be_opened_again() {
    let play = Play::new(MockEras::Legacy, "");
    let host = play.gateway.server("web");
    let held = hold(&host, "a").await;
    play.server.forget_sessions();
    play.server.misbehave(On::Method("initialize"), Misbehaviour::Status(503));
    let answer = host.call("delete_note", held.arguments.clone()).await;
    assert_eq!(answer["error"]["data"]["retryable"], true, "{answer:#}");
    play.server.behave();
    wait_for_server(&host).await;
    let answer = host.call("delete_note", held.arguments).await;
    assert_eq!(answer["result"]["structuredContent"]["deleted"], "a", "{answer:#}");
    fate(&play.stage, &held.intent, Ok).await;
    play.finish(1);
}

/// A stream that a server closes before the answer is gone on with where it ended (2025-11-25).
#[tokio::test]
async fn a_stream_that_ends_early_is_gone_on_with() {
    let play = Play::new(MockEras::Legacy, "");
    let host = play.gateway.server("web");
    let held = hold(&host, "polled").await;
    play.server.misbehave(On::Tool("delete_note"), Misbehaviour::Poll);
    let answer = host.call("delete_note", held.arguments).await;
    assert_eq!(answer["result"]["structuredContent"]["deleted"], "polled", "{answer:#}");
    fate(&play.stage, &held.intent, Ok).await;
    play.finish(1);
}

/// A yes for a server that is gone is spent without a call; a call whose server goes is unknown; neither is
/// sent when the server is back.
#[tokio::test]
async fn a_server_over_http_that_is_killed_gets_no_call_twice() {
    for eras in [MockEras::Modern, MockEras::Legacy] {
        let mut play = Play::new(eras, "");
        let host = play.gateway.server("web");
        let held = hold(&host, "before").await;
        play.server.kill();
        let answer = host.call("delete_note", held.arguments.clone()).await;
        assert!(!is_ok(&answer), "{answer:#}");
        play.server.restart();
        wait_for_server(&host).await;
        host.call("delete_note", held.arguments).await;

        let held = hold(&host, "during").await;
        let before = play.server.calls().len();
        play.server.misbehave(On::Tool("delete_note"), Misbehaviour::NeverAnswer);
        let caller = play.gateway.server("web");
        let arguments = held.arguments.clone();
        let call = tokio::spawn(async move { caller.call("delete_note", arguments).await });
        play.server.arrival("the call", |arrived| arrived.text().contains("during")).await;
        play.server.kill();
        assert_eq!(refusal(&call.await.unwrap()), "execution_unknown");
        fate(&play.stage, &held.intent, Unknown).await;
        play.server.behave();
        play.server.restart();
        wait_for_server(&host).await;
        assert_eq!(refusal(&host.call("delete_note", held.arguments).await), "execution_unknown");
        let deletions = play.server.calls().into_iter().skip(before);
        assert_eq!(deletions.filter(|call| call["params"]["name"] == "delete_note").count(), 1);
        play.gateway.close();
        play.stage.check_web_history("web", &play.server, &super::UNGATED);
    }
}

/// B10: endless and huge answers to many callers at once cost bounded memory, also towards callers that
/// do not read what they are sent.
#[tokio::test]
async fn endless_answers_to_many_callers_cost_bounded_memory() {
    let call = |tool: &str| json!({"name": tool, "arguments": {}});
    let endless = [
        (On::Tool("read_note"), "tools/call", call("read_note"), Misbehaviour::EndlessBody),
        (On::Tool("echo"), "tools/call", call("echo"), Misbehaviour::EndlessEvent),
        (On::Tool("bytes"), "tools/call", call("bytes"), Misbehaviour::EndlessComments),
        (On::Method("prompts/get"), "prompts/get", json!({"name": "greet"}), Misbehaviour::EndlessNotices),
    ];
    for eras in [MockEras::Modern, MockEras::Legacy] {
        let play = Play::new(eras, "[serve.times]\ncall = \"2s\"\n");
        let mut calls = tokio::task::JoinSet::new();
        let mut deaf = tokio::task::JoinSet::new();
        for (on, method, params, how) in endless.clone() {
            play.server.misbehave(on, how);
            for _ in 0..4 {
                let (listens, ignores) = (play.gateway.server("web"), play.gateway.server("web"));
                let (these, those) = (params.clone(), params.clone());
                calls.spawn(async move { listens.request(method, these).await });
                deaf.spawn(async move {
                    let draft = ignores.draft(method, those);
                    draft.meta("io.modelcontextprotocol/logLevel", json!("debug")).send().await
                });
            }
        }
        for answer in calls.join_all().await {
            assert!(!is_ok(&answer), "{answer:#}");
        }
        drop(deaf.join_all().await);
        play.server.behave();
        wait_for_server(&play.gateway.server("web")).await;
        play.finish(0);
    }
}

/// B10: answers that are just not too large reach everybody who asked.
#[tokio::test]
async fn large_answers_reach_many_callers_in_bounded_memory() {
    let play = Play::new(MockEras::Both, "");
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let host = play.gateway.server("web");
        calls.spawn(async move { host.call("bytes", json!({"count": 3 << 20})).await });
    }
    for answer in calls.join_all().await {
        assert_eq!(text(&answer).len(), 3 << 20);
    }
    play.finish(0);
}
