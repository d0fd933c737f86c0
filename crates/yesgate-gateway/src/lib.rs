//! The agent's side of Yesgate: MCP in, the gate, MCP out; both protocol eras.
//!
//! Start reading at [`gate::Gate::handle`]. Everything that is not a `tools/call` passes in the
//! sender's own bytes.

pub mod book;
pub mod cancel;
pub mod child;
pub mod envelope;
pub mod era;
pub mod gate;
mod look_up;
pub mod methods;
pub mod offer;
mod own_tools;
pub mod probe;
mod raw;
pub mod reply;
mod run;
pub mod session;
pub mod stdio;
pub mod upstream;
pub mod wrap;
