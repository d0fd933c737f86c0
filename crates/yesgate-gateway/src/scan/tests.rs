//! The scanner sees what `serde_json` sees, and whatever it is given it stays within the text.

use std::fmt;
use std::ops::Range;

use proptest::prelude::{Just, Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{DEEPEST, MemberError, NotJson, key_is, member, members};

/// The members as `serde_json` has them: the key, unescaped, and the span of the value.
struct Reference<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Reference<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Seen;
        impl<'de> Visitor<'de> for Seen {
            type Value = Reference<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut seen = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    seen.push(entry);
                }
                Ok(Reference(seen))
            }
        }
        deserializer.deserialize_map(Seen)
    }
}

fn reference(text: &[u8]) -> Option<Vec<(String, Range<usize>)>> {
    let Reference(seen) = serde_json::from_slice(text).ok()?;
    let span = |raw: &RawValue| {
        let start = raw.get().as_ptr().addr() - text.as_ptr().addr();
        start..start + raw.get().len()
    };
    Some(seen.into_iter().map(|(key, raw)| (key, span(raw))).collect())
}

/// What must hold for any bytes at all.
fn check_any(text: &[u8]) {
    let mut end = 0;
    let mut found: Result<Vec<_>, NotJson> = Ok(Vec::new());
    let mut iterator = members(text);
    // Each member takes at least four bytes.
    for step in iterator.by_ref().take(text.len() + 1) {
        match (step, &mut found) {
            (Ok((key, value)), Ok(found)) => {
                assert!(end < value.start && value.start < value.end && value.end <= text.len());
                end = value.end;
                found.push((key, value));
            }
            (Err(fault), Ok(_)) => {
                assert!(fault.at <= text.len());
                found = Err(fault);
            }
            (_, Err(_)) => panic!("something came after a fault"),
        }
    }
    assert!(iterator.next().is_none(), "it ends, and stays at its end");

    if let Some(expected) = reference(text) {
        let found = found.expect("what serde_json reads can be followed");
        assert_eq!(found.len(), expected.len());
        for ((written, span), (key, expected)) in found.into_iter().zip(expected) {
            assert!(key_is(written, &key), "{key:?} is {:?}", String::from_utf8_lossy(written));
            assert_eq!(span, expected);
        }
    }
}

fn white() -> impl Strategy<Value = String> {
    prop_oneof![4 => Just(String::new()), 1 => "[ \n\r\t]{0,3}"]
}

fn string() -> impl Strategy<Value = String> {
    let escape = prop_oneof![
        prop::sample::select(vec!["\\\"", "\\\\", "\\/", "\\b", "\\f", "\\n", "\\r", "\\t"])
            .prop_map(str::to_owned),
        any::<char>().prop_map(|c| {
            let mut units = [0; 2];
            c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect()
        }),
    ];
    let piece = prop_oneof![3 => "[a-z{}\\[\\],: ]{0,6}", 1 => "[^\"\\\\\\x00-\\x1f]{0,3}", 1 => escape];
    prop::collection::vec(piece, 0..5).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}

fn object(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let member = (white(), string(), white(), white(), value, white())
        .prop_map(|(a, key, b, c, value, d)| format!("{a}{key}{b}:{c}{value}{d}"));
    (white(), prop::collection::vec(member, 0..5)).prop_map(|(inside, members)| match members.len() {
        0 => format!("{{{inside}}}"),
        _ => format!("{{{}}}", members.join(",")),
    })
}

fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        string(),
        "-?(0|[1-9][0-9]{0,8})(\\.[0-9]{1,4})?([eE][+-]?[0-9]{1,2})?",
        prop::sample::select(vec!["true", "false", "null", "[]", "{}"]).prop_map(str::to_owned),
    ];
    leaf.prop_recursive(6, 60, 5, |inner| {
        let element = (white(), inner.clone(), white()).prop_map(|(a, value, b)| format!("{a}{value}{b}"));
        let array =
            prop::collection::vec(element, 1..5).prop_map(|elements| format!("[{}]", elements.join(",")));
        prop_oneof![array, object(inner)]
    })
}

fn text() -> impl Strategy<Value = String> {
    (white(), object(value()), white()).prop_map(|(a, object, b)| format!("{a}{object}{b}"))
}

proptest! {
    #[test]
    fn of_every_object_the_spans_are_those_of_serde_json(text in text()) {
        prop_assert!(reference(text.as_bytes()).is_some(), "{}", text);
        check_any(text.as_bytes());
    }

    #[test]
    fn an_object_that_was_damaged_is_never_read_beyond_its_end(
        text in text(),
        cut in any::<prop::sample::Index>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        marks in prop::collection::vec((any::<prop::sample::Index>(), "[{}\\[\\],:\"\\\\tn0-]"), 0..3),
    ) {
        let mut bytes = text.into_bytes();
        for (place, byte) in edits {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        for (place, mark) in marks {
            let place = place.index(bytes.len());
            bytes.insert(place, mark.as_bytes()[0]);
        }
        check_any(&bytes);
        check_any(&bytes[..cut.index(bytes.len())]);
    }

    #[test]
    fn bytes_that_are_anything_are_never_read_beyond_their_end(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        check_any(&bytes);
    }

    #[test]
    fn a_key_is_recognised_however_it_is_written(key in ".{0,8}", styles in prop::collection::vec(any::<bool>(), 8)) {
        let mut written = String::new();
        for (c, plain) in key.chars().zip(styles) {
            if plain && c >= ' ' && c != '"' && c != '\\' {
                written.push(c);
            } else {
                let mut units = [0; 2];
                written.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04X}")));
            }
        }
        prop_assert!(key_is(written.as_bytes(), &key));
        let longer = format!("{key}x");
        prop_assert!(!key_is(written.as_bytes(), &longer));
        prop_assert_eq!(key_is(written.as_bytes(), ""), key.is_empty());
    }
}

#[test]
fn broken_json_is_refused_where_it_breaks() {
    let check = |text: &str, at: usize| {
        check_any(text.as_bytes());
        assert_eq!(members(text.as_bytes()).find_map(Result::err), Some(NotJson { at }), "{text}");
    };
    check("", 0);
    check("  ", 2);
    check("null", 0);
    check("[1]", 0);
    check("\u{feff}{}", 0);
    check("{", 1);
    check("}", 0);
    check("{} {}", 3);
    check("{}x", 2);
    check(r#"{"a":1}]"#, 7);
    check(r#"{"a"}"#, 4);
    check(r#"{"a" 1}"#, 5);
    check(r#"{"a":}"#, 5);
    check(r#"{"a":1,}"#, 7);
    check(r#"{,"a":1}"#, 1);
    check(r#"{"a":1 "b":2}"#, 7);
    check(r#"{"a":1;"b":2}"#, 6);
    check(r"{a:1}", 1);
    check(r"{'a':1}", 1);
    check(r#"{"a:1}"#, 6);
    check(r#"{"a":"b}"#, 8);
    check(r#"{"a":"b\"}"#, 10);
    check(r#"{"a":"b\"#, 8);
    check(r#"{"a":[1}"#, 7);
    check(r#"{"a":{"b":1]}"#, 11);
    check(r#"{"a":[}]}"#, 6);
    check(r#"{"a":[,1]}"#, 6);
    check(r#"{"a":[1,]}"#, 8);
    check(r#"{"a":[1 2]}"#, 8);
    check(r#"{"a":{"b"}}"#, 9);
    check(r#"{"a":{"b":1,}}"#, 12);
    check(r#"{"a":{1:2}}"#, 6);
    check(r#"{"a":["b":1]}"#, 9);
    check(r#"{"a":tru}"#, 5);
    check(r#"{"a":True}"#, 5);
    check(r#"{"a":nullx}"#, 9);
    check(r#"{"a":NaN}"#, 5);
    check(r#"{"a":.5}"#, 5);
    check(r#"{"a":+5}"#, 5);
    check(r#"{"a":0x5}"#, 6);
    check(r#"{"a":1/**/}"#, 6);
    check("{\"a\":1\0}", 6);
    check("{\"a\":\u{a0}1}", 5);
}

#[test]
fn the_depth_has_a_limit_that_no_value_of_serde_json_reaches() {
    let nested = |levels: u32, open: &str, close: &str| {
        let levels = usize::try_from(levels).unwrap() - 1;
        format!("{{\"a\":{}1{}}}", open.repeat(levels), close.repeat(levels))
    };
    for (open, close) in [("[", "]"), ("{\"b\":", "}"), ("[{\"c\":", "}]")] {
        let per_piece = u32::try_from(open.matches(['[', '{']).count()).unwrap();
        let pieces = (DEEPEST - 1) / per_piece;
        let (deepest, too_deep) = (nested(pieces + 1, open, close), nested(pieces + 2, open, close));
        check_any(deepest.as_bytes());
        assert!(members(deepest.as_bytes()).all(|step| step.is_ok()));
        assert!(members(too_deep.as_bytes()).any(|step| step.is_err()));
        assert!(serde_json::from_str::<serde_json::Value>(&too_deep).is_err());
    }
}

#[test]
fn a_member_is_found_in_its_own_bytes() {
    let check = |text: &str, key: &str, expected: Result<Option<&str>, MemberError>| {
        let found = member(text.as_bytes(), key).map(|place| place.and_then(|place| text.get(place)));
        assert_eq!(found, expected, "{text}");
    };
    let text = r#" {"jsonrpc":"2.0","i\u0064" : 1.0e0 ,"params":{ "id":2 }, "":[]} "#;
    check(text, "id", Ok(Some("1.0e0")));
    check(text, "params", Ok(Some(r#"{ "id":2 }"#)));
    check(text, "", Ok(Some("[]")));
    check(text, "method", Ok(None));
    check("{}", "id", Ok(None));
    check(r#"{"id":"}"}"#, "id", Ok(Some(r#""}""#)));
    check(r#"{"a":"\\","id":"\\\"{"}"#, "id", Ok(Some(r#""\\\"{""#)));
}

/// A18: two readers of one message cannot take two different values of one key.
#[test]
fn a_key_that_is_there_twice_is_an_error_however_it_is_written() {
    for text in [r#"{"id":1,"id":2}"#, r#"{"id":1,"x":0,"\u0069d":1}"#, r#"{"\u0069\u0064":1,"i\u0064":1}"#] {
        assert_eq!(member(text.as_bytes(), "id"), Err(MemberError::Repeated), "{text}");
        assert!(member(text.as_bytes(), "x").is_ok());
    }
    // What comes after the member is read too.
    assert_eq!(member(br#"{"id":1,"x":}"#, "id"), Err(NotJson { at: 12 }.into()));
}

#[test]
fn a_backslash_in_a_key_is_an_escape_even_where_the_bytes_are_the_same() {
    assert!(key_is(br"a\n", "a\n") && !key_is(br"a\n", r"a\n"));
    assert!(key_is(br"a\\n", r"a\n") && !key_is(br"a\\n", r"a\\n"));
}

#[test]
fn a_key_whose_escapes_mean_nothing_is_no_key_at_all() {
    for written in [
        r"i\",
        r"i\x64",
        r"i\u006",
        r"i\u00g4",
        r"\ud800",
        r"\ud800\u0064",
        r"\udc00",
        r"\ud800x",
        r"i\u+064",
    ] {
        for key in ["id", "i", "", "\u{fffd}", "x"] {
            assert!(!key_is(written.as_bytes(), key), "{written} {key}");
        }
    }
}
