//! One request on its way through the board: its answer, and what is said before it.
//!
//! INVARIANT: what was said before the answer comes out before the answer. A request that is dropped before
//! it was answered is withdrawn.

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::mailbox::{Mailbox, Question, Said};
use crate::board::{Ask, Board};
use crate::cancel::Cancel;
use crate::reply::Reply;
use crate::talk::{Boxed, Notice};

/// One thing that happens on the way.
#[derive(Debug)]
pub(crate) enum Step {
    /// The client is told something.
    Notice(Notice),
    /// The client is asked something.
    Question(Question),
    /// A round of questions needs no answer any more.
    Withdrawn(u64),
    /// The answer.
    Done(Reply),
}

/// One request that is being answered.
pub(crate) struct Exchange {
    work: Work,
    mailbox: Arc<Mailbox>,
    cancel: Cancel,
}

enum Work {
    Going(Boxed<'static, Reply>),
    /// The answer waits for what was said before it.
    Ready(Reply),
    Over,
}

impl Exchange {
    /// Makes a request ready, whose talk is this mailbox; it begins when it is first polled.
    pub(crate) fn new(board: Arc<dyn Board>, mailbox: Arc<Mailbox>, ask: Ask) -> Self {
        let cancel = ask.cancel.clone();
        // The future owns the board that it borrows, so that it can be put anywhere.
        let work = Work::Going(Box::pin(async move { board.request(ask).await }));
        Self { work, mailbox, cancel }
    }

    /// The client's "never mind".
    pub(crate) const fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Waits for what happens next. Nothing does after the answer.
    pub(crate) async fn next(&mut self) -> Step {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// [`Self::next`], by hand.
    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Step> {
        if let Work::Going(work) = &mut self.work
            && let Poll::Ready(reply) = work.as_mut().poll(context)
        {
            self.work = Work::Ready(reply);
        }
        match self.mailbox.poll(context) {
            Some(Said::Notice(notice)) => return Poll::Ready(Step::Notice(notice)),
            Some(Said::Question(question)) => return Poll::Ready(Step::Question(question)),
            Some(Said::Withdrawn(round)) => return Poll::Ready(Step::Withdrawn(round)),
            None => {}
        }
        match std::mem::replace(&mut self.work, Work::Over) {
            going @ Work::Going(_) => {
                self.work = going;
                Poll::Pending
            }
            Work::Ready(reply) => {
                self.mailbox.close();
                Poll::Ready(Step::Done(reply))
            }
            Work::Over => Poll::Pending,
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        match self.work {
            Work::Going(_) => self.cancel.fire(),
            Work::Ready(_) | Work::Over => {}
        }
        self.mailbox.close();
    }
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let work = match self.work {
            Work::Going(_) => "going",
            Work::Ready(_) => "ready",
            Work::Over => "over",
        };
        f.debug_struct("Exchange").field("work", &work).finish_non_exhaustive()
    }
}
