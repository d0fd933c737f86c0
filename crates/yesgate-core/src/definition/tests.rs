//! What a definition is known by, and how far its own words are believed.

use serde_json::json;

use super::ToolDefinition;
use crate::class::{Class, Trust};

fn tool(annotations: &serde_json::Value) -> ToolDefinition {
    ToolDefinition::parse(
        &json!({"name": "get_thing", "inputSchema": {"type": "object"}, "annotations": annotations}),
    )
    .unwrap()
}

/// X5: a tool is known by the digest of its definition, not by its name.
#[test]
fn any_change_that_a_reader_could_see_changes_the_digest() {
    let base = json!({"name": "t", "description": "d", "inputSchema": {"type": "object"}});
    let digest = ToolDefinition::parse(&base).unwrap().digest;
    for (key, value) in [
        ("name", json!("u")),
        ("title", json!("T")),
        ("description", json!("d ")),
        ("inputSchema", json!({"type": "object", "x": 1})),
        ("outputSchema", json!({"type": "object"})),
        ("annotations", json!({"readOnlyHint": true})),
        ("execution", json!({"taskSupport": "optional"})),
    ] {
        let mut changed = base.clone();
        changed[key] = value;
        assert_ne!(ToolDefinition::parse(&changed).unwrap().digest, digest, "{key}");
    }
    let mut same = base.clone();
    same["_meta"] = json!({"served_at": 17});
    assert_eq!(ToolDefinition::parse(&same).unwrap().digest, digest);
}

/// X5: a null field and an absent one are two definitions.
#[test]
fn an_absent_field_is_not_a_null_field() {
    let absent = ToolDefinition::parse(&json!({"name": "t"})).unwrap();
    let null = ToolDefinition::parse(&json!({"name": "t", "description": null})).unwrap();
    assert_ne!(absent.digest, null.digest);
}

/// B5: over all combinations of hints, an untrusted server can only make us stricter.
#[test]
fn without_trust_no_hint_lowers_the_class() {
    for read_only in [json!(null), json!(true), json!(false), json!("true"), json!(1)] {
        for destructive in [json!(null), json!(true), json!(false)] {
            let tool = tool(&json!({"readOnlyHint": read_only, "destructiveHint": destructive}));
            assert_eq!(tool.classify(Trust::None).class, Class::Dangerous);
        }
    }
}

#[test]
fn a_server_wrapped_by_hand_is_believed_when_it_says_read_only_and_in_nothing_else() {
    assert_eq!(tool(&json!({"readOnlyHint": true})).classify(Trust::ReadOnlyHint).class, Class::ReadOnly);
    assert_eq!(
        tool(&json!({"destructiveHint": false})).classify(Trust::ReadOnlyHint).class,
        Class::Dangerous
    );
    assert_eq!(tool(&json!({"destructiveHint": false})).classify(Trust::Full).class, Class::SafeWrite);
    assert_eq!(tool(&json!({})).classify(Trust::Full).class, Class::Dangerous);
}

#[test]
fn a_name_that_speaks_of_danger_overrules_a_hint_that_speaks_of_none() {
    let liar = ToolDefinition::parse(&json!({"name": "delete_repo", "annotations": {"readOnlyHint": true}}))
        .unwrap();
    assert_eq!(liar.classify(Trust::Full).class, Class::Dangerous);
}

#[test]
fn an_entry_without_a_usable_name_is_no_tool() {
    for entry in [json!(3), json!({}), json!({"name": 1}), json!({"name": ""}), json!({"name": "a\u{202e}b"})]
    {
        assert!(ToolDefinition::parse(&entry).is_err(), "{entry}");
    }
}
