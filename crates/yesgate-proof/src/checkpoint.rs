//! Checkpoints of the audit trail with the installation's signature under them.
//!
//! Invariants:
//! - What is signed is the checkpoint's canonical text behind a word of its own: no receipt passes for one.
//! - A signed checkpoint has one spelling, and counts only under a key that whoever checks it trusts.

use ring::signature::{ED25519, UnparsedPublicKey};
use serde::{Deserialize, Serialize};
use yesgate_core::checkpoint::Checkpoint;
use yesgate_core::json::{CanonicalJson, Limits, parse_strict};

use crate::receipt::{ReceiptKey, ReceiptPublicKey, Signature};

/// A checkpoint, the key that is said to have signed it, and the signature.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedCheckpoint {
    checkpoint: Checkpoint,
    key: ReceiptPublicKey,
    signature: Signature,
}

/// Why something is no checkpoint of an installation.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum CheckpointError {
    /// It is none at all, or is spelled otherwise than it was written.
    #[error("this is no checkpoint of Yesgate, or it was changed")]
    NotACheckpoint,
    /// The signature does not hold.
    #[error("this checkpoint was changed: the signature does not hold for what it says")]
    Changed,
    /// Somebody else signed it.
    #[error("this checkpoint was signed with another key")]
    OtherKey,
    /// It cannot be written down.
    #[error("the checkpoint cannot be written down")]
    Unwritable,
}

impl SignedCheckpoint {
    /// Signs a checkpoint.
    ///
    /// # Errors
    /// When it cannot be written down.
    pub fn sign(checkpoint: Checkpoint, key: &ReceiptKey) -> Result<Self, CheckpointError> {
        let text = checkpoint.text().ok_or(CheckpointError::Unwritable)?;
        let signature = key.sign_text(&message(&text)).ok_or(CheckpointError::Unwritable)?;
        Ok(Self { checkpoint, key: key.public(), signature })
    }

    /// What was signed.
    pub const fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// Its text, one line, the only one it has.
    ///
    /// # Errors
    /// When it cannot be written down.
    pub fn text(&self) -> Result<String, CheckpointError> {
        let value = serde_json::to_value(self).map_err(|_| CheckpointError::Unwritable)?;
        let text = CanonicalJson::of(&value).map_err(|_| CheckpointError::Unwritable)?;
        Ok(text.as_str().to_owned())
    }

    /// Reads one, and gives back the checkpoint if this very key signed exactly this.
    ///
    /// # Errors
    /// When it did not.
    pub fn verify(text: &str, trusted: &ReceiptPublicKey) -> Result<Checkpoint, CheckpointError> {
        let text = text.strip_suffix('\n').unwrap_or(text);
        let none = CheckpointError::NotACheckpoint;
        let value = parse_strict(text.as_bytes(), Limits::default()).map_err(|_| none)?;
        let signed: Self = serde_json::from_value(value).map_err(|_| none)?;
        if signed.text()? != text {
            return Err(none);
        }
        if signed.key != *trusted {
            return Err(CheckpointError::OtherKey);
        }
        let written = signed.checkpoint.text().ok_or(none)?;
        UnparsedPublicKey::new(&ED25519, trusted.as_bytes())
            .verify(&message(&written), signed.signature.as_bytes())
            .map_err(|_| CheckpointError::Changed)?;
        Ok(signed.checkpoint)
    }
}

/// What is signed: a word that no other signature begins with, and the checkpoint.
fn message(checkpoint: &CanonicalJson) -> Vec<u8> {
    [b"yesgate-checkpoint-v1\n".as_slice(), checkpoint.as_bytes()].concat()
}

#[cfg(test)]
mod tests;
