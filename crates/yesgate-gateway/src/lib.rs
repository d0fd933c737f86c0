//! The agent's side of Yesgate: MCP in, the gate, MCP out; both protocol eras.
//!
//! Start reading at [`gate::Gate::handle`]. Everything that is not a `tools/call` passes in the
//! sender's own bytes.

pub mod base;
pub mod board;
pub mod book;
mod bridge;
pub mod cancel;
mod channel;
pub mod child;
pub mod custom;
pub mod door;
pub mod envelope;
pub mod era;
pub mod errand;
pub mod front;
pub mod gate;
pub mod hearing;
pub mod hub;
mod input;
mod job;
mod look_up;
pub mod manners;
pub mod methods;
pub mod metrics;
pub mod mirror;
pub mod offer;
mod own_tools;
pub mod probe;
mod raw;
pub mod reply;
pub mod rest;
mod run;
mod runs;
pub mod scan;
pub mod server;
pub mod session;
pub mod sign_in;
pub mod stdio;
pub mod talk;
pub mod trace;
pub mod upstream;
pub mod wrap;
