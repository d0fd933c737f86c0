//! The end of `yesgate serve`: told once it ends in peace, told twice at once, and the ledger knows what ran.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::net::TcpStream;
use yesgate_testkit::mock_http::Arrived;
use yesgate_testkit::{
    Gateway, MockEras, MockHttp, MockSettings, ServeStage, WebHost, confirm_token, eventually, intent_id,
    refusal, text,
};

/// A gateway with one server over HTTP, `web`, whose tool `slow` waits for the test; with `passed` it needs no yes.
struct Play {
    stage: ServeStage,
    gateway: Gateway,
    server: MockHttp,
}

impl Play {
    #[track_caller]
    fn new(eras: MockEras, passed: &[&str], times: &str) -> Self {
        let read_only = passed.iter().map(ToString::to_string).collect();
        let server = MockHttp::with(MockSettings { eras, read_only, ..MockSettings::default() });
        server.close_gate();
        let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate"));
        let toml = format!("{}[serve.times]\n{times}", stage.web("web", &server));
        let stage = stage.config(&toml);
        let gateway = stage.start();
        Self { stage, gateway, server }
    }

    /// Calls `slow`, and waits until the server has the call.
    async fn call(&self, host: WebHost, arguments: Value) -> tokio::task::JoinHandle<Result<Value, String>> {
        let before = self.server.calls().len();
        let call = tokio::spawn(async move {
            let mut answer = host.draft_call("slow", arguments).try_send().await?;
            Ok(answer.answer().await)
        });
        eventually("the call", async || (self.server.calls().len() > before).then_some(())).await;
        call
    }

    /// Tells the gateway to end, and waits until nobody new comes in.
    async fn terminate(&self) {
        self.gateway.signal("TERM");
        let address = self.gateway.url().trim_start_matches("http://").to_owned();
        eventually("new connections are refused", async || TcpStream::connect(&address).await.err()).await;
    }

    /// A client of either era.
    async fn host(&self, era: &str) -> WebHost {
        let mut host = self.gateway.server("web");
        if era == "legacy" {
            host.initialize().await;
        }
        host
    }
}

const ERAS: [(MockEras, &str); 4] = [
    (MockEras::Modern, "modern"),
    (MockEras::Modern, "legacy"),
    (MockEras::Legacy, "modern"),
    (MockEras::Legacy, "legacy"),
];

/// A call under way when the gateway is told to end is answered, nobody new comes in, and then it ends.
#[tokio::test]
async fn a_call_under_way_is_answered_before_the_end() {
    for (eras, client) in ERAS {
        let mut play = Play::new(eras, &["slow"], "drain = \"1m\"\n");
        let host = play.host(client).await;
        let call = play.call(host, json!({})).await;
        play.terminate().await;
        play.server.open_gate();
        assert_eq!(text(&call.await.unwrap().unwrap()), "run 1: slowly done");
        assert_eq!(play.gateway.ended().code(), Some(0), "{}", play.gateway.stderr());
    }
}

/// X3, FC-30: an approved call that runs when the gateway is told to end is finished and written down, whether its caller
/// still waits or was told to ask later.
#[tokio::test]
async fn an_approved_call_that_runs_is_finished_and_written_down_before_the_end() {
    for (eras, client) in ERAS {
        for (times, waits) in [("drain = \"1m\"\n", true), ("drain = \"1m\"\ncall = \"1s\"\n", false)] {
            let mut play = Play::new(eras, &[], times);
            let host = play.host(client).await;
            let held = host.call("slow", json!({})).await;
            let call = play.call(host, json!({"confirm_token": confirm_token(&held)})).await;
            if waits {
                play.terminate().await;
                play.server.open_gate();
                assert_eq!(text(&call.await.unwrap().unwrap()), "run 1: slowly done");
            } else {
                let told = call.await.unwrap().unwrap();
                assert_eq!(refusal(&told), "execution_in_progress");
                play.terminate().await;
                play.server.open_gate();
            }
            assert_eq!(play.gateway.ended().code(), Some(0), "{}", play.gateway.stderr());
            let shown = play.stage.shown(&intent_id(&held));
            assert_eq!((&shown["state"], &shown["outcome"]), (&json!("done"), &json!("ok")));
            assert_eq!(play.stage.check_web_history("web", &play.server, &[]).gated, 1);
        }
    }
}

/// X3, FC-30: told twice, the gateway ends at once; what became of an approved call is then not known, and the ledger
/// says so.
#[tokio::test]
async fn told_twice_it_ends_at_once_and_what_ran_is_unknown() {
    for (eras, client) in ERAS {
        let mut play = Play::new(eras, &[], "drain = \"10m\"\n");
        let host = play.host(client).await;
        let held = host.call("slow", json!({})).await;
        let call = play.call(host, json!({"confirm_token": confirm_token(&held)})).await;
        play.terminate().await;
        let told = Instant::now();
        play.gateway.signal("TERM");
        assert_eq!(play.gateway.ended().code(), Some(0), "{}", play.gateway.stderr());
        assert!(told.elapsed() < Duration::from_secs(10), "{:?}", told.elapsed());
        call.abort();
        assert_eq!(play.stage.shown(&intent_id(&held))["state"], "unknown");
        play.server.open_gate();
        assert_eq!(play.stage.check_web_history("web", &play.server, &[]).gated, 1);
    }
}

/// FC-30: what is still under way when the time to end is over is cut, and what became of an approved call is not known.
#[tokio::test]
async fn the_time_to_end_is_bounded() {
    for (eras, client) in ERAS {
        let mut play = Play::new(eras, &[], "drain = \"1s\"\n");
        let host = play.host(client).await;
        let held = host.call("slow", json!({})).await;
        let call = play.call(host, json!({"confirm_token": confirm_token(&held)})).await;
        assert_eq!(play.gateway.close().code(), Some(0), "{}", play.gateway.stderr());
        call.abort();
        assert_eq!(play.stage.shown(&intent_id(&held))["state"], "unknown");
        play.server.open_gate();
        assert_eq!(play.stage.check_web_history("web", &play.server, &[]).gated, 1);
    }
}

/// Streams on which clients listen are ended properly, a modern one with the result that it is owed.
#[tokio::test]
async fn streams_of_those_who_listen_are_ended_properly() {
    for eras in [MockEras::Modern, MockEras::Legacy] {
        let mut play = Play::new(eras, &[], "drain = \"1m\"\n");
        let modern = play.host("modern").await;
        let wants = json!({"notifications": {"toolsListChanged": true}});
        let mut listening = modern.draft("subscriptions/listen", wants).send().await;
        listening.next_of("notifications/subscriptions/acknowledged").await;
        let legacy = play.host("legacy").await;
        let mut stream = legacy.listen().await;
        assert_eq!(stream.status(), 200, "{}", stream.wire());
        let is_heard =
            |arrived: &Arrived| arrived.rpc_method() == "subscriptions/listen" || arrived.method == "GET";
        play.server.arrival("somebody who listens", is_heard).await;

        play.terminate().await;
        let result = listening.answer().await;
        assert_eq!(result["result"]["resultType"], "complete", "{}", listening.wire());
        for stream in [&mut listening, &mut stream] {
            stream.rest().await;
            assert!(!stream.wire().contains("broken off"), "{}", stream.wire());
        }
        assert_eq!(play.gateway.ended().code(), Some(0), "{}", play.gateway.stderr());
    }
}
