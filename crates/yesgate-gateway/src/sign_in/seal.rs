//! Sealing what is kept: ChaCha20-Poly1305 under the secret key itself, a random nonce each time.
//!
//! INVARIANT: a sealed blob opens only for the server, the address and the issuer that it was sealed for;
//! copied to another name it is no sign-in.

use ring::aead::{Aad, NONCE_LEN, Nonce};

use yesgate_ledger::SecretKey;

/// What a blob belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Belongs<'a> {
    pub(super) server: &'a str,
    pub(super) url: &'a str,
}

/// Seals a text. The issuer stands before it in clear, and cannot be changed there.
pub(super) fn seal(
    key: &SecretKey,
    entropy: [u8; 32],
    belongs: Belongs<'_>,
    issuer: &str,
    mut text: Vec<u8>,
) -> Option<Vec<u8>> {
    let (nonce, _) = entropy.split_first_chunk::<NONCE_LEN>()?;
    let label = label(belongs, issuer);
    let cipher = key.undivided();
    cipher
        .seal_in_place_append_tag(Nonce::assume_unique_for_key(*nonce), Aad::from(label), &mut text)
        .ok()?;
    let length = u16::try_from(issuer.len()).ok()?.to_be_bytes();
    Some([MAGIC.as_slice(), &length, issuer.as_bytes(), nonce, &text].concat())
}

/// Opens what was sealed for this server and address.
pub(super) fn open(key: &SecretKey, belongs: Belongs<'_>, sealed: &[u8]) -> Option<Vec<u8>> {
    let rest = sealed.strip_prefix(MAGIC)?;
    let (length, rest) = rest.split_first_chunk::<2>()?;
    let (issuer, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
    let (nonce, text) = rest.split_first_chunk::<NONCE_LEN>()?;
    let label = label(belongs, std::str::from_utf8(issuer).ok()?);
    let mut text = text.to_vec();
    let nonce = Nonce::assume_unique_for_key(*nonce);
    let plain = key.undivided().open_in_place(nonce, Aad::from(label), &mut text).ok()?.len();
    text.truncate(plain);
    Some(text)
}

/// Each part with its length before it, so that no part can slide into the next.
fn label(belongs: Belongs<'_>, issuer: &str) -> Vec<u8> {
    let parts = [belongs.server, belongs.url, issuer];
    parts.iter().fold(MAGIC.to_vec(), |mut label, part| {
        label.extend(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        label.extend(part.as_bytes());
        label
    })
}

const MAGIC: &[u8; 4] = b"ygs1";

#[cfg(test)]
mod tests;
