//! Whether a link lets in whoever brings it: in the browser that asked for it, or elsewhere with the digits that stand there.
//!
//! INVARIANT: a link that was asked for in a browser is worth nothing alone. Who reads the mail, and programs that open
//! what is in it, lack what the browser holds and what its page shows (O-S1).

use super::{Link, SecretHash};
use crate::digest::Hasher;

/// What somebody brings besides a link.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Opener {
    /// The hash of what their browser holds since it asked for a link.
    pub browser: Option<SecretHash>,
    /// The digits that they typed.
    pub digits: Option<String>,
}

/// What comes of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Opening {
    /// They are let in.
    In,
    /// Another browser asked for the link: the digits that it shows are needed.
    WantsDigits,
    /// Those digits are others.
    WrongDigits,
}

impl Link {
    /// What comes of a link that counts, in somebody's hands.
    pub fn open(&self, opener: &Opener) -> Opening {
        let Some(asked) = self.browser else { return Opening::In };
        let digits = opener.digits.as_deref().map(|digits| digits.replace([' ', '-'], ""));
        match (opener.browser == Some(asked), digits) {
            (true, _) => Opening::In,
            (false, None) => Opening::WantsDigits,
            (false, Some(digits)) if digits == asked.digits() => Opening::In,
            (false, Some(_)) => Opening::WrongDigits,
        }
    }
}

impl SecretHash {
    /// The six digits that the page of a browser shows which asked for a link. They tell that whoever opens the link
    /// elsewhere also sees that page; without the link they are good for nothing.
    pub fn digits(self) -> String {
        let mut hasher = Hasher::new("yesgate/asking-digits/1");
        hasher.field(self.0.as_bytes());
        let digest = hasher.finish();
        let number = digest.as_bytes().iter().take(8).fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
        format!("{:06}", number % 1_000_000)
    }
}
