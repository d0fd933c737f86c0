//! Servers that cannot be asked what their tools are, that answer too late, or that cannot be started.

use serde_json::json;
use yesgate_testkit::{
    Misbehaviour, MockEras, MockHttp, On, ServeStage, error_code, eventually, refusal, structured, text,
};

use super::{end, held, probe, ran};

fn stage() -> ServeStage {
    ServeStage::new(env!("CARGO_BIN_EXE_yesgate"))
}

/// FC-18: a server that does not say what its tools are gets no call, reads included; a yes that was given before is not
/// spent, and counts when it says so again.
#[tokio::test]
async fn without_the_list_of_tools_nothing_is_asked_and_nothing_runs() {
    for eras in [MockEras::Modern, MockEras::Legacy] {
        let server = MockHttp::start(eras);
        let stage = stage();
        let web = stage.web("web", &server);
        let stage = stage.config(&web);
        let gateway = stage.start();
        let host = gateway.server("web");
        server.misbehave(On::Method("tools/list"), Misbehaviour::BrokenJson);
        for (tool, arguments) in [("read_note", json!({"id": "a"})), ("delete_note", json!({"id": "a"}))] {
            let told = host.call(tool, arguments).await;
            assert!(told.get("error").is_some() || told["result"]["isError"] == true, "{tool}: {told:#}");
        }
        assert!(server.calls().is_empty() && stage.stage().pending().is_empty());

        server.behave();
        let (intent, yes) = held(&host, "delete_note", json!({"id": "a"})).await;
        server.misbehave(On::Method("tools/list"), Misbehaviour::BrokenJson);
        let told = host.call("delete_note", yes.clone()).await;
        assert!(!ran(&told), "{told:#}");
        assert!(server.calls().is_empty());
        assert_eq!(stage.shown(&intent)["state"], "pending");
        server.behave();
        assert!(ran(&host.call("delete_note", yes).await));
        end(gateway);
        assert_eq!(stage.check_web_history("web", &server, &[]).gated, 1);
    }
}

/// FC-21: an answer that comes after all patience is over changes nothing: the outcome stays unknown until a human settles
/// it, and the call is not sent again.
#[tokio::test]
async fn an_answer_after_all_patience_is_over_changes_nothing() {
    let stage = stage();
    let gate = stage.stage().file("gate");
    let server = stage.child("mock", &["--gate", gate.to_str().unwrap()]);
    let stage = stage.config(&format!("{server}[serve.times]\ncall = \"1s\"\noutcome = \"2s\"\n"));
    let gateway = stage.start();
    let host = gateway.server("mock");
    let (intent, yes) = held(&host, "slow", json!({})).await;
    assert_eq!(refusal(&host.call("slow", yes.clone()).await), "execution_in_progress");
    eventually("its end is unknown", async || (stage.shown(&intent)["state"] == "unknown").then_some(()))
        .await;
    std::fs::write(&gate, "").unwrap();
    // A second run of the tool, which needs a yes of its own, is answered after the first one.
    let (_, other) = held(&host, "slow", json!({"n": 2})).await;
    assert_eq!(text(&host.call("slow", other).await), "run 2: slowly done");
    for arguments in [yes, json!({})] {
        assert_eq!(refusal(&host.call("slow", arguments).await), "execution_unknown");
    }
    let status = host.call("yesgate_status", json!({"intent_id": intent})).await;
    assert_eq!(structured(&status)["status"], "unknown");
    assert_eq!(stage.calls("mock").len(), 2);
    stage.stage().yesgate(&["resolve", &intent, "--ran"]).ok();
    end(gateway);
    let history = stage.check_history("mock", &[]);
    assert_eq!((history.gated, history.redeemed), (2, 2));
}

/// FC-28: where no further process may be started, the server that would need it is down: its calls are errors, no yes is
/// spent on it, and the others are served.
#[tokio::test]
async fn a_server_that_cannot_have_a_process_is_down_and_alone() {
    let stage = stage();
    let servers = format!("{}{}", stage.child("first", &[]), stage.child("second", &[]));
    let stage = stage.config(&format!("{servers}[serve.limits]\nchildren = 1\n"));
    let gateway = stage.start();
    let (first, second) = (gateway.server("first"), gateway.server("second"));
    let (_, yes) = held(&first, "delete_note", json!({"id": "a"})).await;
    for (tool, arguments) in [("read_note", json!({"id": "a"})), ("delete_note", json!({"id": "a"}))] {
        let told = second.call(tool, arguments).await;
        assert_eq!(error_code(&told), -32603, "{tool}: {told:#}");
    }
    let ready = probe(gateway.url(), "/readyz", 200).await;
    assert_eq!(ready["servers"]["second"]["status"], "down", "{ready:#}");
    assert!(stage.stage().pending().iter().all(|question| question["server"] != "second"));
    assert!(ran(&first.call("delete_note", yes).await));
    end(gateway);
    assert!(stage.received("second").is_empty());
    assert_eq!(stage.check_history("first", &[]).gated, 1);
}
