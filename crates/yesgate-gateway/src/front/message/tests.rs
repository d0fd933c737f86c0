//! A glance at a call shows what a close look shows, or nothing.

use proptest::prelude::*;

use super::{Message, Request, glance, read_closely};
use crate::front::meta::Meta;

/// All that a front makes of a request.
fn shown(request: &Request<'_>) -> String {
    let meta = Meta::read(&request.fields).map_err(|malformed| malformed.0);
    let subject = request.fields.subject(&request.method);
    let meta_text = request.fields.meta;
    format!(
        "{:?} {} {:?} {subject:?} {meta_text:?} {meta:?}",
        request.id.get(),
        request.method,
        request.params
    )
}

fn check(message: &str) -> Result<(), TestCaseError> {
    let Some(quick) = glance(message.as_bytes()) else { return Ok(()) };
    match read_closely(message.as_bytes()) {
        Ok(Message::Request(close)) => prop_assert_eq!(shown(&quick), shown(&close), "{}", message),
        other => prop_assert!(false, "{message}: {other:?}"),
    }
    Ok(())
}

/// Calls as they come, with now and then something that does not belong there.
fn messages() -> impl Strategy<Value = String> {
    let of = |words: &[&'static str]| prop::sample::select(words.to_vec());
    let id = of(&["1", "-3", "\"a\"", "\"ä\"", "\"\\n\"", "null", "1.0", "[]", "12345678901234567"]);
    let name = of(&["\"read\"", "\"read\"", "\"\"", "\"r\\u0065ad\"", "null", "5"]);
    let value = of(&[
        "\"2026-07-28\"",
        "\"2026\\u002d07-28\"",
        "null",
        "{}",
        "{\"name\":\"c\"}",
        "{\"a\":1,\"A\":2}",
        "7",
        "1.5",
        "[1,2]",
        "\"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\"",
        "\"a long one with\ta tab in it\"",
    ]);
    let key = of(&[
        "io.modelcontextprotocol/protocolVersion",
        "io.modelcontextprotocol/clientCapabilities",
        "io.modelcontextprotocol/clientInfo",
        "io.modelcontextprotocol/logLevel",
        "traceparent",
        "tracestate",
        "progressToken",
        "progresstoken",
        "vendor/other",
    ]);
    let meta = prop::collection::vec((key, value.clone()), 0..5).prop_map(|members| {
        let members = members.iter().map(|(key, value)| format!("\"{key}\": {value}"));
        format!("{{{}}}", members.collect::<Vec<_>>().join(" ,"))
    });
    let meta = prop_oneof![5 => meta, 1 => value.clone().prop_map(str::to_owned)];
    let more = of(&["", "", "", "\r\n", ",\"uri\":\"x\"", ",\"_meta\":{}", ",\"requestState\":\"s\""]);
    (id, name, value, meta, more).prop_map(|(id, name, value, meta, more)| {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":{name}, \
             \"arguments\":{{\"x\":{value}}},\n\"_meta\":{meta}{more}}}}}"
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_a_glance_shows_a_close_look_shows_too(message in messages()) {
        check(&message)?;
    }

    #[test]
    fn a_slip_of_the_pen_is_not_overlooked(
        message in messages(),
        slips in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(vec![
            "", "\"", "\\", "{", "}", ":", ",", "0", "-", ".", " ", "\n", "\r", "\u{0}", "ä",
        ])), 1..4),
    ) {
        let mut characters: Vec<String> = message.chars().map(String::from).collect();
        for (index, slip) in slips {
            let at = index.index(characters.len());
            characters[at] = slip.to_owned();
        }
        check(&characters.concat())?;
    }
}

/// A glance is worth having: it is enough for what clients send, and for nothing that is no call.
#[test]
fn a_glance_is_enough_for_a_usual_call_and_for_nothing_else() {
    let calls = [
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get_note","arguments":{"text":"x"}}}"#,
        r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"get_note","_meta":{"progressToken":1}}}"#,
    ];
    for call in calls {
        assert!(glance(call.as_bytes()).is_some(), "{call}");
        check(call).unwrap();
    }
    for other in [
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"name":"get_note"}}"#,
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"get_note"}}"#,
        r#"[{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get_note"}}]"#,
    ] {
        assert!(glance(other.as_bytes()).is_none(), "{other}");
    }
    let long = format!(
        r#"{{"jsonrpc":"2.0","id":"{}","method":"tools/call","params":{{"name":"x"}}}}"#,
        "a".repeat(2000)
    );
    assert!(glance(long.as_bytes()).is_none());
}
