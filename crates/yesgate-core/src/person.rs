//! People who decide, and the secrets with which their browsers come in.
//!
//! INVARIANT: a secret is shown once and stored as its hash; nothing that is stored or audited lets anybody in.

mod opening;
mod secret;

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

pub use self::opening::{Opener, Opening};
pub use self::secret::{BrowserSecret, LinkSecret, SessionSecret};
use crate::digest::{Digest, Hasher};
use crate::id::{CredentialId, GroupName, OrgId, PersonId, PrincipalId, SessionId};
pub use crate::secret::SecretHash;

/// Somebody who may look, decide, or rule.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Person {
    /// Their id.
    pub id: PersonId,
    /// Their name here. Calls made for a principal of that name are their own, and they do not approve those alone.
    pub name: PrincipalId,
    /// Whose questions they see.
    pub org: OrgId,
    /// Where a sign-in link can be sent.
    pub mail: Option<MailAddress>,
    /// What they may do.
    pub role: Role,
    /// The groups that rules know them by.
    pub groups: BTreeSet<GroupName>,
    /// Since when they are known.
    pub added_at: Timestamp,
    /// Since when they are not, where that is so.
    pub removed_at: Option<Timestamp>,
}

impl Person {
    /// What tells whether a stored person is still the one that was written down.
    pub fn fingerprint(&self) -> Digest {
        let text = serde_json::to_string(self).unwrap_or_default();
        let mut hasher = Hasher::new("yesgate/person/1");
        hasher.field(text.as_bytes());
        hasher.finish()
    }

    /// Whether they may do what a role may. Nobody who was removed may do anything.
    pub fn may(&self, role: Role) -> bool {
        self.removed_at.is_none() && self.role >= role
    }
}

/// What a person may do; each may do what the ones before may.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Look.
    Viewer,
    /// Decide.
    Approver,
    /// Rule: people, grants, tools, the stop of everything.
    Owner,
}

impl Role {
    /// Every role, the least first.
    pub const ALL: [Self; 3] = [Self::Viewer, Self::Approver, Self::Owner];

    /// The word used in commands, tables and pages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Approver => "approver",
            Self::Owner => "owner",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(text: &str) -> Result<Self, UnknownRole> {
        Self::ALL.into_iter().find(|role| role.as_str() == text).ok_or(UnknownRole)
    }
}

/// A word is no role.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a role is `viewer`, `approver` or `owner`")]
pub struct UnknownRole;

/// Where mail goes: the plain form, of visible ASCII characters.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MailAddress(String);

impl MailAddress {
    /// The address as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether somebody means this address; the case of letters is no difference.
    pub fn is(&self, text: &str) -> bool {
        self.0.eq_ignore_ascii_case(text.trim())
    }
}

impl FromStr for MailAddress {
    type Err = NoMailAddress;

    fn from_str(text: &str) -> Result<Self, NoMailAddress> {
        let (local, domain) = text.rsplit_once('@').ok_or(NoMailAddress)?;
        let is_plain = |c: char| c.is_ascii_graphic() && !"<>(),;:\\\"[]@".contains(c);
        let is_word = |word: &str| !word.is_empty() && word.chars().all(is_plain);
        let is_label = |label: &str| {
            (1..=63).contains(&label.len())
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        let fits = text.len() <= 254
            && local.len() <= 64
            && local.split('.').all(is_word)
            && domain.split('.').all(is_label);
        if fits { Ok(Self(text.to_owned())) } else { Err(NoMailAddress) }
    }
}

impl TryFrom<String> for MailAddress {
    type Error = NoMailAddress;

    fn try_from(text: String) -> Result<Self, NoMailAddress> {
        text.parse()
    }
}

impl From<MailAddress> for String {
    fn from(address: MailAddress) -> Self {
        address.0
    }
}

/// A text is no mail address.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("that is no mail address of the form `name@example.org`")]
pub struct NoMailAddress;

/// A link with which one person signs in, once.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Link {
    /// Whom it lets in.
    pub person: PersonId,
    /// How it reaches them.
    pub way: LinkWay,
    /// When it was made.
    pub made_at: Timestamp,
    /// When it stops to count.
    pub ends_at: Timestamp,
    /// When it was used, or a newer one took its place.
    pub spent_at: Option<Timestamp>,
    /// The browser that asked for it, where one did: only there it counts without a word more.
    pub browser: Option<SecretHash>,
}

impl Link {
    /// A new one for somebody.
    pub fn new(person: &PersonId, way: LinkWay, now: Timestamp) -> Self {
        let ends_at = now + way.lifetime();
        Self { person: person.clone(), way, made_at: now, ends_at, spent_at: None, browser: None }
    }

    /// The same, asked for in a browser that holds this.
    #[must_use]
    pub fn asked_in(self, browser: SecretHash) -> Self {
        Self { browser: Some(browser), ..self }
    }

    /// Whether it still lets somebody in.
    pub fn counts(&self, now: Timestamp) -> bool {
        self.spent_at.is_none() && now < self.ends_at
    }
}

/// How a sign-in link reaches its person.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkWay {
    /// Printed to whoever runs the gateway, or handed on by an owner.
    Console,
    /// By mail.
    Mail,
}

impl LinkWay {
    /// The word that is stored and shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Console => "console",
            Self::Mail => "mail",
        }
    }

    /// How long such a link counts.
    pub const fn lifetime(self) -> SignedDuration {
        match self {
            Self::Console | Self::Mail => SignedDuration::from_mins(15),
        }
    }
}

/// How somebody proved who they are when they signed in.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignInWay {
    /// With a link from the console.
    Console,
    /// With a link that came by mail.
    Mail,
    /// With a passkey.
    Passkey,
    /// By way of a provider that knows them.
    Oidc,
}

impl SignInWay {
    /// Every way.
    pub const ALL: [Self; 4] = [Self::Console, Self::Mail, Self::Passkey, Self::Oidc];

    /// The word that is stored and shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Console => "console",
            Self::Mail => "mail",
            Self::Passkey => "passkey",
            Self::Oidc => "oidc",
        }
    }
}

impl From<LinkWay> for SignInWay {
    fn from(way: LinkWay) -> Self {
        match way {
            LinkWay::Console => Self::Console,
            LinkWay::Mail => Self::Mail,
        }
    }
}

/// One signed-in browser.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Session {
    /// Its id, for lists.
    pub id: SessionId,
    /// Whose it is.
    pub person: PersonId,
    /// How they signed in.
    pub way: SignInWay,
    /// When they did.
    pub begun_at: Timestamp,
    /// When it was last used; written now and then, not every time.
    pub seen_at: Timestamp,
    /// What the browser calls itself.
    pub browser: String,
    /// When it was ended, where it was.
    pub ended_at: Option<Timestamp>,
}

impl Session {
    /// One that begins.
    pub const fn new(
        id: SessionId,
        person: PersonId,
        way: SignInWay,
        browser: String,
        now: Timestamp,
    ) -> Self {
        Self { id, person, way, begun_at: now, seen_at: now, browser, ended_at: None }
    }

    /// How long a session lasts that nobody uses.
    pub const IDLE: SignedDuration = SignedDuration::from_hours(7 * 24);
    /// How long a session lasts at most.
    pub const LONGEST: SignedDuration = SignedDuration::from_hours(30 * 24);
    /// How exactly it is known when a session was last used.
    pub const SEEN_STEP: SignedDuration = SignedDuration::from_mins(5);

    /// Whether it still lets its browser in.
    pub fn counts(&self, now: Timestamp) -> bool {
        self.ended_at.is_none()
            && now.duration_since(self.seen_at) < Self::IDLE
            && now.duration_since(self.begun_at) < Self::LONGEST
    }
}

/// What happened to people and their sessions, for the audit trail. No mail address and no secret stands in one.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum PersonEvent {
    /// Somebody was added, or is something else from here on.
    Set {
        /// Who.
        person: PersonId,
        /// Their name.
        name: PrincipalId,
        /// Their role.
        role: Role,
        /// What tells whether the stored person is still this one.
        fingerprint: Digest,
        /// By whom.
        by: String,
    },
    /// A link to sign in with was made for somebody.
    LinkMade {
        /// For whom.
        person: PersonId,
        /// How it reaches them.
        way: LinkWay,
        /// By whom.
        by: String,
    },
    /// Somebody signed in.
    SignedIn {
        /// Who.
        person: PersonId,
        /// As which session.
        session: SessionId,
        /// How.
        way: SignInWay,
    },
    /// A key was enrolled for somebody.
    KeyEnrolled {
        /// For whom.
        person: PersonId,
        /// Which.
        credential: CredentialId,
        /// By whom.
        by: String,
    },
    /// A key of somebody's counts no more.
    KeyRevoked {
        /// Whose.
        person: PersonId,
        /// Which.
        credential: CredentialId,
        /// By whom.
        by: String,
    },
    /// A session was ended.
    SignedOut {
        /// Whose.
        person: PersonId,
        /// Which.
        session: SessionId,
        /// By whom.
        by: String,
    },
}

#[cfg(test)]
mod tests;
