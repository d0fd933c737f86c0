//! How often clients may come, and that nothing they get stands anywhere in clear.

use serde_json::json;

use crate::support::{CALLBACK, Stage, seconds};

/// O-S8: sixty a minute for a client, with a clear word when to come back; others are not touched.
#[tokio::test]
async fn a_client_that_comes_too_often_hears_when_to_come_back() {
    let mut stage = Stage::new().await;
    let (client, other) = (stage.public_client().await, stage.public_client().await);
    for _ in 0..60 {
        stage.refresh(&client, "ygr_x").await.says(400, "invalid_grant");
    }
    let reply = stage.refresh(&client, "ygr_x").await.says(429, "slow_down");
    let after: i64 = reply.headers["retry-after"].to_str().unwrap().parse().unwrap();
    stage.refresh(&other, "ygr_x").await.says(400, "invalid_grant");
    // Whoever knows the id of a client cannot lock it out.
    stage.from("198.51.100.1:1");
    stage.refresh(&client, "ygr_x").await.says(400, "invalid_grant");
    stage.from("192.0.2.1:1");
    stage.clock.turn(seconds(after));
    stage.refresh(&client, "ygr_x").await.says(400, "invalid_grant");
}

/// O-S8: six hundred a minute for an address, whoever it says it is.
#[tokio::test]
async fn an_address_that_comes_too_often_is_held_back() {
    let mut stage = Stage::new().await;
    for n in 0..600 {
        stage.refresh(&format!("client_{n}"), "ygr_x").await.says(401, "invalid_client");
    }
    stage.refresh("client_x", "ygr_x").await.says(429, "slow_down");
    // What a header says of where it came from makes no difference.
    let forwarded = [("x-forwarded-for", "203.0.113.1"), ("forwarded", "for=203.0.113.1")];
    let form = [("grant_type", "refresh_token"), ("refresh_token", "ygr_x"), ("client_id", "client_x")];
    stage.post_with("/api/mcp/oauth/token", &forwarded, &form).await.says(429, "slow_down");
    stage.from("198.51.100.1:1");
    stage.refresh("client_x", "ygr_x").await.says(401, "invalid_client");
}

/// O-S5, O-S7, O-S11: no secret stands in the trail.
#[tokio::test]
async fn no_secret_stands_in_the_trail() {
    let stage = Stage::new().await;
    let body = json!({ "redirect_uris": [CALLBACK] });
    let made = stage.register(&body).await.is(201);
    let client = stage.public_client().await;
    let code = stage.code(&client).await;
    let tokens = stage.exchange(&client, &code).await.is(200);
    let next = stage.refresh(&client, &tokens.str("refresh_token")).await.is(200);
    let secrets = [
        made.str("client_secret"),
        made.str("registration_access_token"),
        code,
        tokens.str("access_token"),
        tokens.str("refresh_token"),
        next.str("refresh_token"),
    ];
    let trail = stage.ledger.audit(0, 1000).await.unwrap();
    assert!(trail.len() > 3);
    for row in trail {
        assert!(secrets.iter().all(|secret| !row.body.contains(secret)), "{}", row.body);
        assert!(!row.body.contains("ygt_") && !row.body.contains("ygr_"));
    }
    assert!(stage.ledger.verify().await.unwrap().is_sound());
}

/// O-S10: while the ledger cannot be written nothing is handed out and nothing is lost, and clients hear that it will pass.
#[tokio::test]
async fn trouble_with_the_ledger_passes_and_loses_nothing() {
    let stage = Stage::new().await;
    let client = stage.public_client().await;
    let refresh = stage.connect(&client).await.str("refresh_token");
    stage.clock.turn(seconds(-86_400));
    let reply = stage.refresh(&client, &refresh).await.says(503, "temporarily_unavailable");
    assert!(reply.headers.contains_key("retry-after"));
    stage.clock.turn(seconds(86_400));
    stage.refresh(&client, &refresh).await.is(200);
}
