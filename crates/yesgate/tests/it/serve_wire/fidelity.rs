//! What is not gated passes byte for byte, but for names, ids and `_meta`.

use std::collections::BTreeMap;

use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof};
use proptest::sample::select;
use proptest::test_runner::{TestCaseError, TestRunner};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use yesgate_testkit::WebHost;

use super::{CLIENTS, Client, Crossing, SERVERS};

/// How many texts are sent through each pair of client and server.
const CASES: u32 = 24;

/// Texts of JSON as no library would write them.
fn texts(numbers: &'static [&'static str]) -> impl Strategy<Value = String> {
    let blank = || select(vec!["", "", "", " ", "  ", "\t"]);
    let pieces = select(vec![
        "a",
        " ",
        "\\n",
        "\\u0041",
        "\\/",
        "\\ud83d\\ude00",
        "é",
        "日本",
        "\\u0000",
        "\u{2028}",
        "😀",
        "\\\\",
        "\\\"",
        "\u{202e}",
    ]);
    let string =
        proptest::collection::vec(pieces, 0..6).prop_map(|pieces| format!("\"{}\"", pieces.concat()));
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|truth| truth.to_string()),
        any::<i32>().prop_map(|number| number.to_string()),
        select(numbers).prop_map(str::to_owned),
        string,
    ];
    let key = |index: usize, escaped: bool| {
        if escaped { format!("\"\\u006b{index}\"") } else { format!("\"k{index}\"") }
    };
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let item = || (blank(), inner.clone(), blank());
        let joined = |items: Vec<(&str, String, &str)>| {
            let items: Vec<String> = items.into_iter().map(|(a, item, b)| format!("{a}{item}{b}")).collect();
            items.join(",")
        };
        let member = (item(), blank(), any::<bool>());
        prop_oneof![
            proptest::collection::vec(item(), 0..4).prop_map(move |items| format!("[{}]", joined(items))),
            proptest::collection::vec(member, 0..4).prop_map(move |members| {
                let members = members.into_iter().enumerate().map(|(index, ((a, value, b), c, escaped))| {
                    ("", format!("{a}{}{c}:{b}{value}", key(index, escaped)), "")
                });
                format!("{{{}}}", joined(members.collect()))
            }),
        ]
    })
}

/// Numbers that every reader understands alike, spelt oddly.
const SAFE: &[&str] = &["1.10", "-0.0", "1E+2", "0.5e-7", "9007199254740991", "100.000"];
/// Numbers that no call may have, and any other request may.
const LARGE: &[&str] = &["123456789012345678901234567890", "0.1000000000000000055511151231257827", "1e300"];

/// X10: the arguments of a call that needs no question arrive byte for byte, and so does what the server answers.
#[test]
fn a_call_that_is_not_gated_passes_byte_for_byte() {
    check(SAFE, &async |crossing, server, tool, client, text| {
        let arguments = format!("{{\"x\": {text} }}");
        echoes(crossing, server, tool, &crossing.host(server, client).await, tool, &arguments).await;
    });
}

/// X10: so they do at the endpoint of all servers, where only the name is another.
#[test]
fn a_call_under_a_longer_name_passes_byte_for_byte() {
    check(SAFE, &async |crossing, server, tool, client, text| {
        let arguments = format!("{{ \"x\":{text}}}");
        let mut host = crossing.gateway.all();
        if client == Client::Legacy {
            host.initialize().await;
        }
        echoes(crossing, server, tool, &host, &format!("{server}__{tool}"), &arguments).await;
    });
}

/// Calls a tool that echoes, under the name that it has at this endpoint.
async fn echoes(crossing: &Crossing, server: &str, tool: &str, host: &WebHost, name: &str, arguments: &str) {
    let draft = host.draft_call(name, json!("HERE")).replace(r#""HERE""#, arguments);
    let mut answer = draft.send().await;
    let body = answer.rest().await;
    let sent = crossing.last(server, "tools/call");
    assert!(sent.contains(arguments), "{arguments}\nbecame\n{sent}");
    let message: Value = serde_json::from_str(&sent).unwrap();
    assert_eq!(message["params"]["name"], tool);
    let members = result(&body);
    let echoed = members.get("structuredContent").map(String::as_str);
    assert_eq!(echoed, Some(arguments), "{}", answer.wire());
    assert_eq!(members.contains_key("resultType"), host.session_id().is_none());
}

/// X10: so do the parameters of any other request, with numbers and members that nobody knows.
#[test]
fn a_request_that_is_no_call_passes_byte_for_byte() {
    check(LARGE, &async |crossing, server, _, client, text| {
        let host = crossing.host(server, client).await;
        // The mock on stdio has a list of prompts, and it is empty.
        let method = if crossing.web(server).is_some() { "prompts/get" } else { "prompts/list" };
        let params = json!({"name": "greet", "vendor": "HERE"});
        let draft = host.draft(method, params).replace(r#""HERE""#, &text);
        let answer = draft.send().await.answer().await;
        assert!(answer.get("result").is_some(), "{answer:#}");
        let sent = crossing.last(server, method);
        assert!(sent.contains(&format!("\"vendor\":{text}")), "{text}\nbecame\n{sent}");
    });
}

/// X10: members of a result that nobody knows, in whatever spelling, reach the client as the server wrote them.
#[test]
fn a_result_passes_byte_for_byte() {
    check(LARGE, &async |crossing, server, tool, client, text| {
        let Some(web) = crossing.web(server) else { return };
        let kind = if server == "new-web" { r#""resultType":"complete","# } else { "" };
        web.answer_with(
            tool,
            &format!(r#"{{{kind} "content" : [ ] ,"structuredContent":{{"a":{text}}}, "vendor":{text}}}"#),
        );
        let host = crossing.host(server, client).await;
        let body = host.draft_call(tool, json!({})).send().await.rest().await;
        let members = result(&body);
        assert_eq!(members.get("vendor"), Some(&text));
        assert_eq!(members.get("structuredContent"), Some(&format!("{{\"a\":{text}}}")));
        assert_eq!(members.get("content").map(String::as_str), Some("[ ]"));
        assert_eq!(members.contains_key("resultType"), client == Client::Modern);
    });
}

/// Tries many texts with every client at every server.
fn check(numbers: &'static [&'static str], one: &impl AsyncFn(&Crossing, &str, &str, Client, String)) {
    let crossing = Crossing::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for (server, tool) in SERVERS {
        for client in CLIENTS {
            let config =
                ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() };
            let mut runner = TestRunner::new(config);
            let run = runner.run(&texts(numbers), |text| {
                // A line break is a blank like any other, except towards a server that reads lines.
                let text = if crossing.web(server).is_some() { text.replace('\t', "\n") } else { text };
                runtime.block_on(one(&crossing, server, tool, client, text));
                Ok::<(), TestCaseError>(())
            });
            if let Err(failure) = run {
                panic!("{client:?} client, {server}: {failure}");
            }
        }
    }
}

/// The members of the result in an answer, each as it came.
#[track_caller]
fn result(body: &[u8]) -> BTreeMap<String, String> {
    #[derive(Deserialize)]
    struct Answer<'a> {
        #[serde(borrow)]
        result: Option<BTreeMap<String, &'a RawValue>>,
    }
    let answer: Answer<'_> = serde_json::from_slice(body).unwrap();
    let members = answer.result.unwrap_or_else(|| {
        let answer: Value = serde_json::from_slice(body).unwrap_or_default();
        panic!("no result: {answer:#}")
    });
    members.into_iter().map(|(key, value)| (key, value.get().to_owned())).collect()
}
