//! Frozen vectors, and what a digest tells apart.

use proptest::prelude::{Strategy as _, any, prop, prop_assert_eq, prop_assert_ne, proptest};
use serde_json::{Value, json};

use super::{Binding, Digest};
use crate::digest::Hasher;
use crate::fixture::binding;
use crate::json::CanonicalJson;
use crate::mode::Mode;

/// A change of these strings makes every stored consent a mismatch: they never change.
#[test]
fn the_vectors_are_frozen() {
    let digest = |arguments: Value| binding(&arguments).digest().to_string();
    let vectors = [
        digest(json!({})),
        digest(json!({"to": "scale"})),
        digest(json!({"a": [1, 0.01, "é", null, true], "b": {"c": -1}})),
        binding(&json!({})).digest().match_code(),
    ];
    assert_eq!(
        vectors,
        [
            "12021dcafd1b09b4c043f4c367b82f932c34dcb755ee5717b78c414c33757bb2",
            "0fea2125ba7a3468a8c0971285e61dd34c42374224ff722f23b015f09c251dfa",
            "de17bf46b6a46315e4feb1c3fea824fc89b4447031d2e54c50e2dd90ed62a05f",
            "2811-vjqx",
        ]
    );
}

#[test]
fn fields_cannot_slide_into_each_other() {
    let mut one = Hasher::new("test");
    one.field(b"ab").field(b"c");
    let mut other = Hasher::new("test");
    other.field(b"a").field(b"bc");
    assert_ne!(one.finish(), other.finish());
}

/// H4: bound to org, principal, client, operation, params and tool definition.
#[test]
fn every_bound_field_changes_the_digest_and_is_named() {
    let base = binding(&json!({"to": "scale"}));
    let change = |edit: fn(&mut Binding)| {
        let mut changed = base.clone();
        edit(&mut changed);
        changed
    };
    let rows: [(&str, Binding); 10] = [
        ("org", change(|b| b.caller.org = "other".parse().unwrap())),
        ("principal", change(|b| b.caller.principal = "eve".parse().unwrap())),
        ("client", change(|b| b.caller.client = "cursor".parse().unwrap())),
        ("server", change(|b| b.server = "shop".parse().unwrap())),
        ("operation", change(|b| b.tool = "downgrade_plan".parse().unwrap())),
        ("operation", change(|b| b.method = "custom".into())),
        ("tool_definition", change(|b| b.definition.0 = Digest::rehydrate([1; 32]))),
        ("params", change(|b| b.arguments = CanonicalJson::empty_object())),
        ("meta", change(|b| b.meta = CanonicalJson::of(&json!({"x": 1})).unwrap())),
        ("mode", change(|b| b.mode = Mode::Plan)),
    ];
    for (field, changed) in rows {
        assert_ne!(changed.digest(), base.digest(), "{field}");
        assert_eq!(base.difference(&changed), Some(field));
    }
    assert_eq!(base.difference(&base.clone()), None);
}

#[test]
fn a_digest_reads_back_what_it_prints() {
    let digest = Digest::rehydrate([0xa7; 32]);
    assert_eq!(digest.to_string().parse(), Ok(digest));
    for text in ["", "a7", &"g".repeat(64), &"A".repeat(64)] {
        assert!(text.parse::<Digest>().is_err(), "{text}");
    }
}

fn values() -> impl proptest::strategy::Strategy<Value = Value> {
    let leaf = proptest::prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z\u{e9}\u{301}]{0,4}".prop_map(Value::from),
        proptest::strategy::Just(Value::Null),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        proptest::prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{1,3}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn reversed(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let fields: Vec<String> = map
                .iter()
                .rev()
                .map(|(key, value)| format!(" {} : {} ", Value::from(key.as_str()), reversed(value)))
                .collect();
            format!("{{{}}}", fields.join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(reversed).collect::<Vec<_>>().join(" , ")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

proptest! {
    /// Digests ignore key order and spaces …
    #[test]
    fn key_order_and_spaces_do_not_matter(value in values()) {
        let text = reversed(&value);
        let again = crate::json::parse_strict(text.as_bytes(), crate::json::Limits::default()).unwrap();
        prop_assert_eq!(binding(&value).digest(), binding(&again).digest());
    }

    /// … and nothing else.
    #[test]
    fn different_values_have_different_digests(one in values(), other in values()) {
        if one != other {
            prop_assert_ne!(binding(&one).digest(), binding(&other).digest());
        }
    }
}
