//! The plumbing of newline-delimited messages: our own stdin and stdout, and the pipes of children.
//!
//! A passed message crosses no thread: it is read, looked at and written on the thread of the runtime.
//! - [`host`] makes stdin and stdout of this process asynchronous.
//! - [`lines`] cuts a byte stream into messages, in bounded memory.
//! - [`writer`] sends messages whole, in order and without ever waiting.

pub mod host;
pub mod lines;
pub mod writer;
