//! Runs other programs from the workspace root and says plainly which of them failed.
//!
//! A child never sees the variables that `cargo run` sets for this program: build scripts that
//! watch them would see a change that is none, and build their crates again.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail};

/// The place from which programs are run: the root of the workspace.
#[derive(Clone, Debug)]
pub(crate) struct Shell {
    root: PathBuf,
}

impl Shell {
    /// Stands at the root of the workspace that this program was built from.
    pub(crate) fn at_workspace_root() -> Self {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        Self { root: here.ancestors().nth(2).unwrap_or(here).to_path_buf() }
    }

    /// Makes an absolute path out of one below the workspace root.
    pub(crate) fn path(&self, below_root: impl AsRef<Path>) -> PathBuf {
        self.root.join(below_root)
    }

    /// Prepares a program, named or by path.
    pub(crate) fn program(&self, name: impl AsRef<OsStr>) -> Program {
        let mut command = Command::new(name);
        command.current_dir(&self.root);
        for (variable, _) in std::env::vars_os() {
            if variable.to_str().is_some_and(describes_this_package) {
                command.env_remove(variable);
            }
        }
        Program { command }
    }

    /// Prepares the same cargo that started us.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Program {
        self.program(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())).args(arguments)
    }
}

/// A program about to be run.
///
/// Its `Display` is the command line, for messages.
#[must_use = "a program that is only prepared does nothing"]
#[derive(Debug)]
pub(crate) struct Program {
    command: Command,
}

impl Program {
    pub(crate) fn args<S: AsRef<OsStr>>(mut self, arguments: &[S]) -> Self {
        self.command.args(arguments);
        self
    }

    pub(crate) fn env(mut self, variable: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(variable, value);
        self
    }

    /// Runs it in sight of the user; anything but success is an error that names the command.
    pub(crate) fn run(mut self) -> Result<()> {
        let status = self.command.status().with_context(|| format!("`{self}` did not start"))?;
        if !status.success() {
            bail!("`{self}` failed ({status})");
        }
        Ok(())
    }

    /// Runs it and returns what it wrote to stdout; what it wrote to stderr is part of an error.
    pub(crate) fn read(mut self) -> Result<String> {
        let output = self.finish().with_context(|| format!("`{self}` did not start"))?;
        if !output.status.success() {
            let complaint = String::from_utf8_lossy(&output.stderr);
            bail!("`{self}` failed ({}): {}", output.status, complaint.trim());
        }
        String::from_utf8(output.stdout).with_context(|| format!("`{self}` did not write text"))
    }

    /// Tells whether it is there and content; it stays silent either way.
    pub(crate) fn answers(mut self) -> bool {
        self.finish().is_ok_and(|output| output.status.success())
    }

    fn finish(&mut self) -> std::io::Result<Output> {
        self.command.stdin(Stdio::null()).output()
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Path::new(self.command.get_program());
        write!(f, "{}", name.file_name().unwrap_or(name.as_os_str()).display())?;
        for argument in self.command.get_args() {
            write!(f, " {}", argument.display())?;
        }
        Ok(())
    }
}

/// Tells whether cargo sets this variable to describe the package it runs.
fn describes_this_package(variable: &str) -> bool {
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_"]
        .iter()
        .any(|prefix| variable.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell() -> Shell {
        Shell::at_workspace_root()
    }

    #[test]
    fn the_root_is_where_the_workspace_manifest_is() {
        let manifest = std::fs::read_to_string(shell().path("Cargo.toml")).unwrap();
        assert!(manifest.contains("[workspace]"));
    }

    #[test]
    fn a_failure_names_the_command_and_its_complaint() {
        let error = shell().cargo(&["no-such-subcommand-at-all"]).read().unwrap_err();
        let text = format!("{error:#}");
        assert!(text.starts_with("`cargo no-such-subcommand-at-all` failed"), "{text}");
        assert!(text.contains("no such command"), "{text}");
    }

    #[test]
    fn a_program_that_is_not_there_does_not_answer() {
        assert!(!shell().program("no-such-program-at-all").answers());
        assert!(shell().cargo(&["--version"]).answers());
    }

    #[test]
    fn children_are_not_told_which_package_we_are() {
        assert!(describes_this_package("CARGO_PKG_VERSION"));
        assert!(describes_this_package("CARGO_MANIFEST_DIR"));
        assert!(!describes_this_package("CARGO_HOME"));
        assert!(!describes_this_package("CARGO_TARGET_DIR"));
        assert!(!describes_this_package("PATH"));
    }
}
