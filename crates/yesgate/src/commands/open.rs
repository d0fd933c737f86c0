//! `open`: the inbox in the browser, signed in as its owner.
//!
//! INVARIANT: the link lets in whoever opens it first, so it stands on no command line, where other accounts of the
//! machine could read it: the browser is given a file of ours that leads on, which only this account can read.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::json;
use tokio::process::Command;
use tokio::time::{Instant, timeout_at};
use url::{Host, Url};
use yesgate_core::id::{BootId, IntentId};
use yesgate_core::person::{LinkSecret, Person};
use yesgate_gateway::gate::SharedReach;
use yesgate_ledger::Ledger;

use super::pages::first_owner;
use super::pages::local::{Behind, Inbox};
use super::pages::office::{Office, Plate, Sight};
use super::people::make_link;
use super::questions::{Found, find};
use super::wrap::REACH;
use crate::cli::OpenArgs;
use crate::home::Home;
use crate::output::{self, Done, Hinted};
use crate::settings::Settings;
use crate::witness::{Witnesses, keep_fresh, reach};

pub(super) async fn run(settings: Settings, args: &OpenArgs, as_json: bool) -> anyhow::Result<Done> {
    let (ledger, boot) = settings.ledger().await?;
    let question = match &args.id {
        Some(id) => match find(&ledger, id).await? {
            Found::One(intent) => Some(intent.id().clone()),
            Found::Other(done) => return Ok(done),
        },
        None => None,
    };
    let showing = match (as_json, args.print || !has_display()) {
        (true, _) => Showing::Json,
        (false, true) => Showing::Text,
        (false, false) => Showing::Browser,
    };
    let office = Office::of(&settings.home);
    match office.look()? {
        Sight::Taken(plate @ Plate { origin: Some(_), .. }) => {
            let origin = plate.origin.clone().unwrap_or_default();
            let _vouched =
                office.vouch(&plate).await.with_context(|| format!("the pages should be at {origin}"))?;
            let invitation = Invitation::make(&ledger, &origin, question.as_ref()).await?;
            invitation.show(showing, &settings.home, &boot, &ledger).await?;
            Ok(Done::Ok)
        }
        Sight::Taken(Plate { origin: None, .. }) => {
            let hint = "what it says on stderr tells why; `yesgate pending` lists what waits";
            Err(Hinted::new("a gate of this home runs, but it has no pages", Some(hint)).into())
        }
        Sight::Free => serve_here(settings, ledger, boot, question.as_ref(), showing).await,
    }
}

/// Serves the pages until we are told to end: nobody else does.
async fn serve_here(
    settings: Settings,
    ledger: Ledger,
    boot: BootId,
    question: Option<&IntentId>,
    showing: Showing,
) -> anyhow::Result<Done> {
    let settings = Arc::new(settings);
    let joined = Inbox::join(&settings.home, &settings.config.pages, &boot).await;
    let inbox = joined.context("the pages cannot be served")?;
    let origin = inbox.origin().context("somebody else has just begun to serve the pages; try again")?;
    let witnesses = Witnesses::of(&settings.home, &ledger, &origin).await?;
    let strongest = SharedReach::new(reach(&ledger, &witnesses.registry, REACH).await?);
    let registry = Arc::clone(&witnesses.registry);
    let witnessing = tokio::spawn(keep_fresh(ledger.clone(), registry, strongest.clone(), REACH));
    let behind = Behind {
        settings: Arc::clone(&settings),
        ledger: ledger.clone(),
        strongest,
        witnesses,
        origin: origin.clone(),
    };
    let serving = tokio::spawn(inbox.serve(behind, |_| {}));
    let invitation = Invitation::make(&ledger, &origin, question).await?;
    eprintln!("No gate of this home runs, so the pages are at {origin}/ until you press Ctrl-C here.");
    eprintln!("What you approve there runs only if a gate for its server is started in time.");
    let showing = async {
        invitation.show(showing, &settings.home, &boot, &ledger).await?;
        std::future::pending::<anyhow::Result<()>>().await
    };
    let ended = tokio::select! {
        shown = showing => shown,
        served = serving => served.context("the pages ended")?,
        told = tokio::signal::ctrl_c() => told.context("signals cannot be listened to"),
    };
    witnessing.abort();
    ended.map(|()| Done::Ok)
}

/// How the link is shown.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Showing {
    Browser,
    Text,
    Json,
}

/// A link for the owner, good once.
#[derive(Debug)]
struct Invitation {
    owner: Person,
    origin: String,
    secret: LinkSecret,
    url: String,
}

impl Invitation {
    async fn make(ledger: &Ledger, origin: &str, question: Option<&IntentId>) -> anyhow::Result<Self> {
        if !is_here(origin) {
            let hint = "`yesgate people link NAME` makes a link for them";
            return Err(
                Hinted::new(format!("the pages are at {origin}, not on this machine"), Some(hint)).into()
            );
        }
        let owner = first_owner(ledger).await?;
        let (secret, _) = make_link(ledger, &owner).await?;
        let to = question.map(|id| format!("?to={id}")).unwrap_or_default();
        let url = format!("{origin}/sign-in{to}#{}", secret.expose());
        Ok(Self { owner, origin: origin.to_owned(), secret, url })
    }

    async fn show(&self, how: Showing, home: &Home, boot: &BootId, ledger: &Ledger) -> anyhow::Result<()> {
        match how {
            Showing::Json => output::json(&json!({"origin": self.origin, "link": self.url})),
            Showing::Text => {
                self.print();
                Ok(())
            }
            Showing::Browser => self.open(home, boot, ledger).await,
        }
    }

    fn print(&self) {
        // What is piped away is the link alone.
        output::line(&self.url);
        eprintln!("It lets in whoever opens it first as {}, once, within 15 minutes.", self.owner.name);
    }

    /// Gives the browser a file that leads to the link, and takes the file away when it has.
    async fn open(&self, home: &Home, boot: &BootId, ledger: &Ledger) -> anyhow::Result<()> {
        let file = Leading::write(home, boot, &self.url)?;
        let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
        let mut command = Command::new(program);
        command.arg(&file.0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let until = Instant::now() + PATIENCE;
        let opened = match command.spawn() {
            Ok(mut child) => {
                timeout_at(until, child.wait()).await.map_or(Ok(true), |end| end.map(|end| end.success()))
            }
            Err(error) => Err(error),
        };
        if !opened.unwrap_or(false) {
            eprintln!("`{program}` cannot open a browser: open this yourself.");
            self.print();
            return Ok(());
        }
        eprintln!(
            "The browser shows {}/: press the button there to come in as {}.",
            self.origin, self.owner.name
        );
        eprintln!("If it does not, `yesgate open --print` prints the link.");
        let mut changes = ledger.changes();
        while ledger.link(self.secret.hash()).await?.is_some() {
            if timeout_at(until, changes.changed()).await.is_err() {
                break;
            }
        }
        Ok(())
    }
}

/// A file that leads a browser on. Dropped, it is gone.
#[derive(Debug)]
struct Leading(PathBuf);

impl Leading {
    fn write(home: &Home, boot: &BootId, url: &str) -> anyhow::Result<Self> {
        let path = home.path().join(format!("open-{boot}.html"));
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .with_context(|| format!("{} cannot be written", path.display()))?;
        let leading = Self(path);
        // Nothing in it is anybody else's: a name, a port, an id and a secret of our own.
        write!(
            file,
            "<!doctype html><meta charset=utf-8><meta name=referrer content=no-referrer><title>Yesgate</title>\
             <meta http-equiv=refresh content=\"0;url={url}\"><p><a href=\"{url}\">To the inbox</a>"
        )?;
        Ok(leading)
    }
}

impl Drop for Leading {
    fn drop(&mut self) {
        // One that is left behind opens nothing after a quarter of an hour.
        fs::remove_file(&self.0).ok();
    }
}

/// Whether an origin is a web page of this machine.
fn is_here(origin: &str) -> bool {
    let Ok(url) = Url::parse(origin) else { return false };
    let is_loopback = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    is_loopback && ["http", "https"].contains(&url.scheme()) && !origin.contains(['"', '<', '>', ' '])
}

/// Whether there is a desktop that could show a browser.
fn has_display() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    cfg!(target_os = "macos") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}

/// How long a browser may take to show the page, and somebody to press its button.
const PATIENCE: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::is_here;

    #[test]
    fn only_pages_of_this_machine_are_opened() {
        for here in ["http://localhost:8786", "http://127.0.0.1:1", "https://localhost", "http://[::1]:9"] {
            assert!(is_here(here), "{here}");
        }
        for elsewhere in [
            "",
            "http://gate.example.org",
            "file:///etc/passwd",
            "javascript:alert(1)",
            "http://localhost.example.org",
            "http://10.0.0.1:8786",
            "http://localhost:1\"><script>",
        ] {
            assert!(!is_here(elsewhere), "{elsewhere}");
        }
    }
}
