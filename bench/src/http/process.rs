//! Programs that listen: started, waited for, and ended with us, whatever happens.

use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

use crate::memory::child_of;
use crate::subject::Subject;

/// A program that runs until this is dropped.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    /// It ends when this is closed, also by our end.
    stdin: Option<ChildStdin>,
    pub(crate) address: SocketAddr,
}

impl Running {
    /// Starts a server of ours, which says itself where it listens.
    pub(crate) fn server(subject: &Subject, word: &str) -> Result<Self> {
        let mut command = Command::new(subject.own());
        command.arg(word).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("{command:?} did not start"))?;
        let mut line = String::new();
        let output = child.stdout.take().context("the child has no stdout")?;
        BufReader::new(output).read_line(&mut line)?;
        let address = line.trim().parse().context("the server did not say where it listens")?;
        Ok(Self { stdin: child.stdin.take(), child, address })
    }

    /// Starts a program that was told where to listen, under our keeper; waits until it does.
    pub(crate) fn kept(subject: &Subject, command: &Command, address: SocketAddr) -> Result<Self> {
        let mut keeper = Command::new(subject.own());
        keeper.arg("keep").arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => keeper.env(name, value),
                None => keeper.env_remove(name),
            };
        }
        keeper.current_dir(command.get_current_dir().unwrap_or(Path::new(".")));
        let mut child = keeper.stdin(Stdio::piped()).spawn().context("the keeper did not start")?;
        let begin = Instant::now();
        while TcpStream::connect(address).is_err() {
            if let Some(status) = child.try_wait()? {
                bail!("{command:?} ended with {status}");
            }
            if begin.elapsed() > START {
                bail!("{command:?} does not listen at {address}");
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(Self { stdin: child.stdin.take(), child, address })
    }

    /// The id of the program itself, where a keeper is its parent.
    pub(crate) fn process_id(&self) -> Result<u32> {
        child_of(self.child.id()).context("the program is gone")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.stdin.take());
        self.child.wait().ok();
    }
}

/// Runs a program until our stdin is closed, then asks it to end.
pub(crate) fn keep(program: &str, arguments: &[&str]) -> Result<()> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .spawn()
        .with_context(|| format!("`{program}` did not start"))?;
    let process = Pid::from_child(&child);
    let asked = thread::spawn(move || {
        std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).ok();
        kill_process(process, Signal::TERM).ok();
        thread::sleep(END);
        kill_process(process, Signal::KILL).ok();
    });
    let status = child.wait()?;
    drop(asked);
    if status.success() { Ok(()) } else { bail!("`{program}` ended with {status}") }
}

/// An address that nobody listens at now.
pub(crate) fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

/// Where a program is, if the system has it.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let places = std::env::var_os("PATH")?;
    // Not every user's path has the place of daemons.
    let daemons = [PathBuf::from("/usr/sbin"), PathBuf::from("/usr/local/sbin")];
    std::env::split_paths(&places).chain(daemons).map(|place| place.join(name)).find(|file| file.is_file())
}

/// How long a program may take until it listens: some load half of Python.
const START: Duration = Duration::from_secs(60);
/// How long it may take to end.
const END: Duration = Duration::from_secs(3);
