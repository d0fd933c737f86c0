//! Finds `yesgate`. Cargo builds the program that it is told to run, and not those which that one starts: a story that
//! cargo started asks it for the gate, too, and otherwise takes the one that lies beside it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

/// The path of the gate.
pub(crate) fn yesgate() -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe().context("this program cannot find itself")?;
    let folder = own.parent().context("this program lies in no folder")?;
    let yesgate = folder.join(format!("yesgate{}", std::env::consts::EXE_SUFFIX));
    if let Some(cargo) = std::env::var_os("CARGO") {
        let built = build(Command::new(cargo), folder, &yesgate)?;
        anyhow::ensure!(built, "the gate cannot be built");
    }
    anyhow::ensure!(
        yesgate.exists(),
        "there is no `yesgate` beside `{}`: `cargo build` makes one",
        own.display()
    );
    Ok(yesgate)
}

/// Has cargo build the gate into the folder of this program.
fn build(mut cargo: Command, folder: &Path, yesgate: &Path) -> anyhow::Result<bool> {
    let profile = match folder.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(profile) => profile,
    };
    // The examples are named so that everything is built as it was for them, and nothing twice.
    cargo.args(["build", "--package", "yesgate-examples", "--package", "yesgate", "--bin", "yesgate"]);
    cargo.args(["--locked", "--profile", profile]);
    cargo.arg("--manifest-path").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"));
    if let Some(target) = folder.parent() {
        cargo.arg("--target-dir").arg(target);
    }
    for (variable, _) in std::env::vars_os() {
        // What cargo told us about our own package would make it build others anew, which listen to the same words.
        if variable.to_str().is_some_and(|name| OF_THIS_PACKAGE.iter().any(|prefix| name.starts_with(prefix)))
        {
            cargo.env_remove(variable);
        }
    }
    // The first time takes long enough that one wants to see it go on.
    if yesgate.exists() {
        cargo.arg("--quiet");
    }
    Ok(cargo.status().context("cargo cannot be started")?.success())
}

const OF_THIS_PACKAGE: [&str; 5] =
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_"];
