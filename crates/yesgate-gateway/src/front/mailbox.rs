//! What a board says to a client while it works on a request, in order, until whoever drives the request
//! takes it.
//!
//! INVARIANT: a client that does not listen costs a bounded amount of memory: beyond that the oldest notices
//! are dropped, and further questions are turned away. A question that was taken is never dropped.
//! INVARIANT: whoever asks hears of the request's withdrawal, and its question is taken back.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;
use yesgate_core::clock::Entropy;

use super::inputs::Abilities;
use super::revision::Revision;
use crate::cancel::Cancel;
use crate::era::Era;
use crate::talk::{AskError, Boxed, InputAnswer, InputRequest, Notice, Party, Talk};

/// What all conversations share.
#[derive(Debug)]
pub(crate) struct Means {
    /// How long a client may think about a question.
    pub(crate) ask_time: Duration,
    /// Dice.
    pub(crate) entropy: Arc<dyn Entropy>,
}

/// One thing that was said.
#[derive(Debug)]
pub(crate) enum Said {
    /// A notification.
    Notice(Notice),
    /// A round of questions.
    Question(Question),
    /// A round that nobody waits for any more.
    Withdrawn(u64),
}

/// One round of questions, and where the answers go.
#[derive(Debug)]
pub(crate) struct Question {
    /// Tells it from other rounds of the same request.
    pub(crate) round: u64,
    /// What is asked and not yet answered.
    pub(crate) requests: Vec<InputRequest>,
    /// What was answered so far.
    pub(crate) answers: Vec<InputAnswer>,
    /// Who asks.
    pub(crate) reply: oneshot::Sender<Result<Vec<InputAnswer>, AskError>>,
}

impl Question {
    /// Takes an answer; one that nobody asked for is dropped.
    pub(crate) fn take(&mut self, answer: InputAnswer) {
        if let Some(index) = self.requests.iter().position(|request| request.key == answer.key) {
            self.requests.remove(index);
            self.answers.push(answer);
        }
    }

    /// Tells whoever asked that there will be no answers.
    pub(crate) fn refuse(self, error: AskError) {
        self.reply.send(Err(error)).ok();
    }

    /// Hands the answers to whoever asked.
    pub(crate) fn finish(self) {
        // Nobody waits any more: then the answers are for nobody.
        self.reply.send(Ok(self.answers)).ok();
    }
}

/// Whether the client of a request can be asked at all.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Asking {
    /// It can, as far as it declared.
    Possible,
    /// It cannot: there is no way to put a question on the way to this answer.
    Impossible,
}

/// The way to the client during one request.
#[derive(Debug)]
pub(crate) struct Mailbox {
    means: Arc<Means>,
    party: Arc<Party>,
    revision: Revision,
    asking: Asking,
    /// The client's "never mind".
    cancel: Cancel,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    said: VecDeque<Said>,
    waker: Option<Waker>,
    rounds: u64,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Stage {
    Open,
    Closed,
}

impl Mailbox {
    pub(crate) fn new(
        means: Arc<Means>,
        party: Arc<Party>,
        revision: Revision,
        asking: Asking,
        cancel: Cancel,
    ) -> Arc<Self> {
        let state = State { said: VecDeque::new(), waker: None, rounds: 0, stage: Stage::Open };
        Arc::new(Self { means, party, revision, asking, cancel, state: Mutex::new(state) })
    }

    /// The next thing that was said; without one, the task is woken when there is.
    pub(crate) fn poll(&self, context: &Context<'_>) -> Option<Said> {
        let mut state = self.lock();
        let said = state.said.pop_front();
        if said.is_none() && !state.waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
            state.waker = Some(context.waker().clone());
        }
        said
    }

    /// The request is over: nothing more is taken.
    pub(crate) fn close(&self) {
        let left = {
            let mut state = self.lock();
            state.stage = Stage::Closed;
            std::mem::take(&mut state.said)
        };
        // Whoever still asks learns here that the client went.
        drop(left);
    }

    fn say(&self, said: Said) -> Result<(), AskError> {
        let waker = {
            let mut state = self.lock();
            match state.stage {
                Stage::Open => {}
                Stage::Closed => return Err(AskError::Gone),
            }
            if state.said.len() >= MOST_SAID {
                match (state.said.iter().position(is_notice), &said) {
                    (Some(oldest), _) => drop(state.said.remove(oldest)),
                    // There are only questions: a server that asks without end is not heard without end.
                    (None, Said::Notice(_) | Said::Question(_)) => return Err(AskError::Unable),
                    (None, Said::Withdrawn(_)) => {}
                }
            }
            state.said.push_back(said);
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        Ok(())
    }

    async fn ask_within_time(&self, requests: Vec<InputRequest>) -> Result<Vec<InputAnswer>, AskError> {
        self.possible()?;
        let abilities = Abilities::of(&self.party.capabilities, self.revision);
        let requests = requests
            .into_iter()
            .map(|request| abilities.shape(request, &*self.means.entropy))
            .collect::<Result<Vec<_>, _>>()?;
        if requests.is_empty() {
            return Ok(Vec::new());
        }
        self.put(requests).await
    }

    async fn rest_within_time(&self) -> Result<(), AskError> {
        self.possible()?;
        match self.revision.era() {
            // A round without questions: there is nothing to answer but to come back.
            Era::Modern => self.put(Vec::new()).await.map(drop),
            Era::Legacy => Err(AskError::Unable),
        }
    }

    const fn possible(&self) -> Result<(), AskError> {
        match self.asking {
            Asking::Possible => Ok(()),
            Asking::Impossible => Err(AskError::Unable),
        }
    }

    /// Puts one round to the client, and waits.
    async fn put(&self, requests: Vec<InputRequest>) -> Result<Vec<InputAnswer>, AskError> {
        if self.cancel.is_fired() {
            return Err(AskError::Gone);
        }
        let (reply, answer) = oneshot::channel();
        let round = self.next_round();
        self.say(Said::Question(Question { round, requests, answers: Vec::new(), reply }))?;
        let mut withdrawing = Withdrawing { mailbox: self, round: Some(round) };
        let given = tokio::select! {
            // An answer that comes at the same moment as the withdrawal is too late.
            biased;
            () = self.cancel.fired() => return Err(AskError::Gone),
            given = timeout(self.means.ask_time, answer) => given,
        };
        match given {
            Ok(given) => {
                withdrawing.round = None;
                given.unwrap_or(Err(AskError::Gone))
            }
            Err(_) => Err(AskError::Late),
        }
    }

    fn next_round(&self) -> u64 {
        let mut state = self.lock();
        state.rounds += 1;
        state.rounds
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Talk for Mailbox {
    fn notify(&self, notice: Notice) {
        if self.revision.hears(&notice.method) {
            // A client that went gets nothing.
            self.say(Said::Notice(notice)).ok();
        }
    }

    fn ask(&self, requests: Vec<InputRequest>) -> Boxed<'_, Result<Vec<InputAnswer>, AskError>> {
        Box::pin(self.ask_within_time(requests))
    }

    fn rest(&self) -> Boxed<'_, Result<(), AskError>> {
        Box::pin(self.rest_within_time())
    }
}

/// Takes a round back when whoever asked is dropped, or waited long enough.
struct Withdrawing<'a> {
    mailbox: &'a Mailbox,
    round: Option<u64>,
}

impl Drop for Withdrawing<'_> {
    fn drop(&mut self) {
        if let Some(round) = self.round {
            self.mailbox.say(Said::Withdrawn(round)).ok();
        }
    }
}

fn is_notice(said: &Said) -> bool {
    match said {
        Said::Notice(_) => true,
        Said::Question(_) | Said::Withdrawn(_) => false,
    }
}

/// How many things wait for a driver that does not come.
const MOST_SAID: usize = 1024;
