//! The small process between us and a server, which ends the server when we are gone.
//!
//! It starts the program in a group of its own, hands it stdin, stdout and stderr untouched, and stays, idle,
//! until one of three things happens: the program ends, somebody asks the guard to end, or the guard's parent
//! is no more. In each case it leaves nobody of the program's group behind.
//! - INVARIANT: it listens for the end of its parent before it starts the program, and looks once more
//!   whether the parent is still there: no moment is left in which a death goes unseen.
//! - What a program puts into a group or session of its own is a daemon, and stays.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitCode, ExitStatus};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions};
use tokio::process::{Child, Command};
use tokio::runtime::Builder;
use tokio::signal::unix::{self, SignalKind};

use super::output;
use super::report::quoted;

/// How long the program's group may take to end after it was asked to.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// Names the process whose child the guard was meant to be. Not passed on to the program.
pub(super) const PARENT_VARIABLE: &str = "YESGATE_GUARD_PARENT";

/// The running binary itself, even after an update has put another one in its place.
pub(super) const OWN_IMAGE: &str = "/proc/self/exe";

/// The program and words that start this very binary as a guard, for [`super::ChildSpec::guard`].
pub fn prefix(words: &[&str]) -> io::Result<Vec<OsString>> {
    let image = if cfg!(target_os = "linux") && File::open(OWN_IMAGE).is_ok() {
        OsString::from(OWN_IMAGE)
    } else {
        std::env::current_exe()?.into_os_string()
    };
    Ok(std::iter::once(image).chain(words.iter().map(OsString::from)).collect())
}

/// Runs a program under guard and ends as it ended: with its exit code, or with 128 and the signal's number.
///
/// 127 says that there is no such program, 126 that it cannot be executed, 125 that the guard itself failed.
pub fn run(program: &OsStr, args: &[OsString]) -> ExitCode {
    let runtime = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return ExitCode::from(refuse(program, GUARD_FAILED, &error.to_string())),
    };
    ExitCode::from(runtime.block_on(watch(program, args)))
}

async fn watch(program: &OsStr, args: &[OsString]) -> u8 {
    let mut orders = match Orders::listen() {
        Ok(orders) => orders,
        Err(error) => return refuse(program, GUARD_FAILED, &error.to_string()),
    };
    if orders.parent.is_gone() {
        return refuse(program, GUARD_FAILED, "whoever wanted it is gone");
    }
    let mut command = Command::new(program);
    command.args(args).env_remove(PARENT_VARIABLE).process_group(0);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return refuse(program, NOT_FOUND, "there is no such program, or no interpreter for it");
        }
        Err(error) => return refuse(program, NOT_EXECUTABLE, &error.to_string()),
    };
    drop(command);
    let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    let_go_of_stdio();

    tokio::select! {
        _ = child.wait() => {}
        () = orders.end_is_asked() => {}
    }
    match end(&mut child, group).await {
        Ok(status) => code(status),
        Err(error) => {
            complain(&format!("how {} ended is not known: {error}", quoted(program)));
            GUARD_FAILED
        }
    }
}

/// Ends the program and what is left of its group, if anything is.
async fn end(child: &mut Child, group: Option<Pid>) -> io::Result<ExitStatus> {
    let Some(group) = group else { return child.wait().await };
    // From here on, whoever loses its parent becomes our child, so that we see it end and need not wait for
    // an init that may be slow, or absent, as in many containers. Where that fails, it only takes longer.
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).ok();
    // Fails only where nobody is left.
    rustix::process::kill_process_group(group, Signal::TERM).ok();
    let everybody = async {
        let status = child.wait().await;
        while is_alive(group) {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        status
    };
    if let Ok(status) = tokio::time::timeout(PATIENCE, everybody).await {
        return status;
    }
    rustix::process::kill_process_group(group, Signal::KILL).ok();
    child.wait().await
}

/// Whether anybody is left in a group whose leader has ended.
fn is_alive(group: Pid) -> bool {
    while let Ok(Some(_)) = rustix::process::waitpgid(group, WaitOptions::NOHANG) {}
    rustix::process::test_kill_process_group(group).is_ok()
}

/// Everything that tells the guard to end.
struct Orders {
    terminate: unix::Signal,
    interrupt: unix::Signal,
    hang_up: unix::Signal,
    parent: Parent,
}

impl Orders {
    fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: unix::signal(SignalKind::terminate())?,
            interrupt: unix::signal(SignalKind::interrupt())?,
            hang_up: unix::signal(SignalKind::hangup())?,
            parent: Parent::watch()?,
        })
    }

    async fn end_is_asked(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = self.hang_up.recv() => {}
            () = self.parent.gone() => {}
        }
    }
}

/// The process whose end is ours too.
struct Parent {
    id: Option<Pid>,
    #[cfg(target_os = "linux")]
    death: unix::Signal,
}

impl Parent {
    /// Starts to watch the parent that was named, or else whoever the parent is now.
    fn watch() -> io::Result<Self> {
        let named =
            std::env::var(PARENT_VARIABLE).ok().and_then(|id| id.parse().ok()).and_then(Pid::from_raw);
        Ok(Self {
            id: named.or_else(rustix::process::getppid),
            #[cfg(target_os = "linux")]
            death: {
                // Not SIGTERM: the kernel sends it when the *thread* that started us ends, which alone is no
                // reason to end. A signal of its own lets us look before we act.
                let death = unix::signal(SignalKind::user_defined1())?;
                rustix::process::set_parent_process_death_signal(Some(Signal::USR1))?;
                death
            },
        })
    }

    fn is_gone(&self) -> bool {
        rustix::process::getppid() != self.id
    }

    /// Waits until the parent has ended. The kernel gives us to another parent before it signals.
    async fn gone(&mut self) {
        while !self.is_gone() {
            #[cfg(target_os = "linux")]
            self.death.recv().await;
            #[cfg(not(target_os = "linux"))]
            tokio::time::sleep(LOOK_FOR_PARENT).await;
        }
    }
}

/// Lets go of the program's stdin and stdout, so that both sides see when the other closes them.
fn let_go_of_stdio() {
    if let Ok(nothing) = File::options().read(true).write(true).open("/dev/null") {
        // Where this fails, the ends stay open until the guard ends: later, but not wrong.
        rustix::stdio::dup2_stdin(&nothing).ok();
        rustix::stdio::dup2_stdout(&nothing).ok();
    }
}

/// Says, to people and to the parent, why the program was not started.
fn refuse(program: &OsStr, code: u8, reason: &str) -> u8 {
    complain(&format!("{} could not be started: {reason}", quoted(program)));
    // Only a parent of ours can read it; on anybody else's stdout it would be rubbish.
    if std::env::var_os(PARENT_VARIABLE).is_some() {
        // A parent that no longer listens needs no answer.
        rustix::io::write(rustix::stdio::stdout(), &output::not_started(reason)).ok();
    }
    code
}

fn complain(text: &str) {
    // Where even stderr is gone, nobody is left to be told.
    writeln!(io::stderr(), "yesgate: {text}").ok();
}

/// The exit code that tells how the program ended, as shells tell it.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(GUARD_FAILED)
}

const NOT_FOUND: u8 = 127;
const NOT_EXECUTABLE: u8 = 126;
const GUARD_FAILED: u8 = 125;
const LOOK_AGAIN: Duration = Duration::from_millis(10);
#[cfg(not(target_os = "linux"))]
const LOOK_FOR_PARENT: Duration = Duration::from_millis(250);
