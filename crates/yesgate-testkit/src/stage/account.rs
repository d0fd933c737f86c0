//! Accounts of the machine: the one that a gateway runs under, and the one of an agent that attacks it.
//!
//! A process can give up root's rights and no others, so these tests need root; `cargo xtask ci` has it where it says
//! anything about them.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// An unprivileged account. It needs no entry in any list: the system knows accounts by their numbers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Account(u32);

impl Account {
    /// The gateway's.
    pub const GATE: Self = Self(64_001);
    /// The agent's.
    pub const AGENT: Self = Self(64_002);

    /// Its number.
    pub const fn number(self) -> u32 {
        self.0
    }

    /// Has a command run under it, and under no group of root's.
    pub fn runs(self, command: &mut Command) {
        command.uid(self.0).gid(self.0);
    }

    /// Gives it a folder with all that is in it. Everybody may look in from outside.
    ///
    /// # Panics
    /// When that is not ours to give.
    #[track_caller]
    pub fn take(self, folder: &Path) {
        fs::set_permissions(folder, Permissions::from_mode(0o755)).expect("a folder can be opened");
        self.own(folder);
    }

    fn own(self, path: &Path) {
        chown(path, Some(self.0), Some(self.0)).expect("only root can give files away: run as root");
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            if entry.path().is_dir() {
                self.own(&entry.path());
            } else {
                chown(entry.path(), Some(self.0), Some(self.0)).expect("root can give files away");
            }
        }
    }

    /// Closes a folder to everybody else.
    pub(crate) fn close(self, folder: &Path) {
        fs::set_permissions(folder, Permissions::from_mode(0o700)).expect("a folder can be closed");
    }
}

/// Whether accounts can be changed here.
///
/// # Panics
/// In `cargo xtask ci`, where they cannot: what was not tried is not proved.
#[track_caller]
pub fn can_change() -> bool {
    let folder = tempfile::tempdir().expect("there is a place for temporary files");
    let can = chown(folder.path(), Some(Account::AGENT.0), None).is_ok();
    assert!(
        can || std::env::var_os("SLOW_TESTS").is_none(),
        "the attacker of THREATS §4 is another account, and only root can change accounts: run `cargo xtask ci` as root"
    );
    if !can {
        eprintln!("NOT TRIED: only root can play another account");
    }
    can
}

/// Programs where every account can start them.
///
/// # Panics
/// When they cannot be copied.
#[track_caller]
pub fn for_everybody(yesgate: &Path) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("there is a place for temporary files");
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("a folder can be opened");
    let programs = [yesgate.to_owned(), super::mock_binary::beside(yesgate, "mock-server")];
    for program in programs {
        let name = program.file_name().expect("a program has a name");
        fs::copy(&program, folder.path().join(name)).expect("a program can be copied");
    }
    let copied = folder.path().join(yesgate.file_name().expect("a program has a name"));
    (folder, copied)
}

/// An agent with a shell in an account of its own.
#[derive(Debug)]
pub struct Attacker {
    /// Where it may write.
    folder: TempDir,
    account: Account,
}

/// What came of an attack.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// Whether the command went well.
    pub went_well: bool,
    /// All that it said.
    pub said: String,
}

impl Attacker {
    /// An agent under this account.
    ///
    /// # Panics
    /// When there is no place for it.
    #[track_caller]
    pub fn new(account: Account) -> Self {
        let folder = tempfile::tempdir().expect("there is a place for temporary files");
        account.take(folder.path());
        Self { folder, account }
    }

    /// A shell command of the agent's, ready to be started. Python is `python3 -c`.
    pub fn shell(&self, words: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", words]).current_dir(self.folder.path()).env_clear();
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", self.folder.path());
        command.stdin(Stdio::null());
        self.account.runs(&mut command);
        command
    }

    /// Runs a shell command to its end.
    ///
    /// # Panics
    /// When there is no shell.
    #[track_caller]
    pub fn tries(&self, words: &str) -> Attempt {
        let output = self.shell(words).output().expect("there is a shell");
        let said = [output.stdout, output.stderr].concat();
        Attempt { went_well: output.status.success(), said: String::from_utf8_lossy(&said).into_owned() }
    }
}
