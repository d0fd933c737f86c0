//! Where a story is played: the real gate, a home of its own that is gone at the end, and the policy of the example.
//!
//! INVARIANT: nothing here decides or runs a call. The agent has one way to the server, and the human's part is played
//! with the commands that a person would type, each a process of its own.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::Command;
use tokio::time::{sleep, timeout};

use crate::program;
use crate::screen::{Screen, Who};

/// Everything that a story needs besides its script.
#[derive(Debug)]
pub struct Stage {
    name: &'static str,
    home: TempDir,
    yesgate: PathBuf,
    /// Where the story is told.
    pub screen: Screen,
}

/// What stands between the agent and the server.
#[derive(Clone, Copy, Debug)]
pub enum Gate<'a> {
    /// `yesgate wrap`, with the server's name in rules, and with these variables in its environment.
    Wrap(&'a str, &'a [(&'a str, &'a str)]),
    /// Nothing: the server asks by itself.
    InTheServer,
}

/// A question that waits for a human.
#[derive(Debug)]
pub struct Question {
    /// What the human answers to.
    pub id: String,
    /// What would happen.
    pub summary: String,
    /// The same on all sides, for one call only.
    pub match_code: String,
}

impl Stage {
    pub(crate) fn prepare(name: &'static str) -> anyhow::Result<Self> {
        let yesgate = program::yesgate()?;
        let home = tempfile::Builder::new().prefix("yesgate-example-").tempdir();
        let home = home.context("there is no place for a ledger")?;
        Ok(Self { name, home, yesgate, screen: Screen::new() })
    }

    /// The program of an agent's server, behind this gate.
    pub(crate) fn server(&self, gate: Gate<'_>) -> anyhow::Result<Command> {
        let server = std::env::current_exe().context("this program cannot find itself")?;
        let mut command = match gate {
            Gate::Wrap(name, variables) => {
                let mut wrap = self.command(&["wrap", "--name", name, "--no-pages", "--"]);
                // Only what the story says turns the operator's key.
                wrap.arg(server).env_remove("MCP_DRY_RUN").envs(variables.iter().copied());
                wrap
            }
            Gate::InTheServer => Command::new(server),
        };
        command.args(["server", "--journal"]).arg(self.journal());
        command.env("YESGATE_HOME", self.home.path());
        Ok(command)
    }

    /// Does what a human would do in a terminal of their own, and shows what that printed.
    ///
    /// # Errors
    /// When the command cannot be run.
    pub async fn human_runs(&self, words: &[&str]) -> anyhow::Result<()> {
        self.screen.says(Who::Human, in_a_shell(words))?;
        let (stdout, stderr) = self.output(words).await?;
        self.screen.as_printed(&stdout)?;
        stderr.lines().try_for_each(|line| self.screen.more(line))
    }

    /// The same, for the lines with this word in them.
    ///
    /// # Errors
    /// When the command cannot be run.
    pub async fn human_looks_for(&self, word: &str, words: &[&str]) -> anyhow::Result<()> {
        self.screen.says(Who::Human, format_args!("{} | grep {word}", in_a_shell(words)))?;
        let (stdout, _) = self.output(words).await?;
        stdout.lines().filter(|line| line.contains(word)).try_for_each(|line| self.screen.as_printed(line))
    }

    /// The question that waits, as soon as there is one.
    ///
    /// # Errors
    /// When nobody is asked.
    pub async fn question(&self) -> anyhow::Result<Question> {
        let look = async {
            loop {
                let (list, _) = self.output(&["pending", "--json"]).await?;
                let list: Vec<Value> =
                    serde_json::from_str(&list).context("the list of questions is unreadable")?;
                if let Some(question) = list.first() {
                    let text = |key: &str| question.get(key).and_then(Value::as_str).map(str::to_owned);
                    let question = text("intent_id").zip(text("summary")).zip(text("match_code"));
                    let ((id, summary), match_code) = question.context("a question is unreadable")?;
                    return Ok(Question { id, summary, match_code });
                }
                sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(PATIENCE, look).await.context("nobody is asked")?
    }

    /// What the server did by its own word, and whether the ledger is whole.
    pub(crate) async fn balance_the_books(&self) -> anyhow::Result<()> {
        self.screen.heading("What the server did, by its own journal, and what the gate wrote down")?;
        let journal = std::fs::read_to_string(self.journal()).unwrap_or_default();
        for line in journal.lines() {
            self.screen.says(Who::Server, line)?;
        }
        self.human_runs(&["audit", "verify"]).await?;
        self.screen.heading("Next")?;
        self.screen.prose(&format!(
            "Change examples/{0}/yesgate.toml and run this again. examples/{0}/README.md says how to put the same \
             server into your own host.",
            self.name
        ))
    }

    fn journal(&self) -> PathBuf {
        self.home.path().join("journal")
    }

    /// The policy of this example: the file itself, so that a change of it can be tried at once.
    fn policy(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join(self.name).join("yesgate.toml")
    }

    async fn output(&self, words: &[&str]) -> anyhow::Result<(String, String)> {
        let mut command = self.command(words);
        command.stdin(Stdio::null()).kill_on_drop(true);
        let output = timeout(PATIENCE, command.output()).await;
        let output = output.context("a command does not end")?.context("`yesgate` cannot be started")?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok((text(&output.stdout), text(&output.stderr)))
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.yesgate);
        let places: [OsString; 4] =
            ["--home".into(), self.home.path().into(), "--config".into(), self.policy().into()];
        command.args(places).args(words);
        command
    }
}

/// A command as it is typed.
fn in_a_shell(words: &[&str]) -> String {
    let word = |word: &&str| if word.contains(' ') { format!("'{word}'") } else { (*word).to_owned() };
    let words: Vec<String> = words.iter().map(word).collect();
    format!("$ yesgate {}", words.join(" "))
}

/// How long anything may take that waits for no person; `approve` itself waits for up to 20 seconds.
const PATIENCE: Duration = Duration::from_secs(40);
