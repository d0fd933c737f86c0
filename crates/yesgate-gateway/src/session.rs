//! One host over stdio: what it says goes to the gate or passes, what the server says comes back.

mod listed_page;
mod tasks;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::value::RawValue;
use tokio::task::JoinSet;
use yesgate_core::caller::Caller;

use self::listed_page::ListedPage;
use crate::book::{Page, next_cursor};
use crate::envelope::{Envelope, Kind, RequestKey};
use crate::era::{Era, PROTOCOL_VERSION};
use crate::errand::{Errand, Incoming, Pass};
use crate::front::FrontSettings;
use crate::front::pipe::at_once_or_later;
use crate::front::reach::{Charge, HostCall, Reach};
use crate::gate::Gate;
use crate::hearing::Hearing;
use crate::methods::{Route, passes, route};
use crate::own_tools::OwnTool;
use crate::raw::{RawObject, elements};
use crate::reply::Reply;
use crate::stdio::writer::LineWriter;
use crate::talk::client_id;
use crate::upstream::Upstream;
use crate::upstream::pipe::{Destination, PassError, Pipe, Watch};

/// One host.
#[derive(Debug)]
pub(crate) struct Session {
    gate: Arc<Gate>,
    pipe: Arc<Pipe>,
    way: Arc<Upstream>,
    host: LineWriter,
    caller: Mutex<Caller>,
    /// The host's calls, and the way to its human.
    reach: Arc<Reach>,
    /// The parameters of the host's `initialize`, to open the session again after a restart.
    handshake: Mutex<Option<Box<RawValue>>>,
    gated_tool_seen: Arc<AtomicBool>,
    /// Lists that are being written down before the host gets them.
    listing: Mutex<JoinSet<()>>,
}

impl Session {
    pub(crate) fn new(
        gate: Arc<Gate>,
        (pipe, way): (Arc<Pipe>, Arc<Upstream>),
        host: LineWriter,
        caller: Caller,
    ) -> Self {
        let (server, metrics) = (gate.server.name.clone(), gate.setting.metrics.clone());
        let (settings, entropy) = (FrontSettings::default(), Arc::clone(&gate.entropy));
        let reach = Reach::new(host.clone(), server, &settings, entropy, metrics);
        Self {
            gate,
            pipe,
            way,
            host,
            caller: Mutex::new(caller),
            reach: Arc::new(reach),
            handshake: Mutex::default(),
            gated_tool_seen: Arc::default(),
            listing: Mutex::default(),
        }
    }

    /// Takes one message of the host. Calls that have to wait go on in `tasks`.
    pub(crate) async fn hear_host(&self, line: &[u8], tasks: &mut JoinSet<()>) {
        let envelope = match Envelope::parse(line) {
            Ok(envelope) => envelope,
            Err(error) => return self.answer_null(&error),
        };
        let method = envelope.method.as_deref().unwrap_or_default();
        match (envelope.kind(), envelope.id) {
            (Kind::Request, Some(id)) => {
                let pass = |watch| self.pass(id, watch, line);
                let route = route(method);
                self.note_era(route, envelope.params);
                match route {
                    Route::Call => self.call(id, envelope.params, line, tasks).await,
                    Route::Initialize => {
                        self.note_handshake(envelope.params);
                        pass(Watch::Initialize);
                    }
                    Route::Discover => pass(Watch::Discover),
                    Route::ToolsList => pass(Watch::ToolsList(page(envelope.params))),
                    Route::Pass => match self.own_task(method, envelope.params) {
                        Some(task) => self.task(task, id, line, tasks).await,
                        None => pass(Watch::No),
                    },
                    Route::Unknown => {
                        let words = "the gateway does not know this method, so it does not pass";
                        self.answer(id, Reply::error(-32601, words, None));
                    }
                }
            }
            (Kind::Notification, _) => self.notification(method, &envelope, line),
            (Kind::Response, Some(id)) if self.reach.is_own(id) => self.reach.answered(&envelope),
            (Kind::Response, _) => self.pass_on(line),
            (Kind::Neither | Kind::Request, id) => {
                let words = "not a JSON-RPC 2.0 message: neither a request, a notification nor a response";
                match id {
                    Some(id) => self.answer(id, Reply::error(-32600, words, None)),
                    None => self.send_null(-32600, words),
                }
            }
        }
    }

    /// Takes one message of the server.
    pub(crate) fn hear_server(&self, line: &[u8]) {
        let envelope = match Envelope::parse(line) {
            Ok(envelope) => envelope,
            Err(error) => {
                tracing::warn!(
                    server.name = %self.gate.server.name,
                    line.bytes = line.len(),
                    "the server wrote something to stdout that is no JSON-RPC message; it is dropped: {error}"
                );
                return;
            }
        };
        match envelope.kind() {
            Kind::Response => match self.pipe.answered(&envelope) {
                Destination::Caller(watch) => self.relay(watch, &envelope, line),
                Destination::Own => {}
                Destination::Nobody => tracing::warn!(
                    server.name = %self.gate.server.name,
                    "the server answered a request that nobody made, or answered twice; it is dropped"
                ),
            },
            Kind::Notification => {
                if envelope.method.as_deref() == Some("notifications/tools/list_changed") {
                    self.way.book.outdated();
                }
                self.send(line);
            }
            Kind::Request => match envelope.id {
                Some(id) if self.reach.is_own(id) => self.pretended(id),
                Some(_) | None => self.send(line),
            },
            Kind::Neither => tracing::warn!(
                server.name = %self.gate.server.name,
                "the server sent a message that is neither request, notification nor response; it is dropped"
            ),
        }
    }

    /// The server asks under an id of ours: the host's answer would be taken for one to us.
    fn pretended(&self, id: &RawValue) {
        tracing::warn!(
            server.name = %self.gate.server.name,
            "the server made a request under an id of the gateway's own; it does not pass"
        );
        if let Some(message) = Reply::error(-32600, "the request id is not yours", None).into_message(id) {
            self.pass_on(&message);
        }
    }

    /// The host is gone: nobody can be asked any more.
    pub(crate) fn host_gone(&self) {
        self.reach.host_gone();
    }

    /// A message of the server was too long to be taken.
    pub(crate) fn server_too_long(&self, ends: [&[u8]; 2]) {
        tracing::warn!(server.name = %self.gate.server.name, "a message of the server was too long and is dropped");
        if let Some(id) = self.pipe.answer_dropped(ends) {
            self.answer_key(&id, Reply::error(-32603, crate::upstream::TOO_LONG, None));
        }
    }

    /// A message of the host was too long to be taken.
    pub(crate) fn host_too_long(&self) {
        self.send_null(-32600, "the message is larger than 4 MiB and was not read");
    }

    /// The server is gone: whoever waits for it is told.
    pub(crate) fn server_gone(&self, words: &str) {
        self.way.book.outdated();
        for id in self.pipe.down() {
            self.answer_key(&id, Reply::error(-32603, words, None));
        }
    }

    /// What the host opened its session with.
    pub(crate) fn handshake(&self) -> Option<Box<RawValue>> {
        lock(&self.handshake).clone()
    }

    /// Judges a call. What can be answered at once is, in the order of the host's messages; what
    /// has to wait goes on by itself.
    async fn call(&self, id: &RawValue, params: Option<&RawValue>, line: &[u8], tasks: &mut JoinSet<()>) {
        let caller = lock(&self.caller).clone();
        let call = HostCall { id, params, line, caller: &caller };
        let (gate, way, key) = (Arc::clone(&self.gate), Arc::clone(&self.way), RequestKey::of(id));
        let errand_of = caller.clone();
        let carried = self.reach.carry(call, move |Charge { line, cancel, person }| {
            Box::pin(async move {
                let hearing = Hearing::beside(person.as_ref());
                let errand = Errand { person, hearing, ..Errand::of_host(errand_of, way, cancel) };
                let pass = Pass::Line { line: &line, id: key };
                let incoming = Incoming { message: &line, call: None, tool: None, headers: None, pass };
                match gate.handle(&errand, incoming).await {
                    // The server's own line is the answer.
                    Reply::Relayed => Reply::Silent,
                    reply @ (Reply::Result(_) | Reply::Own(_) | Reply::Error(_) | Reply::Silent) => reply,
                }
            })
        });
        if let Some(carried) = carried {
            at_once_or_later(carried, tasks).await;
        }
    }

    /// Whether a message of the host needs no server: a call of one of our own tools, one that comes back to where
    /// it was parked, the withdrawal of a call that is with us, or an answer to a question of ours.
    pub(crate) fn answers_itself(&self, line: &[u8]) -> bool {
        let Ok(envelope) = Envelope::parse(line) else { return true };
        let params = envelope.params.and_then(RawObject::parse);
        let text = |key: &str| {
            let value = params.as_ref().and_then(|params| params.get(key))?;
            serde_json::from_str::<String>(value.get()).ok()
        };
        match envelope.method.as_deref() {
            Some("tools/call") => {
                text("name").is_some_and(|name| {
                    OwnTool::named(&name, &self.gate.policy(), self.gate.name()).is_some()
                }) || text("requestState").is_some_and(|state| Reach::is_own_state(&state))
            }
            Some("notifications/cancelled") => envelope
                .params
                .and_then(cancelled_id)
                .is_some_and(|key| self.reach.withdrawal(&key).is_some()),
            Some(method) => self.own_task(method, envelope.params).is_some(),
            None => envelope.id.is_some_and(|id| self.reach.is_own(id)),
        }
    }

    fn pass(&self, id: &RawValue, watch: Watch, line: &[u8]) {
        if let Err(error) = self.pipe.pass(&RequestKey::of(id), watch, line) {
            self.answer(id, not_passed(&error));
        }
    }

    fn notification(&self, method: &str, envelope: &Envelope<'_>, line: &[u8]) {
        if method == "notifications/cancelled"
            && let Some(cancel) =
                envelope.params.and_then(cancelled_id).and_then(|key| self.reach.withdrawal(&key))
        {
            // Ours to withdraw: the server knows the call under another id, or not at all.
            cancel.fire();
        } else if envelope.params.and_then(request_id).is_some_and(|id| self.reach.is_own(&id)) {
            tracing::debug!("the host said something of a question of ours that is no answer; it is dropped");
        } else if passes(method) {
            self.pass_on(line);
            if method == "notifications/initialized" {
                // The server can be asked now: a yes from before may wait for that.
                self.gate.opened.notify_one();
            }
        } else {
            tracing::warn!(
                rpc.method = %method.escape_debug(),
                "a notification that the gateway does not know does not pass"
            );
        }
    }

    fn pass_on(&self, line: &[u8]) {
        if let Err(error) = self.pipe.notify(line) {
            tracing::debug!(%error, "a message of the host has nowhere to go");
        }
    }

    /// A modern host need not ask which era a server speaks: where nothing else told, its first
    /// request does. The answers to `initialize` and `server/discover` tell for themselves.
    fn note_era(&self, route: Route, params: Option<&RawValue>) {
        match route {
            Route::Initialize | Route::Discover | Route::Unknown => {}
            Route::Call | Route::ToolsList | Route::Pass => {
                if self.way.era().is_none() && params.is_some_and(is_modern) {
                    self.way.speaks(Era::Modern);
                }
            }
        }
    }

    fn note_handshake(&self, params: Option<&RawValue>) {
        let Some(params) = params else { return };
        if let Some(client) = RawObject::parse(params)
            .and_then(|params| params.get("clientInfo").and_then(RawObject::parse))
            .and_then(|info| {
                info.get("name").and_then(|name| serde_json::from_str::<String>(name.get()).ok())
            })
            .and_then(|name| client_id(&name))
        {
            lock(&self.caller).client = client;
        }
        *lock(&self.handshake) = Some(params.to_owned());
    }

    /// Hands a server's answer to the host, after a look at what the gateway must know.
    fn relay(&self, watch: Watch, answer: &Envelope<'_>, line: &[u8]) {
        match (watch, answer.result, answer.id) {
            (Watch::Initialize, Some(welcome), _) => {
                self.way.speaks(Era::Legacy);
                self.reach.opened(&lock(&self.caller).clone(), self.handshake().as_deref(), welcome);
            }
            (Watch::Discover, Some(hello), Some(id)) => {
                self.way.speaks(Era::Modern);
                self.gate.opened.notify_one();
                if let Some(message) = self.hello_with_tasks(hello, id) {
                    return self.send(&message);
                }
            }
            (Watch::ToolsList(page), Some(result), Some(id)) => {
                return self.relay_tools(page, result, id, line);
            }
            (Watch::No | Watch::Initialize | Watch::Discover | Watch::ToolsList(_), _, _) => {}
        }
        self.send(line);
    }

    /// Learns a page of tools, and hands it to the host as it is offered. The last one goes when the ledger
    /// knows the whole list: what the host has seen, a human finds in `yesgate tools`.
    fn relay_tools(&self, page: Page, result: &RawValue, id: &RawValue, line: &[u8]) {
        let fields = RawObject::parse(result).unwrap_or_default();
        let Some(tools) = fields.get("tools").and_then(elements) else { return self.send(line) };
        let last = next_cursor(&fields).is_none();
        self.way.book.learn(page, &tools, last);
        if page == Page::First {
            self.gated_tool_seen.store(false, Ordering::Relaxed);
        }
        let page = ListedPage {
            gate: Arc::clone(&self.gate),
            gated_tool_seen: Arc::clone(&self.gated_tool_seen),
            id: id.to_owned(),
            result: result.to_owned(),
            last,
        };
        if !last {
            return self.send(&page.into_message().unwrap_or_else(|| line.to_vec()));
        }
        let (gate, way, host) = (Arc::clone(&self.gate), Arc::clone(&self.way), self.host.clone());
        let line = line.to_vec();
        let mut listing = lock(&self.listing);
        while listing.try_join_next().is_some() {}
        listing.spawn(async move {
            gate.sight(&way).await;
            if let Err(error) = host.send(&page.into_message().unwrap_or(line)) {
                tracing::debug!(%error, "the host went before its list of tools");
            }
        });
    }

    /// Waits until every list that the server gave has gone to the host.
    pub(crate) async fn listed(&self) {
        let mut listing = std::mem::take(&mut *lock(&self.listing));
        while listing.join_next().await.is_some() {}
    }

    fn answer(&self, id: &RawValue, reply: Reply) {
        self.answer_key(&RequestKey::of(id), reply);
    }

    fn answer_key(&self, id: &RequestKey, reply: Reply) {
        if let Ok(id) = RawValue::from_string(id.as_json().to_owned())
            && let Some(message) = reply.into_message(&id)
        {
            self.send(&message);
        }
    }

    fn answer_null(&self, error: &serde_json::Error) {
        let code = if error.is_syntax() || error.is_eof() { -32700 } else { -32600 };
        self.send_null(code, &format!("the message was not read and nothing ran: {error}"));
    }

    fn send_null(&self, code: i64, words: &str) {
        if let Some(message) = Reply::error(code, words, None).into_message(RawValue::NULL) {
            self.send(&message);
        }
    }

    fn send(&self, line: &[u8]) {
        if let Err(error) = self.host.send(line) {
            tracing::debug!(%error, "the host is gone");
        }
    }
}

fn page(params: Option<&RawValue>) -> Page {
    let cursor = params
        .and_then(RawObject::parse)
        .is_some_and(|params| params.get("cursor").is_some_and(|cursor| cursor.get() != "null"));
    if cursor { Page::Later } else { Page::First }
}

/// What the host is told of a request that could not be passed on.
fn not_passed(error: &PassError) -> Reply {
    match error {
        PassError::IdInUse => Reply::error(-32600, "the request id is already in use", None),
        PassError::Down(down) => Reply::error(-32603, &down.to_string(), None),
    }
}

/// Whether the parameters of a request name the protocol revision they are written in.
fn is_modern(params: &RawValue) -> bool {
    let meta = RawObject::parse(params).and_then(|params| params.get("_meta").and_then(RawObject::parse));
    meta.is_some_and(|meta| meta.get(PROTOCOL_VERSION).is_some())
}

fn cancelled_id(params: &RawValue) -> Option<RequestKey> {
    request_id(params).map(|id| RequestKey::of(&id))
}

fn request_id(params: &RawValue) -> Option<Box<RawValue>> {
    RawObject::parse(params)?.remove("requestId")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
