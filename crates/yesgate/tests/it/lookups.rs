//! The present state in the summary: looked up before a human is asked.

use serde_json::json;
use yesgate_testkit::{confirm_token, refusal, structured};

use crate::support::{legacy, stage};

const SHOWS_STATE: &str = r#"
[[rules]]
tool = "mock/write_note"
then = "ask"
lookup = { tool = "mock/read_note", args = { id = "args.id" } }
when = 'state.text != args.text'
summary = "Overwrite {{state.text}} with {{args.text}}"
"#;

/// H1: the summary shows the current state, read by the tool that the rule names.
#[test]
fn the_summary_shows_what_is_there_now() {
    let stage = stage().config(SHOWS_STATE);
    let mut host = legacy(&stage);
    let held = host.call("write_note", json!({"id": "a", "text": "x"}));
    assert_eq!(structured(&held)["summary"], r#"Overwrite "the first note" with "x""#);
    let token = confirm_token(&held);
    host.call("write_note", json!({"id": "a", "text": "x", "confirm_token": token}));
    assert!(host.close().success());
    let calls = stage.upstream_calls();
    let names: Vec<&str> = calls.iter().map(|call| call["params"]["name"].as_str().unwrap()).collect();
    // It is looked up for the question, and again before the call runs.
    assert_eq!(names, ["read_note", "read_note", "write_note"]);
    assert_eq!(stage.check_history().gated, 1);
}

/// H1: what cannot be looked up is not asked, and does not run; a tool that may change something is
/// never run for the sake of a summary.
#[test]
fn without_the_state_nobody_is_asked() {
    for (tool, rules) in [
        ("fail", "[[rules]]\ntool = \"mock/fail\"\nclass = \"read-only\"\n"),
        ("delete_note", ""),
        ("delete_note", "[[rules]]\ntool = \"mock/delete_note\"\nthen = \"run\"\n"),
        ("no_such_tool", ""),
    ] {
        let config = format!(
            "[[rules]]\ntool = \"mock/write_note\"\nthen = \"ask\"\nsummary = \"{{{{state.x}}}}\"\n\
             lookup = {{ tool = \"mock/{tool}\", args = {{ id = \"args.id\" }} }}\n{rules}"
        );
        let stage = stage().config(&config).ungated(&["fail"]);
        let mut host = legacy(&stage);
        let answer = host.call("write_note", json!({"id": "a", "text": "x"}));
        assert_eq!(refusal(&answer), "consent_unavailable", "{tool}: {answer:#}");
        assert!(stage.pending().is_empty());
        assert!(host.close().success());
        assert_eq!(stage.check_history().gated, 0, "{tool}");
    }
}
