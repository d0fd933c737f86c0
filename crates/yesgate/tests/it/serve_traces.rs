//! Traces end to end: a client's `traceparent`, our spans at a collector (OTLP over HTTP), the server's `traceparent`.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http_body_util::{BodyExt as _, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use yesgate_testkit::{Draft, MockEras, MockHttp, ServeStage, confirm_token, eventually, structured, text};

/// A collector on a loopback port that takes everything.
struct Collector {
    url: String,
    spans: Arc<Mutex<Vec<Span>>>,
}

impl Collector {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let spans = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&spans);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let kept = Arc::clone(&kept);
                let take = service_fn(move |request| take(request, Arc::clone(&kept)));
                let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), take);
                tokio::spawn(connection);
            }
        });
        Self { url, spans }
    }

    /// The span of a request that a client put under this span of its own, as soon as it is there.
    async fn under(&self, parent: &str) -> Span {
        let found = || {
            let spans = self.spans.lock().unwrap();
            spans.iter().find(|span| hex(&span.parent_span_id) == parent).cloned()
        };
        eventually(&format!("a span under {parent}"), async || found()).await
    }
}

async fn take(
    request: Request<Incoming>,
    kept: Arc<Mutex<Vec<Span>>>,
) -> Result<Response<Empty<Bytes>>, Infallible> {
    assert_eq!(request.uri().path(), "/v1/traces");
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let batch = ExportTraceServiceRequest::decode(body).unwrap();
    let scopes = batch.resource_spans.into_iter().flat_map(|spans| spans.scope_spans);
    kept.lock().unwrap().extend(scopes.flat_map(|scope| scope.spans));
    Ok(Response::new(Empty::new()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// How a client says where in its trace a request belongs.
#[derive(Clone, Copy, Debug)]
enum Said {
    InHeader,
    InMeta,
}

impl Said {
    fn with<'a>(self, draft: Draft<'a>, parent: &str) -> Draft<'a> {
        match self {
            Self::InHeader => draft.header("traceparent", parent),
            Self::InMeta => draft.meta("traceparent", json!(parent)),
        }
    }
}

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

/// A call that passes, and one that needs a yes, of clients of both eras at servers of both: our span stands under
/// the client's, and the server is told of ours.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spans_reach_the_collector_under_the_clients_and_the_server_is_told_of_ours() {
    let collector = Collector::start().await;
    let servers = [("new", MockHttp::start(MockEras::Modern)), ("old", MockHttp::start(MockEras::Legacy))];
    let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate"));
    let mut toml = format!("[telemetry]\notlp = {}\n", Value::from(collector.url.clone()));
    for (name, server) in &servers {
        toml.push_str(&stage.web(name, server));
    }
    let stage = stage.config(&toml);
    let mut gateway = stage.start();
    let mut number: u64 = 0;
    let mut sent = Vec::new();
    for (name, server) in &servers {
        let modern = gateway.server(name);
        let mut legacy = gateway.server(name);
        legacy.initialize().await;
        for (host, said) in [
            (&modern, Said::InHeader),
            (&modern, Said::InMeta),
            (&legacy, Said::InHeader),
            (&legacy, Said::InMeta),
        ] {
            let held = host.call("delete_note", json!({"id": "b"})).await;
            let gated = json!({"id": "b", "confirm_token": confirm_token(&held)});
            for (tool, arguments) in [("read_note", json!({"id": "a"})), ("delete_note", gated)] {
                number += 1;
                let parent = format!("{number:016x}");
                let before = server.requests().len();
                let draft = host.draft_call(tool, arguments);
                let draft = said.with(draft, &format!("00-{TRACE}-{parent}-01"));
                let answer = draft.send().await.answer().await;
                match tool {
                    "read_note" => assert_eq!(text(&answer), "the first note"),
                    _ => assert_eq!(structured(&answer)["deleted"], "b", "{answer:#}"),
                }

                let mut arrived = server.requests().into_iter().skip(before);
                let call = arrived.rfind(|one| one.rpc_method() == "tools/call").unwrap();
                let told = call.header("traceparent").unwrap_or_default().to_owned();
                sent.push((parent, told, format!("{name}, {said:?}, {tool}")));
            }
        }
    }
    // What is left is sent before the end.
    assert!(gateway.close().success(), "{}", gateway.stderr());
    for (parent, told, what) in sent {
        let span = collector.under(&parent).await;
        assert_eq!((hex(&span.trace_id).as_str(), span.name.as_str()), (TRACE, "request"), "{what}");
        assert_eq!(told, format!("00-{TRACE}-{}-01", hex(&span.span_id)), "{what}");
    }
    for (name, server) in &servers {
        assert_eq!(stage.check_web_history(name, server, &["read_note"]).gated, 4);
    }
}

/// Without a collector the client's own span is what the server is told of.
#[tokio::test]
async fn without_a_collector_the_server_is_told_of_the_clients_own_span() {
    for eras in [MockEras::Modern, MockEras::Legacy] {
        let server = MockHttp::start(eras);
        let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate"));
        let toml = stage.web("web", &server);
        let stage = stage.config(&toml);
        let gateway = stage.start();
        let mut legacy = gateway.server("web");
        legacy.initialize().await;
        for (host, said) in
            [(&gateway.server("web"), Said::InHeader), (&legacy, Said::InHeader), (&legacy, Said::InMeta)]
        {
            let parent = format!("00-{TRACE}-00f067aa0ba902b7-01");
            let draft = said.with(host.draft_call("read_note", json!({"id": "a"})), &parent);
            assert_eq!(text(&draft.send().await.answer().await), "the first note");
            let call = server.requests().into_iter().rfind(|one| one.rpc_method() == "tools/call").unwrap();
            assert_eq!(call.header("traceparent"), Some(parent.as_str()), "{eras:?}, {said:?}");
        }
    }
}
