//! Answering in words instead of running a call.

use serde_json::json;
use yesgate_testkit::{intent_id, refusal, structured};

use crate::support::{Era, legacy, stage, state};

const ELSEWHERE: &str = "[[rules]]\ntool = \"mock/delete_note\"\nthen = \"ask\"\nchannel = \"out_of_band\"\n";

/// X6: the agent gets the human's words as the answer to its call; nothing ran, and the same call is answered alike for
/// a while.
#[test]
fn a_human_answers_in_place_of_the_tool() {
    for era in Era::BOTH {
        let stage = stage().config(ELSEWHERE);
        let mut host = era.greet(stage.host());
        let request = host.call_async("delete_note", json!({"id": "a"}));
        let intent = stage.wait_for_question()["intent_id"].as_str().unwrap().to_owned();
        stage.yesgate(&["respond", &intent, "It is archived already; nothing to delete."]).ok();
        let answer = host.answer_to(request);
        assert_eq!((refusal(&answer), intent_id(&answer)), ("denied", intent.clone()));
        assert_eq!(answer["result"]["isError"], true, "nothing ran");
        let payload = structured(&answer);
        assert_eq!(payload["details"]["response"], "It is archived already; nothing to delete.");
        let message = payload["message"].as_str().unwrap();
        assert!(message.contains("A human answered instead of running it: It is archived"), "{message}");
        assert!(message.contains("Nothing ran"), "{message}");
        let again = host.call("delete_note", json!({"id": "a"}));
        assert_eq!(structured(&again)["details"]["response"], "It is archived already; nothing to delete.");
        let status = host.call("yesgate_status", json!({ "intent_id": intent }));
        assert_eq!(structured(&status)["status"], "denied");
        assert!(structured(&status)["message"].as_str().unwrap().contains("archived already"));
        assert!(host.close().success());
        assert_eq!(stage.check_history().gated, 0);
    }
}

/// X6: words come too late for what is decided, and words that are none are no answer; they are help, and do not
/// count as noes.
#[test]
fn words_answer_what_is_open_and_count_as_no_no() {
    let stage = stage();
    let mut host = legacy(&stage);
    for note in ["a", "b", "c", "d"] {
        let intent = intent_id(&host.call("delete_note", json!({"id": note})));
        assert_eq!(stage.yesgate(&["respond", &intent, "  "]).code(), 1);
        assert_eq!(state(&stage, &intent), "pending");
        stage.yesgate(&["respond", &intent, "leave it"]).ok();
        for late in [["respond", &intent, "really"], ["approve", &intent, "--yes"]] {
            assert_eq!(stage.yesgate(&late).code(), 3);
        }
    }
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 0);
}
