//! O-R1: what a client hears of its registration. No member is null or empty: some clients cannot read that.

use serde_json::{Map, Value};
use yesgate_core::oauth::OAuthClient;

use super::Told;
use crate::endpoints::{Endpoints, REGISTER};

/// A registration, with the secrets that can be told.
pub(crate) fn describe(client: &OAuthClient, told: &Told, endpoints: &Endpoints) -> Value {
    let mut members = Map::new();
    let mut say = |name: &str, value: Value| {
        members.insert(name.to_owned(), value);
    };
    say("client_id", client.id.as_str().into());
    say("client_id_issued_at", client.created_at.as_second().into());
    if let Some(secret) = &told.secret {
        say("client_secret", secret.expose().into());
        // RFC 7591 §3.2.1: it does not expire.
        say("client_secret_expires_at", 0.into());
    }
    if let Some(management) = &told.management {
        say("registration_access_token", management.expose().into());
        say("registration_client_uri", format!("{}/{}", endpoints.url(REGISTER), client.id).into());
    }
    say("token_endpoint_auth_method", client.method.as_str().into());
    say("grant_types", client.grants.iter().map(|grant| grant.as_str()).collect());
    say("response_types", vec!["code"].into());
    let presentation = &client.presentation;
    let texts = [
        ("client_name", &presentation.name),
        ("client_uri", &presentation.uri),
        ("logo_uri", &presentation.logo),
        ("tos_uri", &presentation.terms),
        ("policy_uri", &presentation.policy),
        ("software_id", &presentation.software_id),
        ("software_version", &presentation.software_version),
        ("scope", &client.scope),
    ];
    for (name, text) in texts {
        if let Some(text) = text.as_deref().filter(|text| !text.is_empty()) {
            say(name, text.into());
        }
    }
    for (name, list) in [("redirect_uris", &client.redirect_uris), ("contacts", &presentation.contacts)] {
        if !list.is_empty() {
            say(name, list.clone().into());
        }
    }
    members.into()
}
