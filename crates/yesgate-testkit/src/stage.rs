//! Where one test plays: a home, a configuration and an upstream log of its own, in a folder that goes with it.
//!
//! Nothing of the machine's own set-up is seen: no `YESGATE_…` variable, no `MCP_DRY_RUN`, no configuration
//! of the user. The configuration lies outside the working directory, as an operator's would.

pub mod account;
mod mock_binary;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use serde_json::Value;
use tempfile::TempDir;

use self::account::Account;
pub use self::mock_binary::yesgate_beside;
use crate::history::{self, Carrier, History};
use crate::host::Host;
use crate::host::pipes::Pipes;
use crate::upstream_log::{self, Received};
use crate::wait::{DEADLINE, until};

/// The set-up of one test. It may be shared between threads.
#[derive(Debug)]
pub struct Stage {
    folder: TempDir,
    yesgate: PathBuf,
    mock_server: PathBuf,
    server_name: String,
    has_config: bool,
    env: Vec<(OsString, OsString)>,
    server_args: Vec<OsString>,
    wrap_args: Vec<OsString>,
    ungated: Vec<String>,
    account: Option<Account>,
}

impl Stage {
    /// A stage for this `yesgate` binary: in a test of crate `yesgate`, `env!("CARGO_BIN_EXE_yesgate")`.
    ///
    /// # Panics
    /// When there is no place for temporary files, or no mock server.
    #[track_caller]
    pub fn new(yesgate: impl Into<PathBuf>) -> Self {
        let folder = tempfile::tempdir().expect("there is a place for temporary files");
        for name in ["home", "work", "operator", "user"] {
            std::fs::create_dir(folder.path().join(name)).expect("a folder can be made");
        }
        let yesgate = yesgate.into();
        Self {
            mock_server: mock_binary::beside(&yesgate, "mock-server"),
            yesgate,
            folder,
            server_name: "mock".into(),
            has_config: false,
            env: Vec::new(),
            server_args: Vec::new(),
            wrap_args: Vec::new(),
            ungated: vec!["read_note".into()],
            account: None,
        }
    }

    /// Gives the gateway a configuration.
    #[must_use]
    pub fn config(mut self, toml: &str) -> Self {
        self.has_config = true;
        self.set_config(toml);
        self
    }

    /// Sets a variable for every process of this stage.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.as_ref().into(), value.as_ref().into()));
        self
    }

    /// Adds to the mock server's command line, which is part of what the server is to the gateway.
    #[must_use]
    pub fn server_args<S: AsRef<OsStr>>(mut self, args: &[S]) -> Self {
        self.server_args.extend(args.iter().map(|word| word.as_ref().into()));
        self
    }

    /// Has the mock server say that these tools only read, and does not expect questions about them.
    #[must_use]
    pub fn read_only(mut self, tools: &[&str]) -> Self {
        for tool in tools {
            self = self.server_args(&["--read-only", tool]);
        }
        self.ungated(tools)
    }

    /// Adds to the options of `yesgate wrap`, such as `--untrusted`.
    #[must_use]
    pub fn wrap_args<S: AsRef<OsStr>>(mut self, args: &[S]) -> Self {
        self.wrap_args.extend(args.iter().map(|word| word.as_ref().into()));
        self
    }

    /// Gives the server another name than `mock`.
    #[must_use]
    pub fn server_name(mut self, name: &str) -> Self {
        self.server_name = name.into();
        self
    }

    /// Tells [`Self::check_history`] that the configuration lets these tools run without a question.
    /// `read_note` always is one of them.
    #[must_use]
    pub fn ungated(mut self, tools: &[&str]) -> Self {
        self.ungated.extend(tools.iter().map(ToString::to_string));
        self
    }

    /// Has every process of this stage run under an account of the machine, which owns all of it from here on. To be
    /// said last.
    ///
    /// # Panics
    /// When the test does not run as root.
    #[must_use]
    #[track_caller]
    pub fn owned_by(mut self, account: Account) -> Self {
        account.take(self.folder.path());
        account.close(&self.home());
        self.account = Some(account);
        self
    }

    /// Has the mock server's tool `slow` wait for [`Self::open_gate`].
    #[must_use]
    pub fn gate(self) -> Self {
        let gate = self.gate_file();
        self.server_args(&[OsStr::new("--gate"), gate.as_os_str()])
    }

    /// Lets the tool `slow` answer.
    ///
    /// # Panics
    /// When the file cannot be written.
    pub fn open_gate(&self) {
        std::fs::write(self.gate_file(), "").expect("a file can be written");
    }

    /// Replaces the configuration for processes that start from now on.
    ///
    /// # Panics
    /// When the file cannot be written, or the stage was built without [`Self::config`].
    pub fn set_config(&self, toml: &str) {
        assert!(self.has_config, "a stage without a configuration cannot get one later");
        std::fs::write(self.config_file(), toml).expect("a file can be written");
    }

    /// Gives further flags to mock servers that start from now on, in place of earlier ones. Their command
    /// line, and so what they are to the gateway, stays as it is.
    ///
    /// # Panics
    /// When the file cannot be written.
    pub fn behave(&self, flags: &[&str]) {
        std::fs::write(self.folder.path().join("behaviour"), flags.join("\n"))
            .expect("a file can be written");
    }

    /// Starts the gateway with the mock server behind it.
    #[track_caller]
    pub fn host(&self) -> Host {
        let mut command = self.command(&["wrap", "--name", &self.server_name]);
        command.args(&self.wrap_args).arg("--").args(self.server_words());
        Host::spawn(command)
    }

    /// Starts the mock server without a gateway.
    #[track_caller]
    pub fn bare(&self) -> Host {
        let mut command = Command::new(&self.mock_server);
        self.prepare(&mut command);
        command.args(self.server_words().iter().skip(1));
        Host::spawn(command)
    }

    /// The mock server's command, as the gateway gets it.
    pub fn server_words(&self) -> Vec<OsString> {
        let mut words = vec![self.mock_server.clone().into_os_string()];
        words.extend(["--log".into(), self.log_file().into_os_string()]);
        words.extend(["--behaviour".into(), self.folder.path().join("behaviour").into_os_string()]);
        words.extend(self.server_args.iter().cloned());
        words
    }

    /// Runs `yesgate` with these words, without a terminal and with nothing on stdin, to its end.
    ///
    /// # Panics
    /// When it does not start, or does not end within twice the [`DEADLINE`].
    #[track_caller]
    pub fn yesgate<S: AsRef<OsStr>>(&self, args: &[S]) -> Output {
        let mut pipes = Pipes::open(self.command(args));
        pipes.close();
        // `approve` itself waits up to one deadline for the end of what it approved.
        let status = pipes.ended(2 * DEADLINE);
        Output { status, stdout: pipes.stdout().concat(), stderr: pipes.stderr() }
    }

    /// `yesgate` with these words, ready to be started in this stage by a test of its own kind.
    pub fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new(&self.yesgate);
        self.prepare(&mut command);
        command.args(args);
        command
    }

    /// The questions that are open: `yesgate pending --json`.
    #[track_caller]
    pub fn pending(&self) -> Vec<Value> {
        self.yesgate(&["pending", "--json"]).ok().list()
    }

    /// Waits until a question waits for an answer, and gives it back.
    #[track_caller]
    pub fn wait_for_question(&self) -> Value {
        until("a question", || self.pending().into_iter().find(|question| question["state"] == "pending"))
    }

    /// Every line that mock servers of this stage received, in order.
    pub fn upstream_lines(&self) -> Vec<Received> {
        upstream_log::read(&self.log_file())
    }

    /// The `tools/call` messages that mock servers of this stage received, in order.
    pub fn upstream_calls(&self) -> Vec<Value> {
        self.upstream_lines().iter().filter_map(Received::call).collect()
    }

    /// All rows of the audit trail, the oldest first.
    #[track_caller]
    pub fn audit(&self) -> Vec<Value> {
        let mut rows = self.yesgate(&["audit", "list", "--json", "--last", "100000"]).ok().list();
        rows.sort_by_key(|row| row["sequence"].as_u64());
        rows
    }

    /// Joins what the server really received with what the ledger says; see [`history`].
    ///
    /// To be called when nothing is under way: best after [`Host::close`] or [`Host::kill9`].
    ///
    /// # Panics
    /// When the ledger's chain is broken, or the two do not fit; the message says where.
    #[track_caller]
    pub fn check_history(&self) -> History {
        self.check_history_of(&self.server_name, Carrier::Pipe, &self.upstream_lines(), &self.ungated)
    }

    /// The same for one of several servers, by what it says that it received.
    #[track_caller]
    pub(crate) fn check_history_of(
        &self,
        server: &str,
        carrier: Carrier,
        received: &[Received],
        ungated: &[String],
    ) -> History {
        // The judge that ships, with the same log; the one below is older, and knows what carried the calls.
        let log = self.file(&format!("upstream-{server}.jsonl"));
        upstream_log::write_json(&log, received);
        self.verify_upstream(server, &log, ungated).ok();
        let rows = self.audit();
        let shown = |intent: &str| self.yesgate(&["show", intent, "--json"]).ok().json()["arguments"].clone();
        match history::check(server, carrier, received, &rows, ungated, shown) {
            Ok(history) => history,
            Err(problems) => {
                panic!("the upstream log and the ledger do not fit:\n  {}", problems.join("\n  "))
            }
        }
    }

    /// `yesgate audit verify` with a server's log of JSON lines, by clocks that are one and the same.
    #[track_caller]
    pub fn verify_upstream(&self, server: &str, log: &Path, free: &[String]) -> Output {
        let mut words: Vec<OsString> =
            ["audit", "verify", "--server", server, "--skew", "0s"].map(Into::into).into();
        words.extend(["--upstream-log".into(), log.into()]);
        words.extend(free.iter().flat_map(|tool| ["--free".into(), tool.into()]));
        self.yesgate(&words)
    }

    /// A file of the test's own, beside home, work and configuration.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The folder of the ledger.
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// The working directory of all processes, where an agent may write.
    pub fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// The mock server's program.
    pub fn mock_server(&self) -> &Path {
        &self.mock_server
    }

    /// The program of the [conformance fixture](crate::conformance).
    ///
    /// # Panics
    /// When it is missing and cannot be built.
    #[track_caller]
    pub fn conformance_server(&self) -> PathBuf {
        mock_binary::beside(&self.yesgate, "conformance-server")
    }

    /// The `yesgate` program.
    pub fn program(&self) -> &Path {
        &self.yesgate
    }

    fn prepare(&self, command: &mut Command) {
        for (name, _) in std::env::vars_os() {
            let of_us =
                name.to_str().is_some_and(|name| name.starts_with("YESGATE_") || name == "MCP_DRY_RUN");
            if of_us {
                command.env_remove(name);
            }
        }
        let user = self.folder.path().join("user");
        command
            .env("HOME", &user)
            .env("XDG_CONFIG_HOME", user.join("config"))
            .env("XDG_DATA_HOME", user.join("data"));
        command.env("YESGATE_HOME", self.home());
        if self.has_config {
            command.env("YESGATE_CONFIG", self.config_file());
        }
        command.envs(self.env.iter().cloned()).current_dir(self.work());
        if let Some(account) = self.account {
            account.runs(command);
        }
    }

    pub(crate) fn config_file(&self) -> PathBuf {
        self.folder.path().join("operator/yesgate.toml")
    }

    fn log_file(&self) -> PathBuf {
        self.folder.path().join("upstream.log")
    }

    fn gate_file(&self) -> PathBuf {
        self.folder.path().join("gate")
    }
}

/// How a run of `yesgate` ended, and what it said.
#[derive(Clone, Debug)]
pub struct Output {
    /// How it ended.
    pub status: ExitStatus,
    /// What it printed.
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
}

impl Output {
    /// The exit code.
    ///
    /// # Panics
    /// When a signal ended it.
    #[track_caller]
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| panic!("ended by a signal: {self:#?}"))
    }

    /// The same, if it went well.
    ///
    /// # Panics
    /// When it did not.
    #[track_caller]
    pub fn ok(self) -> Self {
        assert!(self.status.success(), "{}\nstdout:\n{}\nstderr:\n{}", self.status, self.stdout, self.stderr);
        self
    }

    /// What it printed, as JSON.
    ///
    /// # Panics
    /// When it is no JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("no JSON ({error}): {self:#?}"))
    }

    /// What it printed, as a JSON array.
    #[track_caller]
    pub(crate) fn list(&self) -> Vec<Value> {
        match self.json() {
            Value::Array(items) => items,
            other @ (Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Object(_)) => {
                panic!("no list: {other:#}")
            }
        }
    }
}
