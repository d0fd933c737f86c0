//! The wire under both sides of Yesgate: HTTP in and out, with a limit on everything a peer can take.
//!
//! It knows sockets, browsers and event streams, and how a refusal is told over HTTP, and nothing of MCP or pages. The
//! agent's side and the human's side both stand on it, and so never need each other.

pub mod edge;
pub mod fetch;
mod patience;
pub mod problem;
pub mod refused;
pub mod sse;
