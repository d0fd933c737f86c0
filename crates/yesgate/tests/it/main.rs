//! Promises that are shown through the real binary and the public library.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod children;
mod demo;
mod documents;
mod library;
