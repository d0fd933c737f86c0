//! The demo's own home: a folder that nobody else can read, with a policy in it, gone at the end.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use yesgate::SystemEntropy;
use yesgate_core::clock::Entropy as _;

/// The policy of the demo, in the words that anybody's `yesgate.toml` would have.
const POLICY: &str = r#"
[[rules]]
name = "billing"
tool = "demo/upgrade_plan"
then = "ask"
channel = "out_of_band"
assurance = "local"
summary = "Upgrade the plan to {{args.to}}"

[[rules]]
name = "production"
tool = "demo/deploy"
when = 'args.environment == "production"'
then = "reject"
reason = "agents do not deploy to production"

[[rules]]
name = "payments"
tool = "demo/pay"
then = "ask"
channel = "chat"
summary = "Pay {{args.amount}} {{args.currency}} to {{args.to}}"
spend = { amount = "args.amount", currency = "args.currency", recipient = "args.to" }

# This story is told at the terminal.
[pages]
wrap = false
"#;

/// A home that lasts as long as the demo.
#[derive(Debug)]
pub(super) struct TemporaryHome(PathBuf);

impl TemporaryHome {
    pub(super) fn create() -> anyhow::Result<Self> {
        let name: String = SystemEntropy.draw()?.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        let path = std::env::temp_dir().join(format!("yesgate-demo-{name}"));
        let path = std::path::absolute(path)?;
        // Made, not found: a folder that somebody else has put there is an error.
        let made = DirBuilder::new().mode(0o700).create(&path);
        made.with_context(|| format!("the folder `{}` cannot be made", path.display()))?;
        let home = Self(path);
        fs::write(home.config(), POLICY.trim_start()).context("the policy of the demo cannot be written")?;
        Ok(home)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    pub(super) fn config(&self) -> PathBuf {
        self.0.join("yesgate.toml")
    }

    /// Removes the folder, or says why it is still there.
    pub(super) fn remove(self) -> anyhow::Result<()> {
        remove(&self.0).with_context(|| format!("the folder `{}` could not be removed", self.0.display()))
    }
}

impl Drop for TemporaryHome {
    fn drop(&mut self) {
        // For the ways out on which another error is told.
        remove(&self.0).ok();
    }
}

/// Removes a folder in which a command of another terminal may still be at work.
fn remove(path: &Path) -> io::Result<()> {
    let mut removed = Ok(());
    for _ in 0..TRIES {
        removed = fs::remove_dir_all(path);
        match &removed {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(_) => {}
        }
    }
    removed
}

const TRIES: u32 = 5;
