//! What stands behind a `verified` yes: whose key is whose, how it is enrolled, and whether it signed exactly this.
//!
//! INVARIANT: nothing is a person's key that the gateway itself has not sealed, and nothing is a signature that the
//! libraries for it do not confirm. No I/O: what is stored comes in and goes out as values.

pub mod ceremony;
pub mod checkpoint;
pub mod credential;
pub mod receipt;
pub mod registry;
pub mod seal;
pub mod ssh;
