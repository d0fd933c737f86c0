//! How answers to clients look: JSON, kept by nobody, readable by pages of whatever origin where clients run in pages.
//!
//! INVARIANT: no credentials of a browser are ever allowed along (O-D10): a page has to hold what it sends.

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue,
    PRAGMA, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use http::{Response, StatusCode};
use serde_json::Value;
use yesgate_http::edge::body::Body;

/// An answer that nobody keeps (O-D12).
pub(crate) fn json(status: StatusCode, body: &Value) -> Response<Body> {
    let mut response = bare(status);
    *response.body_mut() = Body::whole(body.to_string());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// An answer without a body.
pub(crate) fn bare(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(PRAGMA, HeaderValue::from_static("no-cache"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// A description that may be kept for a little while.
pub(crate) fn description(body: &Value) -> Response<Body> {
    let mut response = json(StatusCode::OK, body);
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=60"));
    headers.remove(PRAGMA);
    response
}

/// O-D10: lets pages of whatever origin read an answer.
pub(crate) fn open_to_pages(response: &mut Response<Body>) {
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(
        ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static("www-authenticate, mcp-session-id, retry-after"),
    );
}

/// O-D10: tells a browser that a page may send these.
pub(crate) fn preflight(methods: &'static str) -> Response<Body> {
    let mut response = bare(StatusCode::NO_CONTENT);
    open_to_pages(&mut response);
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(methods));
    headers.insert(
        ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static(
            "authorization, content-type, accept, mcp-protocol-version, mcp-method, mcp-name, mcp-session-id, \
             last-event-id",
        ),
    );
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    response
}

/// Says with which methods an endpoint is used.
pub(crate) fn say_methods(response: &mut Response<Body>, methods: &'static str) {
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
}
