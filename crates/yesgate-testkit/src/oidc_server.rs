//! A real provider of OpenID Connect on a loopback port, as a process. It knows whoever a test says it knows, asks nobody
//! for a password, and lies when it is told to.
//!
//! It is `oidc-provider` of npm, which `cargo xtask prepare` installs.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};
use url::form_urlencoded::Serializer;

use crate::consent::returned;
use crate::host::pipes::Pipes;
use crate::peers::{installed, pinned_node};
use crate::rest_host::{RestAnswer, RestHost};
use crate::visitor::{Page, Visitor};
use crate::wait::DEADLINE;

/// The client's secret there.
pub const OIDC_SECRET: &str = "a secret of the client that is long enough to sign with";

/// The client that gets access tokens there, without a secret.
pub const OIDC_CLIENT: &str = "desk";

/// A provider. Dropped, it is killed.
#[derive(Debug)]
pub struct OidcServer {
    pipes: Pipes,
    issuer: String,
}

impl OidcServer {
    /// Starts one.
    ///
    /// # Panics
    /// When it does not start.
    #[track_caller]
    pub fn start() -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/oidc_server/server.mjs");
        let mut command = Command::new(pinned_node());
        command.arg(script).arg(installed("sign-in/npm"));
        let pipes = Pipes::open(command);
        let first = read(&pipes);
        let issuer = first["issuer"].as_str().expect("it says who it is").to_owned();
        Self { pipes, issuer }
    }

    /// Its issuer.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Sends people back to the gateway at this origin.
    #[track_caller]
    pub fn serves(&self, origin: &str) {
        self.order(&json!({"redirect": format!("{origin}/sign-in/oidc/callback")}));
    }

    /// Who signs in next, in claims.
    #[track_caller]
    pub fn knows(&self, account: Value) {
        self.order(&json!({"account": account, "lie": null}));
    }

    /// What its tokens are from now on.
    #[track_caller]
    pub fn lies(&self, lie: Value) {
        self.order(&json!({"lie": lie}));
    }

    #[track_caller]
    fn order(&self, order: &Value) {
        self.pipes.send(format!("{order}\n").as_bytes());
        assert_eq!(read(&self.pipes)["heard"], true);
    }

    /// Begins to sign in at the gateway: where the browser is sent.
    pub async fn leave(&self, browser: &Visitor, fields: &[(&str, &str)]) -> String {
        let page = browser.post("/sign-in/oidc", fields).await;
        assert_eq!(page.status, 200, "{}", page.html);
        let refresh = page.header("refresh").expect("the browser is sent on");
        let place = refresh.split_once("url=").expect("it is sent somewhere").1;
        assert!(place.starts_with(&self.issuer), "{place}");
        place.to_owned()
    }

    /// Signs somebody in at the provider: the path at the gateway that their browser is sent back to.
    ///
    /// # Panics
    /// When it is sent nowhere.
    pub async fn sign_in(&self, place: &str) -> String {
        let there = Visitor::new(&self.issuer);
        let mut place = place.to_owned();
        for _ in 0..6 {
            let Some(path) = place.strip_prefix(&self.issuer) else {
                let path = place
                    .split_once("://")
                    .and_then(|(_, rest)| rest.find('/').map(|at| rest.split_at(at).1));
                return path.expect("it is sent to a page").to_owned();
            };
            let page = there.get(path).await;
            let next = page.header("location").unwrap_or_else(|| panic!("{path}: {}", page.html));
            place = if next.starts_with('/') { format!("{}{next}", self.issuer) } else { next.to_owned() };
        }
        panic!("it is sent around in circles: {place}")
    }

    /// All of it: from the gateway to the provider and back.
    pub async fn through(&self, browser: &Visitor) -> Page {
        let place = self.leave(browser, &[]).await;
        let back = self.sign_in(&place).await;
        browser.get(&back).await
    }

    /// An access token for a resource, with these scopes, in the name of whoever it [knows](Self::knows): a JWT that
    /// [`OIDC_CLIENT`] got by the code flow.
    ///
    /// # Panics
    /// When it gives none.
    pub async fn access_token(&self, resource: &str, scope: &str) -> String {
        self.order(&json!({"redirect": CALLBACK}));
        let asked = [
            ("response_type", "code"),
            ("client_id", OIDC_CLIENT),
            ("redirect_uri", CALLBACK),
            ("scope", scope),
            ("resource", resource),
            ("code_challenge", CHALLENGE),
            ("code_challenge_method", "S256"),
        ];
        let asked = Serializer::new(String::new()).extend_pairs(asked).finish();
        let path = self.sign_in(&format!("{}/auth?{asked}", self.issuer)).await;
        let back = format!("{}{path}", self.issuer);
        let code = returned(&back, "code").unwrap_or_else(|| panic!("no code: {back}"));
        let fields = [
            ("grant_type", "authorization_code"),
            ("client_id", OIDC_CLIENT),
            ("redirect_uri", CALLBACK),
            ("code", &code),
            ("code_verifier", VERIFIER),
        ];
        let rest = RestHost::new(&self.issuer);
        let draft = rest.draft("POST", "/token").header("content-type", "application/x-www-form-urlencoded");
        let draft = draft.body(Serializer::new(String::new()).extend_pairs(fields).finish());
        RestAnswer::read(draft.send().await).await.text_of("access_token")
    }
}

#[track_caller]
fn read(pipes: &Pipes) -> Value {
    let line = pipes.line(Instant::now() + DEADLINE);
    let line = line.unwrap_or_else(|| panic!("the provider says nothing: {}", pipes.stderr()));
    serde_json::from_str(&line).expect("a line is JSON")
}

/// Where nobody listens: a code is read off the way there.
const CALLBACK: &str = "http://127.0.0.1:1/callback";
/// RFC 7636, appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
