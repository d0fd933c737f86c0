//! What is no message, in either era, reaches no board.

use proptest::prelude::{ProptestConfig, any, prop_assert, proptest};
use serde_json::json;

use crate::front::fixture::client::{Client, refusal};

async fn both() -> [Client; 2] {
    let modern =
        Client::new().header("mcp-protocol-version", "2026-07-28").header("mcp-method", "tools/call");
    [modern, Client::new().initialize("2025-11-25", json!({})).await]
}

async fn check(body: &str, code: i64) {
    for client in both().await {
        let before = client.board.log().len();
        assert_eq!(refusal(client.send("POST", body.to_owned()).await).await, (400, code), "{body}");
        assert_eq!(client.board.log().len(), before, "{body}");
    }
}

/// A16: what two readers could read in two ways is refused.
#[tokio::test]
async fn what_is_no_message_is_refused() {
    check("", -32700).await;
    check("{", -32700).await;
    check("nonsense", -32700).await;
    check("7", -32600).await;
    check("{}", -32600).await;
    check(r#"{"jsonrpc":"1.0","id":1,"method":"tools/list"}"#, -32600).await;
    check(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","Method":"tools/call"}"#, -32600).await;
    check(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","result":{}}"#, -32600).await;
    check(r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#, -32600).await;
    check("{\"jsonrpc\":\"2.0\",\r\"id\":1,\"method\":\"tools/list\"}", -32600).await;
    check(r#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#, -32600).await;
    check(r#"{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}"#, -32600).await;
    check(r#"{"jsonrpc":"2.0","id":1e2,"method":"tools/list"}"#, -32600).await;
    check(r#"{"jsonrpc":"2.0","id":true,"method":"tools/list"}"#, -32600).await;
    check(r#"{"jsonrpc":"2.0","id":{},"method":"tools/list"}"#, -32600).await;
    check(&format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"tools/list"}}"#, "x".repeat(2000)), -32600).await;
    check(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["echo"]}"#, -32602).await;
    check(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}"#, -32602).await;
    check(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{},"_meta":{}}}"#, -32602).await;
}

/// A17: a call without an id is not let through as a remark.
#[tokio::test]
async fn a_request_without_an_id_is_refused() {
    for method in ["tools/call", "tools/list", "ping", "initialize", "vendor/x", ""] {
        check(&json!({"jsonrpc": "2.0", "method": method, "params": {"name": "echo"}}).to_string(), -32600)
            .await;
    }
}

/// A23: a message that mixes the eras is refused, whichever header it comes with.
#[tokio::test]
async fn a_modern_body_under_an_old_header_is_refused() {
    let client = Client::new().initialize("2025-11-25", json!({})).await;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo",
        "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}});
    let old = client.header("mcp-protocol-version", "2025-11-25");
    assert_eq!(refusal(old.post(&body).await).await, (400, -32020));
    assert_eq!(refusal(client.post(&body).await).await, (400, -32020));
    assert_eq!(client.board.log().len(), 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A17: whatever a client sends, no method that nobody thought of reaches a board.
    #[test]
    fn no_random_method_reaches_a_board(method in "[a-zA-Z/ ]{0,20}", noise in any::<Vec<u8>>()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            for client in both().await {
                let before = client.board.log().len();
                let method = format!("x{method}");
                client.post(&json!({"jsonrpc": "2.0", "id": 1, "method": method})).await;
                client.post(&json!({"jsonrpc": "2.0", "method": method})).await;
                client.send("POST", noise.clone()).await;
                prop_assert!(client.board.log().len() == before);
            }
            Ok(())
        })?;
    }
}
