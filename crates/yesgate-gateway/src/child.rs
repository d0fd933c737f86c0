//! One server, run as a child process and spoken to over its stdin and stdout.
//!
//! Between us and the server stands a [`guard`], a copy of our own binary that does nothing but end the
//! server, and everything the server started, when we are gone: even if we were killed with -9.
//! - The server gets our environment and our stderr as they are; nothing is copied between it and us.
//! - The guard and the server have a process group each: neither Ctrl-C nor a host that kills our group takes
//!   away the guard before it has done its work.

pub mod guard;
pub mod output;
pub mod report;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::net::unix::pipe;
use tokio::process::Command;

use self::output::{ChildOutput, Output};
use self::report::ExitReport;
use crate::stdio::lines::Lines;
use crate::stdio::writer::LineWriter;

/// What to run.
#[derive(Clone, Debug)]
pub struct ChildSpec {
    /// The server's program, a path or a name to be found in `PATH`.
    pub program: OsString,
    /// The server's arguments.
    pub args: Vec<OsString>,
    /// The server's whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Where it is started; `None`: where we are.
    pub folder: Option<PathBuf>,
    /// The program and the words that start the guard; see [`guard::prefix`].
    pub guard: Vec<OsString>,
}

/// A child and the two ends of the conversation with it.
#[derive(Debug)]
pub struct Spawned {
    /// The process.
    pub child: Child,
    /// What we say to it.
    pub stdin: LineWriter,
    /// What it says to us.
    pub stdout: Lines<ChildOutput>,
}

/// A running child process. Dropped, it is told to end, and ends within seconds.
#[derive(Debug)]
pub struct Child {
    program: OsString,
    guard: tokio::process::Child,
    stdin: LineWriter,
    output: Arc<Output>,
}

impl Child {
    /// Starts the guard, which starts the program.
    ///
    /// An error means that the guard could not be started. Whether the program could be, is told by
    /// [`Self::exited`]: a program that could not be started has ended at once.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn spawn(spec: &ChildSpec) -> io::Result<Spawned> {
        let Some((guard, words)) = spec.guard.split_first() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no guard was named"));
        };
        let (its_stdin, our_end) = io::pipe()?;
        let stdin = pipe::Sender::from_owned_fd(our_end.into())?;
        let (our_end, its_stdout) = io::pipe()?;
        let output = Arc::new(Output::new(pipe::Receiver::from_owned_fd(our_end.into())?));

        let mut command = Command::new(guard);
        command.args(words).arg("--").arg(&spec.program).args(&spec.args);
        command.env_clear().envs(spec.environment.iter().map(|(name, value)| (name, value)));
        // It opens what is sealed in the ledger, and is nobody's but ours.
        command.env_remove(SECRET_KEY_VARIABLE);
        if let Some(folder) = &spec.folder {
            command.current_dir(folder);
        }
        command.env(guard::PARENT_VARIABLE, std::process::id().to_string());
        command.stdin(its_stdin).stdout(its_stdout).stderr(Stdio::inherit());
        command.process_group(0);
        if guard == guard::OWN_IMAGE {
            command.arg0("yesgate");
        }
        let guard = command.spawn()?;
        // The command holds the child's ends of the pipes; with them open, no end would ever be seen.
        drop(command);

        let stdin = LineWriter::new(stdin);
        let stdout = Lines::new(ChildOutput::new(Arc::clone(&output)));
        let child = Self { program: spec.program.clone(), guard, stdin: stdin.clone(), output };
        Ok(Spawned { child, stdin, stdout })
    }

    /// The program's name, as it was given.
    pub fn program(&self) -> &OsStr {
        &self.program
    }

    /// Waits for the end of the program and of all that it started. Cancel safe, and may be asked again.
    pub async fn exited(&mut self) -> ExitReport {
        match self.guard.wait().await {
            Ok(status) => ExitReport::new(&self.program, status, self.output.why_not_started()),
            Err(error) => ExitReport::unknown(&self.program, &error),
        }
    }

    /// Ends the program: closes its stdin, as MCP asks, and waits for `grace`; then terminates it and all
    /// that it started; then kills what is left.
    pub async fn stop(mut self, grace: Duration) -> ExitReport {
        self.stdin.close();
        if let Ok(report) = tokio::time::timeout(grace, self.exited()).await {
            return report;
        }
        self.signal(Signal::TERM);
        if let Ok(report) = tokio::time::timeout(guard::PATIENCE + MARGIN, self.exited()).await {
            return report;
        }
        tracing::warn!(child.program = ?self.program, "the guard of a child does not answer and is killed");
        self.signal(Signal::KILL);
        self.exited().await
    }

    /// Signals the guard, which passes a wish to end on to the program's group.
    fn signal(&self, signal: Signal) {
        // No id means that it has ended; while there is one, the number cannot belong to anybody else.
        let id = self.guard.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(id) = id {
            rustix::process::kill_process(id, signal).ok();
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.signal(Signal::TERM);
    }
}

/// The variable that may hold the key of what is sealed in the ledger.
pub const SECRET_KEY_VARIABLE: &str = "YESGATE_SECRET_KEY";

/// How much longer than the guard we wait before the guard itself is taken for dead.
const MARGIN: Duration = Duration::from_secs(3);
