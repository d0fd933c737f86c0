//! A client that connects by OAuth, without any library in between: every request can be seen and spoilt.
//!
//! It remembers each secret that it was given, so that a test can look for them where none may be.

use std::collections::BTreeSet;
use std::sync::Mutex;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::{SecureRandom as _, SystemRandom};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use url::Url;
use url::form_urlencoded::Serializer;

use crate::consent::returned;
use crate::rest_host::{RestAnswer, RestHost};
use crate::visitor::Visitor;
use crate::web_host::Draft;

/// Where browsers bring it codes. Nobody listens there.
pub const REDIRECT: &str = "http://127.0.0.1:7777/callback";

/// A registered client.
#[derive(Debug)]
pub struct OAuthClient {
    host: RestHost,
    origin: String,
    /// What the gateway said when it registered.
    pub registered: Value,
    /// Every secret that was ever given to it.
    secrets: Mutex<BTreeSet<String>>,
}

/// A request for authorization that a person has to answer.
#[derive(Clone, Debug)]
pub struct Request {
    /// What a browser is to open.
    pub url: String,
    /// What proves later that it was this client.
    pub verifier: String,
    /// What comes back with the answer.
    pub state: String,
}

/// What a client has that was let in.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Tokens {
    /// For requests.
    pub access: String,
    /// For further tokens.
    pub refresh: String,
    /// What it may do.
    pub scope: String,
}

impl OAuthClient {
    /// Registers a client that proves itself in this way; `None`: it does not say how.
    ///
    /// # Panics
    /// When the gateway does not take it.
    pub async fn register(origin: &str, method: Option<&str>) -> Self {
        let mut body = json!({
            "client_name": "Testkit",
            "redirect_uris": [REDIRECT],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
        });
        if let Some(method) = method {
            body["token_endpoint_auth_method"] = method.into();
        }
        Self::register_as(origin, body).await
    }

    /// Registers a client with these words.
    ///
    /// # Panics
    /// When the gateway does not take it.
    pub async fn register_as(origin: &str, body: Value) -> Self {
        let host = RestHost::new(origin);
        let answer = host.post("/api/mcp/oauth/register", body).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        let client =
            Self { host, origin: origin.to_owned(), registered: answer.body, secrets: Mutex::default() };
        client.remember(&client.registered);
        client
    }

    /// A client that the operator wrote down under this id, without a secret.
    pub fn known(origin: &str, id: &str) -> Self {
        let registered = json!({"client_id": id, "token_endpoint_auth_method": "none"});
        Self { host: RestHost::new(origin), origin: origin.to_owned(), registered, secrets: Mutex::default() }
    }

    /// The same client on new connections: after those it had were cut.
    #[must_use]
    pub fn reconnected(self) -> Self {
        Self { host: RestHost::new(&self.origin), ..self }
    }

    /// Its id.
    ///
    /// # Panics
    /// When it was given none.
    #[track_caller]
    pub fn id(&self) -> &str {
        self.registered["client_id"].as_str().expect("a client has an id")
    }

    /// The endpoint that its tokens are for where it does not say.
    pub fn resource(&self) -> String {
        format!("{}/api/mcp", self.origin)
    }

    /// A request for authorization with these further parameters, which take the place of those of the same name; an
    /// empty one is left out.
    pub fn request(&self, further: &[(&str, &str)]) -> Request {
        let (verifier, state) = (random(), random());
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
        let resource = self.resource();
        let usual = [
            ("response_type", "code"),
            ("client_id", self.id()),
            ("redirect_uri", REDIRECT),
            ("state", &state),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
            ("resource", &resource),
        ];
        let kept = usual.into_iter().filter(|(name, _)| !further.iter().any(|(other, _)| other == name));
        let further = further.iter().copied().filter(|(_, value)| !value.is_empty());
        let address = format!("{}/api/mcp/oauth/authorize", self.origin);
        let url = Url::parse_with_params(&address, kept.chain(further)).expect("an origin is a URL");
        Request { url: url.into(), verifier, state }
    }

    /// Has this person say yes, and fetches the tokens.
    ///
    /// # Panics
    /// When the person is not asked, or there are no tokens.
    pub async fn connect(&self, person: &Visitor) -> Tokens {
        self.connect_with(person, &[]).await
    }

    /// The same with further parameters of the request.
    ///
    /// # Panics
    /// When the person is not asked, or there are no tokens.
    pub async fn connect_with(&self, person: &Visitor, further: &[(&str, &str)]) -> Tokens {
        let request = self.request(further);
        let back = person.allow(&request.url).await;
        let answer = self.exchange(&request, &back).await;
        self.tokens(&answer)
    }

    /// Exchanges the code that a browser brought.
    ///
    /// # Panics
    /// When it brought none, or what it brought is not the answer to this request.
    pub async fn exchange(&self, request: &Request, back: &str) -> RestAnswer {
        assert_eq!(returned(back, "state").as_deref(), Some(request.state.as_str()), "{back}");
        assert_eq!(returned(back, "iss").as_deref(), Some(self.origin.as_str()), "{back}");
        let code = returned(back, "code").unwrap_or_else(|| panic!("no code: {back}"));
        self.secrets.lock().expect("no test holds it").insert(code.clone());
        self.token(&[
            ("grant_type", "authorization_code"),
            ("code", &code),
            ("redirect_uri", REDIRECT),
            ("code_verifier", &request.verifier),
        ])
        .await
    }

    /// Asks for new tokens.
    pub async fn refresh(&self, refresh: &str) -> RestAnswer {
        self.token(&[("grant_type", "refresh_token"), ("refresh_token", refresh)]).await
    }

    /// Asks for new tokens, and never hears of the answer if the connection breaks before.
    pub async fn lost_refresh(&self, refresh: &str) {
        let fields = [("grant_type", "refresh_token"), ("refresh_token", refresh)];
        let draft = self.form("/api/mcp/oauth/token", &fields);
        let _lost = draft.try_send().await;
    }

    /// Asks the token endpoint for something.
    pub async fn token(&self, fields: &[(&str, &str)]) -> RestAnswer {
        self.post("/api/mcp/oauth/token", fields).await
    }

    /// Gives a token back (RFC 7009).
    pub async fn revoke(&self, token: &str) -> RestAnswer {
        self.post("/api/mcp/oauth/revoke", &[("token", token)]).await
    }

    /// Sends a form to an endpoint, with what proves who it is.
    pub async fn post(&self, path: &str, fields: &[(&str, &str)]) -> RestAnswer {
        let answer = RestAnswer::read(self.form(path, fields).send().await).await;
        self.remember(&answer.body);
        answer
    }

    /// The form, ready to be sent.
    fn form(&self, path: &str, fields: &[(&str, &str)]) -> Draft<'_> {
        let (mut form, secret) = (Serializer::new(String::new()), self.registered["client_secret"].as_str());
        form.extend_pairs(fields).append_pair("client_id", self.id());
        let draft = self.host.draft("POST", path).header("content-type", "application/x-www-form-urlencoded");
        let draft = match (self.registered["token_endpoint_auth_method"].as_str(), secret) {
            (Some("client_secret_basic"), Some(secret)) => {
                let pair = STANDARD.encode(format!("{}:{secret}", self.id()));
                draft.header("authorization", &format!("Basic {pair}"))
            }
            (_, Some(secret)) => {
                form.append_pair("client_secret", secret);
                draft
            }
            (_, None) => draft,
        };
        draft.body(form.finish())
    }

    /// The tokens of an answer.
    ///
    /// # Panics
    /// When there are none.
    #[track_caller]
    pub fn tokens(&self, answer: &RestAnswer) -> Tokens {
        assert_eq!(answer.status, 200, "{}", answer.text);
        let part = |key| answer.text_of(key);
        Tokens { access: part("access_token"), refresh: part("refresh_token"), scope: part("scope") }
    }

    /// Every secret that was ever given to it.
    pub fn secrets(&self) -> BTreeSet<String> {
        self.secrets.lock().expect("no test holds it").clone()
    }

    fn remember(&self, answer: &Value) {
        let found = SECRET_MEMBERS.iter().filter_map(|key| answer[*key].as_str());
        self.secrets.lock().expect("no test holds it").extend(found.map(str::to_owned));
    }
}

/// Where secrets stand in answers.
const SECRET_MEMBERS: [&str; 5] =
    ["access_token", "refresh_token", "client_secret", "registration_access_token", "device_code"];

fn random() -> String {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).expect("there are dice");
    URL_SAFE_NO_PAD.encode(bytes)
}
