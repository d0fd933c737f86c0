//! The inbox of a home on its own machine: one process serves it, for people with this account.
//!
//! INVARIANTS:
//! - Whatever goes wrong here, the gate goes on without pages, and says so.
//! - A yes here is `local`: whoever has this account can sign in (`yesgate open`), the agent's shell too. Only a key
//!   proves more.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpSocket;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use yesgate::SystemEntropy;
use yesgate_core::assurance::Assurance;
use yesgate_core::id::BootId;
use yesgate_core::policy::PagesConfig;
use yesgate_gateway::gate::SharedReach;
use yesgate_http::edge::crew::Crew;
use yesgate_http::edge::guard::Guard;
use yesgate_http::edge::pages::PagesDoor;
use yesgate_http::edge::{self, EdgeLimits};
use yesgate_ledger::Ledger;
use yesgate_web::{Keys, Site, SiteSettings};

use super::office::{Kept, Office, Plate, Seat, Throne};
use super::port::{Port, keep_other_half};
use super::{Desk, Listed, notice_what_is_over};
use crate::home::Home;
use crate::settings::Settings;
use crate::witness::Witnesses;

/// A process's part in serving the inbox of its home.
#[derive(Debug)]
pub(in crate::commands) struct Inbox {
    office: Office,
    config: PagesConfig,
    boot: BootId,
    part: Part,
}

#[derive(Debug)]
enum Part {
    /// Nobody else serves.
    First(Seat, Throne),
    /// Somebody else does, and we keep the port with them where we could.
    Later(Option<(Port, Kept)>),
}

/// What the pages need of the process that serves them.
#[derive(Debug)]
pub(in crate::commands) struct Behind {
    pub(in crate::commands) settings: Arc<Settings>,
    pub(in crate::commands) ledger: Ledger,
    pub(in crate::commands) strongest: SharedReach,
    pub(in crate::commands) witnesses: Witnesses,
    /// The origin that the witnesses know passkeys of.
    pub(in crate::commands) origin: String,
}

impl Inbox {
    /// Takes the seat, or finds who has it.
    ///
    /// # Errors
    /// When neither a lock nor a port can be had.
    pub(in crate::commands) async fn join(
        home: &Home,
        config: &PagesConfig,
        boot: &BootId,
    ) -> io::Result<Self> {
        let office = Office::of(home);
        let part = match office.try_take()? {
            Some(seat) => Part::First(seat, office.begin(config, boot)?),
            None => Part::Later(met(&office).await),
        };
        Ok(Self { office, config: *config, boot: boot.clone(), part })
    }

    /// Where people find the pages, whoever serves them.
    pub(in crate::commands) fn origin(&self) -> Option<String> {
        match &self.part {
            Part::First(_, throne) => Some(throne.origin.clone()),
            Part::Later(_) => self.office.plate().origin,
        }
    }

    /// Where the plate hangs.
    pub(in crate::commands) const fn office(&self) -> &Office {
        &self.office
    }

    /// Serves the pages as soon as it is our turn, and as long as nobody drops it. `began` is told where.
    ///
    /// # Errors
    /// When they cannot be served.
    pub(in crate::commands) async fn serve(
        self,
        behind: Behind,
        began: impl FnOnce(&str),
    ) -> anyhow::Result<()> {
        let Self { office, config, boot, part } = self;
        let (_seat, throne) = match part {
            Part::First(seat, throne) => (seat, throne),
            Part::Later(kept) => {
                let (seat, kept) = wait(&office, kept).await?;
                // A reign goes on only for those who were part of it.
                let ours = kept.filter(|(_, kept)| office.plate().kept.as_ref() == Some(kept));
                let throne = match ours {
                    Some((port, kept)) => office.reign_on(port, kept)?,
                    None => office.begin(&config, &boot)?,
                };
                (seat, throne)
            }
        };
        began(&throne.origin);
        answer(throne, behind).await
    }
}

/// Waits for the seat. Meanwhile the port is kept, as soon as whoever serves is there.
async fn wait(office: &Office, mut kept: Option<(Port, Kept)>) -> io::Result<(Seat, Option<(Port, Kept)>)> {
    let seat = office.wait();
    tokio::pin!(seat);
    let mut pause = FIRST_PAUSE;
    while kept.is_none() {
        tokio::select! {
            seat = &mut seat => return Ok((seat?, None)),
            () = sleep(pause) => {}
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
        kept = office.keep().await;
    }
    Ok((seat.await?, kept))
}

/// Meets whoever serves. Hosts start all their servers at once, so they may not be there quite yet.
async fn met(office: &Office) -> Option<(Port, Kept)> {
    for _ in 0..LOOKS {
        if let Some(kept) = office.keep().await {
            return Some(kept);
        }
        sleep(BETWEEN_LOOKS).await;
    }
    None
}

/// Serves the pages at a throne.
async fn answer(throne: Throne, behind: Behind) -> anyhow::Result<()> {
    let Behind { settings, ledger, strongest, witnesses, origin } = behind;
    let Throne { listening, origin: here, reign } = throne;
    let bound = listening.listener.local_addr()?;
    let (_in_force, settings) = watch::channel(settings);
    let desk = Desk::new(settings, ledger.clone(), strongest, Listed::Seen);
    let Witnesses { registry, seal, ceremonies, receipts } = witnesses;
    // Where the gates verify passkeys of another address, none is offered here.
    let ceremonies = ceremonies.filter(|_| here == origin);
    let settings = SiteSettings {
        public: None,
        proves: Assurance::Local,
        keys: ceremonies.map(|ceremonies| Keys::new(registry, seal, ceremonies)),
        reign: Some(reign),
        account: Some(format!("uid-{}", rustix::process::getuid().as_raw())),
        receipts,
    };
    let site = Site::new(ledger.clone(), Arc::new(SystemEntropy), Arc::new(desk), settings);
    let limits = EdgeLimits { connections: CONNECTIONS, ..EdgeLimits::listening_at(bound) };
    let none: [&str; 0] = [];
    let guard = Guard::new(bound, &none, &none)?;
    let door = Arc::new(PagesDoor { guard, limits: limits.clone(), pages: Arc::new(site) });
    let crew = Crew::of_one()?;
    tokio::select! {
        _ = edge::serve(listening.listener, door, limits, &crew, std::future::pending()) => {}
        () = notice_what_is_over(ledger) => {}
    }
    Ok(())
}

/// That the pages of `serve` are found. Dropped, they are not any more.
#[derive(Debug)]
pub(in crate::commands) struct Announced {
    waiting: JoinHandle<()>,
    _other_half: Option<TcpSocket>,
}

impl Announced {
    /// Has the pages of `serve` found that listens here, as soon as no gate has some of its own.
    pub(in crate::commands) fn at(home: &Home, origin: String, bound: SocketAddr) -> Self {
        let office = Office::of(home);
        let waiting = tokio::spawn(async move {
            let announced = async {
                let seat = office.wait().await?;
                office.set_plate(&Plate { origin: Some(origin), ..office.plate() })?;
                Ok::<Seat, io::Error>(seat)
            };
            match announced.await {
                Ok(_seat) => std::future::pending().await,
                Err(error) => {
                    tracing::warn!(%error, "`yesgate open` will not find these pages: {error}");
                }
            }
        });
        let other_half = match bound.ip().is_loopback() {
            // People call us `localhost`, which is `[::1]` too, and browsers try that first.
            true => keep_other_half(bound.port()).unwrap_or_else(|error| {
                let port = bound.port();
                eprintln!("yesgate: [::1]:{port} is somebody else's ({error}): browsers that go to localhost may reach them");
                None
            }),
            false => None,
        };
        Self { waiting, _other_half: other_half }
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        self.waiting.abort();
    }
}

/// How many connections the browsers of one person need, and some.
const CONNECTIONS: usize = 128;
/// How often, and how long apart, whoever serves is looked for at the start.
const LOOKS: u32 = 5;
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
/// The same for later: rarely needed, so ever more rarely.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
