//! The quick reader of calls says what the close one says, or nothing.

use proptest::prelude::*;

use crate::call::{CallRequest, Untouched};

/// What the quick reader accepts, the close one reads as the same call.
fn check(message: &str) -> Result<(), TestCaseError> {
    let Ok(quick) = CallRequest::parse_plain(message.as_bytes()) else { return Ok(()) };
    let close = CallRequest::parse_closely(message.as_bytes());
    prop_assert!(close.is_ok(), "{message}: {close:?}");
    let close = close.unwrap();
    prop_assert_eq!(&quick.id, &close.id, "{}", message);
    prop_assert_eq!(&quick.name, &close.name, "{}", message);
    prop_assert_eq!(quick.arguments.to_value(), close.arguments.to_value(), "{}", message);
    prop_assert_eq!(&quick.arguments, &close.arguments, "{}", message);
    prop_assert_eq!(quick.meta.transport(), close.meta.transport(), "{}", message);
    prop_assert_eq!(quick.meta.vendor(), close.meta.vendor(), "{}", message);
    prop_assert_eq!(&quick.extras, &close.extras, "{}", message);
    prop_assert_eq!((quick.untouched, close.untouched), (Untouched::Yes, Untouched::Yes), "{}", message);
    prop_assert!(close.presented.token.is_none() && close.presented.mode.is_none(), "{message}");
    Ok(())
}

/// Values of all kinds, and some that are none.
fn values() -> impl Strategy<Value = String> {
    let leaves = prop::sample::select(vec![
        "null",
        "true",
        "false",
        "0",
        "-0",
        "7",
        "-12",
        "007",
        "1.0",
        "1.5",
        "1e3",
        "-",
        "+1",
        "123456789012345",
        "1234567890123456",
        "9007199254740993",
        "1e400",
        "\"\"",
        "\"x\"",
        "\"ä\"",
        "\"a\\nb\"",
        "\"\\u0061\"",
        "\"\\ud800\"",
        "\"\\x\"",
        "\"a\nb\"",
        "\"\u{1}\"",
        "\"open",
        "\"seven..\"",
        "\"eight...\"",
        "\"nine....\\n\"",
        "\"a text of more than thirty-two bytes, with a \\\" in it\"",
        "\"a text of more than thirty-two bytes, with a \t in it\"",
        "\"a text with a \u{7f} and a \u{1f} in it\"",
        "\"äöüßäöüßäöüßäöüßäöüßäöüß\"",
        "nul",
        "truefalse",
        "{}",
        "[]",
        "{ }",
        "[ ]",
    ])
    .prop_map(str::to_owned);
    leaves.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(", "))),
            objects(inner),
        ]
    })
}

fn objects(values: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let key = prop::sample::select(vec![
        "a",
        "A",
        "b",
        "key",
        "Key",
        "ä",
        "\\u0061",
        "k\\\"",
        "confirm_token",
        "__confirm",
        "__mode",
        "__Mode",
        "io.modelcontextprotocol/protocolVersion",
        "progressToken",
        "claudecode/toolUseId",
        "",
    ]);
    prop::collection::vec((key, values), 0..5).prop_map(|members| {
        let members = members.iter().map(|(key, value)| format!("\"{key}\" :{value}"));
        format!("{{{}}}", members.collect::<Vec<_>>().join(" , "))
    })
}

/// Calls as they come, with now and then something that does not belong there.
fn messages() -> impl Strategy<Value = String> {
    let of = |words: &[&'static str]| prop::sample::select(words.to_vec());
    let version =
        of(&["\"jsonrpc\":\"2.0\"", "\"jsonrpc\":\"2.0\"", "\"jsonrpc\":\"1.0\"", "\"JSONRPC\":\"2.0\""]);
    let id = of(&[
        "\"id\":1",
        "\"id\":\"a\"",
        "\"id\":-3",
        "\"id\":1.0",
        "\"id\":null",
        "\"id\":\"\\t\"",
        "\"Id\":1",
    ]);
    let method =
        of(&["\"method\":\"tools/call\"", "\"method\":\"tools/call\"", "\"method\":\"tools\\/call\""]);
    let name =
        of(&["\"name\":\"read\"", "\"name\":\"read\"", "\"name\":\"\"", "\"name\":5", "\"Name\":\"x\""]);
    let more =
        of(&["", "", "", ",\"task\":{}", ",\"requestState\":\"s\"", ",\"x\":1", ",\"name\":\"twice\""]);
    (version, id, method, name, more, objects(values()), prop_oneof![objects(values()), values()]).prop_map(
        |(version, id, method, name, more, arguments, meta)| {
            format!(
                " {{{version},{id}, {method},\"params\":{{{name},\"arguments\": {arguments}\n,\"_meta\":{meta}{more}}} }}"
            )
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_is_read_at_a_glance_is_read_the_same_closely(message in messages()) {
        check(&message)?;
    }

    #[test]
    fn a_slip_of_the_pen_is_not_overlooked(
        message in messages(),
        slips in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(vec![
            "", "\"", "\\", "{", "}", "[", "]", ":", ",", "0", "1", "-", ".", "e", " ", "\n", "\r", "\u{0}", "ä", "t",
        ]), any::<bool>()), 1..4),
    ) {
        let mut characters: Vec<String> = message.chars().map(String::from).collect();
        for (index, slip, replaces) in slips {
            let at = index.index(characters.len());
            if replaces {
                characters[at] = slip.to_owned();
            } else {
                characters.insert(at, slip.to_owned());
            }
        }
        check(&characters.concat())?;
    }
}

/// The quick reader is worth having: it reads what hosts send.
#[test]
fn what_hosts_send_is_read_at_a_glance() {
    for message in [
        r#"{"method":"tools/call","params":{"name":"get_note","arguments":{"id":"a","n":3,"deep":[{"x":null}]},"_meta":{"claudecode/toolUseId":"toolu_1","progressToken":2}},"jsonrpc":"2.0","id":2}"#,
        r#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"get_note"}}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get_note","arguments":{"text":"two\nlines \"quoted\""},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    ] {
        assert!(CallRequest::parse_plain(message.as_bytes()).is_ok(), "{message}");
        check(message).unwrap();
    }
}
