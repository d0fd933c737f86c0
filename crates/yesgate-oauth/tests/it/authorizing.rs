//! Requests for authorization, and what people say to them.

use jiff::SignedDuration;
use serde_json::json;
use yesgate_core::oauth::{ConsentSecret, Scopes};
use yesgate_core::policy::{OAuthConfig, OAuthLimits};
use yesgate_oauth::{Answered, Authorizing};

use crate::support::{CALLBACK, ISSUER, Stage, query, request, seconds, sign_in, with, without};

/// O-A1: before it is known who asks, nothing goes anywhere.
#[tokio::test]
async fn an_unknown_client_or_address_is_told_to_the_person_only() {
    let stage = Stage::new().await;
    let client = stage.public_client().await;
    let wrong = [
        without(request(&client), "client_id"),
        with(request(&client), "client_id", ""),
        with(request(&client), "client_id", "client_nobody"),
        with(request(&client), "client_id", "not an id"),
        with(request(&client), "redirect_uri", "https://evil.example/"),
        with(request(&client), "redirect_uri", "http://localhost:4321/callback"),
        with(request(&client), "redirect_uri", "http://127.0.0.1:4321/callback?x"),
        with(request(&client), "redirect_uri", "javascript:alert(1)"),
        with(request(&client), "redirect_uri", ""),
        [request(&client), vec![("redirect_uri", "https://evil.example/")]].concat(),
        [request(&client), vec![("client_id", "client_other")]].concat(),
    ];
    for parameters in wrong {
        let not_asked = Stage::expect_refusal(stage.authorize(&parameters).await);
        assert!(!not_asked.what.is_empty() && !not_asked.remedy.is_empty());
    }
    let long = "x".repeat(9000);
    Stage::expect_refusal(stage.authorize(&with(request(&client), "state", &long)).await);
}

/// O-A1: a mismatch names both addresses, for some clients register one and ask for another.
#[tokio::test]
async fn a_mismatch_names_both_addresses() {
    let stage = Stage::new().await;
    let client = stage.public_client().await;
    let asked = with(request(&client), "redirect_uri", "http://localhost:4321/callback");
    let not_asked = Stage::expect_refusal(stage.authorize(&asked).await);
    assert!(not_asked.what.contains("http://localhost:4321/callback") && not_asked.what.contains(CALLBACK));
}

/// O-A1, O-A3, O-A4, O-A5: what is wrong with the rest, the client hears, with its state and the issuer.
#[tokio::test]
async fn everything_else_goes_back_to_the_client() {
    let stage = Stage::new().await;
    let client = stage.public_client().await;
    let table = [
        (without(request(&client), "response_type"), "invalid_request"),
        (with(request(&client), "response_type", "token"), "unsupported_response_type"),
        (with(request(&client), "response_mode", "fragment"), "invalid_request"),
        (without(request(&client), "code_challenge"), "invalid_request"),
        (with(request(&client), "code_challenge", "short"), "invalid_request"),
        (without(request(&client), "code_challenge_method"), "invalid_request"),
        (with(request(&client), "code_challenge_method", "plain"), "invalid_request"),
        (with(request(&client), "code_challenge_method", "s256"), "invalid_request"),
        (with(request(&client), "resource", "https://evil.example/mcp"), "invalid_target"),
        (with(request(&client), "resource", "https://gate.example/api/mcp#x"), "invalid_target"),
        (with(request(&client), "scope", "nothing that:there is"), "invalid_scope"),
        (with(request(&client), "prompt", "none login"), "invalid_request"),
        (with(request(&client), "request", "eyJ"), "request_not_supported"),
        (with(request(&client), "request_uri", "https://a.example"), "request_uri_not_supported"),
        ([request(&client), vec![("scope", "mcp:read"), ("scope", "mcp:call")]].concat(), "invalid_request"),
        ([request(&client), vec![("response_type", "code")]].concat(), "invalid_request"),
    ];
    for (parameters, error) in table {
        let back = Stage::expect_redirect(stage.authorize(&parameters).await);
        assert!(back.as_str().starts_with(CALLBACK), "{back}");
        assert_eq!(query(back.as_str(), "error").as_deref(), Some(error), "{parameters:?}");
        assert_eq!(query(back.as_str(), "state").as_deref(), Some("the state"));
        assert_eq!(query(back.as_str(), "iss").as_deref(), Some(ISSUER));
        assert_eq!(query(back.as_str(), "code"), None);
    }
    let device_only = json!({
        "redirect_uris": [CALLBACK], "token_endpoint_auth_method": "none",
        "grant_types": ["urn:ietf:params:oauth:grant-type:device_code"],
    });
    let client = stage.register(&device_only).await.is(201).str("client_id");
    let back = Stage::expect_redirect(stage.authorize(&request(&client)).await);
    assert_eq!(query(back.as_str(), "error").as_deref(), Some("unauthorized_client"));
}

/// O-A2: the port on the client's own machine is its own business.
#[tokio::test]
async fn the_port_at_home_may_change() {
    let stage = Stage::new().await;
    let client = stage.public_client().await;
    let asked = with(request(&client), "redirect_uri", "http://127.0.0.1:9999/callback");
    let (ticket, browser) = Stage::expect_ask(stage.authorize(&asked).await);
    let Answered::Go(to) = stage.allow(&ticket, &browser, "mcp:read").await else { panic!() };
    assert!(to.starts_with("http://127.0.0.1:9999/callback?code="), "{to}");
    let one = without(request(&client), "redirect_uri");
    Stage::expect_ask(stage.authorize(&one).await);
}

/// O-A4, O-A5: what goes without saying, what is left out, and what the person reads.
#[tokio::test]
async fn what_is_asked_for_is_what_there_is() {
    let stage = Stage::new().await;
    let client = stage.public_client().await;
    let asked = async |parameters: &[(&str, &str)]| {
        let (ticket, browser) = Stage::expect_ask(stage.authorize(parameters).await);
        let asked = stage.server.asked(&ticket, &browser, &stage.session).await.unwrap().unwrap();
        let scopes: Vec<_> = asked.scopes.iter().map(|scope| scope.name.to_string()).collect();
        assert!(asked.scopes.iter().all(|scope| !scope.says.is_empty()));
        let resources: Vec<_> = asked.resources.0.iter().map(ToString::to_string).collect();
        (scopes.join(" "), resources.join(" "))
    };
    let shared = "https://gate.example/api/mcp".to_owned();
    let both = "mcp:call mcp:read".to_owned();
    assert_eq!(asked(&request(&client)).await, (both.clone(), shared.clone()));
    let parameters = with(request(&client), "scope", "openid mcp:read offline_access");
    assert_eq!(asked(&parameters).await, ("mcp:read".to_owned(), shared.clone()));
    assert_eq!(asked(&with(request(&client), "scope", "offline_access")).await.0, both);
    let parameters = with(request(&client), "resource", "https://GATE.example/mcp/");
    assert_eq!(asked(&parameters).await.1, shared);
    let parameters = with(request(&client), "resource", "https://gate.example/");
    assert_eq!(asked(&parameters).await.1, "https://gate.example");
}

/// O-A6: looking mints nothing, and looking often spoils nothing.
#[tokio::test]
async fn five_looks_and_the_consent_still_works() {
    let stage = Stage::new().await;
    let client = stage.public_client().await;
    let mut shown = vec![];
    for _ in 0..5 {
        shown.push(Stage::expect_ask(stage.authorize(&request(&client)).await));
    }
    assert!(stage.ledger.connections().await.unwrap().is_empty());
    let (ticket, browser) = shown.pop().unwrap();
    assert!(matches!(stage.allow(&ticket, &browser, "mcp:read").await, Answered::Go(_)));
    let (other, _) = shown.pop().unwrap();
    assert_eq!(
        stage.allow(&other, &browser, "mcp:read").await,
        Answered::Gone,
        "another browser was shown that"
    );
}

/// O-K3: several tabs of one browser all work.
#[tokio::test]
async fn two_tabs_of_a_browser_are_answered_each() {
    let stage = Stage::new().await;
    let client = stage.public_client().await;
    let (first, browser) = Stage::expect_ask(stage.authorize(&request(&client)).await);
    let parameters: Vec<_> =
        request(&client).into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let from = "192.0.2.1".parse().unwrap();
    let second = stage.server.authorize(&parameters, Some(&browser), None, from).await.unwrap();
    let (second, same) = Stage::expect_ask(second);
    assert_eq!(same.expose(), browser.expose());
    for ticket in [second, first] {
        assert!(matches!(stage.allow(&ticket, &browser, "mcp:read").await, Answered::Go(_)));
    }
}

/// O-A7: ten minutes, and only where it was shown.
#[tokio::test]
async fn a_request_waits_ten_minutes_for_its_own_browser() {
    let stage = Stage::new().await;
    let client = stage.public_client().await;
    let (ticket, browser) = Stage::expect_ask(stage.authorize(&request(&client)).await);
    let stranger = ConsentSecret::from_entropy([42; 32]);
    assert!(stage.server.asked(&ticket, &stranger, &stage.session).await.unwrap().is_none());
    assert_eq!(stage.allow(&ticket, &stranger, "mcp:read").await, Answered::Gone);
    assert_eq!(stage.server.deny(&ticket, &stranger, &stage.person).await.unwrap(), Answered::Gone);
    stage.clock.turn(seconds(599));
    assert!(stage.server.asked(&ticket, &browser, &stage.session).await.unwrap().is_some());
    stage.clock.turn(seconds(1));
    assert!(stage.server.asked(&ticket, &browser, &stage.session).await.unwrap().is_none());
    assert_eq!(stage.allow(&ticket, &browser, "mcp:read").await, Answered::Gone);
}

/// O-A8: the code, the state and the issuer, each once.
#[tokio::test]
async fn a_yes_goes_back_with_all_that_belongs_to_it() {
    let stage = Stage::new().await;
    let uri = "https://a.example/cb?keep=this";
    let body = json!({ "redirect_uris": [uri], "token_endpoint_auth_method": "none" });
    let client = stage.register(&body).await.is(201).str("client_id");
    let asked = with(request(&client), "redirect_uri", uri);
    let (ticket, browser) = Stage::expect_ask(stage.authorize(&asked).await);
    let Answered::Go(to) = stage.allow(&ticket, &browser, "mcp:read").await else { panic!() };
    assert!(to.starts_with("https://a.example/cb?keep=this&code=ygc_"), "{to}");
    assert_eq!(query(&to, "keep").as_deref(), Some("this"));
    assert_eq!(query(&to, "state").as_deref(), Some("the state"));
    assert_eq!(query(&to, "iss").as_deref(), Some(ISSUER));
}

/// O-A9: who may not be asked gets nothing; who must sign in anew has to.
#[tokio::test]
async fn prompts_are_honoured() {
    let mut stage = Stage::new().await;
    let client = stage.public_client().await;
    let none: Vec<(String, String)> = with(request(&client), "prompt", "none")
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let from = "192.0.2.1".parse().unwrap();
    for (signed_in, error) in
        [(None, "login_required"), (Some((&stage.person, &stage.session)), "consent_required")]
    {
        let back =
            Stage::expect_redirect(stage.server.authorize(&none, None, signed_in, from).await.unwrap());
        assert_eq!(query(back.as_str(), "error").as_deref(), Some(error));
    }
    Stage::expect_ask(stage.authorize(&with(request(&client), "prompt", "consent")).await);
    stage.clock.turn(seconds(10));
    let asked = with(request(&client), "prompt", "login");
    let (ticket, browser) = Stage::expect_ask(stage.authorize(&asked).await);
    assert!(stage.server.asked(&ticket, &browser, &stage.session).await.unwrap().unwrap().wants_fresh);
    assert_eq!(stage.allow(&ticket, &browser, "mcp:read").await, Answered::SignInAnew);
    stage.clock.turn(seconds(10));
    stage.session = sign_in(&stage.ledger, &stage.person.id, 77).await;
    assert!(matches!(stage.allow(&ticket, &browser, "mcp:read").await, Answered::Go(_)));
}

/// O-K1: who said yes before is asked again.
#[tokio::test]
async fn nobody_is_allowed_without_being_asked() {
    let stage = Stage::new().await;
    let client = stage.public_client().await;
    stage.connect(&client).await;
    Stage::expect_ask(stage.authorize(&request(&client)).await);
}

/// O-K6: a no is heard, and not remembered.
#[tokio::test]
async fn a_no_goes_back_and_is_not_remembered() {
    let stage = Stage::new().await;
    let client = stage.public_client().await;
    let (ticket, browser) = Stage::expect_ask(stage.authorize(&request(&client)).await);
    let Answered::Go(to) = stage.server.deny(&ticket, &browser, &stage.person).await.unwrap() else {
        panic!()
    };
    assert_eq!(query(&to, "error").as_deref(), Some("access_denied"));
    assert_eq!(query(&to, "state").as_deref(), Some("the state"));
    assert_eq!(query(&to, "iss").as_deref(), Some(ISSUER));
    assert!(stage.ledger.connections().await.unwrap().is_empty());
    stage.connect(&client).await;
    // To give nothing is a no.
    let (ticket, browser) = Stage::expect_ask(stage.authorize(&request(&client)).await);
    let Answered::Go(to) = stage.allow(&ticket, &browser, "").await else { panic!() };
    assert_eq!(query(&to, "error").as_deref(), Some("access_denied"));
}

/// O-K7: a double click has one code.
#[tokio::test]
async fn a_second_click_changes_nothing() {
    let stage = Stage::new().await;
    let client = stage.public_client().await;
    let (ticket, browser) = Stage::expect_ask(stage.authorize(&request(&client)).await);
    let both = futures(&stage, &ticket, &browser).await;
    let went = both.iter().filter(|answered| matches!(answered, Answered::Go(_))).count();
    assert_eq!(went, 1, "{both:?}");
    assert!(both.contains(&Answered::Already));
    assert_eq!(stage.ledger.connections().await.unwrap().len(), 1);
}

async fn futures(
    stage: &Stage,
    ticket: &yesgate_core::oauth::Ticket,
    browser: &ConsentSecret,
) -> [Answered; 2] {
    let (one, other) =
        tokio::join!(stage.allow(ticket, browser, "mcp:read"), stage.allow(ticket, browser, "mcp:read"));
    [one, other]
}

/// O-A5: a person gives fewer scopes than were asked for, and never more.
#[tokio::test]
async fn what_is_given_is_never_more_than_what_was_asked() {
    let stage = Stage::new().await;
    let client = stage.public_client().await;
    let asked = with(request(&client), "scope", "mcp:read");
    let (ticket, browser) = Stage::expect_ask(stage.authorize(&asked).await);
    let Answered::Go(to) = stage.allow(&ticket, &browser, "mcp:read mcp:call").await else { panic!() };
    let reply = stage.exchange(&client, &query(&to, "code").unwrap()).await.is(200);
    assert_eq!(reply.json["scope"], "mcp:read");
    let (ticket, browser) = Stage::expect_ask(stage.authorize(&request(&client)).await);
    let Answered::Go(to) = stage.allow(&ticket, &browser, "mcp:read").await else { panic!() };
    let reply = stage.exchange(&client, &query(&to, "code").unwrap()).await.is(200);
    assert_eq!(reply.json["scope"], "mcp:read");
    let bearer = stage.admit(&reply.str("access_token")).await.unwrap();
    assert_eq!(bearer.scopes, Scopes::read("mcp:read"));
}

/// O-S8: one address cannot fill the house.
#[tokio::test]
async fn requests_for_authorization_are_limited() {
    let mut stage = Stage::new().await;
    let client = stage.public_client().await;
    for _ in 0..100 {
        Stage::expect_ask(stage.authorize(&request(&client)).await);
    }
    let Authorizing::TooOften(after) = stage.authorize(&request(&client)).await else { panic!() };
    assert!(after > 0);
    stage.from("198.51.100.1:1");
    Stage::expect_ask(stage.authorize(&request(&client)).await);
}

/// O-S9: what waits has a bound, and makes room as it gets old.
#[tokio::test]
async fn what_waits_has_a_bound() {
    let limits = OAuthLimits { parked: 3, ..OAuthLimits::default() };
    let stage = Stage::with(OAuthConfig { limits, ..OAuthConfig::default() }).await;
    let client = stage.public_client().await;
    for _ in 0..3 {
        Stage::expect_ask(stage.authorize(&request(&client)).await);
    }
    assert!(matches!(stage.authorize(&request(&client)).await, Authorizing::TooOften(_)));
    stage.clock.turn(SignedDuration::from_mins(11));
    Stage::expect_ask(stage.authorize(&request(&client)).await);
}
