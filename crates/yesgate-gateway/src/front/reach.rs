//! How the gate reaches the human behind a wrapped host, in either era.
//!
//! The host and its server speak to each other in their own bytes; only what concerns our questions is taken out of
//! that. In a session we ask by a request on the host's pipe; a modern host is asked by the answer to its call.
//! - INVARIANT: the host's answer to a question of ours never reaches the server, and no request of the server can
//!   be taken for one of ours: the ids of ours have a mark that only the host has seen.
//! - INVARIANT: a state opens only the call that it was given for (`parked`).

use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use serde_json::value::RawValue;
use yesgate_core::caller::Caller;
use yesgate_core::clock::Entropy;
use yesgate_core::id::ServerName;

use super::FrontSettings;
use super::asked::Asked;
use super::errands::{Errand, Errands, Heard};
use super::exchange::Exchange;
use super::hello::Hello;
use super::in_flight::{Busy, InFlight, Ticket};
use super::inputs::{Abilities, random};
use super::leg::Leg;
use super::mailbox::{Asking, Mailbox, Means};
use super::message::{Fields, Malformed};
use super::meta::{Meta, text};
use super::parked::{self, PREFIX, Parked, Resumed};
use super::parties::Parties;
use super::revision::Revision;
use super::voice::{Outlet, Voice};
use super::wire;
use crate::board::Scope;
use crate::cancel::Cancel;
use crate::envelope::{Envelope, RequestKey};
use crate::era::Era;
use crate::errand::Person;
use crate::metrics::Metrics;
use crate::raw::{Raw, RawObject, unbreak};
use crate::reply::Reply;
use crate::stdio::writer::LineWriter;
use crate::talk::{Boxed, Given, Party, own_name};

/// The ways to one host's human.
#[derive(Debug)]
pub(crate) struct Reach {
    host: LineWriter,
    scope: Scope,
    means: Arc<Means>,
    /// The host's calls that are being judged, asked about or run.
    calls: Arc<InFlight>,
    /// `None`: there are no dice to be had, and nobody is asked in a session.
    asked: Option<Arc<Asked>>,
    session: Mutex<Option<Opened>>,
    parties: Parties,
    parked: Arc<Parked>,
    tended: Once,
    beat: Duration,
}

/// The session that the host opened with its server.
#[derive(Clone, Debug)]
struct Opened {
    party: Arc<Party>,
    revision: Revision,
    asked: Arc<Asked>,
}

/// One call of the host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostCall<'a> {
    pub(crate) id: &'a RawValue,
    pub(crate) params: Option<&'a RawValue>,
    pub(crate) line: &'a [u8],
    pub(crate) caller: &'a Caller,
}

/// What whoever answers a call is given.
#[derive(Debug)]
pub(crate) struct Charge {
    /// The whole message.
    pub(crate) line: Bytes,
    /// The host's "never mind".
    pub(crate) cancel: Cancel,
    /// Whom it can ask.
    pub(crate) person: Option<Person>,
}

/// How a call goes on.
enum Course {
    /// Nobody can be asked on the way.
    Alone,
    /// Within the session.
    Session(Opened),
    /// By itself.
    Modern(Arc<Party>),
    /// Where it was parked.
    Further(Leg),
    /// It does not.
    Answered(Reply),
}

impl Reach {
    /// The ways to the human of the host that hears us here.
    pub(crate) fn new(
        host: LineWriter,
        server: ServerName,
        settings: &FrontSettings,
        entropy: Arc<dyn Entropy>,
        metrics: Metrics,
    ) -> Self {
        let means = Arc::new(Means { ask_time: settings.ask_time, entropy });
        Self {
            host,
            scope: Scope::One(server),
            // The host may have as many calls under way as its server takes.
            calls: InFlight::new(usize::MAX),
            asked: random(&*means.entropy).map(|mark| Arc::new(Asked::marked(&mark))),
            session: Mutex::default(),
            parties: Parties::new(PARTIES),
            parked: Arc::new(Parked::new(Arc::clone(&means), settings.ask_time, settings.parked, metrics)),
            tended: Once::new(),
            beat: settings.beat,
            means,
        }
    }

    /// The server took the host's hello, or another one after that: what the two agreed on holds.
    pub(crate) fn opened(&self, caller: &Caller, hello: Option<&RawValue>, welcome: &RawValue) {
        *self.session() = self.agreed(caller, hello, welcome);
    }

    fn agreed(&self, caller: &Caller, hello: Option<&RawValue>, welcome: &RawValue) -> Option<Opened> {
        let asked = Arc::clone(self.asked.as_ref()?);
        let version = RawObject::parse(welcome)?.text("protocolVersion")?;
        let revision = Revision::named(&version)?;
        match revision.era() {
            Era::Legacy => {}
            Era::Modern => return None,
        }
        let mut hello = Hello::read(hello).ok()?;
        hello.revision = revision;
        let abilities = Abilities::of(&hello.capabilities, revision);
        let (means, outlet) = (Arc::clone(&self.means), Outlet::Lines(self.host.clone()));
        let voice = Voice::asking(means, abilities, outlet, Arc::clone(&asked));
        // There is one host, so it needs no name of its own.
        let party = hello.into_party(caller.clone(), voice, "host");
        Some(Opened { party, revision, asked })
    }

    /// Begins to answer a call. What comes back goes to the host by itself when it is polled. `None`: it is
    /// answered already.
    pub(crate) fn carry(
        self: &Arc<Self>,
        call: HostCall<'_>,
        work: impl FnOnce(Charge) -> Boxed<'static, Reply>,
    ) -> Option<Boxed<'static, ()>> {
        let cancel = Cancel::new();
        // An id that is in use must not reach what is parked: a state is good for one request.
        let ticket = match self.calls.begin(RequestKey::of(call.id), cancel.clone()) {
            Ok(ticket) => ticket,
            Err(Busy::IdInUse | Busy::TooMany) => {
                self.answer(Reply::error(-32600, "the request id is already in use", None), call.id);
                return None;
            }
        };
        let line = Bytes::copy_from_slice(call.line);
        let id = call.id.to_owned();
        let reach = Arc::clone(self);
        Some(match self.course(&call, &line) {
            Course::Alone => {
                let work = work(Charge { line, cancel, person: None });
                Box::pin(async move {
                    let reply = work.await;
                    drop(ticket);
                    reach.answer(reply, &id);
                })
            }
            Course::Session(Opened { party, revision, asked }) => {
                let errand = Errand::new(&id, self.exchange(party, revision, &line, cancel, work), ticket);
                let errands = Errands::new(asked, vec![errand], 1);
                Box::pin(reach.run(errands))
            }
            Course::Modern(party) => {
                let (whose, revision) = (Arc::clone(&party), Revision::July2026);
                let exchange = self.exchange(whose, revision, &line, Cancel::new(), work);
                let (parked, scope) = (Arc::clone(&self.parked), self.scope.clone());
                let leg = Leg::first(exchange, parked, scope, party, line);
                Box::pin(reach.run_leg(leg, id, ticket, cancel))
            }
            Course::Further(leg) => Box::pin(reach.run_leg(leg, id, ticket, cancel)),
            Course::Answered(reply) => {
                drop(ticket);
                self.answer(reply, &id);
                return None;
            }
        })
    }

    /// A call whose human can be asked.
    fn exchange(
        &self,
        party: Arc<Party>,
        revision: Revision,
        line: &Bytes,
        cancel: Cancel,
        work: impl FnOnce(Charge) -> Boxed<'static, Reply>,
    ) -> Exchange {
        let (means, asking) = (Arc::clone(&self.means), Asking::Possible);
        let mailbox = Mailbox::new(means, Arc::clone(&party), revision, asking, cancel.clone());
        let person = Some(Person { party, talk: Arc::clone(&mailbox) as _, base: None });
        let charge = Charge { line: line.clone(), cancel: cancel.clone(), person };
        Exchange::of_host(work(charge), mailbox, cancel)
    }

    fn course(&self, call: &HostCall<'_>, line: &Bytes) -> Course {
        // What cannot be read is the gate's to refuse.
        let Ok(fields) = Fields::read(call.params) else { return Course::Alone };
        let Ok(meta) = Meta::read(&fields) else { return Course::Alone };
        if meta.version().is_none() {
            return self.session().clone().map_or(Course::Alone, Course::Session);
        }
        let party = self.modern_party(call.caller, &meta);
        // Any other state is between the host and its server.
        let state = fields.request_state.and_then(text).filter(|state| state.starts_with(PREFIX));
        match (party, state) {
            (Some(party), Some(state)) => self.resume(call, &fields, &meta, &state, party, line),
            (Some(party), None) => Course::Modern(party),
            (None, Some(_)) => Course::Answered(parked::refusal()),
            (None, None) => Course::Alone,
        }
    }

    fn resume(
        &self,
        call: &HostCall<'_>,
        fields: &Fields<'_>,
        meta: &Meta<'_>,
        state: &str,
        party: Arc<Party>,
        line: &Bytes,
    ) -> Course {
        let binding = match parked::binding(&party, &self.scope, "tools/call", call.params.map(Raw::from)) {
            Ok(binding) => binding,
            Err(Malformed(words)) => return Course::Answered(Reply::error(-32602, &words, None)),
        };
        match self.parked.resume(state, binding, fields.input_responses) {
            Resumed::Going(exchange) => {
                let (parked, scope) = (Arc::clone(&self.parked), self.scope.clone());
                let token = meta.progress_token.map(Raw::value);
                Course::Further(Leg::further(exchange, parked, scope, party, line.clone(), token))
            }
            Resumed::Again(reply) | Resumed::Refused(reply) => Course::Answered(reply),
        }
    }

    /// Who sends a modern request; `None`: it does not say what it must, and its server will tell it so.
    pub(crate) fn modern_party(&self, caller: &Caller, meta: &Meta<'_>) -> Option<Arc<Party>> {
        let version = meta.version()?.ok()?;
        if version != Revision::July2026.as_str() {
            return None;
        }
        let mut caller = caller.clone();
        if let Some(client) = own_name(meta.info.map(Raw::value)) {
            caller.client = client;
        }
        self.parties.of(&caller, meta.capabilities().ok()?, meta.info).ok()
    }

    async fn run(self: Arc<Self>, mut errands: Errands) {
        loop {
            match errands.next().await {
                Heard::Notice(message) | Heard::Question(message) => self.say(&message),
                Heard::Answer(parts) => self.send(&parts.concat()),
                Heard::Over => return,
            }
        }
    }

    async fn run_leg(self: Arc<Self>, leg: Leg, id: Box<RawValue>, ticket: Ticket, cancel: Cancel) {
        let reply = leg.run(&cancel, |notice| self.say(&wire::notification(&notice))).await;
        drop(ticket);
        if let Some(reply) = reply {
            self.answer(reply, &id);
        }
        if !self.parked.is_empty() {
            self.tended.call_once(|| drop(tokio::spawn(tend(Arc::downgrade(&self.parked), self.beat))));
        }
    }

    /// Whether an id belongs to a request of ours. Nobody else may use it.
    pub(crate) fn is_own(&self, id: &RawValue) -> bool {
        self.asked.as_ref().is_some_and(|asked| asked.is_own(id))
    }

    /// Takes the host's answer to a request of ours.
    pub(crate) fn answered(&self, response: &Envelope<'_>) {
        let given = match (response.result, response.error) {
            (Some(result), None) => Some(Given::Result(result.to_owned())),
            (None, Some(error)) => Some(Given::Error(error.to_owned())),
            (Some(_), Some(_)) | (None, None) => None,
        };
        if let (Some(asked), Some(id), Some(given)) = (&self.asked, response.id, given) {
            asked.answered(id, given);
        }
    }

    /// The withdrawal of a call that is with us.
    pub(crate) fn withdrawal(&self, call: &RequestKey) -> Option<Cancel> {
        self.calls.find(call)
    }

    /// Whether a state was given by us, and needs no server to go on.
    pub(crate) fn is_own_state(state: &str) -> bool {
        state.starts_with(PREFIX)
    }

    /// The host is gone: whoever asks learns that, now and later.
    pub(crate) fn host_gone(&self) {
        if let Some(asked) = &self.asked {
            asked.close();
        }
        self.parked.clear();
    }

    fn answer(&self, reply: Reply, id: &RawValue) {
        if let Some(message) = reply.into_message(id) {
            self.send(&message);
        }
    }

    /// Says something of our own, which may have been put together from texts with line breaks.
    fn say(&self, message: &[u8]) {
        let mut message = message.to_vec();
        unbreak(&mut message);
        self.send(&message);
    }

    fn send(&self, line: &[u8]) {
        if let Err(error) = self.host.send(line) {
            tracing::debug!(%error, "the host is gone");
        }
    }

    fn session(&self) -> MutexGuard<'_, Option<Opened>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Withdraws what the host never comes back for. It begins with the first call that is parked: most hosts need
/// no clock of ours.
async fn tend(parked: Weak<Parked>, beat: Duration) {
    loop {
        tokio::time::sleep(beat).await;
        match parked.upgrade() {
            Some(parked) => parked.sweep(),
            None => return,
        }
    }
}

/// One host says the same of itself in all requests, unless it changes its mind.
const PARTIES: usize = 16;
