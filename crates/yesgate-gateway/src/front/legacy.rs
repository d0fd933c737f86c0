//! Messages of the old era over HTTP: `initialize` opens a session, everything else belongs to one.
//!
//! INVARIANT: that a client was cut off withdraws nothing. What was said as a stream is kept for it; a request
//! that nobody hears any more still runs to its end.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use serde_json::value::RawValue;
use yesgate_core::caller::Caller;
use yesgate_core::oauth::Scopes;

use super::desk::{Carried, is_legacy, unknown_method};
use super::errands::{Errand, Errands, Heard};
use super::headers::Wish;
use super::hello::{Hello, Opening, array, check_batch, pong, welcome};
use super::in_flight::Busy;
use super::inputs::{Abilities, random};
use super::message::{IdKey, Malformed, Message, Notification, Request, is_handed_on, read};
use super::pulse::Beat;
use super::session::Session;
use super::share::Full;
use super::streams::{Streams, Weight};
use super::voice::{Outlet, Voice};
use super::{HttpFront, ResponseBody, answer, headers};
use crate::board::{Board, Scope, Visitor};
use crate::cancel::Cancel;
use crate::mirror;
use crate::raw::Raw;
use crate::reply::Reply;

/// What a message of a session comes to.
enum Taken {
    /// It is under way.
    Errand(Errand),
    /// It is answered.
    Answered(Reply, StatusCode),
    /// It needs no answer.
    Done,
}

impl HttpFront {
    pub(super) async fn legacy(
        self: &Arc<Self>,
        scope: Scope,
        visitor: &Visitor,
        headers: &HeaderMap,
        body: Bytes,
        message: Message<'_>,
    ) -> Response<ResponseBody> {
        if let Message::Request(request) = &message
            && request.method == "initialize"
            && !headers.contains_key(mirror::SESSION_ID)
        {
            return Box::pin(self.initialize(scope, &visitor.caller, body, request)).await;
        }
        let session = match self.session(&scope, &visitor.caller, headers) {
            Ok((_, session)) => session,
            Err(response) => return *response,
        };
        let id = match &message {
            Message::Request(request) => Some(request.id),
            Message::Notification(_) | Message::Response { .. } => None,
        };
        match self.take(&session, body, message, self.desk.carried(headers, visitor.scopes.clone())) {
            Taken::Errand(errand) => {
                let errands = Errands::new(Arc::clone(&session.voice.asked), vec![errand], 1);
                self.run(session, errands, Form::Single, Wish::of(headers)).await
            }
            Taken::Answered(reply, status) => answer::reply(status, reply, id.unwrap_or(RawValue::NULL)),
            Taken::Done => answer::accepted(),
        }
    }

    /// Every element is a message of its own and is judged as one.
    pub(super) async fn legacy_batch(
        self: &Arc<Self>,
        scope: &Scope,
        visitor: &Visitor,
        headers: &HeaderMap,
        body: &Bytes,
        elements: &[&RawValue],
    ) -> Response<ResponseBody> {
        let session = match self.session(scope, &visitor.caller, headers) {
            Ok((_, session)) => session,
            Err(response) => return *response,
        };
        if let Err(unreadable) = check_batch(session.revision, elements.len(), self.settings.batch) {
            return answer::unreadable(unreadable);
        }
        let mut errands = Vec::new();
        let mut answers = Vec::new();
        for element in elements {
            let message = match read(element.get().as_bytes()) {
                Ok(message) => message,
                Err(unreadable) => {
                    answers.extend(unreadable.into_parts());
                    continue;
                }
            };
            let id = match &message {
                Message::Request(request) => request.id,
                Message::Notification(_) | Message::Response { .. } => RawValue::NULL,
            };
            match self.take(
                &session,
                body.slice_ref(element.get().as_bytes()),
                message,
                self.desk.carried(headers, visitor.scopes.clone()),
            ) {
                Taken::Errand(errand) => errands.push(errand),
                Taken::Answered(reply, _) => answers.extend(reply.into_parts(id)),
                Taken::Done => {}
            }
        }
        let mut errands =
            Errands::new(Arc::clone(&session.voice.asked), errands, self.settings.batch_at_once);
        answers.into_iter().for_each(|parts| errands.answer(parts));
        self.run(session, errands, Form::Batch, Wish::of(headers)).await
    }

    /// The session that a message belongs to.
    pub(super) fn session(
        &self,
        scope: &Scope,
        caller: &Caller,
        headers: &HeaderMap,
    ) -> Result<(String, Arc<Session>), Box<Response<ResponseBody>>> {
        let id = match headers::single(headers, mirror::SESSION_ID) {
            Ok(Some(id)) => id,
            Ok(None) => {
                let words = "the header `mcp-session-id` is missing, and only `initialize` goes without";
                return Err(answer::error(StatusCode::BAD_REQUEST, -32600, words).into());
            }
            Err(mismatch) => {
                return Err(answer::error(StatusCode::BAD_REQUEST, -32600, &mismatch.to_string()).into());
            }
        };
        match self.sessions.find(id, caller, scope) {
            Some(session) => Ok((id.to_owned(), session)),
            None => Err(answer::error(StatusCode::NOT_FOUND, -32600, "there is no such session").into()),
        }
    }

    async fn initialize(
        self: &Arc<Self>,
        scope: Scope,
        caller: &Caller,
        body: Bytes,
        request: &Request<'_>,
    ) -> Response<ResponseBody> {
        match self.pulse.now() {
            Beat::Alive(_) => {}
            Beat::Closing => return answer::full(Full::All, "the gateway is shutting down"),
        }
        let hello = match Hello::read(request.params.map(Raw::value)) {
            Ok(hello) => hello,
            Err(Malformed(words)) => {
                return answer::reply(
                    StatusCode::BAD_REQUEST,
                    Reply::error(-32602, &words, None),
                    request.id,
                );
            }
        };
        let hold = match self.sessions.reserve(caller) {
            Ok(hold) => hold,
            Err(full) => return answer::full(full, "too many sessions are open already"),
        };
        let Some((id, header)) = random(&*self.desk.means.entropy)
            .and_then(|id| HeaderValue::from_str(&id).ok().map(|header| (id, header)))
        else {
            let reply = Reply::error(-32603, "the gateway cannot make a session id", None);
            return answer::reply(StatusCode::OK, reply, request.id);
        };
        let revision = hello.revision;
        let outlet = Outlet::Streams(Streams::new(self.settings.replay));
        let abilities = Abilities::of(&hello.capabilities, revision);
        let voice = Voice::new(Arc::clone(&self.desk.means), abilities, outlet);
        let party = hello.into_party(caller.clone(), Arc::clone(&voice), &id);
        let opening = Opening::new(Arc::clone(&self.desk.board), Arc::clone(&party));
        let exchange = self.desk.legacy_exchange(
            scope.clone(),
            &party,
            revision,
            body,
            request,
            (Cancel::new(), Carried::default()),
        );
        let result = match welcome(exchange, revision).await {
            Reply::Result(result) => result,
            reply @ (Reply::Own(_) | Reply::Relayed | Reply::Error(_) | Reply::Silent) => {
                return answer::reply(StatusCode::OK, reply, request.id);
            }
        };
        opening.keep();
        let session = Session::new(party, scope, revision, voice, self.settings.requests, hold);
        self.sessions.begin(id, Arc::new(session));
        let mut response = answer::reply(StatusCode::OK, Reply::Result(result), request.id);
        response.headers_mut().insert(mirror::SESSION_ID, header);
        response
    }

    /// Takes one message of a session.
    fn take(&self, session: &Arc<Session>, body: Bytes, message: Message<'_>, carried: Carried) -> Taken {
        match message {
            Message::Request(request) => self.take_request(session, body, &request, carried),
            Message::Notification(notification) => {
                take_notification(&*self.desk.board, session, &notification);
                Taken::Done
            }
            Message::Response { id, given } => {
                session.voice.asked.answered(id, given);
                Taken::Done
            }
        }
    }

    fn take_request(
        &self,
        session: &Arc<Session>,
        body: Bytes,
        request: &Request<'_>,
        carried: Carried,
    ) -> Taken {
        match request.method.as_ref() {
            "ping" => return Taken::Answered(pong(), StatusCode::OK),
            "initialize" => {
                let reply = Reply::error(-32600, "the session is open already", None);
                return Taken::Answered(reply, StatusCode::BAD_REQUEST);
            }
            method if !is_legacy(method) => return Taken::Answered(unknown_method(), StatusCode::OK),
            _ => {}
        }
        let cancel = Cancel::new();
        let ticket = match session.in_flight.begin(IdKey::of(request.id), cancel.clone()) {
            Ok(ticket) => ticket,
            Err(Busy::IdInUse) => {
                let reply = Reply::error(-32600, "the request id is already in use", None);
                return Taken::Answered(reply, StatusCode::BAD_REQUEST);
            }
            Err(Busy::TooMany) => {
                let reply = Reply::error(-32603, "too many requests of this session are under way", None);
                return Taken::Answered(reply, StatusCode::TOO_MANY_REQUESTS);
            }
        };
        let exchange = self.desk.legacy_exchange(
            session.scope.clone(),
            &session.party,
            session.revision,
            body,
            request,
            (cancel, carried),
        );
        Taken::Errand(Errand::new(request.id, exchange, ticket))
    }

    /// Answers with one message if nothing is said before it, else with a stream.
    async fn run(
        self: &Arc<Self>,
        session: Arc<Session>,
        errands: Errands,
        form: Form,
        wish: Wish,
    ) -> Response<ResponseBody> {
        let mut going = Going(Some(errands));
        let mut answers: Vec<[Bytes; 3]> = Vec::new();
        let silence = tokio::time::sleep(self.settings.silence);
        tokio::pin!(silence);
        let said = loop {
            if wish == Wish::Stream {
                break None;
            }
            let heard = tokio::select! {
                biased;
                heard = going.next() => heard,
                () = &mut silence => break None,
            };
            match heard {
                Heard::Answer(parts) => answers.push(parts),
                said @ (Heard::Notice(_) | Heard::Question(_)) => break Some(said),
                Heard::Over => return form.response(answers, going.end()),
            }
        };
        let Some(errands) = going.0.take() else { return answer::accepted() };
        self.stream_errands(&session, errands, answers.into_iter().map(Heard::Answer).chain(said))
    }

    fn stream_errands(
        self: &Arc<Self>,
        session: &Arc<Session>,
        mut errands: Errands,
        said: impl Iterator<Item = Heard>,
    ) -> Response<ResponseBody> {
        let Some(streams) = session.voice.streams() else { return answer::accepted() };
        let stream = streams.open();
        said.for_each(|heard| say(streams, stream, heard));
        let voice = Arc::clone(&session.voice);
        drop(tokio::spawn(async move {
            let Some(streams) = voice.streams() else { return };
            loop {
                match errands.next().await {
                    Heard::Over => break,
                    heard @ (Heard::Notice(_) | Heard::Question(_) | Heard::Answer(_)) => {
                        say(streams, stream, heard);
                    }
                }
            }
            streams.end(stream);
        }));
        self.read_stream(session, stream, None, None)
    }
}

fn say(streams: &Streams, stream: u64, heard: Heard) {
    match heard {
        Heard::Notice(message) => streams.say(stream, [message], Weight::Light),
        Heard::Question(message) => streams.say(stream, [message], Weight::Due),
        Heard::Answer(parts) => streams.say(stream, parts, Weight::Due),
        Heard::Over => {}
    }
}

fn take_notification(board: &dyn Board, session: &Session, notification: &Notification<'_>) {
    if notification.method == "notifications/cancelled" {
        if let Some(id) = notification.fields.request_id {
            session.in_flight.cancel(&IdKey::of(id));
        }
    } else if is_handed_on(&notification.method) {
        board.notify(&session.scope, &session.party, &notification.method, notification.params);
    }
}

/// How many messages a client expects.
#[derive(Clone, Copy, Debug)]
enum Form {
    Single,
    Batch,
}

impl Form {
    fn response(self, answers: Vec<[Bytes; 3]>, unscoped: Option<Scopes>) -> Response<ResponseBody> {
        if answers.is_empty() {
            return answer::accepted();
        }
        match self {
            Self::Single => {
                let status = if unscoped.is_some() { StatusCode::FORBIDDEN } else { StatusCode::OK };
                answer::needing(answer::json(status, answers.into_iter().flatten()), unscoped)
            }
            Self::Batch => answer::json(StatusCode::OK, array(answers)),
        }
    }
}

/// Requests whose client may be cut off while they are under way: then they go on by themselves.
struct Going(Option<Errands>);

impl Going {
    /// All of them are over, and none has to go on. Gives the scopes that the last answer says were lacking.
    fn end(&mut self) -> Option<Scopes> {
        self.0.take().and_then(|mut errands| errands.unscoped())
    }

    async fn next(&mut self) -> Heard {
        match &mut self.0 {
            Some(errands) => errands.next().await,
            None => Heard::Over,
        }
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        let Some(mut errands) = self.0.take() else { return };
        errands.client_went();
        // Outside a runtime everything ends, and so do they.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            drop(runtime.spawn(async move {
                loop {
                    match errands.next().await {
                        Heard::Over => return,
                        Heard::Notice(_) | Heard::Question(_) | Heard::Answer(_) => {}
                    }
                }
            }));
        }
    }
}
