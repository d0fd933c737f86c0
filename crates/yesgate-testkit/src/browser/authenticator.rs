//! A passkey's device inside the browser: what a phone's fingerprint reader would do, without a finger.

use std::sync::Arc;

use serde_json::{Value, json};

use super::driver::Driver;

/// An authenticator that belongs to one page: CTAP2, built in, with resident keys.
///
/// What it has made can be given to that of another page, with [`Self::credentials`] and [`Self::add`].
#[derive(Debug)]
pub struct Authenticator {
    driver: Arc<Driver>,
    page: Value,
    id: Value,
}

/// Whether somebody touches the authenticator when it wants that.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Presence {
    /// At once, each time.
    Given,
    /// Nobody is there.
    Withheld,
}

/// Whether the authenticator knows its owner, by a finger or a code.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verification {
    /// It is the owner.
    Succeeds,
    /// It is somebody else.
    Fails,
}

impl Authenticator {
    #[track_caller]
    pub(super) fn new(driver: Arc<Driver>, page: Value) -> Self {
        let options = json!({
            "protocol": "ctap2",
            "transport": "internal",
            "hasResidentKey": true,
            "hasUserVerification": true,
            "isUserVerified": true,
            "automaticPresenceSimulation": true,
        });
        let id = driver.order(json!({"deed": "authenticator", "page": page, "options": options}));
        Self { driver, page, id }
    }

    /// Says whether somebody is there to touch it.
    #[track_caller]
    pub fn presence(&self, presence: Presence) {
        let enabled = presence == Presence::Given;
        self.tell("setAutomaticPresenceSimulation", json!({"enabled": enabled}));
    }

    /// Says whether that is its owner.
    #[track_caller]
    pub fn verification(&self, verification: Verification) {
        let verified = verification == Verification::Succeeds;
        self.tell("setUserVerified", json!({"isUserVerified": verified}));
    }

    /// Its keys, with their private halves: `credentialId`, `rpId`, `userHandle`, `privateKey`, `signCount` and more.
    ///
    /// # Panics
    /// When the browser does not say.
    #[track_caller]
    pub fn credentials(&self) -> Vec<Value> {
        let told = self.tell("getCredentials", json!({}));
        told["credentials"].as_array().expect("credentials are a list").clone()
    }

    /// Gives it a key, as another had it.
    #[track_caller]
    pub fn add(&self, credential: &Value) {
        self.tell("addCredential", json!({"credential": credential}));
    }

    /// Takes all its keys away, as if it had been lost.
    #[track_caller]
    pub fn clear(&self) {
        self.tell("clearCredentials", json!({}));
    }

    #[track_caller]
    fn tell(&self, method: &str, mut params: Value) -> Value {
        params["authenticatorId"] = self.id.clone();
        let order = json!({"deed": "webauthn", "page": self.page, "method": method, "params": params});
        self.driver.order(order)
    }
}
