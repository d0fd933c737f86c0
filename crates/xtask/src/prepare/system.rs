//! Programs that must come from the operating system: looked for, and installed where that is possible.

use anyhow::{Result, bail};

use crate::shell::{Program, Shell};

/// A program that must come from the operating system.
pub(super) struct SystemProgram {
    pub(super) name: &'static str,
    /// The packages that have it, as Debian and its relatives call them.
    pub(super) debian: &'static [&'static str],
    /// Succeeds where the program is there and new enough.
    pub(super) probe: fn(&Shell) -> Program,
}

/// Looks for what is missing and installs it where that is possible without asking.
pub(super) fn install_system_programs(shell: &Shell, wanted: &'static [SystemProgram]) -> Result<()> {
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
