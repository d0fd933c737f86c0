//! Tokens of every algorithm that is taken, and tokens that must not be.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};

use super::{JwsError, KeySet, verify};

/// Somebody who signs.
pub(crate) struct Signer {
    ed: Ed25519KeyPair,
    ec: EcdsaKeyPair,
    random: SystemRandom,
}

impl Signer {
    pub(crate) fn new() -> Self {
        let random = SystemRandom::new();
        let ed = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        let ec = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        Self {
            ed: Ed25519KeyPair::from_pkcs8(ed.as_ref()).unwrap(),
            ec: EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, ec.as_ref(), &random).unwrap(),
            random,
        }
    }

    fn keys(&self) -> KeySet {
        let point = self.ec.public_key().as_ref();
        let (x, y) = point.split_first().unwrap().1.split_at(32);
        set(&[
            json!({"kty": "OKP", "crv": "Ed25519", "kid": "ed", "x": encode(self.ed.public_key().as_ref())}),
            json!({"kty": "EC", "crv": "P-256", "kid": "ec", "use": "sig", "x": encode(x), "y": encode(y)}),
        ])
    }

    /// The key with which most is signed, under this name.
    pub(crate) fn key(&self, kid: &str) -> Value {
        json!({"kty": "OKP", "crv": "Ed25519", "kid": kid, "x": encode(self.ed.public_key().as_ref())})
    }

    /// A token whose head and body are these words.
    pub(crate) fn sign(&self, head: &str, body: &str) -> String {
        let signed = format!("{}.{}", encode(head.as_bytes()), encode(body.as_bytes()));
        let signature = match head.contains("ES256") {
            true => self.ec.sign(&self.random, signed.as_bytes()).unwrap().as_ref().to_vec(),
            false => self.ed.sign(signed.as_bytes()).as_ref().to_vec(),
        };
        format!("{signed}.{}", encode(&signature))
    }
}

fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn set(keys: &[Value]) -> KeySet {
    KeySet::parse(json!({"keys": keys}).to_string().as_bytes()).unwrap()
}

const ED: &str = r#"{"alg":"EdDSA","kid":"ed"}"#;
const EC: &str = r#"{"alg":"ES256","kid":"ec"}"#;

#[test]
fn a_token_that_its_key_signed_says_what_it_says() {
    let signer = Signer::new();
    for head in [ED, EC, r#"{"alg":"EdDSA"}"#] {
        let said = verify(&signer.sign(head, r#"{"sub":"42"}"#), &signer.keys());
        assert_eq!(said, Ok(json!({"sub": "42"})), "{head}");
    }
}

/// Claims of a provider's own, which are none of our business, do not spoil a token.
#[test]
fn what_else_a_token_says_is_its_issuers_business() {
    let signer = Signer::new();
    let said = verify(&signer.sign(ED, r#"{"sub":"42","ID":18446744073709551615,"id":1}"#), &signer.keys());
    assert_eq!(said.unwrap()["sub"], "42");
}

/// RFC 7515 §A.2: RSA, with the key, the token and the signature of the standard.
#[test]
fn the_token_of_the_standard_is_good() {
    let n = "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ";
    let token = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";
    let keys = set(&[json!({"kty": "RSA", "n": n, "e": "AQAB"})]);
    assert_eq!(verify(token, &keys).unwrap()["iss"], "joe");
    let only = set(&[json!({"kty": "RSA", "n": n, "e": "AQAB", "alg": "PS256"})]);
    assert_eq!(verify(token, &only), Err(JwsError::UnknownKey));
}

/// Never `none`, never a shared secret, never a key that the token brings along, and never another's.
#[test]
fn what_proves_nothing_is_not_taken() {
    let signer = Signer::new();
    let check = |token: &str, expected: JwsError| {
        assert_eq!(verify(token, &signer.keys()), Err(expected), "{token}");
    };
    let body = r#"{"sub":"42"}"#;
    for alg in ["none", "NONE", "HS256", "ES256K", "RS1", ""] {
        check(&signer.sign(&format!(r#"{{"alg":"{alg}","kid":"ed"}}"#), body), JwsError::Algorithm);
    }
    let unsigned = format!("{}.{}.", encode(br#"{"alg":"none"}"#), encode(body.as_bytes()));
    check(&unsigned, JwsError::Algorithm);
    check(&signer.sign(r#"{"alg":"EdDSA","kid":"gone"}"#, body), JwsError::UnknownKey);
    // The key named is for another algorithm than the token says.
    check(&signer.sign(r#"{"alg":"EdDSA","kid":"ec"}"#, body), JwsError::UnknownKey);
    check(&signer.sign(r#"{"alg":"RS256","kid":"ed"}"#, body), JwsError::UnknownKey);
    let other = Signer::new();
    let mine = encode(other.ed.public_key().as_ref());
    let brought = format!(
        r#"{{"alg":"EdDSA","kid":"ed","jwk":{{"kty":"OKP","crv":"Ed25519","x":"{mine}"}},"jku":"http://127.0.0.1:9/"}}"#
    );
    check(&other.sign(&brought, body), JwsError::Signature);
    check(&other.sign(EC, body), JwsError::Signature);
    check(&signer.sign(r#"{"alg":"EdDSA","kid":"ed","crit":["exp"],"exp":1}"#, body), JwsError::Malformed);
    check(&signer.sign(r#"{"alg":"EdDSA","kid":"ed","kid":"ec"}"#, body), JwsError::Malformed);
    check(&signer.sign(ED, r#"{"sub":"42","sub":"43"}"#), JwsError::Malformed);
    check(&signer.sign(ED, r#"["42"]"#), JwsError::Malformed);
    let good = signer.sign(ED, body);
    let (signed, signature) = good.rsplit_once('.').unwrap();
    check(signed, JwsError::Malformed);
    check(&format!("{good}.x"), JwsError::Malformed);
    check(&format!("{signed}.{signature}="), JwsError::Malformed);
    check(&format!("{signed}.AAAA"), JwsError::Signature);
    check(&good.replacen('.', "..", 1), JwsError::Malformed);
    check(&"a".repeat(40_000), JwsError::Malformed);
}

#[test]
fn a_token_without_a_name_needs_a_key_that_is_alone() {
    let (one, two) = (Signer::new(), Signer::new());
    let key = |signer: &Signer, kid: &str| json!({"kty": "OKP", "crv": "Ed25519", "kid": kid, "x": encode(signer.ed.public_key().as_ref())});
    let token = one.sign(r#"{"alg":"EdDSA"}"#, "{}");
    assert_eq!(verify(&token, &set(&[key(&one, "a")])), Ok(json!({})));
    assert_eq!(verify(&token, &set(&[key(&one, "a"), key(&two, "b")])), Err(JwsError::UnknownKey));
    assert_eq!(verify(&token, &set(&[])), Err(JwsError::UnknownKey));
}

#[test]
fn keys_that_are_none_for_us_are_passed_over() {
    let signer = Signer::new();
    let x = encode(signer.ed.public_key().as_ref());
    let token = signer.sign(ED, "{}");
    for odd in [
        json!({"kty": "OKP", "crv": "Ed25519", "kid": "ed", "x": x, "use": "enc"}),
        json!({"kty": "OKP", "crv": "X25519", "kid": "ed", "x": x}),
        json!({"kty": "oct", "kid": "ed", "k": x}),
        json!({"kty": "OKP", "crv": "Ed25519", "kid": "ed", "x": x, "alg": "HS256"}),
        json!({"kid": "ed"}),
        json!(7),
    ] {
        assert_eq!(verify(&token, &set(std::slice::from_ref(&odd))), Err(JwsError::UnknownKey), "{odd}");
    }
    for bad in ["", "{}", "[]", r#"{"keys":{}}"#, r#"{"keys":[],"keys":[]}"#] {
        assert!(KeySet::parse(bad.as_bytes()).is_err(), "{bad}");
    }
}
