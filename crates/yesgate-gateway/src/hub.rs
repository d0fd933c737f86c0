//! The switchboard: every request of every client, to the server it is meant for.
//!
//! Names come in two kinds. At an endpoint of one server they are the server's own; where all servers
//! share one, names of tools and prompts begin with the operator's prefix. Addresses of resources are
//! never rewritten (tool results mention them): whose they are is looked up.

mod calls;
mod hello;
mod listening;
mod lists;
mod resources;
mod tasks;
mod timing;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use http::HeaderMap;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::task::JoinSet;
use tracing::Instrument as _;
use yesgate_core::id::ServerName;
use yesgate_core::policy::Policy;
use yesgate_ledger::Ledger;

use crate::board::{Ask, Board, Listening, Scope, Wanted};
use crate::bridge::{self, Crossing};
use crate::era::Era;
use crate::errand::Begun;
use crate::hearing::{Hearing, LogLevel};
use crate::metrics::Metrics;
use crate::raw::{Params, RawObject, member_text};
use crate::reply::Reply;
use crate::server::link::Link;
use crate::server::{Health, Server, ServerWays, Unreachable};
use crate::talk::{Boxed, Notice, Party, PartyKey};
use crate::trace::Tracing;
use crate::upstream::{Execution, Outgoing, TOO_LONG, TurnedAway};

/// All servers, as the fronts see them.
#[derive(Debug)]
pub struct Hub {
    servers: RwLock<Arc<Vec<Arc<Server>>>>,
    ledger: Ledger,
    /// The longest that a request may take.
    longest: Duration,
    metrics: Metrics,
    tracing: Tracing,
    sessions: Mutex<HashMap<PartyKey, SessionNotes>>,
}

/// What a session of the old era said once and meant for all its requests.
#[derive(Clone, Debug, Default)]
struct SessionNotes {
    log: Option<LogLevel>,
    /// What it wants to hear of from modern servers.
    follows: HashMap<ServerName, Follow>,
}

/// The resources of one modern server whose changes a session wants to hear of.
#[derive(Clone, Debug, Default)]
struct Follow {
    uris: Vec<String>,
    /// Held while it does.
    stream: Option<tokio::sync::mpsc::Sender<()>>,
}

impl Hub {
    /// A switchboard for these servers, in this order.
    pub fn new(
        servers: Vec<Arc<Server>>,
        ledger: Ledger,
        longest: Duration,
        metrics: Metrics,
        tracing: Tracing,
    ) -> Self {
        Self {
            servers: RwLock::new(Arc::new(servers)),
            ledger,
            longest,
            metrics,
            tracing,
            sessions: Mutex::default(),
        }
    }

    /// The servers, in the operator's order.
    pub fn servers(&self) -> Arc<Vec<Arc<Server>>> {
        Arc::clone(&self.servers.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts other servers in place of those that there are. What stays, stays as it is.
    pub fn replace(&self, servers: Vec<Arc<Server>>) {
        let servers = Arc::new(servers);
        let old = {
            let mut slot = self.servers.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *slot, Arc::clone(&servers))
        };
        for server in old.iter().filter(|old| !servers.iter().any(|new| Arc::ptr_eq(old, new))) {
            server.close();
        }
        self.announce();
    }

    /// Puts another policy in force at every server, and voids what it would not ask any more.
    pub async fn govern(&self, policy: &Arc<Policy>) {
        for server in self.servers().iter() {
            server.gate.govern(Arc::clone(policy));
            server.gate.reconsider(&ServerWays(Arc::clone(server))).await;
        }
        self.announce();
    }

    /// Tells everybody who wants to know that what tools there are, or how they are offered, changed.
    pub fn announce(&self) {
        let notice = Notice { method: "notifications/tools/list_changed".into(), params: None };
        for server in self.servers().iter() {
            server.tell(&notice);
        }
    }

    /// How each server does.
    pub fn health(&self) -> Vec<(String, Health)> {
        let servers = self.servers();
        servers.iter().map(|server| (server.gate.server.name.to_string(), server.health())).collect()
    }

    /// Looks after what nobody waits for: approved calls, and links that nobody uses any more.
    pub async fn tend(self: Arc<Self>) {
        // With the tending ends the releasing: what is approved from then on waits for the next gateway.
        let mut tasks = JoinSet::new();
        let mut releasing: Vec<(Arc<Server>, tokio::task::AbortHandle)> = Vec::new();
        loop {
            let servers = self.servers();
            releasing.retain(|(server, task)| {
                let stays = servers.iter().any(|known| Arc::ptr_eq(known, server));
                if !stays {
                    task.abort();
                }
                stays
            });
            for server in servers.iter() {
                if !releasing.iter().any(|(known, _)| Arc::ptr_eq(known, server)) {
                    let ways = Arc::new(ServerWays(Arc::clone(server)));
                    let task = tasks.spawn(Arc::clone(&server.gate).release(ways));
                    releasing.push((Arc::clone(server), task));
                }
                server.sweep();
            }
            drop(servers);
            while tasks.try_join_next().is_some() {}
            tokio::time::sleep(TENDING).await;
        }
    }

    /// Waits until no approved call is running.
    pub async fn rest(&self) {
        for server in self.servers().iter() {
            server.gate.runs.ended().await;
        }
    }

    /// Ends all links. How a call ends that is running is not known, and written down so.
    pub fn close(&self) {
        for server in self.servers().iter() {
            server.gate.runs.give_up();
            server.close();
        }
    }

    async fn answer(&self, ask: &Ask, begun: &Begun) -> Reply {
        match ask.method.as_str() {
            "tools/call" => self.call(ask, begun).await,
            // In boxes: the room for all of these would be made for every call.
            "initialize" => Box::pin(self.initialize(ask)).await,
            "server/discover" => Box::pin(self.discover(ask)).await,
            "tools/list" => Box::pin(self.tools(ask)).await,
            "prompts/list" | "resources/list" | "resources/templates/list" => Box::pin(self.list(ask)).await,
            "prompts/get" => Box::pin(self.named(ask, "name")).await,
            "completion/complete" => Box::pin(self.complete(ask)).await,
            "resources/read" | "resources/subscribe" | "resources/unsubscribe" => {
                Box::pin(self.resource(ask)).await
            }
            "logging/setLevel" => Box::pin(self.set_level(ask)).await,
            "tasks/get" | "tasks/list" | "tasks/result" | "tasks/update" | "tasks/cancel" => {
                Box::pin(self.task(ask)).await
            }
            _ => no_such_method(),
        }
    }

    /// The server of an endpoint that has only one.
    fn server(&self, scope: &Scope) -> Option<Arc<Server>> {
        match scope {
            Scope::All => None,
            Scope::One(name) => {
                self.servers().iter().find(|server| server.gate.server.name == *name).cloned()
            }
        }
    }

    /// The servers of an endpoint.
    fn all(&self, scope: &Scope) -> Vec<Arc<Server>> {
        match scope {
            Scope::All => self.servers().to_vec(),
            Scope::One(_) => self.server(scope).into_iter().collect(),
        }
    }

    /// The server that a prefixed name is meant for, and its own name for it.
    fn split(&self, name: &str) -> Option<(Arc<Server>, String)> {
        let (prefix, rest) = name.split_once(SEPARATOR)?;
        let servers = self.servers();
        let server = servers.iter().find(|server| server.spec.prefix == prefix)?;
        Some((Arc::clone(server), rest.to_owned()))
    }

    /// Passes a request on to the only server of its endpoint.
    async fn only(&self, ask: &Ask) -> Reply {
        match self.server(&ask.scope) {
            Some(server) => self.pass(&server, ask, None).await,
            None => no_such_server(),
        }
    }

    /// Passes a request on that names something.
    async fn named(&self, ask: &Ask, member: &str) -> Reply {
        if let Scope::One(_) = ask.scope {
            return self.only(ask).await;
        }
        let name = ask.params.as_ref().and_then(|params| member_text(params.raw(), member));
        match name.and_then(|name| self.split(&name)) {
            Some((server, name)) => self.pass(&server, ask, Some((member, &name))).await,
            None => Reply::error(-32602, "there is nothing of this name here", None),
        }
    }

    /// Passes a request on, with one member under the server's own name for it.
    async fn pass(&self, server: &Arc<Server>, ask: &Ask, renamed: Option<(&str, &str)>) -> Reply {
        let link = match self.link(server, &ask.party).await {
            Ok(link) => link,
            Err(error) => return unreachable(&error),
        };
        let (mut link, mut reply) = (link, None);
        for _ in 0..2 {
            match self.pass_over(&link, ask, renamed).await {
                Execution::TurnedAway(TurnedAway::Refused(_)) if link.upstream.is_forgotten() => {
                    // The server has forgotten the session: it is opened again, once.
                    match self.link(server, &ask.party).await {
                        Ok(again) => link = again,
                        Err(error) => return unreachable(&error),
                    }
                }
                execution @ (Execution::Relayed
                | Execution::Answered(_)
                | Execution::NotSent(_)
                | Execution::TurnedAway(_)
                | Execution::TooLong
                | Execution::Lost(_)) => {
                    reply = Some(self.reply(ask, &link, execution));
                    break;
                }
            }
        }
        reply.unwrap_or_else(|| Reply::error(-32603, "the server forgets its sessions", None))
    }

    async fn pass_over(&self, link: &Link, ask: &Ask, renamed: Option<(&str, &str)>) -> Execution {
        let hearing = self.hearing(ask);
        self.set_link_level(link, &hearing).await;
        let params = self.crossing(link, &ask.party).params(ask.params.as_ref(), renamed);
        let name = match renamed {
            Some((_, name)) => Some(name.to_owned()),
            None => crate::mirror::name_of(&ask.method, ask.params.as_ref().map(Params::raw))
                .ok()
                .flatten()
                .map(|name| name.into_owned()),
        };
        let outgoing = Outgoing {
            method: &ask.method,
            params: &params,
            name: name.as_deref(),
            mirrored: &HeaderMap::default(),
        };
        link.upstream.pass(outgoing, &hearing, &ask.cancel).await
    }

    /// What a client of its era is told about an execution.
    fn reply(&self, ask: &Ask, link: &Link, execution: Execution) -> Reply {
        if ask.cancel.is_fired() {
            return Reply::Silent;
        }
        match execution {
            Execution::Answered(answer) => {
                Reply::answer(bridge::answer(&ask.method, answer, link.era, ask.party.era))
            }
            Execution::NotSent(why) => {
                Reply::error(-32603, &format!("The request was not sent: {why}."), None)
            }
            Execution::TurnedAway(how) => {
                Reply::error(-32603, &format!("The server turned the request away: {how}."), None)
            }
            Execution::TooLong => Reply::error(-32603, TOO_LONG, None),
            Execution::Lost(why) => Reply::error(-32603, &format!("There is no answer: {why}."), None),
            Execution::Relayed => Reply::Relayed,
        }
    }

    async fn link(&self, server: &Arc<Server>, party: &Arc<Party>) -> Result<Arc<Link>, Unreachable> {
        reach(server, party).await
    }

    fn hearing(&self, ask: &Ask) -> Hearing {
        Hearing::of(ask)
    }

    fn crossing<'a>(&self, link: &Link, party: &'a Party) -> Crossing<'a> {
        let log = self.sessions().get(&party.key).and_then(|notes| notes.log);
        Crossing { party, server: link.era, log }
    }

    /// Tells a server of the old era from which level on a modern client wants log messages.
    async fn set_link_level(&self, link: &Link, hearing: &Hearing) {
        let (Era::Legacy, Some(level), false) =
            (link.era, hearing.log_level(), hearing.is_of_legacy_client())
        else {
            return;
        };
        if link.levels(level) {
            let params = json!({"level": level.as_str()}).to_string().into();
            let outgoing = Outgoing {
                method: "logging/setLevel",
                params: &params,
                name: None,
                mirrored: &HeaderMap::default(),
            };
            let (hearing, cancel) = (Hearing::deaf(), crate::cancel::Cancel::new());
            Box::pin(link.upstream.pass(outgoing, &hearing, &cancel)).await;
        }
    }

    /// A session says from which level on it wants log messages.
    async fn set_level(&self, ask: &Ask) -> Reply {
        let level = ask.fields().and_then(|fields| fields.text("level"));
        let Some(level) = level.and_then(|level| LogLevel::named(&level)) else {
            return Reply::error(-32602, "`level` is none of the eight levels of RFC 5424", None);
        };
        self.sessions().entry(ask.party.key.clone()).or_default().log = Some(level);
        let mut reply = Reply::Result("{}".into());
        for server in self.all(&ask.scope) {
            match self.link(&server, &ask.party).await {
                Ok(link) if link.era == Era::Legacy && link.has("logging") => {
                    let execution = self.pass_over(&link, ask, None).await;
                    if let Scope::One(_) = ask.scope {
                        reply = self.reply(ask, &link, execution);
                    }
                }
                Ok(_) => {}
                Err(error) => tracing::debug!(%error, "a server is not told the level of its logs: {error}"),
            }
        }
        reply
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<PartyKey, SessionNotes>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Board for Hub {
    fn metrics(&self) -> Metrics {
        self.metrics.clone()
    }

    fn has(&self, scope: &Scope) -> bool {
        match scope {
            Scope::All => true,
            Scope::One(_) => self.server(scope).is_some(),
        }
    }

    fn request(&self, ask: Ask) -> Boxed<'_, Reply> {
        let span = self.tracing.exports().then(|| {
            let span = tracing::info_span!("request", rpc.method = %ask.method);
            if let Some(parent) = &ask.trace {
                self.tracing.put_under(&span, parent);
            }
            span
        });
        let answering = self.timed(ask);
        match span {
            Some(span) => Box::pin(answering.instrument(span)),
            None => Box::pin(answering),
        }
    }

    fn notify(&self, scope: &Scope, party: &Arc<Party>, method: &str, params: Option<&RawValue>) {
        // The sessions behind are opened by us, and what else is told concerns requests of ours.
        if method != "notifications/roots/list_changed" {
            return;
        }
        let message = match params {
            Some(params) => format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{}}}"#, params.get()),
            None => format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#),
        };
        for server in self.all(scope) {
            if let Some(link) = server.link_to(&party.key).filter(|link| link.era == Era::Legacy) {
                let message = message.clone();
                tokio::spawn(async move {
                    if let Err(error) = link.upstream.notify(message.into()).await {
                        tracing::debug!(%error, "a notification did not reach a server: {error}");
                    }
                });
            }
        }
    }

    fn listen(&self, scope: Scope, party: Arc<Party>, wanted: Wanted) -> Boxed<'_, Result<Listening, Reply>> {
        Box::pin(async move { self.begin_to_listen(&scope, &party, wanted).await })
    }

    fn leave(&self, party: &Party) {
        self.sessions().remove(&party.key);
        for server in self.servers().iter() {
            server.leave(&party.key);
        }
    }
}

impl Ask {
    /// The members of the parameters.
    fn fields(&self) -> Option<RawObject> {
        self.params.as_ref().map(Params::raw).and_then(RawObject::parse)
    }
}

/// The link for a client. A session hears from then on that the lists of a modern server changed; a server of the
/// old era says so by itself.
async fn reach(server: &Arc<Server>, party: &Arc<Party>) -> Result<Arc<Link>, Unreachable> {
    let link = server.link(party).await?;
    if let (Era::Modern, Some(talk)) = (link.era, &party.session) {
        server.follow_session(&link, &party.key, talk);
    }
    Ok(link)
}

fn no_such_method() -> Reply {
    Reply::error(-32601, "the gateway does not know this method here, so it does not pass", None)
}

fn no_such_server() -> Reply {
    Reply::error(-32603, "there is no such server any more", None)
}

fn unreachable(error: &Unreachable) -> Reply {
    let data = json!({"server": error.server, "retryable": true});
    Reply::error(-32603, &format!("{error}. Nothing ran."), Some(data))
}

/// What stands between a prefix and a name.
pub(crate) const SEPARATOR: &str = "__";
/// How often links are looked at.
const TENDING: Duration = Duration::from_secs(30);
