//! Who is calling: the OAuth 2.1 server of Yesgate, and the check of its tokens.
//!
//! Invariants:
//! - A secret leaves once, in the answer that hands it out, and is known by its hash from then on. None stands in a log.
//! - Nothing is allowed that a person did not say yes to on a page of ours; the pages are `yesgate-web`'s.
//! - Whatever strangers can make grow has a bound.

mod answer;
mod asking;
mod authorize;
mod bearers;
mod client_auth;
mod clients;
mod device;
mod documents;
mod endpoints;
mod external;
mod fault;
mod form;
mod governed;
mod introspect;
mod limits;
mod metadata;
mod redirect;
mod register;
mod registration;
mod revoke;
mod sealing;
mod server;
mod standing;
mod token;
mod words;

pub use self::asking::{Answered, Asked, AskedScope, Authorizing, NotAsked};
pub use self::documents::fault::DocumentFault;
pub use self::documents::{Documents, DocumentsError, Freshness};
pub use self::external::{ExternalBearers, ExternalError};
pub use self::server::{AuthServer, OAuthSettings};
