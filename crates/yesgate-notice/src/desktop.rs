//! Shows questions on the desktop of the account that runs the gateway.
//!
//! INVARIANT: no shell, and no words of ours or others in a script: the program gets them as arguments, behind options
//! that never change. What it shows has names in it that were sanitized, and nothing of a call.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;
use yesgate_core::policy::Remind;
use yesgate_ledger::{Ledger, LedgerError};

use crate::notice::{Link, Notice};
use crate::watcher::{Mark, Watcher};

/// Shows the questions that this very process asks: each gateway on a ledger shows its own.
#[derive(Debug)]
pub struct DesktopTeller {
    ledger: Ledger,
    watcher: Watcher,
    link: Link,
}

impl DesktopTeller {
    /// Begins with what is asked from now on.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn begin(ledger: Ledger, link: Link, remind: Remind) -> Result<Self, LedgerError> {
        let watcher = Watcher::from(Mark::now(&ledger).await?, ledger.clone(), remind).await?;
        Ok(Self { ledger, watcher, link })
    }

    /// Shows for as long as it is polled, or until it is known that nothing can be shown.
    pub async fn run(mut self) {
        loop {
            let notice = self.watcher.next().await;
            if notice.boot.as_ref() != Some(self.ledger.boot()) {
                continue;
            }
            match self.show(&notice).await {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    tracing::warn!("`{PROGRAM}` is not installed, so the desktop shows no notices");
                    return;
                }
                Err(error) => tracing::warn!(
                    intent.id = %notice.intent, %error,
                    "a notice could not be shown on the desktop: {error}"
                ),
            }
        }
    }

    async fn show(&self, notice: &Notice) -> io::Result<()> {
        let Some(heading) = notice.heading() else { return Ok(()) };
        let mut command = Command::new(PROGRAM);
        command.args(OPTIONS).arg(heading).arg(plain(&notice.line(&self.link)));
        // Stdout is the agent's side of `wrap`.
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        let mut child = command.spawn()?;
        let status = timeout(PATIENCE, child.wait()).await.map_err(|_| io::ErrorKind::TimedOut)??;
        if status.success() { Ok(()) } else { Err(io::Error::other(format!("it ended with {status}"))) }
    }
}

/// Takes away what some desktops read as markup.
#[cfg(not(target_os = "macos"))]
fn plain(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Nothing is markup there.
#[cfg(target_os = "macos")]
fn plain(text: &str) -> String {
    text.to_owned()
}

#[cfg(not(target_os = "macos"))]
const PROGRAM: &str = "notify-send";
#[cfg(not(target_os = "macos"))]
const OPTIONS: [&str; 2] = ["--app-name=Yesgate", "--"];

#[cfg(target_os = "macos")]
const PROGRAM: &str = "osascript";
#[cfg(target_os = "macos")]
const OPTIONS: [&str; 6] = [
    "-e",
    "on run words",
    "-e",
    "display notification (item 2 of words) with title \"Yesgate\" subtitle (item 1 of words)",
    "-e",
    "end run",
];

/// How long the program may take.
const PATIENCE: Duration = Duration::from_secs(5);
