//! Everybody else meanwhile, and the end of the gateway itself.

use serde_json::{Value, json};
use yesgate_testkit::mock_http::{Arrived, End};
use yesgate_testkit::{Misbehaviour, MockEras, On, eventually, refusal, text};

use super::Fate::Unknown;
use super::{Play, fate, hold};

/// While one client's calls hang at one server, another's to another server, and to the same one, are answered;
/// and what the first client gives up is given up at the server too.
#[tokio::test]
async fn calls_that_hang_hold_up_nobody_else() {
    for eras in [MockEras::Modern, MockEras::Legacy] {
        let (play, [alice, bob]) = Play::with_keys(eras);
        play.server.misbehave(On::Tool("bytes"), Misbehaviour::NeverAnswer);
        let mut hanging = tokio::task::JoinSet::new();
        for _ in 0..16 {
            let host = play.gateway.server("web").bearer(&alice);
            hanging.spawn(async move { host.call("bytes", json!({"count": 1})).await });
        }
        let is_hanging = || {
            let all = play.server.requests();
            all.into_iter().filter(|one| one.text().contains("\"bytes\"") && one.end == End::Open).count()
        };
        eventually("all hang", async || (is_hanging() == 16).then_some(())).await;

        for server in ["notes", "web"] {
            let mut host = play.gateway.server(server).bearer(&bob);
            for _ in 0..10 {
                assert_eq!(text(&host.call("read_note", json!({"id": "a"})).await), "the first note");
            }
            host.initialize().await;
            assert_eq!(text(&host.call("read_note", json!({"id": "a"})).await), "the first note");
        }
        assert_eq!(is_hanging(), 16);

        hanging.shutdown().await;
        if eras == MockEras::Modern {
            // The end of the client's connection is the end of the request, here and behind.
            eventually("none hangs", async || (is_hanging() == 0).then_some(())).await;
        } else {
            // A server of the old era is told.
            let is_told = |one: &Arrived| one.rpc_method() == "notifications/cancelled";
            play.server.arrival("a cancellation", is_told).await;
        }
        play.finish(0);
    }
}

/// What a client sends to show who it is reaches no server.
#[tokio::test]
async fn no_credentials_and_no_cookies_of_a_client_reach_a_server() {
    for eras in [MockEras::Modern, MockEras::Legacy] {
        let (play, [key, _]) = Play::with_keys(eras);
        for header in ["Cookie", "X-Forwarded-For", "Proxy-Authorization", "X-Evil", "Last-Event-ID"] {
            let host = play.gateway.server("web").bearer(&key).header(header, "sentinel-of-a-client");
            assert_eq!(text(&host.call("read_note", json!({"id": "a"})).await), "the first note");
        }
        let mut session = play.gateway.server("web").bearer(&key).header("Cookie", "sentinel-of-a-client");
        session.initialize().await;
        session.call("read_note", json!({"id": "a"})).await;
        let own = session.session_id().unwrap().to_owned();
        for arrived in play.server.requests() {
            assert_eq!(arrived.header("authorization"), None);
            assert_eq!(arrived.header("cookie"), None);
            for (name, value) in &arrived.headers {
                let is_a_clients =
                    value.contains("sentinel-of-a-client") || value.contains(&key) || *value == own;
                assert!(!is_a_clients, "{name}: {value}");
            }
        }
        play.finish(0);
    }
}

/// X1: a gateway that is killed while a gated call runs calls it unknown when it is back, and does not send it again.
#[tokio::test]
async fn a_call_that_ran_when_the_gateway_was_killed_is_unknown_and_not_sent_again() {
    let mut play = Play::new(MockEras::Both, "");
    let host = play.gateway.server("web");
    let held = hold(&host, "a").await;
    play.server.misbehave_times(1, On::Tool("delete_note"), Misbehaviour::NeverAnswer);
    let arguments = held.arguments.clone();
    let call = tokio::spawn(async move {
        let draft = host.draft_call("delete_note", arguments);
        draft.try_send().await.map(|answer| answer.status())
    });
    play.server.arrival("the call", |arrived| arrived.rpc_method() == "tools/call").await;
    play.gateway.kill9();
    assert!(call.await.unwrap().is_err());

    play.gateway = play.stage.start();
    let host = play.gateway.server("web");
    fate(&play.stage, &held.intent, Unknown).await;
    for again in [held.arguments, json!({"id": "a"})] {
        assert_eq!(refusal(&host.call("delete_note", again).await), "execution_unknown");
    }
    assert_eq!(play.server.calls().len(), 1);
    let shown: Value = play.stage.shown(&held.intent);
    assert_eq!(shown["state"], "unknown");
    play.finish(1);
}
