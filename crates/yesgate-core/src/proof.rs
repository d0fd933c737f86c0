//! The proof behind a `verified` yes: what exactly a person's key signs, and what is kept of it (X1).
//!
//! INVARIANT: two different statements never have the same text, for no field can hold a space; and a text is signed
//! for nothing else, for it begins with its own word and number. The vectors in the tests are frozen: a change here
//! makes every stored proof one that does not hold.
//!
//! This crate only says what is signed. Who has which key, and whether a signature is one, a [`Witness`] knows.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::audit::Signed;
use crate::digest::{CallDigest, Digest, Hasher};
use crate::id::{CredentialId, IntentId, PersonId};
use crate::intent::Answer;

/// What a person signs: an answer to one question about one call, for a time.
///
/// Its text is one line that can be read, the same for passkeys and for signatures.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Statement {
    /// The question.
    pub intent: IntentId,
    /// The call that it is about.
    pub digest: CallDigest,
    /// What they say to it.
    pub answer: Answer,
    /// The end of it: from here on nothing runs on this signature.
    pub until: Timestamp,
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { intent, digest, answer, until } = self;
        write!(f, "yesgate-consent-v1 {} {intent} {} until {until}", answer.as_str(), digest.0)
    }
}

impl Statement {
    /// The challenge by which a passkey signs it.
    pub fn challenge(&self, nonce: &Nonce) -> [u8; 32] {
        let mut hasher = Hasher::new("yesgate/consent/1");
        hasher.field(nonce.0.as_bytes()).field(self.to_string().as_bytes());
        *hasher.finish().as_bytes()
    }
}

/// Random bytes that make each challenge another one. Not a secret.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nonce(Digest);

impl Nonce {
    /// Takes random bytes.
    pub const fn from_entropy(entropy: [u8; 32]) -> Self {
        Self(Digest::rehydrate(entropy))
    }
}

/// What is kept of a person's signature: enough to verify it again, at any time.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// The key that signed.
    pub credential: CredentialId,
    /// Whose key it is.
    pub person: PersonId,
    /// What tells this person from another, in the words of [`crate::intent::Approver::identity`].
    pub identity: String,
    /// Until when the signature says that it counts.
    pub until: Timestamp,
    /// The signature itself.
    pub evidence: Evidence,
}

impl Proof {
    /// What the audit says of it.
    pub fn signed(&self) -> Signed {
        let mut hasher = Hasher::new("yesgate/proof/1");
        hasher.field(serde_json::to_string(self).unwrap_or_default().as_bytes());
        Signed { credential: self.credential.clone(), proof: hasher.finish() }
    }
}

/// A signature, in the form in which it came.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Evidence {
    /// A passkey's assertion.
    Passkey {
        /// What the challenge was made with.
        nonce: Nonce,
        /// The browser's whole answer, as JSON.
        assertion: EvidenceText,
    },
    /// A signature of `ssh-keygen -Y sign`.
    Signature {
        /// The whole of it, in its armour.
        armored: EvidenceText,
    },
}

/// A text of bounded size that is kept whole.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EvidenceText(String);

/// The text is longer than any signature.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a proof has at most {} bytes", EvidenceText::LIMIT)]
pub struct ProofTooLong;

impl EvidenceText {
    /// The most bytes that one has. Assertions have about one thousand, signatures three hundred.
    pub const LIMIT: usize = 16 * 1024;

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for EvidenceText {
    type Error = ProofTooLong;

    fn try_from(text: String) -> Result<Self, ProofTooLong> {
        if text.len() <= Self::LIMIT { Ok(Self(text)) } else { Err(ProofTooLong) }
    }
}

impl From<EvidenceText> for String {
    fn from(text: EvidenceText) -> Self {
        text.0
    }
}

/// Knows whose key is whose, and what a signature is.
pub trait Witness: fmt::Debug + Send + Sync {
    /// Whether the key is one that counts, is this person's, who has this identity, and signed exactly this.
    fn holds(&self, proof: &Proof, statement: &Statement) -> bool;
}

/// The witness of a set-up in which nothing can be verified.
#[derive(Clone, Copy, Debug)]
pub struct NoWitness;

impl Witness for NoWitness {
    fn holds(&self, _: &Proof, _: &Statement) -> bool {
        false
    }
}

/// A proof that a witness has confirmed, with what it is a proof of. Nobody else can make one.
///
/// ```compile_fail,E0451
/// use yesgate_core::proof::{Proof, Proven, Statement};
/// fn forge(proof: Proof, statement: Statement) -> Proven {
///     Proven { proof, statement }
/// }
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Proven {
    proof: Proof,
    statement: Statement,
}

/// The witness did not confirm it.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the signature does not hold for this question")]
pub struct NotProven;

impl Proven {
    /// Has a proof confirmed.
    ///
    /// # Errors
    /// When the witness does not confirm exactly this.
    pub fn by(witness: &dyn Witness, proof: Proof, statement: Statement) -> Result<Self, NotProven> {
        if proof.until == statement.until && witness.holds(&proof, &statement) {
            Ok(Self { proof, statement })
        } else {
            Err(NotProven)
        }
    }

    /// The proof.
    pub const fn proof(&self) -> &Proof {
        &self.proof
    }

    /// What it is a proof of.
    pub const fn statement(&self) -> &Statement {
        &self.statement
    }
}

#[cfg(test)]
mod tests;
