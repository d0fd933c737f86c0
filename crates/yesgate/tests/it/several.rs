//! Several gateways on one ledger: they wake each other, and one yes is one run.

use std::thread;

use serde_json::{Value, json};
use yesgate_testkit::{Host, Stage, intent_id, refusal, structured, until};

use crate::support::{legacy, legacy_named, stage, state, upstream_count};

const ELSEWHERE: &str = "[[rules]]\ntool = \"mock/delete_note\"\nthen = \"ask\"\nchannel = \"out_of_band\"\n";

fn elsewhere() -> Stage {
    stage().config(ELSEWHERE)
}

fn held_briefly() -> Stage {
    stage().config(&format!("[times]\nhold = \"1s\"\n{ELSEWHERE}"))
}

fn question(stage: &Stage) -> String {
    stage.wait_for_question()["intent_id"].as_str().unwrap().to_owned()
}

/// X3, I5: two hosts with the same server make the same call; one yes releases it exactly once, and exactly one of
/// them gets the result.
#[test]
fn one_yes_is_one_run_however_many_gateways_wait_for_it() {
    let stage = elsewhere();
    let mut hosts: Vec<Host> = (0..4).map(|_| legacy(&stage)).collect();
    let requests: Vec<u64> =
        hosts.iter_mut().map(|host| host.call_async("delete_note", json!({"id": "a"}))).collect();
    let intent = question(&stage);
    // All four wait for the one question before anybody answers it.
    hosts.iter_mut().for_each(|host| {
        host.call("read_note", json!({"id": "a"}));
    });
    assert_eq!(stage.pending().len(), 1, "the same call is the same question");
    stage.yesgate(&["approve", &intent, "--yes"]).ok();
    let answers: Vec<_> =
        hosts.iter_mut().zip(requests).map(|(host, request)| host.answer_to(request)).collect();
    let (ran, refused): (Vec<_>, Vec<_>) =
        answers.iter().partition(|answer| answer.pointer("/result/structuredContent/deleted").is_some());
    assert_eq!((ran.len(), refused.len()), (1, 3), "{answers:#?}");
    refused.iter().for_each(|answer| assert_eq!(refusal(answer), "consent_token_invalid"));
    assert_eq!(upstream_count(&stage, "delete_note"), 1);
    for mut host in hosts {
        assert!(host.close().success());
    }
    let history = stage.check_history();
    assert_eq!((history.gated, history.redeemed), (1, 1));
}

/// X3: two people say yes at once; one of them is told that it was decided, and it runs once.
#[test]
fn two_yeses_at_once_are_one_run() {
    let stage = elsewhere();
    let mut host = legacy(&stage);
    let request = host.call_async("delete_note", json!({"id": "a"}));
    let intent = question(&stage);
    let codes = thread::scope(|scope| {
        let people: Vec<_> =
            (0..4).map(|_| scope.spawn(|| stage.yesgate(&["approve", &intent, "--yes"]).code())).collect();
        people.into_iter().map(|person| person.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(codes.iter().filter(|code| **code == 0).count(), 1, "{codes:?}");
    assert!(codes.iter().all(|code| [0, 3].contains(code)), "{codes:?}");
    assert_eq!(structured(&host.answer_to(request))["run"], 1);
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 1);
}

/// I5: a yes is run by the gateway that asked, for as long as it is there: its server is the one that its host has
/// been talking with, and another may be in another state.
#[test]
fn a_yes_is_run_on_the_server_of_the_host_that_asked() {
    let stage = elsewhere();
    let mut bob = legacy_named(&stage, "bob");
    // An open question of its own keeps the other gateway awake.
    bob.call_async("delete_note", json!({"id": "bob's"}));
    let bobs = question(&stage);
    let mut ann = legacy_named(&stage, "ann");
    for round in 0..8 {
        ann.call("read_note", json!({"id": "a"}));
        let anns_server = stage.upstream_lines().last().unwrap().pid;
        let request = ann.call_async("delete_note", json!({ "id": round }));
        let of_ann = |question: &Value| question["intent_id"] != bobs.as_str();
        let question = until("ann's question", || stage.pending().into_iter().find(of_ann));
        stage.yesgate(&["approve", question["intent_id"].as_str().unwrap(), "--yes"]).ok();
        ann.answer_to(request);
        let lines = stage.upstream_lines();
        let ran = lines.iter().rfind(|line| line.raw.contains("delete_note")).unwrap();
        assert_eq!(ran.pid, anns_server, "round {round}: it ran on bob's server");
    }
    assert!(ann.close().success());
    bob.close();
    assert_eq!(stage.check_history().gated, 8);
}

/// H5: questions of different clients do not touch each other, and each yes goes to its own call.
#[test]
fn each_yes_goes_to_its_own_call() {
    let stage = elsewhere();
    let names = ["ann", "bob", "cyd"];
    let mut hosts = names.map(|name| legacy_named(&stage, name));
    let mut requests = Vec::new();
    for (host, name) in hosts.iter_mut().zip(names) {
        requests.push(host.call_async("delete_note", json!({ "id": name })));
    }
    until("three questions", || (stage.pending().len() == 3).then_some(()));
    for question in stage.pending() {
        let intent = question["intent_id"].as_str().unwrap();
        match question["caller"]["client"].as_str().unwrap() {
            "bob" => stage.yesgate(&["deny", intent, "--reason", "not bob"]).ok(),
            _ => stage.yesgate(&["approve", intent, "--yes"]).ok(),
        };
    }
    for ((mut host, name), request) in hosts.into_iter().zip(names).zip(requests) {
        let answer = host.answer_to(request);
        match name {
            "bob" => assert_eq!(refusal(&answer), "denied"),
            _ => assert_eq!(structured(&answer)["deleted"], name),
        }
        assert!(host.close().success());
    }
    assert_eq!(stage.check_history().gated, 2);
}

/// I5, X3: a question outlives the gateway that asked. A yes that comes later is run by the one that is there now,
/// and the agent that comes back takes the result.
#[test]
fn a_yes_after_the_asking_gateway_ended_is_run_by_its_successor() {
    let stage = held_briefly();
    let mut first = legacy(&stage);
    let intent = intent_id(&first.call("delete_note", json!({"id": "a"})));
    assert!(first.close().success());

    let mut second = legacy(&stage);
    stage.yesgate(&["approve", &intent, "--yes"]).ok();
    assert_eq!(state(&stage, &intent), "done");
    assert_eq!(structured(&second.call("delete_note", json!({"id": "a"})))["run"], 1);
    assert!(second.close().success());
    assert_eq!(stage.check_history().gated, 1);
}

/// I5: a yes is run on whichever gateway can reach the server: also on one that was there all the time and asked
/// nothing itself.
#[test]
fn a_yes_after_the_asking_gateway_ended_is_run_by_its_neighbour() {
    let stage = held_briefly();
    let mut neighbour = legacy_named(&stage, "neighbour");
    neighbour.call("read_note", json!({"id": "a"}));
    let mut first = legacy(&stage);
    let intent = intent_id(&first.call("delete_note", json!({"id": "a"})));
    assert!(first.close().success());

    let approved = stage.yesgate(&["approve", &intent, "--yes"]).ok();
    assert!(approved.stdout.contains("It ran once: ok."), "{}", approved.stdout);
    assert_eq!(upstream_count(&stage, "delete_note"), 1);
    assert!(neighbour.close().success());
    assert_eq!(stage.check_history().gated, 1);
}
