//! Changing a call before saying yes: the changed call runs, and the agent is told what really ran.

use serde_json::{Value, json};
use yesgate_testkit::{Output, Stage, intent_id, refusal, structured};

use crate::support::{Era, legacy, stage, state, upstream_arguments, upstream_count};

const ELSEWHERE: &str = "[[rules]]\ntool = \"mock/delete_note\"\nthen = \"ask\"\nchannel = \"out_of_band\"\n";
const STRICT: &str = "[[rules]]\ntool = \"*/delete_note\"\nwhen = 'args.id == \"b\"'\nthen = \"reject\"\n";

/// Says yes to a question with these arguments in place of its own.
fn approve_as(stage: &Stage, intent: &str, arguments: &str) -> Output {
    let file = stage.work().join("arguments.json");
    std::fs::write(&file, arguments).unwrap();
    stage.yesgate(&["approve", intent, "--yes", "--edit", file.to_str().unwrap()])
}

#[track_caller]
fn assert_told(result: &Value, arguments: &Value) {
    let told = &result["_meta"]["dev.yesgate/edited"];
    assert_eq!((&told["edited"], &told["arguments"]), (&json!(true), arguments), "{result:#}");
    let words = result["content"].as_array().unwrap().last().unwrap()["text"].as_str().unwrap();
    assert!(
        words.contains("A human changed the arguments") && words.contains(&arguments.to_string()),
        "{words}"
    );
}

/// X6: the call that waits gets the result of the changed one, and is told so; status says it too.
#[test]
fn a_changed_call_runs_and_the_agent_is_told_what_ran() {
    for era in Era::BOTH {
        let stage = stage().config(ELSEWHERE);
        let mut host = era.greet(stage.host());
        let request = host.call_async("delete_note", json!({"id": "a"}));
        let intent = stage.wait_for_question()["intent_id"].as_str().unwrap().to_owned();
        let said = approve_as(&stage, &intent, "{\"id\": \"b\"}").ok().stdout;
        assert!(said.contains("It ran once: ok."), "{said}");
        let answer = host.answer_to(request);
        assert_eq!(structured(&answer)["deleted"], "b");
        assert_told(&answer["result"], &json!({"id": "b"}));
        assert_eq!(state(&stage, &intent), "superseded");
        let status = host.call("yesgate_status", json!({ "intent_id": intent }));
        let status = structured(&status);
        assert_eq!((&status["status"], &status["edited"]), (&json!("done"), &json!(true)));
        assert_eq!(status["arguments"], json!({"id": "b"}));
        assert_told(&status["result"], &json!({"id": "b"}));
        assert_eq!(upstream_arguments(&stage, "delete_note"), [json!({"id": "b"})]);
        assert!(host.close().success());
        assert_eq!(stage.check_history().gated, 1);
    }
}

/// X6: an agent that comes back with its token, or just repeats what it asked, gets what the human made of it, once.
#[test]
fn whoever_comes_back_for_the_old_call_gets_the_changed_one() {
    for with_token in [true, false] {
        let stage = stage();
        let mut host = legacy(&stage);
        let held = host.call("delete_note", json!({"id": "a"}));
        approve_as(&stage, &intent_id(&held), "{\"id\": \"b\"}").ok();
        let mut arguments = json!({"id": "a"});
        if with_token {
            arguments["confirm_token"] = structured(&held)["confirm_token"].clone();
        }
        let taken = host.call("delete_note", arguments);
        assert_eq!(structured(&taken)["deleted"], "b", "{taken:#}");
        assert_told(&taken["result"], &json!({"id": "b"}));
        let anew = host.call("delete_note", json!({"id": "a"}));
        assert_eq!(structured(&anew)["status"], "confirmation_required");
        assert_eq!(upstream_count(&stage, "delete_note"), 1);
        assert!(host.close().success());
        assert_eq!(stage.check_history().gated, 1);
    }
}

/// X6: changed arguments are judged like any others; what the policy rejects, or nobody can read, changes nothing.
#[test]
fn changed_arguments_are_judged_anew() {
    let stage = stage().config(STRICT);
    let mut host = legacy(&stage);
    let intent = intent_id(&host.call("delete_note", json!({"id": "a"})));
    for (arguments, code) in
        [("{\"id\": \"b\"}", 3), ("{\"id\": \"c\", \"id\": \"d\"}", 1), ("[1]", 1), ("no json", 1), ("", 1)]
    {
        let refused = approve_as(&stage, &intent, arguments);
        assert_eq!(refused.code(), code, "{arguments}: {refused:#?}");
        assert_eq!(state(&stage, &intent), "pending");
    }
    let huge = json!({"id": "x".repeat(300_000)}).to_string();
    assert_eq!(approve_as(&stage, &intent, &huge).code(), 3);
    assert_eq!(stage.yesgate(&["approve", &intent, "--yes", "--edit"]).code(), 1, "there is no terminal");
    assert_eq!(upstream_count(&stage, "delete_note"), 0);
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 0);
}

/// X6: the gate that runs it judges it again; where its policy is stricter than what the human's shell knew, it is void.
#[test]
fn the_gate_has_the_last_word_on_a_changed_call() {
    let stage = stage().config(STRICT);
    let mut host = legacy(&stage);
    let held = host.call("delete_note", json!({"id": "a"}));
    stage.set_config("");
    let refused = approve_as(&stage, &intent_id(&held), "{\"id\": \"b\"}");
    assert_eq!(refused.code(), 3, "{refused:#?}");
    assert!(refused.stderr.contains("(policy_denied)"), "{}", refused.stderr);
    let token = structured(&held)["confirm_token"].clone();
    let told = host.call("delete_note", json!({"id": "a", "confirm_token": token}));
    assert_eq!(refusal(&told), "policy_denied");
    assert_eq!(upstream_count(&stage, "delete_note"), 0);
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 0);
}
