//! Where a test of `yesgate serve` plays: a home and a configuration of its own, servers over HTTP and on
//! stdio behind the gateway, and the gateway as a process.
//!
//! Each server keeps a log of its own. As with [`Stage`], no test that runs something gated should end
//! without one of the `check_history` functions.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Instant;

use serde_json::Value;

use crate::history::{Carrier, History};
use crate::host::Host;
use crate::host::pipes::Pipes;
use crate::mock_http::MockHttp;
use crate::rest_host::RestHost;
use crate::stage::account::Account;
use crate::stage::{Output, Stage};
use crate::upstream_log::{self, Received};
use crate::visitor::Visitor;
use crate::wait::{DEADLINE, pause, until};
use crate::web_host::WebHost;

/// The set-up of one test of `yesgate serve`.
#[derive(Debug)]
pub struct ServeStage {
    stage: Stage,
    serve_args: Vec<OsString>,
}

impl ServeStage {
    /// A stage for this `yesgate` binary: in a test of crate `yesgate`, `env!("CARGO_BIN_EXE_yesgate")`.
    #[track_caller]
    pub fn new(yesgate: impl Into<PathBuf>) -> Self {
        Self { stage: Stage::new(yesgate), serve_args: Vec::new() }
    }

    /// Gives the gateway its configuration.
    #[must_use]
    pub fn config(mut self, toml: &str) -> Self {
        self.stage = self.stage.config(toml);
        self
    }

    /// Replaces the configuration under a running gateway, which reads it again when it notices.
    ///
    /// # Panics
    /// When the file cannot be written.
    pub fn set_config(&self, toml: &str) {
        self.stage.set_config(toml);
    }

    /// Sets a variable for every process of this stage.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.stage = self.stage.env(name, value);
        self
    }

    /// Has every process of this stage run under an account of the machine; see [`Stage::owned_by`].
    #[must_use]
    #[track_caller]
    pub fn owned_by(mut self, account: Account) -> Self {
        self.stage = self.stage.owned_by(account);
        self
    }

    /// Adds to the options of `yesgate serve`.
    #[must_use]
    pub fn serve_args<S: AsRef<OsStr>>(mut self, args: &[S]) -> Self {
        self.serve_args.extend(args.iter().map(|word| word.as_ref().into()));
        self
    }

    /// A part of the configuration: a mock server on stdio under this name, with these flags.
    pub fn child(&self, name: &str, flags: &[&str]) -> String {
        // A JSON array of strings is a TOML one.
        let words = Value::from(self.child_words(name, flags));
        format!("[servers.{name}]\ncommand = {words}\ntrusted = true\n")
    }

    /// The command of that server.
    pub fn child_words(&self, name: &str, flags: &[&str]) -> Vec<String> {
        let log = self.log_file(name);
        let behaviour = self.stage.file(&format!("{name}.behaviour"));
        let mut words = vec![text(self.stage.mock_server().as_os_str())];
        words.extend(["--log".into(), text(log.as_os_str())]);
        words.extend(["--behaviour".into(), text(behaviour.as_os_str())]);
        words.extend(flags.iter().map(ToString::to_string));
        words
    }

    /// A part of the configuration: this mock server over HTTP, under this name.
    pub fn web(&self, name: &str, server: &MockHttp) -> String {
        format!("[servers.{name}]\nurl = {}\ntrusted = true\n", Value::from(server.url()))
    }

    /// Gives further flags to the mock server of this name on stdio, for its next start.
    ///
    /// # Panics
    /// When the file cannot be written.
    pub fn behave(&self, name: &str, flags: &[&str]) {
        let file = self.stage.file(&format!("{name}.behaviour"));
        std::fs::write(file, flags.join("\n")).expect("a file can be written");
    }

    /// Starts the gateway for one client, on its stdin and stdout.
    #[track_caller]
    pub fn stdio(&self) -> Host {
        let mut words = self.words();
        words.push("--stdio".into());
        words.extend(self.serve_args.iter().cloned());
        Host::spawn(self.stage.command(&words))
    }

    /// Starts the gateway, and waits until it listens.
    ///
    /// # Panics
    /// When it ends before, or does not listen in time.
    #[track_caller]
    pub fn start(&self) -> Gateway {
        self.listen("127.0.0.1:0")
    }

    /// Starts the gateway at the address of one that has ended: clients know it by that.
    ///
    /// # Panics
    /// When it ends before it listens, or does not listen in time.
    #[track_caller]
    pub fn start_again(&self, ended: &Gateway) -> Gateway {
        self.listen(ended.url().trim_start_matches("http://"))
    }

    #[track_caller]
    fn listen(&self, address: &str) -> Gateway {
        let mut words = self.words();
        words.extend(["--listen".into(), address.into()]);
        words.extend(self.serve_args.iter().cloned());
        Gateway::listening(Pipes::open(self.stage.command(&words)))
    }

    fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec!["--home".into(), self.stage.home().into()];
        words.extend(["--config".into(), self.stage.config_file().into(), "serve".into()]);
        words
    }

    /// Makes a key for this user (`yesgate keys add`), and gives it back.
    ///
    /// # Panics
    /// When there is none in what is printed.
    #[track_caller]
    pub fn key(&self, user: &str) -> String {
        let made = self.stage.yesgate(&["keys", "add", "--user", user, "--json"]).ok().json();
        made["key"].as_str().unwrap_or_else(|| panic!("no key: {made:#}")).to_owned()
    }

    /// Says yes to a question, from a terminal.
    #[track_caller]
    pub fn approve(&self, intent: &str) -> Output {
        self.stage.yesgate(&["approve", intent, "--yes"])
    }

    /// Says no to a question, from a terminal.
    #[track_caller]
    pub fn deny(&self, intent: &str) -> Output {
        self.stage.yesgate(&["deny", intent])
    }

    /// One question, as `yesgate show --json` prints it.
    #[track_caller]
    pub fn shown(&self, intent: &str) -> Value {
        self.stage.yesgate(&["show", intent, "--json"]).ok().json()
    }

    /// The parts that it shares with tests of `yesgate wrap`: commands, questions, the audit trail.
    pub fn stage(&self) -> &Stage {
        &self.stage
    }

    /// Every line that the mock server of this name on stdio received, in order.
    pub fn received(&self, name: &str) -> Vec<Received> {
        upstream_log::read(&self.log_file(name))
    }

    /// The `tools/call` messages among them.
    pub fn calls(&self, name: &str) -> Vec<Value> {
        self.received(name).iter().filter_map(Received::call).collect()
    }

    /// Joins what a mock server on stdio received with what the ledger says; see [`crate::history`].
    /// `ungated` are tools that may run without a question.
    #[track_caller]
    pub fn check_history(&self, name: &str, ungated: &[&str]) -> History {
        self.stage.check_history_of(name, Carrier::Pipe, &self.received(name), &owned(ungated))
    }

    /// The same for a mock server over HTTP.
    #[track_caller]
    pub fn check_web_history(&self, name: &str, server: &MockHttp, ungated: &[&str]) -> History {
        self.stage.check_history_of(name, Carrier::Web, &server.received(), &owned(ungated))
    }

    fn log_file(&self, name: &str) -> PathBuf {
        self.stage.file(&format!("{name}.log"))
    }
}

/// A gateway that listens. Dropped, it is killed.
#[derive(Debug)]
pub struct Gateway {
    pipes: Pipes,
    url: String,
}

impl Gateway {
    #[track_caller]
    fn listening(mut pipes: Pipes) -> Self {
        let deadline = Instant::now() + DEADLINE;
        loop {
            // Looked at first: what was said before an end is heard after it.
            let has_ended = pipes.has_ended();
            let said = pipes.stderr();
            if let Some(url) = address_in(&said) {
                return Self { url: url.to_owned(), pipes };
            }
            assert!(
                !has_ended && Instant::now() < deadline,
                "`yesgate serve` does not listen; stderr:\n{said}"
            );
            pause();
        }
    }

    /// Its origin, such as `http://127.0.0.1:41234`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The address of a page of its own, with a name for the machine: a passkey belongs to a name.
    pub fn page(&self, path: &str) -> String {
        format!("{}{path}", self.url.replace("127.0.0.1", "localhost"))
    }

    /// The endpoint of all servers together.
    pub fn all(&self) -> WebHost {
        WebHost::new(format!("{}/mcp", self.url))
    }

    /// The endpoint of one server, with its own names.
    pub fn server(&self, name: &str) -> WebHost {
        WebHost::new(format!("{}/mcp/{name}", self.url))
    }

    /// The same servers without MCP.
    pub fn rest(&self) -> RestHost {
        RestHost::new(&self.url)
    }

    /// A browser that nobody has signed in.
    pub fn visitor(&self) -> Visitor {
        Visitor::new(&self.url)
    }

    /// The sign-in link of the first owner, which is printed where nobody has signed in yet.
    ///
    /// # Panics
    /// When there is none in time.
    #[track_caller]
    pub fn first_link(&self) -> String {
        until("a sign-in link is printed", || {
            let said = self.pipes.stderr();
            said.split_whitespace().find(|word| word.contains("/sign-in#ygl_")).map(str::to_owned)
        })
    }

    /// Everything that came on stderr so far.
    pub fn stderr(&self) -> String {
        self.pipes.stderr()
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.pipes.pid()
    }

    /// The most memory that the process ever had, in bytes (`VmHWM`).
    ///
    /// # Panics
    /// When the process is gone.
    #[track_caller]
    pub fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid()));
        let status = status.expect("a running process has a status");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|words| words.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        peak.expect("a status names the peak") * 1024
    }

    /// Sends the process a signal by its name, such as `TERM`.
    #[track_caller]
    pub fn signal(&self, name: &str) {
        self.pipes.signal(name);
    }

    /// Waits until the process, and all that share its stderr, have ended.
    ///
    /// # Panics
    /// When they do not in time; the process is killed then.
    #[track_caller]
    pub fn ended(&mut self) -> ExitStatus {
        self.pipes.ended(DEADLINE)
    }

    /// Asks it to end (`SIGTERM`), and waits until it has.
    #[track_caller]
    pub fn close(&mut self) -> ExitStatus {
        self.signal("TERM");
        self.ended()
    }

    /// Kills the process with `SIGKILL`, and waits until all that share its stderr are gone.
    #[track_caller]
    pub fn kill9(&mut self) -> ExitStatus {
        self.pipes.kill();
        self.ended()
    }
}

/// The address at which the gateway says that it listens. A line that is still being written says nothing yet.
fn address_in(said: &str) -> Option<&str> {
    let whole = said.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let mut urls = whole.filter_map(|line| line.split_once("listening on ")?.1.split_whitespace().next());
    urls.find(|url| url.starts_with("http://")).map(|url| url.trim_end_matches('/'))
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

#[track_caller]
fn text(word: &OsStr) -> String {
    word.to_str().expect("a path of a test is text").to_owned()
}

#[cfg(test)]
mod tests;
