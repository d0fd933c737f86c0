//! What is sealed, and who can open it.

use yesgate_core::oauth::RefreshToken;

use super::{SealError, open, seal};

fn token(seed: u8) -> RefreshToken {
    RefreshToken::from_entropy([seed; 32])
}

/// O-F3, O-S5: only the used token opens it, and it does not stand there in clear.
#[test]
fn only_the_used_token_opens_its_successor() {
    let sealed = seal(&token(1), &token(2), [3; 32]).unwrap();
    assert_eq!(open(&token(1), &sealed).unwrap().expose(), token(2).expose());
    assert_eq!(open(&token(9), &sealed).unwrap_err(), SealError);
    assert!(!String::from_utf8_lossy(&sealed).contains(token(2).expose()));
    assert_eq!(open(&token(1), &[]).unwrap_err(), SealError);
    for at in 0..sealed.len() {
        let mut changed = sealed.clone();
        changed[at] ^= 1;
        assert_eq!(open(&token(1), &changed).unwrap_err(), SealError, "byte {at}");
    }
}
