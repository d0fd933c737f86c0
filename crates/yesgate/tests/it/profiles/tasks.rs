//! Calls that wait for their human as tasks, where the client declares those (SEP-2663): it is let go at once, and
//! fetches what it is asked and what came of its call.

use serde_json::{Value, json};
use yesgate_testkit::{
    Human, Lane, Player, ServeStage, confirm_token, eventually, refusal, structured, until,
};

use super::{CALM, ELSEWHERE, HASTY, setup};

/// Only the modern era has the extension.
const LANES: [Lane; 2] = [Lane::StdioModern, Lane::HttpModern];

fn note() -> Value {
    json!({"id": "a"})
}

/// A client that can wait without waiting, and nothing else.
fn patient() -> Value {
    json!({"extensions": {"io.modelcontextprotocol/tasks": {}}})
}

/// One that shows forms as well.
fn patient_with_forms() -> Value {
    json!({"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}})
}

/// Makes the call, and gives the id of the task that it becomes.
#[track_caller]
fn begin(player: &mut Player) -> String {
    let answer = player.call("delete_note", note());
    let task = &answer["result"];
    assert_eq!(task["resultType"], "task", "{answer:#}");
    assert_eq!(task["status"], "working");
    task["taskId"].as_str().expect("a task has an id").to_owned()
}

#[track_caller]
fn get(player: &mut Player, task: &str) -> Value {
    let answer = player.request("tasks/get", json!({"taskId": task}));
    let result = answer["result"].clone();
    assert_eq!(result["resultType"], "complete", "{answer:#}");
    assert_eq!(result["taskId"], task);
    result
}

/// Looks until the task stands like this.
#[track_caller]
fn wait_for(player: &mut Player, task: &str, status: &str) -> Value {
    until(&format!("the task is {status}"), || {
        Some(get(player, task)).filter(|found| found["status"] == status)
    })
}

/// Has the human answer the one form that the task shows.
#[track_caller]
fn answer(player: &mut Player, task: &str, human: &mut impl yesgate_testkit::Answers) {
    let asking = wait_for(player, task, "input_required");
    let requests = asking["inputRequests"].as_object().expect("something is asked");
    let (key, request) = requests.iter().next().expect("something is asked");
    assert_eq!((requests.len(), &request["method"]), (1, &json!("elicitation/create")));
    let given = human.answer(&request["params"]).expect("an answer");
    let update = json!({"taskId": task, "inputResponses": {key: given}});
    assert_eq!(player.request("tasks/update", update)["result"], json!({"resultType": "complete"}));
}

/// X9, SEP-2663: a client that declares tasks is let go at once; a yes given elsewhere runs the call once, and its
/// result is fetched, as often as the client likes.
#[test]
fn a_call_that_is_decided_elsewhere_waits_as_a_task() {
    for lane in LANES {
        let mut player = setup(lane).config(ELSEWHERE).open(patient());
        let task = begin(&mut player);
        let waiting = get(&mut player, &task);
        assert_eq!(waiting["status"], "working");
        let told = waiting["statusMessage"].as_str().expect("it says what it waits for");
        assert!(told.contains("Waiting for a human's yes") && told.contains("delete_note"), "{told}");
        assert_eq!(player.runs("delete_note"), Vec::<Value>::new());
        player.approve(&task).ok();
        let done = wait_for(&mut player, &task, "completed");
        assert_eq!(done["result"]["structuredContent"], json!({"deleted": "a", "run": 1}));
        assert_eq!(done["result"]["resultType"], "complete");
        assert_eq!(get(&mut player, &task), done, "it stays what it is");
        player.finish(1);
    }
}

/// X1, SEP-2663: the client's own form is shown by the task, and a yes in it runs the call once.
#[test]
fn a_form_is_shown_and_answered_by_the_task() {
    for lane in LANES {
        let mut player = setup(lane).open(patient_with_forms());
        let task = begin(&mut player);
        answer(&mut player, &task, &mut Human::Accepts);
        let done = wait_for(&mut player, &task, "completed");
        assert_eq!(done["result"]["structuredContent"], json!({"deleted": "a", "run": 1}));
        assert_eq!(player.yeses(), ["client"]);
        // An answer that comes twice is nobody's any more.
        let again =
            json!({"taskId": task, "inputResponses": {"1:dev.yesgate/confirm": {"action": "decline"}}});
        assert_eq!(player.request("tasks/update", again)["result"], json!({"resultType": "complete"}));
        assert_eq!(get(&mut player, &task), done);
        player.finish(1);
    }
}

/// X9: a no in the form is final, and a refused call is a task that is complete with an error in its result.
#[test]
fn a_no_ends_the_task() {
    for lane in LANES {
        let mut player = setup(lane).config(CALM).open(patient_with_forms());
        let task = begin(&mut player);
        answer(&mut player, &task, &mut Human::Declines);
        let done = wait_for(&mut player, &task, "completed");
        assert_eq!(refusal(&done), "denied");
        assert_eq!(player.state(&task), "denied");
        let again = player.call("delete_note", note());
        assert_eq!(refusal(&again), "denied", "there is nothing to wait for");
        player.finish(0);
    }
}

/// X9: a no faster than anybody reads is nobody's, counted from when the client saw the form: the question goes to
/// the conversation.
#[test]
fn a_reflex_sends_the_question_to_the_conversation() {
    for lane in LANES {
        let mut player = setup(lane).config(HASTY).open(patient_with_forms());
        let task = begin(&mut player);
        answer(&mut player, &task, &mut Human::Cancels);
        let held = wait_for(&mut player, &task, "completed");
        assert_eq!(structured(&held)["status"], "confirmation_required");
        let token = confirm_token(&held);
        let ran = player.call("delete_note", json!({"id": "a", "confirm_token": token}));
        assert_eq!(structured(&ran)["deleted"], "a");
        player.finish(1);
    }
}

/// X9: the first decision holds, wherever it is made: what is denied at the command line is no longer asked.
#[test]
fn a_decision_elsewhere_takes_the_form_back() {
    for lane in LANES {
        let mut player = setup(lane).open(patient_with_forms());
        let task = begin(&mut player);
        wait_for(&mut player, &task, "input_required");
        player.yesgate(&["deny", &task, "--reason", "not today"]).ok();
        let done = wait_for(&mut player, &task, "completed");
        assert_eq!(refusal(&done), "denied");
        let late = json!({"taskId": task, "inputResponses": {
            "1:dev.yesgate/confirm": {"action": "accept", "content": {"approve": true}}
        }});
        player.request("tasks/update", late);
        assert_eq!(get(&mut player, &task), done, "a late yes is void");
        player.finish(0);
    }
}

/// X9, SEP-2663: withdrawing the task withdraws the question; a yes that comes later runs nothing.
#[test]
fn a_task_that_is_withdrawn_runs_nothing() {
    for lane in LANES {
        for capabilities in [patient(), patient_with_forms()] {
            let config = if capabilities.get("elicitation").is_some() { "" } else { ELSEWHERE };
            let mut player = setup(lane).config(config).open(capabilities);
            let task = begin(&mut player);
            let done = player.request("tasks/cancel", json!({"taskId": task}));
            assert_eq!(done["result"], json!({"resultType": "complete"}));
            let withdrawn = wait_for(&mut player, &task, "cancelled");
            assert_eq!(withdrawn.get("statusMessage"), None, "it waits for nobody any more");
            assert_ne!(player.yesgate(&["approve", &task, "--yes"]).code(), 0);
            player.finish(0);
        }
    }
}

/// H5: the same call again is the same task.
#[test]
fn the_same_call_again_is_the_same_task() {
    for lane in LANES {
        let mut player = setup(lane).config(ELSEWHERE).open(patient());
        let task = begin(&mut player);
        assert_eq!(begin(&mut player), task);
        player.approve(&task).ok();
        wait_for(&mut player, &task, "completed");
        player.finish(1);
    }
}

/// X3: a task is its question, so it outlives the gateway: the yes, the run and the result are found again.
#[test]
fn a_task_outlives_the_gateway() {
    for lane in LANES {
        let mut player = setup(lane).config(ELSEWHERE).open(patient());
        let task = begin(&mut player);
        player.restart();
        assert_eq!(get(&mut player, &task)["status"], "working");
        player.approve(&task).ok();
        let done = wait_for(&mut player, &task, "completed");
        assert_eq!(done["result"]["structuredContent"]["deleted"], "a");
        player.restart();
        assert_eq!(get(&mut player, &task)["result"], done["result"]);
        player.finish(1);
    }
}

/// A state handle proves nothing (MCP, security): another client finds no task, cannot answer it and cannot end it.
#[test]
fn a_task_is_its_callers_alone() {
    for lane in LANES {
        let mut player = setup(lane).open(patient_with_forms());
        let task = begin(&mut player);
        wait_for(&mut player, &task, "input_required");
        let mut thief = player.another("thief", patient_with_forms());
        let yes = json!({"action": "accept", "content": {"approve": true}});
        let given = json!({"taskId": task, "inputResponses": {"1:dev.yesgate/confirm": yes}});
        for (method, params) in [
            ("tasks/get", json!({"taskId": task})),
            ("tasks/update", given),
            ("tasks/cancel", json!({"taskId": task})),
        ] {
            let answer = thief.request(method, params);
            assert!(answer.get("error").is_some(), "{method}: {answer:#}");
        }
        thief.leave();
        assert_eq!(get(&mut player, &task)["status"], "input_required");
        player.finish(0);
    }
}

/// SEP-2663: whoever does not declare tasks gets none, and is told what is missing when it asks after one.
#[test]
fn a_client_without_tasks_gets_none() {
    for lane in LANES {
        let mut player = setup(lane).config(ELSEWHERE).open(patient());
        let task = begin(&mut player);
        let mut plain = player.another("testkit", json!({}));
        let answer = plain.request("tasks/get", json!({"taskId": task}));
        assert_eq!(answer["error"]["code"], -32021, "{answer:#}");
        let needed = &answer["error"]["data"]["requiredCapabilities"]["extensions"];
        assert_eq!(needed, &json!({"io.modelcontextprotocol/tasks": {}}));
        plain.leave();
        player.finish(0);
    }
}

/// SEP-2663: an answer that cannot be one is refused, and what is asked stays asked.
#[test]
fn an_unreadable_answer_changes_nothing() {
    for lane in LANES {
        let mut player = setup(lane).open(patient_with_forms());
        let task = begin(&mut player);
        let asking = wait_for(&mut player, &task, "input_required");
        for given in [json!({"action": "maybe"}), json!("yes"), json!({})] {
            let update = json!({"taskId": task, "inputResponses": {"1:dev.yesgate/confirm": given}});
            assert_eq!(player.request("tasks/update", update)["error"]["code"], -32602);
        }
        assert_eq!(get(&mut player, &task), asking);
        player.finish(0);
    }
}

/// SEP-2663: a gateway that asks humans says that a call may become a task.
#[test]
fn the_gateway_says_that_it_has_tasks() {
    for lane in LANES {
        let mut player = setup(lane).open(patient());
        let hello = player.request("server/discover", json!({}));
        assert_eq!(
            hello["result"]["capabilities"]["extensions"],
            json!({"io.modelcontextprotocol/tasks": {}}),
            "{hello:#}"
        );
        player.finish(0);
    }
}

/// MCP §2.6: a server that asks for input itself, after the human's yes, asks by the same task, under keys of its own.
#[test]
fn a_server_that_asks_itself_asks_by_the_task() {
    for lane in LANES {
        for era in ["legacy", "modern"] {
            if lane == Lane::StdioModern && era == "legacy" {
                // A host speaks with the server that it started in the era that both have.
                continue;
            }
            let mut player = setup(lane).server_args(&["--era", era]).open(patient_with_forms());
            let begun = player.call("ask_user", json!({"rounds": 2}));
            let task = begun["result"]["taskId"].as_str().expect("a task").to_owned();
            answer(&mut player, &task, &mut Human::Accepts);
            let mut keys = vec!["1:dev.yesgate/confirm".to_owned()];
            for round in 1..=2 {
                let asking = until("the server asks", || {
                    let found = get(&mut player, &task);
                    let key = found["inputRequests"].as_object()?.keys().next()?.clone();
                    (!keys.contains(&key)).then_some(key)
                });
                let words = json!({"action": "accept", "content": {"words": format!("round {round}")}});
                player.request("tasks/update", json!({"taskId": task, "inputResponses": {&asking: words}}));
                keys.push(asking);
            }
            let done = wait_for(&mut player, &task, "completed");
            let text = done["result"]["content"][0]["text"].as_str().expect("a text");
            assert!(text.contains("round 2"), "{text}");
            player.finish(1);
        }
    }
}

/// SEP-2663: what was approved and then became a task at the server is the same task to the client.
#[test]
fn a_task_of_the_server_goes_by_the_same_id() {
    for lane in LANES {
        let flags = ["--task-on", "delete_note", "--era", "modern"];
        let mut player = setup(lane).server_args(&flags).open(patient_with_forms());
        let task = begin(&mut player);
        answer(&mut player, &task, &mut Human::Accepts);
        let done = wait_for(&mut player, &task, "completed");
        assert_eq!(done["result"]["structuredContent"], json!({"deleted": "a", "run": 1}));
        assert!(!player.heard_by_agent().contains("mock-task"), "the server's own id is nobody's business");
        player.restart();
        let answer = player.request("tasks/get", json!({"taskId": task}));
        assert_eq!(answer["error"]["code"], -32602, "the server has forgotten it: {answer:#}");
        player.finish(1);
    }
}

/// The endpoint of all servers has the gate's tasks, and makes none of the servers'.
#[tokio::test]
async fn the_endpoint_of_all_servers_has_tasks_of_its_own() {
    let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate"));
    let servers =
        ["notes", "memos"].map(|name| stage.child(name, &["--task-on", "delete_note", "--era", "modern"]));
    let stage = stage.config(&servers.concat());
    let mut gateway = stage.start();
    let host = gateway.all().capable(patient_with_forms());
    let begun = host.call("memos__delete_note", note()).await;
    let task = begun["result"]["taskId"].as_str().expect("a task").to_owned();
    let status = async || host.request("tasks/get", json!({"taskId": task})).await["result"].clone();
    let asking = eventually("the form is shown", async || {
        Some(status().await).filter(|found| found["status"] == "input_required")
    });
    let key = asking.await["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
    let yes = json!({"action": "accept", "content": {"approve": true}});
    host.request("tasks/update", json!({"taskId": task, "inputResponses": {key: yes}})).await;
    let done = eventually("the task is done", async || {
        Some(status().await).filter(|found| found["status"] == "completed")
    });
    assert_eq!(done.await["result"]["structuredContent"], json!({"deleted": "a", "run": 1}));
    let unknown = host.request("tasks/get", json!({"taskId": "mock-task-1"})).await;
    assert_eq!(unknown["error"]["code"], -32602, "{unknown:#}");
    assert!(gateway.close().success());
    assert_eq!(stage.check_history("memos", &[]).gated, 1);
    assert_eq!(stage.check_history("notes", &[]).gated, 0);
}
