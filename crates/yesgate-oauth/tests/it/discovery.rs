//! What clients can find out before they register.

use http::Method;
use serde_json::json;
use yesgate_core::oauth::Scopes;
use yesgate_core::policy::{DocumentHosts, Documents, OAuthConfig, Registration};
use yesgate_http::edge::bearer::{Bearers as _, Unadmitted};

use crate::support::{ISSUER, Stage, query, request};

/// O-D1, O-D2: the description is whole, and the issuer is the same to the letter wherever it stands.
#[tokio::test]
async fn the_issuer_is_the_same_everywhere() {
    let stage = Stage::new().await;
    let server = stage.get("/.well-known/oauth-authorization-server").await.is(200);
    assert_eq!(server.headers["content-type"], "application/json");
    assert_eq!(server.json["issuer"], ISSUER);
    let resource = stage.get("/.well-known/oauth-protected-resource").await.is(200);
    assert_eq!(resource.json["authorization_servers"], json!([ISSUER]));
    let client = stage.public_client().await;
    let error =
        Stage::expect_redirect(stage.authorize(&crate::support::with(request(&client), "scope", "no")).await);
    assert_eq!(query(error.as_str(), "iss").unwrap(), ISSUER);
    for (member, expected) in [
        ("authorization_endpoint", json!("https://gate.example/api/mcp/oauth/authorize")),
        ("token_endpoint", json!("https://gate.example/api/mcp/oauth/token")),
        ("registration_endpoint", json!("https://gate.example/api/mcp/oauth/register")),
        ("revocation_endpoint", json!("https://gate.example/api/mcp/oauth/revoke")),
        ("device_authorization_endpoint", json!("https://gate.example/api/mcp/oauth/device")),
        ("response_types_supported", json!(["code"])),
        ("response_modes_supported", json!(["query"])),
        ("code_challenge_methods_supported", json!(["S256"])),
        ("client_id_metadata_document_supported", json!(true)),
        ("authorization_response_iss_parameter_supported", json!(true)),
        (
            "token_endpoint_auth_methods_supported",
            json!(["none", "client_secret_basic", "client_secret_post"]),
        ),
        (
            "grant_types_supported",
            json!(["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"]),
        ),
        ("scopes_supported", json!(["mcp:call", "mcp:read"])),
    ] {
        assert_eq!(server.json[member], expected, "{member}");
    }
    assert!(!server.text.contains("offline_access"));
}

/// O-D2: every endpoint that is advertised is there.
#[tokio::test]
async fn every_advertised_endpoint_answers() {
    let stage = Stage::new().await;
    let described = stage.get("/.well-known/openid-configuration").await.json;
    for member in [
        "token_endpoint",
        "registration_endpoint",
        "revocation_endpoint",
        "introspection_endpoint",
        "device_authorization_endpoint",
    ] {
        let path = described[member].as_str().unwrap().strip_prefix(ISSUER).unwrap();
        assert!(stage.server.has(path));
        let reply = stage.send(Method::POST, path, &[], "").await;
        assert!(reply.status.is_client_error() && reply.status != 404, "{member}: {reply:?}");
        assert!(reply.json["error"].is_string(), "{member}: {reply:?}");
        stage.get(path).await.is(405);
    }
    assert!(!stage.server.has("/api/mcp/oauth/authorize"), "that is a page");
}

/// O-D3: what is not there is said so in JSON.
#[tokio::test]
async fn an_unknown_description_is_a_clean_404() {
    let stage = Stage::new().await;
    let first = stage.get("/.well-known/oauth-authorization-server").await;
    for path in [
        "/.well-known/openid-configuration",
        "/.well-known/oauth-authorization-server/api/mcp",
        "/.well-known/openid-configuration/mcp/crm",
        "/api/mcp/.well-known/openid-configuration",
    ] {
        assert_eq!(stage.get(path).await.is(200).text, first.text, "{path}");
    }
    for path in
        ["/.well-known/oauth-authorization-server/else", "/.well-known/oauth-protected-resource/mcp/else"]
    {
        let reply = stage.get(path).await.says(404, "not_found");
        assert_eq!(reply.headers["content-type"], "application/json");
    }
}

/// O-D4: each endpoint under its own address, whatever `Host` says.
#[tokio::test]
async fn a_resource_is_described_by_its_own_address_whatever_host_says() {
    let stage = Stage::new().await;
    for (path, expected) in [
        ("/.well-known/oauth-protected-resource", "https://gate.example/api/mcp"),
        ("/.well-known/oauth-protected-resource/api/mcp", "https://gate.example/api/mcp"),
        ("/.well-known/oauth-protected-resource/mcp", "https://gate.example/mcp"),
        ("/.well-known/oauth-protected-resource/mcp/crm", "https://gate.example/mcp/crm"),
    ] {
        let spoofed =
            [("host", "evil.example"), ("x-forwarded-host", "evil.example"), ("x-forwarded-proto", "http")];
        let reply = stage.send(Method::GET, path, &spoofed, "").await.is(200);
        assert_eq!(reply.json["resource"], expected);
        assert!(!reply.text.contains("evil") && !reply.text.contains("offline_access"));
    }
}

/// O-D10: preflights are answered for clients in pages, and programs of the operator are none.
#[tokio::test]
async fn pages_may_read_what_clients_need_and_nothing_else() {
    let stage = Stage::new().await;
    let asking = [("origin", "https://app.example"), ("access-control-request-method", "POST")];
    for path in [
        "/.well-known/oauth-authorization-server",
        "/.well-known/oauth-protected-resource/api/mcp",
        "/api/mcp/oauth/register",
        "/api/mcp/oauth/register/client_1",
        "/api/mcp/oauth/token",
        "/api/mcp/oauth/revoke",
        "/api/mcp/oauth/device",
    ] {
        let reply = stage.send(Method::OPTIONS, path, &asking, "").await.is(204);
        assert_eq!(reply.headers["access-control-allow-origin"], "*");
        let allowed = reply.headers["access-control-allow-headers"].to_str().unwrap();
        for header in [
            "authorization",
            "content-type",
            "mcp-protocol-version",
            "mcp-method",
            "mcp-name",
            "mcp-session-id",
            "last-event-id",
        ] {
            assert!(allowed.contains(header), "{header}");
        }
        assert!(!reply.headers.contains_key("access-control-allow-credentials"));
        let reply = stage.send(Method::POST, path, &asking, "").await;
        assert_eq!(reply.headers["access-control-allow-origin"], "*");
        let exposed = reply.headers["access-control-expose-headers"].to_str().unwrap();
        assert!(exposed.contains("www-authenticate") && exposed.contains("retry-after"));
    }
    let reply = stage.send(Method::OPTIONS, "/api/mcp/oauth/introspect", &asking, "").await.is(405);
    assert!(!reply.headers.contains_key("access-control-allow-origin"));
    let reply = stage.send(Method::POST, "/api/mcp/oauth/introspect", &asking, "").await;
    assert!(!reply.headers.contains_key("access-control-allow-origin"));
}

/// O-D12: descriptions are kept shortly, and nothing else is kept.
#[tokio::test]
async fn nobody_keeps_an_answer_that_could_hold_a_secret() {
    let stage = Stage::new().await;
    for path in ["/.well-known/oauth-authorization-server", "/.well-known/oauth-protected-resource"] {
        assert_eq!(stage.get(path).await.headers["cache-control"], "public, max-age=60");
    }
    let client = stage.public_client().await;
    let code = stage.code(&client).await;
    let replies = [
        stage.register(&json!({ "redirect_uris": ["https://a.example/cb"] })).await.is(201),
        stage.register(&json!([])).await.is(400),
        stage.exchange(&client, &code).await.is(200),
        stage.token(&[]).await.is(400),
        stage.get("/.well-known/oauth-protected-resource/else").await.is(404),
    ];
    for reply in replies {
        assert_eq!(reply.headers["cache-control"], "no-store");
        assert_eq!(reply.headers["pragma"], "no-cache");
    }
}

/// O-D5: whoever is not let in hears where to go.
#[tokio::test]
async fn a_challenge_leads_to_a_description_that_is_there() {
    let stage = Stage::new().await;
    for path in ["/api/mcp", "/mcp", "/mcp/crm", "/api/tools/crm/x"] {
        for why in [
            Unadmitted::NoToken,
            Unadmitted::InvalidToken,
            Unadmitted::InsufficientScope(Scopes::read("mcp:call mcp:read")),
        ] {
            let challenge = stage.server.challenge(path, &why);
            let challenge = challenge.to_str().unwrap();
            assert!(challenge.starts_with("Bearer ") && challenge.is_ascii());
            assert!(challenge.contains("scope=\"mcp:call mcp:read\""));
            assert_eq!(challenge.contains("error="), why != Unadmitted::NoToken);
            let (_, behind) = challenge.split_once("resource_metadata=\"https://gate.example").unwrap();
            stage.get(behind.split('"').next().unwrap()).await.is(200);
        }
    }
}

/// O-R9: where nobody may register, nobody is told to.
#[tokio::test]
async fn registration_can_be_off_or_need_a_token() {
    let body = json!({ "redirect_uris": ["https://a.example/cb"] });
    let off = Stage::with(OAuthConfig { registration: Registration::Off, ..OAuthConfig::default() }).await;
    off.register(&body).await.says(403, "access_denied");
    let described = off.get("/.well-known/oauth-authorization-server").await.json;
    assert!(described.get("registration_endpoint").is_none());
    let registration = Registration::WithToken("${REGISTRATION}".parse().unwrap());
    let with_token = Stage::with(OAuthConfig { registration, ..OAuthConfig::default() }).await;
    with_token.register(&body).await.says(401, "invalid_token");
    for (token, status) in
        [("Bearer let me register", 201), ("Bearer let me", 401), ("Basic let me register", 401)]
    {
        let headers = [("content-type", "application/json"), ("authorization", token)];
        with_token.send(Method::POST, "/api/mcp/oauth/register", &headers, body.to_string()).await.is(status);
    }
    let unknown = Registration::WithToken("${NOBODY_SET_THIS}".parse().unwrap());
    let nobody = Stage::with(OAuthConfig { registration: unknown, ..OAuthConfig::default() }).await;
    nobody.register(&body).await.is(403);
}

/// O-C1, O-D2: where nobody's documents are taken, clients are told so, and those with one are not asked about.
#[tokio::test]
async fn documents_can_be_off() {
    let documents = Documents { from: DocumentHosts::Nobody, ..Documents::default() };
    let stage = Stage::with(OAuthConfig { documents, ..OAuthConfig::default() }).await;
    let described = stage.get("/.well-known/oauth-authorization-server").await.json;
    assert_eq!(described["client_id_metadata_document_supported"], false);
    Stage::expect_refusal(stage.authorize(&request("https://client.example/oauth.json")).await);
    stage.refresh("https://client.example/oauth.json", "ygr_x").await.says(401, "invalid_client");
}

/// A changed configuration counts at once, and what was issued counts on.
#[tokio::test]
async fn a_new_configuration_counts_at_once() {
    let stage = Stage::new().await;
    let client = stage.public_client().await;
    let access = stage.connect(&client).await.str("access_token");
    let config = OAuthConfig { registration: Registration::Off, ..OAuthConfig::default() };
    stage.server.govern(config, vec!["bank".to_owned()]);
    stage.register(&json!({ "redirect_uris": ["https://a.example/cb"] })).await.is(403);
    stage.get("/.well-known/oauth-protected-resource/mcp/crm").await.is(404);
    stage.get("/.well-known/oauth-protected-resource/mcp/bank").await.is(200);
    stage.admit(&access).await.unwrap();
}
