//! A client, as it registered or as its own document describes it.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::digest::Hasher;
use crate::id::{ClientId, ParseIdError, base32};
use crate::secret::SecretHash;

/// What a client calls itself in the protocol: an id that we made, or the address of its document.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct OAuthClientId(Arc<str>);

impl OAuthClientId {
    /// What the ids that we make begin with.
    pub const PREFIX: &'static str = "client_";

    /// Makes one from random bytes.
    pub fn from_entropy(entropy: [u8; 32]) -> Self {
        let (random, _) = entropy.split_at(10);
        Self(format!("{}{}", Self::PREFIX, base32(random)).into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is the address of the client's own document.
    pub fn is_document(&self) -> bool {
        self.0.starts_with("https://") || self.0.starts_with("http://")
    }

    /// What the client is called in a [`crate::caller::Caller`]: the id, or where that is too long its beginning and its
    /// hash. The whole hash: an address that anybody may choose must not come out as somebody else's.
    ///
    /// # Errors
    /// Never: what an id may hold, the name of a client may hold too.
    pub fn client(&self) -> Result<ClientId, ParseIdError> {
        if self.0.len() <= LONGEST_NAME && !self.0.contains('#') {
            return self.0.parse();
        }
        let mut hasher = Hasher::new("yesgate/long-client-id/1");
        hasher.field(self.0.as_bytes());
        let beginning: String = self.0.chars().take(60).collect();
        format!("{beginning}#{}", hasher.finish()).parse()
    }
}

/// How long the name of a client may be.
const LONGEST_NAME: usize = 128;

impl FromStr for OAuthClientId {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let fits = (1..=512).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if fits { Ok(Self(text.into())) } else { Err(ParseIdError::new(text, "the id of a client")) }
    }
}

impl TryFrom<String> for OAuthClientId {
    type Error = ParseIdError;

    fn try_from(text: String) -> Result<Self, ParseIdError> {
        text.parse()
    }
}

impl From<OAuthClientId> for String {
    fn from(id: OAuthClientId) -> Self {
        id.0.as_ref().to_owned()
    }
}

impl fmt::Display for OAuthClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How a client came to be known.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientKind {
    /// The operator wrote it down.
    Operator,
    /// It registered itself (RFC 7591). Its name is its own word.
    Registered,
    /// It has a document at its address (CIMD). The host of that address is verified.
    Document,
}

impl ClientKind {
    /// The word that is stored and shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Registered => "registered",
            Self::Document => "document",
        }
    }
}

/// How a client proves at the token endpoint that it is the one.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthMethod {
    /// Not at all: it runs where it can keep no secret.
    None,
    /// With a secret in the header.
    ClientSecretBasic,
    /// With a secret in the body.
    ClientSecretPost,
}

impl AuthMethod {
    /// Every method.
    pub const ALL: [Self; 3] = [Self::None, Self::ClientSecretBasic, Self::ClientSecretPost];

    /// The protocol's word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ClientSecretBasic => "client_secret_basic",
            Self::ClientSecretPost => "client_secret_post",
        }
    }
}

/// How a client may come to tokens.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantType {
    /// With a code that a browser brings.
    AuthorizationCode,
    /// With the token that came with the last ones.
    RefreshToken,
    /// With a code that a person types elsewhere.
    DeviceCode,
}

impl GrantType {
    /// Every way.
    pub const ALL: [Self; 3] = [Self::AuthorizationCode, Self::RefreshToken, Self::DeviceCode];

    /// The protocol's word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AuthorizationCode => "authorization_code",
            Self::RefreshToken => "refresh_token",
            Self::DeviceCode => "urn:ietf:params:oauth:grant-type:device_code",
        }
    }
}

/// What a client says of itself to people. Its own words, already bounded; shown as foreign text.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Presentation {
    /// Its name.
    pub name: Option<String>,
    /// Its page.
    pub uri: Option<String>,
    /// Its picture, which nobody fetches.
    pub logo: Option<String>,
    /// Its terms.
    pub terms: Option<String>,
    /// Its privacy policy.
    pub policy: Option<String>,
    /// Which software it is, by its own word.
    pub software_id: Option<String>,
    /// Which version of that.
    pub software_version: Option<String>,
    /// Whom to write to.
    pub contacts: Vec<String>,
}

/// What is known of a client.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct OAuthClient {
    /// What it calls itself in the protocol.
    pub id: OAuthClientId,
    /// How it came to be known.
    pub kind: ClientKind,
    /// What it says of itself.
    pub presentation: Presentation,
    /// Where browsers may bring it codes.
    pub redirect_uris: Vec<String>,
    /// How it proves that it is the one.
    pub method: AuthMethod,
    /// Whether it said so itself; where it did not, either way of sending a secret will do.
    pub method_was_chosen: bool,
    /// How it may come to tokens.
    pub grants: BTreeSet<GrantType>,
    /// The scopes that it registered with, for what it is worth: nothing is limited to them.
    pub scope: Option<String>,
    /// Its secret.
    pub secret: Option<SecretHash>,
    /// With what it changes its registration.
    pub management: Option<SecretHash>,
    /// Since when it is known.
    pub created_at: Timestamp,
    /// When it last came for something.
    pub used_at: Timestamp,
    /// Whether anybody ever allowed it anything: from then on it is kept for long.
    pub is_bound: bool,
    /// When it was ended. It stays known as ended, so that it is told to register anew.
    pub ended_at: Option<Timestamp>,
}

impl OAuthClient {
    /// The host that vouches for it, where one does.
    pub fn verified_host(&self) -> Option<&str> {
        match self.kind {
            ClientKind::Document => {
                let (_, rest) = self.id.as_str().split_once("://")?;
                rest.split(['/', '?', '#']).next()
            }
            ClientKind::Operator | ClientKind::Registered => None,
        }
    }
}
