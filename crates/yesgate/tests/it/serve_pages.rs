//! Sending the human to a page (URL elicitation): the client only opens it, the ledger has the decision.

use serde_json::{Value, json};
use yesgate_testkit::{Gateway, ServeStage, eventually, refusal, structured};

fn play(hold: &str) -> (ServeStage, Gateway) {
    let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate"));
    let rule = "[[rules]]\ntool = \"notes/delete_note\"\nthen = \"ask\"\nchannel = \"web\"\n";
    let times = format!("[times]\nhold = \"{hold}\"\nwait = \"0s\"\nreflex = \"0s\"\n");
    let toml = format!("{times}{rule}{}", stage.child("notes", &[]));
    let stage = stage.config(&toml);
    let gateway = stage.start();
    (stage, gateway)
}

fn capabilities() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}})
}

/// The question that a page belongs to, by its address, which says nothing else.
fn named_by(url: &Value, gateway: &Gateway) -> String {
    let url = url.as_str().unwrap();
    let id =
        url.strip_prefix(&format!("{}/approve/", gateway.url().trim_end_matches('/'))).unwrap_or_else(|| {
            panic!("{url} is no page of {}", gateway.url());
        });
    assert!(id.starts_with("intent_"), "{id}");
    id.to_owned()
}

/// H3, MCP 2025-11-25: the client is sent to the page; accepting runs nothing, the yes at the human's surface does, and
/// the client is told that the page is done.
#[tokio::test]
async fn an_old_client_is_sent_to_the_page_and_told_when_it_is_done() {
    let (stage, mut gateway) = play("30s");
    let mut host = gateway.server("notes").capable(capabilities());
    host.initialize().await;
    let mut stream = host.draft_call("delete_note", json!({"id": "a"})).send().await;
    let asked = stream.next_of("elicitation/create").await;
    assert_eq!(asked["params"]["mode"], "url");
    let intent = named_by(&asked["params"]["url"], &gateway);
    assert_eq!(asked["params"]["elicitationId"], intent.as_str());
    assert_eq!(host.respond(&asked["id"], json!({"action": "accept"})).await, 202);
    assert_eq!(stage.shown(&intent)["state"], "pending", "opening a page decides nothing");
    assert!(stage.calls("notes").is_empty());
    stage.approve(&intent).ok();
    let told = stream.next_of("notifications/elicitation/complete").await;
    assert_eq!(told["params"]["elicitationId"], intent.as_str());
    assert_eq!(structured(&stream.answer().await)["deleted"], "a");
    assert!(gateway.close().success());
    assert_eq!(stage.check_history("notes", &[]).gated, 1);
}

/// MCP 2025-11-25: a call that cannot be kept open fails with -32042; the same call finds the yes that was given.
#[tokio::test]
async fn an_old_client_that_cannot_wait_is_told_where_to_go_and_repeats_the_call() {
    let (stage, mut gateway) = play("1s");
    let mut host = gateway.server("notes").capable(capabilities());
    host.initialize().await;
    let mut stream = host.draft_call("delete_note", json!({"id": "a"})).send().await;
    let failed = stream.answer().await;
    assert_eq!(failed["error"]["code"], -32042, "{failed:#}");
    let page = &failed["error"]["data"]["elicitations"][0];
    assert_eq!(page["mode"], "url");
    let intent = named_by(&page["url"], &gateway);
    stage.approve(&intent).ok();
    let repeated = host.call("delete_note", json!({"id": "a"})).await;
    assert_eq!(structured(&repeated)["deleted"], "a");
    assert!(gateway.close().success());
    assert_eq!(stage.check_history("notes", &[]).gated, 1);
}

/// H3, MCP 2026-07-28: the page is asked for in a round of input, without an id of its own.
#[tokio::test]
async fn a_modern_client_is_sent_to_the_page_by_a_round_of_input() {
    let (stage, mut gateway) = play("30s");
    let host = gateway.server("notes").capable(capabilities());
    let asked = host.call("delete_note", json!({"id": "a"})).await;
    let result = &asked["result"];
    assert_eq!(result["resultType"], "input_required", "{asked:#}");
    let (key, request) = result["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert_eq!(request["params"]["mode"], "url");
    assert_eq!(request["params"].get("elicitationId"), None);
    let intent = named_by(&request["params"]["url"], &gateway);
    stage.approve(&intent).ok();
    let params = json!({
        "name": "delete_note",
        "arguments": {"id": "a"},
        "requestState": result["requestState"],
        "inputResponses": {key: {"action": "accept"}},
    });
    let done = host.request("tools/call", params).await;
    assert_eq!(structured(&done)["deleted"], "a");
    assert!(gateway.close().success());
    assert_eq!(stage.check_history("notes", &[]).gated, 1);
}

/// I5, X3: a modern client that is sent to the page and never comes back does not take the result along: the same call
/// made again has it, and nothing runs twice.
#[tokio::test]
async fn the_result_waits_for_a_client_that_never_came_back_from_the_page() {
    let (stage, mut gateway) = play("30s");
    let host = gateway.server("notes").capable(capabilities());
    let asked = host.call("delete_note", json!({"id": "a"})).await;
    let (_, request) = asked["result"]["inputRequests"].as_object().unwrap().iter().next().unwrap();
    stage.approve(&named_by(&request["params"]["url"], &gateway)).ok();
    let repeated = host.call("delete_note", json!({"id": "a"})).await;
    assert_eq!(structured(&repeated)["deleted"], "a");
    assert!(gateway.close().success());
    assert_eq!(stage.check_history("notes", &[]).gated, 1);
}

/// A human who will not go to the page has said no.
#[tokio::test]
async fn whoever_declines_to_go_to_the_page_has_said_no() {
    let (stage, mut gateway) = play("30s");
    let mut host = gateway.server("notes").capable(capabilities());
    host.initialize().await;
    let mut stream = host.draft_call("delete_note", json!({"id": "a"})).send().await;
    let asked = stream.next_of("elicitation/create").await;
    let intent = named_by(&asked["params"]["url"], &gateway);
    assert_eq!(host.respond(&asked["id"], json!({"action": "decline"})).await, 202);
    assert_eq!(refusal(&stream.answer().await), "denied");
    eventually("the no is written down", async || (stage.shown(&intent)["state"] == "denied").then_some(()))
        .await;
    assert!(gateway.close().success());
    assert_eq!(stage.check_history("notes", &[]).gated, 0);
}
