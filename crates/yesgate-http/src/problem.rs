//! What went wrong, told as RFC 9457 says: `application/problem+json`, with the code that programs match on.
//!
//! - INVARIANT: `code` and `error` are the same word, and `detail` and `message` the same sentence. Whoever reads the
//!   payload that MCP has (H6) finds it here, whole.
//! - INVARIANT: every code has a title, and a place on the reference page that `type` leads to.

use http::header::{
    CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS,
};
use http::{Response, StatusCode};
use serde_json::{Map, Value};
use yesgate_core::refusal::Refusal;

use crate::edge::body::Body;
use crate::refused;

/// Something that went wrong.
#[derive(Clone, Debug)]
pub struct Problem {
    status: StatusCode,
    members: Map<String, Value>,
}

impl Problem {
    /// What has this code, in these words.
    pub fn new(status: StatusCode, code: &str, detail: &str) -> Self {
        let members = [("error", code), ("message", detail)];
        let members = members.map(|(key, text)| (key.to_owned(), text.into()));
        Self { status, members: Map::from_iter(members) }
    }

    /// H6: a refusal, with the payload that is the same on every wire.
    pub fn refusal(refusal: &Refusal) -> Self {
        Self { status: refused::status(&refusal.why), members: refusal.payload() }
    }

    /// With one member more.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.members.insert(key.to_owned(), value.into());
        self
    }

    /// As it goes over the wire.
    pub fn response(self) -> Response<Body> {
        let Self { status, mut members } = self;
        let text = |key: &str| members.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (code, detail) = (text("error"), text("message"));
        for (key, value) in [
            ("type", Value::from(format!("{REFERENCE}#problem-{code}"))),
            ("title", title(&code).into()),
            ("status", status.as_u16().into()),
            ("detail", detail.into()),
            ("code", code.into()),
        ] {
            members.insert(key.to_owned(), value);
        }
        let mut response = Response::new(Body::whole(Value::Object(members).to_string()));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        for (name, value) in HEADERS {
            headers.insert(name, HeaderValue::from_static(value));
        }
        response
    }

    /// The same, with when to come back.
    pub fn response_after(self, seconds: u64) -> Response<Body> {
        let mut response = self.response();
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
        response
    }
}

/// What a code means, in a few words: the same whenever it comes.
pub fn title(code: &str) -> &'static str {
    TITLES.iter().find(|(known, _)| *known == code).map_or("Not done", |(_, title)| title)
}

/// Where the codes are explained.
const REFERENCE: &str = "/api/docs";

const HEADERS: [(HeaderName, &str); 3] = [
    (CONTENT_TYPE, "application/problem+json"),
    (CACHE_CONTROL, "no-store"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
];

/// Every code that there is, with its title: first the refusals of the gate, then what is wrong with a request.
pub const TITLES: [(&str, &str); 41] = [
    ("consent_token_invalid", "The token does not exist or was used"),
    ("consent_token_expired", "The token is too old"),
    ("consent_token_mismatch", "The token is for another call"),
    ("DRY_RUN_PREVIEW", "A key of the two is missing"),
    ("mode_forbids", "The mode does not allow it"),
    ("policy_denied", "The policy does not allow it"),
    ("denied", "A human said no"),
    ("expired", "Nobody decided in time"),
    ("superseded", "A newer question took its place"),
    ("cancelled", "It was withdrawn"),
    ("already_decided", "Somebody decided before"),
    ("execution_in_progress", "It runs now"),
    ("execution_unknown", "It may have run"),
    ("assurance_too_low", "The yes does not prove enough"),
    ("no_approver_reachable", "Nobody who could decide can be reached"),
    ("tool_changed", "The tool is another one by now"),
    ("content_changed", "What was seen is not what is stored"),
    ("too_large_to_review", "More than a human could read"),
    ("quorum_pending", "More people must agree"),
    ("rate_limited", "This client asks too often"),
    ("budget_exceeded", "The budget is spent"),
    ("client_frozen", "A human froze this client"),
    ("consent_unavailable", "Consent can be neither asked nor recorded"),
    ("slow_down", "Polled too often"),
    ("unauthorized", "No key or session that counts"),
    ("not_for_agents", "Only for people who are signed in"),
    ("not_for_people", "Only for agents with a key"),
    ("role_too_low", "Not for people of this role"),
    ("not_from_here", "Not sent by a page of this gateway"),
    ("not_found", "Nothing here"),
    ("no_such_intent", "No such question"),
    ("no_such_server", "No such server"),
    ("no_such_tool", "No such tool"),
    ("method_not_allowed", "Not with this method"),
    ("unsupported_media_type", "Not as JSON"),
    ("invalid_call", "No call that can be judged"),
    ("invalid_request", "Not understood"),
    ("invalid_body", "The body cannot be read"),
    ("busy", "Too much is under way"),
    ("server_error", "The server failed"),
    ("not_now", "Not at this moment"),
];

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use yesgate_core::refusal::{Refusal, Why};

    use super::{Problem, TITLES, title};

    /// Each code is there once, with words of its own.
    #[test]
    fn every_code_has_a_title_of_its_own() {
        for (at, (code, words)) in TITLES.iter().enumerate() {
            assert!(!words.is_empty());
            assert!(
                TITLES.iter().skip(at + 1).all(|(other, title)| other != code && title != words),
                "{code}"
            );
        }
        assert_eq!(title("nothing_of_ours"), "Not done");
    }

    /// H6, RFC 9457: a refusal has its own payload and the members of a problem, and they say the same.
    #[tokio::test]
    async fn a_refusal_is_a_problem_and_still_the_payload() {
        let response = Problem::refusal(&Refusal::from(Why::Expired)).with("more", 1).response();
        assert_eq!(response.status(), 403);
        assert_eq!(response.headers()["content-type"], "application/problem+json");
        let body = http_body_util::BodyExt::collect(response.into_body()).await.unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["error"], "expired");
        assert_eq!((&body["code"], &body["detail"]), (&body["error"], &body["message"]));
        assert_eq!((&body["status"], &body["details"], &body["more"]), (&json!(403), &json!({}), &json!(1)));
        assert_eq!(
            (&body["title"], &body["type"]),
            (&json!("Nobody decided in time"), &json!("/api/docs#problem-expired"))
        );
    }

    #[test]
    fn it_can_say_when_to_come_back() {
        let response =
            Problem::new(http::StatusCode::TOO_MANY_REQUESTS, "slow_down", "Later.").response_after(7);
        assert_eq!(response.headers()["retry-after"], "7");
    }
}
