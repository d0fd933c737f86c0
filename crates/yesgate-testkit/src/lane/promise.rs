//! A client that believes in output schemas, as strict as the strictest there are: a result has structured content
//! that fits what the tool promised, in an error too, or is an error without any.
//!
//! Only the keywords that occur in tests are known; any other is a panic, so that nothing is held to fit unseen.

use serde_json::Value;

/// Panics where such a client would throw an answer away.
#[track_caller]
pub(super) fn check(tool: &Value, answer: &Value) {
    let (Some(schema), Some(result)) = (tool.get("outputSchema"), answer.get("result")) else { return };
    let is_on_its_way = result.get("resultType").is_some_and(|kind| kind != "complete");
    if is_on_its_way {
        return;
    }
    match result.get("structuredContent") {
        Some(content) => {
            let fits = fits(content, schema, schema);
            assert!(fits, "a strict client throws this away: {answer:#}\nfor it was promised {schema:#}");
        }
        None => assert_eq!(result["isError"], true, "there is no structured content: {answer:#}"),
    }
}

fn fits(value: &Value, schema: &Value, root: &Value) -> bool {
    let Some(schema) = schema.as_object() else { return schema == true };
    schema.iter().all(|(keyword, wanted)| match keyword.as_str() {
        "type" => is_of_type(value, wanted),
        "const" => value == wanted,
        "enum" => wanted.as_array().is_some_and(|all| all.contains(value)),
        "anyOf" => wanted.as_array().is_some_and(|all| all.iter().any(|one| fits(value, one, root))),
        "required" => {
            let has = |key: &Value| key.as_str().is_some_and(|key| value.get(key).is_some());
            !value.is_object() || wanted.as_array().is_some_and(|all| all.iter().all(has))
        }
        "properties" => wanted.as_object().is_some_and(|all| {
            all.iter().all(|(key, schema)| value.get(key).is_none_or(|value| fits(value, schema, root)))
        }),
        "additionalProperties" => {
            let named = |key: &String| schema.get("properties").and_then(|all| all.get(key)).is_some();
            let extras = value.as_object().into_iter().flatten().filter(|(key, _)| !named(key));
            extras.into_iter().all(|(_, extra)| fits(extra, wanted, root))
        }
        "$ref" => {
            let place = wanted.as_str().and_then(|place| place.strip_prefix('#'));
            let target = place.and_then(|place| root.pointer(place));
            fits(value, target.unwrap_or_else(|| panic!("{wanted} leads nowhere in {root:#}")), root)
        }
        "$schema" | "$id" | "$defs" | "definitions" | "title" | "description" => true,
        unknown => panic!("the keyword `{unknown}` is not known here"),
    })
}

fn is_of_type(value: &Value, wanted: &Value) -> bool {
    if let Some(any) = wanted.as_array() {
        return any.iter().any(|one| is_of_type(value, one));
    }
    match wanted.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("null") => value.is_null(),
        Some("number") => value.is_number(),
        Some("integer") => value.is_i64() || value.is_u64(),
        _ => panic!("{wanted} is no type"),
    }
}

#[cfg(test)]
mod tests;
