//! What is sealed opens in its own row only.

use super::{Place, Seal};
use crate::secret::SecretKey;

fn seal(byte: u8) -> Seal {
    Seal::of(&SecretKey::from_bytes([byte; 32]).unwrap()).unwrap()
}

#[test]
fn what_was_sealed_opens_in_its_own_row_only() {
    let sealed = seal(1).seal(Place::Intent("intent_a"), b"words").unwrap();
    assert_eq!(seal(1).open(Place::Intent("intent_a"), &sealed).as_deref(), Some(b"words".as_slice()));
    assert_eq!(seal(2).open(Place::Intent("intent_a"), &sealed), None, "another key");
    for elsewhere in [Place::Intent("intent_b"), Place::Remembered("intent_a"), Place::Lock] {
        assert_eq!(seal(1).open(elsewhere, &sealed), None, "{elsewhere:?}");
    }
}

#[test]
fn no_bit_of_it_can_be_changed_and_no_part_left_out() {
    let sealed = seal(1).seal(Place::Intent("intent_a"), b"words").unwrap();
    for index in 0..sealed.len() {
        let mut changed = sealed.clone();
        changed[index] ^= 1;
        assert_eq!(seal(1).open(Place::Intent("intent_a"), &changed), None, "byte {index}");
        assert_eq!(seal(1).open(Place::Intent("intent_a"), &sealed[..index]), None, "only {index} bytes");
    }
}

#[test]
fn the_same_words_are_never_sealed_alike() {
    let seal = seal(1);
    let once = || seal.seal(Place::Lock, b"words").unwrap();
    assert_ne!(once(), once());
}
