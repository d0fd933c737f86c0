//! What a client finds out before it knows anything: metadata, challenges, preflights.

use serde_json::{Value, json};
use yesgate_testkit::{RestAnswer, RestHost, WebHost};

use super::Play;

const SERVER: &str = "/.well-known/oauth-authorization-server";

/// O1, O-D1, O-D2, O-D3: one document says everything a client needs, wherever it looks for it, under the name that is in
/// every other place.
#[tokio::test]
async fn the_gateway_describes_itself_in_the_same_words_wherever_clients_look() {
    let play = Play::new().await;
    let (rest, origin) = (play.gateway.rest(), play.gateway.url());
    let told = rest.get(SERVER).await;
    assert_eq!((told.status, told.header("content-type")), (200, Some("application/json")), "{}", told.text);
    assert_eq!(told.body["issuer"], origin);
    let resource = rest.get("/.well-known/oauth-protected-resource/api/mcp").await;
    assert_eq!(resource.body["authorization_servers"], json!([origin]));

    let holds = |key: &str, words: &[&str]| {
        let listed = told.body[key].as_array().unwrap_or_else(|| panic!("no `{key}`: {}", told.text));
        words.iter().all(|word| listed.contains(&json!(word)))
    };
    assert_eq!(told.body["response_types_supported"], json!(["code"]));
    assert_eq!(told.body["response_modes_supported"], json!(["query"]));
    assert_eq!(told.body["code_challenge_methods_supported"], json!(["S256"]));
    let device = "urn:ietf:params:oauth:grant-type:device_code";
    assert!(holds("grant_types_supported", &["authorization_code", "refresh_token", device]));
    let methods = ["none", "client_secret_basic", "client_secret_post"];
    assert!(holds("token_endpoint_auth_methods_supported", &methods));
    assert!(holds("scopes_supported", &["mcp:read", "mcp:call"]));
    assert_eq!(told.body["client_id_metadata_document_supported"], true);
    assert_eq!(told.body["authorization_response_iss_parameter_supported"], true);

    for path in [
        "/.well-known/openid-configuration",
        "/.well-known/oauth-authorization-server/api/mcp",
        "/.well-known/openid-configuration/api/mcp",
        "/api/mcp/.well-known/openid-configuration",
    ] {
        let same = rest.get(path).await;
        assert_eq!((same.status, &same.body), (200, &told.body), "{path}: {}", same.text);
    }
    let unknown = rest.get("/.well-known/nothing-of-ours").await;
    assert_eq!(unknown.status, 404);
    assert!(!unknown.text.contains("<html"), "{}", unknown.text);
    play.finish(0);
}

/// O-D2: every endpoint that is named is there.
#[tokio::test]
async fn every_endpoint_that_is_named_answers() {
    let play = Play::new().await;
    let (rest, origin) = (play.gateway.rest(), play.gateway.url());
    let told = rest.get(SERVER).await.body;
    for (key, method) in [
        ("authorization_endpoint", "GET"),
        ("token_endpoint", "POST"),
        ("registration_endpoint", "POST"),
        ("revocation_endpoint", "POST"),
        ("introspection_endpoint", "POST"),
        ("device_authorization_endpoint", "POST"),
    ] {
        let address = told[key].as_str().unwrap_or_else(|| panic!("no `{key}`: {told:#}"));
        let path = address.strip_prefix(origin).unwrap_or_else(|| panic!("{address} is not of {origin}"));
        let answer = RestAnswer::read(rest.draft(method, path).send().await).await;
        assert!(
            ![404, 405, 500].contains(&answer.status),
            "{method} {path}: {} {}",
            answer.status,
            answer.text
        );
    }
    play.finish(0);
}

/// O-D4: each endpoint has its own description with its own address, which no header of a request changes.
#[tokio::test]
async fn each_endpoint_is_described_by_its_own_address() {
    let play = Play::new().await;
    let (rest, origin) = (play.gateway.rest(), play.gateway.url());
    for (path, resource) in [
        ("", "/api/mcp"),
        ("/api/mcp", "/api/mcp"),
        ("/mcp/notes", "/mcp/notes"),
        ("/mcp/other", "/mcp/other"),
    ] {
        let path = format!("/.well-known/oauth-protected-resource{path}");
        let told = rest.get(&path).await;
        assert_eq!((told.status, told.header("content-type")), (200, Some("application/json")), "{path}");
        assert_eq!(told.body["resource"], format!("{origin}{resource}"), "{path}");
        assert_eq!(told.body["authorization_servers"], json!([origin]));
        let scopes = told.body["scopes_supported"].to_string();
        assert!(scopes.contains("mcp:read") && !scopes.contains("offline_access"), "{scopes}");

        let draft = rest.draft("GET", &path).header("x-forwarded-host", "evil.example");
        let draft = draft.header("forwarded", "host=evil.example;proto=https");
        let spoofed = RestAnswer::read(draft.header("x-forwarded-proto", "https").send().await).await;
        assert_eq!(spoofed.body, told.body, "{path}");
    }
    let alias = rest.get("/.well-known/oauth-protected-resource/mcp").await;
    assert_eq!((alias.status, alias.body["authorization_servers"].clone()), (200, json!([origin])));
    assert_eq!(rest.get("/.well-known/oauth-protected-resource/mcp/nobody").await.status, 404);
    let host = RestAnswer::read(rest.draft("GET", SERVER).header("host", "evil.example").send().await).await;
    assert!(!host.text.contains("evil.example"), "{}", host.text);
    play.finish(0);
}

/// O-D5, O-D7, RFC 6750 §3: every request without a token that counts is told where to get one, in one header that
/// clients can read, and whether it brought something wrong.
#[tokio::test]
async fn whoever_has_no_token_that_counts_is_told_where_to_get_one() {
    let play = Play::new().await;
    let (client, tokens) = play.connected().await;
    let revoked = client.connect_with(&play.owner, &[("scope", "mcp:read")]).await;
    assert_eq!(client.revoke(&revoked.access).await.status, 200);
    for path in ["/api/mcp", "/mcp", "/mcp/notes"] {
        for method in ["POST", "GET", "DELETE"] {
            let tried = async |name: Option<&str>, query: &str| {
                let host = WebHost::new(play.gateway.url());
                let draft = host.raw("{}").method(method).path(&format!("{path}{query}"));
                let draft = match name {
                    Some(value) => draft.header("authorization", value),
                    None => draft,
                };
                RestAnswer::read(draft.send().await).await
            };
            let absent = tried(None, "").await;
            check_challenge(&absent, play.gateway.url(), path, None);
            let in_query = tried(None, &format!("?access_token={}", tokens.access)).await;
            check_challenge(&in_query, play.gateway.url(), path, None);
            for wrong in [
                "Bearer ygt_nobody".to_owned(),
                "Bearer x".to_owned(),
                format!("Bearer {}", revoked.access),
                format!("Bearer {}", tokens.refresh),
                format!("Bearer {} {}", tokens.access, tokens.access),
            ] {
                check_challenge(
                    &tried(Some(&wrong), "").await,
                    play.gateway.url(),
                    path,
                    Some("invalid_token"),
                );
            }
            for empty in ["Bearer", "Bearer ", "Basic YTpi"] {
                let answer = tried(Some(empty), "").await;
                assert_eq!(answer.status, 401, "{empty:?}: {}", answer.text);
            }
        }
    }
    assert!(!play.gateway.stderr().contains(&tokens.access), "a token in a query was logged");
    play.finish(0);
}

/// What a client can read in a challenge.
#[track_caller]
fn check_challenge(answer: &RestAnswer, origin: &str, path: &str, error: Option<&str>) {
    assert_eq!(answer.status, 401, "{path}: {}", answer.text);
    let told: Vec<_> = answer.headers.get_all("www-authenticate").iter().collect();
    let [told] = told.as_slice() else { panic!("not one header: {told:?}") };
    let told = told.to_str().expect("a challenge is ASCII");
    assert!(told.starts_with("Bearer "), "{told}");
    let place = if path == "/mcp" { "/api/mcp" } else { path };
    let metadata = format!("resource_metadata=\"{origin}/.well-known/oauth-protected-resource{place}\"");
    let alias = format!("resource_metadata=\"{origin}/.well-known/oauth-protected-resource{path}\"");
    assert!(told.contains(&metadata) || told.contains(&alias), "{path}: {told}");
    assert!(told.contains("scope=\""), "{told}");
    for word in ["scope=", "error=", "resource_metadata="] {
        assert!(told.matches(word).count() <= 1, "clients search the whole header for `{word}`: {told}");
    }
    match error {
        Some(error) => {
            assert!(told.contains(&format!("error=\"{error}\"")), "{told}");
            assert_eq!(answer.body["error"], error, "{}", answer.text);
        }
        None => assert!(!told.contains("error="), "nothing was wrong: {told}"),
    }
    assert!(answer.body.is_object(), "{}", answer.text);
}

/// O-D6: a token for one server is worth nothing anywhere else; one for all of them is good everywhere.
#[tokio::test]
async fn a_token_for_one_server_is_worth_nothing_at_another() {
    let play = Play::new().await;
    let client = play.client().await;
    let only = format!("{}/mcp/notes", play.gateway.url());
    let notes = client.connect_with(&play.owner, &[("resource", &only)]).await;
    let all = client.connect(&play.owner).await;
    let root = client.connect_with(&play.owner, &[("resource", play.gateway.url())]).await;
    let tried = async |path: &str, token: &str| {
        let host = WebHost::new(format!("{}{path}", play.gateway.url())).bearer(token);
        host.draft("tools/list", json!({})).send().await.status()
    };
    for (path, expected) in
        [("/mcp/notes", 200), ("/mcp/other", 401), ("/api/mcp", 401), ("/mcp", 401), ("/mcp/notes-not", 401)]
    {
        assert_eq!(tried(path, &notes.access).await, expected, "{path}");
    }
    for token in [&all.access, &root.access] {
        for path in ["/mcp/notes", "/mcp/other", "/api/mcp", "/mcp"] {
            assert_eq!(tried(path, token).await, 200, "{path}");
        }
    }
    play.finish(0);
}

/// O-D10: a page in a browser may ask wherever clients do, before it has a token; and may not where people answer.
#[tokio::test]
async fn browsers_may_ask_where_clients_do_and_not_where_people_answer() {
    let play = Play::with(&format!("[serve]\norigins = [\"{PAGE}\"]\n")).await;
    let rest = play.gateway.rest();
    for (path, method) in [
        ("/api/mcp", "POST"),
        (SERVER, "GET"),
        ("/.well-known/oauth-protected-resource/api/mcp", "GET"),
        ("/api/mcp/oauth/register", "POST"),
        ("/api/mcp/oauth/token", "POST"),
        ("/api/mcp/oauth/revoke", "POST"),
        ("/api/mcp/oauth/device", "POST"),
    ] {
        let answer = preflight(&rest, path, method).await;
        assert!(answer.status < 300, "{path}: {} {}", answer.status, answer.text);
        let origin = answer.header("access-control-allow-origin").unwrap_or_default();
        assert!(["*", PAGE].contains(&origin), "{path}: {origin}");
        let allowed = answer.header("access-control-allow-headers").unwrap_or_default().to_lowercase();
        for name in ALLOWED {
            assert!(allowed.contains(name) || allowed == "*" && name != "authorization", "{path}: {allowed}");
        }
    }
    let challenge =
        RestAnswer::read(rest.draft("POST", "/api/mcp").header("origin", PAGE).send().await).await;
    let exposed = challenge.header("access-control-expose-headers").unwrap_or_default().to_lowercase();
    assert!(["www-authenticate", "mcp-session-id"].iter().all(|name| exposed.contains(name)), "{exposed}");
    for path in ["/api/mcp/oauth/authorize", "/settings/connected-clients", "/device", "/api/me/sessions"] {
        let answer = preflight(&rest, path, "POST").await;
        assert_eq!(answer.header("access-control-allow-origin"), None, "{path}");
    }
    play.finish(0);
}

const PAGE: &str = "https://inspector.example";
const ALLOWED: [&str; 7] = [
    "authorization",
    "content-type",
    "mcp-protocol-version",
    "mcp-method",
    "mcp-name",
    "mcp-session-id",
    "last-event-id",
];

async fn preflight(rest: &RestHost, path: &str, method: &str) -> RestAnswer {
    let draft = rest.draft("OPTIONS", path).without("content-type").header("origin", PAGE);
    let draft = draft.header("access-control-request-method", method);
    RestAnswer::read(draft.header("access-control-request-headers", &ALLOWED.join(", ")).send().await).await
}

/// O-D12: metadata is kept for a short while, and what has secrets or errors in it not at all.
#[tokio::test]
async fn metadata_is_kept_for_a_while_and_secrets_never() {
    let play = Play::new().await;
    let rest = play.gateway.rest();
    for path in [SERVER, "/.well-known/oauth-protected-resource", "/.well-known/openid-configuration"] {
        let told = rest.get(path).await;
        let cached = told.header("cache-control").unwrap_or_default().to_owned();
        let seconds =
            cached.split("max-age=").nth(1).and_then(|rest| rest.split(',').next()?.trim().parse().ok());
        assert!(seconds.is_some_and(|seconds: u32| seconds <= 300), "{path}: {cached}");
    }
    let (client, tokens) = play.connected().await;
    let registered =
        rest.post("/api/mcp/oauth/register", json!({"redirect_uris": ["https://a.example/b"]})).await;
    assert_eq!(registered.status, 201, "{}", registered.text);
    super::assert_unstored(&registered);
    let wrong = client.refresh("ygr_nothing").await;
    super::assert_error(&wrong, 400, "invalid_grant");
    let right = client.refresh(&tokens.refresh).await;
    super::assert_unstored(&right);
    assert_eq!(right.header("pragma"), Some("no-cache"));
    assert_eq!(right.body["token_type"], "Bearer");
    assert!(right.body["expires_in"].is_u64() && right.body["scope"].is_string(), "{}", right.text);
    let refused = play.gateway.visitor().get("/api/mcp/oauth/authorize?client_id=nobody").await;
    assert_eq!(refused.status, 400);
    assert!(refused.header("cache-control").is_some_and(|value| value.contains("no-store")));
    assert_eq!(refused.header("location"), None, "nobody is sent anywhere by a stranger");
    let null = |value: &Value| value.is_null() || value == "";
    assert!(!registered.body.as_object().unwrap().values().any(null), "{}", registered.text);
    play.finish(0);
}
