//! What is not accepted of a server and its authorization server.

use serde_json::{Value, json};
use yesgate_testkit::authorization_server::consent;

use super::{Identity, REDIRECT, Scene, connect};
use crate::sign_in::{Redirected, SignIn, SignInError};

/// Metadata with this change is refused before a person is asked, and before anything is registered.
async fn check_refused(change: &Value) {
    let scene = Scene::new().await;
    scene.server.script(|script| script.metadata = change.clone());
    let error = scene.process(Identity::Unregistered, &[]).begin(REDIRECT).await.unwrap_err();
    let SignInError::Unacceptable(_) = error else { panic!("{change}: {error:?}") };
    assert!(scene.server.visits("POST /register").is_empty(), "{change}");
}

/// B10: metadata cannot send us, or a person, to a private address, in the clear, or to no web page at all.
#[tokio::test]
async fn metadata_that_names_a_private_or_clear_address_is_refused() {
    for key in ["token_endpoint", "registration_endpoint", "authorization_endpoint"] {
        for address in
            ["https://10.0.0.1/x", "http://169.254.169.254/x", "http://example.org/x", "file:///etc/passwd"]
        {
            check_refused(&json!({ key: address })).await;
        }
    }
    check_refused(&json!({"authorization_endpoint": "javascript:alert(1)"})).await;
    check_refused(&json!({"authorization_endpoint": "https://login.example.org@evil.example/"})).await;
}

#[tokio::test]
async fn an_authorization_server_without_pkce_is_refused() {
    check_refused(&json!({"code_challenge_methods_supported": null})).await;
    check_refused(&json!({"code_challenge_methods_supported": ["plain"]})).await;
}

#[tokio::test]
async fn an_issuer_that_is_not_the_one_that_was_asked_is_refused() {
    check_refused(&json!({"issuer": "https://login.example.org"})).await;
    check_refused(&json!({"issuer": null})).await;
}

/// B10: the server itself names a private address as its authorization server.
#[tokio::test]
async fn an_authorization_server_at_a_private_address_is_not_visited() {
    for address in
        ["http://10.0.0.1", "https://169.254.169.254", "http://[fd00::1]", "https://metadata.google.internal"]
    {
        let scene = Scene::new().await;
        scene.server.script(|script| script.resource_metadata = json!({"authorization_servers": [address]}));
        let begun = scene.process(Identity::Unregistered, &[]).begin(REDIRECT).await;
        assert!(begun.is_err(), "{address}");
        assert!(scene.server.visits("GET /.well-known/oauth-authorization-server").is_empty(), "{address}");
    }
}

#[tokio::test]
async fn an_answer_from_another_issuer_is_refused_and_its_code_goes_nowhere() {
    for iss in ["https://evil.example", ""] {
        let scene = Scene::new().await;
        scene.server.script(|script| script.iss = Some(iss.into()));
        let error = connect(&scene.process(Identity::Unregistered, &[])).await.unwrap_err();
        let SignInError::Unacceptable(_) = error else { panic!("{iss}: {error:?}") };
        assert!(scene.server.visits("POST /token").is_empty(), "{iss}");
        assert_eq!(scene.process(Identity::Unregistered, &[]).standing().await, Ok(None));
    }
}

#[tokio::test]
async fn an_answer_to_another_question_is_refused() {
    let scene = Scene::new().await;
    let sign_in = scene.process(Identity::Unregistered, &[]);
    let mine = sign_in.begin(REDIRECT).await.unwrap();
    let other = sign_in.begin(REDIRECT).await.unwrap();
    let redirected = Redirected::parse(&consent(other.address())).unwrap();
    assert_eq!(mine.finish(redirected).await.unwrap_err(), SignInError::NotOurs);
    assert!(scene.server.visits("POST /token").is_empty());
}

#[tokio::test]
async fn a_no_is_a_no_and_only_from_the_right_issuer() {
    let scene = Scene::new().await;
    scene.server.script(|script| script.denies = Some("access_denied".into()));
    let sign_in = scene.process(Identity::Unregistered, &[]);
    assert_eq!(connect(&sign_in).await.unwrap_err(), SignInError::Denied("access_denied".into()));
    scene.server.script(|script| script.iss = Some("https://evil.example".into()));
    assert_eq!(connect(&sign_in).await.unwrap_err(), SignInError::NotOurs);
}

#[tokio::test]
async fn only_https_or_this_machine_can_be_signed_in_to() {
    let scene = Scene::new().await;
    let make = |url: &str, identity| {
        SignIn::new("notes".parse().unwrap(), url, identity, vec![], scene.vault(None)).map(drop)
    };
    for url in [
        "https://mcp.example.org/mcp",
        "http://127.0.0.1:1/mcp",
        "http://[::1]:1/mcp",
        "http://localhost/mcp",
    ] {
        assert_eq!(make(url, Identity::Unregistered), Ok(()), "{url}");
    }
    for url in ["http://mcp.example.org/mcp", "http://10.0.0.1/mcp", "ftp://127.0.0.1/", "mcp", ""] {
        assert!(make(url, Identity::Unregistered).is_err(), "{url}");
    }
    for document in ["http://gate.example.org/client.json", "https://gate.example.org", "client.json"] {
        assert!(
            make("https://mcp.example.org/mcp", Identity::Document(document.into())).is_err(),
            "{document}"
        );
    }
}
