//! Requests of a client of the old era under way: one, or all of a batch.
//!
//! INVARIANT: a request that the client withdrew is not answered, whatever the board says; neither is its
//! client asked anything more on its behalf.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use serde_json::value::RawValue;
use yesgate_core::oauth::Scopes;

use super::asked::Asked;
use super::exchange::{Exchange, Step};
use super::in_flight::Ticket;
use super::wire;
use crate::reply::Reply;

/// One request under way.
#[derive(Debug)]
pub(crate) struct Errand {
    id: Box<RawValue>,
    exchange: Exchange,
    /// Keeps the id in use.
    _ticket: Ticket,
    /// The rounds of questions, as the request and as the client know them.
    rounds: Vec<(u64, u64)>,
}

impl Errand {
    pub(crate) fn new(id: &RawValue, exchange: Exchange, ticket: Ticket) -> Self {
        Self { id: id.to_owned(), exchange, _ticket: ticket, rounds: Vec::new() }
    }
}

/// What the client is to hear next.
#[derive(Debug)]
pub(crate) enum Heard {
    /// A notification.
    Notice(Bytes),
    /// A request of ours.
    Question(Bytes),
    /// An answer.
    Answer([Bytes; 3]),
    /// Nothing more.
    Over,
}

/// Requests that came together.
#[derive(Debug)]
pub(crate) struct Errands {
    asked: Arc<Asked>,
    /// The ones that are not answered; only the first few are worked on.
    open: Vec<Errand>,
    at_once: usize,
    waiting: VecDeque<Heard>,
    /// The scopes that a call lacked.
    unscoped: Option<Scopes>,
    client: Client,
}

#[derive(Clone, Copy, Debug)]
enum Client {
    Listens,
    Went,
}

impl Errands {
    pub(crate) fn new(asked: Arc<Asked>, open: Vec<Errand>, at_once: usize) -> Self {
        Self {
            asked,
            open,
            at_once: at_once.max(1),
            waiting: VecDeque::new(),
            unscoped: None,
            client: Client::Listens,
        }
    }

    /// The client cannot be reached any more, and will not come back for the rest: it is asked nothing.
    pub(crate) const fn client_went(&mut self) {
        self.client = Client::Went;
    }

    /// Puts an answer of ours in front of what comes.
    pub(crate) fn answer(&mut self, parts: [Bytes; 3]) {
        self.waiting.push_back(Heard::Answer(parts));
    }

    /// The scopes that a call lacked, if one was answered with that.
    pub(crate) fn unscoped(&mut self) -> Option<Scopes> {
        self.unscoped.take()
    }

    /// Waits for the next thing.
    pub(crate) async fn next(&mut self) -> Heard {
        poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Heard> {
        loop {
            if let Some(heard) = self.waiting.pop_front() {
                return Poll::Ready(heard);
            }
            if self.open.is_empty() {
                return Poll::Ready(Heard::Over);
            }
            let step =
                self.open.iter_mut().take(self.at_once).enumerate().find_map(|(index, errand)| match errand
                    .exchange
                    .poll_next(context)
                {
                    Poll::Ready(step) => Some((index, step)),
                    Poll::Pending => None,
                });
            match step {
                Some((index, step)) => self.take(index, step),
                None => return Poll::Pending,
            }
        }
    }

    fn take(&mut self, index: usize, step: Step) {
        let Some(errand) = self.open.get_mut(index) else { return };
        match step {
            Step::Notice(notice) => {
                if !errand.exchange.cancel().is_fired() {
                    self.waiting.push_back(Heard::Notice(wire::notification(&notice)));
                }
            }
            Step::Question(question) => match (self.client, errand.exchange.cancel().is_fired()) {
                // Dropping the question tells whoever asks that the client went.
                (Client::Went, _) | (_, true) => drop(question),
                (Client::Listens, false) => {
                    let round = question.round;
                    let cancel = errand.exchange.cancel().clone();
                    if let Some((number, messages)) = self.asked.put(question, Some(cancel)) {
                        errand.rounds.push((round, number));
                        self.waiting.extend(messages.into_iter().map(Heard::Question));
                    }
                }
            },
            Step::Withdrawn(round) => {
                let known = errand.rounds.iter().position(|(own, _)| *own == round);
                if let Some((_, number)) = known.map(|known| errand.rounds.remove(known)) {
                    self.waiting.extend(self.asked.withdraw(number).into_iter().map(Heard::Notice));
                }
            }
            Step::Done(reply) => {
                let errand = self.open.remove(index);
                self.finish(&errand, reply);
            }
        }
    }

    fn finish(&mut self, errand: &Errand, reply: Reply) {
        for (_, number) in &errand.rounds {
            self.waiting.extend(self.asked.withdraw(*number).into_iter().map(Heard::Notice));
        }
        if errand.exchange.cancel().is_fired() {
            return;
        }
        if let Some(needed) = reply.unscoped() {
            self.unscoped = Some(needed.clone());
        }
        self.waiting.extend(wire::answer(reply, &errand.id).map(Heard::Answer));
    }
}

impl Drop for Errands {
    fn drop(&mut self) {
        for (_, number) in self.open.iter().flat_map(|errand| &errand.rounds) {
            drop(self.asked.withdraw(*number));
        }
    }
}
