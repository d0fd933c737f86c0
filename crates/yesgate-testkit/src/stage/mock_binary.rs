//! Finds a program of this crate, such as `mock-server`, or `yesgate` for the tests of others, and builds it where it is
//! missing or stale.
//!
//! Cargo tells a test where the programs of its own package are, and builds them; it does neither for the
//! programs of a package that the tests depend on. Of the ways around that, this one has no second copy of
//! the server and nothing that a test runner could trip over: a test that starts itself again as a server
//! would have libtest's words on the JSON-RPC wire, a test target without a harness would be listed and run
//! by nextest as if it were a test, and artifact dependencies are not in stable cargo.
//!
//! The program lies beside the one that is tested, in the folder of the same target directory and profile. Whoever tests
//! the whole workspace has it there already, because this crate's own tests need it; `cargo test -p yesgate`
//! alone has it built by the first test that needs it. Whether it is stale is told by the list of sources that
//! cargo writes beside it (such as `mock-server.d`), which costs a few looks at the file system, not a start of
//! cargo for each test; where cargo built it for the tests of its own package it writes no list, and all sources of the
//! workspace are looked at. A lock lets one test build while the others wait.

use std::collections::HashSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// The path of this crate's program of this name, beside the given one.
///
/// # Panics
/// When it is missing and cannot be built.
#[track_caller]
pub(super) fn beside(yesgate: &Path, name: &str) -> PathBuf {
    found(yesgate, name, env!("CARGO_MANIFEST_DIR"))
}

/// The path of `yesgate` beside a program of a package whose tests need it, too.
///
/// # Panics
/// When it is missing and cannot be built.
#[track_caller]
pub fn yesgate_beside(program: impl AsRef<Path>) -> PathBuf {
    found(program.as_ref(), "yesgate", concat!(env!("CARGO_MANIFEST_DIR"), "/../yesgate"))
}

#[track_caller]
fn found(beside: &Path, name: &str, package: &str) -> PathBuf {
    static FRESH: Mutex<Option<HashSet<PathBuf>>> = Mutex::new(None);
    let folder = beside.parent().expect("a program lies in a folder");
    let program = folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    let mut fresh = FRESH.lock().unwrap_or_else(PoisonError::into_inner);
    let fresh = fresh.get_or_insert_default();
    if !fresh.contains(&program) {
        build_if_stale(folder, name, package, &program);
        fresh.insert(program.clone());
    }
    program
}

fn build_if_stale(folder: &Path, name: &str, package: &str, program: &Path) {
    if is_fresh(program, package) {
        return;
    }
    let turn = File::create(folder.join("mock-server.lock")).expect("the target directory can be written");
    turn.lock().expect("a file can be locked");
    // Another test may have built it while this one waited.
    if !is_fresh(program, package) {
        build(folder, name, package);
    }
    assert!(program.exists(), "cargo did not put `{name}` into `{}`", folder.display());
}

/// Whether the program is younger than all its sources.
fn is_fresh(program: &Path, package: &str) -> bool {
    let Some(built) = modified(program) else { return false };
    let Ok(list) = std::fs::read_to_string(program.with_extension("d")) else {
        return Path::new(package).parent().is_some_and(|crates| all_older(crates, built));
    };
    let Some((_, sources)) = list.lines().next().and_then(|line| line.split_once(": ")) else { return false };
    // A space in a path is written `\ `, as in a makefile.
    sources.replace("\\ ", "\0").split(' ').map(|source| source.replace('\0', " ")).all(|source| {
        // A source that is gone has changed.
        modified(Path::new(&source)).is_some_and(|changed| changed <= built)
    })
}

/// Whether no source in this folder is younger than that.
fn all_older(folder: &Path, built: SystemTime) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    entries.flatten().map(|entry| entry.path()).all(|path| {
        if path.is_dir() {
            // Tests are no part of a program.
            path.ends_with("tests") || all_older(&path, built)
        } else {
            modified(&path).is_some_and(|changed| changed <= built)
        }
    })
}

fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|metadata| metadata.modified()).ok()
}

/// Has cargo build the program into the same folder.
fn build(folder: &Path, name: &str, package: &str) {
    let profile = match folder.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(profile) => profile,
    };
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--locked", "--bin", name, "--profile", profile]);
    cargo.arg("--manifest-path").arg(Path::new(package).join("Cargo.toml"));
    cargo.arg("--target-dir").arg(folder.parent().expect("a profile lies in a target directory"));
    for (variable, _) in std::env::vars_os() {
        // What cargo told the test about the test's own package is not for the build of another one.
        if variable.to_str().is_some_and(|name| OF_THE_TEST.iter().any(|prefix| name.starts_with(prefix))) {
            cargo.env_remove(variable);
        }
    }
    let output = cargo.output().expect("cargo can be started");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "`{name}` cannot be built:\n{complaint}");
}

const OF_THE_TEST: [&str; 5] =
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_"];
