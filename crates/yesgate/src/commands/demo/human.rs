//! The human's side of the demo: the same commands that a person types, each a process of its own.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use serde_json::Value;
use tokio::process::Command;
use tokio::time::timeout;
use yesgate_core::id::IntentId;
use yesgate_core::render::Sanitized;

use super::home::TemporaryHome;

/// This program, and the home it works in.
#[derive(Debug)]
pub(super) struct Yesgate {
    program: PathBuf,
    home: PathBuf,
    config: PathBuf,
}

/// A question as the human finds it.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) id: IntentId,
    pub(super) summary: Sanitized,
    pub(super) match_code: Sanitized,
}

/// How a command ended, and what it printed.
#[derive(Debug)]
pub(super) struct Printed {
    pub(super) code: Option<i32>,
    pub(super) lines: Vec<Sanitized>,
}

impl Yesgate {
    pub(super) fn new(home: &TemporaryHome) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("this program cannot find itself")?;
        Ok(Self { program, home: home.path().to_owned(), config: home.config() })
    }

    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    /// The command that puts the gate in front of the mock server.
    pub(super) fn wrap(&self) -> Command {
        let mut command = self.command(&["wrap", "--name", "demo", "--"]);
        command.arg(&self.program).arg("demo-server");
        command
    }

    /// A command for another terminal, quoted for a shell, in the parts between which it may be broken.
    pub(super) fn shell_command(&self, words: &[&str]) -> [String; 3] {
        let words: Vec<String> = words.iter().map(|word| quoted(OsStr::new(word))).collect();
        [self.shell_program(), words.join(" "), format!("--home {}", quoted(self.home.as_os_str()))]
    }

    /// The program, quoted for a shell.
    pub(super) fn shell_program(&self) -> String {
        quoted(self.program.as_os_str())
    }

    /// Runs a command to its end.
    pub(super) async fn run(&self, words: &[&str]) -> anyhow::Result<Printed> {
        let output = self.output(words).await?;
        let printed = [output.stdout, output.stderr].concat();
        let lines = String::from_utf8_lossy(&printed).lines().map(as_printed).collect();
        Ok(Printed { code: output.status.code(), lines })
    }

    /// The one question that waits for an answer, if there is one.
    pub(super) async fn pending(&self) -> anyhow::Result<Option<Question>> {
        let output = self.output(&["pending", "--json"]).await?;
        let list: Vec<Value> =
            serde_json::from_slice(&output.stdout).context("the list of questions is unreadable")?;
        let Some(question) = list.first() else { return Ok(None) };
        let text = |key: &str| question.get(key).and_then(Value::as_str).context("a question is unreadable");
        Ok(Some(Question {
            id: text("intent_id")?.parse()?,
            summary: as_printed(text("summary")?),
            match_code: Sanitized::line(text("match_code")?),
        }))
    }

    async fn output(&self, words: &[&str]) -> anyhow::Result<Output> {
        let mut command = self.command(words);
        command.stdin(Stdio::null()).kill_on_drop(true);
        let name = words.first().copied().unwrap_or_default();
        let ended = timeout(PATIENCE, command.output()).await;
        ended
            .with_context(|| format!("`yesgate {name}` does not end"))?
            .with_context(|| format!("`yesgate {name}` cannot be started"))
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        let places: [OsString; 4] =
            ["--home".into(), self.home.clone().into(), "--config".into(), self.config.clone().into()];
        command.args(places).args(words);
        command
    }
}

/// A line that this program rendered: what it escaped is not escaped once more.
pub(super) fn as_printed(line: &str) -> Sanitized {
    serde_json::from_value(line.into()).unwrap_or_else(|_| Sanitized::line(line))
}

/// A word as a shell must read it.
fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// How long a command may take; `approve` itself waits for up to 20 seconds.
const PATIENCE: Duration = Duration::from_secs(40);
