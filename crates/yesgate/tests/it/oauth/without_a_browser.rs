//! The device flow (RFC 8628): a client without a browser shows a code, and a person types it.

use serde_json::json;
use yesgate_testkit::consent::REFUSE;
use yesgate_testkit::{OAuthClient, RestAnswer, eventually};

use super::{Play, assert_error, read};

const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// A client that has no browser.
pub(super) async fn register(play: &Play) -> OAuthClient {
    let body = json!({
        "client_name": "Device", "token_endpoint_auth_method": "none", "redirect_uris": [],
        "grant_types": [GRANT, "refresh_token"], "response_types": ["code"],
    });
    OAuthClient::register_as(play.gateway.url(), body).await
}

/// One that shows a code.
async fn device(play: &Play) -> (OAuthClient, RestAnswer) {
    let client = register(play).await;
    let answer = client.post("/api/mcp/oauth/device", &[("resource", &client.resource())]).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    (client, answer)
}

async fn poll(client: &OAuthClient, told: &RestAnswer) -> RestAnswer {
    let code = told.text_of("device_code");
    client.token(&[("grant_type", GRANT), ("device_code", &code), ("resource", &client.resource())]).await
}

/// O-S4: the person types the code, sees who asks for what, and says yes; the client has its tokens at the next look.
#[tokio::test]
async fn a_person_types_the_code_and_the_client_is_let_in() {
    let play = Play::new().await;
    let (client, told) = device(&play).await;
    assert_eq!(told.body["verification_uri"], format!("{}/device", play.gateway.url()));
    assert!(told.body["expires_in"].is_u64() && told.body["interval"].is_u64(), "{}", told.text);
    assert_error(&poll(&client, &told).await, 400, "authorization_pending");
    // Whoever does not wait is told to.
    assert_error(&poll(&client, &told).await, 400, "slow_down");
    let code = told.text_of("user_code");
    let typed = code.to_lowercase().replace('-', " ");
    let page = play.owner.asked_by_device(&typed).await;
    assert!(page.html.contains("Device") && page.has_button(REFUSE), "{}", page.html);
    play.owner.allow_device(&code).await;
    let tokens = eventually("the client looks slowly enough", async || {
        let answer = poll(&client, &told).await;
        match answer.status {
            200 => Some(client.tokens(&answer)),
            _ => {
                assert_error(&answer, 400, "slow_down");
                None
            }
        }
    })
    .await;
    assert_eq!(read(&play.rest(&tokens)).await.status, 200);
    let again = poll(&client, &told).await;
    assert_eq!(again.status, 400, "a code is good once: {}", again.text);
    assert_eq!(client.refresh(&tokens.refresh).await.status, 200);
    assert_eq!(play.steps("connected")[0]["way"], "device");
    play.finish(0);
}

/// O-S4: a no ends it, and opening a link with a code in it allows nothing.
#[tokio::test]
async fn a_no_to_a_device_ends_it_and_a_link_allows_nothing() {
    let play = Play::new().await;
    let (client, told) = device(&play).await;
    let code = told.text_of("user_code");
    for path in [format!("/device?user_code={code}"), format!("/device/{code}")] {
        let page = play.owner.get(&path).await;
        assert!(page.status < 500, "{}", page.html);
    }
    assert_error(&poll(&client, &told).await, 400, "authorization_pending");
    let page = play.owner.asked_by_device(&code).await;
    let answer = play.owner.answer_consent(&page, REFUSE, &[]).await;
    assert!([200, 303].contains(&answer.status), "{}", answer.html);
    let ended = eventually("the client hears of the no", async || {
        let answer = poll(&client, &told).await;
        (answer.body["error"] != "slow_down").then_some(answer)
    })
    .await;
    assert_error(&ended, 400, "access_denied");
    let unknown = play.owner.asked_by_device("BBBB-BBBB").await;
    assert!(!unknown.has_button(REFUSE), "{}", unknown.html);
    play.finish(0);
}
