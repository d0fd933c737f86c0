//! A checkpoint counts as it was signed, under the key that is trusted, and not otherwise.

use yesgate_core::checkpoint::Checkpoint;
use yesgate_core::digest::Digest;

use super::{CheckpointError, SignedCheckpoint};
use crate::receipt::{ReceiptKey, SignedReceipt};

fn key(byte: u8) -> ReceiptKey {
    ReceiptKey::derive(&[byte; 32]).unwrap()
}

fn checkpoint() -> Checkpoint {
    let at = "2026-11-17T12:00:00Z".parse().unwrap();
    Checkpoint { sequence: 42, hash: Digest::rehydrate([7; 32]), at, carried: None }
}

fn line() -> String {
    SignedCheckpoint::sign(checkpoint(), &key(1)).unwrap().text().unwrap()
}

/// X7: what was written is read back, and only that.
#[test]
fn a_checkpoint_holds_as_it_was_written() {
    let line = line();
    assert!(!line.contains('\n'));
    assert_eq!(SignedCheckpoint::verify(&line, &key(1).public()), Ok(checkpoint()));
    assert_eq!(SignedCheckpoint::verify(&format!("{line}\n"), &key(1).public()), Ok(checkpoint()));
}

#[test]
fn a_checkpoint_that_was_changed_is_none() {
    let check = |from: &str, to: &str, expected| {
        let changed = line().replacen(from, to, 1);
        assert_ne!(changed, line(), "{from}");
        assert_eq!(SignedCheckpoint::verify(&changed, &key(1).public()), Err(expected), "{from} to {to}");
    };
    check(":42", ":43", CheckpointError::Changed);
    check("0707", "0807", CheckpointError::Changed);
    check("12:00:00", "12:00:01", CheckpointError::Changed);
    check("\"signature\":\"", "\"signature\": \"", CheckpointError::NotACheckpoint);
    check("}", ",\"carried\":null}", CheckpointError::NotACheckpoint);
    check("{", "[", CheckpointError::NotACheckpoint);
}

/// X7: another installation's word about its own trail says nothing about this one.
#[test]
fn a_checkpoint_of_another_key_is_refused() {
    assert_eq!(SignedCheckpoint::verify(&line(), &key(2).public()), Err(CheckpointError::OtherKey));
    let posing = line().replace(&key(1).public().to_string(), &key(2).public().to_string());
    assert_eq!(SignedCheckpoint::verify(&posing, &key(2).public()), Err(CheckpointError::Changed));
}

#[test]
fn a_checkpoint_is_no_receipt() {
    assert!(SignedReceipt::verify(&line(), &key(1).public()).is_err());
}
