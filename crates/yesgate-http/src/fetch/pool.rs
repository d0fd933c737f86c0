//! Connections that nobody uses at the moment, kept for the next request.
//!
//! INVARIANT: a connection that is handed out has rested for less than [`IDLE`], and has nothing left over from the
//! request before.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use http::uri::{self, Authority, PathAndQuery, Scheme};
use http::{HeaderValue, Uri};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};

use super::line::Line;

/// Who is at the other end of a connection.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Host {
    pub(super) scheme: Scheme,
    pub(super) authority: Authority,
}

impl Host {
    /// Its address.
    pub(super) fn uri(&self) -> Uri {
        let mut parts = uri::Parts::default();
        parts.scheme = Some(self.scheme.clone());
        parts.authority = Some(self.authority.clone());
        parts.path_and_query = Some(PathAndQuery::from_static("/"));
        // INVARIANT: with all three of them it is always an address.
        Uri::from_parts(parts).unwrap_or_default()
    }

    /// What `Host` says (RFC 9110 §7.2): no user, and no port that goes without saying.
    pub(super) fn header(&self) -> Option<HeaderValue> {
        let usual = if self.scheme == Scheme::HTTPS { 443 } else { 80 };
        let name = self.authority.host();
        match self.authority.port_u16().filter(|port| *port != usual) {
            Some(port) => HeaderValue::try_from(format!("{name}:{port}")).ok(),
            None => HeaderValue::from_str(name).ok(),
        }
    }
}

/// Connections that rest. Clones are the same pool.
#[derive(Clone, Default)]
pub(super) struct Pool(Arc<Mutex<Resting>>);

#[derive(Default)]
struct Resting {
    /// The one that rested last comes last.
    lines: Vec<(Host, Vec<Line>)>,
    is_swept: bool,
}

impl Pool {
    /// The connection to a host that was used last.
    pub(super) fn take(&self, host: &Host) -> Option<Line> {
        let mut resting = self.lock();
        let (_, lines) = resting.lines.iter_mut().find(|(known, _)| known == host)?;
        let line = lines.pop()?;
        if line.rests_since.elapsed() < IDLE {
            return Some(line);
        }
        // All others have rested for longer.
        let old = std::mem::take(lines);
        drop(resting);
        drop(old);
        None
    }

    /// Keeps a connection for the next request, if it can take one.
    pub(super) fn keep(&self, host: &Host, mut line: Line) {
        if !line.is_free() {
            return;
        }
        line.rests_since = Instant::now();
        let mut resting = self.lock();
        match resting.lines.iter_mut().find(|(known, _)| known == host) {
            Some((_, lines)) if lines.len() >= IDLE_PER_HOST => return,
            Some((_, lines)) => lines.push(line),
            None => resting.lines.push((host.clone(), vec![line])),
        }
        // Outside a runtime everything ends, and so do connections.
        if !resting.is_swept
            && let Ok(runtime) = Handle::try_current()
        {
            resting.is_swept = true;
            drop(runtime.spawn(sweep(Arc::downgrade(&self.0))));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Resting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count: usize = self.lock().lines.iter().map(|(_, lines)| lines.len()).sum();
        f.debug_struct("Pool").field("lines", &count).finish()
    }
}

/// Closes what has rested for too long, until nothing rests any more.
async fn sweep(pool: Weak<Mutex<Resting>>) {
    loop {
        sleep(IDLE).await;
        let Some(pool) = pool.upgrade() else { return };
        let mut old = Vec::new();
        let mut resting = pool.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, lines) in &mut resting.lines {
            old.extend(lines.extract_if(.., |line| line.rests_since.elapsed() >= IDLE));
        }
        resting.lines.retain(|(_, lines)| !lines.is_empty());
        resting.is_swept = !resting.lines.is_empty();
        let is_done = !resting.is_swept;
        drop(resting);
        drop(old);
        if is_done {
            return;
        }
    }
}

/// How long a connection is kept for the next request.
///
/// Widespread servers close theirs after five seconds of idleness. A request that meets such a close on its way
/// is lost, and it may be one that a human approved: a new connection is cheaper.
const IDLE: Duration = Duration::from_secs(4);

const IDLE_PER_HOST: usize = 32;
