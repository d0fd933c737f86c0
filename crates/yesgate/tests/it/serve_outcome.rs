//! What becomes of gated calls at `serve`, and how their callers learn of it.

use serde_json::{Value, json};
use yesgate_testkit::{
    Gateway, Misbehaviour, MockEras, MockHttp, On, ServeStage, WebHost, confirm_token, eventually, intent_id,
    refusal, structured, text,
};

const ERAS: [MockEras; 2] = [MockEras::Modern, MockEras::Legacy];

/// A gateway with one server over HTTP, `web`.
struct Play {
    stage: ServeStage,
    gateway: Gateway,
    server: MockHttp,
}

impl Play {
    /// With these further lines of configuration.
    #[track_caller]
    fn new(eras: MockEras, further: &str) -> Self {
        let server = MockHttp::start(eras);
        let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate"));
        let toml = format!("{further}{}", stage.web("web", &server));
        let stage = stage.config(&toml);
        let gateway = stage.start();
        Self { stage, gateway, server }
    }

    async fn is(&self, intent: &str, state: &str) {
        let what = format!("{intent} is {state}");
        eventually(&what, async || (self.stage.shown(intent)["state"] == state).then_some(())).await;
    }

    #[track_caller]
    fn finish(mut self, gated: usize) {
        assert!(self.gateway.close().success(), "{}", self.gateway.stderr());
        let history = self.stage.check_web_history("web", &self.server, &["read_note", "bytes"]);
        assert_eq!((history.gated, history.redeemed), (gated, gated));
    }
}

/// Asks about a call, and gives back the question and the arguments with the yes.
async fn hold(host: &WebHost, tool: &str, mut arguments: Value) -> (String, Value) {
    let held = host.call(tool, arguments.clone()).await;
    arguments["confirm_token"] = confirm_token(&held).into();
    (intent_id(&held), arguments)
}

/// X3, FC-21: a gated call that takes longer than a caller is kept waiting goes on; the caller is told which question it
/// belongs to, and gets the result by asking for it or by repeating the call, without a second run.
#[tokio::test]
async fn a_gated_call_that_takes_longer_than_its_caller_waits_goes_on_and_its_result_is_kept() {
    for eras in ERAS {
        let play = Play::new(eras, "[serve.times]\ncall = \"1s\"\noutcome = \"5m\"\n");
        let host = play.gateway.server("web");
        for by_status in [true, false] {
            play.server.close_gate();
            let (intent, arguments) = hold(&host, "slow", json!({})).await;
            let answer = host.call("slow", arguments).await;
            assert_eq!(refusal(&answer), "execution_in_progress", "{answer:#}");
            assert_eq!(intent_id(&answer), intent);
            assert!(structured(&answer)["message"].as_str().unwrap().contains("yesgate_status"));
            assert_eq!(play.stage.shown(&intent)["state"], "running");
            let asked = host.call("yesgate_status", json!({"intent_id": intent})).await;
            assert_eq!(structured(&asked)["status"], "running");
            let again = host.call("slow", json!({})).await;
            assert_eq!(refusal(&again), "execution_in_progress", "{again:#}");
            assert_eq!(intent_id(&again), intent);

            play.server.open_gate();
            play.is(&intent, "done").await;
            if by_status {
                let asked = host.call("yesgate_status", json!({"intent_id": intent})).await;
                assert_eq!(structured(&asked)["outcome"], "ok", "{asked:#}");
                assert_eq!(structured(&asked)["result"]["content"][0]["text"], "run 1: slowly done");
            } else {
                assert_eq!(text(&host.call("slow", json!({})).await), "run 2: slowly done");
            }
        }
        assert_eq!(play.server.calls().len(), 2);
        play.finish(2);
    }
}

/// A call that waits for a human elsewhere is answered before its time is over, and the question stays open.
#[tokio::test]
async fn a_caller_that_cannot_be_kept_waiting_for_a_human_is_told_in_time() {
    let rule = "[[rules]]\ntool = \"web/delete_note\"\nthen = \"ask\"\nchannel = \"out_of_band\"\n";
    let play = Play::new(MockEras::Both, &format!("{rule}[serve.times]\ncall = \"1s\"\n"));
    let host = play.gateway.server("web");
    let held = host.call("delete_note", json!({"id": "a"})).await;
    assert_eq!(structured(&held)["status"], "approval_required", "{held:#}");
    let intent = intent_id(&held);
    play.stage.approve(&intent).ok();
    play.is(&intent, "done").await;
    let ran = host.call("delete_note", json!({"id": "a"})).await;
    assert_eq!(structured(&ran)["deleted"], "a");
    play.finish(1);
}

/// X10: what the gateway itself answers is in the words of the caller's era, whatever the server's: each modern
/// result has a type, and no other one has.
#[tokio::test]
async fn the_gateways_own_results_are_in_the_words_of_the_callers_era() {
    for eras in ERAS {
        let play = Play::new(eras, "profile = \"handshake\"\ntoken_errors = \"tool_result\"\n");
        let modern = play.gateway.server("web");
        let mut legacy = play.gateway.server("web");
        legacy.initialize().await;
        for (host, kind) in [(&modern, Some("complete")), (&legacy, None)] {
            let held = host.call("delete_note", json!({"id": "a"})).await;
            let intent = json!({"intent_id": intent_id(&held)});
            let status = host.call("yesgate_status", intent.clone()).await;
            let unknown = host.call("delete_note", json!({"id": "a", "confirm_token": "pbc_none"})).await;
            assert_eq!(refusal(&unknown), "consent_token_invalid");
            let ran = host.call("yesgate_approve", intent.clone()).await;
            assert_eq!(structured(&ran)["deleted"], "a", "{ran:#}");
            let late = host.call("yesgate_reject", intent).await;
            for answer in [held, status, unknown, ran, late] {
                assert_eq!(answer["result"]["resultType"].as_str(), kind, "{eras:?}: {answer:#}");
            }
        }
        play.finish(2);
    }
}

/// X3: a gated call whose answer is too large to be taken has run, and how it ended is not known: that is what
/// the caller is told, and why.
#[tokio::test]
async fn a_gated_call_whose_answer_is_too_large_is_unknown_and_says_why() {
    for eras in ERAS {
        let play = Play::new(eras, "[serve.limits]\nanswer = \"64KiB\"\n");
        let host = play.gateway.server("web");
        let (intent, arguments) = hold(&host, "delete_note", json!({"id": "a"})).await;
        play.server.misbehave(On::Tool("delete_note"), Misbehaviour::Huge(100 << 10));
        let answer = host.call("delete_note", arguments).await;
        assert_eq!((refusal(&answer), intent_id(&answer)), ("execution_unknown", intent.clone()));
        let reason = structured(&answer)["details"]["reason"].as_str().unwrap();
        assert!(reason.contains("larger than allowed"), "{reason}");
        play.is(&intent, "unknown").await;
        let passed = host.call("bytes", json!({"count": 100 << 10})).await;
        assert_eq!(passed["error"]["code"], -32603, "{passed:#}");
        play.finish(1);
    }
}
