//! Promises of the examples: each tells its story in the one command that its README names, and what it tells is so.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod example;
mod hosts;
mod starting;
mod stories;
