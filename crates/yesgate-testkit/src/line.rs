//! A line to a database that can be cut at the worst moment, or become slow, in both ways.
//!
//! It is a socket that leads to that of the server. What is meant to happen is said beforehand, so that it happens in the
//! middle of what is sent: in a commit, or in part of an answer.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

/// When to cut.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Cut {
    /// The next commit does not arrive.
    BeforeCommit,
    /// Half of the next commit arrives.
    WithinCommit,
    /// The next commit arrives, and its answer does not.
    AfterCommit,
    /// Of what is sent, half of the piece after so many others arrives.
    WithinRequest(u32),
    /// Of what is answered, half of the piece after so many others arrives.
    WithinAnswer(u32),
}

/// A line.
#[derive(Debug)]
pub struct Line {
    folder: TempDir,
    inside: Arc<Inside>,
}

#[derive(Debug, Default)]
struct Inside {
    cut: Mutex<Option<Cut>>,
    /// How long each piece takes, in either way.
    micros: AtomicU64,
    /// Whether answers come one byte after the other.
    drips: AtomicBool,
    ends: Mutex<BTreeMap<u64, [UnixStream; 2]>>,
    /// How often it was cut.
    cuts: AtomicU64,
}

impl Line {
    /// A line to the socket of a server.
    ///
    /// # Panics
    /// When there is no room for a socket.
    #[must_use]
    pub fn to(socket: &Path) -> Self {
        let folder = TempDir::new().expect("a folder for the socket");
        let listener = UnixListener::bind(folder.path().join(NAME)).expect("a socket");
        let inside: Arc<Inside> = Arc::default();
        let (server, shared) = (socket.join(NAME), Arc::clone(&inside));
        thread::spawn(move || {
            for (number, client) in (0..).zip(listener.incoming()) {
                let (server, inside) = (server.clone(), Arc::clone(&shared));
                let Ok(client) = client else { continue };
                thread::spawn(move || carry(number, client, &server, &inside));
            }
        });
        Self { folder, inside }
    }

    /// The folder of its own socket.
    #[must_use]
    pub fn socket(&self) -> &Path {
        self.folder.path()
    }

    /// Cuts the line of whoever does this next. After that it is whole again.
    pub fn cut(&self, cut: Cut) {
        *lock(&self.inside.cut) = Some(cut);
    }

    /// Cuts all that is connected, now.
    pub fn cut_now(&self) {
        for ends in std::mem::take(&mut *lock(&self.inside.ends)).values() {
            self.inside.cuts.fetch_add(1, Ordering::Relaxed);
            end(ends);
        }
    }

    /// From now on each piece takes so long, in either way.
    pub fn slow_down(&self, delay: Duration) {
        self.inside.micros.store(u64::try_from(delay.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// From now on answers come one byte after the other, each by itself.
    pub fn drip(&self) {
        self.inside.drips.store(true, Ordering::Relaxed);
    }

    /// From now on it is whole and fast.
    pub fn mend(&self) {
        *lock(&self.inside.cut) = None;
        self.slow_down(Duration::ZERO);
        self.inside.drips.store(false, Ordering::Relaxed);
    }

    /// How many connections were cut.
    #[must_use]
    pub fn cuts(&self) -> u64 {
        self.inside.cuts.load(Ordering::Relaxed)
    }
}

impl Inside {
    fn linger(&self) {
        let micros = self.micros.load(Ordering::Relaxed);
        if micros > 0 {
            thread::sleep(Duration::from_micros(micros));
        }
    }

    /// What is to happen to a piece that is sent.
    fn meant_for(&self, part: &[u8]) -> Option<Cut> {
        let is_commit = || part.windows(7).any(|window| window == b"COMMIT\0");
        self.take(|cut| match cut {
            Cut::BeforeCommit | Cut::WithinCommit | Cut::AfterCommit => is_commit(),
            Cut::WithinRequest(left) => is_due(left),
            Cut::WithinAnswer(_) => false,
        })
    }

    /// What is to happen to a piece that is answered.
    fn meant_for_answer(&self) -> Option<Cut> {
        self.take(|cut| match cut {
            Cut::WithinAnswer(left) => is_due(left),
            Cut::BeforeCommit | Cut::WithinCommit | Cut::AfterCommit | Cut::WithinRequest(_) => false,
        })
    }

    fn take(&self, is_due: impl FnOnce(&mut Cut) -> bool) -> Option<Cut> {
        let mut cut = lock(&self.cut);
        if !cut.as_mut().is_some_and(is_due) {
            return None;
        }
        self.cuts.fetch_add(1, Ordering::Relaxed);
        cut.take()
    }
}

fn is_due(left: &mut u32) -> bool {
    *left = left.saturating_sub(1);
    *left == 0
}

fn carry(number: u64, mut client: UnixStream, server: &PathBuf, inside: &Arc<Inside>) {
    let Ok(mut server) = UnixStream::connect(server) else { return };
    let copies = || Some([client.try_clone().ok()?, server.try_clone().ok()?]);
    let (Some(kept), Some([to, from])) = (copies(), copies()) else { return };
    lock(&inside.ends).insert(number, kept);
    let shared = Arc::clone(inside);
    thread::spawn(move || answer(from, to, &shared));
    let mut bytes = [0; 65_536];
    while let Ok(length @ 1..) = client.read(&mut bytes) {
        let part = bytes.get(..length).unwrap_or_default();
        inside.linger();
        match inside.meant_for(part) {
            None => {
                if server.write_all(part).is_err() {
                    break;
                }
            }
            Some(Cut::BeforeCommit) => break,
            Some(Cut::WithinCommit | Cut::WithinRequest(_) | Cut::WithinAnswer(_)) => {
                drop(server.write_all(half(part)));
                break;
            }
            Some(Cut::AfterCommit) => {
                // The client is gone before the server can answer; the server commits all the same.
                drop(client.shutdown(Shutdown::Both));
                drop(server.write_all(part));
                drop(server.shutdown(Shutdown::Write));
                lock(&inside.ends).remove(&number);
                return;
            }
        }
    }
    lock(&inside.ends).remove(&number);
    end(&[client, server]);
}

fn answer(mut from: UnixStream, mut to: UnixStream, inside: &Inside) {
    let mut bytes = [0; 65_536];
    // To its end, whether the client is still there or not: a server that cannot answer would give up before it has come
    // to the commit.
    while let Ok(length @ 1..) = from.read(&mut bytes) {
        let part = bytes.get(..length).unwrap_or_default();
        inside.linger();
        if inside.meant_for_answer().is_some() {
            drop(to.write_all(half(part)));
            drop(from.shutdown(Shutdown::Both));
            break;
        }
        if inside.drips.load(Ordering::Relaxed) {
            for byte in part.chunks(1) {
                drop(to.write_all(byte));
                thread::sleep(BETWEEN_DROPS);
            }
        } else {
            drop(to.write_all(part));
        }
    }
    drop(to.shutdown(Shutdown::Both));
}

fn half(part: &[u8]) -> &[u8] {
    part.get(..part.len() / 2).unwrap_or_default()
}

fn end(ends: &[UnixStream; 2]) {
    for end in ends {
        drop(end.shutdown(Shutdown::Both));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Long enough for whoever listens to take each byte by itself.
const BETWEEN_DROPS: Duration = Duration::from_micros(20);
const NAME: &str = ".s.PGSQL.5432";
