//! `yesgate demo`, as a newcomer meets it: what it prints, what it asks for, and what it leaves behind.
#![cfg(test)]

use std::fs;
use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

const YESGATE: &str = env!("CARGO_BIN_EXE_yesgate");
const DEADLINE: Duration = Duration::from_secs(60);

/// A demo whose output is read, and the folder in which it may make its own.
struct Demo {
    child: Child,
    stdout: Lines<BufReader<ChildStdout>>,
    folder: TempDir,
}

/// What a demo said, and how it ended.
struct Ended {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Demo {
    fn start(words: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // A place that a shell would misread, if it were not quoted.
        fs::create_dir(place(&folder)).unwrap();
        let mut command = Command::new(YESGATE);
        command.arg("demo").args(words).env("TMPDIR", place(&folder)).kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, stdout, folder }
    }

    /// Reads until a line has these words in it.
    async fn read_until(&mut self, words: &str) -> Vec<String> {
        let mut lines = Vec::new();
        while !lines.last().is_some_and(|line: &String| line.contains(words)) {
            let line = timeout(DEADLINE, self.stdout.next_line()).await;
            let line = line.unwrap_or_else(|_| panic!("never: {words}; {lines:#?}")).unwrap();
            lines.push(line.unwrap_or_else(|| panic!("the end, without: {words}; {lines:#?}")));
        }
        lines
    }

    /// Reads until the demo and all that it started have let go of its output.
    async fn end(mut self) -> Ended {
        let reading = async {
            let mut stdout = String::new();
            while let Some(line) = self.stdout.next_line().await.unwrap() {
                stdout.push_str(&line);
                stdout.push('\n');
            }
            let mut stderr = String::new();
            self.child.stderr.take().unwrap().read_to_string(&mut stderr).await.unwrap();
            Ended { code: self.child.wait().await.unwrap().code(), stdout, stderr }
        };
        let ended = timeout(DEADLINE, reading).await.expect("the demo does not end");
        let left: Vec<_> = fs::read_dir(place(&self.folder)).unwrap().collect();
        assert!(left.is_empty(), "it left behind: {left:?}\n{}", ended.stderr);
        ended
    }
}

fn place(folder: &TempDir) -> PathBuf {
    folder.path().join("a person's files")
}

/// The command that the demo asks the person for.
fn printed_command(lines: &[String]) -> String {
    let after = lines.iter().skip_while(|line| !line.contains("in another terminal:")).skip(1);
    let mut command = Vec::new();
    for line in after {
        command.push(line.as_str());
        if !line.ends_with('\\') {
            break;
        }
    }
    command.join("\n")
}

async fn shell(script: &str) -> Output {
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).stdin(Stdio::null()).kill_on_drop(true);
    timeout(DEADLINE, command.output()).await.expect("the command does not end").unwrap()
}

/// What is the same in every run.
fn redacted(text: &str) -> String {
    let joined: Vec<&str> = text.split(" \\\n").map(str::trim_start).collect();
    let quoted = format!("'{YESGATE}'");
    let text = joined
        .join(" ")
        .replace(&quoted, "yesgate")
        .replace(YESGATE, "yesgate")
        .replace(env!("CARGO_PKG_VERSION"), "[version]");
    let line = |line: &str| {
        // Nothing stands behind the folder in its line.
        let folder = [" --home ", "removed at the end: "].into_iter().find(|before| line.contains(before));
        let shown = match folder.and_then(|before| Some((line.split_once(before)?.0, before))) {
            Some((start, before)) => format!("{start}{before}[home]"),
            None => line.to_owned(),
        };
        let words: Vec<&str> = shown.split(' ').collect();
        let next = words.iter().skip(1).copied().chain([""]);
        words.iter().zip(next).map(|(this, next)| word(this, next)).collect::<Vec<_>>().join(" ")
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

fn word(word: &str, next: &str) -> String {
    let bare = word.trim_end_matches(',');
    let comma = word.strip_prefix(bare).unwrap_or_default();
    let is_code = bare.len() == 9 && bare.find('-') == Some(4);
    let is_head = bare.len() == 12 && bare.chars().all(|c| c.is_ascii_hexdigit());
    let shown = match bare {
        _ if bare.starts_with("intent_") => "[question]",
        _ if is_code => "[code]",
        _ if is_head => "[head]",
        _ if next == "s" || next == "rows," => "[n]",
        _ => bare,
    };
    format!("{shown}{comma}")
}

/// The issue's first ten seconds: a read passes, a call is held, approved and run once, a token fits one
/// call and is refused when it is replayed, and the audit chain holds.
#[tokio::test]
async fn a_newcomer_sees_the_whole_story_when_the_demo_plays_both_parts() {
    let ended = Demo::start(&["--yes"]).end().await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{}", ended.stdout);
    assert!(!ended.stdout.contains('\x1b'), "colour where no terminal is");
    insta::assert_snapshot!(redacted(&ended.stdout), @r#"
    Yesgate [version]: a scripted agent, a mock server with 5 tools, and the real gate
    between them. Nothing is really bought, paid or deployed.
    Ledger and policy, removed at the end: [home]

    1. A read passes
      agent   get_plan()
      gate    passed it on: the server says that this tool only reads
      server  the plan is pro, 19.00 EUR a month

    2. A dangerous call waits for a human, away from the agent
      agent   upgrade_plan(to="scale")
      gate    held it back: the server has not seen it. The question to you:
                Upgrade the plan to "scale"
                match code [code], question [question]
      you     approve it (the demo plays your part, in another process):
                yesgate approve [question] --yes --home [home]
              Approved [question] at level `local`.
              It ran once: ok.
      server  ran it once: the plan is now scale, 49.00 EUR a month
      agent   gets this as the answer to the call it made

    3. A yes in the chat: its token fits one call, once
      agent   pay(amount="12.50", currency="EUR", to="Ann")
      gate    held it back: the agent gets a token, and is to show you this:
                Pay "12.50" "EUR" to "Ann"
                match code [code], to be confirmed within [n] s
      you     yes, in the chat (scripted)
      agent   pay(amount="1250.00", currency="EUR", to="Ann") with the token
      gate    refused it (consent_token_mismatch). The confirm token was issued for
              another call: `params` changed. Nothing ran.
      agent   pay(amount="12.50", currency="EUR", to="Ann") with the token
      gate    passed it on: this is the call that was shown; the token is spent
      server  ran it once: paid 12.50 EUR to Ann
      agent   the same once more, with the same token
      gate    refused it (consent_token_invalid). The confirm token does not exist
              or was already used. Nothing ran.

    4. What a rule rejects, nobody is asked about
      agent   deploy(environment="production", service="shop")
      gate    refused it (policy_denied). The operator's policy does not allow this
              call: agents do not deploy to production. Nothing ran.

    5. What the server saw, and what the gate wrote down
      server  counted its runs: get_plan 1, upgrade_plan 1, pay 1, deploy 0
      you     verify the chain of the ledger:
                yesgate audit verify --home [home]
              [n] rows, 2 questions, head [head]
              The chain is whole: no row was changed, removed or reordered.

    Next: in your MCP host's configuration, put the gate before a server's command
      yesgate wrap -- <your server>
    "#);
}

/// I5: the yes comes from another shell; the agent is never in its path.
#[tokio::test]
async fn the_printed_command_run_in_another_shell_lets_the_story_go_on() {
    let mut demo = Demo::start(&[]);
    let lines = demo.read_until("waiting for your answer").await;
    let approved = shell(&format!("{} --yes", printed_command(&lines))).await;
    assert!(approved.status.success(), "{approved:?}");
    assert!(String::from_utf8_lossy(&approved.stdout).contains("It ran once: ok."), "{approved:?}");
    let ended = demo.end().await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{}", ended.stdout);
    let story: Vec<&str> = ended.stdout.lines().take(3).collect();
    insta::assert_snapshot!(story.join("\n"), @"
      you     yes
      server  ran it once: the plan is now scale, 49.00 EUR a month
      agent   gets this as the answer to the call it made
    ");
    assert!(ended.stdout.contains("The chain is whole"), "{}", ended.stdout);
}

#[tokio::test]
async fn a_no_from_another_shell_is_told_and_nothing_ran() {
    let mut demo = Demo::start(&[]);
    let lines = demo.read_until("waiting for your answer").await;
    let command = printed_command(&lines).replace("approve", "deny");
    let denied = shell(&format!("{command} --reason 'not this month'")).await;
    assert!(denied.status.success(), "{denied:?}");
    let ended = demo.end().await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{}", ended.stdout);
    let story: Vec<&str> = ended.stdout.lines().take(2).collect();
    insta::assert_snapshot!(story.join("\n"), @"
      you     no
      gate    refused it (denied). A human said no: not this month. Nothing ran.
    ");
    assert!(ended.stdout.contains("get_plan 1, upgrade_plan 0, pay 1, deploy 0"), "{}", ended.stdout);
    assert!(ended.stdout.contains("The chain is whole"), "{}", ended.stdout);
}

/// Reading to the end of stderr shows that the gate and the server are gone too: they share it.
#[tokio::test]
async fn an_interrupted_demo_leaves_neither_processes_nor_files() {
    let mut demo = Demo::start(&[]);
    demo.read_until("waiting for your answer").await;
    let id = demo.child.id().unwrap();
    assert!(shell(&format!("kill -INT {id}")).await.status.success());
    let ended = demo.end().await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(130), ""));
    assert_eq!(ended.stdout, "Interrupted; the gate is stopped.\n");
}
