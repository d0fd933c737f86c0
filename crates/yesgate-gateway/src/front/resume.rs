//! Reading the streams of a session: the general one and those of requests, from the start or from where a
//! client was cut off; and the end of a session at its client's wish.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};
use tokio::sync::mpsc;
use yesgate_core::caller::Caller;

use super::post::Claim;
use super::pulse::{Beat, Hearing};
use super::revision::Revision;
use super::session::Session;
use super::share::{Hold, Owner};
use super::streams::{AttachError, GENERAL, Place, Read, Streams, parse_event_id};
use super::voice::Voice;
use super::{HttpFront, ResponseBody, answer, headers};
use crate::board::Scope;
use crate::era::Era;
use crate::mirror;
use yesgate_http::sse;

impl HttpFront {
    /// A `GET`: the general stream, or the rest of one that was cut off.
    pub(super) fn open_stream(
        self: &Arc<Self>,
        scope: &Scope,
        caller: &Caller,
        headers: &HeaderMap,
    ) -> Response<ResponseBody> {
        if let Err(response) = check_legacy(headers) {
            return *response;
        }
        if !headers::accepts(headers, "text/event-stream") {
            let words = "the client must accept text/event-stream";
            return answer::error(StatusCode::NOT_ACCEPTABLE, -32600, words);
        }
        let session = match self.session(scope, caller, headers) {
            Ok((_, session)) => session,
            Err(response) => return *response,
        };
        let (stream, after) = match headers::single(headers, mirror::LAST_EVENT_ID) {
            Ok(None) => (GENERAL, None),
            Ok(Some(id)) => match parse_event_id(id) {
                Some((stream, after)) => (stream, Some(after)),
                None => return unknown_event(),
            },
            Err(mismatch) => return answer::error(StatusCode::BAD_REQUEST, -32600, &mismatch.to_string()),
        };
        let hold = match self.streams.take(Owner::of(caller)) {
            Ok(hold) => hold,
            Err(full) => return answer::full(full, "too many streams are open already"),
        };
        self.read_stream(&session, stream, after, Some(hold))
    }

    /// A `DELETE`: the session ends.
    pub(super) fn end_session(
        &self,
        scope: &Scope,
        caller: &Caller,
        headers: &HeaderMap,
    ) -> Response<ResponseBody> {
        if let Err(response) = check_legacy(headers) {
            return *response;
        }
        match self.session(scope, caller, headers) {
            Ok((id, _)) => {
                self.sessions.end(&id, &*self.desk.board);
                let mut response = Response::new(ResponseBody::empty());
                *response.status_mut() = StatusCode::NO_CONTENT;
                response
            }
            Err(response) => *response,
        }
    }

    /// Answers with a stream, from an event on or from where its last reader stopped.
    pub(super) fn read_stream(
        self: &Arc<Self>,
        session: &Arc<Session>,
        stream: u64,
        after: Option<u64>,
        hold: Option<Hold>,
    ) -> Response<ResponseBody> {
        let reader = match Reader::new(Arc::clone(&session.voice), stream, after) {
            Ok(reader) => reader,
            Err(AttachError::Taken) => {
                return answer::error(StatusCode::CONFLICT, -32600, "the stream is being read already");
            }
            Err(AttachError::Unknown) => return unknown_event(),
        };
        let (sender, receiver) = mpsc::channel(CHANNEL);
        // An event without data tells the client where to go on, before there is anything to tell. Older
        // clients would take it for a broken message.
        let opening = if session.revision >= Revision::November2025 && after.is_none() {
            let mut opening = vec![sse::retry(self.settings.retry)];
            opening.extend(sse::event([], Some(&reader.place.event_id())));
            opening
        } else {
            vec![sse::comment()]
        };
        let lasts = if stream == GENERAL { Lasts::UntilShutdown } else { Lasts::UntilItsEnd };
        drop(tokio::spawn(pump(reader, opening, sender, self.pulse.hear(), lasts, hold)));
        answer::stream(receiver)
    }
}

fn check_legacy(headers: &HeaderMap) -> Result<(), Box<Response<ResponseBody>>> {
    match Claim::of(headers).map(|claim| (claim, claim.era())) {
        Ok((_, Some(Era::Modern))) => Err(answer::not_allowed("POST").into()),
        Ok((Claim::None, _) | (Claim::Known(_), _)) => Ok(()),
        Ok((Claim::Unknown(version), _)) => Err(answer::reply(
            StatusCode::BAD_REQUEST,
            super::desk::unsupported(version),
            serde_json::value::RawValue::NULL,
        )
        .into()),
        Err(mismatch) => Err(answer::error(StatusCode::BAD_REQUEST, -32600, &mismatch.to_string()).into()),
    }
}

fn unknown_event() -> Response<ResponseBody> {
    answer::error(StatusCode::BAD_REQUEST, -32600, "the event to go on from is not known, or no more")
}

/// The one who reads a stream; the next one may when it is dropped.
#[derive(Debug)]
struct Reader {
    voice: Arc<Voice>,
    place: Place,
}

impl Reader {
    fn new(voice: Arc<Voice>, stream: u64, after: Option<u64>) -> Result<Self, AttachError> {
        let place = voice.streams().ok_or(AttachError::Unknown)?.attach(stream, after)?;
        Ok(Self { voice, place })
    }

    fn read(&mut self) -> Read {
        self.voice.streams().map_or(Read::Over, |streams| streams.read(&mut self.place))
    }

    fn sent(&self) {
        if let Some(streams) = self.voice.streams() {
            streams.sent(&self.place);
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if let Some(streams) = self.voice.streams() {
            Streams::detach(streams, &self.place);
        }
    }
}

/// How long a stream is read.
#[derive(Clone, Copy, Debug)]
enum Lasts {
    UntilItsEnd,
    UntilShutdown,
}

/// Brings a stream to its reader, until either of them ends.
async fn pump(
    mut reader: Reader,
    opening: Vec<Bytes>,
    sender: mpsc::Sender<Bytes>,
    mut pulse: Hearing,
    lasts: Lasts,
    hold: Option<Hold>,
) {
    let mut next = opening;
    loop {
        for piece in next {
            if sender.send(piece).await.is_err() {
                return;
            }
        }
        reader.sent();
        next = match reader.read() {
            Read::Event(pieces) => pieces,
            Read::Over => break,
            Read::Nothing => match (lasts, pulse.now()) {
                (Lasts::UntilShutdown, Beat::Closing) => break,
                (Lasts::UntilShutdown, Beat::Alive(_)) | (Lasts::UntilItsEnd, _) => tokio::select! {
                    biased;
                    () = sender.closed() => return,
                    () = reader.place.news() => Vec::new(),
                    _ = pulse.next() => vec![sse::comment()],
                },
            },
        };
    }
    drop(hold);
}

/// How many pieces lie between us and the connection.
const CHANNEL: usize = 4;
