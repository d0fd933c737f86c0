//! Bytes of a terminal, and the keys that they are.

use super::{Key, keys};

#[test]
fn keys_are_told_apart_and_nothing_else_is_a_letter() {
    for (bytes, expected) in [
        (b"j".as_slice(), vec![Key::Letter('j')]),
        ("aé".as_bytes(), vec![Key::Letter('a'), Key::Letter('é')]),
        (b"\x1b", vec![Key::Escape]),
        (b"\x1b[A\x1bOB", vec![Key::Up, Key::Down]),
        (b"\x1b[5~\x1b[6~", vec![Key::PageUp, Key::PageDown]),
        (b"\x1b[1;5Ca", vec![Key::Other, Key::Letter('a')]),
        (b"\r\n\x7f", vec![Key::Enter, Key::Enter, Key::Back]),
        (b"\x01\xff", vec![Key::Other, Key::Other]),
        (b"\x1b[", vec![Key::Other]),
    ] {
        assert_eq!(keys(bytes), expected, "{bytes:?}");
    }
}
