//! Answers of the site, each with the headers that keep others out of our pages.

use askama::Template;
use bytes::Bytes;
use http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName,
    HeaderValue, LOCATION, PRAGMA, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{Response, StatusCode};
use yesgate_http::edge::body::Body;
use yesgate_http::problem::Problem;

use crate::assets;

/// What came of a request.
pub(crate) type Answer = Response<Body>;

/// A page.
pub(crate) fn page(status: StatusCode, template: &impl Template) -> Answer {
    match template.render() {
        Ok(html) => with_headers(status, "text/html; charset=utf-8", html.into()),
        Err(error) => {
            tracing::error!(%error, "a page could not be written: {error}");
            with_headers(
                StatusCode::INTERNAL_SERVER_ERROR,
                "text/plain; charset=utf-8",
                "This page could not be written. Nothing was decided.\n".into(),
            )
        }
    }
}

/// Sends the browser on, to be read there.
pub(crate) fn see(place: &str) -> Answer {
    let mut answer = with_headers(StatusCode::SEE_OTHER, "text/plain; charset=utf-8", Bytes::new());
    if let Ok(place) = HeaderValue::try_from(place) {
        answer.headers_mut().insert(LOCATION, place);
    }
    answer
}

/// Leads the browser out of this site, to whoever asked for it (O-A8): where it came from and what it was asked are told
/// to nobody on the way.
pub(crate) fn leave(place: &str) -> Option<Answer> {
    let place = HeaderValue::try_from(place).ok()?;
    let mut answer = with_headers(StatusCode::SEE_OTHER, "text/plain; charset=utf-8", Bytes::new());
    let headers = answer.headers_mut();
    headers.insert(LOCATION, place);
    headers.insert(PRAGMA, HeaderValue::from_static("no-cache"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    keep_opener(&mut answer);
    Some(answer)
}

/// A page whose form is answered by leading the browser out of this site (O-K5). Browsers hold `form-action` against
/// the whole way of a form, and would not go; what a form may do is bounded by its token.
pub(crate) fn page_that_leads_out(status: StatusCode, template: &impl Template) -> Answer {
    let mut answer = page(status, template);
    answer.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(LEADS_OUT));
    keep_opener(&mut answer);
    answer
}

/// Leaves a window together with the page that opened it: a client in a browser opens one to ask, and waits for what
/// comes back in it.
pub(crate) fn keep_opener(answer: &mut Answer) {
    answer.headers_mut().insert(OPENER, HeaderValue::from_static("unsafe-none"));
}

/// Something that is the same for everybody, for as long as this program is what it is.
pub(crate) fn asset(kind: &'static str, content: &'static str) -> Answer {
    let mut answer = with_headers(StatusCode::OK, kind, Bytes::from_static(content.as_bytes()));
    let lasting = HeaderValue::from_static("public, max-age=31536000, immutable");
    answer.headers_mut().insert(CACHE_CONTROL, lasting);
    answer
}

/// Something for a script of ours.
pub(crate) fn json(status: StatusCode, value: &serde_json::Value) -> Answer {
    with_headers(status, "application/json", value.to_string().into())
}

/// A file to be kept.
pub(crate) fn download(name: &str, content: String) -> Answer {
    let mut answer = with_headers(StatusCode::OK, "application/json", content.into());
    if let Ok(name) = HeaderValue::try_from(format!("attachment; filename=\"{name}\"")) {
        answer.headers_mut().insert(CONTENT_DISPOSITION, name);
    }
    answer
}

/// Says in a few words what is wrong.
pub(crate) fn trouble(status: StatusCode, title: &'static str, words: &str) -> Answer {
    page(status, &Trouble { title, words, assets: assets::NAMES.clone() })
}

/// Says which methods there are.
pub(crate) fn other_method(methods: &[&'static str]) -> Answer {
    let mut answer = trouble(StatusCode::METHOD_NOT_ALLOWED, "Not here", "This address does not do that.");
    if let Ok(methods) = HeaderValue::try_from(methods.join(", ")) {
        answer.headers_mut().insert(ALLOW, methods);
    }
    answer
}

/// The same, to a program.
pub(crate) fn other_method_of_api(methods: &[&'static str]) -> Answer {
    let methods = methods.join(", ");
    let words = format!("Only {methods} is known here. Nothing was changed.");
    let mut answer = problem(Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", &words));
    if let Ok(methods) = HeaderValue::try_from(methods) {
        answer.headers_mut().insert(ALLOW, methods);
    }
    answer
}

/// An answer that goes on: events, one after the other.
pub(crate) fn stream(pieces: tokio::sync::mpsc::Receiver<Bytes>) -> Answer {
    let mut answer = with_headers(StatusCode::OK, "text/event-stream", Bytes::new());
    *answer.body_mut() = Body::stream(pieces);
    answer
}

/// Lines of JSON, one after the other.
pub(crate) fn lines(pieces: tokio::sync::mpsc::Receiver<Bytes>) -> Answer {
    let mut answer = with_headers(StatusCode::OK, "application/jsonl", Bytes::new());
    *answer.body_mut() = Body::stream(pieces);
    answer
}

/// What went wrong, for a program.
pub(crate) fn problem(problem: Problem) -> Answer {
    let mut answer = problem.response();
    for (name, value) in GUARDS {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    answer
}

fn with_headers(status: StatusCode, kind: &'static str, content: Bytes) -> Answer {
    let mut answer = Response::new(Body::whole(content));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    for (name, value) in GUARDS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    answer
}

/// Nothing from elsewhere, nothing inline, in nobody's frame, and kept by nobody. A referrer policy that told
/// nobody anything would have browsers hide from us, too, which page a form comes from.
const GUARDS: [(HeaderName, &str); 8] = [
    (CACHE_CONTROL, "no-store"),
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
         form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (REFERRER_POLICY, "same-origin"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (OPENER, "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (
        HeaderName::from_static("permissions-policy"),
        "publickey-credentials-get=(self), publickey-credentials-create=(self), camera=(), microphone=()",
    ),
];

/// The policy of a page whose form leads out of this site: the usual one without `form-action`.
const LEADS_OUT: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                         base-uri 'none'; frame-ancestors 'none'";

const OPENER: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

#[derive(Template)]
#[template(path = "trouble.html")]
struct Trouble<'a> {
    title: &'static str,
    words: &'a str,
    assets: assets::Names,
}
