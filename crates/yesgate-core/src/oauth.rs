//! Clients that people connect to the gateway by OAuth 2.1: what is known of them, what they were allowed, and the secrets
//! with which they come.
//!
//! INVARIANT: a secret is shown once and stored as its hash. A connection never allows more than its person said yes to,
//! and nothing that was revoked ever counts again.

mod client;
mod code;
mod connection;
mod device;
mod event;
mod parked;
mod refresh;
mod resource;
mod scope;
mod secret;

pub use self::client::{AuthMethod, ClientKind, GrantType, OAuthClient, OAuthClientId, Presentation};
pub use self::code::{Challenge, Code, CodeFault, Exchange};
pub use self::connection::{Access, Connection, End};
pub use self::device::{DeviceAnswer, DeviceRequest, Poll};
pub use self::event::{OAuthEvent, Way};
pub use self::parked::{Parked, ParkedState};
pub use self::refresh::{Presented, Refresh, Rotated};
pub use self::resource::{NoResource, Resource, Resources};
pub use self::scope::Scopes;
pub use self::secret::{
    AccessToken, AuthorizationCode, ClientSecret, ConsentSecret, DeviceCode, ManagementToken, RefreshToken,
    Ticket, UserCode,
};

#[cfg(test)]
mod tests;
