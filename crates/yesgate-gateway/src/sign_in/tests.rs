//! A real authorization server on loopback, a person who agrees, and what the gateway makes of it.

mod connect;
mod renew;
mod strict;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use http::{HeaderValue, StatusCode};
use jiff::{SignedDuration, Timestamp};
use tempfile::TempDir;
use yesgate_core::clock::{Clock, Entropy, EntropyError};
use yesgate_core::id::BootId;
use yesgate_ledger::{Ledger, SecretKey};
use yesgate_testkit::AuthorizationServer;
use yesgate_testkit::authorization_server::consent;

use super::{Identity, Redirected, SignIn, SignInError, SignedIn, Vault};

/// Dice that fall in another way each time.
#[derive(Debug)]
pub(super) struct Dice;

impl Entropy for Dice {
    fn draw(&self) -> Result<[u8; 32], EntropyError> {
        let mut bytes = [0; 32];
        ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut bytes)
            .map_err(|_| EntropyError)?;
        Ok(bytes)
    }
}

/// The real time, and as many seconds more as a test wants.
#[derive(Debug, Default)]
struct Ahead(AtomicI64);

impl Clock for Ahead {
    fn now(&self) -> Timestamp {
        Timestamp::now() + SignedDuration::from_secs(self.0.load(Ordering::SeqCst))
    }
}

/// One machine with its home, and one server with its authorization server.
struct Scene {
    server: AuthorizationServer,
    ledger: Ledger,
    clock: Arc<Ahead>,
    home: TempDir,
}

impl Scene {
    async fn new() -> Self {
        let (clock, home) = (Arc::<Ahead>::default(), tempfile::tempdir().unwrap());
        let boot = BootId::from_entropy(Dice.draw().unwrap());
        let key = SecretKey::load(home.path(), Some(&"ee".repeat(32)), &Dice).unwrap();
        let ledger = Ledger::open(&home.path().join("ledger.db"), &key, clock.clone(), boot).await.unwrap();
        Self { server: AuthorizationServer::start(), ledger, clock, home }
    }

    /// A process of its own, as far as a sign-in can tell: only the home and what is kept are shared.
    fn process(&self, identity: Identity, scopes: &[&str]) -> SignIn {
        self.process_at(&self.server.server(), identity, scopes)
    }

    fn process_at(&self, url: &str, identity: Identity, scopes: &[&str]) -> SignIn {
        let vault = self.vault(None);
        let scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
        SignIn::new("notes".parse().unwrap(), url, identity, scopes, vault).unwrap()
    }

    fn vault(&self, key: Option<&str>) -> Vault {
        let key = SecretKey::load(self.home.path(), key, &Dice).unwrap();
        Vault::new(self.ledger.clone(), key, self.home.path(), self.clock.clone(), Arc::new(Dice))
    }

    /// A gateway to which a person has signed in.
    async fn signed_in(&self) -> SignIn {
        let sign_in = self.process(Identity::Unregistered, &[]);
        connect(&sign_in).await.unwrap();
        sign_in
    }

    /// How often the token endpoint was asked to renew.
    fn renewals(&self) -> usize {
        let asked = self.server.visits("POST /token");
        asked.iter().filter(|visit| visit.parameters["grant_type"] == "refresh_token").count()
    }

    fn go_ahead(&self, seconds: i64) {
        self.clock.0.fetch_add(seconds, Ordering::SeqCst);
    }
}

const REDIRECT: &str = "http://127.0.0.1:1/callback";

/// What a person does: begins, opens the address, agrees, comes back.
async fn connect(sign_in: &SignIn) -> Result<SignedIn, SignInError> {
    let connecting = sign_in.begin(REDIRECT).await?;
    let redirected = Redirected::parse(&consent(connecting.address())).unwrap();
    connecting.finish(redirected).await
}

/// A request to the server with this token: the status, and the challenge.
fn request(scene: &Scene, bearer: &HeaderValue) -> (StatusCode, Option<HeaderValue>) {
    let answer =
        yesgate_testkit::authorization_server::browse_with(&scene.server.server(), bearer.to_str().unwrap());
    let challenge = answer.text.lines().find_map(|line| line.strip_prefix("www-authenticate: "));
    (StatusCode::from_u16(answer.status).unwrap(), challenge.map(|value| value.parse().unwrap()))
}
