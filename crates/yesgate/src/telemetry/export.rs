//! Sends spans to a collector by OTLP over HTTP, on threads of its own.
//!
//! INVARIANT: a span that cannot be sent is lost. Nothing that serves a client waits for the collector, and
//! what waits to be sent is bounded.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_http::{Bytes, HttpClient as OtlpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, RetryPolicy, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{Sampler, SdkTracer, SdkTracerProvider};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::time::timeout;
use tracing::instrument::WithSubscriber as _;
use tracing::subscriber::NoSubscriber;
use yesgate_gateway::trace::Tracing;
use yesgate_http::fetch::error::FetchError;
use yesgate_http::fetch::parts::Parts;
use yesgate_http::fetch::{AnswerBody, FetchLimits, HttpClient};

use super::spans::ExportedSpans;

/// The export of spans. Dropping it sends what is left.
#[derive(Debug)]
pub(super) struct Export {
    provider: SdkTracerProvider,
    /// Taken only at the end.
    runtime: Option<Runtime>,
    patience: Duration,
}

impl Export {
    /// Begins to export to the collector at `url`; its end waits as long as `patience`.
    pub(super) fn start(url: &str, patience: Duration) -> anyhow::Result<Self> {
        // Of its own, so that a flush at the end needs nothing of the runtime that ends.
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(1)
            .thread_name("otlp")
            .enable_all()
            .build()
            .context("no thread could be started")?;
        let collector = Collector {
            client: HttpClient::for_address(url, LIMITS)?,
            runtime: runtime.handle().clone(),
            is_failing: AtomicBool::new(false),
        };
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(collector)
            .with_endpoint(endpoint(url))
            .with_protocol(Protocol::HttpBinary)
            .with_timeout(LIMITS.whole)
            .with_retry_policy(RetryPolicy::recommended())
            .build()?;
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            // A client that says "not sampled" must not hide what it does from the operator.
            .with_sampler(Sampler::AlwaysOn)
            .with_resource(resource())
            .build();
        Ok(Self { provider, runtime: Some(runtime), patience })
    }

    pub(super) fn tracer(&self) -> SdkTracer {
        self.provider.tracer(SERVICE)
    }

    pub(super) fn tracing(&self) -> Tracing {
        Tracing::with(Arc::new(ExportedSpans))
    }
}

impl Drop for Export {
    fn drop(&mut self) {
        // Spans that did not arrive were complained about already.
        if let Err(error) = self.provider.shutdown_with_timeout(self.patience) {
            tracing::debug!(%error, "the last spans were not delivered");
        }
        // Not waited for: a name that is being resolved, or a collector that keeps silent.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn resource() -> Resource {
    Resource::builder()
        .with_service_name(SERVICE)
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .build()
}

/// Where spans go: the address of a collector is written without the part that tells spans from the rest.
fn endpoint(url: &str) -> String {
    let base = url.trim_end_matches('/');
    if base.ends_with(SPANS) { base.to_owned() } else { format!("{base}{SPANS}") }
}

/// The way to the collector: our own HTTP client, with its limits and its TLS.
#[derive(Debug)]
struct Collector {
    client: HttpClient,
    runtime: Handle,
    /// Whether the last batch did not arrive, which was then said.
    is_failing: AtomicBool,
}

impl Collector {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = self.client.clone();
        let exchange = async move { exchange(&client, request).await };
        // What happens on the way to the collector is not itself told to the collector.
        let exchange = self.runtime.spawn(exchange.with_subscriber(NoSubscriber::new()));
        let answer = match exchange.await {
            Ok(answer) => answer.map_err(HttpError::from),
            Err(ended) => return Err(ended.into()),
        };
        self.note(&answer);
        answer
    }

    /// Says that spans are lost when that begins, and when it is over; not for each batch.
    fn note(&self, answer: &Result<Response<Bytes>, HttpError>) {
        let trouble = match answer {
            Ok(response) if response.status().is_success() => None,
            Ok(response) => Some(format!("it answered {}", response.status().as_u16())),
            Err(error) => Some(error.to_string()),
        };
        match (trouble, self.is_failing.load(Ordering::Relaxed)) {
            (Some(trouble), false) => {
                self.is_failing.store(true, Ordering::Relaxed);
                tracing::warn!(
                    "the collector does not take spans: {trouble}; the gateway goes on without it"
                );
            }
            (None, true) => {
                self.is_failing.store(false, Ordering::Relaxed);
                tracing::info!("the collector takes spans again");
            }
            (Some(_), true) | (None, false) => {}
        }
    }
}

impl OtlpClient for Collector {
    fn send_bytes<'life0, 'async_trait>(
        &'life0 self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'async_trait>>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(self.send(request))
    }
}

async fn exchange(client: &HttpClient, request: Request<Bytes>) -> Result<Response<Bytes>, FetchError> {
    let sent = timeout(LIMITS.whole, client.send(request.map(Parts::from))).await;
    let answer = sent.map_err(|_| FetchError::TooSlow)??;
    let mut response = Response::new(match answer.body {
        AnswerBody::Whole(body) => body,
        // Not an answer to what was sent; its status still tells whether the spans arrived.
        AnswerBody::Events(_) => Bytes::new(),
    });
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers;
    Ok(response)
}

const SERVICE: &str = "yesgate";
const SPANS: &str = "/v1/traces";

const LIMITS: FetchLimits = FetchLimits {
    connect: Duration::from_secs(5),
    answer: Duration::from_secs(10),
    silence: Duration::from_secs(10),
    whole: Duration::from_secs(10),
    answer_bytes: 64 * 1024,
    event_bytes: 64 * 1024,
    stream_silence: None,
};
