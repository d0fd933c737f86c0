//! Several nodes on one database, through their own doors: who races, and what fails meanwhile.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tokio::sync::Barrier;
use yesgate_testkit::line::Cut;
use yesgate_testkit::storm::told::{self, Decision, End, Heard};
use yesgate_testkit::storm::{Nodes, Plan, rage};
use yesgate_testkit::upstream_log::write_json;
use yesgate_testkit::{MockEras, MockHttp, Received, WebHost, confirm_token, eventually, intent_id, text};

const YESGATE: &str = env!("CARGO_BIN_EXE_yesgate");

/// INV2: 64 clients bring one token to four nodes at the same moment, and the server is called once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_token_at_four_nodes_from_64_clients_is_one_call() {
    let server = MockHttp::start(MockEras::Modern);
    let nodes = Nodes::start(YESGATE.as_ref(), &server);
    let host = |node: usize| WebHost::new(format!("{}/mcp/web", nodes.url(node % nodes.count())));
    let held = host(0).call("delete_note", json!({"id": "a"})).await;
    let arguments = json!({"id": "a", "confirm_token": confirm_token(&held)});
    let start = Arc::new(Barrier::new(64));
    let mut clients = tokio::task::JoinSet::new();
    for number in 0..64 {
        let (host, arguments, start) = (host(number), arguments.clone(), Arc::clone(&start));
        clients.spawn(async move {
            // Everybody is connected before anybody calls.
            host.discover().await;
            start.wait().await;
            host.call("delete_note", arguments).await
        });
    }
    let answers = clients.join_all().await;
    let ran = answers.iter().filter(|answer| answer.pointer("/result/structuredContent/deleted").is_some());
    assert_eq!(ran.count(), 1, "{answers:#?}");
    assert_eq!(server.calls().len(), 1);
    let nodes = tokio::task::spawn_blocking(|| nodes.end()).await.unwrap();
    let log = nodes.stage().file("upstream.jsonl");
    write_json(&log, &server.received());
    nodes.stage().verify_upstream("web", &log, &[]).ok();
}

/// INV1, INV2, INV7, INV9: thousands of gated calls over four nodes that are killed, cut off and slowed down. Afterwards
/// the server's own log fits the ledger, no decision that somebody was told is taken is lost, and nobody was told that
/// something ran that did not. A log with one call more, or one less, does not fit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_is_lost_doubled_or_made_up_while_nodes_and_lines_fail() {
    let is_slow = std::env::var_os("SLOW_TESTS").is_some();
    let plan = Plan {
        seed: seed(),
        calls: if is_slow { 5000 } else { 250 },
        clients: 16,
        calls_to_a_fault: if is_slow { 40 } else { 10 },
        calls_to_a_command: if is_slow { 200 } else { 50 },
        longest: Duration::from_secs(480),
    };
    let after = rage(YESGATE, &plan).await;
    eprintln!("{} calls in {:?}: {:#?}\n{:#?}", after.told.len(), after.took, after.ends(), after.faults);
    assert_eq!(after.told.len() as u64, plan.calls, "the calls took too long");

    let joined = after.join().ok().json();
    eprintln!("{}", joined["upstream"]);
    assert_eq!(joined["upstream"]["wrong"], 0, "{joined:#}");
    let rows = after.rows();
    if let Err(problems) = told::check(&after.told, after.received(), &rows) {
        panic!("{} things do not fit:\n{}", problems.len(), problems.join("\n"));
    }
    // It was no calm: most calls ran and some did not; in a long one something of each kind failed, and answers were lost.
    let ends = after.ends();
    let done = ends.get(&End::Done).copied().unwrap_or_default();
    assert!(done > plan.calls / 2 && done < plan.calls, "{ends:#?}");
    assert!(!is_slow || after.told.iter().any(|told| told.heard == Heard::Some), "no answer was lost");
    assert!(!is_slow || after.faults.len() == 8, "{:#?}", after.faults);

    // And the judges can say no: to a call that is in the log twice, to one that is missing, to one that nobody asked about.
    let mut ran = after.told.iter().filter(|told| told.end == End::Done).map(|told| &told.note);
    let (doubled, dropped) = (ran.next().unwrap(), ran.next().unwrap());
    let is_of = |line: &Received, note: &str| line.raw.contains(&format!("\"{note}\""));
    let mut log: Vec<Received> = after.received().to_vec();
    log.retain(|line| !is_of(line, dropped));
    let twice = log.iter().find(|line| is_of(line, doubled)).unwrap().clone();
    let made_up = Received { raw: twice.raw.replace(doubled, "nobody-asked"), ..twice.clone() };
    log.extend([twice, made_up]);
    let output = after.join_with(&log);
    let found = output.json()["upstream"].clone();
    assert_eq!((output.code(), &found["wrong"]), (5, &json!(3)), "{found:#}");
    let codes: BTreeSet<&str> =
        found["findings"].as_array().unwrap().iter().filter_map(|finding| finding["code"].as_str()).collect();
    assert_eq!(codes, BTreeSet::from(["never_arrived", "ran_twice", "without_consent"]), "{found:#}");
    let mut forged = after.told.clone();
    forged.iter_mut().find(|told| told.decision == Decision::No).unwrap().end = End::Done;
    assert_eq!(told::check(&forged, after.received(), &rows).unwrap_err().len(), 1);
}

/// The one of `STORM_SEED`, else another one each time. It is printed.
fn seed() -> u64 {
    match std::env::var("STORM_SEED") {
        Ok(seed) => seed.parse().unwrap(),
        Err(_) => SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as u64 % 1_000_000,
    }
}

/// INV9: an answer that comes while nothing can be written is written down once it can: nobody waits for ever for a call
/// that a living node has finished.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outcome_outlives_a_line_that_is_cut() {
    let server = MockHttp::start(MockEras::Modern);
    let nodes = Nodes::start(YESGATE.as_ref(), &server);
    for cut in [Cut::BeforeCommit, Cut::AfterCommit] {
        server.close_gate();
        let host = WebHost::new(format!("{}/mcp/web", nodes.url(0)));
        let held = host.call("slow", json!({"n": format!("{cut:?}")})).await;
        let arguments = json!({"n": format!("{cut:?}"), "confirm_token": confirm_token(&held)});
        let call = tokio::spawn(async move { host.call("slow", arguments).await });
        let mark = format!("{cut:?}");
        server.arrival("the call", |arrived| arrived.text().contains(&mark)).await;
        nodes.line(0).cut(cut);
        server.open_gate();
        let answer = call.await.unwrap();
        assert_eq!(answer["result"]["resultType"], "complete", "{answer:#}");
        eventually("its end is written down", async || {
            let shown = nodes.stage().yesgate(&["show", &intent_id(&held), "--json"]).ok().json();
            (shown["state"] == "done" && shown["outcome"] == "ok").then_some(())
        })
        .await;
    }
    assert!(nodes.line(0).cuts() >= 2, "nothing was cut");
}

/// X3: what a killed node was running is unknown to whoever asks another node. Those that live notice it by themselves: the
/// killed one is back before it counts as gone, and after that nobody starts anything.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_killed_node_was_running_is_unknown_at_those_that_live() {
    let server = MockHttp::start(MockEras::Modern);
    let nodes = Arc::new(Nodes::start(YESGATE.as_ref(), &server));
    let host = |node: usize| WebHost::new(format!("{}/mcp/web", nodes.url(node)));
    server.close_gate();
    let held = host(0).call("slow", json!({"n": "a"})).await;
    let arguments = json!({"n": "a", "confirm_token": confirm_token(&held)});
    let (asker, same) = (host(0), arguments.clone());
    let call =
        tokio::spawn(async move { asker.draft_call("slow", same).attempt(Duration::from_secs(60)).await });
    server.arrival("the call", |arrived| arrived.text().contains("\"slow\"")).await;
    let killed = Arc::clone(&nodes);
    tokio::task::spawn_blocking(move || killed.kill_and_restart(0)).await.unwrap();
    assert!(call.await.unwrap().is_err(), "a dead node answered");
    // Until then the token is one that was used.
    eventually("its end is unknown", async || {
        let answer = host(1).call("slow", arguments.clone()).await;
        (answer["result"]["structuredContent"]["error"] == "execution_unknown").then_some(())
    })
    .await;
    assert_eq!(server.calls().len(), 1);
}

/// A session of 2025-11-25 belongs to the node that began it. Another one answers 404, as the specification has it for a
/// session that is not known, and the client begins anew.
#[tokio::test]
async fn a_session_of_another_node_is_404_and_the_client_begins_anew() {
    let server = MockHttp::start(MockEras::Modern);
    let nodes = Nodes::start(YESGATE.as_ref(), &server);
    let host = |node: usize| WebHost::new(format!("{}/mcp/web", nodes.url(node)));
    let (mut here, mut there) = (host(0), host(1));
    here.initialize().await;
    there.initialize().await;
    let foreign = here.session_id().unwrap();
    let draft = there.draft_call("read_note", json!({"id": "a"})).header("mcp-session-id", foreign);
    let mut refused = draft.send().await;
    assert_eq!(refused.status(), 404);
    assert!(refused.answer().await["error"]["message"].is_string());
    there.initialize().await;
    assert_eq!(text(&there.call("read_note", json!({"id": "a"})).await), "the first note");
    assert_eq!(text(&here.call("read_note", json!({"id": "a"})).await), "the first note");
}

/// What a client is asked in the middle of a call is known to the node that asked. Another one says so and how to go on; nothing
/// runs by an answer that came there, and the call can be made again.
#[tokio::test]
async fn an_answer_that_comes_to_another_node_runs_nothing_and_the_call_can_be_made_again() {
    let server = MockHttp::start(MockEras::Modern);
    let nodes = Nodes::start(YESGATE.as_ref(), &server);
    let host = |node: usize| {
        let host = WebHost::new(format!("{}/mcp/web", nodes.url(node)));
        host.capable(json!({"elicitation": {"form": {}}}))
    };
    let (here, there) = (host(0), host(1));
    let call = json!({"name": "delete_note", "arguments": {"id": "a"}});
    let with_yes = |asked: &Value| {
        let asking = &asked["result"];
        let key = asking["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
        let mut call = call.clone();
        call["requestState"] = asking["requestState"].clone();
        call["inputResponses"] = json!({key: {"action": "accept", "content": {"approve": true}}});
        call
    };
    let asked = here.request("tools/call", call.clone()).await;
    let refused = there.request("tools/call", with_yes(&asked)).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused:#}");
    // The same is said of a state that was used: no machine is to repeat such a call by itself.
    assert!(refused["error"].get("data").is_none(), "{refused:#}");
    let words = refused["error"]["message"].as_str().unwrap();
    assert!(words.contains("another node") && words.contains("Make the request again without it"), "{words}");
    assert!(server.calls().is_empty());
    let asked = there.request("tools/call", call.clone()).await;
    let ran = there.request("tools/call", with_yes(&asked)).await;
    assert_eq!(ran["result"]["structuredContent"]["deleted"], "a", "{ran:#}");
    assert_eq!(server.calls().len(), 1);
}
