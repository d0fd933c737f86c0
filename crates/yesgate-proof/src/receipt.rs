//! Receipts with the installation's signature under them, which anybody can check who knows its public key.
//!
//! Invariants:
//! - What is signed is the receipt's canonical text behind a word of its own, so no other signature of ours can pass
//!   for one.
//! - A signed receipt has one spelling. One that is spelled in any other way, by so much as a space, is none: whatever
//!   was changed in the file is found.
//! - A key that comes with the receipt proves nothing by itself: whoever checks one says which key they trust.

use std::fmt;
use std::str::FromStr;

use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use serde::{Deserialize, Serialize};
use yesgate_core::intent::Receipt;
use yesgate_core::json::{CanonicalJson, Limits, parse_strict};

/// What an installation signs its receipts with. It prints nothing.
#[derive(Clone)]
pub struct ReceiptKey(std::sync::Arc<Ed25519KeyPair>);

/// The half of it that everybody may know.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ReceiptPublicKey([u8; 32]);

/// A receipt, the key that is said to have signed it, and the signature.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedReceipt {
    receipt: Receipt,
    key: ReceiptPublicKey,
    signature: Signature,
}

/// Sixty-four bytes of Ed25519.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Signature([u8; 64]);

impl Signature {
    pub(crate) const fn as_bytes(&self) -> &[u8; 64] {
        &self.0
    }
}

/// Why something is no receipt of an installation.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ReceiptError {
    /// It is none at all.
    #[error("this is no receipt of Yesgate")]
    NotAReceipt,
    /// It is spelled in another way than the one that was written.
    #[error("this receipt was changed: it is not spelled as it was written")]
    Respelled,
    /// The signature does not hold.
    #[error("this receipt was changed: the signature does not hold for what it says")]
    Changed,
    /// Somebody else signed it.
    #[error("this receipt was signed with another key")]
    OtherKey,
    /// A receipt cannot be written down.
    #[error("the receipt cannot be written down")]
    Unwritable,
}

/// The text is no public key.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a public key is `ed25519:` and 64 hexadecimal letters in lower case")]
pub struct ParseKeyError;

impl ReceiptKey {
    /// Makes it from a secret that is used for nothing else.
    ///
    /// # Errors
    /// When the secret is none that a key can be made of, which no 32 bytes are.
    pub fn derive(secret: &[u8; 32]) -> Result<Self, ReceiptError> {
        let pair = Ed25519KeyPair::from_seed_unchecked(secret).map_err(|_| ReceiptError::Unwritable)?;
        Ok(Self(std::sync::Arc::new(pair)))
    }

    /// The half that everybody may know.
    pub fn public(&self) -> ReceiptPublicKey {
        let mut bytes = [0; 32];
        // INVARIANT: a public key of Ed25519 has 32 bytes; were it otherwise, nothing would ever verify.
        for (byte, from) in bytes.iter_mut().zip(self.0.public_key().as_ref()) {
            *byte = *from;
        }
        ReceiptPublicKey(bytes)
    }

    /// Signs a receipt.
    ///
    /// # Errors
    /// When it cannot be written down.
    pub fn sign(&self, receipt: Receipt) -> Result<SignedReceipt, ReceiptError> {
        let text = receipt.text().ok_or(ReceiptError::Unwritable)?;
        let signature = self.sign_text(&message(&text)).ok_or(ReceiptError::Unwritable)?;
        Ok(SignedReceipt { receipt, key: self.public(), signature })
    }

    /// Signs a text that begins with a word of its own.
    pub(crate) fn sign_text(&self, text: &[u8]) -> Option<Signature> {
        self.0.sign(text).as_ref().try_into().ok().map(Signature)
    }
}

impl fmt::Debug for ReceiptKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReceiptKey(…)")
    }
}

impl SignedReceipt {
    /// Its text, the only one it has.
    ///
    /// # Errors
    /// When it cannot be written down.
    pub fn text(&self) -> Result<String, ReceiptError> {
        let value = serde_json::to_value(self).map_err(|_| ReceiptError::Unwritable)?;
        let text = CanonicalJson::of(&value).map_err(|_| ReceiptError::Unwritable)?;
        Ok(text.as_str().to_owned())
    }

    /// Reads one, and gives back the receipt if this very key signed exactly this.
    ///
    /// # Errors
    /// When it did not.
    pub fn verify(text: &str, trusted: &ReceiptPublicKey) -> Result<Receipt, ReceiptError> {
        let signed = Self::read(text)?;
        if signed.key != *trusted {
            return Err(ReceiptError::OtherKey);
        }
        let written = signed.receipt.text().ok_or(ReceiptError::NotAReceipt)?;
        UnparsedPublicKey::new(&ED25519, trusted.0)
            .verify(&message(&written), &signed.signature.0)
            .map_err(|_| ReceiptError::Changed)?;
        Ok(signed.receipt)
    }

    /// The key that one is said to be signed with. It proves nothing.
    ///
    /// # Errors
    /// When this is no receipt.
    pub fn claimed_key(text: &str) -> Result<ReceiptPublicKey, ReceiptError> {
        Self::read(text).map(|signed| signed.key)
    }

    /// Reads one in its one spelling; a line end behind it is the file's.
    fn read(text: &str) -> Result<Self, ReceiptError> {
        let text = text.strip_suffix('\n').unwrap_or(text);
        let value =
            parse_strict(text.as_bytes(), Limits::default()).map_err(|_| ReceiptError::NotAReceipt)?;
        let signed: Self = serde_json::from_value(value).map_err(|_| ReceiptError::NotAReceipt)?;
        if signed.text()? == text { Ok(signed) } else { Err(ReceiptError::Respelled) }
    }
}

/// What is signed: a word that no other signature begins with, and the receipt.
fn message(receipt: &CanonicalJson) -> Vec<u8> {
    [b"yesgate-receipt-v1\n".as_slice(), receipt.as_bytes()].concat()
}

impl ReceiptPublicKey {
    pub(crate) const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for ReceiptPublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        f.write_str(&hex(&self.0))
    }
}

impl FromStr for ReceiptPublicKey {
    type Err = ParseKeyError;

    fn from_str(text: &str) -> Result<Self, ParseKeyError> {
        text.strip_prefix(PREFIX).and_then(unhex).map(Self).ok_or(ParseKeyError)
    }
}

impl Serialize for ReceiptPublicKey {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ReceiptPublicKey {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl TryFrom<String> for Signature {
    type Error = ParseKeyError;

    fn try_from(text: String) -> Result<Self, ParseKeyError> {
        unhex(&text).map(Self).ok_or(ParseKeyError)
    }
}

impl From<Signature> for String {
    fn from(signature: Signature) -> Self {
        hex(&signature.0)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let nibble = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    if pairs.len() != N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = nibble(*high)? << 4 | nibble(*low)?;
    }
    Some(bytes)
}

const PREFIX: &str = "ed25519:";
