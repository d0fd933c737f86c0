//! The strict client, which is to be believed when it does not throw.

use std::panic::catch_unwind;

use serde_json::{Value, json};

use super::check;

fn throws(schema: Value, result: Value) -> bool {
    let (tool, answer) = (json!({"name": "a", "outputSchema": schema}), json!({"result": result}));
    catch_unwind(|| check(&tool, &answer)).is_err()
}

#[test]
fn a_strict_client_takes_what_was_promised_and_throws_away_everything_else() {
    let schema = || {
        json!({
            "type": "object",
            "$defs": {"n": {"type": "integer"}},
            "anyOf": [
                {"properties": {"n": {"$ref": "#/$defs/n"}}, "required": ["n"], "additionalProperties": false},
                {"properties": {"status": {"enum": ["a", "b"]}}, "required": ["status"]},
            ],
        })
    };
    for fit in [json!({"n": 1}), json!({"status": "a", "n": "x"})] {
        assert!(!throws(schema(), json!({"structuredContent": fit})), "{fit}");
    }
    for unfit in [json!({}), json!({"n": "1"}), json!({"n": 1, "m": 1}), json!({"status": "c"}), json!([])] {
        assert!(throws(schema(), json!({"structuredContent": unfit})), "{unfit}");
        assert!(throws(schema(), json!({"structuredContent": unfit, "isError": true})), "{unfit}");
    }
    assert!(throws(schema(), json!({"content": []})));
    assert!(!throws(schema(), json!({"content": [], "isError": true})));
    assert!(!throws(schema(), json!({"resultType": "input_required"})));
    assert!(throws(json!({"patternProperties": {}}), json!({"structuredContent": {}})), "unknown");
}
