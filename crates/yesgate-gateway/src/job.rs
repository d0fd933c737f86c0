//! Calls that wait for a human as tasks (SEP-2663): the client is let go at once, and fetches what it is asked and
//! what came of its call.
//!
//! A task is its question: it goes by the intent's id, so it is as durable as the ledger and outlives this process.
//! Only what a client is asked meanwhile, and what is said of a call that left nothing in the ledger, lives here.
//! - INVARIANT: what is asked goes by a key that is used once in the life of a task.
//! - INVARIANT: a client that never fetches what it is asked costs a bounded time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};
use yesgate_core::clock::Entropy;
use yesgate_core::id::IntentId;
use yesgate_core::intent::Intent;

use crate::cancel::Cancel;
use crate::front::inputs::{Abilities, read_answers};
use crate::front::mailbox::Question;
use crate::front::message::Malformed;
use crate::front::revision::Revision;
use crate::raw::{RawObject, raw};
use crate::reply::{Own, Reply};
use crate::talk::{AskError, Boxed, InputAnswer, InputRequest, Notice, Party, Talk};

/// What a client declares that can deal with tasks.
pub(crate) const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// One call that goes on without its request.
#[derive(Debug)]
pub(crate) struct Job {
    party: Arc<Party>,
    entropy: Arc<dyn Entropy>,
    /// The client's "never mind" to the task.
    pub(crate) cancel: Cancel,
    /// Who still waits for the request itself.
    caller: Mutex<Option<oneshot::Sender<Box<Intent>>>>,
    desk: Mutex<Desk>,
}

#[derive(Debug, Default)]
struct Desk {
    rounds: u64,
    open: Vec<Question>,
    /// When the client first saw the latest of them.
    shown: Option<Instant>,
}

impl Job {
    /// A call of this client that may become a task, and where it is told that it has.
    pub(crate) fn new(
        party: Arc<Party>,
        entropy: Arc<dyn Entropy>,
    ) -> (Arc<Self>, oneshot::Receiver<Box<Intent>>) {
        let (caller, created) = oneshot::channel();
        let (caller, desk) = (Mutex::new(Some(caller)), Mutex::default());
        (Arc::new(Self { party, entropy, cancel: Cancel::new(), caller, desk }), created)
    }

    /// Its question is open and durable: from here on the call is a task.
    pub(crate) fn created(&self, intent: &Intent) {
        if let Some(caller) = lock(&self.caller).take() {
            // Whoever went meanwhile finds the task by making the same call again.
            caller.send(Box::new(intent.clone())).ok();
        }
    }

    /// Whether its client has gone with a task.
    pub(crate) fn is_created(&self) -> bool {
        lock(&self.caller).is_none()
    }

    /// Waits until the request is withdrawn that has not become a task yet. Afterwards only the task can be.
    pub(crate) async fn withdrawn_with(&self, request: &Cancel) {
        request.fired().await;
        if self.is_created() {
            std::future::pending().await
        }
    }

    /// What the client is asked and has not answered, as `inputRequests`; `None`: nothing.
    pub(crate) fn asks(&self) -> Option<Box<RawValue>> {
        let mut desk = lock(&self.desk);
        let mut requests = RawObject::default();
        for request in desk.open.iter().flat_map(|question| &question.requests) {
            let (method, params) = (request.method.as_str(), request.params.get());
            requests.set(&request.key, raw(format!(r#"{{"method":"{method}","params":{params}}}"#)));
        }
        if requests.is_empty() {
            return None;
        }
        desk.shown.get_or_insert_with(Instant::now);
        Some(requests.to_raw())
    }

    /// Takes the client's answers. What nobody asked, or has been answered, is passed over.
    ///
    /// # Errors
    /// When one of them cannot be an answer to its question; then none is taken.
    pub(crate) fn answered(&self, responses: Option<&RawValue>) -> Result<(), Malformed> {
        let mut desk = lock(&self.desk);
        let given = desk
            .open
            .iter()
            .map(|question| read_answers(responses, &question.requests))
            .collect::<Result<Vec<_>, _>>()?;
        for (question, answers) in desk.open.iter_mut().zip(given) {
            for answer in answers {
                question.take(answer);
            }
        }
        for question in desk.open.extract_if(.., |question| question.requests.is_empty()) {
            question.finish();
        }
        Ok(())
    }

    async fn put(&self, requests: Vec<InputRequest>) -> Result<Vec<InputAnswer>, AskError> {
        let abilities = Abilities::of(&self.party.capabilities, Revision::July2026);
        let requests = requests
            .into_iter()
            .map(|request| abilities.shape(request, &*self.entropy))
            .collect::<Result<Vec<_>, _>>()?;
        if requests.is_empty() {
            return Ok(Vec::new());
        }
        if self.cancel.is_fired() {
            return Err(AskError::Gone);
        }
        let (round, answer) = self.open(requests);
        let _withdrawing = Withdrawing { job: self, round };
        let given = tokio::select! {
            // An answer that comes at the same moment as the withdrawal is too late.
            biased;
            () = self.cancel.fired() => return Err(AskError::Gone),
            given = timeout(LONGEST, answer) => given,
        };
        let answers = given.map_err(|_| AskError::Late)?.unwrap_or(Err(AskError::Gone))?;
        let plain = |answer: InputAnswer| InputAnswer { key: plain_key(&answer.key), ..answer };
        Ok(answers.into_iter().map(plain).collect())
    }

    fn open(&self, requests: Vec<InputRequest>) -> (u64, oneshot::Receiver<Given>) {
        let (reply, answer) = oneshot::channel();
        let mut desk = lock(&self.desk);
        desk.rounds += 1;
        desk.shown = None;
        let round = desk.rounds;
        let requests = requests
            .into_iter()
            .map(|request| InputRequest { key: format!("{round}:{}", request.key), ..request })
            .collect();
        desk.open.push(Question { round, requests, answers: Vec::new(), reply });
        (round, answer)
    }
}

type Given = Result<Vec<InputAnswer>, AskError>;

/// The asker's own key in one that is used once.
fn plain_key(key: &str) -> String {
    key.split_once(':').map_or(key, |(_, plain)| plain).to_owned()
}

impl Talk for Job {
    /// A task tells nothing on the way.
    fn notify(&self, _notice: Notice) {}

    fn ask(&self, requests: Vec<InputRequest>) -> Boxed<'_, Result<Vec<InputAnswer>, AskError>> {
        Box::pin(self.put(requests))
    }

    /// The client went with its task, and comes back when it likes.
    fn rest(&self) -> Boxed<'_, Result<(), AskError>> {
        Box::pin(async { Err(AskError::Unable) })
    }

    fn seen_for(&self, _put: Instant) -> Duration {
        lock(&self.desk).shown.map(|shown| shown.elapsed()).unwrap_or_default()
    }
}

/// Takes a round back that nobody waits for any more.
struct Withdrawing<'a> {
    job: &'a Job,
    round: u64,
}

impl Drop for Withdrawing<'_> {
    fn drop(&mut self) {
        lock(&self.job.desk).open.retain(|question| question.round != self.round);
    }
}

/// The tasks of one gate that this process works on.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    known: Mutex<HashMap<IntentId, Stage>>,
}

#[derive(Debug)]
enum Stage {
    Live(Arc<Job>),
    /// What its call was answered with, where the ledger does not tell that.
    Over(Own),
}

impl Jobs {
    /// Begins a task for a question, unless there is one.
    pub(crate) fn begin(&self, id: &IntentId, job: &Arc<Job>) -> Begun {
        let mut known = lock(&self.known);
        if let Some(Stage::Live(other)) = known.get(id)
            && !Arc::ptr_eq(other, job)
        {
            return Begun::Before;
        }
        known.insert(id.clone(), Stage::Live(Arc::clone(job)));
        Begun::Now
    }

    /// The task that this question is worked on as.
    pub(crate) fn live(&self, id: &IntentId) -> Option<Arc<Job>> {
        match lock(&self.known).get(id) {
            Some(Stage::Live(job)) => Some(Arc::clone(job)),
            Some(Stage::Over(_)) | None => None,
        }
    }

    /// What a call was answered with that left no end in the ledger.
    pub(crate) fn over(&self, id: &IntentId) -> Option<Own> {
        match lock(&self.known).get(id) {
            Some(Stage::Over(own)) => Some(own.clone()),
            Some(Stage::Live(_)) | None => None,
        }
    }

    /// A task has ended with this answer.
    pub(crate) fn end(&self, job: &Arc<Job>, reply: &Reply) {
        let mut known = lock(&self.known);
        let own = match reply {
            Reply::Own(own) => Some((**own).clone()),
            Reply::Relayed | Reply::Result(_) | Reply::Error(_) | Reply::Silent => None,
        };
        let is_it = |stage: &Stage| match stage {
            Stage::Live(live) => Arc::ptr_eq(live, job),
            Stage::Over(_) => false,
        };
        let ids: Vec<IntentId> =
            known.iter().filter(|(_, stage)| is_it(stage)).map(|(id, _)| id.clone()).collect();
        // What nobody fetches is not kept for ever; the ledger still knows how the question stands.
        if known.len() >= MOST_KEPT {
            known.retain(|_, stage| match stage {
                Stage::Live(_) => true,
                Stage::Over(_) => false,
            });
        }
        for id in ids {
            match &own {
                Some(own) => known.insert(id, Stage::Over(own.clone())),
                None => known.remove(&id),
            };
        }
    }
}

/// Whose task a question is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Begun {
    /// That of the call that was just made.
    Now,
    /// That of an earlier one.
    Before,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The longest that anything is asked of a client that is free to come when it likes.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
/// How many answers are kept for clients that have not fetched them.
const MOST_KEPT: usize = 4096;
