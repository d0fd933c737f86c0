//! One request on its way through the board: its answer, and what is said before it.
//!
//! INVARIANT: what was said before the answer comes out before the answer. A request of a client that is dropped
//! before it was answered is withdrawn; one of a wrapped host is left alone, because what it asked about stays
//! open when the host goes.

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
    dropped: Dropped,
}

/// What becomes of a request that is dropped before it was answered.
#[derive(Clone, Copy, Debug)]
enum Dropped {
    IsWithdrawn,
    IsLeftAlone,
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
        let (base, era) = (ask.base.clone(), ask.party.era);
        let work = async move { board.request(ask).await.linked(base.as_ref()).in_era(era) };
        let work = Work::Going(Box::pin(work));
        Self { work, mailbox, cancel, dropped: Dropped::IsWithdrawn }
    }

    /// A request of a wrapped host, which this work answers.
    pub(crate) const fn of_host(work: Boxed<'static, Reply>, mailbox: Arc<Mailbox>, cancel: Cancel) -> Self {
        Self { work: Work::Going(work), mailbox, cancel, dropped: Dropped::IsLeftAlone }
    }

    /// Withdraws the request.
    pub(crate) fn withdraw(self) {
        self.cancel.fire();
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
        match (&self.work, self.dropped) {
            (Work::Going(_), Dropped::IsWithdrawn) => self.cancel.fire(),
            (Work::Going(_), Dropped::IsLeftAlone) | (Work::Ready(_) | Work::Over, _) => {}
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
