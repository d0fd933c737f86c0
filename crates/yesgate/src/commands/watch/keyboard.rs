//! Keys, and when they were pressed.
//!
//! INVARIANT: a key carries the moment at which it arrived here, so that one that was pressed too early is known as
//! that, however late it is looked at.

use std::io::Read as _;
use std::thread;

use tokio::sync::mpsc;
use tokio::time::Instant;

/// A key, and when it was pressed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Pressed {
    pub(super) key: Key,
    pub(super) at: Instant,
}

/// What was pressed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Key {
    /// A letter, or whatever else shows.
    Letter(char),
    Enter,
    Back,
    Escape,
    Up,
    Down,
    PageUp,
    PageDown,
    /// Anything else.
    Other,
}

/// Everything that is typed.
#[derive(Debug)]
pub(super) struct Keyboard(mpsc::Receiver<Pressed>);

impl Keyboard {
    /// Listens to stdin on a thread of its own, which ends with the process.
    pub(super) fn listen() -> std::io::Result<Self> {
        let (sender, pressed) = mpsc::channel(256);
        thread::Builder::new().name("keyboard".to_owned()).spawn(move || {
            let mut stdin = std::io::stdin().lock();
            let mut piece = [0; 64];
            while let Ok(length) = stdin.read(&mut piece)
                && length > 0
            {
                let at = Instant::now();
                for key in keys(piece.get(..length).unwrap_or_default()) {
                    // A peer that types faster than we look is no human.
                    if sender.try_send(Pressed { key, at }).is_err() && sender.is_closed() {
                        return;
                    }
                }
            }
        })?;
        Ok(Self(pressed))
    }

    /// The next key; `None`: there is no keyboard any more.
    pub(super) async fn next(&mut self) -> Option<Pressed> {
        self.0.recv().await
    }
}

/// The keys in what one read gave. A letter whose bytes came in two reads is none.
fn keys(bytes: &[u8]) -> Vec<Key> {
    let mut keys = Vec::new();
    let mut rest = bytes;
    while let Some((first, after)) = rest.split_first() {
        let (key, left) = match first {
            b'\r' | b'\n' => (Key::Enter, after),
            0x7f | 0x08 => (Key::Back, after),
            0x1b => escape(after),
            _ => letter(rest),
        };
        keys.push(key);
        rest = left;
    }
    keys
}

/// What follows an escape: nothing, or the name of a key.
fn escape(after: &[u8]) -> (Key, &[u8]) {
    let Some(sequence) = after.strip_prefix(b"[").or_else(|| after.strip_prefix(b"O")) else {
        return (Key::Escape, after);
    };
    let end = sequence.iter().position(|byte| (0x40..=0x7e).contains(byte));
    let (name, left) = end.and_then(|end| sequence.split_at_checked(end + 1)).unwrap_or((sequence, &[]));
    let key = match name {
        b"A" => Key::Up,
        b"B" => Key::Down,
        b"5~" => Key::PageUp,
        b"6~" => Key::PageDown,
        _ => Key::Other,
    };
    (key, left)
}

fn letter(bytes: &[u8]) -> (Key, &[u8]) {
    let valid = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => bytes
            .get(..error.valid_up_to())
            .and_then(|valid| std::str::from_utf8(valid).ok())
            .unwrap_or_default(),
    };
    match valid.chars().next() {
        Some(letter) => {
            let left = bytes.get(letter.len_utf8()..).unwrap_or_default();
            (if letter.is_control() { Key::Other } else { Key::Letter(letter) }, left)
        }
        None => (Key::Other, bytes.get(1..).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests;
