//! Who somebody is, in the words of an OpenID provider that the operator trusts.
//!
//! [`jws`] verifies signed tokens under a set of keys and does nothing else; [`keys`] has those keys, fetched from their
//! issuer and kept for a while; [`issuer`] finds them where the issuer's metadata says; [`provider`] is the code flow of OpenID Connect on top of both.
//!
//! Invariants:
//! - No token counts without a signature under a key of the issuer that the operator wrote, by an algorithm with a public
//!   key: never `none`, never a shared secret.
//! - Nothing that a token says of itself (`jku`, `jwk`, `x5u`) says where its key is.
//! - Every fetch is bounded in time and size, and follows no redirect.

mod fetching;
pub mod issuer;
pub mod jws;
pub mod keys;
pub mod provider;

pub use self::fetching::FetchFault;
pub use self::issuer::{Issuer, IssuerError};
pub use self::jws::{JwsError, KeySet, Verified, verify};
pub use self::keys::{Keys, Unverified};
pub use self::provider::{Begun, ClaimError, Identity, OidcError, Provider, ProviderSettings};
