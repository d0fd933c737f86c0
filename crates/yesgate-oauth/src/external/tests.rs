//! Tokens of an issuer that serves its keys over HTTP, good ones and one for each way to be bad.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt as _;
use jiff::{SignedDuration, Timestamp};
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use yesgate_core::clock::Clock;
use yesgate_core::policy::{ExternalIssuer, OAuthConfig};
use yesgate_http::edge::bearer::{Bearer, Bearers as _, Standing, Unadmitted};

use super::{ExternalBearers, ExternalError};
use crate::server::OAuthSettings;

const OURS: &str = "https://gate.example";
const NOW: i64 = 1_800_000_000;

/// A clock that is turned.
#[derive(Debug)]
struct Turned(AtomicI64);

impl Clock for Turned {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.0.load(Ordering::SeqCst)).unwrap()
    }
}

/// An issuer, with a key whose name is `one`, and a gateway that trusts it.
struct Theirs {
    bearers: ExternalBearers,
    clock: Arc<Turned>,
    issuer: String,
    key: Ed25519KeyPair,
    is_up: Arc<AtomicBool>,
    fetched: Arc<AtomicUsize>,
    keys: Arc<Mutex<Value>>,
}

impl Theirs {
    /// One that describes itself at this well-known path.
    async fn start(described_at: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let pkcs8 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let key = Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).unwrap();
        let keys = Arc::new(Mutex::new(json!({"keys": [public(&key, "one")]})));
        let (is_up, fetched) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)));
        let (bearers, clock) = bearers(trusting(&issuer)).unwrap();
        let theirs = Self {
            bearers,
            clock,
            issuer: issuer.clone(),
            key,
            is_up: Arc::clone(&is_up),
            fetched: Arc::clone(&fetched),
            keys: Arc::clone(&keys),
        };
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                if !is_up.load(Ordering::SeqCst) {
                    continue;
                }
                let mut request = vec![0; 4096];
                let length = socket.read(&mut request).await.unwrap();
                let text = String::from_utf8_lossy(&request[..length]).into_owned();
                let body = match text.split(' ').nth(1).unwrap_or_default() {
                    "/keys" => {
                        fetched.fetch_add(1, Ordering::SeqCst);
                        Some(keys.lock().unwrap().to_string())
                    }
                    path if path == described_at => {
                        Some(json!({"issuer": issuer, "jwks_uri": format!("{issuer}/keys")}).to_string())
                    }
                    _ => None,
                };
                let status = if body.is_some() { "200 OK" } else { "404 Not Found" };
                let body = body.unwrap_or_default();
                let length = body.len();
                let answer = format!(
                    "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
                );
                socket.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        theirs
    }

    async fn usual() -> Self {
        Self::start("/.well-known/openid-configuration").await
    }

    /// What a good token says, changed by this; null takes a claim away.
    fn says(&self, change: &Value) -> Value {
        let mut says = json!({
            "iss": self.issuer, "aud": format!("{OURS}/api/mcp"), "sub": "ana", "client_id": "their-agent",
            "exp": NOW + 300, "nbf": NOW - 5, "iat": NOW - 5, "jti": "1", "scope": "mcp:read mcp:call theirs:own",
        });
        for (name, value) in change.as_object().unwrap() {
            match value.is_null() {
                true => drop(says.as_object_mut().unwrap().remove(name)),
                false => says[name] = value.clone(),
            }
        }
        says
    }

    fn token(&self, change: &Value) -> String {
        sign(&self.key, &json!({"alg": "EdDSA", "kid": "one", "typ": "at+jwt"}), &self.says(change))
    }
}

fn public(key: &Ed25519KeyPair, kid: &str) -> Value {
    let x = URL_SAFE_NO_PAD.encode(key.public_key().as_ref());
    json!({"kty": "OKP", "crv": "Ed25519", "kid": kid, "x": x})
}

fn sign(key: &Ed25519KeyPair, head: &Value, says: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", part(head), part(says));
    let signature = URL_SAFE_NO_PAD.encode(key.sign(signed.as_bytes()).as_ref());
    format!("{signed}.{signature}")
}

fn trusting(issuer: &str) -> OAuthConfig {
    let external = ExternalIssuer {
        issuer: issuer.parse().unwrap(),
        keys: None,
        org: "acme".parse().unwrap(),
        user: "sub".to_owned(),
        client: vec!["client_id".to_owned(), "azp".to_owned()],
    };
    OAuthConfig { external: Some(external), ..OAuthConfig::default() }
}

fn bearers(config: OAuthConfig) -> Result<(ExternalBearers, Arc<Turned>), ExternalError> {
    let clock = Arc::new(Turned(AtomicI64::new(NOW)));
    let settings = OAuthSettings { issuer: OURS.to_owned(), config, servers: vec!["notes".to_owned()] };
    let bearers = ExternalBearers::new(settings, Arc::<Turned>::clone(&clock) as Arc<dyn Clock>)?;
    Ok((bearers, clock))
}

async fn admit(theirs: &Theirs, change: Value, path: &str) -> Result<Bearer, Unadmitted> {
    theirs.bearers.admit(&theirs.token(&change), path).await
}

#[track_caller]
fn is_invalid(admitted: Result<Bearer, Unadmitted>, what: impl std::fmt::Debug) {
    assert_eq!(admitted.map(|bearer| bearer.caller), Err(Unadmitted::InvalidToken), "{what:?}");
}

/// O4: the three names of the caller come from the verified token, the organisation from the operator.
#[tokio::test]
async fn a_token_of_the_trusted_issuer_names_the_caller() {
    for described_at in ["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"] {
        let theirs = Theirs::start(described_at).await;
        let bearer = admit(&theirs, json!({"org": "evil"}), "/api/mcp").await.unwrap();
        let caller = bearer.caller;
        assert_eq!(
            (caller.org.as_str(), caller.principal.as_str(), caller.client.as_str()),
            ("acme", "ana", "their-agent")
        );
        assert_eq!(bearer.scopes.to_string(), "mcp:call mcp:read", "scopes that nobody knows here are none");
        assert_eq!(*bearer.standing.borrow(), Standing::Good);
    }
}

/// RFC 9068 §2, leniently: other ways in which issuers write the same.
#[tokio::test]
async fn what_issuers_write_in_other_words_is_understood() {
    let theirs = Theirs::usual().await;
    for (change, client, scopes) in [
        (json!({"client_id": null, "azp": "by-azp"}), "by-azp", "mcp:call mcp:read"),
        (json!({"client_id": "", "azp": "by-azp"}), "by-azp", "mcp:call mcp:read"),
        (json!({"scope": null, "scp": ["mcp:read"]}), "their-agent", "mcp:read"),
        (json!({"scope": null, "scp": "mcp:read mcp:call"}), "their-agent", "mcp:call mcp:read"),
        (json!({"scope": ["mcp:call"]}), "their-agent", "mcp:call"),
        (json!({"scope": null}), "their-agent", ""),
        (json!({"nbf": null, "iat": null, "exp": 1_800_000_300.5}), "their-agent", "mcp:call mcp:read"),
        (
            json!({"aud": ["https://other.example", "https://GATE.example/api/mcp/"]}),
            "their-agent",
            "mcp:call mcp:read",
        ),
    ] {
        let bearer = admit(&theirs, change.clone(), "/api/mcp").await.unwrap();
        assert_eq!(
            (bearer.caller.client.as_str(), bearer.scopes.to_string().as_str()),
            (client, scopes),
            "{change}"
        );
    }
    let long = format!("https://client.example/{}", "x".repeat(200));
    let bearer = admit(&theirs, json!({"client_id": long}), "/api/mcp").await.unwrap();
    assert!(bearer.caller.client.as_str().starts_with("https://client.example/xxx"));
}

/// RFC 9068 §4: each claim that is wrong or missing keeps somebody out.
#[tokio::test]
async fn every_claim_that_is_wrong_or_missing_keeps_out() {
    let theirs = Theirs::usual().await;
    let issuer = theirs.issuer.clone();
    for change in [
        json!({"iss": null}),
        json!({"iss": format!("{issuer}/")}),
        json!({"iss": issuer.to_uppercase()}),
        json!({"iss": [issuer]}),
        json!({"aud": null}),
        json!({"aud": "their-agent"}),
        json!({"aud": []}),
        json!({"aud": "https://other.example/api/mcp"}),
        json!({"aud": "https://gate.example.evil.com/api/mcp"}),
        json!({"aud": "http://gate.example/api/mcp"}),
        json!({"aud": format!("{OURS}/mcp/notes")}),
        json!({"exp": null}),
        json!({"exp": NOW - 30}),
        json!({"exp": "never"}),
        json!({"exp": -1.5}),
        json!({"nbf": NOW + 31}),
        json!({"iat": NOW + 31}),
        json!({"nbf": "now"}),
        json!({"sub": null}),
        json!({"sub": ""}),
        json!({"sub": 42}),
        json!({"sub": "a name with spaces"}),
        json!({"client_id": null}),
        json!({"client_id": "a\nb"}),
        json!({"cnf": {"jkt": "a key"}}),
    ] {
        is_invalid(admit(&theirs, change.clone(), "/api/mcp").await, change);
    }
    for change in [json!({"exp": NOW - 29}), json!({"nbf": NOW + 30}), json!({"iat": NOW + 30})] {
        assert!(admit(&theirs, change.clone(), "/api/mcp").await.is_ok(), "{change}");
    }
}

/// O-D6: a token for one server is good there and nowhere else, whoever issued it.
#[tokio::test]
async fn a_token_is_good_where_it_is_for() {
    let theirs = Theirs::usual().await;
    for (audience, path, is_good) in [
        ("", "/mcp/notes", true),
        ("", "/api/tools", true),
        ("/api/mcp", "/mcp/notes", true),
        ("/mcp", "/api/mcp", true),
        ("/mcp/notes", "/mcp/notes", true),
        ("/mcp/notes", "/mcp/notes-other", false),
        ("/mcp/notes", "/api/mcp", false),
        ("/mcp/other", "/mcp/other", false),
        ("/api/mcp-other", "/api/mcp", false),
    ] {
        let admitted = admit(&theirs, json!({"aud": format!("{OURS}{audience}")}), path).await;
        assert_eq!(admitted.is_ok(), is_good, "{audience} at {path}");
    }
}

/// Never `none`, never a shared secret, never another's key, never a token of another kind.
#[tokio::test]
async fn what_proves_nothing_keeps_out() {
    let theirs = Theirs::usual().await;
    let bearers = &theirs.bearers;
    let says = theirs.says(&json!({}));
    let pkcs8 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
    let other = Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).unwrap();
    let head = |change: Value| {
        let mut head = json!({"alg": "EdDSA", "kid": "one"});
        head.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        head
    };
    for alg in ["none", "HS256", "HS512", "ES256", "RS256"] {
        is_invalid(
            bearers.admit(&sign(&theirs.key, &head(json!({"alg": alg})), &says), "/api/mcp").await,
            alg,
        );
    }
    for kind in ["id+jwt", "dpop+jwt", "logout+jwt", "secevent+jwt", "", "at+jwt "] {
        is_invalid(
            bearers.admit(&sign(&theirs.key, &head(json!({"typ": kind})), &says), "/api/mcp").await,
            kind,
        );
    }
    for kind in ["at+jwt", "AT+JWT", "application/at+jwt", "JWT"] {
        let token = sign(&theirs.key, &head(json!({"typ": kind})), &says);
        assert!(bearers.admit(&token, "/api/mcp").await.is_ok(), "{kind}");
    }
    assert!(bearers.admit(&sign(&theirs.key, &head(json!({})), &says), "/api/mcp").await.is_ok());
    is_invalid(bearers.admit(&sign(&other, &head(json!({})), &says), "/api/mcp").await, "another's");
    let brought = head(json!({"jwk": public(&other, "one"), "jku": "http://127.0.0.1:9/"}));
    is_invalid(bearers.admit(&sign(&other, &brought, &says), "/api/mcp").await, "a key that came along");
    for bad in ["", "ygt_abc", "a.b.c", "...."] {
        is_invalid(bearers.admit(bad, "/api/mcp").await, bad);
    }
}

/// A key that is not known is looked for once a minute at most, and found when the issuer has it.
#[tokio::test]
async fn unknown_keys_are_looked_for_now_and_then() {
    let theirs = Theirs::usual().await;
    let (bearers, clock) = (&theirs.bearers, &theirs.clock);
    assert!(bearers.admit(&theirs.token(&json!({})), "/api/mcp").await.is_ok());
    let pkcs8 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
    let new = Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).unwrap();
    let token = sign(&new, &json!({"alg": "EdDSA", "kid": "two"}), &theirs.says(&json!({})));
    for _ in 0..50 {
        is_invalid(bearers.admit(&token, "/api/mcp").await, "not yet known");
    }
    assert_eq!(theirs.fetched.load(Ordering::SeqCst), 1);
    *theirs.keys.lock().unwrap() = json!({"keys": [public(&new, "two")]});
    clock.0.store(NOW + 60, Ordering::SeqCst);
    assert!(bearers.admit(&token, "/api/mcp").await.is_ok());
    is_invalid(bearers.admit(&theirs.token(&json!({})), "/api/mcp").await, "it was withdrawn");
    assert_eq!(theirs.fetched.load(Ordering::SeqCst), 2);
}

/// While nobody can tell, nobody is let in; keys that are known count until they are too old.
#[tokio::test]
async fn while_the_issuer_is_away_nobody_can_tell() {
    let theirs = Theirs::usual().await;
    theirs.is_up.store(false, Ordering::SeqCst);
    let (bearers, clock) = (&theirs.bearers, &theirs.clock);
    let token = theirs.token(&json!({"exp": NOW + 100_000}));
    let unknown = async || bearers.admit(&token, "/api/mcp").await.err() == Some(Unadmitted::Unknown);
    assert!(unknown().await);
    theirs.is_up.store(true, Ordering::SeqCst);
    assert!(unknown().await, "it is asked again a little later");
    clock.0.store(NOW + 5, Ordering::SeqCst);
    assert!(bearers.admit(&token, "/api/mcp").await.is_ok());
    theirs.is_up.store(false, Ordering::SeqCst);
    clock.0.store(NOW + 3600, Ordering::SeqCst);
    assert!(bearers.admit(&token, "/api/mcp").await.is_ok());
    clock.0.store(NOW + 3605, Ordering::SeqCst);
    assert!(unknown().await);
    let governed = bearers.govern(trusting(&theirs.issuer), Vec::new());
    assert!(governed.is_ok() && unknown().await, "another configuration makes it no better");
    theirs.is_up.store(true, Ordering::SeqCst);
    clock.0.store(NOW + 3615, Ordering::SeqCst);
    assert!(bearers.admit(&token, "/api/mcp").await.is_ok());
}

/// What is open for somebody closes when their token's time is over.
#[tokio::test]
async fn what_is_open_closes_with_the_time_of_the_token() {
    let theirs = Theirs::usual().await;
    let mut standing = admit(&theirs, json!({}), "/api/mcp").await.unwrap().standing;
    tokio::time::pause();
    let began = tokio::time::Instant::now();
    standing.wait_for(|standing| *standing == Standing::Over).await.unwrap();
    let open = SignedDuration::try_from(began.elapsed()).unwrap();
    assert!((SignedDuration::from_secs(325)..=SignedDuration::from_secs(331)).contains(&open), "{open:?}");
}

/// O-D4, O-D5: clients are sent to the issuer that the operator trusts; there is no other endpoint here.
#[tokio::test]
async fn clients_are_sent_to_the_issuer() {
    let (bearers, _) = bearers(trusting("https://login.example/realm")).unwrap();
    let from = SocketAddr::from(([127, 0, 0, 1], 9));
    let ask = async |method: Method, path: &str| {
        let (parts, ()) = Request::builder().method(method).uri(path).body(()).unwrap().into_parts();
        assert!(bearers.has(path), "{path}");
        bearers.answer(parts, Bytes::new(), from).await
    };
    for (path, resource) in [
        ("/.well-known/oauth-protected-resource", "/api/mcp"),
        ("/.well-known/oauth-protected-resource/api/mcp", "/api/mcp"),
        ("/.well-known/oauth-protected-resource/mcp/notes", "/mcp/notes"),
    ] {
        let answer = ask(Method::GET, path).await;
        assert_eq!(
            (answer.status(), &answer.headers()["access-control-allow-origin"]),
            (StatusCode::OK, &"*".parse().unwrap())
        );
        let body = json_of(answer).await;
        assert_eq!(body["resource"], format!("{OURS}{resource}"));
        assert_eq!(body["authorization_servers"], json!(["https://login.example/realm"]));
    }
    for path in [
        "/.well-known/oauth-authorization-server",
        "/.well-known/openid-configuration",
        "/.well-known/oauth-protected-resource/elsewhere",
        "/api/mcp/oauth/token",
        "/api/mcp/oauth/register",
    ] {
        for method in [Method::GET, Method::POST] {
            assert_eq!(ask(method, path).await.status(), StatusCode::NOT_FOUND, "{path}");
        }
    }
    let metadata = "/.well-known/oauth-protected-resource";
    assert_eq!(ask(Method::POST, metadata).await.status(), StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(ask(Method::OPTIONS, metadata).await.status(), StatusCode::NO_CONTENT);
    assert!(!bearers.has("/api/mcp") && !bearers.has("/device"));
    let challenge = bearers.challenge("/mcp/notes", &Unadmitted::InvalidToken);
    let expected = "Bearer error=\"invalid_token\", \
        resource_metadata=\"https://gate.example/.well-known/oauth-protected-resource/mcp/notes\", \
        scope=\"mcp:call mcp:read\"";
    assert_eq!(challenge, expected);
}

/// The whole body of an answer, as JSON.
async fn json_of(answer: http::Response<yesgate_http::edge::body::Body>) -> Value {
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    serde_json::from_slice(&bytes).unwrap()
}

#[test]
fn an_issuer_in_the_clear_is_not_trusted() {
    let Err(ExternalError::Issuer(_)) = bearers(trusting("http://login.example")) else {
        panic!("in the clear")
    };
    let mut config = trusting("https://login.example");
    config.external.as_mut().unwrap().keys = Some("http://login.example/keys".parse().unwrap());
    let Err(ExternalError::Issuer(_)) = bearers(config) else { panic!("its keys in the clear") };
    let Err(ExternalError::Nobody) = bearers(OAuthConfig::default()) else { panic!("nobody is trusted") };
}
