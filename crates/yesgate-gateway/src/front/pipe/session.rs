//! A session of the old era over a pipe: how it opens, its requests, and its batches.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::value::RawValue;
use tokio::task::JoinSet;

use super::{PipeFront, PipeSession, Stage, at_once_or_later, named};
use crate::cancel::Cancel;
use crate::front::desk::{Carried, is_legacy, unknown_method};
use crate::front::errands::{Errand, Errands, Heard};
use crate::front::hello::{Hello, Opening, array, check_batch, pong, welcome};
use crate::front::inputs::{Abilities, random};
use crate::front::message::{Malformed, Message, Request, read, refuse};
use crate::front::voice::{Outlet, Voice};
use crate::front::wire;
use crate::raw::Raw;
use crate::reply::Reply;

impl PipeFront {
    pub(super) async fn initialize(
        self: &Arc<Self>,
        line: Bytes,
        request: &Request<'_>,
        tasks: &mut JoinSet<()>,
    ) {
        let hello = match Hello::read(request.params.map(Raw::value)) {
            Ok(hello) => hello,
            Err(Malformed(words)) => return self.answer(Reply::error(-32602, &words, None), request.id),
        };
        let Some(id) = random(&*self.desk.means.entropy) else {
            return self.answer(Reply::error(-32603, "the gateway cannot make a session", None), request.id);
        };
        {
            let mut stage = self.stage();
            match *stage {
                Stage::Before => *stage = Stage::Opening,
                Stage::Opening | Stage::Open(_) => {
                    drop(stage);
                    return self
                        .answer(Reply::error(-32600, "the session is open already", None), request.id);
                }
            }
        }
        let revision = hello.revision;
        let abilities = Abilities::of(&hello.capabilities, revision);
        let outlet = Outlet::Lines(self.output.clone());
        let voice = Voice::new(Arc::clone(&self.desk.means), abilities, outlet);
        let caller = named(&self.caller, hello.info.as_deref());
        let party = hello.into_party(caller, Arc::clone(&voice), &id);
        let exchange = self.desk.legacy_exchange(
            self.scope.clone(),
            &party,
            revision,
            line,
            request,
            (Cancel::new(), Carried::default()),
        );
        let (front, id) = (Arc::clone(self), request.id.to_owned());
        let opening = async move {
            let opening = Opening::new(Arc::clone(&front.desk.board), Arc::clone(&party));
            let reply = welcome(exchange, revision).await;
            match &reply {
                Reply::Result(_) => {
                    opening.keep();
                    *front.stage() = Stage::Open(Arc::new(PipeSession { party, voice, revision }));
                }
                Reply::Own(_) | Reply::Relayed | Reply::Error(_) | Reply::Silent => {
                    *front.stage() = Stage::Before
                }
            }
            front.answer(reply, &id);
        };
        at_once_or_later(opening, tasks).await;
    }

    /// Every element is a message of its own and is judged as one; the answers come together.
    pub(super) async fn hear_batch(
        self: &Arc<Self>,
        line: &Bytes,
        elements: &[&RawValue],
        tasks: &mut JoinSet<()>,
    ) {
        let Some(session) = self.session() else {
            return self.send_parts(refuse(None, "this protocol version has no batches").into_parts());
        };
        if let Err(unreadable) = check_batch(session.revision, elements.len(), self.settings.batch) {
            return self.send_parts(unreadable.into_parts());
        }
        let mut errands = Vec::new();
        let mut answers = Vec::new();
        for element in elements {
            match read(element.get().as_bytes()) {
                Ok(Message::Request(request)) => {
                    let line = line.slice_ref(element.get().as_bytes());
                    match self.errand(&session, line, &request) {
                        Ok(errand) => errands.push(errand),
                        Err(reply) => answers.extend(wire::answer(reply, request.id)),
                    }
                }
                Ok(Message::Notification(notification)) => self.notification(&notification),
                Ok(Message::Response { id, given }) => session.voice.asked.answered(id, given),
                Err(unreadable) => answers.extend(unreadable.into_parts()),
            }
        }
        let mut errands =
            Errands::new(Arc::clone(&session.voice.asked), errands, self.settings.batch_at_once);
        let front = Arc::clone(self);
        let running = async move {
            loop {
                match errands.next().await {
                    Heard::Notice(message) | Heard::Question(message) => front.send(&message),
                    Heard::Answer(parts) => answers.push(parts),
                    Heard::Over => break,
                }
            }
            if !answers.is_empty() {
                front.send(&array(answers).concat());
            }
        };
        at_once_or_later(running, tasks).await;
    }

    /// Begins a request of the session.
    pub(super) fn errand(
        &self,
        session: &PipeSession,
        line: Bytes,
        request: &Request<'_>,
    ) -> Result<Errand, Reply> {
        match request.method.as_ref() {
            "ping" => return Err(pong()),
            "initialize" => return Err(Reply::error(-32600, "the session is open already", None)),
            method if !is_legacy(method) => return Err(unknown_method()),
            _ => {}
        }
        let cancel = Cancel::new();
        let ticket = self.begin(request.id, cancel.clone())?;
        let scope = self.scope.clone();
        let exchange = self.desk.legacy_exchange(
            scope,
            &session.party,
            session.revision,
            line,
            request,
            (cancel, Carried::default()),
        );
        Ok(Errand::new(request.id, exchange, ticket))
    }

    pub(super) async fn run(self: Arc<Self>, mut errands: Errands) {
        loop {
            match errands.next().await {
                Heard::Notice(message) | Heard::Question(message) => self.send(&message),
                Heard::Answer(parts) => self.send_parts(Some(parts)),
                Heard::Over => return,
            }
        }
    }
}
