//! What is touched in a tool list, and that nothing else is.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use yesgate_core::policy::{Answers, Needs, Offer, OwnArgument};

use super::{offer, rewrite_list};
use crate::raw::raw;

/// An offer with these arguments, of a tool that we may answer for.
fn with(arguments: &[OwnArgument]) -> Offer {
    Offer { needs: Needs::RelayedYes, answers: Answers::OursToo, arguments: arguments.to_vec() }
}

fn offered(tool: &str, arguments: &[OwnArgument]) -> Option<String> {
    offer(&raw(tool.into()), &with(arguments)).map(|tool| tool.get().to_owned())
}

fn widened(schema: &str) -> Value {
    let tool = format!(r#"{{"name":"a","outputSchema":{schema}}}"#);
    serde_json::from_str::<Value>(&offered(&tool, &[]).unwrap()).unwrap()["outputSchema"].take()
}

#[test]
fn what_is_not_gated_keeps_its_bytes() {
    let list = r#"{"tools":[{"name" : "a","n":1.10,"big":123456789012345678901234567890}], "vendor":{ }}"#;
    assert!(rewrite_list(&raw(list.into()), |_| Offer::default(), None).is_none());
}

#[test]
fn a_gated_tool_gets_the_token_and_keeps_everything_else() {
    let tool = r##"{"name":"rm","x-vendor":1.10,"inputSchema":{"type":"object","$defs":{"P":{"const":9007199254740993}},"properties":{"path":{ "$ref":"#/$defs/P"}},"additionalProperties":false},"execution":{"taskSupport":"optional"}}"##;
    let offered = offered(tool, &[OwnArgument::Token]).unwrap();
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
    let offered = offered(r#"{"name":"a","inputSchema":{"type":"object"}}"#, &[OwnArgument::Token]).unwrap();
    assert!(offered.contains(r#""properties":{"confirm_token":"#), "{offered}");
}

/// K3: what is ours is advertised only where no client could send it otherwise.
#[test]
fn our_arguments_stay_out_of_tool_docs_unless_the_schema_minds_extras() {
    use OwnArgument::{Channel, Key, Mode, Typed};
    let hidden = [Typed, Key, Mode, Channel];
    for open in ["", r#","additionalProperties":true"#, r#","additionalProperties":{ }"#] {
        let tool = format!(r#"{{"name":"a","inputSchema":{{"type":"object"{open}}}}}"#);
        assert_eq!(offered(&tool, &hidden), None, "{tool}");
    }
    for strict in [
        r#""additionalProperties":false"#,
        r#""additionalProperties": {"type":"number"}"#,
        r#""additionalProperties":{"not":{}}"#,
        r#""unevaluatedProperties": false"#,
    ] {
        let tool = format!(r#"{{"name":"a","inputSchema":{{"type":"object",{strict}}}}}"#);
        let seen: Value = serde_json::from_str(&offered(&tool, &hidden).unwrap()).unwrap();
        let properties = seen["inputSchema"]["properties"].as_object().unwrap();
        let names: Vec<&str> = properties.keys().map(String::as_str).collect();
        assert_eq!(names, ["__channel", "__confirm", "__mode", "__typed"], "{strict}");
        assert_eq!(properties["__confirm"], json!({"type": "boolean"}));
        assert_eq!(seen["inputSchema"].get("required"), None);
    }
}

#[test]
fn the_result_may_also_be_an_answer_of_ours_and_references_still_resolve() {
    let schema = r##"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"T":{"type":"number"}},"properties":{"t":{"$ref":"#/$defs/T"}},"required":["t"]}"##;
    insta::assert_snapshot!(widened(schema).to_string());
}

/// Some generators refer to wherever a part stood first, which is no longer there.
#[test]
fn a_reference_into_the_schema_itself_follows_it_to_its_new_place() {
    let schema = widened(
        r##"{"type":"object","properties":{"a":{"type":"number"},"b":{"$ref":"#/properties/a"},"c":{"items":[{"$ref":"#"}]}},"$defs":{"D":{"$ref":"#/properties/a"},"E":{"$ref":"#anchor"},"F":{"$ref":"https://x/#/properties"}}}"##,
    );
    let original = &schema["anyOf"][0];
    assert_eq!(original["properties"]["b"]["$ref"], "#/anyOf/0/properties/a");
    assert_eq!(schema.pointer("/anyOf/0/properties/a"), Some(&json!({"type": "number"})));
    assert_eq!(original["properties"]["c"]["items"][0]["$ref"], "#/anyOf/0");
    assert_eq!(schema["$defs"]["D"]["$ref"], "#/anyOf/0/properties/a");
    assert_eq!(schema["$defs"]["E"]["$ref"], "#anchor");
    assert_eq!(schema["$defs"]["F"]["$ref"], "https://x/#/properties");
}

#[test]
fn own_tools_come_last() {
    let list = raw(r#"{"tools":[{"name":"a"}]}"#.into());
    let own = [json!({"name": "yesgate_status"})];
    let list: Box<RawValue> = rewrite_list(&list, |_| Offer::default(), Some(&own)).unwrap();
    assert_eq!(list.get(), r#"{"tools":[{"name":"a"},{"name":"yesgate_status"}]}"#);
}
