//! The human's side of Yesgate: sign-in, the inbox, and the pages on which a question is decided.
//!
//! Start reading at `Site::handle` in `site.rs`; `table.rs` lists every path and who may come to it.
//!
//! Invariants:
//! - Opening a page changes nothing: only a `POST` does, from a page of ours, by somebody who is signed in, with a
//!   token that was made for that very form and is used once.
//! - Whatever did not come from us is shown as [`yesgate_core::render::Sanitized`] text.
//! - It never talks to the agent's side. The two meet in the ledger; what needs the configuration is asked of a
//!   [`desk::Desk`].

mod alarms;
mod answer;
mod api;
mod assets;
mod browser;
mod budgets;
pub mod by_mail;
mod clients;
mod connect;
mod consent;
mod decide;
pub mod desk;
mod device;
mod diff;
mod edit;
mod figures;
mod form;
mod goal;
mod grants;
mod history;
mod inbox;
mod keys;
mod leafing;
mod limits;
mod live;
mod passkeys;
mod people;
mod policy;
mod question;
mod receipt;
mod redirect;
mod reference;
mod saying;
mod sessions;
mod sign_in;
mod site;
mod stop;
mod table;
mod token;
mod tools;
mod trail;
pub mod upstream;
mod view;
mod visit;

pub use self::api::openapi::{Described, described};
pub use self::keys::{Keys, refresh};
pub use self::site::{Site, SiteSettings};
