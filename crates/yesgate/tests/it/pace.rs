//! Noes that teach: a caller that is denied, or asks, too often is told to stop asking.

use serde_json::{Value, json};
use yesgate_testkit::{Host, intent_id, refusal, structured};

use crate::support::{legacy, legacy_named, stage};

fn delete(host: &mut Host, note: &str) -> Value {
    host.call("delete_note", json!({"id": note}))
}

/// A14: three noes, and the agent is told until when, and to ask its user what they want; a thaw or a human's yes ends
/// it, and nobody else is held up.
#[test]
fn three_noes_end_the_asking_until_a_human_lifts_it() {
    let stage = stage();
    let mut host = legacy(&stage);
    let deny_three = |host: &mut Host, round: &str| {
        for note in ["a", "b", "c"] {
            let held = delete(host, &format!("{round}{note}"));
            stage.yesgate(&["deny", &intent_id(&held)]).ok();
        }
    };
    deny_three(&mut host, "first-");
    let refused = delete(&mut host, "d");
    assert_eq!(refusal(&refused), "rate_limited");
    let payload = structured(&refused);
    assert_eq!(payload["details"]["bound"], "denials");
    assert!(payload["details"]["until"].as_str().unwrap().ends_with('Z'));
    assert!(payload["message"].as_str().unwrap().contains("ask the user what they want"));
    let mut other = legacy_named(&stage, "other");
    assert_eq!(structured(&delete(&mut other, "d"))["status"], "confirmation_required");
    assert!(other.close().success());

    stage.yesgate(&["thaw", "testkit"]).ok();
    deny_three(&mut host, "second-");
    assert_eq!(refusal(&delete(&mut host, "d")), "rate_limited");
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 0);
}

/// A14: the bounds are the operator's: new questions a minute, and open ones at once.
#[test]
fn the_operator_bounds_how_much_is_asked() {
    let stage = stage().config("[asking]\nper_minute = 2\nopen = 1\n");
    let mut host = legacy(&stage);
    let held = delete(&mut host, "a");
    let other_tool = host.call("write_note", json!({"id": "b", "text": "x"}));
    assert_eq!(structured(&other_tool)["details"]["bound"], "open", "{other_tool:#}");
    // A question that takes the place of the open one is no second one.
    assert_eq!(structured(&delete(&mut host, "b"))["status"], "confirmation_required");
    assert_ne!(intent_id(&held), intent_id(&delete(&mut host, "b")));
    assert_eq!(structured(&delete(&mut host, "c"))["details"]["bound"], "per_minute");
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 0);
}

/// A bound of none would be a trap: it is a mistake in the configuration.
#[test]
fn a_bound_of_nothing_is_refused() {
    for config in ["[asking]\nopen = 0\n", "[asking]\nbreaker = 0\n", "[asking]\nwindow = \"0s\"\n"] {
        let output = stage().config(config).yesgate(&["policy", "check"]);
        assert_eq!(output.code(), 1, "{config}: {output:#?}");
    }
}
