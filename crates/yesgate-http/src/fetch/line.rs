//! One connection to a server, driven by whoever uses it.
//!
//! The HTTP library would have a task of its own for each connection. A request and its connection would then wake
//! each other four times for one short answer; here they are polled together, by the task that waits for the
//! answer.
//!
//! INVARIANT: whatever a request or a body waits for comes from its connection, so each time that one is polled the
//! other is, until neither has anything to say to the other.

use std::fmt;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{self, Connection, SendRequest};
use tokio::task::yield_now;
use tokio::time::Instant;

use super::connect::Stream;
use super::parts::Parts;

/// One connection. Dropping it closes it.
pub(super) struct Line {
    sender: SendRequest<Parts>,
    /// None once the connection has ended.
    driver: Option<Pin<Box<Connection<Stream, Parts>>>>,
    bell: Arc<Bell>,
    /// Since when nobody uses it.
    pub(super) rests_since: Instant,
}

impl Line {
    /// Speaks HTTP over a stream.
    pub(super) async fn over(stream: Stream) -> hyper::Result<Self> {
        let (sender, driver) = http1::handshake(stream).await?;
        let bell = Arc::new(Bell(Mutex::new(Ear::Away)));
        Ok(Self { sender, driver: Some(Box::pin(driver)), bell, rests_since: Instant::now() })
    }

    /// Sends a request. The request comes back where no byte of it was written.
    pub(super) async fn send(
        &mut self,
        request: Request<Parts>,
    ) -> Result<Response<Incoming>, TrySendError<Request<Parts>>> {
        let mut answer = pin!(self.sender.try_send_request(request));
        std::future::poll_fn(|cx| drive(&mut self.driver, &self.bell, cx, |cx| answer.as_mut().poll(cx)))
            .await
    }

    /// Polls what this connection feeds, and the connection with it.
    pub(super) fn poll_with<T>(
        &mut self,
        cx: &mut Context<'_>,
        fed: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        drive(&mut self.driver, &self.bell, cx, fed)
    }

    /// Lets everything else that waits on this thread have its turn, sockets and clocks included.
    pub(super) fn give_way(&self, cx: &Context<'_>) {
        self.bell.hear(Ear::Asleep(cx.waker().clone()));
        let waker = Waker::from(Arc::clone(&self.bell));
        let _later: Poll<()> = pin!(yield_now()).poll(&mut Context::from_waker(&waker));
    }

    /// Whether the others have not had their turn yet.
    pub(super) fn still_gives_way(&self, cx: &Context<'_>) -> bool {
        match &mut *self.bell.lock() {
            Ear::Asleep(waker) => {
                waker.clone_from(cx.waker());
                true
            }
            Ear::Away | Ear::Here { .. } => false,
        }
    }

    /// Whether another request can be sent, after everything of the last one has been read or dropped.
    pub(super) fn is_free(&mut self) -> bool {
        if !self.sender.is_ready() {
            let mut cx = Context::from_waker(Waker::noop());
            let _never: Poll<()> = self.poll_with(&mut cx, |_| Poll::Pending);
        }
        self.driver.is_some() && self.sender.is_ready()
    }

    /// Nobody waits for it any more.
    pub(super) fn rest(&mut self) {
        self.bell.hear(Ear::Away);
        self.rests_since = Instant::now();
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line").field("open", &self.driver.is_some()).finish_non_exhaustive()
    }
}

/// Polls what a connection feeds and the connection in turn, as long as one of them has something for the other.
fn drive<T>(
    driver: &mut Option<Pin<Box<Connection<Stream, Parts>>>>,
    bell: &Arc<Bell>,
    cx: &mut Context<'_>,
    mut fed: impl FnMut(&mut Context<'_>) -> Poll<T>,
) -> Poll<T> {
    let waker = Waker::from(Arc::clone(bell));
    let mut inner = Context::from_waker(&waker);
    for _ in 0..MOST_TURNS {
        bell.hear(Ear::Here { rung: false });
        if let Poll::Ready(ready) = fed(&mut inner) {
            bell.hear(Ear::Away);
            return Poll::Ready(ready);
        }
        match driver.as_mut().map(|driver| driver.as_mut().poll(&mut inner)) {
            // Its drop tells whoever still waits for something, with its reason where there is one.
            Some(Poll::Ready(_)) => *driver = None,
            Some(Poll::Pending) | None => {
                if bell.sleep(cx.waker()) {
                    return Poll::Pending;
                }
            }
        }
    }
    // Neither gives way, or this task has had its share of time.
    bell.hear(Ear::Asleep(cx.waker().clone()));
    cx.waker().wake_by_ref();
    Poll::Pending
}

/// How often the two are polled at a time.
const MOST_TURNS: usize = 16;

/// Tells the task that drives a connection that something has come. While it is at work it need not be woken.
struct Bell(Mutex<Ear>);

enum Ear {
    /// Nobody waits.
    Away,
    /// The task is just polling.
    Here { rung: bool },
    /// The task is to be woken.
    Asleep(Waker),
}

impl Bell {
    fn hear(&self, ear: Ear) {
        let before = std::mem::replace(&mut *self.lock(), ear);
        // Not under the lock: it may be the last of a task.
        drop(before);
    }

    /// From here on the task is woken, unless the bell rang while it was here.
    fn sleep(&self, waker: &Waker) -> bool {
        let mut ear = self.lock();
        match &*ear {
            Ear::Here { rung: true } => false,
            Ear::Here { rung: false } | Ear::Away | Ear::Asleep(_) => {
                *ear = Ear::Asleep(waker.clone());
                true
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Ear> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let asleep = {
            let mut ear = self.lock();
            match &mut *ear {
                Ear::Away => return,
                Ear::Here { rung } => {
                    *rung = true;
                    return;
                }
                Ear::Asleep(_) => std::mem::replace(&mut *ear, Ear::Away),
            }
        };
        match asleep {
            Ear::Asleep(waker) => waker.wake(),
            Ear::Away | Ear::Here { .. } => {}
        }
    }
}
