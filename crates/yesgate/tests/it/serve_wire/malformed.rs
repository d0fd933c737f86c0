//! No malformed variant of `tools/call` reaches a server.
//!
//! The cases are those of [`crate::wire`], and what only HTTP adds to them: headers that say something else than
//! the body, and bodies that are several lines to a server on stdio.

use serde_json::{Value, json};
use yesgate_testkit::{WebHost, confirm_token};

use super::{CLIENTS, Client, Crossing, SERVERS};
use crate::wire::{self, EVIL, PLAIN};

/// A message as a client of this era would send it: with the `_meta` that it needs, where there is a place for it.
fn in_era(host: &WebHost, client: Client, message: &str) -> String {
    match client {
        Client::Legacy => message.to_owned(),
        Client::Modern => {
            let meta = format!("\"params\":{{\"_meta\":{},", host.modern_meta());
            message.replacen("\"params\":{\"", &format!("{meta}\""), 1)
        }
    }
}

/// Sends a body as if it were a call, and says what came back: the status, and the message if there is one.
async fn send(host: &WebHost, client: Client, body: Vec<u8>) -> (u16, Value) {
    let mut draft = host.raw(body.clone());
    if client == Client::Modern {
        let message: Value = serde_json::from_slice(&body).unwrap_or_default();
        let name = message["params"]["name"].as_str().unwrap_or("delete_note").to_owned();
        let name = if name.is_ascii() { name } else { "delete_note".to_owned() };
        draft = draft.header("mcp-method", "tools/call").header("mcp-name", &name);
    }
    // A body that is too large may be cut off while it is sent.
    match draft.try_send().await {
        Ok(mut answer) => {
            let status = answer.status();
            let body = answer.rest().await;
            (status, serde_json::from_slice(&body).unwrap_or_default())
        }
        Err(_) => (413, Value::Null),
    }
}

/// H7, A16, A17: none of them reaches a server of either era over either transport, and after all of them a call is
/// a call.
#[tokio::test]
async fn no_malformed_call_reaches_any_server() {
    let crossing = Crossing::new();
    for (server, _) in SERVERS {
        for client in CLIENTS {
            let host = crossing.host(server, client).await;
            host.list_tools().await;
            let texts = wire::messages().into_iter().map(|(message, _)| in_era(&host, client, &message));
            let bodies = texts.map(String::into_bytes).chain(wire::bytes());
            for body in bodies {
                let shown: String = String::from_utf8_lossy(&body).chars().take(300).collect();
                let (status, answer) = send(&host, client, body).await;
                let is_refused = status >= 400 || answer.get("error").is_some();
                let is_nothing = status == 202 && answer.is_null();
                assert!(is_refused || is_nothing, "{client:?} {server} {status}: {shown}\n{answer:#}");
            }
            let held = host.call("delete_note", json!({"id": "a"})).await;
            confirm_token(&held);
        }
        let evil = crossing.received(server).into_iter().find(|received| received.raw.contains(EVIL));
        assert!(evil.is_none(), "{server}: {evil:#?}");
    }
}

/// A16: a modern call whose headers say something else than its body is refused, whichever of the two is harmless.
#[tokio::test]
async fn headers_that_differ_from_the_body_are_refused() {
    let crossing = Crossing::new();
    for (server, _) in SERVERS {
        let host = crossing.gateway.server(server);
        let call = || host.draft_call("read_note", json!({"id": EVIL}));
        let drafts = [
            call().header("mcp-name", "delete_note"),
            call().header("mcp-name", "READ_NOTE"),
            call().header("mcp-name", "=?base64?ZGVsZXRlX25vdGU=?="),
            call().header("mcp-name", "=?base64?!?="),
            call().and_header("mcp-name", "delete_note"),
            call().and_header("mcp-name", "read_note"),
            call().without("mcp-name"),
            call().header("mcp-method", "tools/list"),
            call().header("mcp-method", "Tools/Call"),
            call().and_header("mcp-method", "tools/call"),
            call().without("mcp-method"),
            call().without("mcp-protocol-version"),
            call().header("mcp-protocol-version", "2025-11-25"),
            call().and_header("mcp-protocol-version", "2025-11-25"),
            call().replace("2026-07-28", "2025-11-25"),
            call().replace("2026-07-28", "2099-01-01"),
            call().replace("clientCapabilities", "clientIncapabilities"),
            call().header("content-type", "text/plain"),
        ];
        for draft in drafts {
            let shown = draft.to_string();
            let answer = draft.send().await;
            assert!((400..500).contains(&answer.status()), "{server}: {}\n{shown}", answer.status());
        }
        let evil = crossing.received(server).into_iter().find(|received| received.raw.contains(EVIL));
        assert!(evil.is_none(), "{server}: {evil:#?}");
    }
}

/// H7, A16: what is one message over HTTP is one line to a server on stdio, whatever ends a line there.
#[tokio::test]
async fn a_call_cannot_hide_in_the_lines_of_a_body() {
    let hidden = wire::call(PLAIN);
    let crossing = Crossing::new();
    for server in ["old-pipe", "new-pipe"] {
        for client in CLIENTS {
            let host = crossing.host(server, client).await;
            for end in ["\r", "\n", "\r\n"] {
                let drafts = [
                    host.draft("prompts/list", json!({"x": "HERE"})),
                    host.draft("completion/complete", json!({"x": "HERE"})),
                    host.draft_call("read_note", json!("HERE")),
                    host.draft_call("read_note", json!({"id": "HERE"})),
                ];
                for draft in drafts {
                    draft.replace("\"HERE\"", &format!("{end}{hidden}{end}")).send().await.rest().await;
                }
                let request = r#"{"jsonrpc":"2.0","id":"x","method":"prompts/list","params":"#;
                host.raw(format!("{request}{end}{hidden}{end}}}")).send().await.rest().await;
                let note = format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/roots/list_changed","params":{end}{hidden}{end}}}"#
                );
                host.raw(note).send().await.rest().await;
                let response = format!("{{\"jsonrpc\":\"2.0\",\"id\":\"y\",\"result\":{end}{hidden}{end}}}");
                host.raw(response).send().await.rest().await;
            }
            confirm_token(&host.call("delete_note", json!({"id": "b"})).await);
        }
        for received in crossing.received(server) {
            assert!(!received.raw.contains('\r'), "{server} may read several lines here: {:?}", received.raw);
            let call = received.call().map(|call| call["params"]["name"].clone());
            assert!(call.is_none_or(|name| name == "read_note"), "{server}: {:?}", received.raw);
        }
    }
}

/// H7: a batch, which only 2025-03-26 knows, is judged element by element; in any other revision it is refused as a
/// whole. Either way no element reaches the server without a yes of its own.
#[tokio::test]
async fn no_call_passes_in_a_batch() {
    let crossing = Crossing::new();
    let call = wire::call(PLAIN);
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let broken = call.replace(r#""name""#, r#""name":"read_note","name""#);
    for (server, _) in SERVERS {
        for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
            let mut host = crossing.gateway.server(server);
            host.initialize_as(version).await;
            for batch in [
                format!("[{call}]"),
                format!("[{ping},{call}]"),
                format!(" [ {call} , {call} ]"),
                format!("[{broken}]"),
                format!("[[{call}]]"),
                "[]".to_owned(),
            ] {
                let mut answer = host.raw(batch.clone()).send().await;
                let message: Value = serde_json::from_slice(&answer.rest().await).unwrap_or_default();
                if version != "2025-03-26" {
                    assert!(message.get("error").is_some(), "{version}: {batch}\n{}", answer.wire());
                }
                for element in message.as_array().into_iter().flatten().filter(|one| one["id"] == "x") {
                    let is_held = element.pointer("/result/structuredContent/confirm_token").is_some();
                    assert!(is_held || element.get("error").is_some(), "{batch}\n{element:#}");
                }
            }
        }
        let host = crossing.gateway.server(server);
        let mut answer = host.raw(format!("[{call}]")).header("mcp-method", "tools/call").send().await;
        assert_eq!(answer.status(), 400);
        answer.rest().await;
        assert!(crossing.received(server).iter().all(|received| !received.raw.contains(EVIL)), "{server}");
    }
}
