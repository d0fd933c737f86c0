//! Which process of a home serves its inbox: the one that holds a lock. Where it serves stands on a plate.
//!
//! The lock is the system's, so it ends with its process, however that ends. The plate is a small file beside it:
//! where people find the pages, and which port the gates of this home keep.
//!
//! INVARIANT: a *reign* is the time in which the port was ours without a break. Sessions are bound to it: what a
//! browser may have sent to somebody else, who had the port in between, opens nothing.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::net::Ipv4Addr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::thread;

use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use yesgate_core::id::BootId;
use yesgate_core::policy::PagesConfig;
use yesgate_gateway::base::{Base, Whereabouts};

use super::super::people::local_origin;
use super::port::{Listening, Port};
use crate::home::Home;

/// Where the inbox of a home is found. Clones are of the same home.
#[derive(Clone, Debug)]
pub(in crate::commands) struct Office {
    plate: PathBuf,
    lock: PathBuf,
}

/// What stands on the plate.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::commands) struct Plate {
    /// Where people find the pages, such as `http://localhost:8786`; `None`: nowhere.
    pub(in crate::commands) origin: Option<String>,
    /// The port that gates keep, also while `serve` has the pages.
    pub(in crate::commands) kept: Option<Kept>,
}

/// A port, and since when it is ours without a break.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::commands) struct Kept {
    pub(in crate::commands) port: u16,
    /// The start of the gate that took it.
    pub(in crate::commands) reign: BootId,
}

/// The right to serve the inbox. Dropped, it is somebody else's.
#[derive(Debug)]
pub(in crate::commands) struct Seat(#[expect(dead_code, reason = "it is the lock")] File);

/// A port that is listened at, for the time of a reign.
#[derive(Debug)]
pub(in crate::commands) struct Throne {
    pub(in crate::commands) listening: Listening,
    pub(in crate::commands) origin: String,
    pub(in crate::commands) reign: BootId,
}

/// Whether somebody serves.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::commands) enum Sight {
    /// Somebody has the seat, and this is on the plate.
    Taken(Plate),
    /// Nobody does.
    Free,
}

impl Sight {
    /// Where the pages are that somebody serves.
    pub(in crate::commands) fn origin(self) -> Option<String> {
        match self {
            Self::Taken(plate) => plate.origin,
            Self::Free => None,
        }
    }
}

impl Office {
    pub(in crate::commands) fn of(home: &Home) -> Self {
        Self { plate: home.path().join("pages.json"), lock: home.path().join("pages.lock") }
    }

    /// What stands on the plate; one that cannot be read says nothing.
    pub(in crate::commands) fn plate(&self) -> Plate {
        let text = fs::read(&self.plate).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// Says where the pages are. Nobody ever reads half of it.
    pub(in crate::commands) fn set_plate(&self, plate: &Plate) -> io::Result<()> {
        let draft = self.plate.with_extension(format!("{}.draft", std::process::id()));
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
        io::Write::write_all(&mut file, &serde_json::to_vec(plate)?)?;
        fs::rename(&draft, &self.plate)
    }

    /// Whether somebody serves now.
    pub(in crate::commands) fn look(&self) -> io::Result<Sight> {
        match self.file()?.try_lock_shared() {
            Ok(()) => Ok(Sight::Free),
            Err(TryLockError::WouldBlock) => Ok(Sight::Taken(self.plate())),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Takes the seat, where it is free.
    pub(in crate::commands) fn try_take(&self) -> io::Result<Option<Seat>> {
        let file = self.file()?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Seat(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Waits for the seat: asleep in the system until whoever has it ends.
    pub(in crate::commands) async fn wait(&self) -> io::Result<Seat> {
        let file = self.file()?;
        let (sender, receiver) = oneshot::channel();
        // A thread that waits for a lock cannot be called back; it ends with the process.
        thread::Builder::new().name("pages".to_owned()).stack_size(STACK).spawn(move || {
            let seat = file.lock().map(|()| Seat(file));
            // Where nobody waits any more, the seat is given back at once.
            drop(sender.send(seat));
        })?;
        receiver.await.unwrap_or_else(|_| Err(io::Error::other("nobody waits for the lock any more")))
    }

    /// Begins a reign: takes a port, says where the pages are, and listens.
    ///
    /// # Errors
    /// When no port can be had; the plate says then that the pages are nowhere.
    pub(in crate::commands) fn begin(&self, config: &PagesConfig, reign: &BootId) -> io::Result<Throne> {
        // Whatever was there before is not there now: nobody is to be led to it.
        let plate = Plate { origin: None, ..self.plate() };
        self.set_plate(&plate)?;
        let last = plate.kept.as_ref().map(|kept| kept.port);
        let wished = match config.port {
            Some(port) => vec![port],
            None => last.into_iter().chain([PagesConfig::USUAL_PORT, 0]).collect(),
        };
        let mut trouble = io::Error::from(io::ErrorKind::AddrNotAvailable);
        for number in wished {
            let begun = Port::take(number).and_then(|port| {
                let kept = Kept { port: port.number(), reign: reign.clone() };
                self.reign_on(port, kept)
            });
            match begun {
                Ok(throne) => return Ok(throne),
                Err(error) => {
                    let words = format!("port {number} of this machine cannot be had ({error})");
                    trouble = io::Error::new(error.kind(), words);
                }
            }
        }
        self.set_plate(&plate)?;
        Err(trouble)
    }

    /// Goes on with a reign: says where the pages are, and then listens. Whoever is answered at the port finds the
    /// reign that it belongs to on the plate.
    pub(in crate::commands) fn reign_on(&self, port: Port, kept: Kept) -> io::Result<Throne> {
        let origin = local_origin((Ipv4Addr::LOCALHOST, kept.port).into());
        self.set_plate(&Plate { origin: Some(origin.clone()), kept: Some(kept.clone()) })?;
        Ok(Throne { listening: port.listen()?, origin, reign: kept.reign })
    }

    /// Keeps the port of whoever serves now. Only then are we part of its reign: it must be there after we have it.
    pub(in crate::commands) async fn keep(&self) -> Option<(Port, Kept)> {
        let port = Port::keep(self.plate().kept?.port).ok()?;
        if !port.is_listened_at().await {
            return None;
        }
        let kept = self.plate().kept?;
        (kept.port == port.number()).then_some((port, kept))
    }

    /// Makes sure that local pages are those of this account: while it has what comes back, nobody else can have them.
    ///
    /// # Errors
    /// When nobody of this account answers there.
    pub(in crate::commands) async fn vouch(&self, plate: &Plate) -> io::Result<Option<Port>> {
        let local = plate.kept.as_ref().map(|kept| local_origin((Ipv4Addr::LOCALHOST, kept.port).into()));
        if local.is_none() || local != plate.origin {
            return Ok(None);
        }
        let kept = self.keep().await.map(|(port, _)| port);
        kept.map(Some).ok_or_else(|| io::Error::other("no gate of this account answers there"))
    }

    fn file(&self) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&self.lock)
    }
}

impl Whereabouts for Office {
    fn base(&self) -> Option<Base> {
        self.plate().origin.map(|origin| Base::of_pages(&origin))
    }
}

/// More than a thread that waits for a lock needs.
const STACK: usize = 64 * 1024;

#[cfg(test)]
mod tests;
