//! What a browser, or whoever opens a link, brings to be let in; and the hash that is all we keep of it.

use secrecy::{ExposeSecret as _, SecretString};

use crate::digest::{Digest, Hasher};
use crate::id::{BootId, base32};

/// The hash of a secret: secrets are looked up by it, so what is compared is never the secret.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct SecretHash(pub Digest);

/// Declares a secret of 256 random bits behind a prefix. Printing it shows nothing.
macro_rules! secret_type {
    ($(#[$doc:meta])* $name:ident, $prefix:literal, $domain:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name(SecretString);

        impl $name {
            /// Makes one from random bytes.
            pub fn from_entropy(entropy: [u8; 32]) -> Self {
                Self(SecretString::from(format!("{}{}", $prefix, base32(&entropy))))
            }

            /// Takes whatever is presented: one that nobody gave out is found out by its hash.
            pub fn presented(text: &str) -> Self {
                Self(SecretString::from(text))
            }

            /// The text, for the one place that it goes to.
            pub fn expose(&self) -> &str {
                self.0.expose_secret()
            }

            /// The only form the ledger has. A plain hash will do: nobody guesses 256 random bits.
            pub fn hash(&self) -> SecretHash {
                let mut hasher = Hasher::new($domain);
                hasher.field(self.0.expose_secret().as_bytes());
                SecretHash(hasher.finish())
            }
        }
    };
}

secret_type!(
    /// What a sign-in link carries, behind its `#`.
    LinkSecret, "ygl_", "yesgate/sign-in-link/1"
);
secret_type!(
    /// What a browser holds that asked for a link by mail.
    BrowserSecret, "yga_", "yesgate/asking-browser/1"
);
secret_type!(
    /// What a signed-in browser holds in its cookie.
    SessionSecret, "ygs_", "yesgate/session/1"
);

impl SessionSecret {
    /// The same for a session that is good under this reign only: the gates that had its address without a break
    /// since this one took it.
    pub fn hash_under(&self, reign: &BootId) -> SecretHash {
        let mut hasher = Hasher::new("yesgate/session-under-a-reign/1");
        hasher.field(reign.as_str().as_bytes());
        hasher.field(self.expose().as_bytes());
        SecretHash(hasher.finish())
    }
}
