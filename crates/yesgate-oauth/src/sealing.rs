//! O-F3: a refresh token's successor, sealed so that only whoever holds the used token can open it.
//!
//! A client that lost the answer asks again with the token that it has, and gets the same successor. What is stored for
//! that is worth nothing without the used token, of which only the hash is stored.

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt};
use yesgate_core::oauth::RefreshToken;

#[cfg(test)]
mod tests;

/// Something could not be sealed, or not opened.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a refresh token's successor could not be sealed or opened")]
pub(crate) struct SealError;

/// Seals a successor under the token that it follows.
pub(crate) fn seal(
    used: &RefreshToken,
    successor: &RefreshToken,
    dice: [u8; 32],
) -> Result<Vec<u8>, SealError> {
    let nonce: [u8; NONCE_LEN] = dice.first_chunk().copied().ok_or(SealError)?;
    let mut sealed = successor.expose().as_bytes().to_vec();
    let key = key(used)?;
    let nonce_used = Nonce::assume_unique_for_key(nonce);
    key.seal_in_place_append_tag(nonce_used, Aad::from(DOMAIN), &mut sealed).map_err(|_| SealError)?;
    sealed.splice(0..0, nonce);
    Ok(sealed)
}

/// Opens what was sealed under a token.
pub(crate) fn open(used: &RefreshToken, sealed: &[u8]) -> Result<RefreshToken, SealError> {
    let (nonce, sealed) = sealed.split_first_chunk::<NONCE_LEN>().ok_or(SealError)?;
    let mut opened = sealed.to_vec();
    let nonce = Nonce::assume_unique_for_key(*nonce);
    let opened = key(used)?.open_in_place(nonce, Aad::from(DOMAIN), &mut opened).map_err(|_| SealError)?;
    std::str::from_utf8(opened).map(RefreshToken::presented).map_err(|_| SealError)
}

/// The key that only whoever holds the token can make (RFC 5869).
fn key(used: &RefreshToken) -> Result<LessSafeKey, SealError> {
    let derived = Salt::new(HKDF_SHA256, DOMAIN).extract(used.expose().as_bytes());
    let okm = derived.expand(&[b"successor"], &CHACHA20_POLY1305).map_err(|_| SealError)?;
    Ok(LessSafeKey::new(UnboundKey::from(okm)))
}

const DOMAIN: &[u8] = b"yesgate/refresh-successor/1";
