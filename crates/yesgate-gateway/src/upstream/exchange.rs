//! One request to a server and everything that comes of it: the server's words on the way, its
//! questions to the client, and its answer.

use bytes::Bytes;
use serde_json::Value;
use serde_json::value::RawValue;
use yesgate_core::intent::{ResultKind, StoredResult};
use yesgate_core::json::{self, Limits};

use super::pipe::PipeExchange;
use super::web::WebExchange;
use super::{NotSent, TurnedAway};
use crate::envelope::{Envelope, Kind, RequestKey};
use crate::raw::{Raw, RawObject};
use crate::talk::Notice;

/// What a server answered, in its own bytes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Answer {
    /// Whether it is a result or an error.
    pub kind: ResultKind,
    /// The JSON of it.
    pub json: Bytes,
}

impl Answer {
    /// The answer in a message; `None` where it is none, or two at once.
    pub(crate) fn of(message: &Envelope<'_>) -> Option<Self> {
        let of = |kind, raw: &RawValue| Self { kind, json: raw.get().to_owned().into() };
        match (message.result, message.error) {
            (Some(result), None) => Some(of(ResultKind::Result, result)),
            (None, Some(error)) => Some(of(ResultKind::Error, error)),
            (Some(_), Some(_)) | (None, None) => None,
        }
    }

    /// The answer in a whole message, where its id is the right one. Large results are not copied.
    pub(crate) fn in_message(message: &Bytes, is_right: impl Fn(&RawValue) -> bool) -> Option<Self> {
        Self::at_a_glance(message, &is_right).or_else(|| Self::in_envelope(message, is_right))
    }

    /// The same for a message that is nothing but an answer, in plain spelling: most are.
    pub(crate) fn at_a_glance(message: &Bytes, is_right: impl Fn(&RawValue) -> bool) -> Option<Self> {
        let (mut id, mut result, mut error, mut is_odd) = (None, None, None, false);
        json::glance(message, Limits::SERVER, |key, value| match key {
            "jsonrpc" => is_odd |= value != r#""2.0""#,
            "id" => id = Some(Raw::rehydrate(value)),
            "result" => result = Some(value),
            "error" => error = Some(value),
            _ => is_odd = true,
        })?;
        let (kind, json) = match (result, error) {
            (Some(result), None) => (ResultKind::Result, result),
            (None, Some(error)) => (ResultKind::Error, error),
            (Some(_), Some(_)) | (None, None) => return None,
        };
        let is_answer = !is_odd && id.is_some_and(|id| is_right(id.value()));
        is_answer.then(|| Self { kind, json: message.slice_ref(json.as_bytes()) })
    }

    fn in_envelope(message: &Bytes, is_right: impl Fn(&RawValue) -> bool) -> Option<Self> {
        let envelope = Envelope::parse_framed(message).ok()?;
        let _right = envelope.id.filter(|id| is_right(id))?;
        let part = |raw: &RawValue| message.slice_ref(raw.get().as_bytes());
        match (envelope.kind(), envelope.result, envelope.error) {
            (Kind::Response, Some(result), None) => {
                Some(Self { kind: ResultKind::Result, json: part(result) })
            }
            (Kind::Response, None, Some(error)) => Some(Self { kind: ResultKind::Error, json: part(error) }),
            (Kind::Request | Kind::Notification | Kind::Response | Kind::Neither, _, _) => None,
        }
    }

    /// An error of our own in place of an answer.
    pub(crate) fn error(code: i64, message: &str, data: Option<Value>) -> Self {
        let mut error = serde_json::json!({"code": code, "message": message});
        if let (Some(data), Some(members)) = (data, error.as_object_mut()) {
            members.insert("data".into(), data);
        }
        Self { kind: ResultKind::Error, json: error.to_string().into() }
    }

    /// The answer as the ledger keeps it.
    pub fn to_stored(&self) -> StoredResult {
        StoredResult { kind: self.kind, json: String::from_utf8_lossy(&self.json).into_owned() }
    }

    /// The members of a result; `None` where it is an error or no object.
    pub(crate) fn result(&self) -> Option<RawObject> {
        match self.kind {
            ResultKind::Result => serde_json::from_slice(&self.json).ok(),
            ResultKind::Error => None,
        }
    }
}

/// One word of a server.
#[derive(Debug)]
pub(crate) enum Step {
    /// It tells something.
    Notice(Notice),
    /// It asks something.
    Request {
        /// The server's own id of it.
        id: Box<RawValue>,
        /// The method.
        method: String,
        /// The parameters.
        params: Option<Box<RawValue>>,
    },
    /// It takes back a question.
    Withdrawn {
        /// The server's own id of it.
        id: RequestKey,
    },
    /// It answers.
    Answer(Answer),
    /// It answered, with more than is taken.
    TooLong,
    /// It will never answer.
    Lost(&'static str),
    /// The request certainly did not leave.
    Unsent(NotSent),
    /// It would not take the request.
    TurnedAway(TurnedAway),
}

impl Step {
    /// A server's notification or request; `None` where the message is something else.
    pub(crate) fn of(message: &Envelope<'_>) -> Option<Self> {
        let method = message.method.as_deref()?;
        let params = message.params.map(ToOwned::to_owned);
        match (message.kind(), message.id) {
            (Kind::Request, Some(id)) => {
                Some(Self::Request { id: id.to_owned(), method: method.to_owned(), params })
            }
            (Kind::Notification, _) if method == "notifications/cancelled" => {
                let id = params.as_deref().and_then(RawObject::parse)?;
                Some(Self::Withdrawn { id: RequestKey::of(id.get("requestId")?) })
            }
            (Kind::Notification, _) => {
                Some(Self::Notice(Notice { method: method.to_owned().into(), params }))
            }
            (Kind::Request | Kind::Response | Kind::Neither, _) => None,
        }
    }
}

/// One request that is under way.
#[derive(Debug)]
pub(crate) enum Exchange {
    /// Over a pipe.
    Pipe(PipeExchange),
    /// Over HTTP.
    Web(Box<WebExchange>),
}

impl Exchange {
    /// Waits for the server's next word. Cancel safe.
    pub(crate) async fn next(&mut self) -> Step {
        match self {
            Self::Pipe(exchange) => exchange.next().await,
            Self::Web(exchange) => exchange.next().await,
        }
    }

    /// Tells the server that the caller gave up.
    pub(crate) fn withdraw(&mut self) {
        match self {
            Self::Pipe(exchange) => exchange.withdraw(),
            Self::Web(exchange) => exchange.withdraw(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn answers() -> impl Strategy<Value = String> {
        let of = |words: &[&'static str]| prop::sample::select(words.to_vec());
        let member = of(&[
            r#""jsonrpc":"2.0""#,
            r#""jsonrpc": "1.0""#,
            r#""id":7"#,
            r#""id":8"#,
            r#""id":7.0"#,
            r#""id":null"#,
            r#""Id":7"#,
            r#""result":{"content":[{"type":"text","text":"a\nb"}]}"#,
            r#""result":{"x":1.5,"X":"\u00e4"}"#,
            r#""result":null"#,
            r#""error":{"code":-32602,"message":"no"}"#,
            r#""method":"ping""#,
            r#""params":{}"#,
            r#""more":[1"#,
        ]);
        prop::collection::vec(member, 1..5).prop_map(|members| format!(" {{{}}}\n", members.join(", ")))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn a_glance_at_an_answer_shows_what_a_close_look_shows_or_nothing(message in answers()) {
            let message = Bytes::from(message);
            let is_right = |id: &RawValue| id.get() == "7";
            if let Some(quick) = Answer::at_a_glance(&message, is_right) {
                prop_assert_eq!(Some(quick), Answer::in_envelope(&message, is_right));
            }
        }
    }

    #[test]
    fn a_glance_is_enough_for_a_usual_answer() {
        let message = Bytes::from_static(br#"{"jsonrpc":"2.0","id":7,"result":{"content":[]}}"#);
        let answer = Answer::at_a_glance(&message, |id| id.get() == "7").unwrap();
        assert_eq!(
            (answer.kind, answer.json.as_ref()),
            (ResultKind::Result, br#"{"content":[]}"#.as_slice())
        );
    }
}
