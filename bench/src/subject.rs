//! What is measured: the release build of `yesgate`, and the commands that start it.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;

/// The programs under test and a place for their files.
#[derive(Debug)]
pub(crate) struct Subject {
    /// This very program, which is also the server and the relay.
    own: PathBuf,
    yesgate: PathBuf,
    /// On the disk that the build is on: where temporary files live there is often no disk at all.
    scratch: TempDir,
    config: PathBuf,
}

impl Subject {
    /// Builds `yesgate` beside this program, so that both are of the same commit.
    pub(crate) fn build() -> Result<Self> {
        if cfg!(debug_assertions) {
            bail!("a debug build measures nothing: use `cargo xtask bench`");
        }
        let own = std::env::current_exe().context("this program cannot find itself")?;
        let folder = own.parent().context("this program is nowhere")?;
        let target = folder.parent().context("this program is not in a target directory")?;
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.current_dir(root()).args(["build", "--release", "--locked", "--package", "yesgate"]);
        cargo.arg("--target-dir").arg(target);
        // Build scripts that watch what cargo says of *this* package would run again.
        for (variable, _) in std::env::vars_os() {
            if variable
                .to_str()
                .is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_"))
            {
                cargo.env_remove(variable);
            }
        }
        if !cargo.status().context("cargo did not start")?.success() {
            bail!("`yesgate` could not be built");
        }
        let scratch = tempfile::Builder::new().prefix("bench-").tempdir_in(target)?;
        let config = scratch.path().join("yesgate.toml");
        // Not whatever the user has: what holds without a configuration, but a client may ask as fast as it can.
        fs::write(&config, "[asking]\nper_minute = 1000000\nopen = 1000000\n")?;
        Ok(Self { yesgate: folder.join("yesgate"), own, scratch, config })
    }

    /// The same gate, run by valgrind, which writes below a folder what each process does.
    pub(crate) fn watched(&self, valgrind: &Path, folder: &Path) -> Result<Self> {
        let scratch = self.folder()?;
        let program = scratch.path().join("yesgate");
        let [valgrind, folder, yesgate] = [valgrind, folder, &self.yesgate].map(Path::display);
        let script = format!(
            "#!/bin/sh\nexec '{valgrind}' --tool=callgrind --demangle=no --callgrind-out-file='{folder}/%p' '{yesgate}' \"$@\"\n"
        );
        fs::write(&program, script)?;
        fs::set_permissions(&program, Permissions::from_mode(0o700))?;
        let (own, config) = (self.own.clone(), self.config.clone());
        Ok(Self { own, yesgate: program, scratch, config })
    }

    /// The server alone.
    pub(crate) fn bare(&self, dangerous_tools: usize) -> Command {
        self.command(self.server(dangerous_tools))
    }

    /// The server behind a relay that looks at nothing.
    pub(crate) fn relayed(&self, dangerous_tools: usize) -> Command {
        let mut words = vec![self.own.clone(), "relay".into()];
        words.extend(self.server(dangerous_tools));
        self.command(words)
    }

    /// The server behind the gate.
    pub(crate) fn wrapped(&self, home: &Path, dangerous_tools: usize) -> Command {
        let mut command = self.command([self.yesgate.clone()]);
        command.arg("--home").arg(home).arg("--config").arg(&self.config);
        command.args(["wrap", "--name", "bench", "--"]).args(self.server(dangerous_tools));
        command
    }

    /// A command that looks at a home.
    pub(crate) fn asking(&self, home: &Path) -> Command {
        let mut command = self.command([self.yesgate.clone()]);
        command.arg("--home").arg(home).arg("--config").arg(&self.config);
        command
    }

    /// The gate in front of the servers of a configuration.
    pub(crate) fn serving(&self, home: &Path, config: &Path) -> Command {
        let mut command = self.command([self.yesgate.clone()]);
        command.arg("--home").arg(home).arg("--config").arg(config).arg("serve");
        // What it reports while it works belongs to no terminal here.
        command.env("YESGATE_LOG", "error");
        command
    }

    /// The gate's own program.
    pub(crate) fn yesgate(&self) -> &Path {
        &self.yesgate
    }

    /// This very program.
    pub(crate) fn own(&self) -> &Path {
        &self.own
    }

    /// The command line of the server.
    pub(crate) fn server(&self, dangerous_tools: usize) -> Vec<PathBuf> {
        vec![self.own.clone(), "server".into(), dangerous_tools.to_string().into()]
    }

    /// A new, empty directory; it is removed when it is dropped.
    pub(crate) fn folder(&self) -> Result<TempDir> {
        Ok(tempfile::tempdir_in(self.scratch.path())?)
    }

    /// The directory that everything is built in.
    pub(crate) fn target(&self) -> &Path {
        self.scratch.path().parent().unwrap_or(self.scratch.path())
    }

    /// The commit that is measured, as far as git knows it.
    pub(crate) fn commit() -> String {
        let git = |arguments: &[&str]| {
            let output = Command::new("git").current_dir(root()).args(arguments).output().ok()?;
            output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        };
        let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else {
            return "not committed".to_owned();
        };
        // The report itself is expected to be older than what it reports on.
        match git(&["status", "--porcelain", "--", ".", ":!bench/REPORT.md"]) {
            Some(changes) if changes.is_empty() => commit,
            Some(_) | None => format!("{commit}, with changes that are not committed"),
        }
    }

    /// Puts the report in its place.
    pub(crate) fn write_report(&self, text: &str) -> Result<()> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("REPORT.md");
        fs::write(&path, text).with_context(|| format!("`{}` cannot be written", path.display()))
    }

    /// Puts the list of what every gate runs in its place.
    pub(crate) fn write_order(&self, list: &str) -> Result<()> {
        let path = root().join("crates/yesgate/order.txt");
        fs::write(&path, list).with_context(|| format!("`{}` cannot be written", path.display()))
    }

    fn command(&self, words: impl IntoIterator<Item = PathBuf>) -> Command {
        let mut words = words.into_iter();
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).current_dir(self.scratch.path());
        for variable in ["YESGATE_HOME", "YESGATE_CONFIG", "YESGATE_LOG", "MCP_DRY_RUN"] {
            command.env_remove(variable);
        }
        command
    }
}

/// The root of the workspace.
fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}
