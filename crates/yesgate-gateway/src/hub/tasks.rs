//! Tasks: those of the gate, which are calls that wait for a human, and those of the servers.
//!
//! A task is named by an id that its maker chose. Where several servers share an endpoint two of them may choose the
//! same one, by accident or to be given what is meant for the other, and an id cannot be prefixed as a name can:
//! results, notices and later answers mention it in places that we do not know. So no server is asked for a task
//! there. What a client asks for all the same is a call like any other, as the specification wants it of whoever
//! does not have tasks (2025-11-25), and a server may not make a task of it (SEP-2663). At the endpoint of one server
//! its tasks pass. Those of the gate have ids that no server knows, and are the same everywhere.

use std::sync::Arc;

use yesgate_core::id::IntentId;

use super::{Hub, no_such_method};
use crate::board::{Ask, Scope};
use crate::channel::task::{TaskRequest, undeclared};
use crate::era::{self, Era};
use crate::job::EXTENSION;
use crate::raw::{RawObject, bytes};
use crate::reply::Reply;
use crate::server::Server;

impl Hub {
    /// Answers a request about a task.
    pub(super) async fn task(&self, ask: &Ask) -> Reply {
        if let Some(reply) = self.task_of_gate(ask).await {
            return reply;
        }
        match (&ask.scope, ask.party.era) {
            (Scope::One(_), _) => self.only(ask).await,
            (Scope::All, Era::Legacy) => no_such_method(),
            (Scope::All, Era::Modern) if !ask.party.has_extension(EXTENSION) => undeclared(),
            (Scope::All, Era::Modern) => Reply::error(-32602, "there is no such task", None),
        }
    }

    /// The same, of a task that is a held call; `None`: it is none.
    async fn task_of_gate(&self, ask: &Ask) -> Option<Reply> {
        if ask.party.era == Era::Legacy {
            return None;
        }
        let params = ask.fields()?;
        let server = self.server_of(&TaskRequest::id(&params)?, &ask.scope).await?;
        let link = self.link(&server, &ask.party).await.ok();
        let request = TaskRequest {
            method: &ask.method,
            params: &params,
            party: &ask.party,
            base: ask.base.as_ref(),
            way: link.as_ref().map(|link| &*link.upstream),
        };
        server.gate.task(request).await
    }

    /// Those of some tasks that are the servers' own. Ours are looked after by asking: what a human does can be
    /// waited for in no other way that survives us.
    pub(super) async fn without_own(&self, ids: Vec<String>, scope: &Scope) -> Vec<String> {
        let mut theirs = Vec::new();
        for id in ids {
            let ours = match id.parse::<IntentId>() {
                Ok(id) => self.server_of(&id, scope).await,
                Err(_) => None,
            };
            if ours.is_none() {
                theirs.push(id);
            }
        }
        theirs
    }

    /// The server that the call of a question is meant for, if this endpoint has it.
    pub(super) async fn server_of(&self, id: &IntentId, scope: &Scope) -> Option<Arc<Server>> {
        let intent = self.ledger.intent(id).await.ok().flatten()?;
        let name = &intent.question().binding.server;
        self.all(scope).into_iter().find(|server| server.gate.server.name == *name)
    }
}

/// A call without its wish to become a task; `None` where it has none.
pub(super) fn without_tasks(ask: &Ask) -> Option<Ask> {
    let text = ask.params.as_ref()?.raw().get();
    // Most calls are without, which a look tells; one with an escape may spell its keys in another way.
    if !text.contains(r#""task""#) && !text.contains(EXTENSION) && !text.contains('\\') {
        return None;
    }
    let mut params = ask.fields()?;
    params.retain(|key| key != "task");
    if let Some(mut meta) = params.get("_meta").and_then(RawObject::parse)
        && let Some(mut capabilities) = meta.get(era::CLIENT_CAPABILITIES).and_then(RawObject::parse)
        && let Some(mut extensions) = capabilities.get("extensions").and_then(RawObject::parse)
    {
        extensions.retain(|key| key != EXTENSION);
        capabilities.set("extensions", extensions.to_raw());
        meta.set(era::CLIENT_CAPABILITIES, capabilities.to_raw());
        params.set("_meta", meta.to_raw());
    }
    let params = params.to_raw();
    let mut message: RawObject = serde_json::from_slice(&ask.message).ok()?;
    message.set("params", params.clone());
    Some(ask.with(bytes(message.to_raw()), params.into()))
}
