//! Calls of tools: to the gate of the server they are meant for.

use std::sync::Arc;

use http::HeaderMap;
use tokio::time::Instant;
use yesgate_core::id::IntentId;
use yesgate_core::intent::ResultKind;

use super::tasks::without_tasks;
use super::{Hub, no_such_server, unreachable};
use crate::board::{Ask, Scope};
use crate::bridge;
use crate::errand::{Begun, Errand, Incoming, Pass, Person};
use crate::own_tools::OwnTool;
use crate::raw::{RawObject, member_text};
use crate::reply::{Own, Reply};
use crate::server::Server;
use crate::server::link::Link;
use crate::upstream::Answer;
use crate::upstream::web::is_mirrored;

impl Hub {
    /// Answers one `tools/call`.
    pub(super) async fn call(&self, ask: &Ask, begun: &Begun) -> Reply {
        match &ask.scope {
            Scope::One(_) => match self.server(&ask.scope) {
                Some(server) => self.call_of(&server, ask, None, begun).await,
                None => no_such_server(),
            },
            Scope::All => {
                let name = ask.params.as_ref().and_then(|params| member_text(params.raw(), "name"));
                let name = name.unwrap_or_default();
                if OwnTool::is_one(&name) {
                    return Box::pin(self.own_call(ask, begun)).await;
                }
                let without = without_tasks(ask);
                let ask = without.as_ref().unwrap_or(ask);
                match self.split(&name) {
                    Some((server, name)) => self.call_of(&server, ask, Some(&name), begun).await,
                    None => Own::Unreadable { code: -32602, words: "there is no such tool".into() }.into(),
                }
            }
        }
    }

    /// One of the gateway's own tools, at the server that the held call is meant for.
    async fn own_call(&self, ask: &Ask, begun: &Begun) -> Reply {
        let arguments = ask.fields().and_then(|fields| fields.get("arguments").and_then(RawObject::parse));
        let id = arguments.and_then(|arguments| arguments.text("intent_id"));
        let meant = match id.and_then(|id| id.parse::<IntentId>().ok()) {
            Some(id) => self.server_of(&id, &ask.scope).await,
            None => None,
        };
        // Whoever names nothing that exists is told so by any gate.
        match meant.or_else(|| self.servers().first().cloned()) {
            Some(server) => self.call_of(&server, ask, None, begun).await,
            None => no_such_server(),
        }
    }

    /// Makes a call at one server; in a new session, once, where the server has forgotten the one that was there
    /// before anything ran.
    async fn call_of(&self, server: &Arc<Server>, ask: &Ask, tool: Option<&str>, begun: &Begun) -> Reply {
        let link = match self.link(server, &ask.party).await {
            Ok(link) => link,
            Err(error) => return unreachable(&error),
        };
        let reply = self.call_over(server, &link, ask, tool, begun).await;
        if !begun.is_forgotten() {
            return reply;
        }
        match self.link(server, &ask.party).await {
            Ok(link) => Box::pin(self.call_over(server, &link, ask, tool, begun)).await,
            Err(error) => unreachable(&error),
        }
    }

    async fn call_over(
        &self,
        server: &Server,
        link: &Link,
        ask: &Ask,
        tool: Option<&str>,
        begun: &Begun,
    ) -> Reply {
        let hearing = self.hearing(ask);
        self.set_link_level(link, &hearing).await;
        let crossing = self.crossing(link, &ask.party);
        let params = crossing.params(ask.params.as_ref(), tool.map(|tool| ("name", tool)));
        let errand = Errand {
            caller: ask.party.known_as(server.gate.setting.naming),
            scopes: ask.scopes.clone(),
            way: Arc::clone(&link.upstream),
            hearing,
            cancel: ask.cancel.clone(),
            begun: begun.clone(),
            party: Some((Arc::clone(&ask.party), crossing.log)),
            person: Some(Person {
                party: Arc::clone(&ask.party),
                talk: Arc::clone(&ask.talk),
                base: ask.base.clone(),
            }),
            since: Instant::now(),
            job: None,
        };
        let pass = Pass::Params { params, mirrored: mirrored(ask) };
        let (message, call) = (&ask.message, ask.call.as_deref());
        let incoming = Incoming { message, call, tool, headers: ask.headers.as_ref(), pass };
        let reply = server.gate.handle(&errand, incoming).await;
        let cross = |kind, json| {
            Reply::answer(bridge::answer(&ask.method, Answer { kind, json }, link.era, ask.party.era))
        };
        match reply {
            // What is our own is put into words by the front.
            reply @ Reply::Own(_) => reply,
            Reply::Result(json) => cross(ResultKind::Result, json),
            Reply::Error(json) => cross(ResultKind::Error, json),
            reply @ (Reply::Relayed | Reply::Silent) => reply,
        }
    }
}

/// The headers of a modern request that mirror arguments, as the client wrote them.
fn mirrored(ask: &Ask) -> Option<HeaderMap> {
    let headers = ask.headers.as_ref()?;
    let mirrored = headers.iter().filter(|(name, _)| is_mirrored(name));
    Some(mirrored.map(|(name, value)| (name.clone(), value.clone())).collect())
}
