//! What is touched in a tool list, and that nothing else is.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Offer, offer, rewrite_list};
use crate::raw::raw;

fn offered(tool: &str, needed: Offer) -> Option<String> {
    offer(&raw(tool.into()), needed).map(|tool| tool.get().to_owned())
}

#[test]
fn what_is_not_gated_keeps_its_bytes() {
    let list = r#"{"tools":[{"name" : "a","n":1.10,"big":123456789012345678901234567890}], "vendor":{ }}"#;
    assert!(rewrite_list(&raw(list.into()), |_| Offer::Plain, None).is_none());
}

#[test]
fn a_gated_tool_gets_the_token_and_keeps_everything_else() {
    let tool = r##"{"name":"rm","x-vendor":1.10,"inputSchema":{"type":"object","$defs":{"P":{"const":9007199254740993}},"properties":{"path":{ "$ref":"#/$defs/P"}},"additionalProperties":false},"execution":{"taskSupport":"optional"}}"##;
    let offered = offered(tool, Offer::ConfirmToken).unwrap();
    for kept in [
        r#""x-vendor":1.10"#,
        r#"{"const":9007199254740993}"#,
        r##""path":{ "$ref":"#/$defs/P"}"##,
        "taskSupport",
    ] {
        assert!(offered.contains(kept), "{kept} in {offered}");
    }
    let value: Value = serde_json::from_str(&offered).unwrap();
    assert_eq!(value["inputSchema"]["properties"]["confirm_token"]["type"], "string");
    assert_eq!(value["inputSchema"].get("required"), None);
}

#[test]
fn a_tool_without_properties_gets_some() {
    let offered = offered(r#"{"name":"a","inputSchema":{"type":"object"}}"#, Offer::ConfirmToken).unwrap();
    assert!(offered.contains(r#""properties":{"confirm_token":"#), "{offered}");
}

/// K3: `__confirm` is advertised only where no client could send it otherwise.
#[test]
fn the_call_key_stays_out_of_tool_docs_unless_the_schema_forbids_extras() {
    assert!(offered(r#"{"name":"a","inputSchema":{"type":"object"}}"#, Offer::CallKey).is_none());
    let strict = r#"{"name":"a","inputSchema":{"type":"object","additionalProperties":false}}"#;
    assert!(offered(strict, Offer::CallKey).unwrap().contains(r#""__confirm":{"type":"boolean"}"#));
}

#[test]
fn the_result_may_also_be_a_held_answer_and_references_still_resolve() {
    let tool = r##"{"name":"a","outputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"T":{"type":"number"}},"properties":{"t":{"$ref":"#/$defs/T"}},"required":["t"]}}"##;
    let value: Value = serde_json::from_str(&offered(tool, Offer::HeldOnly).unwrap()).unwrap();
    insta::assert_snapshot!(value["outputSchema"].to_string());
}

#[test]
fn own_tools_come_last() {
    let list = raw(r#"{"tools":[{"name":"a"}]}"#.into());
    let own = [json!({"name": "yesgate_status"})];
    let list: Box<RawValue> = rewrite_list(&list, |_| Offer::Plain, Some(&own)).unwrap();
    assert_eq!(list.get(), r#"{"tools":[{"name":"a"},{"name":"yesgate_status"}]}"#);
}
