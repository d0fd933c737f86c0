//! A program at a terminal of its own: what it shows, and what somebody types there.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, ExitStatus};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::OpenptFlags;
use rustix::termios::{LocalModes, tcgetattr};

/// A program whose stdin and stderr are a terminal.
pub(crate) struct Terminal {
    master: File,
    child: Child,
    before: LocalModes,
}

impl Terminal {
    /// Starts a program at a terminal; its stdout is what the command says.
    #[track_caller]
    pub(crate) fn run(command: Command) -> Self {
        Self::at(command, |command, _| command)
    }

    /// Starts a program whose stdout is the terminal, too.
    #[track_caller]
    pub(crate) fn run_whole(command: Command) -> Self {
        Self::at(command, |command, terminal| command.stdout(terminal))
    }

    #[track_caller]
    fn at(mut command: Command, stdout: impl FnOnce(&mut Command, File) -> &mut Command) -> Self {
        let master = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        rustix::pty::grantpt(&master).unwrap();
        rustix::pty::unlockpt(&master).unwrap();
        let path = rustix::pty::ptsname(&master, Vec::new()).unwrap();
        let slave = File::options().read(true).write(true).open(path.to_str().unwrap()).unwrap();
        let before = tcgetattr(&master).unwrap().local_modes;
        stdout(&mut command, slave.try_clone().unwrap());
        let child = command.stdin(slave.try_clone().unwrap()).stderr(slave).spawn().unwrap();
        // The command holds the terminal open, too, and what is shown ends when nobody does any more.
        drop(command);
        Self { master: master.into(), child, before }
    }

    /// What the terminal shows, up to some words, or to the end of the program.
    pub(crate) fn read_until(&mut self, words: &str) -> String {
        let mut shown = Vec::new();
        while !String::from_utf8_lossy(&shown).contains(words) {
            let mut piece = [0; 256];
            match self.master.read(&mut piece) {
                Ok(0) | Err(_) => break,
                Ok(length) => shown.extend_from_slice(&piece[..length]),
            }
        }
        String::from_utf8_lossy(&shown).into_owned()
    }

    /// How the terminal treated keys before the program came.
    pub(crate) const fn before(&self) -> LocalModes {
        self.before
    }

    /// How the terminal treats keys now.
    #[track_caller]
    pub(crate) fn modes(&self) -> LocalModes {
        tcgetattr(&self.master).unwrap().local_modes
    }

    /// Sends the program a signal.
    #[track_caller]
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Types something.
    #[track_caller]
    pub(crate) fn type_in(&mut self, text: &str) {
        self.master.write_all(text.as_bytes()).unwrap();
    }

    /// Waits for the end of the program.
    #[track_caller]
    pub(crate) fn ended(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}
