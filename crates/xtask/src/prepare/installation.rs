//! One set of foreign packages in exact versions, in a folder of its own, with a stamp that says which they are.
//!
//! INVARIANT: the stamp is written last; a run that was interrupted is done again from nothing.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::system::{SystemProgram, install_system_programs};
use crate::shell::Shell;

/// What is installed together, and installed anew when any part of it changes.
pub(super) struct Installation {
    /// What it is, in messages.
    pub(super) name: &'static str,
    /// Its folder below that of the peers.
    pub(super) folder: &'static str,
    /// What the operating system must have.
    pub(super) programs: &'static [SystemProgram],
    /// Python packages with their versions, each with a module that it brings; they go into `python`.
    pub(super) python: &'static [(&'static str, &'static str)],
    /// npm packages and their versions; they go into `npm`.
    pub(super) npm: &'static [(&'static str, &'static str)],
    /// What a finished installation has, below its folder.
    pub(super) products: fn() -> Vec<String>,
}

impl Installation {
    /// Installs it where it is missing or not as wanted.
    pub(super) fn bring_up_to_date(&self, shell: &Shell, peers: &Path) -> Result<()> {
        // Looked for in any case: the packages may have been kept on a machine that is new.
        install_system_programs(shell, self.programs)?;
        let folder = peers.join(self.folder);
        if self.is_fresh(&folder) {
            println!("{}: up to date", self.name);
            return Ok(());
        }
        self.install(shell, &folder)
    }

    /// Tells whether the wanted versions are installed, without starting anything.
    fn is_fresh(&self, folder: &Path) -> bool {
        fs::read_to_string(folder.join("stamp")).is_ok_and(|stamp| stamp == self.wanted_stamp())
            && (self.products)().iter().all(|product| folder.join(product).exists())
    }

    /// Everything that decides what an installation looks like.
    fn wanted_stamp(&self) -> String {
        let lines = self.packages().into_iter().chain([String::new()]);
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Every package with its version, as its registry writes it.
    fn packages(&self) -> Vec<String> {
        let python = self.python.iter().map(|(package, _)| (*package).to_owned());
        python.chain(self.npm.iter().map(|(name, version)| format!("{name}@{version}"))).collect()
    }

    fn install(&self, shell: &Shell, folder: &Path) -> Result<()> {
        for stale in ["stamp", "python", "npm"] {
            remove(&folder.join(stale)).with_context(|| format!("the old `{stale}` cannot be removed"))?;
        }
        println!("{}: installing {}", self.name, self.packages().join(", "));
        if !self.python.is_empty() {
            let (packages, modules): (Vec<&str>, Vec<&str>) = self.python.iter().copied().unzip();
            let python = folder.join("python");
            install_python(shell, &python, &packages)?;
            let import = format!("import {}", modules.join(", "));
            shell.program(python.join("bin/python")).args(&["-c", &import]).run()?;
        }
        if !self.npm.is_empty() {
            install_npm(shell, &folder.join("npm"), self.npm)?;
        }

        if let Some(absent) = (self.products)().iter().find(|product| !folder.join(product).exists()) {
            bail!("the packages were installed, but `{absent}` is not among them");
        }
        fs::write(folder.join("stamp"), self.wanted_stamp()).context("the stamp cannot be written")
    }
}

/// Installs Python packages into an environment of their own.
pub(super) fn install_python(shell: &Shell, folder: &Path, packages: &[&str]) -> Result<()> {
    shell.program("python3").args(&["-m", "venv"]).args(&[folder]).run()?;
    // Wheels only: a package that wants to be compiled would need more than we promise to need.
    shell
        .program(folder.join("bin/python"))
        .args(&["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"])
        .args(packages)
        .run()
}

/// Installs npm packages into a folder.
pub(super) fn install_npm(shell: &Shell, folder: &Path, packages: &[(&str, &str)]) -> Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;

    const PACKAGES: [(&str, &str); 2] = [("@scope/first", "1.2.3"), ("second", "4.5.6")];

    const INSTALLATION: Installation = Installation {
        name: "test",
        folder: "",
        programs: &[],
        python: &[("third==7.8.9", "third")],
        npm: &PACKAGES,
        products: || vec!["product".to_owned()],
    };

    #[test]
    fn the_generated_package_json_pins_every_package() {
        let json: serde_json::Value = serde_json::from_str(&package_json(&PACKAGES)).unwrap();
        assert_eq!(json["private"], true);
        for (name, version) in PACKAGES {
            assert_eq!(json["dependencies"][name], version);
        }
    }

    #[test]
    fn the_stamp_names_every_package_with_its_version() {
        assert_eq!(INSTALLATION.wanted_stamp(), "third==7.8.9\n@scope/first@1.2.3\nsecond@4.5.6\n");
    }

    #[test]
    fn an_empty_folder_is_not_fresh() {
        assert!(!INSTALLATION.is_fresh(Path::new("no/such/folder")));
    }
}
