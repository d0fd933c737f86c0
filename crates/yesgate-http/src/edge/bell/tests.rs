//! What wakes a connection's task, and what does not.

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use bytes::Bytes;
use http_body::{Body, Frame};

use super::{Bell, poll_frame};

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A body that rings for each piece that is taken.
struct Rings {
    pieces: usize,
    bell: Waker,
}

impl Body for Rings {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.bell.wake_by_ref();
        self.pieces -= 1;
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"piece")))))
    }

    fn is_end_stream(&self) -> bool {
        self.pieces == 0
    }
}

#[test]
fn all_wakes_count_but_the_one_for_the_last_piece() {
    let count = Arc::new(Count::default());
    let woken = || count.0.load(Ordering::Relaxed);
    let bell = Bell::of(&Waker::from(Arc::clone(&count)));
    let mut body = pin!(Rings { pieces: 2, bell: bell.clone() });
    let mut cx = Context::from_waker(&bell);
    assert!(poll_frame(body.as_mut(), &mut cx).is_ready());
    assert_eq!(woken(), 1, "the reader goes on");
    assert!(poll_frame(body.as_mut(), &mut cx).is_ready());
    assert_eq!(woken(), 1, "there is nothing to go on with");
    bell.wake_by_ref();
    assert_eq!(woken(), 2, "everything else wakes as before");
}

#[test]
fn a_wake_from_another_thread_is_never_left_out() {
    /// Rings from elsewhere while its last piece is taken.
    struct Elsewhere(Waker);

    impl Body for Elsewhere {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            let bell = self.0.clone();
            std::thread::spawn(move || bell.wake()).join().unwrap();
            Poll::Ready(None)
        }

        fn is_end_stream(&self) -> bool {
            true
        }
    }

    let count = Arc::new(Count::default());
    let bell = Bell::of(&Waker::from(Arc::clone(&count)));
    let body = pin!(Elsewhere(bell.clone()));
    assert!(poll_frame(body, &mut Context::from_waker(&bell)).is_ready());
    assert_eq!(count.0.load(Ordering::Relaxed), 1);
}
