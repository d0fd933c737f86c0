//! A gateway's server, the person who is asked, and clients that come.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::BodyExt as _;
use jiff::{SignedDuration, Timestamp};
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};
use yesgate_core::clock::{Clock, Entropy, EntropyError};
use yesgate_core::digest::Hasher;
use yesgate_core::id::{BootId, PersonId, SessionId};
use yesgate_core::oauth::{ConsentSecret, Scopes, Ticket};
use yesgate_core::person::{Person, Role, Session, SessionSecret, SignInWay};
use yesgate_core::policy::OAuthConfig;
use yesgate_http::edge::bearer::{Bearer, Bearers as _, Unadmitted};
use yesgate_ledger::{Ledger, NewSession};
use yesgate_oauth::{Answered, AuthServer, Authorizing, NotAsked, OAuthSettings};

pub(crate) const ISSUER: &str = "https://gate.example";
pub(crate) const CALLBACK: &str = "http://127.0.0.1:4321/callback";
pub(crate) const VERIFIER: &str = "a-verifier-of-forty-three-characters-or-more.";

/// A clock that the test turns.
#[derive(Clone, Debug)]
pub(crate) struct TestClock(Arc<Mutex<Timestamp>>);

impl TestClock {
    pub(crate) fn turn(&self, by: SignedDuration) {
        let mut now = self.0.lock().unwrap();
        *now += by;
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

/// Dice that never fall the same way twice.
#[derive(Debug, Default)]
struct Dice(AtomicU64);

impl Entropy for Dice {
    fn draw(&self) -> Result<[u8; 32], EntropyError> {
        let mut hasher = Hasher::new("yesgate/test-dice/1");
        hasher.field(&self.0.fetch_add(1, Ordering::Relaxed).to_be_bytes());
        Ok(*hasher.finish().as_bytes())
    }
}

/// The server with all around it.
pub(crate) struct Stage {
    pub(crate) server: Arc<AuthServer>,
    pub(crate) ledger: Ledger,
    pub(crate) clock: TestClock,
    pub(crate) person: Person,
    pub(crate) session: Session,
    dice: Arc<Dice>,
    config: OAuthConfig,
    from: SocketAddr,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    pub(crate) json: Value,
}

impl Reply {
    #[track_caller]
    pub(crate) fn is(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    #[track_caller]
    pub(crate) fn says(self, status: u16, error: &str) -> Self {
        let this = self.is(status);
        assert_eq!(this.json["error"], error, "{this:?}");
        this
    }

    #[track_caller]
    pub(crate) fn str(&self, member: &str) -> String {
        self.json[member].as_str().unwrap_or_else(|| panic!("no {member}: {self:?}")).to_owned()
    }
}

impl Stage {
    pub(crate) async fn new() -> Self {
        Self::with(OAuthConfig::default()).await
    }

    pub(crate) async fn with(config: OAuthConfig) -> Self {
        let clock = TestClock(Arc::new(Mutex::new(Timestamp::from_second(1_800_000_000).unwrap())));
        let boot = BootId::from_entropy([1; 32]);
        let ledger = Ledger::in_memory(Arc::new(clock.clone()), boot).await.unwrap();
        let dice = Arc::new(Dice::default());
        let person = Person {
            id: PersonId::from_entropy([7; 32]),
            name: "ada".parse().unwrap(),
            org: "acme".parse().unwrap(),
            mail: None,
            role: Role::Owner,
            groups: Default::default(),
            added_at: clock.now(),
            removed_at: None,
        };
        ledger.set_person(person.clone(), "test").await.unwrap().unwrap();
        let session = sign_in(&ledger, &person.id, 9).await;
        let server = Arc::new(serve(&ledger, &dice, config.clone()));
        let from = "192.0.2.1:5000".parse().unwrap();
        Self { server, ledger, clock, person, session, dice, config, from }
    }

    /// The same after a restart of the gateway.
    pub(crate) fn restarted(self) -> Self {
        let server = Arc::new(serve(&self.ledger, &self.dice, self.config.clone()));
        Self { server, ..self }
    }

    pub(crate) fn from(&mut self, address: &str) {
        self.from = address.parse().unwrap();
    }

    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Reply {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let response = self.server.answer(parts, body.into(), self.from).await;
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let json = serde_json::from_str(&text).unwrap_or(Value::Null);
        Reply { status: parts.status, headers: parts.headers, text, json }
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.send(Method::GET, path, &[], "").await
    }

    pub(crate) async fn post(&self, path: &str, form: &[(&str, &str)]) -> Reply {
        self.post_with(path, &[], form).await
    }

    pub(crate) async fn post_with(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        form: &[(&str, &str)],
    ) -> Reply {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let mut all = vec![("content-type", "application/x-www-form-urlencoded")];
        all.extend(headers);
        self.send(Method::POST, path, &all, body).await
    }

    pub(crate) async fn token(&self, form: &[(&str, &str)]) -> Reply {
        self.post("/api/mcp/oauth/token", form).await
    }

    pub(crate) async fn register(&self, body: &Value) -> Reply {
        let headers = [("content-type", "application/json")];
        self.send(Method::POST, "/api/mcp/oauth/register", &headers, body.to_string()).await
    }

    /// Registers a client without a secret, and says its id.
    pub(crate) async fn public_client(&self) -> String {
        let body = json!({ "redirect_uris": [CALLBACK], "token_endpoint_auth_method": "none" });
        self.register(&body).await.is(201).str("client_id")
    }

    pub(crate) async fn authorize(&self, parameters: &[(&str, &str)]) -> Authorizing {
        let parameters: Vec<_> =
            parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let signed_in = Some((&self.person, &self.session));
        self.server.authorize(&parameters, None, signed_in, self.from.ip()).await.unwrap()
    }

    #[track_caller]
    pub(crate) fn expect_ask(authorizing: Authorizing) -> (Ticket, ConsentSecret) {
        let said = format!("{authorizing:?}");
        let Authorizing::Ask(ticket, browser) = authorizing else { panic!("not asked: {said}") };
        (ticket, browser)
    }

    #[track_caller]
    pub(crate) fn expect_refusal(authorizing: Authorizing) -> NotAsked {
        let said = format!("{authorizing:?}");
        let Authorizing::Refuse(not_asked) = authorizing else { panic!("not refused: {said}") };
        not_asked
    }

    #[track_caller]
    pub(crate) fn expect_redirect(authorizing: Authorizing) -> url::Url {
        let said = format!("{authorizing:?}");
        let Authorizing::Redirect(to) = authorizing else { panic!("not sent back: {said}") };
        to.parse().unwrap()
    }

    pub(crate) async fn allow(&self, ticket: &Ticket, browser: &ConsentSecret, scopes: &str) -> Answered {
        let by = (&self.person, &self.session);
        self.server.allow(ticket, browser, by, &Scopes::read(scopes)).await.unwrap()
    }

    /// Goes all the way to a code that the client may exchange.
    pub(crate) async fn code(&self, client: &str) -> String {
        self.code_with(&request(client)).await
    }

    pub(crate) async fn code_with(&self, parameters: &[(&str, &str)]) -> String {
        let (ticket, browser) = Self::expect_ask(self.authorize(parameters).await);
        let answered = self.allow(&ticket, &browser, "mcp:read mcp:call").await;
        let Answered::Go(to) = &answered else { panic!("no code: {answered:?}") };
        query(to, "code").unwrap()
    }

    /// Exchanges a code of a client without a secret.
    pub(crate) async fn exchange(&self, client: &str, code: &str) -> Reply {
        self.token(&[
            ("grant_type", "authorization_code"),
            ("code", code),
            ("client_id", client),
            ("redirect_uri", CALLBACK),
            ("code_verifier", VERIFIER),
        ])
        .await
    }

    /// Connects a client without a secret, and says what it got.
    pub(crate) async fn connect(&self, client: &str) -> Reply {
        let code = self.code(client).await;
        self.exchange(client, &code).await.is(200)
    }

    pub(crate) async fn refresh(&self, client: &str, token: &str) -> Reply {
        let form = [("grant_type", "refresh_token"), ("refresh_token", token), ("client_id", client)];
        self.token(&form).await
    }

    pub(crate) async fn admit(&self, token: &str) -> Result<Bearer, Unadmitted> {
        self.server.admit(token, "/api/mcp").await
    }
}

fn serve(ledger: &Ledger, dice: &Arc<Dice>, config: OAuthConfig) -> AuthServer {
    let settings = OAuthSettings { issuer: ISSUER.to_owned(), config, servers: vec!["crm".to_owned()] };
    let dice: Arc<dyn Entropy> = Arc::clone(dice) as Arc<dyn Entropy>;
    AuthServer::new(ledger.clone(), dice, settings).with_variables(|name| match name {
        "KNOWN_SECRET" => Some("known secret / with:signs".to_owned()),
        "REGISTRATION" => Some("let me register".to_owned()),
        _ => None,
    })
}

pub(crate) async fn sign_in(ledger: &Ledger, person: &PersonId, seed: u8) -> Session {
    let new = NewSession {
        id: SessionId::from_entropy([seed; 32]),
        secret: SessionSecret::from_entropy([seed; 32]).hash(),
        browser: "a browser".to_owned(),
    };
    ledger.begin_session(person, SignInWay::Passkey, new).await.unwrap().unwrap()
}

/// What a client asks the authorization endpoint, as it should.
pub(crate) fn request(client: &str) -> Vec<(&str, &str)> {
    vec![
        ("response_type", "code"),
        ("client_id", client),
        ("redirect_uri", CALLBACK),
        ("code_challenge", challenge()),
        ("code_challenge_method", "S256"),
        ("state", "the state"),
    ]
}

fn challenge() -> &'static str {
    static CHALLENGE: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    CHALLENGE.get_or_init(|| URL_SAFE_NO_PAD.encode(digest(&SHA256, VERIFIER.as_bytes())))
}

/// The same request with one parameter more, or another one in its place.
pub(crate) fn with<'a>(
    mut parameters: Vec<(&'a str, &'a str)>,
    name: &'a str,
    value: &'a str,
) -> Vec<(&'a str, &'a str)> {
    parameters.retain(|(known, _)| *known != name);
    parameters.push((name, value));
    parameters
}

/// The same request without one parameter.
pub(crate) fn without<'a>(mut parameters: Vec<(&'a str, &'a str)>, name: &str) -> Vec<(&'a str, &'a str)> {
    parameters.retain(|(known, _)| *known != name);
    parameters
}

/// What an address has in its query, if it is there once.
pub(crate) fn query(uri: &str, name: &str) -> Option<String> {
    let uri: url::Url = uri.parse().unwrap();
    let found: Vec<_> = uri.query_pairs().filter(|(known, _)| known == name).collect();
    assert!(found.len() < 2, "{uri}");
    found.first().map(|(_, value)| value.clone().into_owned())
}

pub(crate) fn basic(id: &str, secret: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{id}:{secret}")))
}

pub(crate) const fn seconds(seconds: i64) -> SignedDuration {
    SignedDuration::from_secs(seconds)
}

pub(crate) const fn days(days: i64) -> SignedDuration {
    SignedDuration::from_hours(24 * days)
}
