//! The parts of the kit, tried without a gateway: the server does what it is told, and the host hears it.

mod browser;
mod conformance;
mod misbehaviour;
mod server;
mod web_misbehaviour;
mod web_server;

use yesgate_testkit::Stage;

/// A stage for this crate's own tests: they need no `yesgate`, only a program in the right folder.
fn stage() -> Stage {
    Stage::new(env!("CARGO_BIN_EXE_mock-server"))
}
