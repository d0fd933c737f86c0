//! Clients without a browser (RFC 8628).

use serde_json::json;
use yesgate_core::oauth::{Scopes, UserCode};
use yesgate_core::policy::{OAuthConfig, OAuthLimits};
use yesgate_oauth::Answered;

use crate::support::{CALLBACK, Reply, Stage, seconds};

const DEVICE: &str = "/api/mcp/oauth/device";
const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

async fn client(stage: &Stage) -> String {
    let body = json!({
        "redirect_uris": [CALLBACK], "token_endpoint_auth_method": "none", "grant_types": [GRANT, "refresh_token"],
    });
    stage.register(&body).await.is(201).str("client_id")
}

async fn begin(stage: &Stage, client: &str) -> Reply {
    let form = [("client_id", client), ("scope", "mcp:read"), ("resource", "https://gate.example/mcp")];
    stage.post(DEVICE, &form).await.is(200)
}

async fn poll(stage: &Stage, client: &str, device: &str) -> Reply {
    let resource = ("resource", "https://gate.example/api/mcp");
    stage.token(&[("grant_type", GRANT), ("device_code", device), ("client_id", client), resource]).await
}

/// O-S4: from the code to the tokens, with the resource named at both ends.
#[tokio::test]
async fn a_person_types_a_code_and_the_client_gets_tokens() {
    let stage = Stage::new().await;
    let client = client(&stage).await;
    let begun = begin(&stage, &client).await;
    assert_eq!(begun.json["verification_uri"], "https://gate.example/device");
    assert_eq!((&begun.json["expires_in"], &begun.json["interval"]), (&json!(600), &json!(5)));
    assert!(begun.json.get("verification_uri_complete").is_none());
    let device = begun.str("device_code");
    poll(&stage, &client, &device).await.says(400, "authorization_pending");
    poll(&stage, &client, &device).await.says(400, "slow_down");
    stage.clock.turn(seconds(11));
    poll(&stage, &client, &device).await.says(400, "authorization_pending");
    let typed = UserCode::typed(&format!(" {} ", begun.str("user_code").to_lowercase()));
    let (by, from) = ((&stage.person, &stage.session), "192.0.2.9".parse().unwrap());
    let asked = stage.server.asked_by_device(&typed, by, from).await.unwrap().unwrap();
    assert_eq!(asked.redirect_uri, None);
    assert_eq!(asked.scopes.len(), 1);
    let allowed =
        stage.server.allow_device(&typed, by, &Scopes::read("mcp:read mcp:call"), from).await.unwrap();
    assert_eq!(allowed, Answered::Noted);
    let again = stage.server.allow_device(&typed, by, &Scopes::read("mcp:read"), from).await.unwrap();
    assert_eq!(again, Answered::Gone);
    stage.clock.turn(seconds(11));
    let reply = poll(&stage, &client, &device).await.is(200);
    assert_eq!(reply.json["scope"], "mcp:read");
    stage.admit(&reply.str("access_token")).await.unwrap();
    stage.refresh(&client, &reply.str("refresh_token")).await.is(200);
    poll(&stage, &client, &device).await.says(400, "invalid_grant");
}

/// O-S4: a no, too late, somebody else's, and none at all.
#[tokio::test]
async fn whatever_is_no_yes_gives_nothing() {
    let stage = Stage::new().await;
    let (mine, other) = (client(&stage).await, client(&stage).await);
    let begun = begin(&stage, &mine).await;
    poll(&stage, &other, &begun.str("device_code")).await.says(400, "invalid_grant");
    poll(&stage, &mine, "ygd_unknown").await.says(400, "invalid_grant");
    let typed = UserCode::typed(&begun.str("user_code"));
    let from = "192.0.2.9".parse().unwrap();
    assert_eq!(stage.server.deny_device(&typed, &stage.person, from).await.unwrap(), Answered::Noted);
    poll(&stage, &mine, &begun.str("device_code")).await.says(400, "access_denied");
    let late = begin(&stage, &mine).await;
    stage.clock.turn(seconds(600));
    poll(&stage, &mine, &late.str("device_code")).await.says(400, "expired_token");
    let typed = UserCode::typed(&late.str("user_code"));
    let by = (&stage.person, &stage.session);
    assert!(stage.server.asked_by_device(&typed, by, from).await.unwrap().is_none());
    let public = stage.public_client().await;
    stage.post(DEVICE, &[("client_id", &public)]).await.says(400, "unauthorized_client");
    stage.post(DEVICE, &[("client_id", "client_nobody")]).await.says(401, "invalid_client");
    let wrong = [("client_id", mine.as_str()), ("resource", "https://evil.example")];
    stage.post(DEVICE, &wrong).await.says(400, "invalid_target");
    let wrong = [("client_id", mine.as_str()), ("scope", "nothing")];
    stage.post(DEVICE, &wrong).await.says(400, "invalid_scope");
}

/// O-S4: who guesses is not answered any more, even when the guess is right.
#[tokio::test]
async fn guessing_codes_is_stopped_by_address_and_by_person() {
    let stage = Stage::new().await;
    let client = client(&stage).await;
    let right = UserCode::typed(&begin(&stage, &client).await.str("user_code"));
    let by = (&stage.person, &stage.session);
    let wrong = UserCode::typed("BBBB-BBBB");
    for n in 0..20 {
        let from = format!("192.0.2.{n}").parse().unwrap();
        assert!(stage.server.asked_by_device(&wrong, by, from).await.unwrap().is_none());
    }
    let elsewhere = "198.51.100.1".parse().unwrap();
    assert!(stage.server.asked_by_device(&right, by, elsewhere).await.unwrap().is_none());
    let answered = stage.server.allow_device(&right, by, &Scopes::read("mcp:read"), elsewhere).await.unwrap();
    assert_eq!(answered, Answered::Gone);
    stage.clock.turn(seconds(61));
    assert!(stage.server.asked_by_device(&right, by, elsewhere).await.unwrap().is_some());
}

/// O-S9: what waits has a bound.
#[tokio::test]
async fn devices_that_wait_have_a_bound() {
    let limits = OAuthLimits { devices: 2, ..OAuthLimits::default() };
    let stage = Stage::with(OAuthConfig { limits, ..OAuthConfig::default() }).await;
    let client = client(&stage).await;
    begin(&stage, &client).await;
    begin(&stage, &client).await;
    let reply = stage.post(DEVICE, &[("client_id", &client)]).await.says(503, "temporarily_unavailable");
    assert!(reply.headers.contains_key("retry-after"));
}
