//! The form that a client shows, and what counts as an answer.

use serde_json::{Value, json};

use super::{FormAnswer, form, read};
use crate::fixture::{intent, t};

#[test]
fn a_form_has_a_field_that_must_be_filled_and_no_default() {
    let params = Value::Object(form(&intent(t(0))).unwrap());
    let schema = &params["requestedSchema"];
    assert_eq!(schema["required"], json!(["approve"]));
    for (name, property) in schema["properties"].as_object().unwrap() {
        assert!(property.get("default").is_none(), "{name} has a default");
    }
    insta::assert_snapshot!(params["message"].as_str().unwrap());
}

#[test]
fn only_the_boolean_true_is_a_yes() {
    assert_eq!(read(Some(&json!({"approve": true}))), FormAnswer::Yes { typed: None });
    assert_eq!(read(Some(&json!({"approve": false}))), FormAnswer::No);
    for nothing in [json!({}), json!({"approve": "true"}), json!({"approve": 1}), json!(null), json!([true])]
    {
        assert_eq!(read(Some(&nothing)), FormAnswer::Nothing, "{nothing}");
    }
    assert_eq!(read(None), FormAnswer::Nothing);
}
