//! The key: made once, for its owner alone, refused when it may have been seen.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};

use yesgate_core::clock::{Entropy, EntropyError};

use super::{KeyError, SecretKey};

#[derive(Debug)]
struct Dice(u8);

impl Entropy for Dice {
    fn draw(&self) -> Result<[u8; 32], EntropyError> {
        Ok([self.0; 32])
    }
}

#[test]
fn a_key_is_made_once_for_its_owner_alone_and_stays_the_same() {
    let home = tempfile::tempdir().unwrap();
    SecretKey::load(home.path(), None, &Dice(1)).unwrap();
    let path = home.path().join("secret.key");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    SecretKey::load(home.path(), None, &Dice(2)).unwrap();
    assert_eq!(fs::read(&path).unwrap(), [1; 32]);
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1, "no draft is left behind");
}

#[test]
fn a_key_that_others_may_read_or_that_is_none_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("secret.key");
    let load = || SecretKey::load(home.path(), None, &Dice(1)).map(drop);
    for (bytes, mode, expected) in [
        (32, 0o600, Ok(())),
        (32, 0o400, Ok(())),
        (32, 0o640, Err(KeyError::Open(path.clone()))),
        (32, 0o604, Err(KeyError::Open(path.clone()))),
        (32, 0o620, Err(KeyError::Open(path.clone()))),
        (31, 0o600, Err(KeyError::NotAKey(path.clone()))),
        (33, 0o600, Err(KeyError::NotAKey(path.clone()))),
        (0, 0o600, Err(KeyError::NotAKey(path.clone()))),
    ] {
        fs::remove_file(&path).ok();
        fs::write(&path, vec![7; bytes]).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        assert_eq!(load(), expected, "{bytes} bytes, mode {mode:o}");
    }
    fs::rename(&path, home.path().join("elsewhere")).unwrap();
    symlink(home.path().join("elsewhere"), &path).unwrap();
    assert!(load().is_err(), "a link is not followed");
}

#[test]
fn a_given_key_is_sixty_four_digits_and_needs_no_file() {
    let home = tempfile::tempdir().unwrap();
    let load = |digits: &str| SecretKey::load(home.path(), Some(digits), &Dice(1)).map(drop);
    assert_eq!(load(&"0aF9".repeat(16)), Ok(()));
    for wrong in
        ["", "00", &"0".repeat(63), &"0".repeat(65), &"g0".repeat(32), &"+1".repeat(32), &"é".repeat(32)]
    {
        assert_eq!(load(wrong), Err(KeyError::NotHex), "{wrong:?}");
    }
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn a_key_prints_nothing() {
    let key = SecretKey::load(tempfile::tempdir().unwrap().path(), Some(&"ab".repeat(32)), &Dice(1)).unwrap();
    assert_eq!(format!("{key:?}"), "SecretKey([REDACTED])");
}
