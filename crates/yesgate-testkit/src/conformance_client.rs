//! The driver of the MCP conformance suite's client scenarios, for the gateway's side towards servers.
//!
//! The suite tests clients: it starts a server for a scenario, runs `conformance-client <its URL>`, and looks
//! at what arrives. The gateway is a client towards the servers behind it, but it does nothing by itself. So
//! the driver writes a configuration with that URL, starts `yesgate serve`, and does through the gateway what
//! the scenario wants to see done. With `--bare` it speaks to the suite's server itself, which shows what of
//! a verdict is the driver's own doing; in that way it passes all but `sse-retry` and
//! `http-invalid-tool-headers`, where the gateway has to do the work, and `auth/*`.
//!
//! The suite says which scenario it is in `MCP_CONFORMANCE_SCENARIO`, which revision to speak in
//! `MCP_CONFORMANCE_PROTOCOL_VERSION`, and, for some, more in `MCP_CONFORMANCE_CONTEXT`. What each scenario
//! needs is in [`scenario`].

use std::process::ExitCode;

mod caller;
mod gateway;
mod mirror;
pub mod scenario;

/// Plays one scenario.
pub fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (url, way) = match words.as_slice() {
        [url] => (*url, Way::Gateway),
        ["--bare", url] => (*url, Way::Bare),
        _ => {
            eprintln!("Usage: conformance-client [--bare] <url>");
            return ExitCode::from(2);
        }
    };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be made");
    let played = runtime.block_on(scenario::play(url, way));
    runtime.shutdown_background();
    match played {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// How the driver reaches the suite's server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Way {
    /// Through a gateway of its own.
    Gateway,
    /// Directly.
    Bare,
}

/// What ends a scenario early.
type Failure = Box<dyn std::error::Error + Send + Sync>;
