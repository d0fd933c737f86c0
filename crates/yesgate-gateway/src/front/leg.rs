//! One leg of a modern request: from a message of the client to the message that ends it, which may be the
//! answer or a request for the client's input.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::value::RawValue;

use super::exchange::{Exchange, Step};
use super::mailbox::Question;
use super::message::{Malformed, Message, read};
use super::parked::{self, Parked};
use crate::board::Scope;
use crate::cancel::Cancel;
use crate::raw::RawObject;
use crate::reply::Reply;
use crate::talk::{Notice, Party};

/// What the client hears.
#[derive(Debug)]
pub(crate) enum Spoken {
    /// A notification on the way.
    Notice(Notice),
    /// The end of this leg.
    Final(Reply),
}

/// One leg. Dropping it withdraws the request, unless it was parked.
#[derive(Debug)]
pub(crate) struct Leg {
    /// None once it is parked or over.
    exchange: Option<Exchange>,
    parked: Arc<Parked>,
    scope: Scope,
    party: Arc<Party>,
    message: Bytes,
    token: Token,
}

/// The name under which the client wants to hear of progress.
#[derive(Debug)]
enum Token {
    /// The one that the board knows.
    AsItWas,
    /// The one of a later leg, if it has one.
    Now(Option<Box<RawValue>>),
}

impl Leg {
    /// The leg that begins a request.
    pub(crate) const fn first(
        exchange: Exchange,
        parked: Arc<Parked>,
        scope: Scope,
        party: Arc<Party>,
        message: Bytes,
    ) -> Self {
        Self { exchange: Some(exchange), parked, scope, party, message, token: Token::AsItWas }
    }

    /// A leg that goes on with one.
    pub(crate) fn further(
        exchange: Exchange,
        parked: Arc<Parked>,
        scope: Scope,
        party: Arc<Party>,
        message: Bytes,
        token: Option<&RawValue>,
    ) -> Self {
        let token = Token::Now(token.map(ToOwned::to_owned));
        Self { exchange: Some(exchange), parked, scope, party, message, token }
    }

    /// The client's "never mind".
    pub(crate) fn cancel(&self) -> Cancel {
        self.exchange.as_ref().map_or_else(Cancel::new, |exchange| exchange.cancel().clone())
    }

    /// Goes on to the end of the leg, and gives what ends it. `None`: the client withdrew the request.
    pub(crate) async fn run(mut self, cancel: &Cancel, tell: impl Fn(Notice)) -> Option<Reply> {
        let withdraw = self.cancel();
        loop {
            let spoken = tokio::select! {
                // The withdrawal goes first: an answer that is ready at the same moment is not due any more.
                biased;
                () = cancel.fired() => {
                    withdraw.fire();
                    return None;
                }
                spoken = self.next() => spoken,
            };
            match spoken {
                Spoken::Notice(notice) => tell(notice),
                Spoken::Final(reply) => return Some(reply),
            }
        }
    }

    /// Waits for what the client hears next; nothing comes after the end.
    pub(crate) async fn next(&mut self) -> Spoken {
        loop {
            let Some(exchange) = &mut self.exchange else { return std::future::pending().await };
            match exchange.next().await {
                Step::Notice(notice) => {
                    if let Some(notice) = self.retoken(notice) {
                        return Spoken::Notice(notice);
                    }
                }
                Step::Question(question) if question.reply.is_closed() => {}
                Step::Question(question) => return Spoken::Final(self.park(question)),
                Step::Withdrawn(_) => {}
                Step::Done(reply) => {
                    self.exchange = None;
                    return Spoken::Final(reply);
                }
            }
        }
    }

    fn park(&mut self, question: Question) -> Reply {
        let Some(exchange) = self.exchange.take() else { return Reply::Silent };
        let binding = match read(&self.message) {
            Ok(Message::Request(request)) => {
                parked::binding(&self.party, &self.scope, &request.method, request.params)
            }
            Ok(Message::Notification(_) | Message::Response { .. }) | Err(_) => {
                Err(Malformed("the request cannot be read again".into()))
            }
        };
        match binding {
            Ok(binding) => self.parked.park(&self.party.caller, binding, exchange, question),
            Err(Malformed(words)) => {
                exchange.withdraw();
                Reply::error(-32602, &words, None)
            }
        }
    }

    /// Every leg has a progress token of its own, or none.
    fn retoken(&self, mut notice: Notice) -> Option<Notice> {
        match (&self.token, notice.method.as_ref()) {
            (Token::Now(token), "notifications/progress") => {
                let mut params = notice.params.as_deref().and_then(RawObject::parse)?;
                params.set("progressToken", token.clone()?);
                notice.params = Some(params.to_raw());
                Some(notice)
            }
            (Token::AsItWas | Token::Now(_), _) => Some(notice),
        }
    }
}
