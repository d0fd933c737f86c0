//! One call on its way through the gate: for whom, over which way to the server, and who listens.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use http::HeaderMap;
use serde_json::{Map, Value};
use tokio::time::Instant;
use yesgate_core::call::CallRequest;
use yesgate_core::caller::Caller;
use yesgate_core::id::IntentId;
use yesgate_core::intent::Awaited;
use yesgate_core::oauth::Scopes;

use crate::base::Base;
use crate::bridge::Crossing;
use crate::cancel::Cancel;
use crate::envelope::RequestKey;
use crate::era::Era;
use crate::hearing::{Hearing, LogLevel};
use crate::job::Job;
use crate::talk::{Boxed, Party, Talk};
use crate::upstream::Upstream;

/// What the gate works for. Clones are the same errand.
#[derive(Clone, Debug)]
pub struct Errand {
    /// Who calls.
    pub caller: Caller,
    /// What the token was given that the call came with; `None`: it came with none that is limited.
    pub scopes: Option<Arc<Scopes>>,
    /// The way to the server.
    pub way: Arc<Upstream>,
    /// Who hears what the server says meanwhile.
    pub hearing: Hearing,
    /// The caller's "never mind".
    pub cancel: Cancel,
    /// What was begun for it.
    pub(crate) begun: Begun,
    /// The client, where it may be of another era than the server.
    pub(crate) party: Option<(Arc<Party>, Option<LogLevel>)>,
    /// Whom the gate itself can ask through the client; `None`: nobody.
    pub person: Option<Person>,
    /// When the client began to wait.
    pub(crate) since: Instant,
    /// The task that it has become or may become, which goes on without the client's request.
    pub(crate) job: Option<Arc<Job>>,
}

/// The client's own human, as far as the client can reach one.
#[derive(Clone, Debug)]
pub struct Person {
    /// What the client declared of itself.
    pub party: Arc<Party>,
    /// The way to it while the call lasts.
    pub talk: Arc<dyn Talk>,
    /// Where our pages are, as far as the client's front knows.
    pub base: Option<Base>,
}

impl Errand {
    /// An errand of a host that speaks as its server does.
    pub fn of_host(caller: Caller, way: Arc<Upstream>, cancel: Cancel) -> Self {
        let (hearing, begun) = (Hearing::deaf(), Begun::default());
        let since = Instant::now();
        let scopes = None;
        Self { caller, scopes, way, hearing, cancel, begun, party: None, person: None, since, job: None }
    }

    /// From when on a client counts how long it waits: one in a session from its call on, a modern one anew each
    /// time that it comes back.
    pub(crate) fn waits_since(&self) -> Instant {
        match self.person.as_ref().map(|person| person.party.era) {
            Some(Era::Modern) => Instant::now(),
            Some(Era::Legacy) | None => self.since,
        }
    }

    /// Whether somebody takes the outcome as soon as it is there. A task's is kept until it is fetched.
    pub(crate) fn awaited(&self) -> Awaited {
        match &self.job {
            Some(job) if job.is_created() => Awaited::No,
            Some(_) | None => Awaited::Yes,
        }
    }

    /// The keys of `_meta` that steer the transport, as the server understands them.
    pub(crate) fn meta(&self, transport: &Map<String, Value>) -> Map<String, Value> {
        match (&self.party, self.way.era()) {
            (Some((party, log)), Some(server)) => Crossing { party, server, log: *log }.meta(transport),
            (Some(_), None) | (None, _) => transport.clone(),
        }
    }
}

/// What has come of a call so far. Clones tell the same.
#[derive(Clone, Debug, Default)]
pub struct Begun(Arc<Progress>);

#[derive(Debug, Default)]
struct Progress {
    run: OnceLock<IntentId>,
    is_forgotten: AtomicBool,
}

impl Begun {
    /// A run leaves now: it goes to its end whether its caller stays or not.
    pub(crate) fn note(&self, id: &IntentId) {
        // One call begins one run.
        self.0.run.get_or_init(|| id.clone());
    }

    /// The question whose run it is.
    pub(crate) fn intent(&self) -> Option<&IntentId> {
        self.0.run.get()
    }

    /// The server would not look at something that the call needs, or at the call itself, because it knows
    /// the session no more. Nothing ran, and no yes was spent.
    pub(crate) fn forget(&self) {
        self.0.is_forgotten.store(true, Ordering::Relaxed);
    }

    /// Whether the call can be made again in a new session.
    pub(crate) fn is_forgotten(&self) -> bool {
        self.0.is_forgotten.load(Ordering::Relaxed) && self.intent().is_none()
    }
}

/// A call as it came in.
#[derive(Debug)]
pub struct Incoming<'a> {
    /// The whole message.
    pub message: &'a [u8],
    /// The call that it is, where that has been read already.
    pub call: Option<&'a CallRequest>,
    /// What the tool is called on its server, where the message has another name for it.
    pub tool: Option<&'a str>,
    /// The HTTP headers of a modern request, which mirror some of the arguments.
    pub headers: Option<&'a HeaderMap>,
    /// What leaves, where nothing needs to be asked or taken out.
    pub pass: Pass<'a>,
}

/// What leaves for a call that passes.
#[derive(Debug)]
pub enum Pass<'a> {
    /// The message itself.
    Line {
        /// All of it.
        line: &'a [u8],
        /// Its id.
        id: RequestKey,
    },
    /// The parameters, under an id of ours.
    Params {
        /// The parameters as this server understands them.
        params: bytes::Bytes,
        /// The HTTP headers that mirror some of them, as the client wrote them; `None`: it writes none.
        mirrored: Option<HeaderMap>,
    },
}

/// The ways to one server, for calls that run without their caller: a human said yes elsewhere.
pub trait Ways: Send + Sync + fmt::Debug {
    /// The way that this caller's calls take; `None`: the server cannot be reached now.
    fn way<'a>(&'a self, caller: &'a Caller) -> Boxed<'a, Option<Arc<Upstream>>>;
}

/// The only way there is: everybody takes it.
#[derive(Debug)]
pub struct OnlyWay(pub Arc<Upstream>);

impl Ways for OnlyWay {
    fn way<'a>(&'a self, _caller: &'a Caller) -> Boxed<'a, Option<Arc<Upstream>>> {
        Box::pin(async { Some(Arc::clone(&self.0)) })
    }
}

/// What a call that the gateway makes by itself carries in `_meta`.
pub(crate) fn own_meta(way: &Upstream) -> Map<String, Value> {
    match way.era() {
        Some(Era::Modern) => Era::own_meta(),
        Some(Era::Legacy) | None => Map::new(),
    }
}
