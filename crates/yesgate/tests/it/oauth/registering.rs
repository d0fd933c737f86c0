//! Registration: what a client says of itself, and what it is told (RFC 7591, RFC 7592).

use serde_json::{Value, json};
use yesgate_testkit::{OAuthClient, RestAnswer};

use super::{Play, assert_error, read};

/// O-R1, O-R2: whichever way a client wants to prove itself, it is told all that holds, and can connect.
#[tokio::test]
async fn a_client_is_told_all_that_holds_and_connects_in_each_way_to_prove_itself() {
    let play = Play::new().await;
    for (method, told, has_secret) in [
        (None, "client_secret_basic", true),
        (Some("none"), "none", false),
        (Some("client_secret_post"), "client_secret_post", true),
        (Some("client_secret_basic"), "client_secret_basic", true),
    ] {
        let client = OAuthClient::register(play.gateway.url(), method).await;
        let registered = &client.registered;
        assert_eq!(registered["token_endpoint_auth_method"], told);
        assert_eq!(registered["client_secret"].is_string(), has_secret, "{registered:#}");
        assert_eq!(registered["client_secret_expires_at"].is_u64(), has_secret, "{registered:#}");
        assert!(registered["client_id_issued_at"].is_u64());
        assert_eq!(registered["client_name"], "Testkit");
        assert_eq!(registered["redirect_uris"], json!(["http://127.0.0.1:7777/callback"]));
        let tokens = client.connect(&play.owner).await;
        assert_eq!(read(&play.rest(&tokens)).await.status, 200);
        let next = client.tokens(&client.refresh(&tokens.refresh).await);
        assert_eq!(read(&play.rest(&next)).await.status, 200);
    }
    play.finish(0);
}

/// O-R8: a client looks at its own registration, changes it and gives it back; another client's token opens nothing, and
/// does not tell whether there is such a client.
#[tokio::test]
async fn a_client_manages_its_own_registration_and_no_other() {
    let play = Play::new().await;
    let (mine, other) = (play.client().await, play.client().await);
    let path = |client: &OAuthClient| format!("/api/mcp/oauth/register/{}", client.id());
    let management = |client: &OAuthClient| {
        client.registered["registration_access_token"].as_str().expect("it can manage itself").to_owned()
    };
    let uri = mine.registered["registration_client_uri"].as_str().unwrap();
    assert_eq!(uri, format!("{}{}", play.gateway.url(), path(&mine)));
    let send = async |method: &str, path: &str, token: &str, body: Value| {
        let rest = play.gateway.rest().bearer(token);
        RestAnswer::read(rest.draft(method, path).body(body.to_string()).send().await).await
    };
    let looked = send("GET", &path(&mine), &management(&mine), Value::Null).await;
    assert_eq!((looked.status, &looked.body["client_id"]), (200, &json!(mine.id())), "{}", looked.text);
    let foreign = send("GET", &path(&mine), &management(&other), Value::Null).await;
    let unknown = send("GET", "/api/mcp/oauth/register/nobody", &management(&other), Value::Null).await;
    assert_eq!((foreign.status, unknown.status), (401, 401));
    assert_eq!(foreign.text, unknown.text);

    let body = json!({
        "client_id": mine.id(), "client_name": "Renamed", "token_endpoint_auth_method": "none",
        "redirect_uris": ["http://127.0.0.1:7777/callback"],
    });
    let changed = send("PUT", &path(&mine), &management(&mine), body).await;
    assert_eq!((changed.status, &changed.body["client_name"]), (200, &json!("Renamed")), "{}", changed.text);
    let token =
        changed.body["registration_access_token"].as_str().map_or_else(|| management(&mine), str::to_owned);
    let tokens = mine.connect(&play.owner).await;
    assert_eq!(send("DELETE", &path(&mine), &token, Value::Null).await.status, 204);
    super::assert_out(&read(&play.rest(&tokens)).await);
    // The client learns that it has to register anew, and not only that its tokens are gone.
    assert_error(&mine.refresh(&tokens.refresh).await, 401, "invalid_client");
    play.finish(0);
}

/// O-R4: what a browser would run itself is never a place for codes, whatever else is in the list.
#[tokio::test]
async fn no_code_goes_where_a_browser_would_run_it() {
    let play = Play::new().await;
    let rest = play.gateway.rest();
    for uri in [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "vbscript:x",
        "blob:https://a.example/b",
        "http://localhost@evil.example/cb",
        "http://127.0.0.1.evil.example/cb",
        "http://evil.example/cb",
        "https://a.example/cb#part",
        "https://a.example/\u{0}cb",
        "https:\\\\a.example/cb",
    ] {
        let body = json!({"redirect_uris": [uri]});
        let refused = rest.post("/api/mcp/oauth/register", body).await;
        assert_error(&refused, 400, "invalid_redirect_uri");
    }
    let both = json!({"redirect_uris": ["https://a.example/cb", "javascript:alert(1)"]});
    assert_error(&rest.post("/api/mcp/oauth/register", both).await, 400, "invalid_redirect_uri");
    for body in ["", "[]", "{", "null", r#"{"redirect_uris": 1}"#] {
        let refused =
            RestAnswer::read(rest.draft("POST", "/api/mcp/oauth/register").body(body).send().await).await;
        assert_eq!(refused.status, 400, "{body}: {}", refused.text);
    }
    play.finish(0);
}
