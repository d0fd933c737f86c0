//! The threads that serve connections: one for each core, each with a runtime of its own.
//!
//! A connection stays on the thread that it was given to, and so does whatever its requests start there, the
//! connections to servers among them. A call then goes through without waking another thread, which would cost
//! more than all the work on it (decision 0017).
//!
//! INVARIANT: a thread lives as long as the crew; what it runs is cut after the crew was dropped, not before.

use std::cell::Cell;
use std::future::Future;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// The threads. Without any, connections are served where they are accepted.
#[derive(Debug, Default)]
pub struct Crew {
    members: Vec<Member>,
    given: AtomicUsize,
}

#[derive(Debug)]
struct Member {
    runtime: Handle,
    /// Dropped, it ends the thread.
    _end: oneshot::Sender<()>,
}

impl Crew {
    /// Starts a thread for each core.
    ///
    /// # Errors
    /// When the system gives us no thread, or none of what a runtime needs.
    pub fn start() -> io::Result<Self> {
        let members = (1..=most()).map(Member::start).collect::<io::Result<_>>()?;
        Ok(Self { members, given: AtomicUsize::new(0) })
    }

    /// Starts one thread, for those who have little to serve.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn of_one() -> io::Result<Self> {
        Ok(Self { members: vec![Member::start(1)?], given: AtomicUsize::new(0) })
    }

    /// Gives a connection to the next in turn.
    pub(super) fn give(&self, connections: &mut JoinSet<()>, run: impl Future<Output = ()> + Send + 'static) {
        let turn = self.given.fetch_add(1, Ordering::Relaxed);
        match turn.checked_rem(self.members.len()).and_then(|turn| self.members.get(turn)) {
            Some(member) => connections.spawn_on(run, &member.runtime),
            None => connections.spawn(run),
        };
    }
}

/// How many threads a crew has at most.
pub(crate) fn most() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Which one of a crew's threads this is, from 1 on; 0 is any other thread.
pub(crate) fn place() -> usize {
    PLACE.get()
}

thread_local! {
    static PLACE: Cell<usize> = const { Cell::new(0) };
}

impl Member {
    fn start(place: usize) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (end, ended) = oneshot::channel();
        thread::Builder::new().name(format!("edge-{place}")).spawn(move || {
            PLACE.set(place);
            // Nobody says anything: the sender's end is the message.
            let _ended = runtime.block_on(ended);
            runtime.shutdown_background();
        })?;
        Ok(Self { runtime: handle, _end: end })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    /// Where connections began and ended that were given to a crew, one after the other.
    async fn places(crew: &Crew, count: usize) -> Vec<(usize, usize)> {
        let mut connections = JoinSet::new();
        let (sender, places) = mpsc::channel();
        for number in 0..count {
            let sender = sender.clone();
            crew.give(&mut connections, async move {
                let began = place();
                tokio::time::sleep(Duration::from_millis(1)).await;
                sender.send((number, began, place())).unwrap();
            });
        }
        while let Some(ended) = connections.join_next().await {
            ended.unwrap();
        }
        let mut places: Vec<_> = places.try_iter().collect();
        places.sort_unstable();
        places.into_iter().map(|(_, began, ended)| (began, ended)).collect()
    }

    #[tokio::test]
    async fn each_thread_gets_connections_in_turn_and_keeps_them() {
        let crew = Crew::start().unwrap();
        let turn: Vec<_> = (1..=most()).map(|place| (place, place)).collect();
        assert_eq!(places(&crew, 2 * most()).await, [turn.clone(), turn].concat());
    }

    #[tokio::test]
    async fn without_a_crew_connections_stay_where_they_are_accepted() {
        assert_eq!(places(&Crew::default(), 2).await, [(0, 0), (0, 0)]);
    }
}
