//! Signatures of SSH keys, made by the real `ssh-keygen`.

use ring::digest::{SHA256, digest};
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use ssh_key::public::{Ed25519PublicKey, KeyData, SkEd25519};
use ssh_key::{Algorithm, HashAlg, LineEnding, PublicKey, Signature, SshSig};
use yesgate_proof::ssh::{NAMESPACE, SignatureError, SshKey, SshKeyError};

use crate::support::{Home, other_statements, statement};

/// X1, issue 5: a signature that `ssh-keygen -Y sign -n yesgate` makes under the statement holds.
#[test]
fn a_signature_of_the_key_under_the_statement_holds() {
    let home = Home::new();
    let key = home.key("ed25519", "key");
    let public: SshKey = Home::public(&key).parse().unwrap();
    let signature = home.sign(&key, NAMESPACE, &SshKey::message(&statement()));
    assert_eq!(public.check(&statement(), &signature), Ok(()));
    let kept = serde_json::to_string(&public).unwrap();
    assert!(!kept.contains("somebody at home"), "the words behind the key are not kept: {kept}");
    assert_eq!(serde_json::from_str::<SshKey>(&kept).unwrap(), public);
    assert!(public.fingerprint().starts_with("SHA256:"));
}

/// X1: another text, another purpose or another key is no signature.
#[test]
fn a_signature_under_anything_else_is_none() {
    let home = Home::new();
    let (key, other) = (home.key("ed25519", "key"), home.key("ed25519", "other"));
    let public: SshKey = Home::public(&key).parse().unwrap();
    let message = SshKey::message(&statement());
    for (what, other) in other_statements() {
        let signature = home.sign(&key, NAMESPACE, &SshKey::message(&other));
        assert_eq!(public.check(&statement(), &signature), Err(SignatureError::Wrong), "{what}");
    }
    let bare = home.sign(&key, NAMESPACE, message.trim_end());
    assert_eq!(public.check(&statement(), &bare), Err(SignatureError::Wrong), "no end of line");
    for namespace in ["git", "file", "yesgate2"] {
        let signature = home.sign(&key, namespace, &message);
        assert_eq!(public.check(&statement(), &signature), Err(SignatureError::Wrong), "{namespace}");
    }
    let foreign = home.sign(&other, NAMESPACE, &message);
    assert_eq!(public.check(&statement(), &foreign), Err(SignatureError::Wrong), "another key");
}

#[test]
fn a_damaged_signature_is_none() {
    let home = Home::new();
    let key = home.key("ed25519", "key");
    let public: SshKey = Home::public(&key).parse().unwrap();
    let signature = home.sign(&key, NAMESPACE, &SshKey::message(&statement()));
    for length in 0..signature.trim_end().len() {
        assert!(
            public.check(&statement(), signature.get(..length).unwrap()).is_err(),
            "cut off after {length}"
        );
    }
    let giant = signature.replace('\n', &"\n".repeat(10_000));
    assert_eq!(public.check(&statement(), &giant), Err(SignatureError::Unreadable));
}

#[test]
fn only_ed25519_keys_count() {
    let home = Home::new();
    for kind in ["rsa", "ecdsa"] {
        let key = home.key(kind, kind);
        assert_eq!(Home::public(&key).parse::<SshKey>(), Err(SshKeyError), "{kind}");
    }
    for text in ["", "ssh-ed25519", "ssh-ed25519 AAAA", "hello world", "-----BEGIN OPENSSH PRIVATE KEY-----"]
    {
        assert_eq!(text.parse::<SshKey>(), Err(SshKeyError), "{text}");
    }
}

/// THREATS, level 3: a security key signs with a touch, and what it signs without one does not count.
#[test]
fn a_security_key_has_to_be_touched() {
    let pair = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
    let point = Ed25519PublicKey(pair.public_key().as_ref().try_into().unwrap());
    let key = KeyData::SkEd25519(SkEd25519::new(point, "ssh:"));
    let public: SshKey = PublicKey::from(key.clone()).to_openssh().unwrap().parse().unwrap();
    let signed = |flags: u8, under: &str| {
        let data = SshSig::signed_data(NAMESPACE, HashAlg::Sha512, under.as_bytes()).unwrap();
        let trailer = [flags, 0, 0, 0, 9];
        let whole = [digest(&SHA256, b"ssh:").as_ref(), &trailer, digest(&SHA256, &data).as_ref()].concat();
        let bytes = [pair.sign(&whole).as_ref(), &trailer].concat();
        let signature = Signature::new(Algorithm::SkEd25519, bytes).unwrap();
        let whole = SshSig::new(key.clone(), NAMESPACE, HashAlg::Sha512, signature).unwrap();
        whole.to_pem(LineEnding::LF).unwrap()
    };
    let message = SshKey::message(&statement());
    assert_eq!(public.check(&statement(), &signed(1, &message)), Ok(()));
    assert_eq!(public.check(&statement(), &signed(5, &message)), Ok(()), "touched, and a PIN besides");
    assert_eq!(public.check(&statement(), &signed(0, &message)), Err(SignatureError::NotTouched));
    assert_eq!(public.check(&statement(), &signed(4, &message)), Err(SignatureError::NotTouched));
    assert_eq!(public.check(&statement(), &signed(1, "something else")), Err(SignatureError::Wrong));
}
