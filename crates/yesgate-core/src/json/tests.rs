//! What is refused, what is let through, and how it is written.

mod properties;
mod rfc8785;

use serde_json::{Value, json};
use unicode_normalization::UnicodeNormalization;

use super::{CanonicalJson, JsonError, Limits, fold_key, parse_lenient, parse_strict};

fn strict(text: &str) -> Result<Value, JsonError> {
    parse_strict(text.as_bytes(), Limits::default())
}

fn lenient(text: &str) -> Result<Value, JsonError> {
    parse_lenient(text.as_bytes(), Limits::default())
}

fn canonical(value: &Value) -> CanonicalJson {
    CanonicalJson::of(value).unwrap()
}

/// One line per input: its canonical text, or why it was refused.
fn table(read: impl Fn(&str) -> Result<Value, JsonError>, inputs: &[&str]) -> String {
    let line = |input: &&str| {
        let shown = input.replace('\n', "<LF>").replace('\u{feff}', "<BOM>");
        match read(input) {
            Ok(value) => format!("{shown} => {}\n", canonical(&value)),
            Err(error) => format!("{shown} => refused: {error}\n"),
        }
    };
    inputs.iter().map(line).collect()
}

/// A16, PAR1, PAR2, PAR6: what readers are known to disagree on.
#[test]
fn what_readers_disagree_on_is_refused_or_has_one_spelling() {
    let inputs = [
        r#"{"arguments":{"path":"a","path":"b"}}"#,
        r#"{"params":{"name":"read","name":"delete"}}"#,
        r#"{"method":"ping","method":"tools/call"}"#,
        r#"{"params":{"name":"read","Name":"delete"}}"#,
        r#"{"params":1,"paramſ":2}"#,
        r#"{"\u00e9":1,"e\u0301":2}"#,
        r#"{"a":[1e400]}"#,
        "9007199254740993",
        "18446744073709551616",
        "-0",
        r#""\ud800""#,
        r#""\udc00\ud800""#,
        "NaN",
        "[Infinity]",
        r#""\u0000""#,
        "\u{feff}{}",
        "{} {}",
        "[",
        "[1,]",
        "\"a\nb\"",
        "01",
        "+1",
        "{'a':1}",
        "/**/1",
    ];
    insta::assert_snapshot!(table(strict, &inputs), @r#"
    {"arguments":{"path":"a","path":"b"}} => refused: the key `path` occurs twice at `/arguments`
    {"params":{"name":"read","name":"delete"}} => refused: the key `name` occurs twice at `/params`
    {"method":"ping","method":"tools/call"} => refused: the key `method` occurs twice at the top level
    {"params":{"name":"read","Name":"delete"}} => refused: the keys `name` and `Name` at `/params` look alike, send one of them
    {"params":1,"paramſ":2} => refused: the keys `params` and `param\u{17f}` at the top level look alike, send one of them
    {"\u00e9":1,"e\u0301":2} => refused: the keys `\u{e9}` and `e\u{301}` at the top level look alike, send one of them
    {"a":[1e400]} => refused: the number `1e400` at `/a/0` would not keep its value, send it as a string
    9007199254740993 => refused: the number `9007199254740993` at the top level would not keep its value, send it as a string
    18446744073709551616 => refused: the number `18446744073709551616` at the top level would not keep its value, send it as a string
    -0 => 0
    "\ud800" => refused: the text is not valid JSON: unexpected end of hex escape at line 1, column 8
    "\udc00\ud800" => refused: the text is not valid JSON: lone leading surrogate in hex escape at line 1, column 7
    NaN => refused: the text is not valid JSON: expected value at line 1, column 1
    [Infinity] => refused: the text is not valid JSON: expected value at line 1, column 2
    "\u0000" => "\u0000"
    <BOM>{} => refused: the text is not valid JSON: expected value at line 1, column 1
    {} {} => refused: the text is not valid JSON: trailing characters at line 1, column 4
    [ => refused: the text is not valid JSON: EOF while parsing a list at line 1, column 1
    [1,] => refused: the text is not valid JSON: trailing comma at line 1, column 4
    "a<LF>b" => refused: the text is not valid JSON: control character (\u0000-\u001F) found while parsing a string at line 2, column 0
    01 => refused: the text is not valid JSON: invalid number at line 1, column 2
    +1 => refused: the text is not valid JSON: expected value at line 1, column 1
    {'a':1} => refused: the text is not valid JSON: key must be a string at line 1, column 2
    /**/1 => refused: the text is not valid JSON: expected value at line 1, column 1
    "#);
}

/// A16: bytes that are not UTF-8, among them overlong and surrogate encodings.
#[test]
fn bytes_that_are_not_utf8_are_refused() {
    for bytes in [&b"\"\xff\""[..], b"\"\xc0\xaf\"", b"\"\xed\xa0\x80\"", b"\xfe\xff\x00\x31"] {
        assert_eq!(parse_strict(bytes, Limits::default()), Err(JsonError::NotUtf8));
        assert_eq!(parse_lenient(bytes, Limits::default()), Err(JsonError::NotUtf8));
    }
}

/// PAR2, I6: a double must hold what was sent.
#[test]
fn a_number_that_a_double_does_not_hold_is_refused() {
    let inputs = [
        "0.01",
        "1.10",
        "1e2",
        "100.0",
        "-0.0",
        "0e99999999999999999999",
        "9007199254740991",
        "9007199254740992",
        "9007199254740994",
        "-9007199254740994",
        "1e21",
        "123456789012345678e3",
        "9223372036854775807",
        "9223372036854775808",
        "9.223372036854776e18",
        "-9223372036854775808",
        "18446744073709551615",
        "18446744073709552000",
        "0.1000000000000000055",
        "0.1000000000000000000",
        "0.30000000000000004",
        "1424953923781206.2",
        "1424953923781206.25",
        "1424953923781206.3",
        "1.7976931348623157e308",
        "1.7976931348623159e308",
        "-1e400",
        "1e-400",
        "5e-324",
        "4.9e-324",
        "1e99999999999999999999",
    ];
    insta::assert_snapshot!(table(strict, &inputs), @r#"
    0.01 => 0.01
    1.10 => 1.1
    1e2 => 100
    100.0 => 100
    -0.0 => 0
    0e99999999999999999999 => 0
    9007199254740991 => 9007199254740991
    9007199254740992 => 9007199254740992
    9007199254740994 => 9007199254740994
    -9007199254740994 => -9007199254740994
    1e21 => 1e+21
    123456789012345678e3 => refused: the number `123456789012345678e3` at the top level would not keep its value, send it as a string
    9223372036854775807 => refused: the number `9223372036854775807` at the top level would not keep its value, send it as a string
    9223372036854775808 => refused: the number `9223372036854775808` at the top level would not keep its value, send it as a string
    9.223372036854776e18 => 9223372036854776000
    -9223372036854775808 => refused: the number `-9223372036854775808` at the top level would not keep its value, send it as a string
    18446744073709551615 => refused: the number `18446744073709551615` at the top level would not keep its value, send it as a string
    18446744073709552000 => 18446744073709552000
    0.1000000000000000055 => refused: the number `0.1000000000000000055` at the top level would not keep its value, send it as a string
    0.1000000000000000000 => 0.1
    0.30000000000000004 => 0.30000000000000004
    1424953923781206.2 => 1424953923781206.2
    1424953923781206.25 => refused: the number `1424953923781206.25` at the top level would not keep its value, send it as a string
    1424953923781206.3 => refused: the number `1424953923781206.3` at the top level would not keep its value, send it as a string
    1.7976931348623157e308 => 1.7976931348623157e+308
    1.7976931348623159e308 => refused: the number `1.7976931348623159e308` at the top level would not keep its value, send it as a string
    -1e400 => refused: the number `-1e400` at the top level would not keep its value, send it as a string
    1e-400 => refused: the number `1e-400` at the top level would not keep its value, send it as a string
    5e-324 => 5e-324
    4.9e-324 => refused: the number `4.9e-324` at the top level would not keep its value, send it as a string
    1e99999999999999999999 => refused: the number `1e99999999999999999999` at the top level would not keep its value, send it as a string
    "#);
}

#[test]
fn a_number_means_the_same_however_it_is_spelled() {
    for text in ["100", "100.0", "1e2", "1.00E+2", "1000e-1"] {
        assert_eq!(strict(text).unwrap(), json!(100));
    }
    for text in ["0", "-0", "0.0", "-0e5"] {
        assert_eq!(strict(text).unwrap(), json!(0));
    }
    for text in ["9223372036854776000", "9.223372036854776e18", "9223372036854776000.0"] {
        assert_eq!(strict(text).unwrap(), json!(9_223_372_036_854_776_000_u64));
    }
}

/// PAR6: Unicode's NFKC with case folding.
#[test]
fn keys_that_look_alike_are_refused_together() {
    let check = |first: &str, second: &str| {
        let text = json!({"in": [{first: 1, second: 2, "Zz": 3}]}).to_string();
        let Err(JsonError::LookalikeKeys { path, .. }) = strict(&text) else {
            panic!("{first:?} and {second:?} were let through");
        };
        assert_eq!(path, "/in/0");
        assert_eq!(fold_key(first), fold_key(second));
        strict(&json!({first: 1}).to_string()).unwrap();
        strict(&json!({second: 1}).to_string()).unwrap();
        lenient(&text).unwrap();
    };
    check("name", "Name");
    check("NAME", "nAME");
    check("params", "param\u{17f}");
    check("key", "\u{212a}ey");
    check("a\u{e9}", "ae\u{301}");
    check("name", "\u{ff4e}\u{ff41}\u{ff4d}\u{ff45}");
    check("stra\u{df}e", "STRA\u{1e9e}E");
    check("stra\u{df}e", "strasse");
    check("\u{3c3}", "\u{3c2}");
    check("id", "\u{131}d");
    check("na\u{200b}me", "name");
    check("\u{390}", "\u{3aa}\u{301}");
    check("\u{438}\u{43c}\u{44f}", "\u{418}\u{41c}\u{42f}");
}

/// The scripts that have case or composed forms; ideographs and private use have neither.
#[test]
fn every_character_folds_like_its_other_spellings() {
    for character in ('\0'..'\u{3400}').chain('\u{f900}'..='\u{ffff}').chain('\u{10400}'..='\u{10fff}') {
        let key = character.to_string();
        let spellings = [
            key.to_lowercase(),
            key.to_uppercase(),
            key.nfd().collect(),
            key.nfkd().collect(),
            fold_key(&key),
        ];
        for other in spellings {
            assert_eq!(fold_key(&other), fold_key(&key), "{key:?} and {other:?}");
        }
    }
}

#[test]
fn keys_that_differ_to_the_eye_are_let_through_together() {
    let value = json!({"a": 1, "b": 2, "aa": 3, "a_": 4, "é": 5, "e": 6, "имя": 7, "": 8, "camelCase": 9, "camel_case": 10});
    assert_eq!(strict(&value.to_string()).unwrap(), value);
}

#[test]
fn an_error_says_where_and_stays_one_line() {
    let inputs = [
        r#"{"a":[0,{"b/c":{"d~":{"x":1,"x":2}}}]}"#,
        r#"{"a":[0,1,{"n":0.5,"s":"7 \" -1","m":0.1000000000000000055}]}"#,
        r#"[1,"\\",-2.5e1,{"deep":[3,1e999]}]"#,
        r#"{"a\n`\u202e":1,"a\n`\u202e":2}"#,
        r#"{"a":1,"b":tru}"#,
        "[\n1,\n2",
    ];
    insta::assert_snapshot!(table(strict, &inputs), @r#"
    {"a":[0,{"b/c":{"d~":{"x":1,"x":2}}}]} => refused: the key `x` occurs twice at `/a/1/b~1c/d~0`
    {"a":[0,1,{"n":0.5,"s":"7 \" -1","m":0.1000000000000000055}]} => refused: the number `0.1000000000000000055` at `/a/2/m` would not keep its value, send it as a string
    [1,"\\",-2.5e1,{"deep":[3,1e999]}] => refused: the number `1e999` at `/3/deep/1` would not keep its value, send it as a string
    {"a\n`\u202e":1,"a\n`\u202e":2} => refused: the key `a\n\u{60}\u{202e}` occurs twice at the top level
    {"a":1,"b":tru} => refused: the text is not valid JSON: expected ident at line 1, column 15
    [<LF>1,<LF>2 => refused: the text is not valid JSON: EOF while parsing a list at line 3, column 1
    "#);

    let long = "7".repeat(100_000);
    assert!(strict(&long).unwrap_err().to_string().len() < 200);
}

/// PAR7, F3: at the limit and one beyond, and far beyond what the stack would carry.
#[test]
fn depth_is_bounded() {
    let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    strict(&nested(64)).unwrap();
    assert_eq!(strict(&nested(65)), Err(JsonError::TooDeep { limit: 64 }));
    strict(&(r#"{"a":"#.repeat(64) + "1" + &"}".repeat(64))).unwrap();
    assert_eq!(strict(&r#"{"a":"#.repeat(65)), Err(JsonError::TooDeep { limit: 64 }));
    // Siblings do not add up.
    strict(&format!("[{}]", vec![r#"[{"a":{}}]"#; 100].join(","))).unwrap();

    let mebibyte = "[".repeat(1024 * 1024);
    assert_eq!(strict(&mebibyte), Err(JsonError::TooDeep { limit: 64 }));
    let unbounded = Limits { max_bytes: usize::MAX, max_depth: usize::MAX };
    assert_eq!(parse_lenient(mebibyte.as_bytes(), unbounded), Err(JsonError::TooDeep { limit: 126 }));

    let deepest = parse_strict(nested(126).as_bytes(), unbounded).unwrap();
    assert_eq!(canonical(&deepest).to_value(), deepest);
    assert_eq!(CanonicalJson::of(&json!([deepest])), Err(JsonError::TooDeep { limit: 126 }));
    assert_eq!(CanonicalJson::of(&json!({"a": deepest})), Err(JsonError::TooDeep { limit: 126 }));
}

/// F3: one byte more than a MiB.
#[test]
fn size_is_bounded() {
    let text = format!("\"{}\"", "a".repeat(1024 * 1024 - 2));
    strict(&text).unwrap();
    let error = strict(&format!("{text} ")).unwrap_err();
    insta::assert_snapshot!(error, @"the JSON text has 1048577 bytes, at most 1048576 are allowed");
}

#[test]
fn a_server_may_use_long_numbers_but_no_duplicate_keys() {
    let inputs = [
        r#"{"maximum":9007199254740993,"x":1,"X":2}"#,
        "18446744073709551616",
        "0.1000000000000000055",
        "1e2",
        "[0, 1.5, 1e400]",
        r#"{"a":1,"a":1}"#,
    ];
    insta::assert_snapshot!(table(lenient, &inputs), @r#"
    {"maximum":9007199254740993,"x":1,"X":2} => {"X":2,"maximum":9007199254740992,"x":1}
    18446744073709551616 => 18446744073709552000
    0.1000000000000000055 => 0.1
    1e2 => 100
    [0, 1.5, 1e400] => refused: the number `1e400` at `/2` would not keep its value, send it as a string
    {"a":1,"a":1} => refused: the key `a` occurs twice at the top level
    "#);
    assert_eq!(lenient("9007199254740993").unwrap(), json!(9_007_199_254_740_993_u64));
}

/// serde_json reads the string under this key as JSON of its own.
#[test]
fn a_private_marker_of_the_json_library_is_only_a_key() {
    for text in [
        r#"{"$serde_json::private::RawValue":"{\"name\":\"delete\"}"}"#,
        r#"{"$serde_json::private::Number":"1e400"}"#,
    ] {
        let value = strict(text).unwrap();
        assert_eq!(canonical(&value).as_str(), text);
        assert_eq!(canonical(&value).to_value(), value);
    }
}

#[test]
fn strings_keep_every_character() {
    let value =
        strict(r#"["\u0000\u001f\u007f\u2028","e\u0301 \u00e9 \ud83d\ude00","\/\b\f\n\r\t\"\\"]"#).unwrap();
    assert_eq!(
        value,
        json!(["\0\u{1f}\u{7f}\u{2028}", "e\u{301} \u{e9} \u{1f600}", "/\u{8}\u{c}\n\r\t\"\\"])
    );
    assert_eq!(canonical(&value).to_value(), value);
}

#[test]
fn debug_shows_no_argument() {
    let secret = canonical(&json!({"password": "hunter2"}));
    insta::assert_snapshot!(format!("{secret:?} {:?}", CanonicalJson::empty_object()), @"CanonicalJson(22 bytes) CanonicalJson(2 bytes)");
    assert_eq!(secret.to_string(), r#"{"password":"hunter2"}"#);
}

#[test]
fn stored_text_is_only_taken_back_in_its_canonical_spelling() {
    let stored = canonical(&json!({"b": [1, 0.5], "a": "x", "A": null}));
    let json = serde_json::to_string(&stored).unwrap();
    insta::assert_snapshot!(json, @r#""{\"A\":null,\"a\":\"x\",\"b\":[1,0.5]}""#);
    assert_eq!(serde_json::from_str::<CanonicalJson>(&json).unwrap(), stored);
    assert_eq!(CanonicalJson::empty_object().to_value(), json!({}));

    for text in
        ["{ }", "1.0", "-0", "9007199254740993", r#"{"b":1,"a":2}"#, r#"{"a":1,"a":1}"#, r#""\u0041""#, ""]
    {
        serde_json::from_value::<CanonicalJson>(json!(text)).unwrap_err();
    }
    serde_json::from_value::<CanonicalJson>(json!({})).unwrap_err();
}
