//! A little collector on a loopback port: it takes what is sent, and answers in the manner it is told.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use http_body_util::{BodyExt as _, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

/// How it answers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Manner {
    /// It takes everything.
    Takes,
    /// It cannot take the first batch now.
    IsBusyOnce,
    /// It reads, and never answers.
    KeepsSilent,
}

/// It runs until it is dropped.
pub(super) struct Collector {
    pub(super) url: String,
    batches: Receiver<Batch>,
    _runtime: Runtime,
}

/// What came with one request.
pub(super) struct Batch {
    pub(super) path: String,
    content: ExportTraceServiceRequest,
}

impl Collector {
    pub(super) fn start(manner: Manner) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, batches) = mpsc::channel();
        runtime.spawn(accept(listener, manner, sender));
        Self { url, batches, _runtime: runtime }
    }

    /// The next batch, as soon as it is there.
    #[track_caller]
    pub(super) fn next(&self) -> Batch {
        self.batches.recv_timeout(Duration::from_secs(20)).unwrap()
    }
}

impl Batch {
    pub(super) fn resource(&self, key: &str) -> &str {
        let resource = self.content.resource_spans[0].resource.as_ref().unwrap();
        let attribute = resource.attributes.iter().find(|attribute| attribute.key == key).unwrap();
        let Some(Value::StringValue(text)) = &attribute.value.as_ref().unwrap().value else {
            panic!("{attribute:?}");
        };
        text
    }

    pub(super) fn span(&self, name: &str) -> &Span {
        self.spans().find(|span| span.name == name).unwrap()
    }

    pub(super) fn names(&self) -> Vec<&str> {
        self.spans().map(|span| span.name.as_str()).collect()
    }

    fn spans(&self) -> impl Iterator<Item = &Span> {
        let scopes = self.content.resource_spans.iter().flat_map(|spans| &spans.scope_spans);
        scopes.flat_map(|scope| &scope.spans)
    }
}

async fn accept(listener: TcpListener, manner: Manner, batches: Sender<Batch>) {
    let count = Arc::new(AtomicUsize::new(0));
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let (batches, count) = (batches.clone(), Arc::clone(&count));
        let answer = move |request| answer(request, manner, batches.clone(), Arc::clone(&count));
        let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer));
        tokio::spawn(async move {
            // A client that goes away is what some of the tests are about.
            connection.await.ok();
        });
    }
}

async fn answer(
    request: Request<Incoming>,
    manner: Manner,
    batches: Sender<Batch>,
    count: Arc<AtomicUsize>,
) -> Result<Response<Empty<Bytes>>, Infallible> {
    assert_eq!(request.headers().get("content-type").unwrap(), "application/x-protobuf");
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let content = ExportTraceServiceRequest::decode(body).unwrap();
    batches.send(Batch { path, content }).ok();
    let mut response = Response::new(Empty::new());
    match (manner, count.fetch_add(1, Ordering::Relaxed)) {
        (Manner::Takes, _) | (Manner::IsBusyOnce, 1..) => {}
        (Manner::IsBusyOnce, 0) => *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE,
        (Manner::KeepsSilent, _) => std::future::pending().await,
    }
    Ok(response)
}
