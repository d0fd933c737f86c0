//! Codes become tokens, once, for whoever they were made for.

use http::Method;
use serde_json::json;
use yesgate_core::caller::Caller;
use yesgate_core::oauth::OAuthClientId;
use yesgate_http::edge::bearer::{Bearers as _, Unadmitted};

use crate::support::{CALLBACK, Stage, VERIFIER, request, seconds, with};

const TOKEN: &str = "/api/mcp/oauth/token";

/// O3, O-T6: from a registration to a call.
#[tokio::test]
async fn a_client_registers_is_allowed_and_calls() {
    let stage = Stage::new().await;
    let client = stage.public_client().await;
    let reply = stage.connect(&client).await;
    assert_eq!(reply.json["token_type"], "Bearer");
    assert_eq!(reply.json["expires_in"], 3600);
    assert_eq!(reply.json["scope"], "mcp:call mcp:read");
    assert!(reply.str("access_token").starts_with("ygt_") && reply.str("refresh_token").starts_with("ygr_"));
    assert_eq!(reply.headers["cache-control"], "no-store");
    let bearer = stage.admit(&reply.str("access_token")).await.unwrap();
    let id: OAuthClientId = client.parse().unwrap();
    let expected = Caller {
        org: "acme".parse().unwrap(),
        principal: "ada".parse().unwrap(),
        client: id.client().unwrap(),
    };
    assert_eq!(bearer.caller, expected);
    assert_eq!(bearer.scopes.to_string(), "mcp:call mcp:read");
}

/// O-D5, O5: what is no token, or is too old, lets nobody in.
#[tokio::test]
async fn only_a_token_that_counts_lets_somebody_in() {
    let stage = Stage::new().await;
    let client = stage.public_client().await;
    let reply = stage.connect(&client).await;
    let access = reply.str("access_token");
    for wrong in ["", "ygt_", "x", &reply.str("refresh_token"), &format!("{access}x")] {
        assert_eq!(stage.admit(wrong).await.unwrap_err(), Unadmitted::InvalidToken, "{wrong}");
    }
    stage.clock.turn(seconds(3599));
    stage.admit(&access).await.unwrap();
    stage.clock.turn(seconds(1));
    assert_eq!(stage.admit(&access).await.unwrap_err(), Unadmitted::InvalidToken);
}

/// O-D6, O-A4: a token is good where it was asked for.
#[tokio::test]
async fn a_token_for_one_server_is_good_there_only() {
    let stage = Stage::new().await;
    let client = stage.public_client().await;
    let code = stage.code_with(&with(request(&client), "resource", "https://gate.example/mcp/crm")).await;
    let access = stage.exchange(&client, &code).await.is(200).str("access_token");
    stage.server.admit(&access, "/mcp/crm").await.unwrap();
    for path in ["/api/mcp", "/mcp", "/mcp/bank", "/mcp/crmx", "/api/tools/crm/list"] {
        assert_eq!(stage.server.admit(&access, path).await.unwrap_err(), Unadmitted::InvalidToken, "{path}");
    }
    let access = stage.connect(&client).await.str("access_token");
    for path in ["/api/mcp", "/mcp", "/mcp/crm", "/api/tools/crm/list"] {
        stage.server.admit(&access, path).await.unwrap();
    }
}

/// O-T3, O-T9: each binding, broken one at a time, refuses the code and leaves it as it was.
#[tokio::test]
async fn a_code_is_bound_to_everything_and_mistakes_do_not_use_it_up() {
    let stage = Stage::new().await;
    let (client, other) = (stage.public_client().await, stage.public_client().await);
    let code = stage.code(&client).await;
    let form = |name: &'static str, value: &'static str| {
        let form = vec![
            ("grant_type", "authorization_code"),
            ("code", code.as_str()),
            ("client_id", client.as_str()),
            ("redirect_uri", CALLBACK),
            ("code_verifier", VERIFIER),
        ];
        with(form, name, value)
    };
    stage.exchange(&other, &code).await.says(400, "invalid_grant");
    let elsewhere = form("redirect_uri", "http://127.0.0.1:9/callback");
    stage.token(&elsewhere).await.says(400, "invalid_grant");
    stage.token(&form("resource", "https://evil.example/mcp")).await.says(400, "invalid_target");
    stage.token(&form("resource", "https://gate.example")).await.says(400, "invalid_target");
    stage.token(&form("code_verifier", "short")).await.says(400, "invalid_request");
    stage.token(&form("code_verifier", "")).await.says(400, "invalid_request");
    stage.token(&form("code", "ygc_unknown")).await.says(400, "invalid_grant");
    stage.token(&form("grant_type", "password")).await.says(400, "unsupported_grant_type");
    stage.token(&form("grant_type", "")).await.says(400, "invalid_request");
    // Still good. OAuth 2.1 clients need not say where it was brought.
    stage.token(&form("redirect_uri", "")).await.is(200);
}

/// O-T3, O-T5: a wrong verifier uses the code up.
#[tokio::test]
async fn a_wrong_verifier_uses_the_code_up() {
    let stage = Stage::new().await;
    let client = stage.public_client().await;
    let code = stage.code(&client).await;
    let wrong = "another-verifier-of-forty-three-characters-or-more";
    let form = [
        ("grant_type", "authorization_code"),
        ("code", code.as_str()),
        ("client_id", client.as_str()),
        ("code_verifier", wrong),
    ];
    stage.token(&form).await.says(400, "invalid_grant");
    stage.exchange(&client, &code).await.says(400, "invalid_grant");
}

/// O-T3: a minute.
#[tokio::test]
async fn a_code_counts_for_a_minute() {
    let stage = Stage::new().await;
    let client = stage.public_client().await;
    let code = stage.code(&client).await;
    stage.clock.turn(seconds(60));
    stage.exchange(&client, &code).await.says(400, "invalid_grant");
    let code = stage.code(&client).await;
    stage.clock.turn(seconds(59));
    stage.exchange(&client, &code).await.is(200);
}

/// O-T4: a replay by the client revokes what came of the code; one by somebody else does nothing.
#[tokio::test]
async fn a_replayed_code_revokes_what_came_of_it() {
    let stage = Stage::new().await;
    let (client, other) = (stage.public_client().await, stage.public_client().await);
    let code = stage.code(&client).await;
    let reply = stage.exchange(&client, &code).await.is(200);
    let (access, refresh) = (reply.str("access_token"), reply.str("refresh_token"));
    stage.exchange(&other, &code).await.says(400, "invalid_grant");
    stage.admit(&access).await.unwrap();
    stage.exchange(&client, &code).await.says(400, "invalid_grant");
    assert_eq!(stage.admit(&access).await.unwrap_err(), Unadmitted::InvalidToken);
    stage.refresh(&client, &refresh).await.says(400, "invalid_grant");
}

/// O-T3: of many who bring the same code at once, one gets tokens.
#[tokio::test(flavor = "multi_thread")]
async fn a_code_is_exchanged_once_under_a_race() {
    let stage = std::sync::Arc::new(Stage::new().await);
    let client = stage.public_client().await;
    let code = stage.code(&client).await;
    let tries: Vec<_> = (0..20)
        .map(|_| {
            let (stage, client, code) = (stage.clone(), client.clone(), code.clone());
            tokio::spawn(async move { stage.exchange(&client, &code).await.status.as_u16() })
        })
        .collect();
    let mut good = 0;
    for one in tries {
        good += usize::from(one.await.unwrap() == 200);
    }
    assert_eq!(good, 1);
}

/// O-T1: what is no form is refused, and never with a 5xx.
#[tokio::test]
async fn a_token_request_is_a_form_and_nothing_else() {
    let stage = Stage::new().await;
    let body = "grant_type=authorization_code&code=x&client_id=y";
    for kind in ["application/json", "text/plain", "application/json, application/x-www-form-urlencoded", ""]
    {
        stage.send(Method::POST, TOKEN, &[("content-type", kind)], body).await.says(400, "invalid_request");
    }
    stage.send(Method::POST, TOKEN, &[], body).await.says(400, "invalid_request");
    let form = [("content-type", "application/x-www-form-urlencoded; charset=utf-8")];
    for wrong in ["grant_type=a&grant_type=a", "grant_type=%zz", "a=%ff", "\u{0}"] {
        stage.send(Method::POST, TOKEN, &form, wrong).await.says(400, "invalid_request");
    }
    let long = format!("grant_type={}", "x".repeat(17 * 1024));
    stage.send(Method::POST, TOKEN, &form, long).await.says(413, "invalid_request");
    stage.send(Method::GET, TOKEN, &[], "").await.is(405);
}

/// O-F1: a client that may not come again gets nothing to come again with.
#[tokio::test]
async fn a_refresh_token_goes_to_those_who_registered_for_it() {
    let stage = Stage::new().await;
    let body = json!({
        "redirect_uris": [CALLBACK], "token_endpoint_auth_method": "none", "grant_types": ["authorization_code"],
    });
    let client = stage.register(&body).await.is(201).str("client_id");
    assert!(stage.connect(&client).await.json.get("refresh_token").is_none());
}

/// O-S10: a code outlives a restart of the gateway.
#[tokio::test]
async fn a_code_and_a_token_outlive_a_restart() {
    let stage = Stage::new().await;
    let client = stage.public_client().await;
    let code = stage.code(&client).await;
    let stage = stage.restarted();
    let reply = stage.exchange(&client, &code).await.is(200);
    let stage = stage.restarted();
    stage.admit(&reply.str("access_token")).await.unwrap();
    stage.refresh(&client, &reply.str("refresh_token")).await.is(200);
}
