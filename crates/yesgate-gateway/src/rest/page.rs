//! The page behind an approval address: it tells a human where to decide. Opening it decides nothing, and it says
//! the same for every question, whether there is one or not.

use http::Response;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use yesgate_core::id::IntentId;

use yesgate_http::edge::body::Body;

/// The page for a question.
pub(crate) fn page(id: &IntentId) -> Response<Body> {
    // An id has letters and digits only, so it is text in HTML as it stands.
    let html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>A question is waiting</title>\n\
         <h1>A question is waiting</h1>\n\
         <p>An agent asked for something that needs your yes. Nothing was decided by opening this page, and \
         nothing can be decided here.</p>\n\
         <p>On the machine of the gateway, look at the whole question:</p>\n<pre>yesgate show {id}</pre>\n\
         <p>Compare the code with the one that the agent shows you. If you agree to exactly that:</p>\n\
         <pre>yesgate approve {id}</pre>\n<p>If not:</p>\n<pre>yesgate deny {id}</pre>\n</html>\n"
    );
    let mut response = Response::new(Body::whole(html));
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CACHE_CONTROL, "no-store"),
        (
            CONTENT_SECURITY_POLICY,
            "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        ),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
