//! What a verifier is announced as.

use yesgate_core::oauth::Challenge;

use super::challenge_of;

/// O-T5: the vector of RFC 7636, appendix B.
#[test]
fn a_verifier_is_announced_by_its_hash() {
    let announced = Challenge::read("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM").unwrap();
    assert!(challenge_of("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk").unwrap().is(&announced));
}

/// O-T5: 43 to 128 characters that need no encoding.
#[test]
fn what_can_be_no_verifier_is_none() {
    assert!(challenge_of(&"a".repeat(43)).is_some());
    assert!(challenge_of(&"~".repeat(128)).is_some());
    for wrong in
        ["a".repeat(42), "a".repeat(129), "a ".repeat(30), "ä".repeat(30), format!("{}=", "a".repeat(43))]
    {
        assert!(challenge_of(&wrong).is_none(), "{wrong}");
    }
}
