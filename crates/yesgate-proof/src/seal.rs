//! The gateway's seal under every credential: whoever can write the database, but has not the gateway's secret key,
//! enrols nobody and changes nothing (THREATS §4, rule 3).
//!
//! INVARIANT: the seal is over the very text that is read. It says that this gateway enrolled the key, and not that
//! the key still counts: what is not handed to the [registry](crate::registry) does not.

use std::fmt;

use ring::hmac::{self, HMAC_SHA256};
use serde::{Deserialize, Serialize};
use yesgate_core::digest::Digest;

use crate::credential::Credential;

/// What credentials are sealed with. It prints nothing.
#[derive(Clone)]
pub struct SealKey(hmac::Key);

impl fmt::Debug for SealKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealKey(…)")
    }
}

/// A credential with the gateway's seal under it, as it is stored.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SealedCredential {
    body: String,
    seal: Digest,
}

/// There is no credential in it.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum SealError {
    /// This gateway did not write it, or not so.
    #[error("the seal under a key does not hold: this gateway did not write it")]
    Broken,
    /// The seal holds, and what stands above it cannot be read: another version wrote it.
    #[error("a key was written by another version")]
    Unreadable,
}

impl SealKey {
    /// Makes it from the gateway's secret key, which is used for other things too.
    pub fn derive(secret: &[u8; 32]) -> Self {
        let secret = hmac::Key::new(HMAC_SHA256, secret);
        Self(hmac::Key::new(HMAC_SHA256, hmac::sign(&secret, PURPOSE).as_ref()))
    }

    /// Seals a credential.
    ///
    /// # Errors
    /// When it cannot be written down.
    pub fn seal(&self, credential: &Credential) -> Result<SealedCredential, SealError> {
        let body = serde_json::to_string(credential).map_err(|_| SealError::Unreadable)?;
        let tag = hmac::sign(&self.0, body.as_bytes());
        let tag: [u8; 32] = tag.as_ref().try_into().map_err(|_| SealError::Unreadable)?;
        Ok(SealedCredential { body, seal: Digest::rehydrate(tag) })
    }

    /// Opens what it sealed.
    ///
    /// # Errors
    /// When it did not seal exactly this.
    pub fn open(&self, sealed: &SealedCredential) -> Result<Credential, SealError> {
        hmac::verify(&self.0, sealed.body.as_bytes(), sealed.seal.as_bytes())
            .map_err(|_| SealError::Broken)?;
        serde_json::from_str(&sealed.body).map_err(|_| SealError::Unreadable)
    }
}

/// What the derived key is for, and for nothing else.
const PURPOSE: &[u8] = b"yesgate/credential-seal/1";
