//! Refresh tokens: rotated each time, forgiving for a minute, merciless after that.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::SignedDuration;
use yesgate_core::oauth::{AuthMethod, End};
use yesgate_core::policy::{KnownClient, OAuthConfig, OAuthTimes};
use yesgate_http::edge::bearer::{Standing, Unadmitted};

use crate::support::{CALLBACK, Stage, days, request, seconds, with};

/// O-F1: each use brings another one, and thirty days more.
#[tokio::test]
async fn a_refresh_token_slides_by_thirty_days() {
    let stage = Stage::new().await;
    let client = stage.public_client().await;
    let mut refresh = stage.connect(&client).await.str("refresh_token");
    for _ in 0..3 {
        stage.clock.turn(days(29));
        let reply = stage.refresh(&client, &refresh).await.is(200);
        assert_ne!(reply.str("refresh_token"), refresh);
        stage.admit(&reply.str("access_token")).await.unwrap();
        refresh = reply.str("refresh_token");
    }
    stage.clock.turn(days(31));
    stage.refresh(&client, &refresh).await.says(400, "invalid_grant");
}

/// O-F2: fifty at once: everybody gets the same successor, and nobody is logged out.
#[tokio::test(flavor = "multi_thread")]
async fn fifty_parallel_refreshes_have_one_successor() {
    let stage = Arc::new(Stage::new().await);
    let client = stage.public_client().await;
    let refresh = stage.connect(&client).await.str("refresh_token");
    stage.clock.turn(seconds(120));
    let tries: Vec<_> = (0..50)
        .map(|_| {
            let (stage, client, refresh) = (stage.clone(), client.clone(), refresh.clone());
            tokio::spawn(async move {
                let reply = stage.refresh(&client, &refresh).await.is(200);
                (reply.str("refresh_token"), reply.str("access_token"))
            })
        })
        .collect();
    let (mut successors, mut accesses) = (BTreeSet::new(), BTreeSet::new());
    for one in tries {
        let (successor, access) = one.await.unwrap();
        stage.admit(&access).await.unwrap();
        successors.insert(successor);
        accesses.insert(access);
    }
    assert_eq!((successors.len(), accesses.len()), (1, 50));
    stage.clock.turn(seconds(120));
    stage.refresh(&client, successors.first().unwrap()).await.is(200);
}

/// O-F3, O-F4, O-S10: whoever lost the answer gets the same one again, even from a gateway that was restarted in between.
#[tokio::test]
async fn a_lost_answer_can_be_had_again_for_a_minute() {
    let stage = Stage::new().await;
    let client = stage.public_client().await;
    let first = stage.connect(&client).await.str("refresh_token");
    let lost = stage.refresh(&client, &first).await.is(200);
    let stage = stage.restarted();
    stage.clock.turn(seconds(59));
    let again = stage.refresh(&client, &first).await.is(200);
    assert_eq!(again.str("refresh_token"), lost.str("refresh_token"));
    assert_ne!(again.str("access_token"), lost.str("access_token"));
    stage.refresh(&client, &again.str("refresh_token")).await.is(200);
}

/// O-F7: a client of several processes, which share one store of tokens, may have longer than others.
#[tokio::test]
async fn the_operator_gives_a_client_longer_for_its_lost_answers() {
    let patient = |retry| KnownClient {
        name: "Known".to_owned(),
        redirect_uris: vec![CALLBACK.to_owned()],
        method: AuthMethod::None,
        secret: None,
        introspects: false,
        retry,
    };
    let clients =
        [("usual".to_owned(), patient(None)), ("patient".to_owned(), patient(Some(seconds(600))))].into();
    let stage = Stage::with(OAuthConfig { clients, ..OAuthConfig::default() }).await;
    for (client, late, status) in
        [("usual", 59, 200), ("usual", 61, 400), ("patient", 599, 200), ("patient", 601, 400)]
    {
        let refresh = stage.connect(client).await.str("refresh_token");
        stage.refresh(client, &refresh).await.is(200);
        stage.clock.turn(seconds(late));
        stage.refresh(client, &refresh).await.is(status);
    }
}

/// O-F3: after that somebody has a copy, and nobody keeps anything.
#[tokio::test]
async fn late_reuse_ends_the_whole_connection() {
    let stage = Stage::new().await;
    let client = stage.public_client().await;
    let first = stage.connect(&client).await.str("refresh_token");
    let second = stage.refresh(&client, &first).await.is(200);
    let bearer = stage.admit(&second.str("access_token")).await.unwrap();
    stage.clock.turn(seconds(60));
    stage.refresh(&client, &first).await.says(400, "invalid_grant");
    assert_eq!(stage.admit(&second.str("access_token")).await.unwrap_err(), Unadmitted::InvalidToken);
    stage.refresh(&client, &second.str("refresh_token")).await.says(400, "invalid_grant");
    let mut standing = bearer.standing;
    standing.wait_for(|standing| *standing == Standing::Over).await.unwrap();
}

/// O-F3: nobody can have lost an answer whose token was used since.
#[tokio::test]
async fn the_predecessor_of_a_predecessor_is_reuse() {
    let stage = Stage::new().await;
    let client = stage.public_client().await;
    let first = stage.connect(&client).await.str("refresh_token");
    let second = stage.refresh(&client, &first).await.is(200).str("refresh_token");
    let third = stage.refresh(&client, &second).await.is(200).str("refresh_token");
    stage.refresh(&client, &first).await.says(400, "invalid_grant");
    stage.refresh(&client, &third).await.says(400, "invalid_grant");
}

/// O-F5: a wrong client and a wrong resource change nothing.
#[tokio::test]
async fn a_wrong_client_or_resource_rotates_nothing() {
    let stage = Stage::new().await;
    let (client, other) = (stage.public_client().await, stage.public_client().await);
    let code = stage.code_with(&with(request(&client), "resource", "https://gate.example/mcp/crm")).await;
    let refresh = stage.exchange(&client, &code).await.is(200).str("refresh_token");
    stage.refresh(&other, &refresh).await.says(400, "invalid_grant");
    for resource in ["https://gate.example/api/mcp", "https://evil.example", "nonsense"] {
        let form = [
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh.as_str()),
            ("client_id", client.as_str()),
            ("resource", resource),
        ];
        stage.token(&form).await.says(400, "invalid_target");
    }
    stage.clock.turn(seconds(3600));
    stage.refresh(&client, &refresh).await.is(200);
}

/// O-T7: scopes can be fewer, never more, and `offline_access` is nothing.
#[tokio::test]
async fn a_refresh_may_narrow_and_never_widens() {
    let stage = Stage::new().await;
    let client = stage.public_client().await;
    let code = stage.code_with(&with(request(&client), "scope", "mcp:read")).await;
    let mut refresh = stage.exchange(&client, &code).await.is(200).str("refresh_token");
    for scope in ["mcp:read", "mcp:read mcp:call", "mcp:read offline_access", "offline_access", "nonsense"] {
        let form = [
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh.as_str()),
            ("client_id", client.as_str()),
            ("scope", scope),
        ];
        let reply = stage.token(&form).await.is(200);
        assert_eq!(reply.json["scope"], "mcp:read", "{scope}");
        refresh = reply.str("refresh_token");
    }
}

/// O5: where a connection has a last moment, its first tokens end then too, and the client is told so.
#[tokio::test]
async fn first_tokens_end_with_their_connection() {
    let times = OAuthTimes { longest: Some(SignedDuration::from_mins(20)), ..OAuthTimes::default() };
    let stage = Stage::with(OAuthConfig { times, ..OAuthConfig::default() }).await;
    let client = stage.public_client().await;
    let tokens = stage.connect(&client).await;
    assert_eq!(tokens.json["expires_in"], 20 * 60);
    let access = tokens.str("access_token");
    stage.clock.turn(seconds(20 * 60 - 1));
    stage.admit(&access).await.unwrap();
    stage.clock.turn(seconds(1));
    assert_eq!(stage.admit(&access).await.unwrap_err(), Unadmitted::InvalidToken);
    stage.refresh(&client, &tokens.str("refresh_token")).await.says(400, "invalid_grant");
}

/// O5: a connection can have a last day.
#[tokio::test]
async fn a_connection_lasts_as_long_as_the_operator_says() {
    let times = OAuthTimes { longest: Some(days(40)), ..OAuthTimes::default() };
    let stage = Stage::with(OAuthConfig { times, ..OAuthConfig::default() }).await;
    let client = stage.public_client().await;
    let refresh = stage.connect(&client).await.str("refresh_token");
    stage.clock.turn(days(25));
    let refresh = stage.refresh(&client, &refresh).await.is(200).str("refresh_token");
    stage.clock.turn(days(16));
    stage.refresh(&client, &refresh).await.says(400, "invalid_grant");
}

/// O-F6: a revocation is not undone by a refresh that was under way.
#[tokio::test(flavor = "multi_thread")]
async fn a_revocation_wins_over_refreshes_under_way() {
    let stage = Arc::new(Stage::new().await);
    let client = stage.public_client().await;
    let reply = stage.connect(&client).await;
    let (refresh, connection) = {
        let connections = stage.ledger.connections().await.unwrap();
        (reply.str("refresh_token"), connections[0].connection.id.clone())
    };
    let tries: Vec<_> = (0..20)
        .map(|_| {
            let (stage, client, refresh) = (stage.clone(), client.clone(), refresh.clone());
            tokio::spawn(async move {
                let reply = stage.refresh(&client, &refresh).await;
                reply.json["access_token"].as_str().map(str::to_owned)
            })
        })
        .collect();
    assert!(stage.ledger.end_connection(&connection, End::Revoked, "ada").await.unwrap());
    for one in tries {
        if let Some(access) = one.await.unwrap() {
            assert_eq!(stage.admit(&access).await.unwrap_err(), Unadmitted::InvalidToken);
        }
    }
    stage.clock.turn(SignedDuration::from_mins(5));
    stage.refresh(&client, &refresh).await.says(400, "invalid_grant");
}
