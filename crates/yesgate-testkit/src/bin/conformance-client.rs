//! The driver of the suite's client scenarios as a program; see [`yesgate_testkit::conformance_client`].

use std::process::ExitCode;

fn main() -> ExitCode {
    yesgate_testkit::conformance_client::main()
}
