//! Who is let in where, and what opening pages changes: nothing.

pub(crate) mod jar;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use http::Request;
use http::header::{CONTENT_TYPE, COOKIE, HOST, LOCATION, ORIGIN};
use jiff::{SignedDuration, Timestamp};
use yesgate_core::assurance::Assurance;
use yesgate_core::clock::{Clock, Entropy, EntropyError};
use yesgate_core::id::{BootId, KeyId, OrgId, PersonId, ServerName, SessionId, ToolName};
use yesgate_core::intent::Intent;
use yesgate_core::person::{Person, Role, SessionSecret, SignInWay};
use yesgate_core::policy::OAuthConfig;
use yesgate_core::render::Sanitized;
use yesgate_http::edge::pages::Pages as _;
use yesgate_ledger::{Ledger, NewSession};
use yesgate_oauth::{AuthServer, OAuthSettings};
use yesgate_proof::receipt::ReceiptKey;

use super::{Site, SiteSettings};
use crate::answer::Answer;
use crate::desk::{
    BudgetLine, CallWords, Desk, DeskError, Hindsight, PinWish, Pinned, PolicyLook, Revised, ServerTools,
    ToolLook,
};
use crate::table::{Access, Entry, Place, entries};
use crate::token::Tokens;

#[derive(Debug)]
pub(crate) struct Noon;

/// Noon, and as long after it as a test says.
#[derive(Debug, Default)]
pub(crate) struct Watch(AtomicI64);

impl Watch {
    pub(crate) fn pass(&self, time: SignedDuration) {
        self.0.fetch_add(i64::try_from(time.as_millis()).unwrap(), Ordering::Relaxed);
    }
}

impl Clock for Watch {
    fn now(&self) -> Timestamp {
        Noon.now() + SignedDuration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

impl Clock for Noon {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_hours(20_000 * 24 + 12)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Dice(AtomicU8);

impl Entropy for Dice {
    fn draw(&self) -> Result<[u8; 32], EntropyError> {
        Ok([self.0.fetch_add(1, Ordering::Relaxed); 32])
    }
}

/// An operator's side that has nothing.
#[derive(Debug)]
struct BareDesk;

#[async_trait]
impl Desk for BareDesk {
    async fn revise(&self, _: &Intent, _: &str) -> Result<Revised, DeskError> {
        Ok(Revised::Same)
    }

    async fn tools(&self) -> Result<Vec<ServerTools>, DeskError> {
        Ok(Vec::new())
    }

    async fn tool(&self, _: &ServerName, _: &ToolName) -> Result<Option<ToolLook>, DeskError> {
        Ok(None)
    }

    async fn pin(&self, _: PinWish, _: &str) -> Result<Pinned, DeskError> {
        Ok(Pinned::OtherByNow)
    }

    async fn policy(&self) -> Result<PolicyLook, DeskError> {
        let (profile, mode, otherwise) = ("none", "execute", "it is rejected");
        Ok(PolicyLook { file: None, profile, mode, rules: Vec::new(), otherwise })
    }

    async fn explain(&self, _: &CallWords) -> Result<Result<Vec<Sanitized>, Sanitized>, DeskError> {
        Ok(Ok(Vec::new()))
    }

    async fn hindsight(&self, _: &[Intent]) -> Result<Vec<Option<Hindsight>>, DeskError> {
        Ok(Vec::new())
    }

    async fn budgets(&self, _: &OrgId) -> Result<Vec<BudgetLine>, DeskError> {
        Ok(Vec::new())
    }

    fn document(&self) -> serde_json::Value {
        serde_json::json!({})
    }

    async fn revoke_clients(&self, _: Vec<KeyId>, _: &str) -> Result<(), DeskError> {
        Ok(())
    }

    async fn look_at_keys_again(&self) {}
}

pub(crate) struct Play {
    pub(crate) site: Site,
    pub(crate) ledger: Ledger,
    pub(crate) watch: Arc<Watch>,
}

impl Play {
    pub(crate) async fn new() -> Self {
        Self::known_as(None, OAuthConfig::default()).await
    }

    /// At this public address, with these words about clients.
    pub(crate) async fn known_as(public: Option<&str>, config: OAuthConfig) -> Self {
        let watch = Arc::new(Watch::default());
        let clock: Arc<dyn Clock> = Arc::<Watch>::clone(&watch);
        let ledger = Ledger::in_memory(clock, BootId::from_entropy([9; 32])).await.unwrap();
        let settings = SiteSettings {
            public: public.map(str::to_owned),
            proves: Assurance::SignedIn,
            keys: None,
            reign: None,
            account: None,
            receipts: ReceiptKey::derive(&[7; 32]).unwrap(),
        };
        let site = Site::new(ledger.clone(), Arc::new(Dice::default()), Arc::new(BareDesk), settings);
        let oauth = OAuthSettings {
            issuer: public.unwrap_or(HERE).to_owned(),
            config,
            servers: vec!["notes".to_owned()],
        };
        let server = Arc::new(AuthServer::new(ledger.clone(), Arc::new(Dice::default()), oauth));
        let site = site.connecting(server);
        Self { site, ledger, watch }
    }

    /// Somebody of this role, and what their browser holds.
    pub(crate) async fn sign_in(&self, seed: u8, role: Role) -> SessionSecret {
        let person = Person {
            id: PersonId::from_entropy([seed; 32]),
            name: format!("p{seed}").parse().unwrap(),
            org: "local".parse().unwrap(),
            mail: None,
            role,
            groups: BTreeSet::new(),
            added_at: self.watch.now(),
            removed_at: None,
        };
        self.ledger.set_person(person.clone(), "test").await.unwrap().unwrap();
        let secret = SessionSecret::from_entropy([seed; 32]);
        let new = NewSession {
            id: SessionId::from_entropy([seed; 32]),
            secret: secret.hash(),
            browser: "x".into(),
        };
        self.ledger.begin_session(&person.id, SignInWay::Console, new).await.unwrap().unwrap();
        secret
    }

    async fn open(
        &self,
        method: &str,
        path: &str,
        who: Option<&SessionSecret>,
        origin: &str,
        body: String,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(path).header(HOST, "localhost:1");
        if !origin.is_empty() {
            request = request.header(ORIGIN, origin);
        }
        if let Some(secret) = who {
            request = request.header(COOKIE, format!("yesgate-1={}", secret.expose()));
        }
        if method == "POST" {
            request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        self.site.answer(parts, Bytes::from(body)).await
    }

    /// What would be different if anything had happened.
    pub(crate) async fn written(&self) -> usize {
        self.ledger.audit(1, 10_000).await.unwrap().len()
    }
}

fn path(entry: &Entry) -> String {
    entry
        .path
        .replace("{intent_id}", "intent_0000000000000000")
        .replace("{grant_id}", "gr_0000000000000000")
        .replace("{credential_id}", "cred_0000000000000000")
        .replace("{session_id}", "session_0000000000000000")
        .replace("{client_id}", "key_0000000000000000")
        .replace("{ticket}", "ygq_0000000000000000")
        .replace("{user_code}", "ABCD-EFGH")
        .replace("{connected_id}", "conn_0000000000000000")
        .replace("{oauth_client_id}", "conn_0000000000000000")
        .replace("{person_id}", PersonId::from_entropy([1; 32]).as_str())
}

/// O-K3: whoever is not signed in gets no further than the sign-in, whatever the path and the method.
#[tokio::test]
async fn every_path_asks_who_comes() {
    let play = Play::new().await;
    for entry in entries().filter(|entry| entry.access != Access::Anyone) {
        let answer = play.open(entry.method, &path(entry), None, HERE, String::new()).await;
        let location = answer.headers().get(LOCATION).map(|place| place.to_str().unwrap().to_owned());
        match (entry.method, location) {
            ("GET", Some(place)) => assert!(place.starts_with("/sign-in"), "{}: {place}", entry.path),
            ("GET", None) => {
                assert!(entry.place == Place::Live || entry.path.starts_with("/api/"), "{}", entry.path);
                assert_eq!(answer.status(), 401, "{}", entry.path);
            }
            (_, _) => assert_eq!(answer.status(), 401, "{}", entry.path),
        }
        let forged = SessionSecret::presented("ygs_guessed");
        let answer = play.open(entry.method, &path(entry), Some(&forged), HERE, String::new()).await;
        assert!([303, 401].contains(&answer.status().as_u16()), "{}", entry.path);
    }
    assert_eq!(play.written().await, 0);
}

/// A person of a lesser role gets no further, either.
#[tokio::test]
async fn every_path_asks_what_its_visitor_may() {
    let play = Play::new().await;
    let viewer = play.sign_in(1, Role::Viewer).await;
    let approver = play.sign_in(2, Role::Approver).await;
    let before = play.written().await;
    for entry in entries() {
        let Access::AtLeast(needed) = entry.access else { continue };
        for (secret, role) in [(&viewer, Role::Viewer), (&approver, Role::Approver)] {
            let answer = play.open(entry.method, &path(entry), Some(secret), HERE, String::new()).await;
            if role < needed {
                assert_eq!(answer.status(), 403, "{} as {role}", entry.path);
            } else if entry.method == "GET" {
                assert!([200, 404, 410].contains(&answer.status().as_u16()), "{} as {role}", entry.path);
            }
        }
    }
    assert_eq!(play.written().await, before);
}

/// O-K3: a form that no page of ours sent, to this person, for this purpose, changes nothing.
#[tokio::test]
async fn a_form_from_anywhere_else_changes_nothing() {
    let play = Play::new().await;
    let (owner, other) = (play.sign_in(1, Role::Owner).await, play.sign_in(2, Role::Owner).await);
    let before = play.written().await;
    let meant = "answer=deny&set=stop&ran=yes&name=x&role=viewer&caller=x";
    for entry in entries().filter(|entry| entry.method != "GET") {
        let path = path(entry);
        let token = |secret, action: &str| Tokens::issue(secret, action, [77; 32], Noon.now());
        let good = token(&owner, &path);
        for (origin, token) in [
            ("", good.as_str()),
            ("null", good.as_str()),
            ("http://evil.example", good.as_str()),
            ("https://localhost:1", good.as_str()),
            (HERE, ""),
            (HERE, "00"),
            (HERE, token(&other, &path).as_str()),
            (HERE, token(&owner, "/elsewhere").as_str()),
        ] {
            let body = format!("{meant}&token={token}");
            let answer = play.open(entry.method, &path, Some(&owner), origin, body).await;
            // Some name things that are not there, which is found out first.
            assert!([400, 403, 404].contains(&answer.status().as_u16()), "{path} from {origin:?}: {token}");
        }
    }
    assert_eq!(play.written().await, before);
}

/// H3: whatever an approver opens, nothing is changed by it.
#[tokio::test]
async fn opening_any_page_changes_nothing() {
    let play = Play::new().await;
    let owner = play.sign_in(1, Role::Owner).await;
    let before =
        (play.written().await, play.ledger.regimes().await.unwrap(), play.ledger.people().await.unwrap());
    for entry in entries().filter(|entry| entry.method == "GET") {
        for path in [path(entry), format!("{}?answer=approve&set=stop&remove=yes&verify=now", path(entry))] {
            for method in ["GET", "HEAD"] {
                let answer = play.open(method, &path, Some(&owner), "", String::new()).await;
                assert!(answer.status().as_u16() < 500, "{path}");
            }
        }
    }
    let after =
        (play.written().await, play.ledger.regimes().await.unwrap(), play.ledger.people().await.unwrap());
    assert_eq!(before, after);
}

/// O-K5: nobody frames a page of ours, nothing inline runs on it, and nobody keeps it.
#[tokio::test]
async fn every_answer_is_closed_to_other_sites() {
    let play = Play::new().await;
    let owner = play.sign_in(1, Role::Owner).await;
    for entry in entries() {
        let answer = play.open(entry.method, &path(entry), Some(&owner), HERE, String::new()).await;
        let header =
            |name: &str| answer.headers().get(name).map(|value| value.to_str().unwrap()).unwrap_or_default();
        let policy = header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{}: {policy}", entry.path);
        assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"), "{policy}");
        assert_eq!(header("x-frame-options"), "DENY");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("access-control-allow-origin"), "");
        let is_asset = [Place::Style, Place::Script, Place::Icon].contains(&entry.place);
        assert_eq!(header("cache-control") == "no-store", !is_asset, "{}", entry.path);
    }
}

pub(crate) const HERE: &str = "http://localhost:1";
