//! Bearer keys: how a client that has nothing better says who is calling, and the hash that is all
//! we keep of one.
//!
//! INVARIANT: the key itself is shown once, to whoever made it. Nothing here prints it, and nothing
//! that is stored or audited lets anybody make a request.

use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};

use crate::caller::Caller;
use crate::digest::{Digest, Hasher};
use crate::id::{KeyId, KeyName, base32};

/// What a client sends to say who is calling. 256 random bits behind a prefix.
///
/// Printing it shows nothing.
#[derive(Clone, Debug)]
pub struct BearerKey(SecretString);

impl BearerKey {
    /// What every key begins with, so that scanners for leaked secrets can find one.
    pub const PREFIX: &'static str = "ygk_";

    /// Makes a key from random bytes.
    pub fn from_entropy(entropy: [u8; 32]) -> Self {
        Self(SecretString::from(format!("{}{}", Self::PREFIX, base32(&entropy))))
    }

    /// Takes whatever a client presents: an unknown key is found out by its hash.
    pub fn presented(text: &str) -> Self {
        Self(SecretString::from(text))
    }

    /// The text, for the one time that it is shown.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// The only form the ledger has.
    ///
    /// A plain hash will do: nobody guesses 256 random bits.
    pub fn hash(&self) -> BearerKeyHash {
        let mut hasher = Hasher::new("yesgate/bearer-key/1");
        hasher.field(self.0.expose_secret().as_bytes());
        BearerKeyHash(hasher.finish())
    }
}

/// The hash of a key: keys are looked up by it, so what is compared is never the secret.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct BearerKeyHash(pub Digest);

impl BearerKeyHash {
    /// What the audit trail knows a key by. A stored hash that was exchanged is noticed, and
    /// whoever reads the trail does not learn the hash.
    pub fn fingerprint(&self) -> Digest {
        let mut hasher = Hasher::new("yesgate/bearer-key-fingerprint/1");
        hasher.field(self.0.as_bytes());
        hasher.finish()
    }
}

/// A key as the operator sees it.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct KeyRecord {
    /// What it is called when it is revoked. Not a secret.
    pub id: KeyId,
    /// The operator's label.
    pub name: KeyName,
    /// Who is calling when it is sent.
    pub caller: Caller,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was revoked; `None`: it counts.
    pub revoked_at: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use super::BearerKey;
    use crate::token::ConfirmToken;

    /// A key has 256 random bits, prints nothing, and only its hash is stored.
    #[test]
    fn a_key_has_256_random_bits_and_prints_nothing() {
        let key = BearerKey::from_entropy([7; 32]);
        assert_eq!(key.expose(), "ygk_0w3ge1r70w3ge1r70w3ge1r70w3ge1r70w3ge1r70w3ge1r70w3g");
        assert!(!format!("{key:?}").contains("0w3ge"), "{key:?}");
        assert_eq!(key.hash(), BearerKey::presented(key.expose()).hash());
        assert_ne!(key.hash(), BearerKey::from_entropy([8; 32]).hash());
    }

    /// The same text is another thing as a token, and the audit trail holds neither key nor hash.
    #[test]
    fn a_hash_is_of_one_kind_and_a_fingerprint_is_not_the_hash() {
        let key = BearerKey::from_entropy([7; 32]);
        assert_ne!(key.hash().0, ConfirmToken::presented(key.expose()).hash().0);
        assert_ne!(key.hash().fingerprint(), key.hash().0);
    }
}
