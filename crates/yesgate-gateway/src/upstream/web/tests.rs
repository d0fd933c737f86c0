//! What stands in the headers of every message to a server.

use std::sync::Arc;

use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use http::{StatusCode, Uri};

use super::{Credentials, Recourse, WebPlace, common_headers};
use crate::era::Era;
use crate::talk::Boxed;

#[derive(Debug)]
struct Signed;

impl Credentials for Signed {
    fn authorization(&self) -> Boxed<'_, Result<HeaderValue, String>> {
        Box::pin(async { Ok(HeaderValue::from_static("Bearer ours")) })
    }

    fn rejected<'a>(
        &'a self,
        _: &'a HeaderValue,
        _: StatusCode,
        _: Option<&'a HeaderValue>,
    ) -> Boxed<'a, Recourse> {
        Box::pin(async { Recourse::Answer })
    }
}

/// Which of the operator's headers are in all messages.
fn kept(era: Era, credentials: Option<Arc<dyn Credentials>>) -> Vec<&'static str> {
    let names = ["authorization", "mcp-method", "mcp-name", "traceparent", "tracestate", "x-team"];
    let headers: HeaderMap = names
        .map(|name| (HeaderName::from_static(name), HeaderValue::from_static("operator")))
        .into_iter()
        .collect();
    let uri = Uri::from_static("http://localhost/mcp");
    let common = common_headers(&WebPlace { uri, headers, credentials }, era);
    names.into_iter().filter(|name| common.get(*name).is_some_and(|value| value == "operator")).collect()
}

#[test]
fn what_a_request_says_for_itself_is_said_once_whatever_the_operator_set() {
    let signed = || Some(Arc::new(Signed) as Arc<dyn Credentials>);
    assert_eq!(kept(Era::Modern, None), [AUTHORIZATION.as_str(), "x-team"]);
    assert_eq!(kept(Era::Modern, signed()), ["x-team"]);
    // In the old era nothing is said of what a message is about.
    assert_eq!(kept(Era::Legacy, signed()), ["mcp-method", "mcp-name", "x-team"]);
}
