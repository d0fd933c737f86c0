//! Modern messages over HTTP: one `POST`, one message, one answer, and nothing remembered.
//!
//! INVARIANT: when the response is closed before its end, the request is withdrawn. That is all that dropping
//! a [`Leg`] does, so it holds wherever the leg is: in the handler, or in the task that feeds a stream.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use yesgate_core::caller::Caller;

use super::answer::{Stage, modern_status};
use super::desk::{Begun, Incoming, check_modern};
use super::headers::Wish;
use super::leg::{Leg, Spoken};
use super::message::{Malformed, Message, Notification, Request, is_handed_on};
use super::meta::Meta;
use super::pulse::{Beat, Hearing};
use super::revision::Revision;
use super::share::{Hold, Owner};
use super::{HttpFront, ResponseBody, answer, headers, listen, wire};
use crate::board::{Listening, Scope, Visitor};
use crate::mirror;
use crate::raw::Raw;
use crate::reply::Reply;
use crate::talk::{Notice, Party};
use yesgate_http::sse;

impl HttpFront {
    pub(super) async fn modern(
        self: &Arc<Self>,
        scope: Scope,
        visitor: &Visitor,
        headers: HeaderMap,
        body: Bytes,
        message: &Message<'_>,
        meta: &Meta<'_>,
    ) -> Response<ResponseBody> {
        match message {
            Message::Request(request) => {
                self.modern_request(scope, visitor, headers, body, request, meta).await
            }
            Message::Notification(notification) => {
                self.modern_notification(&scope, &visitor.caller, &headers, notification, meta)
            }
            Message::Response { .. } => {
                let words =
                    "this protocol version has no requests to clients, so there is nothing to respond to";
                answer::error(StatusCode::BAD_REQUEST, -32600, words)
            }
        }
    }

    async fn modern_request(
        self: &Arc<Self>,
        scope: Scope,
        visitor: &Visitor,
        headers: HeaderMap,
        body: Bytes,
        request: &Request<'_>,
        meta: &Meta<'_>,
    ) -> Response<ResponseBody> {
        let refuse = |reply: Reply| answer::reply(modern_status(&reply, Stage::Read), reply, request.id);
        if let Err(reply) = check_version(&headers, meta).and_then(|()| check_modern(request, meta)) {
            return refuse(reply);
        }
        let party = match self.desk.party(&visitor.caller, meta) {
            Ok(party) => party,
            Err(Malformed(words)) => return refuse(Reply::error(-32602, &words, None)),
        };
        let version = Revision::July2026.as_str();
        let subject = || Ok(request.fields.subject(&request.method));
        if let Err(mismatch) = mirror::check_with(&headers, &request.method, Some(version), subject) {
            return refuse(Reply::error(-32020, &mismatch.to_string(), None));
        }
        if request.method == "subscriptions/listen" {
            return Box::pin(self.listen(scope, party, request)).await;
        }
        let wish = Wish::of(&headers);
        let scopes = visitor.scopes.clone();
        let incoming = Incoming { scope, message: body, request, headers: Some(headers), scopes };
        match self.desk.begin(incoming, party, meta) {
            Begun::Leg(leg) => self.speak(leg, request.id, wish).await,
            Begun::Answered(reply) => finish(reply, request.id),
        }
    }

    fn modern_notification(
        &self,
        scope: &Scope,
        caller: &Caller,
        headers: &HeaderMap,
        notification: &Notification<'_>,
        meta: &Meta<'_>,
    ) -> Response<ResponseBody> {
        let version = Revision::July2026.as_str();
        let refuse = |reply: Reply| answer::reply(StatusCode::BAD_REQUEST, reply, RawValue::NULL);
        if let Err(reply) = check_version(headers, meta) {
            return refuse(reply);
        }
        if let Err(mismatch) =
            mirror::check(headers, &notification.method, notification.params, Some(version))
        {
            return refuse(Reply::error(-32020, &mismatch.to_string(), None));
        }
        // Over HTTP a request is withdrawn by closing its response: this says nothing.
        if notification.method == "notifications/cancelled" || !is_handed_on(&notification.method) {
            return answer::accepted();
        }
        // A notification need not say what its sender can do.
        let capabilities = meta.capabilities.unwrap_or(Raw::EMPTY);
        match self.desk.parties.of(caller, capabilities, meta.info) {
            Ok(party) => {
                self.desk.board.notify(scope, &party, &notification.method, notification.params);
                answer::accepted()
            }
            Err(error) => refuse(Reply::error(-32602, &error.to_string(), None)),
        }
    }

    /// Answers with one message if nothing is said before it and the client has nothing against it, else with
    /// a stream.
    async fn speak(self: &Arc<Self>, mut leg: Leg, id: &RawValue, wish: Wish) -> Response<ResponseBody> {
        let first = match wish {
            Wish::Stream => None,
            Wish::Whole => tokio::select! {
                biased;
                spoken = leg.next() => Some(spoken),
                () = tokio::time::sleep(self.settings.silence) => None,
            },
        };
        let notice = match first {
            Some(Spoken::Final(reply)) => return finish(reply, id),
            Some(Spoken::Notice(notice)) => Some(notice),
            None => None,
        };
        let (sender, receiver) = mpsc::channel(CHANNEL);
        drop(tokio::spawn(feed(leg, id.to_owned(), notice, sender, self.pulse.hear())));
        answer::stream(receiver)
    }

    async fn listen(
        self: &Arc<Self>,
        scope: Scope,
        party: Arc<Party>,
        request: &Request<'_>,
    ) -> Response<ResponseBody> {
        let wanted = match listen::wanted(request.params.map(Raw::value)) {
            Ok(wanted) => wanted,
            Err(Malformed(words)) => return finish(Reply::error(-32602, &words, None), request.id),
        };
        let hold = match self.streams.take(Owner::of(&party.caller)) {
            Ok(hold) => hold,
            Err(full) => return answer::full(full, "too many streams are open already"),
        };
        let listening = match self.desk.board.listen(scope, party, wanted).await {
            Ok(listening) => listening,
            Err(reply) => return finish(reply, request.id),
        };
        let (sender, receiver) = mpsc::channel(CHANNEL);
        drop(tokio::spawn(keep_telling(listening, request.id.to_owned(), sender, self.pulse.hear(), hold)));
        answer::stream(receiver)
    }
}

fn finish(reply: Reply, id: &RawValue) -> Response<ResponseBody> {
    answer::reply(modern_status(&reply, Stage::Handled), reply, id)
}

/// The header and the body must name the same revision, before anything else is read into either.
fn check_version(headers: &HeaderMap, meta: &Meta<'_>) -> Result<(), Reply> {
    let claimed = headers::single(headers, mirror::PROTOCOL_VERSION);
    match (claimed, meta.version()) {
        (Err(mismatch), _) => Err(Reply::error(-32020, &mismatch.to_string(), None)),
        (Ok(None), Some(_)) => {
            Err(Reply::error(-32020, "the header `mcp-protocol-version` is missing", None))
        }
        (Ok(Some(header)), Some(Ok(body))) if header != body => {
            Err(Reply::error(-32020, "the header `mcp-protocol-version` does not match the body", None))
        }
        (Ok(_), _) => Ok(()),
    }
}

/// Feeds the stream of one request until its end. A client that goes drops the receiver, and with it goes the
/// leg.
async fn feed(
    mut leg: Leg,
    id: Box<RawValue>,
    first: Option<Notice>,
    sender: mpsc::Sender<Bytes>,
    mut pulse: Hearing,
) {
    let mut unsent: VecDeque<Bytes> = VecDeque::from([sse::comment()]);
    unsent.extend(first.iter().flat_map(|notice| sse::event([wire::notification(notice)], None)));
    let mut leg = Some(&mut leg);
    while leg.is_some() || !unsent.is_empty() {
        let next = async {
            match &mut leg {
                Some(leg) => leg.next().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = sender.closed() => return,
            permit = sender.reserve(), if !unsent.is_empty() => match (permit, unsent.pop_front()) {
                (Ok(permit), Some(piece)) => permit.send(piece),
                (Ok(_), None) | (Err(_), _) => return,
            },
            spoken = next => match spoken {
                // A client that does not read misses what is only told.
                Spoken::Notice(_) if unsent.len() > MOST_UNSENT => {}
                Spoken::Notice(notice) => unsent.extend(sse::event([wire::notification(&notice)], None)),
                Spoken::Final(reply) => {
                    unsent.extend(wire::answer(reply, &id).into_iter().flat_map(|parts| sse::event(parts, None)));
                    leg = None;
                }
            },
            _ = pulse.next() => {
                if unsent.is_empty() {
                    unsent.push_back(sse::comment());
                }
            }
        }
    }
}

/// Tells a client what it wants to hear, until it goes or there is nothing more to tell.
async fn keep_telling(
    mut listening: Listening,
    id: Box<RawValue>,
    sender: mpsc::Sender<Bytes>,
    mut pulse: Hearing,
    hold: Hold,
) {
    let mut next = sse::event([listen::acknowledged(&listening.granted, &id)], None);
    loop {
        for piece in next {
            if sender.send(piece).await.is_err() {
                return;
            }
        }
        if pulse.now() == Beat::Closing {
            break;
        }
        next = tokio::select! {
            () = sender.closed() => return,
            notice = listening.notices.recv() => match notice {
                Some(notice) => sse::event([listen::tagged(notice, &id)], None),
                None => break,
            },
            beat = pulse.next() => match beat {
                Beat::Alive(_) => vec![sse::comment()],
                Beat::Closing => break,
            },
        };
    }
    for piece in wire::answer(listen::ended(&id), &id).into_iter().flat_map(|parts| sse::event(parts, None)) {
        if sender.send(piece).await.is_err() {
            break;
        }
    }
    drop(hold);
}

/// How many pieces lie between us and the connection.
const CHANNEL: usize = 4;
/// How many pieces wait for a client that does not read.
const MOST_UNSENT: usize = 256;
