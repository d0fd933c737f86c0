//! The present state in the summary: looked up before a human is asked.

use serde_json::json;
use yesgate_testkit::refusal;

use crate::support::{legacy, stage};

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
