//! Which arguments are repeated in headers, and that both say the same.

use http::{HeaderMap, HeaderName, HeaderValue};
use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
use serde_json::{Value, json};

use super::{InvalidParamHeader, MOST, ParamHeaders};
use crate::mirror::Fault;

fn tool() -> ParamHeaders {
    ParamHeaders::parse(&json!({
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "count": {"type": "integer", "x-mcp-header": "Count"},
            "force": {"type": "boolean", "x-mcp-header": "Force"},
            "query": {"type": "string"},
            "at": {"type": "object", "properties": {
                "zone": {"type": "string", "x-mcp-header": "Method"},
            }},
        },
    }))
    .unwrap()
}

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let pairs = pairs.iter();
    let mut map = HeaderMap::new();
    for (name, value) in pairs {
        map.append(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
    }
    map
}

fn check(pairs: &[(&'static str, &str)], arguments: &Value) -> Option<Fault> {
    tool().check(&headers(pairs), arguments).err().map(|mismatch| mismatch.fault)
}

#[test]
fn arguments_that_are_repeated_pass() {
    let arguments = json!({"region": "eu", "count": 42, "force": false, "query": "q", "at": {"zone": "世"}});
    let all = [
        ("mcp-param-region", "eu"),
        ("mcp-param-count", "42"),
        ("mcp-param-force", "false"),
        ("mcp-param-method", "=?base64?5LiW?="),
        ("mcp-param-of-nobody", "ignored"),
        ("mcp-param-of-nobody", "twice"),
        ("mcp-param-query", "ignored too"),
    ];
    assert_eq!(check(&all, &arguments), None);
    for nothing in
        [json!({}), json!(null), json!({"region": null, "at": null}), json!({"zone": "z", "at": {}})]
    {
        assert_eq!(check(&[], &nothing), None, "{nothing}");
    }
}

/// A18: an argument and its header cannot differ, and neither stands alone.
#[test]
fn an_argument_that_its_header_does_not_repeat_is_refused() {
    let eu = json!({"region": "eu"});
    assert_eq!(check(&[], &eu), Some(Fault::Missing));
    assert_eq!(check(&[("mcp-param-region", "us")], &eu), Some(Fault::Different));
    assert_eq!(check(&[("mcp-param-region", "EU")], &eu), Some(Fault::Different));
    assert_eq!(check(&[("mcp-param-region", "")], &eu), Some(Fault::Different));
    assert_eq!(check(&[("mcp-param-region", "=?base64?ZXU?=")], &eu), Some(Fault::Garbled));
    assert_eq!(check(&[("mcp-param-region", "eu"), ("mcp-param-region", "eu")], &eu), Some(Fault::Repeated));
    assert_eq!(check(&[], &json!({"at": {"zone": ""}})), Some(Fault::Missing));
    for without in [
        json!({}),
        json!(null),
        json!({"region": null}),
        json!({"region": ["eu"]}),
        json!({"at": {"region": "eu"}}),
    ] {
        assert_eq!(check(&[("mcp-param-region", "eu")], &without), Some(Fault::Surplus), "{without}");
    }
    let twice = [("mcp-param-region", "eu"), ("mcp-param-region", "us")];
    assert_eq!(check(&twice, &json!({})), Some(Fault::Repeated));
}

#[test]
fn numbers_are_compared_by_what_they_are() {
    let same =
        |body: Value, said: &str| check(&[("mcp-param-count", said)], &json!({"count": body})).is_none();
    for said in ["42", "42.0", "4.2e1", "420E-1", "=?base64?NDI=?="] {
        assert!(same(json!(42), said) && same(json!(42.0), said), "{said}");
    }
    for said in
        ["43", "042", "+42", "0x2a", "42.1", "4 2", "", "-42", "NaN", "=?base64?IDQy?=", "42,42", "٤٢"]
    {
        assert!(!same(json!(42), said), "{said}");
    }
    assert!(same(json!(0), "-0") && same(json!(-7), "-7") && same(json!(0.5), "5e-1"));
    assert!(same(json!(u64::MAX), "18446744073709551615") && same(json!(i64::MIN), "-9223372036854775808"));
    // As floating-point numbers each of these is the same as the other.
    assert!(!same(json!(9_007_199_254_740_993_u64), "9007199254740992"));
    assert!(!same(json!(9_007_199_254_740_993_u64), "9007199254740993.0"));
    assert!(!same(json!(1e30), "1000000000000000000000000000001"));
    assert!(!same(json!(1e30), "1e999"));
}

#[test]
fn only_the_two_words_of_json_are_truths() {
    let same =
        |body: bool, said: &str| check(&[("mcp-param-force", said)], &json!({"force": body})).is_none();
    assert!(same(true, "true") && same(false, "false"));
    for said in ["false", "True", "1", "", "yes"] {
        assert!(!same(true, said));
    }
}

#[test]
fn headers_are_written_in_place_of_what_was_there() {
    let mut map = headers(&[
        ("mcp-param-region", "old"),
        ("mcp-param-region", "older"),
        ("mcp-param-force", "true"),
        ("mcp-param-of-nobody", "stays"),
        ("mcp-method", "tools/call"),
    ]);
    let arguments = json!({"region": " eu", "count": 7, "force": null, "query": "q", "at": {"zone": "z"}});
    tool().write(&mut map, &arguments);
    let mut written: Vec<_> =
        map.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
    written.sort();
    insta::assert_snapshot!(written.join("\n"), @r"
    mcp-method: tools/call
    mcp-param-count: 7
    mcp-param-method: z
    mcp-param-of-nobody: stays
    mcp-param-region: =?base64?IGV1?=
    ");
    assert_eq!(tool().check(&map, &arguments), Ok(()));
}

fn invalid(schema: &Value) -> InvalidParamHeader {
    match ParamHeaders::parse(schema) {
        Ok(_) => panic!("it is valid: {schema}"),
        Err(fault) => fault,
    }
}

/// B14: a schema cannot name a header that is none, or set one that means something else.
#[test]
fn a_name_that_is_no_token_is_refused() {
    let named = |name: &Value| json!({"properties": {"a": {"properties": {"b": {"type": "string", "x-mcp-header": name}}}}});
    for name in
        [json!(""), json!(null), json!(7), json!(["Region"]), json!("Région"), json!("a".repeat(1 << 17))]
    {
        assert_eq!(invalid(&named(&name)), InvalidParamHeader::Name { property: "a.b".into() });
    }
    for byte in 0..=127_u8 {
        let name = format!("X{}Y", char::from(byte));
        let token = byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        assert_eq!(ParamHeaders::parse(&named(&json!(name))).is_ok(), token, "{name:?}");
    }
    let mut map = HeaderMap::new();
    let hostile = ParamHeaders::parse(&named(&json!("Authorization"))).unwrap();
    hostile.write(&mut map, &json!({"a": {"b": "x\r\nAuthorization: y"}}));
    assert_eq!(map.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["mcp-param-authorization"]);
}

/// B14: two arguments cannot share a header.
#[test]
fn a_name_that_is_taken_is_refused() {
    for (one, other) in [("Region", "Region"), ("MyField", "myfield")] {
        let flat = json!({"properties": {
            "a": {"type": "string", "x-mcp-header": one}, "b": {"type": "string", "x-mcp-header": other},
        }});
        assert_eq!(invalid(&flat), InvalidParamHeader::Taken { property: "b".into() });
        let nested = json!({"properties": {
            "a": {"type": "string", "x-mcp-header": one},
            "b": {"properties": {"c": {"type": "string", "x-mcp-header": other}}},
        }});
        assert_eq!(invalid(&nested), InvalidParamHeader::Taken { property: "b.c".into() });
    }
}

#[test]
fn only_a_string_an_integer_or_a_boolean_is_repeated() {
    for kind in [
        json!("object"),
        json!("array"),
        json!("null"),
        json!("number"),
        json!(["string", "null"]),
        json!(null),
    ] {
        let schema = json!({"properties": {"a": {"type": kind, "x-mcp-header": "A"}}});
        assert_eq!(invalid(&schema), InvalidParamHeader::Type { property: "a".into() });
    }
    let untyped = json!({"properties": {"a": {"x-mcp-header": "A"}}});
    insta::assert_snapshot!(invalid(&untyped), @"`a` has an `x-mcp-header`, but is neither a string, an integer nor a boolean");
}

/// B14: it is always clear which argument a header repeats.
#[test]
fn an_argument_that_is_not_reached_by_properties_alone_is_not_repeated() {
    let marked = json!({"type": "string", "x-mcp-header": "A"});
    for schema in [
        marked.clone(),
        json!({"properties": {"a": {"type": "array", "items": marked}}}),
        json!({"properties": {"a": {"items": {"properties": {"b": marked}}}}}),
        json!({"properties": {"a": {"prefixItems": [true, marked]}}}),
        json!({"properties": {"a": {"oneOf": [marked]}}}),
        json!({"anyOf": [{"properties": {"a": marked}}]}),
        json!({"allOf": [{"properties": {"a": marked}}]}),
        json!({"if": {}, "then": {"properties": {"a": marked}}}),
        json!({"not": {"properties": {"a": marked}}}),
        json!({"additionalProperties": marked}),
        json!({"patternProperties": {"^a": marked}}),
        json!({"dependentSchemas": {"a": {"properties": {"b": marked}}}}),
        json!({"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": marked}}),
        json!({"$defs": {"default": marked}}),
        json!({"definitions": {"enum": {"properties": {"a": marked}}}}),
    ] {
        assert_eq!(invalid(&schema), InvalidParamHeader::Place, "{schema}");
    }
}

#[test]
fn the_keyword_means_nothing_among_values_and_names() {
    for schema in [
        json!({}),
        json!(true),
        json!(null),
        json!({"properties": {"a": true, "b": {"type": "string"}}}),
        json!({"properties": {"x-mcp-header": {"type": "string"}}, "required": ["x-mcp-header"]}),
        json!({"$defs": {"x-mcp-header": {"type": "string"}}}),
        json!({"default": {"x-mcp-header": ""}, "examples": [{"x-mcp-header": 1}], "enum": [{"x-mcp-header": 1}]}),
        json!({"properties": {"a": {"const": {"x-mcp-header": ""}}}}),
        json!({"properties": 7, "$defs": [1], "items": "x"}),
    ] {
        assert!(ParamHeaders::parse(&schema).is_ok_and(|headers| headers.is_empty()), "{schema}");
    }
    assert!(!tool().is_empty());
}

/// B14: no schema makes a request that no server takes.
#[test]
fn the_number_of_headers_has_a_limit() {
    let schema = |count: usize| {
        let property =
            |n: usize| (format!("p{n}"), json!({"type": "string", "x-mcp-header": format!("P{n}")}));
        json!({"properties": (0..count).map(property).collect::<serde_json::Map<_, _>>()})
    };
    assert!(ParamHeaders::parse(&schema(MOST)).is_ok());
    assert_eq!(invalid(&schema(MOST + 1)), InvalidParamHeader::TooMany);
}

proptest! {
    /// A18: what we write to a server is what we would accept ourselves, and only for these
    /// arguments.
    #[test]
    fn what_is_written_passes_the_check(
        region in any::<Option<String>>(), count in any::<Option<i64>>(), force in any::<Option<bool>>(),
        other in any::<String>(), more in any::<i64>(),
    ) {
        let arguments = json!({"region": region, "count": count, "force": force});
        let mut map = HeaderMap::new();
        tool().write(&mut map, &arguments);
        prop_assert_eq!(tool().check(&map, &arguments), Ok(()));
        let same = region.as_ref() == Some(&other) && count == Some(more);
        let changed = json!({"region": other, "count": more, "force": force});
        prop_assert_eq!(tool().check(&map, &changed).is_ok(), same);
        let turned = json!({"region": region, "count": count, "force": force.is_none_or(|force| !force)});
        prop_assert!(tool().check(&map, &turned).is_err());
    }
}
