//! A wrapped host's tasks: those that are held calls are the gate's to answer, all others its server's.

use std::sync::Arc;

use serde_json::value::RawValue;
use tokio::task::JoinSet;

use super::{Session, lock, not_passed};
use crate::channel::task::{TaskRequest, add_tasks};
use crate::envelope::RequestKey;
use crate::front::message::Fields;
use crate::front::meta::Meta;
use crate::front::pipe::at_once_or_later;
use crate::raw::{RawObject, bytes};
use crate::reply::Reply;
use crate::talk::Party;
use crate::upstream::pipe::Watch;

/// A request about something that may be a task of the gate.
#[derive(Debug)]
pub(super) struct OwnTask {
    method: String,
    params: RawObject,
    party: Arc<Party>,
}

impl Session {
    /// What a request says, if it can be about a task of the gate: the id is one of ours by its looks, and the host
    /// speaks as those must who have tasks.
    pub(super) fn own_task(&self, method: &str, params: Option<&RawValue>) -> Option<OwnTask> {
        if !["tasks/get", "tasks/update", "tasks/cancel"].contains(&method) {
            return None;
        }
        let fields = Fields::read(params).ok()?;
        let party = self.reach.modern_party(&lock(&self.caller).clone(), &Meta::read(&fields).ok()?)?;
        let params = RawObject::parse(params?)?;
        TaskRequest::id(&params).map(|_| OwnTask { method: method.to_owned(), params, party })
    }

    /// Answers such a request, or passes it on where the task is the server's after all.
    pub(super) async fn task(&self, task: OwnTask, id: &RawValue, line: &[u8], tasks: &mut JoinSet<()>) {
        let (gate, way, host) = (Arc::clone(&self.gate), Arc::clone(&self.way), self.host.clone());
        let (pipe, id, line) = (Arc::clone(&self.pipe), id.to_owned(), line.to_vec());
        let answering = async move {
            let OwnTask { method, params, party } = &task;
            let base = gate.setting.pages.base();
            let request = TaskRequest { method, params, party, base: base.as_ref(), way: Some(&way) };
            let reply = match gate.task(request).await {
                Some(reply) => reply,
                None => match pipe.pass(&RequestKey::of(&id), Watch::No, &line) {
                    Ok(()) => return,
                    Err(error) => not_passed(&error),
                },
            };
            if let Some(message) = reply.into_message(&id)
                && let Err(error) = host.send(&message)
            {
                tracing::debug!(%error, "the host went before its answer");
            }
        };
        at_once_or_later(answering, tasks).await;
    }

    /// What the server says of itself, with the tasks that held calls become; `None`: as it is.
    pub(super) fn hello_with_tasks(&self, hello: &RawValue, id: &RawValue) -> Option<Vec<u8>> {
        let mut hello = RawObject::parse(hello).filter(|_| self.gate.may_ask())?;
        add_tasks(&mut hello);
        Reply::Result(bytes(hello.to_raw())).into_message(id)
    }
}
