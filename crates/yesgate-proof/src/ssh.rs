//! Signatures of SSH keys, as `ssh-keygen -Y sign -n yesgate` makes them.
//!
//! INVARIANT: only Ed25519 keys count, in a file or in a security key; a security key says that it was touched.
//! A signature that was made for another purpose (a commit, a file, a login) has another namespace, and is none.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use ssh_key::public::KeyData;
use ssh_key::{HashAlg, PublicKey, SshSig};
use yesgate_core::proof::{EvidenceText, Statement};

/// What signatures for us are made for: `ssh-keygen -Y sign -n yesgate`.
pub const NAMESPACE: &str = "yesgate";

/// A person's SSH key, its public half.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SshKey(PublicKey);

/// The text is no key that counts.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("this is no public key of the kind `ssh-ed25519` or `sk-ssh-ed25519@openssh.com`")]
pub struct SshKeyError;

/// Why something is no signature of a key.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum SignatureError {
    /// It is none at all.
    #[error("this is no signature: `-----BEGIN SSH SIGNATURE-----` is expected")]
    Unreadable,
    /// It is one of another key, for another purpose, or under another text.
    #[error("the signature is not one of this key under this statement")]
    Wrong,
    /// The security key signed without being touched.
    #[error("the security key was not touched")]
    NotTouched,
}

impl SshKey {
    /// What is signed: the statement as a line of text.
    pub fn message(statement: &Statement) -> String {
        format!("{statement}\n")
    }

    /// What people compare keys by, as `ssh-keygen -l` prints it.
    pub fn fingerprint(&self) -> String {
        self.0.fingerprint(HashAlg::Sha256).to_string()
    }

    /// Whether this key signed this statement, for us.
    ///
    /// # Errors
    /// When it did not.
    pub fn check(&self, statement: &Statement, armored: &str) -> Result<(), SignatureError> {
        if armored.len() > EvidenceText::LIMIT {
            return Err(SignatureError::Unreadable);
        }
        let signature: SshSig = armored.parse().map_err(|_| SignatureError::Unreadable)?;
        self.0
            .verify(NAMESPACE, Self::message(statement).as_bytes(), &signature)
            .map_err(|_| SignatureError::Wrong)?;
        if self.0.key_data().is_sk_ed25519() && !was_touched(&signature) {
            return Err(SignatureError::NotTouched);
        }
        Ok(())
    }
}

/// A security key's signature ends in a byte of flags and four of a counter, which it signed too; the lowest flag says
/// that somebody was present (OpenSSH, PROTOCOL.u2f).
fn was_touched(signature: &SshSig) -> bool {
    let flags = signature.signature_bytes().iter().rev().nth(4);
    flags.is_some_and(|flags| flags & 1 == 1)
}

impl FromStr for SshKey {
    type Err = SshKeyError;

    fn from_str(line: &str) -> Result<Self, SshKeyError> {
        let mut key = PublicKey::from_openssh(line).map_err(|_| SshKeyError)?;
        // The words behind it are anybody's.
        key.set_comment("");
        if is_ed25519(key.key_data()) { Ok(Self(key)) } else { Err(SshKeyError) }
    }
}

fn is_ed25519(key: &KeyData) -> bool {
    key.is_ed25519() || key.is_sk_ed25519()
}

impl TryFrom<String> for SshKey {
    type Error = SshKeyError;

    fn try_from(line: String) -> Result<Self, SshKeyError> {
        line.parse()
    }
}

impl fmt::Display for SshKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_openssh().map_err(|_| fmt::Error)?)
    }
}

impl From<SshKey> for String {
    fn from(key: SshKey) -> Self {
        key.0.to_openssh().unwrap_or_default()
    }
}
