//! The memory of Yesgate: what was asked, answered and spent, and the chain that proves it.
//!
//! Invariants:
//! - An intent changes only inside [`Ledger::update`] and its siblings: one write transaction,
//!   with the audit rows of the change in it, and durable before anything leaves.
//! - A redeemed intent is never redeemable again: not after a crash, a restart, another process
//!   on the same file, or a turned clock.
//! - An error means that nothing was changed as far as the caller may rely on it: what the closure
//!   returned is dropped, so nothing runs.
//! - What questions are about is stored sealed; what is needed to search and to verify stands beside it.
//! - A bearer key is here as its hash only, a kept secret as somebody else sealed it.
//! - Nothing of the store that is used can be seen from outside; another one can join.

mod boots;
mod brake;
mod change;
mod changes;
mod credentials;
mod engine;
mod error;
mod figures;
mod filter;
mod grants;
mod head;
mod kept;
mod keys;
mod ledger;
mod life;
mod listing;
mod lock;
mod oauth;
mod origin;
mod pace;
mod people;
mod prune;
mod purge;
mod readiness;
mod regime;
mod report;
mod seal;
mod secret;
mod sight;
mod skew;
mod spending;
mod store;
mod told;
mod trail;

pub use self::brake::Marks;
pub use self::changes::Changes;
pub use self::credentials::KeptCredential;
pub use self::engine::postgres::address::{AddressError, DatabaseAddress};
pub use self::engine::postgres::inspection::{DatabaseState, Followers, Line, Revival, Role};
pub use self::error::LedgerError;
pub use self::figures::{DayFigures, Figures, PersonFigures, Pondered};
pub use self::filter::Filter;
pub use self::ledger::{Ledger, Swept};
pub use self::listing::{Asks, Listed, Listing, Stage};
pub use self::oauth::{
    Admitted, Consent, DeviceAnswered, EndedAll, Exchanged, Issued, KeptConnection, NewTokens, NoRoom,
    ParkedAnswer, Refreshed, Refreshing, Room,
};
pub use self::people::{LinkUse, NewSession, NotSet};
pub use self::prune::{Beginning, Pruning};
pub use self::purge::Purged;
pub use self::readiness::Readiness;
pub use self::regime::Suspected;
pub use self::report::{AuditRow, Fault, VerifyReport};
pub use self::secret::{KeyError, SecretKey};
pub use self::sight::Sighted;
pub use self::spending::Spending;
pub use self::trail::{Inspection, Progress, Rows, Tell};
