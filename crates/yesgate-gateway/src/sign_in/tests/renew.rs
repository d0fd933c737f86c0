//! A token that ends, or that the server refuses, and who gets another.

use http::{HeaderValue, StatusCode};
use serde_json::json;

use super::{Identity, Scene, connect, request};
use crate::sign_in::{Need, RETRY, SignIn, SignInError};

const AGAIN: SignInError = SignInError::NeedsPerson(Need::Again);

/// Twenty callers at once.
async fn twenty(sign_in: &SignIn) -> Vec<HeaderValue> {
    let callers: Vec<_> = (0..20)
        .map(|_| {
            let sign_in = sign_in.clone();
            tokio::spawn(async move { sign_in.bearer().await.unwrap() })
        })
        .collect();
    let mut tokens = Vec::new();
    for caller in callers {
        tokens.push(caller.await.unwrap());
    }
    tokens
}

#[tokio::test]
async fn twenty_callers_renew_once_and_the_rotated_token_is_kept() {
    let scene = Scene::new().await;
    let sign_in = scene.signed_in().await;
    let first = sign_in.bearer().await.unwrap();
    for round in 1..=3 {
        a_while_later().await;
        scene.go_ahead(3600);
        let tokens = twenty(&sign_in).await;
        assert!(tokens.iter().all(|token| *token == tokens[0] && *token != first));
        assert_eq!(request(&scene, &tokens[0]).0, 200);
        assert_eq!(scene.renewals(), round, "each renewal needs the refresh token of the one before");
    }
    let used = scene.server.visits("POST /token");
    assert!(used.iter().all(|visit| visit.parameters["resource"] == scene.server.server()));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_renew_once_between_them() {
    let scene = Scene::new().await;
    let here = scene.signed_in().await;
    let there = scene.process(Identity::Unregistered, &[]);
    scene.go_ahead(3550);
    let (one, other) = tokio::join!(here.bearer(), there.bearer());
    assert_eq!(one.unwrap(), other.unwrap());
    assert_eq!(scene.renewals(), 1);
}

#[tokio::test]
async fn a_token_is_renewed_before_it_ends_and_not_long_before() {
    let scene = Scene::new().await;
    let sign_in = scene.signed_in().await;
    scene.go_ahead(3530);
    sign_in.bearer().await.unwrap();
    assert_eq!(scene.renewals(), 0);
    scene.go_ahead(15);
    sign_in.bearer().await.unwrap();
    assert_eq!(scene.renewals(), 1);
}

#[tokio::test]
async fn a_refused_token_is_renewed_once_and_then_works() {
    let scene = Scene::new().await;
    let sign_in = scene.signed_in().await;
    let old = sign_in.bearer().await.unwrap();
    scene.server.revoke_access();
    let (status, challenge) = request(&scene, &old);
    assert_eq!(status, 401);
    let refused: Vec<_> = (0..20)
        .map(|_| {
            let (sign_in, old, challenge) = (sign_in.clone(), old.clone(), challenge.clone());
            tokio::spawn(
                async move { sign_in.rejected(&old, StatusCode::UNAUTHORIZED, challenge.as_ref()).await },
            )
        })
        .collect();
    for caller in refused {
        assert_eq!(caller.await.unwrap(), Ok(()));
    }
    assert_eq!(scene.renewals(), 1);
    let new = sign_in.bearer().await.unwrap();
    assert_eq!(request(&scene, &new).0, 200);
    scene.server.revoke_access();
    assert_eq!(
        sign_in.rejected(&new, StatusCode::UNAUTHORIZED, None).await,
        Err(SignInError::TokenRefused),
        "a server that refuses whatever it gets does not make us renew without end"
    );
    assert_eq!(scene.renewals(), 1);
}

#[tokio::test]
async fn without_a_refresh_token_a_person_is_needed_at_the_end_and_after_a_refusal() {
    let scene = Scene::new().await;
    scene.server.script(|script| script.refreshes = false);
    let sign_in = scene.signed_in().await;
    let token = sign_in.bearer().await.unwrap();
    assert_eq!(sign_in.rejected(&token, StatusCode::UNAUTHORIZED, None).await, Err(AGAIN));
    assert_eq!(sign_in.bearer().await, Err(AGAIN), "a token that was refused is not offered again");
    let other = scene.signed_in().await;
    scene.go_ahead(3600);
    assert_eq!(other.bearer().await, Err(AGAIN));
}

#[tokio::test]
async fn a_refused_refresh_token_needs_a_person_and_is_not_tried_again() {
    let scene = Scene::new().await;
    let sign_in = scene.signed_in().await;
    scene.server.revoke_refresh();
    scene.go_ahead(3600);
    for process in [sign_in, scene.process(Identity::Unregistered, &[])] {
        assert_eq!(process.bearer().await, Err(AGAIN));
    }
    assert_eq!(scene.renewals(), 1);
}

#[tokio::test]
async fn a_failing_authorization_server_costs_one_try_and_the_old_token_serves_to_its_end() {
    let scene = Scene::new().await;
    let sign_in = scene.signed_in().await;
    let token = sign_in.bearer().await.unwrap();
    scene.server.script(|script| script.fails = Some(503));
    scene.go_ahead(3560);
    assert_eq!(sign_in.bearer().await, Ok(token));
    scene.go_ahead(60);
    for _ in 0..5 {
        let error = sign_in.bearer().await.unwrap_err();
        assert!(error.may_pass(), "{error}");
    }
    assert_eq!(scene.renewals(), 2, "one for the token that was old, one for the token that was over");
    scene.server.script(|script| script.fails = None);
    let later = scene.process(Identity::Unregistered, &[]);
    assert!(later.bearer().await.is_ok(), "nothing was thrown away");
}

#[tokio::test]
async fn a_token_that_hardly_lives_is_not_renewed_for_every_call() {
    let scene = Scene::new().await;
    scene.server.script(|script| script.lifetime = Some(0));
    let sign_in = scene.signed_in().await;
    for _ in 0..10 {
        sign_in.bearer().await.unwrap();
    }
    assert_eq!(scene.renewals(), 1);
}

/// Lets some time pass between two requests, and none during one: the other side is on real time.
async fn a_while_later() {
    tokio::time::pause();
    tokio::time::advance(RETRY).await;
    tokio::time::resume();
}

#[tokio::test]
async fn a_running_gateway_hears_of_connect_and_disconnect() {
    let scene = Scene::new().await;
    let gateway = scene.process(Identity::Unregistered, &[]);
    assert_eq!(gateway.bearer().await, Err(SignInError::NeedsPerson(Need::First)));
    let command = scene.process(Identity::Unregistered, &[]);
    connect(&command).await.unwrap();
    a_while_later().await;
    let token = gateway.bearer().await.unwrap();
    assert_eq!(request(&scene, &token).0, 200);
    assert_eq!(command.forget().await, Ok(true));
    assert_eq!(command.forget().await, Ok(false));
    a_while_later().await;
    assert_eq!(gateway.bearer().await, Err(SignInError::NeedsPerson(Need::First)));
}

#[tokio::test]
async fn a_step_up_is_noted_for_a_person_and_asked_for_together_with_what_was_granted() {
    let scene = Scene::new().await;
    let sign_in = scene.signed_in().await;
    scene.server.script(|script| script.needs = Some("notes:write".into()));
    let token = sign_in.bearer().await.unwrap();
    let (status, challenge) = request(&scene, &token);
    assert_eq!(status, 403);
    let wanted = SignInError::NeedsPerson(Need::Scopes(vec!["notes:write".into()]));
    assert_eq!(sign_in.rejected(&token, status, challenge.as_ref()).await, Err(wanted));
    assert_eq!(sign_in.bearer().await.unwrap(), token, "what was granted still works");
    assert_eq!(sign_in.standing().await.unwrap().unwrap().wanted, ["notes:write"]);
    let granted = connect(&scene.process(Identity::Unregistered, &[])).await.unwrap();
    assert_eq!(granted.scopes, ["notes:read", "offline_access", "notes:write"]);
    assert!(granted.wanted.is_empty());
    assert_eq!(
        sign_in.rejected(&token, status, challenge.as_ref()).await,
        Ok(()),
        "it was granted meanwhile"
    );
    assert_eq!(request(&scene, &sign_in.bearer().await.unwrap()).0, 200);
}

#[tokio::test]
async fn a_plain_no_is_not_a_matter_of_tokens_and_hostile_scopes_are_not_kept() {
    let scene = Scene::new().await;
    let sign_in = scene.signed_in().await;
    let token = sign_in.bearer().await.unwrap();
    assert_eq!(sign_in.rejected(&token, StatusCode::FORBIDDEN, None).await, Err(SignInError::Forbidden));
    let scopes: Vec<String> = (0..500).map(|number| format!("s{number}")).collect();
    for scope in ["caf\u{e9}", &scopes.join(" "), &"x".repeat(4000)] {
        let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\"");
        let challenge = HeaderValue::from_bytes(challenge.as_bytes()).unwrap();
        assert!(sign_in.rejected(&token, StatusCode::FORBIDDEN, Some(&challenge)).await.is_err());
    }
    assert!(sign_in.standing().await.unwrap().unwrap().wanted.len() <= 64);
    assert_eq!(scene.renewals(), 0);
}

#[tokio::test]
async fn what_one_issuer_gave_is_never_shown_to_another() {
    let scene = Scene::new().await;
    let sign_in = scene.signed_in().await;
    let other = yesgate_testkit::AuthorizationServer::start();
    scene
        .server
        .script(|script| script.resource_metadata = json!({"authorization_servers": [other.issuer()]}));
    scene.go_ahead(3600);
    let need = Need::OtherIssuer { before: scene.server.issuer(), now: other.issuer() };
    assert_eq!(sign_in.bearer().await, Err(SignInError::NeedsPerson(need)));
    assert_eq!((other.visits("POST /token").len(), scene.renewals()), (0, 0));
}
