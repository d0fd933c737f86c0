//! A person signs in: registration of three kinds, PKCE, `resource`, and what is kept.

use std::io::Write;
use std::sync::{Arc, Mutex};

use secrecy::SecretString;
use serde_json::json;
use yesgate_testkit::authorization_server::{browse, consent};
use yesgate_testkit::{AuthorizationServer, DEADLINE, until};

use super::{Identity, REDIRECT, Scene, connect, request};
use crate::sign_in::{Callback, Need, Redirected, SignIn, SignInError};

#[tokio::test]
async fn nobody_who_is_registered_registers_and_sends_pkce_and_resource() {
    let scene = Scene::new().await;
    let sign_in = scene.signed_in().await;
    let registered = scene.server.visits("POST /register");
    let body: serde_json::Value = serde_json::from_str(&registered[0].body).unwrap();
    assert_eq!(body["redirect_uris"], json!([REDIRECT]));
    assert_eq!(body["application_type"], "native");
    let asked = &scene.server.visits("GET /authorize")[0].parameters;
    assert_eq!(asked["code_challenge_method"], "S256");
    assert_eq!(asked["resource"], scene.server.server());
    assert_eq!(asked["scope"], "notes:read offline_access");
    let exchanged = &scene.server.visits("POST /token")[0].parameters;
    assert_eq!(exchanged["resource"], scene.server.server());
    assert!(exchanged["code_verifier"].len() >= 43);
    let bearer = sign_in.bearer().await.unwrap();
    assert!(bearer.is_sensitive());
    assert_eq!(request(&scene, &bearer).0, 200);
}

/// RFC 9728 §5.1: a server may say only to a request that it would serve where its metadata is.
#[tokio::test]
async fn a_challenge_that_only_a_real_request_gets_is_heeded_at_every_step() {
    let scene = Scene::new().await;
    scene.server.script(|script| script.names_to_posts = Some("notes:write".into()));
    let sign_in = scene.signed_in().await;
    let asked = &scene.server.visits("GET /authorize")[0].parameters;
    assert_eq!(asked["scope"], "notes:write offline_access", "its own words come before the metadata's");
    let question = &scene.server.visits("POST /mcp")[0];
    assert_eq!(question.authorization, None);
    scene.go_ahead(3600);
    sign_in.bearer().await.unwrap();
    assert_eq!(scene.renewals(), 1);
}

#[tokio::test]
async fn a_client_that_was_registered_beforehand_is_used_and_its_secret_is_not_kept() {
    let scene = Scene::new().await;
    scene.server.script(|script| drop(script.secrets.insert("gate".into(), "secret-of-the-operator".into())));
    let secret = Some(SecretString::from("secret-of-the-operator"));
    let sign_in = scene.process(Identity::Registered { id: "gate".into(), secret }, &[]);
    connect(&sign_in).await.unwrap();
    assert!(scene.server.visits("POST /register").is_empty());
    scene.go_ahead(3600);
    sign_in.bearer().await.unwrap();
    assert_eq!(scene.renewals(), 1);
    let record = sign_in.shelf().read().await.unwrap().unwrap();
    let text = serde_json::to_string(&record).unwrap();
    assert!(text.contains("refresh-") && !text.contains("secret-"), "{text}");
}

#[tokio::test]
async fn a_client_document_is_used_where_it_is_known_and_registration_otherwise() {
    let document = "https://gate.example.org/client.json";
    let scene = Scene::new().await;
    scene.server.script(|script| script.metadata = json!({"client_id_metadata_document_supported": true}));
    connect(&scene.process(Identity::Document(document.into()), &[])).await.unwrap();
    assert!(scene.server.visits("POST /register").is_empty());
    assert_eq!(scene.server.visits("GET /authorize")[0].parameters["client_id"], document);
    scene.server.script(|script| script.metadata = json!({}));
    connect(&scene.process(Identity::Document(document.into()), &[])).await.unwrap();
    assert_eq!(scene.server.visits("POST /register").len(), 1);
}

#[tokio::test]
async fn a_secret_that_came_with_the_registration_is_used_to_renew_after_a_restart() {
    let scene = Scene::new().await;
    scene.server.script(|script| script.gives_secret = true);
    scene.signed_in().await;
    scene.go_ahead(3600);
    let bearer = scene.process(Identity::Unregistered, &[]).bearer().await.unwrap();
    assert_eq!(request(&scene, &bearer).0, 200);
    assert_eq!(scene.renewals(), 1);
}

#[tokio::test]
async fn nothing_that_is_kept_or_printed_shows_a_token() {
    let scene = Scene::new().await;
    scene.server.script(|script| script.gives_secret = true);
    let sign_in = scene.signed_in().await;
    let bearer = sign_in.bearer().await.unwrap();
    let mut files = 0;
    for file in std::fs::read_dir(scene.home.path()).unwrap().map(Result::unwrap) {
        let bytes = if file.path().is_file() { std::fs::read(file.path()).unwrap() } else { Vec::new() };
        files += usize::from(bytes.windows(8).any(|window| window == b"sign-in/"));
        for secret in AuthorizationServer::SECRETS {
            assert!(
                !bytes.windows(secret.len()).any(|window| window == secret.as_bytes()),
                "{secret} in {file:?}"
            );
        }
    }
    assert!(files > 0, "it is kept somewhere here");
    let connecting = sign_in.begin(REDIRECT).await.unwrap();
    let record = sign_in.shelf().read().await.unwrap();
    let printed = format!("{sign_in:?} {bearer:?} {connecting:?} {record:?} {:?}", sign_in.standing().await);
    for secret in AuthorizationServer::SECRETS {
        assert!(!printed.contains(secret), "{printed}");
    }
}

#[tokio::test]
async fn another_address_or_another_key_is_another_sign_in() {
    let scene = Scene::new().await;
    let sign_in = scene.signed_in().await;
    let elsewhere = scene.process_at(&format!("{}2", scene.server.server()), Identity::Unregistered, &[]);
    assert_eq!(elsewhere.bearer().await.unwrap_err(), SignInError::NeedsPerson(Need::First));
    let vault = scene.vault(Some(&"ab".repeat(32)));
    let url = scene.server.server();
    let other = SignIn::new("notes".parse().unwrap(), &url, Identity::Unregistered, vec![], vault).unwrap();
    assert_eq!(other.bearer().await.unwrap_err(), SignInError::Sealed);
    assert!(sign_in.bearer().await.is_ok());
    assert!(connect(&other).await.is_ok(), "what cannot be opened is replaced by signing in");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_loopback_page_waits_for_the_right_answer_and_minds_no_other() {
    let scene = Scene::new().await;
    let sign_in = scene.process(Identity::Unregistered, &[]);
    let callback = Callback::listen(None).await.unwrap();
    let connecting = sign_in.begin(&callback.address()).await.unwrap();
    let (address, open) = (callback.address(), connecting.address().to_owned());
    let person = tokio::task::spawn_blocking(move || {
        let root = address.trim_end_matches("/callback").to_owned();
        for junk in
            ["", "?code=x", "?code=x&state=wrong", "?error=access_denied&state=wrong", "?state=a&state=b"]
        {
            assert_eq!(browse(&format!("{address}{junk}")).status, 404, "{junk}");
        }
        assert_eq!(browse(&format!("{root}/favicon.ico")).status, 404);
        let silent = std::net::TcpStream::connect(root.trim_start_matches("http://")).unwrap();
        let page = browse(&consent(&open));
        drop(silent);
        page
    });
    let redirected = tokio::time::timeout(DEADLINE, callback.wait(&connecting)).await.unwrap().unwrap();
    let page = person.await.unwrap();
    assert_eq!(page.status, 200);
    for header in ["cache-control: no-store", "referrer-policy: no-referrer", "content-security-policy: "] {
        assert!(page.text.contains(header), "{}", page.text);
    }
    assert!(AuthorizationServer::SECRETS.iter().all(|secret| !page.text.contains(secret)), "{}", page.text);
    let granted = connecting.finish(redirected).await.unwrap();
    assert_eq!(granted.scopes, ["notes:read", "offline_access"]);
    assert_eq!(granted.issuer, Some(scene.server.issuer()));
    assert!(granted.renews && granted.ends_at.is_some() && granted.wanted.is_empty());
}

#[tokio::test]
async fn an_exchange_goes_to_its_end_when_nobody_waits_for_it_any_more() {
    let scene = Scene::new().await;
    let sign_in = scene.process(Identity::Unregistered, &[]);
    let connecting = sign_in.begin(REDIRECT).await.unwrap();
    let redirected = Redirected::parse(&consent(connecting.address())).unwrap();
    tokio::select! {
        biased;
        _ = connecting.finish(redirected) => panic!("it cannot be done at the first look"),
        () = std::future::ready(()) => {}
    }
    let server = scene.server;
    let asked = tokio::task::spawn_blocking(move || {
        until("the code is exchanged", || server.visits("POST /token").pop());
        server
    });
    let _server = asked.await.unwrap();
    // The exchange holds the lock until its tokens are kept.
    let _lock = sign_in.shelf().lock().await.unwrap();
    assert!(sign_in.standing().await.unwrap().is_some());
}

#[tokio::test]
async fn an_old_server_that_publishes_nothing_is_asked_at_its_own_origin() {
    let scene = Scene::new().await;
    scene.server.script(|script| {
        script.publishes = false;
        script.iss = Some(String::new());
    });
    let granted = connect(&scene.process(Identity::Unregistered, &[])).await.unwrap();
    assert_eq!(granted.issuer, None);
    assert_eq!(scene.server.visits("GET /authorize")[0].parameters["code_challenge_method"], "S256");
}

/// A log at its most talkative, as an operator may turn it on: the library's own lines would show codes.
#[tokio::test]
async fn no_log_shows_a_token_or_a_code() {
    let lines = Lines::default();
    let writer = lines.clone();
    let log = tracing_subscriber::fmt().with_env_filter("trace").with_writer(move || writer.clone()).finish();
    let guard = tracing::subscriber::set_default(log);
    let scene = Scene::new().await;
    scene.server.script(|script| script.gives_secret = true);
    let sign_in = scene.signed_in().await;
    scene.go_ahead(3600);
    sign_in.bearer().await.unwrap();
    tracing::info!("the end");
    drop(guard);
    let lines = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    assert!(lines.contains("the end"));
    for secret in AuthorizationServer::SECRETS {
        assert!(!lines.contains(secret), "{secret}: {lines}");
    }
}

/// What was logged.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
