//! Confirm tokens: the agent's handle on a question, and the hash that is all we keep of it.

use std::fmt;

use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;

use crate::digest::{Digest, Hasher};
use crate::id::base32;

/// What the agent brings back after a human agreed. 160 random bits behind a prefix.
///
/// It is not a human's yes; it says that the agent claims one. Printing it shows nothing.
#[derive(Clone, Debug)]
pub struct ConfirmToken(SecretString);

impl ConfirmToken {
    /// Makes a token from random bytes.
    pub fn from_entropy(prefix: &TokenPrefix, entropy: [u8; 32]) -> Self {
        let (random, _) = entropy.split_at(20);
        Self(SecretString::from(format!("{prefix}{}", base32(random))))
    }

    /// Takes whatever an agent presents: an unknown token is found out by its hash.
    pub fn presented(text: &str) -> Self {
        Self(SecretString::from(text))
    }

    /// The text, for the one answer that hands it to the agent.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// The only form the ledger has.
    pub fn hash(&self) -> ConfirmTokenHash {
        let mut hasher = Hasher::new("yesgate/confirm-token/1");
        hasher.field(self.0.expose_secret().as_bytes());
        ConfirmTokenHash(hasher.finish())
    }
}

/// The hash of a token. Compared in constant time.
#[derive(Clone, Copy, Debug, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ConfirmTokenHash(pub Digest);

impl PartialEq for ConfirmTokenHash {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_bytes().ct_eq(other.0.as_bytes()).into()
    }
}

/// What tokens of this installation begin with.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TokenPrefix(String);

impl Default for TokenPrefix {
    fn default() -> Self {
        Self("pbc_".to_owned())
    }
}

/// The text cannot stand before a token.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a token prefix is 1 to 16 of `a-z 0-9 _ -`")]
pub struct ParseTokenPrefixError;

impl TryFrom<String> for TokenPrefix {
    type Error = ParseTokenPrefixError;

    fn try_from(text: String) -> Result<Self, ParseTokenPrefixError> {
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte);
        if (1..=16).contains(&text.len()) && text.bytes().all(allowed) {
            Ok(Self(text))
        } else {
            Err(ParseTokenPrefixError)
        }
    }
}

impl From<TokenPrefix> for String {
    fn from(prefix: TokenPrefix) -> Self {
        prefix.0
    }
}

impl fmt::Display for TokenPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{ConfirmToken, TokenPrefix};

    /// H4: at least 128 random bits behind a configurable prefix, and only a hash to store.
    #[test]
    fn a_token_has_160_random_bits_and_prints_nothing() {
        let token = ConfirmToken::from_entropy(&TokenPrefix::default(), [7; 32]);
        assert_eq!(token.expose(), "pbc_0w3ge1r70w3ge1r70w3ge1r70w3ge1r7");
        assert!(!format!("{token:?}").contains("0w3ge"), "{token:?}");
        assert_eq!(token.hash(), ConfirmToken::presented(token.expose()).hash());
        assert_ne!(token.hash(), ConfirmToken::presented("pbc_").hash());
    }

    #[test]
    fn a_prefix_stays_short_and_plain() {
        for text in ["", "PBC_", "p b", "a-prefix-that-is-too-long"] {
            assert!(TokenPrefix::try_from(text.to_owned()).is_err(), "{text}");
        }
        assert!(TokenPrefix::try_from("shop_".to_owned()).is_ok());
    }
}
