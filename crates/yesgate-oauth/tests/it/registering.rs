//! Registrations: of real clients, of malicious ones, and what becomes of them.

use http::Method;
use serde_json::{Value, json};
use yesgate_core::policy::{OAuthConfig, OAuthLimits};

use crate::support::{CALLBACK, ISSUER, Stage, days, request, seconds, with};

/// What the well-known hosts of MCP send, and how they may prove themselves afterwards.
fn corpus() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        (
            "Claude.ai",
            json!({
                "client_name": "Claude",
                "client_uri": "https://claude.ai",
                "logo_uri": "https://claude.ai/logo.png",
                "redirect_uris": ["https://claude.ai/api/mcp/auth_callback"],
                "grant_types": [
                    "authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:jwt-bearer"
                ],
                "response_types": ["code"],
                "scope": "",
                "token_endpoint_auth_method": "client_secret_post",
            }),
            "client_secret_post",
        ),
        (
            "Claude Code",
            json!({
                "client_name": "Claude Code (crm)",
                "redirect_uris": ["http://localhost:3118/callback"],
                "grant_types": ["authorization_code", "refresh_token"],
                "response_types": ["code"],
                "token_endpoint_auth_method": "none",
                "application_type": "native",
            }),
            "none",
        ),
        (
            "Cursor",
            json!({
                "client_name": "Cursor",
                "redirect_uris": [
                    "cursor://anysphere.cursor-mcp/oauth/callback",
                    "https://www.cursor.com/agents/mcp/oauth/callback",
                    "http://localhost:8787/callback"
                ],
                "grant_types": ["authorization_code", "refresh_token"],
                "response_types": ["code"],
                "token_endpoint_auth_method": "none",
            }),
            "none",
        ),
        (
            "VS Code",
            json!({
                "client_name": "Visual Studio Code",
                "client_uri": "https://code.visualstudio.com",
                "redirect_uris": [
                    "https://insiders.vscode.dev/redirect",
                    "https://vscode.dev/redirect",
                    "http://127.0.0.1/",
                    "http://127.0.0.1:33418/"
                ],
                "grant_types": [
                    "authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"
                ],
                "response_types": ["code"],
                "token_endpoint_auth_method": "none",
                "application_type": "native",
            }),
            "none",
        ),
        (
            "Codex",
            json!({
                "client_name": "Codex",
                "redirect_uris": ["http://127.0.0.1:37819/callback/abc"],
                "grant_types": ["authorization_code", "refresh_token"],
                "response_types": ["code"],
                "token_endpoint_auth_method": "none",
                "application_type": "native",
                "scope": Value::Null,
            }),
            "none",
        ),
        (
            "ChatGPT",
            json!({
                "client_name": "ChatGPT",
                "redirect_uris": ["https://chatgpt.com/connector/oauth/OUbdUMlL15Ct"],
                "grant_types": ["authorization_code", "refresh_token"],
                "response_types": ["code"],
                "token_endpoint_auth_method": "none",
                "jwks_uri": "https://chatgpt.com/jwks.json",
            }),
            "none",
        ),
        (
            "mcp-remote with a browser",
            json!({
                "client_name": "MCP CLI Proxy",
                "client_uri": "https://github.com/modelcontextprotocol/mcp-cli",
                "redirect_uris": ["http://localhost:29463/oauth/callback"],
                "grant_types": ["authorization_code", "refresh_token"],
                "response_types": ["code"],
                "token_endpoint_auth_method": "none",
                "software_id": "2e6dc280-f3c3-4e01-99a7-8181dbd1d23d",
                "software_version": "0.15.1",
                "scope": "openid email profile",
            }),
            "none",
        ),
        (
            "mcp-remote without a browser",
            json!({
                "client_name": "MCP CLI Proxy",
                "redirect_uris": ["http://localhost:29463/oauth/callback"],
                "grant_types": ["urn:ietf:params:oauth:grant-type:device_code", "refresh_token"],
                "response_types": ["code"],
                "token_endpoint_auth_method": "none",
            }),
            "none",
        ),
        (
            "FastMCP",
            json!({
                "client_name": "FastMCP Client",
                "redirect_uris": ["http://localhost:52341/callback"],
                "grant_types": ["authorization_code", "refresh_token"],
                "response_types": ["code"],
                "scope": "",
                "token_endpoint_auth_method": Value::Null,
                "client_uri": Value::Null,
                "contacts": Value::Null,
            }),
            "client_secret_basic",
        ),
        (
            "LM Studio",
            json!({
                "client_name": "LM Studio",
                "client_uri": "",
                "logo_uri": "",
                "contacts": [],
                "redirect_uris": ["http://127.0.0.1:33389/mcp-oauth-callback"],
                "token_endpoint_auth_method": "none",
            }),
            "none",
        ),
        (
            "Inspector",
            json!({
                "client_name": "MCP Inspector",
                "client_uri": "https://github.com/modelcontextprotocol/inspector",
                "redirect_uris": ["http://localhost:6274/oauth/callback"],
                "grant_types": ["authorization_code", "refresh_token"],
                "response_types": ["code"],
                "token_endpoint_auth_method": "none",
                "scope": "mcp:read something:else",
            }),
            "none",
        ),
        (
            "rmcp",
            json!({
                "client_name": "rmcp",
                "redirect_uris": ["http://127.0.0.1:9000/callback"],
                "grant_types": ["authorization_code", "refresh_token"],
                "token_endpoint_auth_method": "none",
                "response_types": ["code"],
            }),
            "none",
        ),
    ]
}

/// O-R1, O-R3: each of them registers, and can read the answer.
#[tokio::test]
async fn the_well_known_hosts_can_register() {
    for (name, body, method) in corpus() {
        let stage = Stage::new().await;
        let reply = stage.register(&body).await.is(201);
        let Value::Object(members) = &reply.json else { panic!("{name}") };
        for (member, value) in members {
            let is_empty = value.is_null() || *value == json!("") || *value == json!([]);
            assert!(!is_empty, "{name}: {member} is {value}");
        }
        assert_eq!(members["token_endpoint_auth_method"], method, "{name}");
        assert_eq!(members["redirect_uris"], body["redirect_uris"], "{name}");
        assert!(members["client_id_issued_at"].is_u64(), "{name}");
        assert_eq!(members.contains_key("client_secret"), method != "none", "{name}");
        assert_eq!(members.contains_key("client_secret_expires_at"), method != "none", "{name}");
        assert_eq!(members["response_types"], json!(["code"]), "{name}");
        let id = members["client_id"].as_str().unwrap();
        let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        assert!(is_plain(id), "{name}");
        assert_eq!(
            members["registration_client_uri"],
            format!("{ISSUER}/api/mcp/oauth/register/{id}"),
            "{name}"
        );
        let grants = members["grant_types"].as_array().unwrap();
        assert!(grants.contains(&json!("refresh_token")) && grants.len() <= 3, "{name}: {grants:?}");
        assert!(!reply.text.contains("jwt-bearer"), "{name}");
    }
}

/// O-R2: what is left out has its default, and the default has a secret.
#[tokio::test]
async fn a_client_that_says_little_gets_a_secret() {
    let stage = Stage::new().await;
    let reply = stage.register(&json!({ "redirect_uris": ["https://a.example/cb"] })).await.is(201);
    assert_eq!(reply.json["token_endpoint_auth_method"], "client_secret_basic");
    assert_eq!(reply.json["grant_types"], json!(["authorization_code", "refresh_token"]));
    assert_eq!(reply.json["client_secret_expires_at"], 0);
    assert!(reply.str("client_secret").starts_with("ygx_"));
    assert!(reply.str("registration_access_token").starts_with("ygm_"));
    // What nobody here can do is put in place by what can be done.
    let body =
        json!({ "redirect_uris": ["https://a.example/cb"], "token_endpoint_auth_method": "private_key_jwt" });
    assert_eq!(stage.register(&body).await.is(201).json["token_endpoint_auth_method"], "client_secret_basic");
}

/// O-R4: one address that is only not listed does not spoil the others; a dangerous one does.
#[tokio::test]
async fn a_bad_address_is_dropped_or_refused_as_it_deserves() {
    let stage = Stage::new().await;
    let good = "https://a.example/cb";
    let body = |uris: Value| json!({ "redirect_uris": uris, "token_endpoint_auth_method": "none" });
    let reply = stage.register(&body(json!(["unlisted://callback", good]))).await.is(201);
    assert_eq!(reply.json["redirect_uris"], json!([good]));
    stage.register(&body(json!(["unlisted://callback"]))).await.says(400, "invalid_redirect_uri");
    for bad in [
        "javascript:alert(1)",
        "JAVASCRIPT:alert(1)",
        "java\nscript:alert(1)",
        "\u{0}javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "http://evil.example/cb",
        "http://localhost@evil.example/cb",
        "http://127.0.0.1.evil.example/cb",
        "https://a.example/cb#fragment",
        "https://user@a.example/cb",
        "https://*.a.example/cb",
    ] {
        stage.clock.turn(jiff::SignedDuration::from_mins(2));
        let reply = stage.register(&body(json!([good, bad]))).await.says(400, "invalid_redirect_uri");
        assert!(!reply.text.contains("evil") && !reply.text.contains("alert"), "nothing is echoed");
    }
    stage.register(&body(json!([]))).await.says(400, "invalid_redirect_uri");
    stage.register(&body(json!("https://a.example/cb"))).await.says(400, "invalid_redirect_uri");
    stage.register(&body(json!([1]))).await.says(400, "invalid_redirect_uri");
    stage.register(&json!({})).await.says(400, "invalid_redirect_uri");
    let many: Vec<String> = (0..11).map(|n| format!("https://a.example/{n}")).collect();
    stage.register(&body(json!(many))).await.says(400, "invalid_redirect_uri");
}

/// O-R5: what people will read is plain, short and of the web.
#[tokio::test]
async fn what_a_client_says_of_itself_is_cleaned() {
    let stage = Stage::new().await;
    let reply = stage
        .register(&json!({
            "redirect_uris": ["https://a.example/cb"],
            "client_name": format!(" <b>Ev\u{202e}il\u{200b}</b>\r\n{}", "x".repeat(200)),
            "client_uri": "https://a.example/<script>",
            "contacts": ["", "a@a.example", 5],
        }))
        .await
        .is(201);
    let name = reply.str("client_name");
    assert!(name.starts_with("<b>Evil</b>x") && name.chars().count() <= 80, "{name}");
    assert_eq!(reply.json["contacts"], json!(["a@a.example"]));
    for bad in
        ["javascript:alert(1)", " javascript:alert(1)", "data:text/html,x", "https://user:pw@a.example/"]
    {
        let body = json!({ "redirect_uris": ["https://a.example/cb"], "logo_uri": bad });
        stage.register(&body).await.says(400, "invalid_client_metadata");
    }
}

/// O-R3: a body that is none is refused, and never with a 5xx.
#[tokio::test]
async fn what_is_no_registration_is_refused() {
    let stage = Stage::new().await;
    let json_type = [("content-type", "application/json")];
    let path = "/api/mcp/oauth/register";
    for body in ["", "{", "null", "[]", "\"x\"", "\u{0}", &"[".repeat(1000)] {
        stage
            .send(Method::POST, path, &json_type, body.to_owned())
            .await
            .says(400, "invalid_client_metadata");
    }
    let long = json!({ "redirect_uris": ["https://a.example/cb"], "client_name": "x".repeat(17 * 1024) });
    stage.send(Method::POST, path, &json_type, long.to_string()).await.says(413, "invalid_request");
    let form = [("content-type", "application/x-www-form-urlencoded")];
    stage.send(Method::POST, path, &form, "{}").await.says(400, "invalid_client_metadata");
    let body = json!({ "redirect_uris": ["https://a.example/cb"], "grant_types": ["client_credentials"] });
    stage.register(&body).await.says(400, "invalid_client_metadata");
}

/// O-R6: a burst of one address is slowed down, and others are not.
#[tokio::test]
async fn one_address_cannot_register_without_end() {
    let mut stage = Stage::new().await;
    let body = json!({ "redirect_uris": ["https://a.example/cb"] });
    for _ in 0..20 {
        stage.register(&body).await.is(201);
    }
    let reply = stage.register(&body).await.says(429, "slow_down");
    assert!(reply.headers["retry-after"].to_str().unwrap().parse::<u32>().unwrap() > 0);
    stage.from("198.51.100.7:1");
    stage.register(&body).await.is(201);
}

/// O-R6: whoever comes slowly, but from one address without end, has so many registrations and no more: the oldest of their own
/// go, and nobody else's. With IPv6 a whole network is one address.
#[tokio::test]
async fn one_address_cannot_fill_the_table() {
    let limits = OAuthLimits { unbound_per_address: 5, ..OAuthLimits::default() };
    let mut stage = Stage::with(OAuthConfig { limits, ..OAuthConfig::default() }).await;
    let other = stage.public_client().await;
    let mut made = Vec::new();
    for turn in 0..20 {
        stage.from(&format!("[2001:db8::{turn}]:1"));
        made.push(stage.public_client().await);
        stage.clock.turn(seconds(60));
    }
    assert_eq!(stage.ledger.oauth_clients().await.unwrap().len(), 6);
    Stage::expect_ask(stage.authorize(&request(&other)).await);
    Stage::expect_refusal(stage.authorize(&request(&made[14])).await);
    for client in &made[15..] {
        Stage::expect_ask(stage.authorize(&request(client)).await);
    }
    // About all of them somebody may be deciding now: this address has to wait, and no other has.
    let body = json!({ "redirect_uris": [CALLBACK], "token_endpoint_auth_method": "none" });
    let reply = stage.register(&body).await.says(429, "slow_down");
    assert!(reply.headers["retry-after"].to_str().unwrap().parse::<u32>().unwrap() > 0);
    stage.from("[2001:db8:0:1::1]:1");
    stage.register(&body).await.is(201);
    stage.from("[2001:db8::1]:1");
    stage.clock.turn(seconds(600));
    stage.register(&body).await.is(201);
}

/// O-R6, O-S9: a flood leaves the table as small as it may be, and who was allowed something stays.
#[tokio::test]
async fn a_flood_of_registrations_makes_no_room_by_throwing_out_friends() {
    let limits = OAuthLimits { unbound: 10, register_per_minute: 1000, ..OAuthLimits::default() };
    let stage = Stage::with(OAuthConfig { limits, ..OAuthConfig::default() }).await;
    let friend = stage.public_client().await;
    let refresh = stage.connect(&friend).await.str("refresh_token");
    let body = json!({ "redirect_uris": ["https://a.example/cb"] });
    for _ in 0..100 {
        stage.register(&body).await.is(201);
        stage.clock.turn(jiff::SignedDuration::from_millis(10));
    }
    assert!(stage.ledger.oauth_clients().await.unwrap().len() <= 11);
    stage.refresh(&friend, &refresh).await.is(200);
}

/// O-R7, O-S10: a registration outlives tokens and restarts.
#[tokio::test]
async fn a_registration_outlives_its_tokens_and_a_restart() {
    let stage = Stage::new().await;
    let client = stage.public_client().await;
    stage.connect(&client).await;
    stage.clock.turn(days(60));
    stage.server.sweep().await.unwrap();
    let mut stage = stage.restarted();
    stage.session = crate::support::sign_in(&stage.ledger, &stage.person.id, 10).await;
    stage.connect(&client).await;
    stage.clock.turn(days(91));
    stage.server.sweep().await.unwrap();
    Stage::expect_refusal(stage.authorize(&request(&client)).await);
}

/// O-R8: a client looks after its registration, and nobody else does.
#[tokio::test]
async fn a_client_can_show_change_and_end_its_registration() {
    let stage = Stage::new().await;
    let body =
        json!({ "redirect_uris": [CALLBACK], "token_endpoint_auth_method": "none", "client_name": "One" });
    let made = stage.register(&body).await.is(201);
    let (id, token) = (made.str("client_id"), format!("Bearer {}", made.str("registration_access_token")));
    let other = stage.register(&body).await.is(201);
    let path = format!("/api/mcp/oauth/register/{id}");
    let own = [("authorization", token.as_str()), ("content-type", "application/json")];
    let shown = stage.send(Method::GET, &path, &own, "").await.is(200);
    assert_eq!((shown.str("client_id"), shown.str("client_name")), (id.clone(), "One".to_owned()));
    let changed = json!({ "client_id": id, "redirect_uris": ["https://b.example/cb"], "client_name": "Two" });
    let shown = stage.send(Method::PUT, &path, &own, changed.to_string()).await.is(200);
    assert_eq!(shown.str("client_name"), "Two");
    assert!(shown.str("client_secret").starts_with("ygx_"), "it now needs one");
    let foreign = json!({ "client_id": other.str("client_id"), "redirect_uris": ["https://b.example/cb"] });
    stage.send(Method::PUT, &path, &own, foreign.to_string()).await.says(400, "invalid_client_metadata");
    let chosen =
        json!({ "client_id": id, "redirect_uris": ["https://b.example/cb"], "client_secret": "mine" });
    stage.send(Method::PUT, &path, &own, chosen.to_string()).await.says(400, "invalid_client_metadata");
    // Nobody learns who exists.
    let others = format!("Bearer {}", other.str("registration_access_token"));
    let foreign = [("authorization", others.as_str())];
    let wrong = stage.send(Method::GET, &path, &foreign, "").await.says(401, "invalid_token");
    let unknown = stage.send(Method::GET, "/api/mcp/oauth/register/client_x", &foreign, "").await;
    assert_eq!((wrong.status, &wrong.text), (unknown.status, &unknown.text));
    stage.send(Method::GET, &path, &[], "").await.says(401, "invalid_token");
    stage.send(Method::DELETE, &path, &foreign, "").await.is(401);
    stage.send(Method::DELETE, &path, &own, "").await.is(204);
    stage.send(Method::GET, &path, &own, "").await.is(401);
    Stage::expect_refusal(stage.authorize(&with(request(&id), "redirect_uri", "https://b.example/cb")).await);
}
