//! How a client of the old era is spoken to outside of its requests, and how its responses find their way.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::asked::Asked;
use super::inputs::Abilities;
use super::mailbox::{Means, Question};
use super::streams::{GENERAL, Streams, Weight};
use super::wire;
use crate::stdio::writer::LineWriter;
use crate::talk::{AskError, Boxed, InputAnswer, InputRequest, Notice, Talk};

/// Where words go that belong to no request.
#[derive(Debug)]
pub(crate) enum Outlet {
    /// The general stream of a session.
    Streams(Streams),
    /// The pipe that everything goes through.
    Lines(LineWriter),
}

/// The way to one client while its session lasts.
#[derive(Debug)]
pub(crate) struct Voice {
    means: Arc<Means>,
    abilities: Abilities,
    outlet: Outlet,
    /// What the client was asked, here or during a request.
    pub(crate) asked: Arc<Asked>,
}

impl Voice {
    pub(crate) fn new(means: Arc<Means>, abilities: Abilities, outlet: Outlet) -> Arc<Self> {
        Self::asking(means, abilities, outlet, Arc::default())
    }

    /// One that asks among these questions.
    pub(crate) fn asking(
        means: Arc<Means>,
        abilities: Abilities,
        outlet: Outlet,
        asked: Arc<Asked>,
    ) -> Arc<Self> {
        Arc::new(Self { means, abilities, outlet, asked })
    }

    /// The event streams, where the client has some.
    pub(crate) const fn streams(&self) -> Option<&Streams> {
        match &self.outlet {
            Outlet::Streams(streams) => Some(streams),
            Outlet::Lines(_) => None,
        }
    }

    /// The client is gone.
    pub(crate) fn close(&self) {
        self.asked.close();
        match &self.outlet {
            Outlet::Streams(streams) => streams.close(),
            Outlet::Lines(_) => {}
        }
    }

    fn say(&self, message: Bytes, weight: Weight) {
        match &self.outlet {
            Outlet::Streams(streams) => streams.say(GENERAL, [message], weight),
            Outlet::Lines(lines) => {
                if let Err(error) = lines.send(&message) {
                    tracing::debug!(%error, "the client is gone");
                }
            }
        }
    }

    async fn ask_within_time(&self, requests: Vec<InputRequest>) -> Result<Vec<InputAnswer>, AskError> {
        let requests = requests
            .into_iter()
            .map(|request| self.abilities.shape(request, &*self.means.entropy))
            .collect::<Result<Vec<_>, _>>()?;
        if requests.is_empty() {
            return Ok(Vec::new());
        }
        let (reply, answer) = oneshot::channel();
        let question = Question { round: 0, requests, answers: Vec::new(), reply };
        let Some((round, messages)) = self.asked.put(question, None) else { return Err(AskError::Unable) };
        let withdrawing = Withdrawing { voice: self, round };
        messages.into_iter().for_each(|message| self.say(message, Weight::Due));
        let given = match timeout(self.means.ask_time, answer).await {
            Ok(Ok(given)) => given,
            Ok(Err(_)) => Err(AskError::Gone),
            Err(_) => Err(AskError::Late),
        };
        drop(withdrawing);
        given
    }
}

impl Talk for Voice {
    fn notify(&self, notice: Notice) {
        if self.abilities.revision().hears(&notice.method) {
            self.say(wire::notification(&notice), Weight::Light);
        }
    }

    fn ask(&self, requests: Vec<InputRequest>) -> Boxed<'_, Result<Vec<InputAnswer>, AskError>> {
        Box::pin(self.ask_within_time(requests))
    }

    fn rest(&self) -> Boxed<'_, Result<(), AskError>> {
        Box::pin(std::future::ready(Err(AskError::Unable)))
    }
}

/// Takes a round back when whoever asked is dropped or waited long enough; one that was answered is gone
/// already.
struct Withdrawing<'a> {
    voice: &'a Voice,
    round: u64,
}

impl Drop for Withdrawing<'_> {
    fn drop(&mut self) {
        let messages = self.voice.asked.withdraw(self.round);
        messages.into_iter().for_each(|message| self.voice.say(message, Weight::Light));
    }
}
