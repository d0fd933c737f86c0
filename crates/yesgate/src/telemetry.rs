//! What the program says about itself while it runs: a log on stderr, and spans for a collector.
//!
//! INVARIANT: stdout stays untouched, for it may be the wire. A collector that is down, slow or hostile costs
//! spans, never a call: what waits for it is bounded, and nobody waits with it but the end of the program, for
//! a short time.

use std::time::Duration;

use anyhow::Context as _;
use tracing::{Dispatch, Level};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Layer, SubscriberExt as _};
use tracing_subscriber::{EnvFilter, Registry, fmt, registry};
use yesgate_gateway::trace::Tracing;

use self::export::Export;

mod export;
mod spans;

/// Begins to log, and to export spans if there is a collector.
///
/// `level` holds where `YESGATE_LOG` says nothing. Spans that are still here when the guard is dropped are
/// sent then.
///
/// # Errors
/// When the collector's address cannot be used, or somebody began to log before.
pub(crate) fn start(otlp: Option<&str>, level: Level) -> anyhow::Result<(Guard, Tracing)> {
    let variable = |name| std::env::var(name).ok();
    let (filter, format) = (variable("YESGATE_LOG"), variable("YESGATE_LOG_FORMAT"));
    let (log, complaints) = Log::read(filter.as_deref(), format.as_deref(), level);
    let export = otlp.map(|url| Export::start(url, PATIENCE)).transpose();
    let export = export.context("the collector of `[telemetry]` cannot be used")?;
    let tracing = export.as_ref().map_or_else(Tracing::default, Export::tracing);
    tracing::dispatcher::set_global_default(dispatch(log, std::io::stderr, export.as_ref()))
        .context("the log is there already")?;
    for complaint in complaints {
        tracing::warn!("{complaint}");
    }
    Ok((Guard { _export: export }, tracing))
}

/// Keeps the export of spans going; dropping it sends what is left, and waits for that a short time.
#[must_use = "when it is dropped the export ends"]
pub(crate) struct Guard {
    _export: Option<Export>,
}

/// How long the end of the program may wait for a collector.
const PATIENCE: Duration = Duration::from_secs(3);

/// What is logged, and how it is written.
struct Log {
    filter: EnvFilter,
    format: Format,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Format {
    /// For people.
    Text,
    /// One object a line, for programs.
    Json,
}

impl Log {
    /// Reads the two variables. What cannot be understood is complained about, and does not stop a gateway.
    fn read(filter: Option<&str>, format: Option<&str>, level: Level) -> (Self, Vec<&'static str>) {
        let mut complaints = vec![];
        let usual = || EnvFilter::new(level.as_str());
        let filter = match filter.map(EnvFilter::try_new) {
            None => usual(),
            Some(Ok(filter)) => filter,
            Some(Err(_)) => {
                complaints
                    .push("YESGATE_LOG is not a filter such as `info` or `warn,yesgate=debug`; ignored");
                usual()
            }
        };
        let format = match format {
            None | Some("" | "text") => Format::Text,
            Some("json") => Format::Json,
            Some(_) => {
                complaints.push("YESGATE_LOG_FORMAT is neither `text` nor `json`; ignored");
                Format::Text
            }
        };
        (Self { filter, format }, complaints)
    }
}

fn dispatch<W>(log: Log, writer: W, export: Option<&Export>) -> Dispatch
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let lines = fmt::layer().with_writer(writer).with_ansi(false);
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match log.format {
        Format::Text => Box::new(lines),
        Format::Json => Box::new(lines.json().flatten_event(true)),
    };
    let spans = export.map(|export| {
        // Where in the source, on which thread and how busy is more than the rest of a span together.
        tracing_opentelemetry::layer()
            .with_tracer(export.tracer())
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_context_activation(false)
            .with_filter(Targets::new().with_target(OWN_TARGETS, Level::INFO))
    });
    Dispatch::new(registry().with(lines.with_filter(log.filter)).with(spans))
}

/// What the targets of our own crates begin with. Spans of libraries are not exported.
const OWN_TARGETS: &str = "yesgate";

#[cfg(test)]
mod tests;
