//! How clients prove themselves at the token endpoint.

use serde_json::{Value, json};
use yesgate_core::audit::AuditEvent;
use yesgate_core::oauth::{AuthMethod, OAuthEvent};
use yesgate_core::policy::{KnownClient, OAuthConfig};
use yesgate_http::edge::bearer::Unadmitted;
use yesgate_oauth::Answered;

use crate::support::{CALLBACK, Reply, Stage, VERIFIER, basic, request};

const TOKEN: &str = "/api/mcp/oauth/token";

/// How a client behaves.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Sends {
    OnlyItsId,
    InTheBody,
    InTheHeader,
    InTheHeaderWithItsId,
}

const ALL: [Sends; 4] = [Sends::OnlyItsId, Sends::InTheBody, Sends::InTheHeader, Sends::InTheHeaderWithItsId];

async fn exchange(stage: &Stage, id: &str, secret: &str, sends: Sends) -> Reply {
    let code = stage.code(id).await;
    let mut form = vec![
        ("grant_type", "authorization_code"),
        ("code", code.as_str()),
        ("redirect_uri", CALLBACK),
        ("code_verifier", VERIFIER),
    ];
    let header = basic(id, secret);
    let mut headers = vec![];
    match sends {
        Sends::OnlyItsId => form.push(("client_id", id)),
        Sends::InTheBody => form.extend([("client_id", id), ("client_secret", secret)]),
        Sends::InTheHeader => headers.push(("authorization", header.as_str())),
        Sends::InTheHeaderWithItsId => {
            headers.push(("authorization", header.as_str()));
            form.push(("client_id", id));
        }
    }
    stage.post_with(TOKEN, &headers, &form).await
}

async fn register(stage: &Stage, method: Option<&str>) -> (String, String) {
    let mut body = json!({ "redirect_uris": [CALLBACK] });
    if let Some(method) = method {
        body["token_endpoint_auth_method"] = method.into();
    }
    let reply = stage.register(&body).await.is(201);
    let secret = reply.json.get("client_secret").and_then(Value::as_str).unwrap_or("ygx_none");
    (reply.str("client_id"), secret.to_owned())
}

/// O-T2: what was chosen is kept to; what was not chosen may come either way. Three methods by four behaviours, and the
/// default.
#[tokio::test]
async fn a_client_proves_itself_as_it_registered() {
    let stage = Stage::new().await;
    let table: [(Option<&str>, &[Sends]); 4] = [
        (Some("none"), &[Sends::OnlyItsId]),
        (Some("client_secret_post"), &[Sends::InTheBody]),
        (Some("client_secret_basic"), &[Sends::InTheHeader, Sends::InTheHeaderWithItsId]),
        (None, &[Sends::InTheBody, Sends::InTheHeader, Sends::InTheHeaderWithItsId]),
    ];
    for (method, accepted) in table {
        let (id, secret) = register(&stage, method).await;
        for sends in ALL {
            stage.clock.turn(jiff::SignedDuration::from_mins(2));
            let reply = exchange(&stage, &id, &secret, sends).await;
            if accepted.contains(&sends) {
                reply.is(200);
            } else {
                let reply = reply.says(401, "invalid_client");
                let tried = [Sends::InTheHeader, Sends::InTheHeaderWithItsId].contains(&sends);
                assert_eq!(reply.headers.contains_key("www-authenticate"), tried, "{method:?} {sends:?}");
            }
        }
    }
}

/// O-T2, O-S6: a wrong secret and an unknown client cannot be told apart.
#[tokio::test]
async fn a_wrong_secret_and_an_unknown_client_look_the_same() {
    let stage = Stage::new().await;
    let (id, _) = register(&stage, None).await;
    let send = async |id: &str, secret: &str| {
        let form = [("grant_type", "refresh_token"), ("refresh_token", "ygr_x")];
        let header = basic(id, secret);
        let reply = stage.post_with(TOKEN, &[("authorization", header.as_str())], &form).await;
        reply.says(401, "invalid_client")
    };
    let wrong = send(&id, "ygx_wrong").await;
    let unknown = send("client_nobody", "ygx_wrong").await;
    assert_eq!(wrong.text, unknown.text);
    assert_eq!(wrong.headers, unknown.headers);
    // A client with a secret that sends none is not taken for one without.
    stage.refresh(&id, "ygr_x").await.says(401, "invalid_client");
    stage.refresh("client_nobody", "ygr_x").await.says(401, "invalid_client");
}

/// O-T2: one client, one proof.
#[tokio::test]
async fn contradictions_are_refused() {
    let stage = Stage::new().await;
    let (id, secret) = register(&stage, None).await;
    let header = basic(&id, &secret);
    let auth = [("authorization", header.as_str())];
    let grant = ("grant_type", "refresh_token");
    let token = ("refresh_token", "ygr_x");
    let two = [grant, token, ("client_id", id.as_str()), ("client_secret", secret.as_str())];
    stage.post_with(TOKEN, &auth, &two).await.says(400, "invalid_request");
    let other = [grant, token, ("client_id", "client_other")];
    stage.post_with(TOKEN, &auth, &other).await.says(400, "invalid_request");
    let twice = [("authorization", header.as_str()), ("authorization", header.as_str())];
    stage.post_with(TOKEN, &twice, &[grant, token]).await.says(400, "invalid_request");
    for wrong in ["Basic", "Basic ", "Basic %%%", "Basic YWJj", "Bearer ygt_x", "Digest x"] {
        let wrong = [("authorization", wrong)];
        stage.post_with(TOKEN, &wrong, &[grant, token]).await.says(401, "invalid_client");
    }
    stage.token(&[grant, token]).await.says(401, "invalid_client");
    let assertion = [grant, token, ("client_id", id.as_str()), ("client_assertion", "x")];
    stage.token(&assertion).await.says(401, "invalid_client");
}

/// O-T2: the scheme has no case, and both parts may be encoded as in a form, or sent as they are.
#[tokio::test]
async fn a_secret_with_signs_is_read_both_ways() {
    let known = KnownClient {
        name: "Known".to_owned(),
        redirect_uris: vec![CALLBACK.to_owned()],
        method: AuthMethod::ClientSecretBasic,
        secret: Some("${KNOWN_SECRET}".parse().unwrap()),
        introspects: false,
        retry: None,
    };
    let clients = [("known:client".to_owned(), known)].into();
    let stage = Stage::with(OAuthConfig { clients, ..OAuthConfig::default() }).await;
    let encoded = basic("known%3Aclient", "known+secret+%2F+with%3Asigns");
    let lower = encoded.replacen("Basic", "bAsIc", 1);
    for (header, status) in [(&encoded, 200), (&lower, 200), (&basic("known%3Aclient", "known"), 401)] {
        let code = stage.code("known:client").await;
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code.as_str()),
            ("client_id", "known:client"),
            ("code_verifier", VERIFIER),
        ];
        stage.post_with(TOKEN, &[("authorization", header.as_str())], &form).await.is(status);
    }
}

/// O-R9, O2: a client that the operator wrote down needs no registration, and without its variable nobody is it.
#[tokio::test]
async fn an_operators_client_without_its_secret_is_nobody() {
    let known = |secret: &str| KnownClient {
        name: "Known".to_owned(),
        redirect_uris: vec![CALLBACK.to_owned()],
        method: AuthMethod::ClientSecretPost,
        secret: Some(secret.parse().unwrap()),
        introspects: false,
        retry: None,
    };
    let clients =
        [("good".to_owned(), known("${KNOWN_SECRET}")), ("bad".to_owned(), known("${NOBODY_SET_THIS}"))]
            .into();
    let stage = Stage::with(OAuthConfig { clients, ..OAuthConfig::default() }).await;
    exchange(&stage, "good", "known secret / with:signs", Sends::InTheBody).await.is(200);
    for secret in ["", "known secret / with:signs", "${NOBODY_SET_THIS}"] {
        exchange(&stage, "bad", secret, Sends::InTheBody).await.says(401, "invalid_client");
    }
    Stage::expect_ask(stage.authorize(&request("good")).await);
}

/// O2: a client that the operator struck out is nobody from then on, though somebody had allowed it something and the ledger
/// remembers it; a token that it has lets it in no more, and is none to whoever asks. Written down again it goes on where it
/// was.
#[tokio::test]
async fn an_operators_client_that_was_struck_out_is_nobody() {
    let known = KnownClient {
        name: "Known".to_owned(),
        redirect_uris: vec![CALLBACK.to_owned()],
        method: AuthMethod::None,
        secret: None,
        introspects: false,
        retry: None,
    };
    let asker = KnownClient {
        method: AuthMethod::ClientSecretPost,
        secret: Some("${KNOWN_SECRET}".parse().unwrap()),
        introspects: true,
        retry: None,
        ..known.clone()
    };
    let clients = |known: &[(&str, &KnownClient)]| OAuthConfig {
        clients: known.iter().map(|(id, known)| ((*id).to_owned(), (*known).clone())).collect(),
        ..OAuthConfig::default()
    };
    let config = clients(&[("known", &known), ("asker", &asker)]);
    let stage = Stage::with(config.clone()).await;
    let tokens = stage.connect("known").await.is(200);
    let (access, refresh) = (tokens.str("access_token"), tokens.str("refresh_token"));
    let is_active = async |token: &str| {
        let form = [("token", token), ("client_id", "asker"), ("client_secret", "known secret / with:signs")];
        stage.post("/api/mcp/oauth/introspect", &form).await.is(200).json["active"].as_bool().unwrap()
    };
    stage.admit(&access).await.unwrap();
    assert!(is_active(&access).await && is_active(&refresh).await);
    let (ticket, browser) = Stage::expect_ask(stage.authorize(&request("known")).await);
    stage.server.govern(clients(&[("asker", &asker)]), Vec::new());
    assert_eq!(stage.admit(&access).await.unwrap_err(), Unadmitted::InvalidToken);
    assert!(!is_active(&access).await && !is_active(&refresh).await);
    stage.refresh("known", &refresh).await.says(401, "invalid_client");
    Stage::expect_refusal(stage.authorize(&request("known")).await);
    assert_eq!(stage.allow(&ticket, &browser, "mcp:read").await, Answered::Gone);
    stage.server.govern(config, Vec::new());
    stage.admit(&access).await.unwrap();
    stage.refresh("known", &refresh).await.is(200);
}

/// O-S11: failed proofs are written down, now and then.
#[tokio::test]
async fn failed_proofs_are_written_down_now_and_then() {
    let stage = Stage::new().await;
    let (id, _) = register(&stage, None).await;
    for _ in 0..20 {
        stage.refresh(&id, "ygr_x").await.is(401);
    }
    let mut rows = 0;
    for _ in 0..50 {
        tokio::task::yield_now().await;
        let trail = stage.ledger.audit(0, 1000).await.unwrap();
        rows = trail
            .iter()
            .filter(|row| {
                matches!(row.entry().unwrap().event, AuditEvent::OAuth(OAuthEvent::Unproven { .. }))
            })
            .count();
    }
    assert!((1..=3).contains(&rows), "{rows}");
}
