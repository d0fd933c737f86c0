//! The person of the suite's authorization scenarios as a program; see [`yesgate_testkit::conformance_person`].

use std::process::ExitCode;

fn main() -> ExitCode {
    yesgate_testkit::conformance_person::main()
}
