//! Tokens that are given back, asked about, and taken away.

use serde_json::json;
use yesgate_core::oauth::{AuthMethod, End, OAuthClientId};
use yesgate_core::policy::{KnownClient, OAuthConfig};
use yesgate_http::edge::bearer::{Standing, Unadmitted};

use crate::support::{CALLBACK, Reply, Stage, basic, request, seconds};

async fn revoke(stage: &Stage, client: &str, token: &str, hint: &str) -> Reply {
    let form = [("token", token), ("token_type_hint", hint), ("client_id", client)];
    stage.post("/api/mcp/oauth/revoke", &form).await
}

/// O-V1: an access token ends itself, a refresh token everything, whatever the hint says.
#[tokio::test]
async fn a_token_that_is_given_back_counts_no_more() {
    let stage = Stage::new().await;
    let client = stage.public_client().await;
    let first = stage.connect(&client).await;
    let second = stage.refresh(&client, &first.str("refresh_token")).await.is(200);
    revoke(&stage, &client, &first.str("access_token"), "refresh_token").await.is(200);
    assert_eq!(stage.admit(&first.str("access_token")).await.unwrap_err(), Unadmitted::InvalidToken);
    stage.admit(&second.str("access_token")).await.unwrap();
    revoke(&stage, &client, &second.str("refresh_token"), "access_token").await.is(200);
    assert_eq!(stage.admit(&second.str("access_token")).await.unwrap_err(), Unadmitted::InvalidToken);
    stage.refresh(&client, &second.str("refresh_token")).await.says(400, "invalid_grant");
}

/// O-V1: what is unknown or somebody else's is answered alike, and left alone.
#[tokio::test]
async fn nobody_gives_back_what_is_not_theirs() {
    let stage = Stage::new().await;
    let (client, other) = (stage.public_client().await, stage.public_client().await);
    let tokens = stage.connect(&client).await;
    for token in [tokens.str("access_token"), tokens.str("refresh_token"), "ygt_unknown".to_owned()] {
        revoke(&stage, &other, &token, "").await.is(200);
    }
    stage.admit(&tokens.str("access_token")).await.unwrap();
    stage.refresh(&client, &tokens.str("refresh_token")).await.is(200);
    revoke(&stage, "client_nobody", "ygt_x", "").await.says(401, "invalid_client");
    revoke(&stage, &client, "", "").await.says(400, "invalid_request");
}

/// O6, O-V2: a revocation counts for the very next request, and closes what is open.
#[tokio::test]
async fn a_revocation_counts_at_once_and_closes_what_is_open() {
    let stage = Stage::new().await;
    let (client, other) = (stage.public_client().await, stage.public_client().await);
    let access = stage.connect(&client).await.str("access_token");
    let others = stage.connect(&other).await.str("access_token");
    let (mut open, second) = (stage.admit(&access).await.unwrap(), stage.admit(&access).await.unwrap());
    let beside = stage.admit(&others).await.unwrap();
    assert_eq!(*open.standing.borrow(), Standing::Good);
    let connections = stage.ledger.connections().await.unwrap();
    let ours = connections.iter().find(|kept| kept.connection.client.as_str() == client).unwrap();
    stage.ledger.end_connection(&ours.connection.id, End::Revoked, "ada").await.unwrap();
    assert_eq!(stage.admit(&access).await.unwrap_err(), Unadmitted::InvalidToken);
    open.standing.wait_for(|standing| *standing == Standing::Over).await.unwrap();
    assert_eq!(*second.standing.borrow(), Standing::Over);
    assert_eq!(*beside.standing.borrow(), Standing::Good);
    stage.admit(&others).await.unwrap();
}

/// O7: everything of a person in one step, and what is open for them closes.
#[tokio::test]
async fn the_end_of_everything_of_a_person_closes_what_is_open() {
    let stage = Stage::new().await;
    let client = stage.public_client().await;
    let tokens = stage.connect(&client).await;
    let mut open = stage.admit(&tokens.str("access_token")).await.unwrap();
    stage.ledger.end_everything_of(&stage.person.id, "ada").await.unwrap();
    open.standing.wait_for(|standing| *standing == Standing::Over).await.unwrap();
    assert_eq!(stage.admit(&tokens.str("access_token")).await.unwrap_err(), Unadmitted::InvalidToken);
    // The client is gone too, and is told in the way that makes it register anew.
    stage.refresh(&client, &tokens.str("refresh_token")).await.says(401, "invalid_client");
}

/// §1: a client that was ended hears at both ends that it has to register anew.
#[tokio::test]
async fn an_ended_client_is_told_to_register_anew() {
    let stage = Stage::new().await;
    let client = stage.public_client().await;
    let refresh = stage.connect(&client).await.str("refresh_token");
    let id: OAuthClientId = client.parse().unwrap();
    assert_eq!(stage.ledger.end_client(&id, "ada").await.unwrap(), Some(1));
    stage.refresh(&client, &refresh).await.says(401, "invalid_client");
    let not_asked = Stage::expect_refusal(stage.authorize(&request(&client)).await);
    assert!(not_asked.remedy.contains("registers anew"), "{not_asked:?}");
}

/// O-V7: a use is noted beside the request, with where it came from.
#[tokio::test]
async fn the_use_of_a_connection_is_noted() {
    let stage = Stage::new().await;
    let client = stage.public_client().await;
    let access = stage.connect(&client).await.str("access_token");
    let used = async || stage.ledger.connections().await.unwrap()[0].clone();
    for _ in 0..1000 {
        if used().await.used_from.is_some() {
            break;
        }
        tokio::task::yield_now().await;
    }
    let before = used().await;
    assert_eq!(before.used_from.as_deref(), Some("192.0.2.1"));
    stage.clock.turn(seconds(61));
    stage.admit(&access).await.unwrap();
    for _ in 0..1000 {
        if used().await.used_at > before.used_at {
            break;
        }
        tokio::task::yield_now().await;
    }
    let after = used().await;
    assert!(after.used_at > before.used_at);
    assert_eq!(after.used_from, before.used_from);
}

/// O-V5: only who has a secret may ask, about its own tokens, or about all where the operator says so.
#[tokio::test]
async fn only_trusted_programs_ask_about_tokens() {
    let known = |introspects: bool, method: AuthMethod| KnownClient {
        name: "Known".to_owned(),
        redirect_uris: vec![CALLBACK.to_owned()],
        method,
        secret: Some("${KNOWN_SECRET}".parse().unwrap()),
        introspects,
        retry: None,
    };
    let clients = [
        ("admin".to_owned(), known(true, AuthMethod::ClientSecretPost)),
        ("plain".to_owned(), known(false, AuthMethod::ClientSecretPost)),
    ];
    let stage = Stage::with(OAuthConfig { clients: clients.into(), ..OAuthConfig::default() }).await;
    let client = stage.public_client().await;
    let tokens = stage.connect(&client).await;
    let ask = async |id: &str, token: &str| {
        let secret = "known secret / with:signs";
        let form = [("client_id", id), ("client_secret", secret), ("token", token)];
        stage.post("/api/mcp/oauth/introspect", &form).await.is(200).json
    };
    let access = ask("admin", &tokens.str("access_token")).await;
    assert_eq!(access["active"], true);
    assert_eq!((&access["client_id"], &access["sub"]), (&json!(client), &json!("ada")));
    assert_eq!(access["scope"], "mcp:call mcp:read");
    assert_eq!(access["aud"], json!(["https://gate.example/api/mcp"]));
    assert!(access["exp"].is_i64());
    assert_eq!(ask("admin", &tokens.str("refresh_token")).await["active"], true);
    let inactive = json!({ "active": false });
    assert_eq!(ask("admin", "ygt_unknown").await, inactive);
    assert_eq!(ask("plain", &tokens.str("access_token")).await, inactive);
    let form = [("client_id", client.as_str()), ("token", "x")];
    stage.post("/api/mcp/oauth/introspect", &form).await.says(401, "invalid_client");
    let header = basic("admin", "wrong");
    let auth = [("authorization", header.as_str())];
    stage.post_with("/api/mcp/oauth/introspect", &auth, &[("token", "x")]).await.says(401, "invalid_client");
}
