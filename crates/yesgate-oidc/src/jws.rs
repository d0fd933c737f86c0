//! Signed tokens (RFC 7515, compact) under a set of public keys (RFC 7517).
//!
//! INVARIANT: the key says which algorithms it is good for, the token only which of those it used. What is not in the short
//! list of algorithms, or has a part that we would have to understand and do not (`crit`), is refused.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256, RsaParameters,
    RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde_json::Value;
use yesgate_core::json::{Limits, parse_lenient};

/// Why a token counts for nothing. Nothing of the token is repeated.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum JwsError {
    /// It is no token.
    #[error("it is no signed token")]
    Malformed,
    /// It is signed in a manner that proves nothing to us.
    #[error("its algorithm is not one that is taken")]
    Algorithm,
    /// No known key can have signed it. A newer set of keys may have one.
    #[error("its key is not known")]
    UnknownKey,
    /// The signature is not that of its key.
    #[error("its signature is wrong")]
    Signature,
}

/// What a token says whose signature is good.
#[derive(Clone, Debug, PartialEq)]
pub struct Verified {
    /// Which kind of token it says it is (`typ`, RFC 7515 §4.1.9).
    pub kind: Option<String>,
    /// What it says.
    pub says: Value,
}

/// Verifies a token, and gives back what it says.
///
/// # Errors
/// When it is none, or was not signed by one of these keys.
pub fn verify(token: &str, keys: &KeySet) -> Result<Value, JwsError> {
    open(token, keys).map(|verified| verified.says)
}

/// Verifies a token, and gives back what it says and which kind it is.
///
/// # Errors
/// As [`verify`].
pub fn open(token: &str, keys: &KeySet) -> Result<Verified, JwsError> {
    if token.len() > LONGEST {
        return Err(JwsError::Malformed);
    }
    let (signed, signature) = token.rsplit_once('.').ok_or(JwsError::Malformed)?;
    let (head, payload) = signed.split_once('.').ok_or(JwsError::Malformed)?;
    let head = object(&decode(head)?)?;
    if head.get("crit").is_some() || head.get("b64").is_some() {
        return Err(JwsError::Malformed);
    }
    let algorithm = head.get("alg").and_then(Value::as_str).and_then(Algorithm::of);
    let algorithm = algorithm.ok_or(JwsError::Algorithm)?;
    let kid = match head.get("kid") {
        None => None,
        Some(kid) => Some(kid.as_str().ok_or(JwsError::Malformed)?),
    };
    let kind = match head.get("typ") {
        None => None,
        Some(kind) => Some(kind.as_str().ok_or(JwsError::Malformed)?.to_owned()),
    };
    let (signature, payload) = (decode(signature)?, decode(payload)?);
    let key = keys.find(algorithm, kid).ok_or(JwsError::UnknownKey)?;
    if !key.has_signed(algorithm, signed.as_bytes(), &signature) {
        return Err(JwsError::Signature);
    }
    Ok(Verified { kind, says: object(&payload)? })
}

/// How a token may be signed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Algorithm {
    Rs256,
    Rs384,
    Rs512,
    Ps256,
    Es256,
    Es384,
    EdDsa,
}

impl Algorithm {
    const ALL: [(&'static str, Self); 7] = [
        ("RS256", Self::Rs256),
        ("RS384", Self::Rs384),
        ("RS512", Self::Rs512),
        ("PS256", Self::Ps256),
        ("ES256", Self::Es256),
        ("ES384", Self::Es384),
        ("EdDSA", Self::EdDsa),
    ];

    fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, algorithm)| algorithm)
    }
}

/// The public keys of an issuer.
#[derive(Clone, Debug, Default)]
pub struct KeySet(Vec<Key>);

/// One of them.
#[derive(Clone, Debug)]
struct Key {
    id: Option<String>,
    /// The only algorithm that it is for, where its issuer names one.
    only: Option<Algorithm>,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl KeySet {
    /// Reads a set. What it has of keys that are none for us, such as those to encrypt with, is passed over.
    ///
    /// # Errors
    /// When it is no set of keys.
    pub fn parse(text: &[u8]) -> Result<Self, JwsError> {
        let set = parse_lenient(text, Limits::SERVER).map_err(|_| JwsError::Malformed)?;
        let keys = set.get("keys").and_then(Value::as_array).ok_or(JwsError::Malformed)?;
        Ok(Self(keys.iter().take(MOST).filter_map(Key::read).collect()))
    }

    /// The key of a token: the one that it names, or the only one that fits where it names none.
    fn find(&self, algorithm: Algorithm, kid: Option<&str>) -> Option<&Key> {
        let mut fitting = self
            .0
            .iter()
            .filter(|key| key.is_for(algorithm) && kid.is_none_or(|kid| key.id.as_deref() == Some(kid)));
        let first = fitting.next()?;
        fitting.next().is_none().then_some(first)
    }
}

impl Key {
    fn read(key: &Value) -> Option<Self> {
        let text = |name: &str| key.get(name).and_then(Value::as_str);
        let bytes = |name: &str| text(name).and_then(|text| URL_SAFE_NO_PAD.decode(text).ok());
        if text("use").is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        let point = |length: usize| {
            let (x, y) = (bytes("x")?, bytes("y")?);
            let is_whole = x.len() == length && y.len() == length;
            is_whole.then(|| [vec![UNCOMPRESSED], x, y].concat())
        };
        let kind = match (text("kty")?, text("crv")) {
            ("RSA", _) => Kind::Rsa { n: bytes("n")?, e: bytes("e")? },
            ("EC", Some("P-256")) => Kind::P256(point(32)?),
            ("EC", Some("P-384")) => Kind::P384(point(48)?),
            ("OKP", Some("Ed25519")) => Kind::Ed25519(bytes("x")?),
            (_, _) => return None,
        };
        // A key for an algorithm that we do not take is none for us.
        let only = match text("alg") {
            None => None,
            Some(name) => Some(Algorithm::of(name)?),
        };
        Some(Self { id: text("kid").map(str::to_owned), only, kind })
    }

    fn is_for(&self, algorithm: Algorithm) -> bool {
        let fits = match (&self.kind, algorithm) {
            (Kind::Rsa { .. }, Algorithm::Rs256 | Algorithm::Rs384 | Algorithm::Rs512 | Algorithm::Ps256)
            | (Kind::P256(_), Algorithm::Es256)
            | (Kind::P384(_), Algorithm::Es384)
            | (Kind::Ed25519(_), Algorithm::EdDsa) => true,
            (Kind::Rsa { .. }, Algorithm::Es256 | Algorithm::Es384 | Algorithm::EdDsa)
            | (Kind::P256(_) | Kind::P384(_) | Kind::Ed25519(_), _) => false,
        };
        fits && self.only.is_none_or(|only| only == algorithm)
    }

    fn has_signed(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        let rsa = |n: &Vec<u8>, e: &Vec<u8>, parameters: &RsaParameters| {
            RsaPublicKeyComponents { n, e }.verify(parameters, message, signature).is_ok()
        };
        match (&self.kind, algorithm) {
            (Kind::Rsa { n, e }, Algorithm::Rs256) => rsa(n, e, &RSA_PKCS1_2048_8192_SHA256),
            (Kind::Rsa { n, e }, Algorithm::Rs384) => rsa(n, e, &RSA_PKCS1_2048_8192_SHA384),
            (Kind::Rsa { n, e }, Algorithm::Rs512) => rsa(n, e, &RSA_PKCS1_2048_8192_SHA512),
            (Kind::Rsa { n, e }, Algorithm::Ps256) => rsa(n, e, &RSA_PSS_2048_8192_SHA256),
            (Kind::P256(point), Algorithm::Es256) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature).is_ok()
            }
            (Kind::P384(point), Algorithm::Es384) => {
                UnparsedPublicKey::new(&ECDSA_P384_SHA384_FIXED, point).verify(message, signature).is_ok()
            }
            (Kind::Ed25519(point), Algorithm::EdDsa) => {
                UnparsedPublicKey::new(&ED25519, point).verify(message, signature).is_ok()
            }
            (Kind::Rsa { .. }, Algorithm::Es256 | Algorithm::Es384 | Algorithm::EdDsa)
            | (Kind::P256(_) | Kind::P384(_) | Kind::Ed25519(_), _) => false,
        }
    }
}

fn decode(part: &str) -> Result<Vec<u8>, JwsError> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| JwsError::Malformed)
}

/// An object in which no name stands twice: two readers would read two tokens.
fn object(text: &[u8]) -> Result<Value, JwsError> {
    let value = parse_lenient(text, Limits::default()).map_err(|_| JwsError::Malformed)?;
    if value.is_object() { Ok(value) } else { Err(JwsError::Malformed) }
}

/// The longest token that is looked at.
const LONGEST: usize = 32 * 1024;
/// How many keys of a set are looked at.
const MOST: usize = 100;
/// SEC 1 §2.3.3: what stands in front of the two coordinates of a point.
const UNCOMPRESSED: u8 = 4;

#[cfg(test)]
pub(crate) mod tests;
