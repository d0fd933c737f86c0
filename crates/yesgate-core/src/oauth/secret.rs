//! What clients and browsers hold on the way to a connection, and the hashes that are all we keep.

use std::fmt;

use crate::secret::{SecretHash, secret_type};

secret_type!(
    /// What a client sends with each request.
    AccessToken, "ygt_", "yesgate/access-token/1"
);
secret_type!(
    /// With what a client gets its next access token, once.
    RefreshToken, "ygr_", "yesgate/refresh-token/1"
);
secret_type!(
    /// What a browser brings back to the client that sent it.
    AuthorizationCode, "ygc_", "yesgate/authorization-code/1"
);
secret_type!(
    /// What a client that can keep one proves itself with.
    ClientSecret, "ygx_", "yesgate/client-secret/1"
);
secret_type!(
    /// With what a client changes its own registration (RFC 7592).
    ManagementToken, "ygm_", "yesgate/client-management/1"
);
secret_type!(
    /// What names a request for authorization while its person signs in.
    Ticket, "ygq_", "yesgate/authorization-request/1"
);
secret_type!(
    /// What a browser holds that was shown a request for authorization: only there it is answered.
    ConsentSecret, "ygb_", "yesgate/consenting-browser/1"
);
secret_type!(
    /// With what a client without a browser asks whether somebody has allowed it (RFC 8628).
    DeviceCode, "ygd_", "yesgate/device-code/1"
);

impl RefreshToken {
    /// What every one begins with.
    pub const PREFIX: &'static str = "ygr_";
}

impl AccessToken {
    /// What every one begins with.
    pub const PREFIX: &'static str = "ygt_";
}

/// What a person types to say which client without a browser is theirs: eight letters that make no words. Printing it shows
/// nothing.
#[derive(Clone, Eq, PartialEq)]
pub struct UserCode(String);

impl fmt::Debug for UserCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UserCode(…)")
    }
}

impl UserCode {
    /// Makes one from random bytes. Bytes that would favour some letters are passed over.
    pub fn from_entropy(entropy: [u8; 32]) -> Option<Self> {
        let letters = entropy.into_iter().filter(|byte| usize::from(*byte) < LETTERS.len() * FAIR);
        let letters: String = letters
            .filter_map(|byte| LETTERS.get(usize::from(byte) % LETTERS.len()))
            .take(LENGTH)
            .map(|letter| char::from(*letter))
            .collect();
        (letters.len() == LENGTH).then_some(Self(letters))
    }

    /// Takes what somebody typed, in whatever case and with whatever between the letters.
    pub fn typed(text: &str) -> Self {
        let letters = text.chars().filter(char::is_ascii_alphanumeric).take(LENGTH * 2);
        Self(letters.map(|letter| letter.to_ascii_uppercase()).collect())
    }

    /// How it is shown: two groups of four letters.
    pub fn shown(&self) -> String {
        match self.0.split_at_checked(LENGTH / 2) {
            Some((first, second)) => format!("{first}-{second}"),
            None => self.0.clone(),
        }
    }

    /// The only form the ledger has. It lives ten minutes, and few guesses are answered.
    pub fn hash(&self) -> SecretHash {
        let mut hasher = crate::digest::Hasher::new("yesgate/user-code/1");
        hasher.field(self.0.as_bytes());
        SecretHash(hasher.finish())
    }
}

/// RFC 8628 §6.1: no vowels, so that no words come about.
const LETTERS: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";
/// How many letters it has.
const LENGTH: usize = 8;
/// How often all letters fit into the values of a byte.
const FAIR: usize = 12;
