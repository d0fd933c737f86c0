//! Secrets that are handed out once and kept as their hashes.
//!
//! INVARIANT: printing a secret shows nothing, and a hash is of one kind: the same text is another thing elsewhere.

use serde::{Deserialize, Serialize};

use crate::digest::Digest;

/// The hash of a secret: secrets are looked up by it, so what is compared is never the secret.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SecretHash(pub Digest);

/// Declares a secret of 256 random bits behind a prefix. Printing it shows nothing.
macro_rules! secret_type {
    ($(#[$doc:meta])* $name:ident, $prefix:literal, $domain:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name(secrecy::SecretString);

        impl $name {
            /// Makes one from random bytes.
            pub fn from_entropy(entropy: [u8; 32]) -> Self {
                Self(secrecy::SecretString::from(format!("{}{}", $prefix, $crate::id::base32(&entropy))))
            }

            /// Takes whatever is presented: one that nobody gave out is found out by its hash.
            pub fn presented(text: &str) -> Self {
                Self(secrecy::SecretString::from(text))
            }

            /// The text, for the one place that it goes to.
            pub fn expose(&self) -> &str {
                secrecy::ExposeSecret::expose_secret(&self.0)
            }

            /// The only form the ledger has. A plain hash will do: nobody guesses 256 random bits.
            pub fn hash(&self) -> $crate::secret::SecretHash {
                let mut hasher = $crate::digest::Hasher::new($domain);
                hasher.field(secrecy::ExposeSecret::expose_secret(&self.0).as_bytes());
                $crate::secret::SecretHash(hasher.finish())
            }
        }
    };
}

pub(crate) use secret_type;
