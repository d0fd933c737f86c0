//! What a browser is told so that a page of another origin may call us: only pages that the guard allows.
//!
//! INVARIANT: an origin is echoed after the guard let it pass, never before, and credentials of the
//! browser's own (cookies) are never allowed: a page has to hold a bearer token itself.

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, HeaderName, HeaderValue, VARY,
};
use http::request::Parts;
use http::{Method, Response, StatusCode};

use super::body::Body;
use super::guard::{Admitted, Guard};

impl Guard {
    /// Answers a browser that asks whether a page may call us, if this is such a question and it may.
    pub fn preflight(&self, parts: &Parts) -> Option<Response<Body>> {
        if parts.method != Method::OPTIONS || !parts.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD) {
            return None;
        }
        let admitted = self.check(parts).ok().filter(|admitted| admitted.origin.is_some())?;
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, DELETE"));
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, allowed_headers(parts));
        headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
        headers.append(VARY, HeaderValue::from_static("access-control-request-headers"));
        admitted.decorate(&mut response);
        Some(response)
    }
}

impl Admitted {
    /// Lets the page that the request came from read the response.
    pub fn decorate<B>(&self, response: &mut Response<B>) {
        let headers = response.headers_mut();
        headers.append(VARY, HeaderValue::from_static("origin"));
        if let Some(origin) = &self.origin {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
        }
    }
}

/// The fixed ones, and those asked for that mirror a tool's parameters, whose names nobody knows before.
fn allowed_headers(parts: &Parts) -> HeaderValue {
    let mut allowed = ALLOWED.to_owned();
    let asked = parts.headers.get_all(ACCESS_CONTROL_REQUEST_HEADERS).into_iter();
    let asked = asked.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    for name in asked.filter_map(|name| HeaderName::from_bytes(name.trim().as_bytes()).ok()) {
        if name.as_str().starts_with(PARAMETER_PREFIX) {
            allowed.push_str(", ");
            allowed.push_str(name.as_str());
        }
    }
    HeaderValue::try_from(allowed).unwrap_or(HeaderValue::from_static(ALLOWED))
}

const ALLOWED: &str = "authorization, content-type, accept, mcp-protocol-version, mcp-method, mcp-name, \
                       mcp-session-id, last-event-id";
const PARAMETER_PREFIX: &str = "mcp-param-";
const EXPOSED: &str = "mcp-session-id, www-authenticate, retry-after";
