//! The conformance fixture as a program; what it does is in [`yesgate_testkit::conformance`].

use std::process::ExitCode;

fn main() -> ExitCode {
    yesgate_testkit::conformance::main()
}
