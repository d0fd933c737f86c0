//! Joins what a client, the gateway and a server do into one trace, by the W3C headers `traceparent` and
//! `tracestate`.
//!
//! Nothing here knows how spans are exported: whoever does supplies [`Spans`]. Without it the client's trace
//! goes on to the server as it came.
//!
//! INVARIANT: a header that goes on to a server was parsed and written again by us. What is malformed is
//! dropped, and says nothing about the request that carried it.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use http::header::{HeaderMap, HeaderName, HeaderValue};
use tracing::Span;

use self::state::TraceState;

pub mod state;

/// A place in a trace: under which span something happens.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TraceContext {
    /// The span.
    pub parent: TraceParent,
    /// What tracing systems want to be told again; none if there is nothing.
    pub state: Option<TraceState>,
}

/// A span of somebody's, as `traceparent` names it.
#[derive(Clone, Copy, Eq, Hash, PartialEq)]
pub struct TraceParent {
    trace: [u8; 16],
    span: [u8; 8],
    flags: u8,
}

/// It is no `traceparent`.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("it is not a valid traceparent")]
pub struct TraceParentError;

/// The spans of this process, for whoever exports them.
pub trait Spans: fmt::Debug + Send + Sync {
    /// Puts a new span, which nobody entered yet, under a span of the client's.
    fn put_under(&self, span: &Span, parent: &TraceContext);

    /// The place of the span that is entered now; none if there is none that is exported.
    fn current(&self) -> Option<TraceContext>;
}

/// How traces go through the gateway. The default has no spans of its own.
#[derive(Clone, Debug, Default)]
pub struct Tracing {
    spans: Option<Arc<dyn Spans>>,
}

impl Tracing {
    /// Puts the gateway's own spans between the client's and the server's.
    pub fn with(spans: Arc<dyn Spans>) -> Self {
        Self { spans: Some(spans) }
    }

    /// Whether spans of ours go anywhere.
    pub const fn exports(&self) -> bool {
        self.spans.is_some()
    }

    /// Puts the new span of a request under the client's, if it named one and spans are exported.
    ///
    /// What it returns is kept with the request, for [`Self::inject`].
    pub fn begin(&self, span: &Span, headers: &HeaderMap) -> Option<TraceContext> {
        let parent = remote_parent(headers)?;
        self.put_under(span, &parent);
        Some(parent)
    }

    /// Puts the new span of a request under one of the client's, if spans are exported.
    pub fn put_under(&self, span: &Span, parent: &TraceContext) {
        if let Some(spans) = &self.spans {
            spans.put_under(span, parent);
        }
    }

    /// Writes into the headers of a request to a server where in the trace it belongs: under our own span, or
    /// under the client's if we have none.
    pub fn inject(&self, client: Option<&TraceContext>, headers: &mut HeaderMap) {
        headers.remove(&TRACEPARENT);
        headers.remove(&TRACESTATE);
        let own = self.spans.as_ref().and_then(|spans| spans.current());
        if let Some(context) = own.as_ref().or(client) {
            context.write(headers);
        }
    }
}

/// The span that a client's request belongs to, if its headers name one.
///
/// A `tracestate` that is malformed is dropped; without a valid `traceparent` it means nothing.
pub fn remote_parent(headers: &HeaderMap) -> Option<TraceContext> {
    let mut parents = headers.get_all(&TRACEPARENT).iter();
    let (Some(parent), None) = (parents.next(), parents.next()) else { return None };
    let parent = parent.to_str().ok()?.parse().ok()?;
    Some(TraceContext { parent, state: TraceState::of(&headers.get_all(&TRACESTATE)) })
}

/// The same for a request that names it in `_meta` (SEP-414).
pub(crate) fn parent_in_meta(parent: &str, state: Option<&str>) -> Option<TraceContext> {
    Some(TraceContext { parent: parent.parse().ok()?, state: state.and_then(TraceState::parse) })
}

impl TraceContext {
    fn write(&self, headers: &mut HeaderMap) {
        let Ok(parent) = HeaderValue::from_str(&self.parent.to_string()) else { return };
        headers.insert(TRACEPARENT, parent);
        let state = self.state.as_ref().and_then(|state| HeaderValue::from_str(state.as_str()).ok());
        if let Some(state) = state {
            headers.insert(TRACESTATE, state);
        }
    }
}

impl TraceParent {
    /// Names a span; none if an id is all zeros, which stands for no id at all.
    pub fn new(trace: [u8; 16], span: [u8; 8], flags: u8) -> Option<Self> {
        let is_there = trace.iter().any(|byte| *byte != 0) && span.iter().any(|byte| *byte != 0);
        is_there.then_some(Self { trace, span, flags: flags & KNOWN_FLAGS })
    }

    /// The id of the trace.
    pub const fn trace(&self) -> [u8; 16] {
        self.trace
    }

    /// The id of the span.
    pub const fn span(&self) -> [u8; 8] {
        self.span
    }

    /// Whether it is recorded, and whether the trace's id is random.
    pub const fn flags(&self) -> u8 {
        self.flags
    }
}

/// Trace Context §3.2. A later version is read as far as we know it, and written as ours.
impl FromStr for TraceParent {
    type Err = TraceParentError;

    fn from_str(text: &str) -> Result<Self, TraceParentError> {
        let mut fields = text.splitn(5, '-');
        let mut field = || fields.next().ok_or(TraceParentError);
        let [version] = bytes(field()?)?;
        let trace = bytes(field()?)?;
        let span = bytes(field()?)?;
        let [flags] = bytes(field()?)?;
        match (version, fields.next()) {
            (FORBIDDEN_VERSION, _) | (0, Some(_)) => Err(TraceParentError),
            (_, _) => Self::new(trace, span, flags).ok_or(TraceParentError),
        }
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("00-")?;
        for byte in self.trace {
            write!(f, "{byte:02x}")?;
        }
        f.write_str("-")?;
        for byte in self.span {
            write!(f, "{byte:02x}")?;
        }
        write!(f, "-{:02x}", self.flags)
    }
}

impl fmt::Debug for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TraceParent({self})")
    }
}

/// Reads exactly so many bytes, each as two lower-case digits.
fn bytes<const N: usize>(text: &str) -> Result<[u8; N], TraceParentError> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return Err(TraceParentError) };
    let pairs: &[[u8; 2]; N] = pairs.try_into().map_err(|_| TraceParentError)?;
    let mut bytes = [0; N];
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Ok(bytes)
}

fn digit(character: u8) -> Result<u8, TraceParentError> {
    match character {
        b'0'..=b'9' => Ok(character - b'0'),
        b'a'..=b'f' => Ok(character - b'a' + 10),
        _ => Err(TraceParentError),
    }
}

pub(crate) const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
pub(crate) const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

const FORBIDDEN_VERSION: u8 = 0xff;

/// `sampled` and `random`. The others have no meaning yet, and must be zero when we write them.
const KNOWN_FLAGS: u8 = 0b11;

#[cfg(test)]
mod tests;
