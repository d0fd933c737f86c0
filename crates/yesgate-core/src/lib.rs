//! The judgement of Yesgate: what a call is, what a yes is bound to, and what may run.
//!
//! Pure: no I/O, no async, no clock, no dice, no environment. Time and randomness are arguments,
//! so a sixty-second rule is tested at second 59 and 60.

pub mod amount;
pub mod approvers;
pub mod assurance;
pub mod audit;
pub mod budget;
pub mod call;
pub mod caller;
pub mod checkpoint;
pub mod class;
pub mod clock;
pub mod definition;
pub mod digest;
#[cfg(test)]
mod fixture;
pub mod form;
pub mod grant;
pub mod held;
pub mod id;
pub mod intent;
pub mod json;
pub mod key;
pub mod mode;
pub mod oauth;
pub mod pace;
pub mod permit;
pub mod person;
pub mod policy;
pub mod proof;
pub mod redact;
pub mod refusal;
pub mod regime;
pub mod render;
pub mod secret;
pub mod suggest;
pub mod switch;
pub mod token;
pub mod verdict;
