//! What is sealed opens only where it belongs.

use yesgate_ledger::SecretKey;

use super::{Belongs, open, seal};
use crate::sign_in::tests::Dice;

const HOME: Belongs<'_> = Belongs { server: "notes", url: "https://notes.example/mcp" };

fn key(digit: &str) -> SecretKey {
    SecretKey::load(std::path::Path::new("/nowhere"), Some(&digit.repeat(64)), &Dice).unwrap()
}

#[test]
fn what_was_sealed_opens_only_where_it_belongs() {
    let sealed = seal(&key("a"), [3; 32], HOME, "https://issuer.example", b"token".to_vec()).unwrap();
    assert_eq!(open(&key("a"), HOME, &sealed).as_deref(), Some(b"token".as_slice()));
    assert_eq!(open(&key("b"), HOME, &sealed), None, "another key");
    for elsewhere in [
        Belongs { server: "mail", ..HOME },
        Belongs { url: "https://notes.example/mcp2", ..HOME },
        Belongs { server: "note", url: "shttps://notes.example/mcp" },
    ] {
        assert_eq!(open(&key("a"), elsewhere, &sealed), None, "{elsewhere:?}");
    }
}

#[test]
fn no_bit_of_it_can_be_changed_and_no_part_left_out() {
    let sealed = seal(&key("a"), [3; 32], HOME, "https://issuer.example", b"token".to_vec()).unwrap();
    for index in 0..sealed.len() {
        let mut changed = sealed.clone();
        changed[index] ^= 1;
        assert_eq!(open(&key("a"), HOME, &changed), None, "byte {index}");
        assert_eq!(open(&key("a"), HOME, &sealed[..index]), None, "only {index} bytes");
    }
}
