//! Has the linker put side by side what every gate runs.
//!
//! The system brings a program into memory in windows around each place that is run. Spread over all windows, the fifth of
//! the code that an idle gate has run brought nearly everything else along ([decision 0060](../../docs/decisions/0060-what-runs-lies-together.md)).

use std::env;

fn main() {
    println!("cargo::rerun-if-changed={ORDER}");
    println!("cargo::rerun-if-changed=build.rs");
    let is = |variable: &str, value: &str| env::var(variable).is_ok_and(|found| found == value);
    // There the toolchain brings its own linker, which takes such a list. Names of another build are passed over.
    if is("TARGET", "x86_64-unknown-linux-gnu") && is("PROFILE", "release") && !names_a_linker() {
        let folder = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
        println!("cargo::rustc-link-arg-bins=-Wl,--symbol-ordering-file={folder}/{ORDER}");
        println!("cargo::rustc-link-arg-bins=-Wl,--no-warn-symbol-ordering");
    }
}

/// Whether somebody chose how to link: whatever that is, it may not know what to do with a list.
fn names_a_linker() -> bool {
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    env::var_os("RUSTC_LINKER").is_some() || flags.contains("link")
}

/// The names of the functions, as the linker knows them.
const ORDER: &str = "order.txt";
