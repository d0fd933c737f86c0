//! How the task of a connection is woken: by everything but what it has just done itself.
//!
//! The HTTP library wakes whoever reads a body when a piece of it is taken. Here one task does both, and would go once
//! more through all that it waits for, to find nothing new. After the last piece there is nothing to be read, so that
//! this one wake can be left out.
//!
//! INVARIANT: a wake is left out only on the thread that takes the last piece of a body, and only while it takes it.

use std::cell::Cell;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use http_body::{Body, Frame};

/// Wakes a task, unless that is being held back.
pub(super) struct Bell(Waker);

impl Bell {
    /// A waker for the same task.
    pub(super) fn of(task: &Waker) -> Waker {
        Waker::from(Arc::new(Self(task.clone())))
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        match HELD_BACK.get() {
            Held::Not => self.0.wake_by_ref(),
            Held::Back | Held::BackAndRung => HELD_BACK.set(Held::BackAndRung),
        }
    }
}

/// A frame; none at the end.
type Next<B> = Option<Result<Frame<<B as Body>::Data>, <B as Body>::Error>>;

/// The next frame of a body. That it was taken wakes nobody where nothing comes after it.
pub(super) fn poll_frame<B: Body>(mut body: Pin<&mut B>, cx: &mut Context<'_>) -> Poll<Next<B>> {
    HELD_BACK.set(Held::Back);
    let frame = body.as_mut().poll_frame(cx);
    match HELD_BACK.replace(Held::Not) {
        Held::BackAndRung if !body.is_end_stream() => cx.waker().wake_by_ref(),
        Held::BackAndRung | Held::Back | Held::Not => {}
    }
    frame
}

/// Whether wakes are held back on this thread.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Held {
    Not,
    Back,
    /// And there was one.
    BackAndRung,
}

thread_local! {
    static HELD_BACK: Cell<Held> = const { Cell::new(Held::Not) };
}

#[cfg(test)]
mod tests;
