//! Where our spans stand in a trace that a client began and a server goes on with.

use opentelemetry::Context;
use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use yesgate_gateway::trace::state::TraceState;
use yesgate_gateway::trace::{Spans, TraceContext, TraceParent};

/// The spans that are exported.
#[derive(Debug)]
pub(super) struct ExportedSpans;

impl Spans for ExportedSpans {
    fn put_under(&self, span: &Span, parent: &TraceContext) {
        let state = parent.state.as_ref().and_then(|state| state.as_str().parse().ok());
        let remote = SpanContext::new(
            TraceId::from_bytes(parent.parent.trace()),
            SpanId::from_bytes(parent.parent.span()),
            TraceFlags::new(parent.parent.flags()),
            true,
            state.unwrap_or_default(),
        );
        if let Err(error) = span.set_parent(Context::new().with_remote_span_context(remote)) {
            tracing::debug!(%error, "the span of a request is not under the client's");
        }
    }

    fn current(&self) -> Option<TraceContext> {
        let context = Span::current().context();
        let span = context.span();
        let own = span.span_context();
        let parent =
            TraceParent::new(own.trace_id().to_bytes(), own.span_id().to_bytes(), own.trace_flags().to_u8())?;
        Some(TraceContext { parent, state: TraceState::parse(&own.trace_state().header()) })
    }
}
