//! A program at a terminal of its own: what it shows, and what somebody types there.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, ExitStatus};

use rustix::pty::OpenptFlags;

/// A program whose stdin and stderr are a terminal.
pub(crate) struct Terminal {
    master: File,
    child: Child,
}

impl Terminal {
    /// Starts a program at a terminal; its stdout is what the command says.
    #[track_caller]
    pub(crate) fn run(mut command: Command) -> Self {
        let master = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        rustix::pty::grantpt(&master).unwrap();
        rustix::pty::unlockpt(&master).unwrap();
        let path = rustix::pty::ptsname(&master, Vec::new()).unwrap();
        let slave = File::options().read(true).write(true).open(path.to_str().unwrap()).unwrap();
        let child = command.stdin(slave.try_clone().unwrap()).stderr(slave).spawn().unwrap();
        // The command holds the terminal open, too, and what is shown ends when nobody does any more.
        drop(command);
        Self { master: master.into(), child }
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
