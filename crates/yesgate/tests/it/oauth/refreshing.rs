//! Refresh tokens: rotated at each use, patient with those who lost an answer, and without mercy for a copy.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::net::TcpStream;
use std::sync::Arc;

use tokio::task::JoinSet;
use yesgate_testkit::{OAuthClient, RestAnswer, until};

use super::{Play, assert_error, assert_out, delete, read};

/// O-F1, O5: each refresh brings the next token, and what came before goes on counting until its own time is up.
#[tokio::test]
async fn each_refresh_brings_the_next_token() {
    let play = Play::new().await;
    let (client, mut tokens) = play.connected().await;
    for generation in 1..=3 {
        let next = client.tokens(&client.refresh(&tokens.refresh).await);
        assert_ne!(next.refresh, tokens.refresh);
        assert_eq!(next.scope, tokens.scope);
        assert_eq!(read(&play.rest(&next)).await.status, 200, "{generation}");
        tokens = next;
    }
    assert_eq!(play.steps("refreshed").len(), 3);
    play.finish(0);
}

/// Refreshes with one token, this many at once.
async fn at_once(client: &Arc<OAuthClient>, refresh: &str, count: usize) -> Vec<RestAnswer> {
    let mut all = JoinSet::new();
    for _ in 0..count {
        let (client, refresh) = (Arc::clone(client), refresh.to_owned());
        all.spawn(async move { client.refresh(&refresh).await });
    }
    all.join_all().await
}

/// O-F2: however many come with one token at once, there is one next token, all have it, and nobody is logged out.
#[tokio::test]
async fn fifty_refreshes_at_once_have_one_successor_and_nobody_is_logged_out() {
    let play = Play::new().await;
    let (client, tokens) = play.connected().await;
    let client = Arc::new(client);
    let answers = at_once(&client, &tokens.refresh, 50).await;
    let next: Vec<_> = answers.iter().map(|answer| client.tokens(answer)).collect();
    let successors: BTreeSet<_> = next.iter().map(|tokens| tokens.refresh.as_str()).collect();
    assert_eq!(successors.len(), 1, "one successor");
    for tokens in &next {
        assert_eq!(read(&play.rest(tokens)).await.status, 200);
    }
    let last = client.tokens(&client.refresh(successors.first().unwrap()).await);
    assert_eq!(read(&play.rest(&last)).await.status, 200);
    assert!(play.steps("ended").is_empty());
    play.finish(0);
}

/// O-F3: a token that comes back when its time to be repeated is over is a copy: all that the client has is dead at once,
/// the one who came late and the one who did not, and the person is told.
#[tokio::test]
async fn a_late_reuse_ends_everything_and_the_person_is_told() {
    let play = Play::with("times = { retry = \"0s\" }\n").await;
    let (client, first) = play.connected().await;
    let second = client.tokens(&client.refresh(&first.refresh).await);
    assert_eq!(read(&play.rest(&second)).await.status, 200);
    assert_error(&client.refresh(&first.refresh).await, 400, "invalid_grant");
    for tokens in [&first, &second] {
        assert_out(&read(&play.rest(tokens)).await);
        assert_error(&client.refresh(&tokens.refresh).await, 400, "invalid_grant");
    }
    let ended = play.steps("ended");
    assert_eq!((ended.len(), &ended[0]["why"]), (1, &"refresh_reused".into()), "{ended:#?}");
    let page = play.owner.get("/settings/connected-clients").await;
    assert!(page.html.contains("had a copy of a refresh token of <bdi>Testkit</bdi>"), "{}", page.html);
    // Another connection of the same client begins from nothing.
    let again = client.connect(&play.owner).await;
    assert_eq!(read(&play.rest(&again)).await.status, 200);
    play.finish(0);
}

/// O-F3: the token before the last is never a retry, however quick it comes.
#[tokio::test]
async fn a_token_two_steps_back_is_a_copy_within_the_time_too() {
    let play = Play::new().await;
    let (client, first) = play.connected().await;
    let second = client.tokens(&client.refresh(&first.refresh).await);
    let third = client.tokens(&client.refresh(&second.refresh).await);
    assert_error(&client.refresh(&first.refresh).await, 400, "invalid_grant");
    assert_out(&read(&play.rest(&third)).await);
    play.finish(0);
}

/// O-F3, O-S10: the gateway is killed when the next token is written down and nobody has heard of it. The client comes
/// again with the token that it has, and goes on.
#[tokio::test]
async fn a_gateway_that_is_killed_between_the_step_and_the_answer_logs_nobody_out() {
    let mut play = Play::new().await;
    let (client, tokens) = play.connected().await;
    let body = format!("grant_type=refresh_token&refresh_token={}&client_id={}", tokens.refresh, client.id());
    let address = play.gateway.url().trim_start_matches("http://").to_owned();
    let mut unheard = TcpStream::connect(&address).unwrap();
    write!(
        unheard,
        "POST /api/mcp/oauth/token HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
         content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    until("the next token is written down", || (play.steps("refreshed").len() == 1).then_some(()));
    drop(unheard);
    play.restart();
    let client = client.reconnected();
    let next = client.tokens(&client.refresh(&tokens.refresh).await);
    assert_eq!(read(&play.rest(&next)).await.status, 200);
    assert_eq!(read(&play.rest(&tokens)).await.status, 200, "what counted before the end counts after it");
    let last = client.tokens(&client.refresh(&next.refresh).await);
    assert_eq!(read(&play.rest(&last)).await.status, 200);
    assert!(play.steps("ended").is_empty());
    play.finish(0);
}

/// O-S10: killed at any moment of a refresh, or between the yes and the first tokens, the gateway knows what it did.
#[tokio::test]
async fn a_gateway_that_is_killed_in_the_middle_of_anything_goes_on_where_it_was() {
    let mut play = Play::new().await;
    let client = play.client().await;
    let request = client.request(&[]);
    let back = play.owner.allow(&request.url).await;
    play.restart();
    let mut client = client.reconnected();
    let mut tokens = client.tokens(&client.exchange(&request, &back).await);
    for _ in 0..3 {
        let (shared, refresh) = (Arc::new(client), tokens.refresh.clone());
        let racing = Arc::clone(&shared);
        let lost = tokio::spawn(async move { racing.lost_refresh(&refresh).await });
        tokio::task::yield_now().await;
        play.restart();
        lost.await.unwrap();
        client = Arc::into_inner(shared).expect("nobody else has it").reconnected();
        tokens = client.tokens(&client.refresh(&tokens.refresh).await);
        assert_eq!(read(&play.rest(&tokens)).await.status, 200);
    }
    assert!(play.steps("ended").is_empty());
    play.finish(0);
}

/// O-F6, O-V2: whatever a refresh does while everything is revoked, the revoke wins: no token that anybody holds
/// afterwards lets anybody in.
#[tokio::test]
async fn a_revoke_wins_over_refreshes_that_are_under_way() {
    let play = Play::new().await;
    for round in 0..5 {
        let person = play.person(&[&format!("bob{round}"), "--role", "approver"]).await;
        let client = Arc::new(play.client().await);
        let first = client.connect(&person).await;
        let refreshing = {
            let (client, refresh) = (Arc::clone(&client), first.refresh.clone());
            tokio::spawn(async move { at_once(&client, &refresh, 8).await })
        };
        let revoked = delete(&person, &play.gateway, "/api/me/sessions").await;
        assert_eq!(revoked.status, 200, "{}", revoked.text);
        let answers = refreshing.await.unwrap();
        let mut held = vec![first];
        for answer in &answers {
            match answer.status {
                200 => held.push(client.tokens(answer)),
                _ => assert!([400, 401].contains(&answer.status), "{} {}", answer.status, answer.text),
            }
        }
        for tokens in &held {
            assert_out(&read(&play.rest(tokens)).await);
            let refused = client.refresh(&tokens.refresh).await;
            assert!([400, 401].contains(&refused.status), "{} {}", refused.status, refused.text);
        }
    }
    play.finish(0);
}
