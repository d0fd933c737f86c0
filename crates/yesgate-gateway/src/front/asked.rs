//! Questions that were put to a client of the old era as requests, until its responses come.
//!
//! INVARIANT: a response finds its question only as long as somebody waits for it; one that comes after the
//! request was withdrawn, or comes twice, is dropped. How many questions are open is bounded.
//! INVARIANT: a question of the gate itself that was taken back is kept a while for whoever still listens: a no that
//! was on its way must not be lost.
//! INVARIANT: where others speak to the same client under ids of their own, ours have a mark that they cannot guess.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use serde_json::Value;
use serde_json::value::RawValue;

use super::mailbox::Question;
use super::meta::text;
use super::wire;
use crate::cancel::Cancel;
use crate::channel::elicitation::KEY;
use crate::talk::{AskError, Given, InputAnswer};

/// The open questions to one client.
#[derive(Debug)]
pub(crate) struct Asked {
    /// What the ids of our requests begin with.
    beginning: String,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    last: u64,
    rounds: HashMap<u64, Round>,
    /// Rounds that the client was told to forget, the oldest first.
    taken_back: VecDeque<(u64, Round)>,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, Default)]
enum Stage {
    #[default]
    Open,
    Closed,
}

#[derive(Debug)]
struct Round {
    question: Question,
    /// The keys of the questions, in the order of their ids.
    keys: Vec<String>,
    /// The withdrawal of the request that they belong to.
    cancel: Option<Cancel>,
}

impl Default for Asked {
    fn default() -> Self {
        Self { beginning: "yg-".into(), state: Mutex::default() }
    }
}

impl Asked {
    /// Questions whose ids carry a mark.
    pub(crate) fn marked(mark: &str) -> Self {
        Self { beginning: format!("yg-{mark}-"), state: Mutex::default() }
    }

    /// Whether an id is one of a request of ours, open or not.
    pub(crate) fn is_own(&self, id: &RawValue) -> bool {
        text(id).is_some_and(|id| id.starts_with(&self.beginning))
    }

    /// Notes a round, and gives its number and the requests to send. No answer counts after the withdrawal of
    /// the request that it belongs to, even if whoever asked has not heard of that yet.
    ///
    /// `None`: too many are open, and whoever asked was told that the client cannot be.
    pub(crate) fn put(&self, question: Question, cancel: Option<Cancel>) -> Option<(u64, Vec<Bytes>)> {
        let mut state = self.lock();
        let refused = match (state.stage, state.rounds.len()) {
            (Stage::Closed, _) => Some(AskError::Gone),
            (Stage::Open, MOST_ROUNDS..) => Some(AskError::Unable),
            (Stage::Open, _) => None,
        };
        if let Some(error) = refused {
            drop(state);
            question.refuse(error);
            return None;
        }
        state.last += 1;
        let number = state.last;
        let messages = question
            .requests
            .iter()
            .enumerate()
            .map(|(index, request)| {
                wire::request(&self.id(number, index), request.method.as_str(), &request.params)
            })
            .collect();
        let keys = question.requests.iter().map(|request| request.key.clone()).collect();
        state.rounds.insert(number, Round { question, keys, cancel });
        Some((number, messages))
    }

    /// Takes a response of the client.
    pub(crate) fn answered(&self, id: &RawValue, given: Given) {
        let found = text(id).and_then(|id| self.parse_id(&id)).and_then(|(number, index)| {
            let mut state = self.lock();
            if let Some(late) = state.taken_back.iter().position(|(known, _)| *known == number) {
                let (_, mut round) = state.taken_back.remove(late)?;
                round.question.take(InputAnswer { key: round.keys.get(index)?.clone(), answer: given });
                return Some(Some(round));
            }
            let round = state.rounds.get_mut(&number)?;
            if round.cancel.as_ref().is_some_and(Cancel::is_fired) {
                return None;
            }
            let key = round.keys.get(index)?.clone();
            round.question.requests.iter().find(|request| request.key == key)?;
            round.question.take(InputAnswer { key, answer: given });
            if round.question.requests.is_empty() { Some(state.rounds.remove(&number)) } else { Some(None) }
        });
        match found {
            Some(Some(round)) => round.question.finish(),
            Some(None) => {}
            None => tracing::debug!("a client answered something that nobody asks any more; it is dropped"),
        }
    }

    /// Takes a round back, and gives the messages that tell the client so.
    pub(crate) fn withdraw(&self, number: u64) -> Vec<Bytes> {
        let mut state = self.lock();
        let Some(round) = state.rounds.remove(&number) else { return Vec::new() };
        let is_open = |key: &String| round.question.requests.iter().any(|request| request.key == *key);
        let open = round.keys.iter().enumerate().filter(|(_, key)| is_open(key));
        let told = open.map(|(index, _)| wire::cancelled(&Value::from(self.id(number, index)))).collect();
        if round.keys == [KEY] && !round.question.reply.is_closed() {
            state.taken_back.retain(|(_, earlier)| !earlier.question.reply.is_closed());
            // Whoever listens to the oldest has listened long enough.
            if state.taken_back.len() >= MOST_ROUNDS {
                state.taken_back.pop_front();
            }
            state.taken_back.push_back((number, round));
        }
        told
    }

    /// The client is gone: whoever asks learns that, now and later.
    pub(crate) fn close(&self) {
        let all = {
            let mut state = self.lock();
            state.stage = Stage::Closed;
            (std::mem::take(&mut state.rounds), std::mem::take(&mut state.taken_back))
        };
        drop(all);
    }

    fn id(&self, round: u64, index: usize) -> String {
        format!("{}{round}-{index}", self.beginning)
    }

    fn parse_id(&self, id: &str) -> Option<(u64, usize)> {
        let (round, index) = id.strip_prefix(&self.beginning)?.split_once('-')?;
        Some((round.parse().ok()?, index.parse().ok()?))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A human answers one question at a time.
const MOST_ROUNDS: usize = 64;
