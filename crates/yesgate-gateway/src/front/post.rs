//! A `POST`: which era the message belongs to, and where it goes.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};

use super::desk::unsupported;
use super::message::{Fields, Malformed, Message, batch, read};
use super::meta::Meta;
use super::revision::Revision;
use super::{HttpFront, ResponseBody, answer, headers};
use crate::board::{Scope, Visitor};
use crate::era::Era;
use crate::mirror;
use crate::reply::Reply;
use yesgate_http::edge::intake::is_json;

/// What the header says of the revision.
#[derive(Clone, Copy, Debug)]
pub(super) enum Claim<'a> {
    /// Nothing.
    None,
    /// One that we know.
    Known(Revision),
    /// One that we do not.
    Unknown(&'a str),
}

impl<'a> Claim<'a> {
    pub(super) fn of(headers: &'a HeaderMap) -> Result<Self, mirror::Mismatch> {
        Ok(match headers::single(headers, mirror::PROTOCOL_VERSION)? {
            None => Self::None,
            Some(version) => Revision::named(version).map_or(Self::Unknown(version), Self::Known),
        })
    }

    /// The era that the header alone speaks for.
    pub(super) fn era(self) -> Option<Era> {
        match self {
            Self::None => None,
            Self::Known(revision) => Some(revision.era()),
            // Dates compare as text: whatever comes after the first modern revision is modern.
            Self::Unknown(version) => (version > Revision::July2026.as_str()).then_some(Era::Modern),
        }
    }
}

impl HttpFront {
    pub(super) async fn post(
        self: &Arc<Self>,
        scope: Scope,
        visitor: Visitor,
        headers: HeaderMap,
        body: Bytes,
    ) -> Response<ResponseBody> {
        if !is_json(&headers) {
            let words = "the content type must be application/json";
            return answer::error(StatusCode::UNSUPPORTED_MEDIA_TYPE, -32600, words);
        }
        if !headers::accepts_answers(&headers) {
            let words = "the client must accept application/json and text/event-stream";
            return answer::error(StatusCode::NOT_ACCEPTABLE, -32600, words);
        }
        let claim = match Claim::of(&headers) {
            Ok(claim) => claim,
            Err(mismatch) => return answer::error(StatusCode::BAD_REQUEST, -32020, &mismatch.to_string()),
        };
        if let Some(elements) = batch(&body) {
            return match (elements, claim.era()) {
                (Err(unreadable), _) => answer::unreadable(unreadable),
                (Ok(_), Some(Era::Modern)) => {
                    answer::error(StatusCode::BAD_REQUEST, -32600, "this protocol version has no batches")
                }
                (Ok(elements), Some(Era::Legacy) | None) => {
                    Box::pin(self.legacy_batch(&scope, &visitor, &headers, &body, &elements)).await
                }
            };
        }
        let message = match read(&body) {
            Ok(message) => message,
            Err(unreadable) => return answer::unreadable(unreadable),
        };
        let (fields, id) = match &message {
            Message::Request(request) => (&request.fields, Some(request.id)),
            Message::Notification(notification) => (&notification.fields, None),
            Message::Response { id, given: _ } => (&Fields::default(), Some(*id)),
        };
        let refuse = |reply: Reply| match id {
            Some(id) => answer::reply(StatusCode::BAD_REQUEST, reply, id),
            None => answer::reply(StatusCode::BAD_REQUEST, reply, serde_json::value::RawValue::NULL),
        };
        let meta = match Meta::read(fields) {
            Ok(meta) => meta,
            Err(Malformed(words)) => return refuse(Reply::error(-32602, &words, None)),
        };
        match era(&message, &meta, claim) {
            Ok(Era::Modern) => self.modern(scope, &visitor, headers, body.clone(), &message, &meta).await,
            Ok(Era::Legacy) => self.legacy(scope, &visitor, &headers, body.clone(), message).await,
            Err(reply) => refuse(reply),
        }
    }
}

/// The era of a message: modern by what it says of itself or by its header, else legacy.
fn era(message: &Message<'_>, meta: &Meta<'_>, claim: Claim<'_>) -> Result<Era, Reply> {
    if meta.version().is_some() {
        return Ok(Era::Modern);
    }
    match (claim, claim.era()) {
        (Claim::Unknown(version), _) => Err(unsupported(version)),
        (Claim::None | Claim::Known(_), Some(era)) => Ok(era),
        (Claim::None | Claim::Known(_), None) => Ok(match message {
            // The question which eras there are has no old form.
            Message::Request(request) if request.method == "server/discover" => Era::Modern,
            Message::Request(_) | Message::Notification(_) | Message::Response { .. } => Era::Legacy,
        }),
    }
}
