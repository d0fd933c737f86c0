//! Requests of modern clients that wait for the client's own input between two legs (SEP-2322).
//!
//! A server of the old era asks in the middle of a call; a modern client is asked by an answer, and comes
//! back with another request. In between the unfinished call lies here.
//! - INVARIANT: a state opens only what its own caller parked, at the same endpoint, for the same method and
//!   parameters, once, and within its time. Whatever else comes with it, nothing runs.
//! - INVARIANT: what is never fetched is withdrawn.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::Instant;
use yesgate_core::caller::Caller;
use yesgate_core::digest::{Digest, Hasher};
use yesgate_core::id::ClientId;
use yesgate_core::json::{CanonicalJson, Limits, parse_strict};

use super::exchange::Exchange;
use super::inputs::{random, read_answers};
use super::mailbox::{Means, Question};
use super::message::Malformed;
use super::share::{Hold, Owner, Share, Shares};
use crate::board::Scope;
use crate::metrics::Metrics;
use crate::raw::Raw;
use crate::reply::Reply;
use crate::talk::Party;

/// What a state of ours begins with; any other is between the client and its server.
pub(crate) const PREFIX: &str = "yg1.";

/// The requests that wait.
#[derive(Debug)]
pub(crate) struct Parked {
    means: Arc<Means>,
    time: Duration,
    shares: Arc<Shares>,
    waiting: Mutex<HashMap<String, Waiting>>,
}

#[derive(Debug)]
struct Waiting {
    exchange: Exchange,
    question: Question,
    binding: Digest,
    until: Instant,
    /// Counts this one as long as it waits.
    _hold: Hold,
}

/// What a request with one of our states comes to.
#[derive(Debug)]
pub(crate) enum Resumed {
    /// All answers are there: it goes on.
    Going(Exchange),
    /// Some are missing, and are asked for again.
    Again(Reply),
    /// Nothing waits for this request.
    Refused(Reply),
}

impl Parked {
    pub(crate) fn new(means: Arc<Means>, time: Duration, share: Share, metrics: Metrics) -> Self {
        Self { means, time, shares: Shares::new(share, move || metrics.parked()), waiting: Mutex::default() }
    }

    /// Keeps a request until the client answers, and asks it to.
    pub(crate) fn park(
        &self,
        caller: &Caller,
        binding: Digest,
        exchange: Exchange,
        question: Question,
    ) -> Reply {
        let Ok(hold) = self.shares.take(Owner::of(caller)) else {
            exchange.withdraw();
            return Reply::error(-32603, "too many requests wait for the client's input already", None);
        };
        self.keep(Waiting { exchange, question, binding, until: Instant::now() + self.time, _hold: hold })
    }

    fn keep(&self, waiting: Waiting) -> Reply {
        let Some(state) = random(&*self.means.entropy).map(|random| format!("{PREFIX}{random}")) else {
            waiting.exchange.withdraw();
            return Reply::error(-32603, "the gateway cannot make a request state", None);
        };
        let reply = input_required(&state, &waiting.question);
        self.lock().insert(state, waiting);
        reply
    }

    /// Goes on with the request that a state stands for.
    pub(crate) fn resume(&self, state: &str, binding: Digest, responses: Option<&RawValue>) -> Resumed {
        let taken = {
            let mut parked = self.lock();
            match parked.get(state) {
                // The rightful owner may still come: another's try takes nothing away.
                Some(waiting) if waiting.binding != binding => return Resumed::Refused(refusal()),
                Some(_) => parked.remove(state),
                None => None,
            }
        };
        let mut waiting = match taken {
            Some(waiting) if waiting.until > Instant::now() => waiting,
            Some(late) => {
                late.exchange.withdraw();
                return Resumed::Refused(refusal());
            }
            None => return Resumed::Refused(refusal()),
        };
        match read_answers(responses, &waiting.question.requests) {
            Ok(answers) => answers.into_iter().for_each(|answer| waiting.question.take(answer)),
            Err(Malformed(words)) => {
                // The same state is good for another try: nothing was used yet.
                self.lock().insert(state.to_owned(), waiting);
                return Resumed::Refused(Reply::error(-32602, &words, None));
            }
        }
        if !waiting.question.requests.is_empty() && !waiting.question.reply.is_closed() {
            return Resumed::Again(self.keep(waiting));
        }
        waiting.question.finish();
        Resumed::Going(waiting.exchange)
    }

    /// Withdraws what waited too long.
    pub(crate) fn sweep(&self) {
        let now = Instant::now();
        let expired: Vec<Waiting> =
            self.lock().extract_if(|_, waiting| waiting.until <= now).map(|(_, waiting)| waiting).collect();
        for waiting in expired {
            waiting.exchange.withdraw();
        }
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Drops everything: nobody will come back.
    pub(crate) fn clear(&self) {
        let all = std::mem::take(&mut *self.lock());
        drop(all);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a state is bound to: who asks, where, and for exactly what.
pub(crate) fn binding(
    party: &Party,
    scope: &Scope,
    method: &str,
    params: Option<Raw<'_>>,
) -> Result<Digest, Malformed> {
    let params = params.map_or("{}", Raw::get);
    let mut params = parse_strict(params.as_bytes(), Limits::default()).map_err(|error| malformed(&error))?;
    if let Some(fields) = params.as_object_mut() {
        for carrier in ["inputResponses", "requestState", "_meta"] {
            fields.remove(carrier);
        }
    }
    let params = CanonicalJson::of(&params).map_err(|error| malformed(&error))?;
    let caller = &party.caller;
    let mut hasher = Hasher::new("yesgate/parked/1");
    hasher
        .field(caller.org.as_str().as_bytes())
        .field(caller.principal.as_str().as_bytes())
        .field(caller.client.as_str().as_bytes())
        // Where nobody else names clients, they are told apart by the name they give themselves.
        .field(party.client.as_ref().map_or("", ClientId::as_str).as_bytes())
        .field(match scope {
            Scope::All => b"".as_slice(),
            Scope::One(server) => server.as_str().as_bytes(),
        })
        .field(method.as_bytes())
        .field(params.as_bytes());
    Ok(hasher.finish())
}

fn malformed(error: &yesgate_core::json::JsonError) -> Malformed {
    Malformed(error.to_string())
}

/// The answer to a state that opens nothing. Whether an earlier answer to it was taken is not known here, so that nobody is
/// told to try again without thinking.
pub(crate) fn refusal() -> Reply {
    let words = "the request state is unknown, used or expired, or belongs to another request or another node; nothing ran \
                 by it. Make the request again without it, unless an answer to it was taken before";
    Reply::error(-32602, words, None)
}

/// A result that asks for input; without a question it only asks to come back.
fn input_required(state: &str, question: &Question) -> Reply {
    let asked: Vec<String> = question
        .requests
        .iter()
        .map(|request| {
            let (key, method) = (Value::from(request.key.as_str()), request.method.as_str());
            format!(r#"{key}:{{"method":"{method}","params":{}}}"#, request.params.get())
        })
        .collect();
    let asked = match asked.as_slice() {
        [] => String::new(),
        asked => format!(r#""inputRequests":{{{}}},"#, asked.join(",")),
    };
    let state = Value::from(state);
    Reply::Result(format!(r#"{{"resultType":"input_required",{asked}"requestState":{state}}}"#).into())
}
