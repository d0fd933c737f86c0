//! The token in every form of ours: made for one session and one form, used once, and not for long.
//!
//! INVARIANT: without the secret in the browser's cookie nobody can make one, and with one nobody can make another.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use ring::hmac;
use yesgate_core::person::SessionSecret;

/// Why a form is not taken.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub(crate) enum Untaken {
    /// No form of ours has that token.
    #[error("this form did not come from a page of yours")]
    Foreign,
    /// The page is too old.
    #[error("this page has been open for too long")]
    Old,
    /// It was sent before.
    #[error("this form was sent already")]
    Used,
    /// It came back sooner than anybody can read.
    #[error("that was faster than anybody can read")]
    Hasty,
}

/// How soon a form may come back.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Pace {
    /// As soon as it likes.
    Any,
    /// After somebody could have looked at it (REN7).
    Human,
}

/// Knows which tokens were used.
#[derive(Debug, Default)]
pub(crate) struct Tokens(Mutex<HashMap<[u8; 16], Timestamp>>);

impl Tokens {
    /// A token for a form that goes to this address, for the browser with this secret.
    pub(crate) fn issue(secret: &SessionSecret, action: &str, entropy: [u8; 32], now: Timestamp) -> String {
        let (nonce, _) = entropy.split_at(16);
        let issued = now.as_millisecond().to_be_bytes();
        let mut token = [&issued, nonce].concat();
        let tag = hmac::sign(&key(secret), &message(action, &token));
        token.extend_from_slice(tag.as_ref());
        token.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Takes a form, once.
    pub(crate) fn take(
        &self,
        secret: &SessionSecret,
        action: &str,
        token: &str,
        pace: Pace,
        now: Timestamp,
    ) -> Result<(), Untaken> {
        let Read { issued, nonce } = Read::of(secret, action, token, now)?;
        if pace == Pace::Human && now.duration_since(issued) < INERT {
            return Err(Untaken::Hasty);
        }
        let mut used = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if used.len() >= MOST {
            used.retain(|_, issued| now.duration_since(*issued) < LIFETIME);
        }
        // What cannot be remembered as used must not be used.
        if used.len() >= MOST || used.insert(nonce, issued).is_some() {
            return Err(Untaken::Used);
        }
        Ok(())
    }

    /// Looks at a token that goes with many requests: made for this session and this purpose, and not too old.
    pub(crate) fn look(
        secret: &SessionSecret,
        action: &str,
        token: &str,
        now: Timestamp,
    ) -> Result<(), Untaken> {
        Read::of(secret, action, token, now).map(drop)
    }
}

/// What stands in a token that is one of ours.
struct Read {
    issued: Timestamp,
    nonce: [u8; 16],
}

impl Read {
    fn of(secret: &SessionSecret, action: &str, token: &str, now: Timestamp) -> Result<Self, Untaken> {
        let bytes = from_hex(token).ok_or(Untaken::Foreign)?;
        let (head, tag) = bytes.split_at_checked(24).ok_or(Untaken::Foreign)?;
        hmac::verify(&key(secret), &message(action, head), tag).map_err(|_| Untaken::Foreign)?;
        let (issued, nonce) = head.split_first_chunk::<8>().ok_or(Untaken::Foreign)?;
        let nonce = <[u8; 16]>::try_from(nonce).map_err(|_| Untaken::Foreign)?;
        let issued =
            Timestamp::from_millisecond(i64::from_be_bytes(*issued)).map_err(|_| Untaken::Foreign)?;
        let age = now.duration_since(issued);
        if age >= LIFETIME || age.is_negative() {
            return Err(Untaken::Old);
        }
        Ok(Self { issued, nonce })
    }
}

fn key(secret: &SessionSecret) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, secret.expose().as_bytes())
}

fn message(action: &str, head: &[u8]) -> Vec<u8> {
    [b"yesgate/form/1\0".as_slice(), head, action.as_bytes()].concat()
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    let digit = |digit: u8| char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
    pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect()
}

/// How long a page may lie open before its forms are too old.
const LIFETIME: SignedDuration = SignedDuration::from_hours(8);

/// How long the yes of a page that was just made is inert (REN7).
pub(crate) const INERT: SignedDuration = SignedDuration::from_millis(700);

/// How many used tokens are remembered.
const MOST: usize = 100_000;

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};
    use yesgate_core::person::SessionSecret;

    use super::{Pace, Tokens, Untaken};

    fn at(ms: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_millis(ms)
    }

    fn secret(seed: u8) -> SessionSecret {
        SessionSecret::from_entropy([seed; 32])
    }

    /// O-K3: a token is good for its session and its form, once, and not for ever.
    #[test]
    fn a_token_is_good_for_one_form_of_one_session_once() {
        let tokens = Tokens::default();
        let issue = |seed| Tokens::issue(&secret(1), "/approve/a", [seed; 32], at(0));
        let take = |token: &str, who, action, pace, now| tokens.take(&secret(who), action, token, pace, now);
        let token = issue(1);
        assert_eq!(take(&token, 2, "/approve/a", Pace::Any, at(1)), Err(Untaken::Foreign));
        assert_eq!(take(&token, 1, "/approve/b", Pace::Any, at(1)), Err(Untaken::Foreign));
        assert_eq!(take(&token, 1, "/approve/a", Pace::Human, at(699)), Err(Untaken::Hasty));
        assert_eq!(take(&token, 1, "/approve/a", Pace::Human, at(700)), Ok(()));
        assert_eq!(take(&token, 1, "/approve/a", Pace::Human, at(701)), Err(Untaken::Used));
        let old = SignedDuration::from_hours(8).as_millis();
        assert_eq!(
            take(&issue(2), 1, "/approve/a", Pace::Any, at(old.try_into().unwrap())),
            Err(Untaken::Old)
        );
        assert_eq!(take(&issue(3), 1, "/approve/a", Pace::Any, at(-1)), Err(Untaken::Old));
        assert_eq!(take(&issue(4), 1, "/approve/a", Pace::Any, at(0)), Ok(()));
    }

    /// O-K3: the token of a session's requests is good for that session and that purpose, many times, not for ever.
    #[test]
    fn a_token_for_many_requests_is_good_for_one_session_and_purpose() {
        let token = Tokens::issue(&secret(1), "/api", [1; 32], at(0));
        let look = |who, action, now| Tokens::look(&secret(who), action, &token, now);
        assert_eq!((look(1, "/api", at(1)), look(1, "/api", at(2))), (Ok(()), Ok(())));
        assert_eq!(look(2, "/api", at(1)), Err(Untaken::Foreign));
        assert_eq!(look(1, "/approve/a", at(1)), Err(Untaken::Foreign));
        assert_eq!(look(1, "/api", at(8 * 60 * 60 * 1000)), Err(Untaken::Old));
    }

    #[test]
    fn nothing_else_is_a_token() {
        let tokens = Tokens::default();
        let token = Tokens::issue(&secret(1), "/", [1; 32], at(0));
        let longer = format!("{token}00");
        let shorter = token.get(2..).unwrap();
        let flipped = token.replacen(|c: char| c.is_ascii_digit(), "a", 1);
        for bad in ["", "zz", "00", "ü", shorter, longer.as_str(), flipped.as_str()] {
            assert_eq!(tokens.take(&secret(1), "/", bad, Pace::Any, at(1)), Err(Untaken::Foreign), "{bad}");
        }
    }
}
