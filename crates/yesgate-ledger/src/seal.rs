//! Sealing what a row holds: ChaCha20-Poly1305 under the ledger's own key, a random nonce each time.
//!
//! INVARIANT: a blob opens only in the table and the row that it was sealed for. Copied to another row, or
//! changed by one bit, it is nothing.

use std::fmt;

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom as _, SystemRandom};

use crate::error::LedgerError;
use crate::secret::SecretKey;

/// What seals and opens the contents of one ledger. Prints nothing.
pub(crate) struct Seal {
    cipher: LessSafeKey,
    // Nothing is decided by a nonce, and one that a test had fixed would lay two texts under one stream: so
    // these dice are no argument.
    dice: SystemRandom,
    name: String,
}

/// The row that a blob belongs to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place<'a> {
    /// A question, by its id.
    Intent(&'a str),
    /// A remembered yes, by its id.
    Remembered(&'a str),
    /// Where the audit trail begins.
    Beginning,
    /// What tells whether a key is the right one.
    Lock,
}

impl Place<'_> {
    /// The table and the row, each with its length before it, so that no part can slide into the next.
    fn label(self) -> Vec<u8> {
        let (table, row) = match self {
            Self::Intent(id) => ("intent", id),
            Self::Remembered(id) => ("remembered", id),
            Self::Beginning => ("beginning", ""),
            Self::Lock => ("lock", ""),
        };
        [table, row].iter().fold(MAGIC.to_vec(), |mut label, part| {
            label.extend(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            label.extend(part.as_bytes());
            label
        })
    }
}

impl Seal {
    /// The seal of the ledgers of one key.
    pub(crate) fn of(key: &SecretKey) -> Result<Self, LedgerError> {
        let bytes = key.derive("yesgate/ledger/contents/1");
        let cipher = UnboundKey::new(&CHACHA20_POLY1305, &bytes).map_err(|_| unsealable())?;
        Ok(Self { cipher: LessSafeKey::new(cipher), dice: SystemRandom::new(), name: key.name() })
    }

    /// A seal that nobody else has, for a ledger that no file holds.
    pub(crate) fn of_this_process() -> Result<Self, LedgerError> {
        let mut bytes = [0; 32];
        SystemRandom::new().fill(&mut bytes).map_err(|_| unsealable())?;
        Self::of(&SecretKey::from_bytes(bytes).map_err(|_| unsealable())?)
    }

    /// What people call its key.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Seals a text for one row.
    pub(crate) fn seal(&self, place: Place<'_>, text: &[u8]) -> Result<Vec<u8>, LedgerError> {
        let mut nonce = [0; NONCE_LEN];
        self.dice.fill(&mut nonce).map_err(|_| unsealable())?;
        let mut blob = Vec::with_capacity(MAGIC.len() + NONCE_LEN + text.len() + CHACHA20_POLY1305.tag_len());
        blob.extend(MAGIC);
        blob.extend(nonce);
        blob.extend_from_slice(text);
        let body = blob.get_mut(MAGIC.len() + NONCE_LEN..).ok_or_else(unsealable)?;
        let nonce = Nonce::assume_unique_for_key(nonce);
        let tag = self
            .cipher
            .seal_in_place_separate_tag(nonce, Aad::from(place.label()), body)
            .map_err(|_| unsealable())?;
        blob.extend_from_slice(tag.as_ref());
        Ok(blob)
    }

    /// Opens what was sealed for this row. `None`: it was not, or not with this key, or it was changed.
    pub(crate) fn open(&self, place: Place<'_>, blob: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = blob.strip_prefix(MAGIC)?.split_first_chunk::<NONCE_LEN>()?;
        let mut text = sealed.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let plain = self.cipher.open_in_place(nonce, Aad::from(place.label()), &mut text).ok()?.len();
        text.truncate(plain);
        Some(text)
    }
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seal([REDACTED])")
    }
}

fn unsealable() -> LedgerError {
    LedgerError::Store("what it was to hold could not be sealed".to_owned())
}

const MAGIC: &[u8; 4] = b"ygl1";

#[cfg(test)]
mod tests;
