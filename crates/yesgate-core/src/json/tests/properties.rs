//! What holds for every text and every value.

use proptest::collection::{btree_map, vec};
use proptest::prelude::{Just, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use serde_json::Value;

use super::{canonical, lenient, strict};
use crate::json::{CanonicalJson, JsonError, Limits, parse_lenient, parse_strict};

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-20_i64..20).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    let key = prop_oneof!["[a-cA-C]{0,2}", any::<String>()];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(key.clone(), inner, 0..4).prop_map(|members| members.into_iter().collect()),
        ]
    })
}

/// Strings of pieces that JSON is made of, well-formed now and then.
fn soups() -> impl Strategy<Value = String> {
    let pieces = vec![
        "{", "}", "[", "]", ",", ":", "\"", "\\", "\"a\"", "\"a\":", "{\"a\":", "[1,", "1", "-", "0", ".5",
        "e9", "E+400", "true", "null", " ", "\n", "\\ud83d", "ſ", "\u{0}",
    ];
    vec(proptest::sample::select(pieces), 0..12).prop_map(|pieces| pieces.concat())
}

/// Spells a value in an unusual way: keys backwards, blanks, escapes, long numbers.
fn respelled(value: &Value) -> String {
    let list = |parts: Vec<String>| parts.join("\t, ");
    match value {
        Value::Null | Value::Bool(_) => format!(" {value}\n"),
        Value::Number(number) => {
            let text = number.to_string();
            let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let point = if digits.contains('.') { "" } else { "." };
            format!("{digits}{point}00E{exponent}")
        }
        Value::String(text) => {
            let escaped: String = text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
            format!("\"{escaped}\"")
        }
        Value::Array(items) => format!("[ {} ]", list(items.iter().map(respelled).collect())),
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| {
                format!("{} : {}", respelled(&Value::from(key.as_str())), respelled(value))
            };
            format!("{{\r{} }}", list(members.iter().rev().map(member).collect()))
        }
    }
}

/// Writes a decimal without an exponent, a point or superfluous zeros at its ends.
fn plain(text: &str) -> (String, i32) {
    let (digits, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let joined = format!("{whole}{fraction}");
    let kept = joined.trim_end_matches('0');
    let power = exponent.parse::<i32>().unwrap() - fraction.len() as i32 + (joined.len() - kept.len()) as i32;
    let kept = kept.trim_start_matches('0');
    (kept.to_owned(), if kept.is_empty() { 0 } else { power })
}

proptest! {
    #[test]
    fn the_canonical_text_is_a_fixed_point(value in values()) {
        let once = canonical(&value);
        let twice = canonical(&once.to_value());
        prop_assert_eq!(once.as_str(), twice.as_str());
        let back: CanonicalJson = serde_json::from_str(&serde_json::to_string(&once).unwrap()).unwrap();
        prop_assert_eq!(back, once);
    }

    #[test]
    fn what_is_plain_is_spelled_as_anything_else_is(value in values()) {
        prop_assert_eq!(canonical(&value).to_string(), serde_json_canonicalizer::to_string(&value).unwrap());
    }

    #[test]
    fn key_order_blanks_and_spelling_do_not_change_the_text(value in values()) {
        let other = lenient(&respelled(&value)).unwrap();
        prop_assert_eq!(canonical(&other).to_string(), canonical(&value).to_string());
    }

    #[test]
    fn different_values_have_different_texts(one in values(), other in values()) {
        for (one, other) in [(&one, &other), (&one, &one)] {
            if let (Ok(one), Ok(other)) = (strict(&one.to_string()), strict(&respelled(other))) {
                prop_assert_eq!(one == other, canonical(&one) == canonical(&other));
            }
        }
    }

    #[test]
    fn accepted_text_reads_back_as_the_same_value(value in values()) {
        if let Ok(value) = strict(&value.to_string()) {
            let canonical = canonical(&value);
            prop_assert_eq!(&canonical.to_value(), &value);
            prop_assert_eq!(strict(canonical.as_str()).unwrap(), value);
        }
    }

    #[test]
    fn a_number_is_accepted_if_and_only_if_its_value_is_kept(
        whole in any::<u64>(), cut in 1_u64..=u64::MAX, fraction in "[0-9]{1,20}", exponent in -330..310,
    ) {
        // Just below 2⁵¹ doubles are quarters apart: two shortest decimals are equally near.
        let near_a_tie = format!("{}.{:.2}", whole >> 13, fraction);
        for token in [format!("{whole}.{fraction}e{exponent}"), format!("{}.{fraction}", whole / cut), near_a_tie] {
            if let Ok(value) = lenient(&token) {
                let kept = plain(&token) == plain(canonical(&value).as_str());
                prop_assert_eq!(strict(&token).is_ok(), kept, "{}", token);
            }
        }
    }

    #[test]
    fn a_text_that_is_written_late_is_the_one_that_is_written_at_once(value in values()) {
        if let Ok(read) = strict(&value.to_string()) {
            let late = CanonicalJson::of_strict(read.clone()).unwrap();
            let at_once = canonical(&read);
            prop_assert_eq!(late.to_value(), read);
            prop_assert_eq!(late.to_value(), at_once.to_value());
            prop_assert_eq!(late.as_str(), at_once.as_str());
        }
    }

    #[test]
    fn every_double_is_read_as_itself(bits in any::<u64>()) {
        let double = f64::from_bits(bits);
        if double.is_finite() {
            let text = canonical(&Value::from(double));
            prop_assert_eq!(strict(text.as_str()).unwrap().as_f64(), Some(double));
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in vec(any::<u8>(), 0..64)) {
        let accepted = parse_strict(&bytes, Limits::default()).is_ok();
        prop_assert!(!accepted || parse_lenient(&bytes, Limits::default()).is_ok());
    }

    #[test]
    fn json_is_what_the_json_library_takes_for_json(soup in soups()) {
        let theirs = serde_json::from_str::<Value>(&soup);
        match lenient(&soup) {
            Ok(ours) => prop_assert_eq!(canonical(&ours), canonical(&theirs.unwrap())),
            Err(JsonError::DuplicateKey { .. }) => {}
            Err(error) => prop_assert!(theirs.is_err(), "{}", error),
        }
        if let Ok(value) = strict(&soup) {
            prop_assert_eq!(lenient(&soup).unwrap(), value);
        }
    }
}
