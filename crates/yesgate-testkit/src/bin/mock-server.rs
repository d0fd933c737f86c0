//! The mock server as a program; what it does is in [`yesgate_testkit::mock_server`].

use std::process::ExitCode;

fn main() -> ExitCode {
    yesgate_testkit::mock_server::main()
}
