//! Spans as a collector gets them, and the log as a person or a program reads it.

use std::io;
use std::net::TcpListener;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::{Level, info_span};
use yesgate_gateway::trace::Tracing;

use self::collector::{Collector, Manner};
use super::export::Export;
use super::{Format, Log, dispatch};

mod collector;

/// A log that is kept.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Kept {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl io::Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn log(format: Format) -> Log {
    let format = match format {
        Format::Text => "text",
        Format::Json => "json",
    };
    Log::read(None, Some(format), Level::INFO).0
}

/// Does something while spans are exported to `url`, and ends the export.
fn exporting(url: &str, patience: Duration, does: impl FnOnce(&Tracing)) {
    let export = Export::start(url, patience).unwrap();
    let dispatch = dispatch(log(Format::Text), io::sink, Some(&export));
    tracing::dispatcher::with_default(&dispatch, || does(&export.tracing()));
    drop(export);
}

const LONG: Duration = Duration::from_secs(20);

#[test]
fn spans_arrive_under_the_clients_and_a_servers_go_under_ours() {
    let collector = Collector::start(Manner::Takes);
    let parent = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-00";
    let mut to_server = http_headers(&[]);
    exporting(&collector.url, LONG, |tracing| {
        let request = info_span!("request", mcp.method = "tools/call");
        let from_client = http_headers(&[("traceparent", parent), ("tracestate", "congo=t61")]);
        let client = tracing.begin(&request, &from_client);
        let _request = request.enter();
        let _upstream = info_span!("upstream").entered();
        tracing.inject(client.as_ref(), &mut to_server);
    });

    let got = collector.next();
    assert_eq!(got.path, "/v1/traces");
    assert_eq!(got.resource("service.name"), "yesgate");
    assert_eq!(got.resource("service.version"), env!("CARGO_PKG_VERSION"));
    let (request, upstream) = (got.span("request"), got.span("upstream"));
    assert_eq!(hex(&request.trace_id), "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(hex(&request.parent_span_id), "00f067aa0ba902b7");
    assert_eq!(request.trace_state, "congo=t61");
    assert_eq!(upstream.trace_id, request.trace_id);
    assert_eq!(upstream.parent_span_id, request.span_id);
    // What a client does is recorded whether it wants that or not.
    let expected = format!("00-{}-{}-01", hex(&upstream.trace_id), hex(&upstream.span_id));
    assert_eq!(to_server.get("traceparent").unwrap(), expected.as_str());
    assert_eq!(to_server.get("tracestate").unwrap(), "congo=t61");
}

#[test]
fn a_span_of_a_library_or_of_little_interest_is_not_exported() {
    let collector = Collector::start(Manner::Takes);
    exporting(&collector.url, LONG, |_| {
        drop(info_span!(target: "hyper::client", "pool").entered());
        drop(tracing::debug_span!("detail").entered());
        drop(info_span!("request").entered());
    });
    assert_eq!(collector.next().names(), ["request"]);
}

#[test]
fn a_collector_that_was_busy_for_a_moment_gets_the_spans_after_all() {
    let collector = Collector::start(Manner::IsBusyOnce);
    exporting(&collector.url, LONG, |_| drop(info_span!("request").entered()));
    assert_eq!(collector.next().names(), ["request"]);
    assert_eq!(collector.next().names(), ["request"]);
}

#[test]
fn a_collector_that_keeps_silent_does_not_hold_up_the_end() {
    let collector = Collector::start(Manner::KeepsSilent);
    let begun = Instant::now();
    exporting(&collector.url, Duration::from_millis(200), |_| drop(info_span!("request").entered()));
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!(collector.next().names(), ["request"]);
}

/// It is the one test that logs for the whole process, because the export has a thread of its own.
#[test]
fn a_collector_that_is_down_slows_nothing_and_is_mentioned_once() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let export = Export::start(&format!("http://{nobody}"), Duration::from_secs(5)).unwrap();
    let kept = Kept::default();
    let writer = kept.clone();
    let dispatch = dispatch(log(Format::Text), move || writer.clone(), Some(&export));
    tracing::dispatcher::set_global_default(dispatch).unwrap();
    let begun = Instant::now();
    for _ in 0..20_000 {
        drop(info_span!("request").entered());
    }
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    drop(export);
    let text = kept.text();
    let mentioned = "the collector does not take spans: nothing was sent: the server refused the connection";
    assert_eq!(text.matches(mentioned).count(), 1, "{text}");
}

#[test]
fn an_end_within_a_runtime_does_not_wait_for_itself() {
    let collector = Collector::start(Manner::Takes);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        exporting(&collector.url, LONG, |_| drop(info_span!("request").entered()));
    });
    assert_eq!(collector.next().names(), ["request"]);
}

#[test]
fn the_address_of_a_collector_may_be_written_with_or_without_its_last_part() {
    let collector = Collector::start(Manner::Takes);
    for (written, expected) in
        [("", "/v1/traces"), ("/", "/v1/traces"), ("/v1/traces", "/v1/traces"), ("/otlp/", "/otlp/v1/traces")]
    {
        let url = format!("{}{written}", collector.url);
        exporting(&url, LONG, |_| drop(info_span!("request").entered()));
        assert_eq!(collector.next().path, expected, "{written}");
    }
}

#[test]
fn without_a_collector_the_clients_trace_goes_on_as_it_came() {
    let parent = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
    let dispatch = dispatch(log(Format::Text), io::sink, None);
    let mut to_server = http_headers(&[]);
    tracing::dispatcher::with_default(&dispatch, || {
        let tracing = Tracing::default();
        let request = info_span!("request");
        let client = tracing.begin(&request, &http_headers(&[("traceparent", parent)]));
        let _request = request.entered();
        tracing.inject(client.as_ref(), &mut to_server);
    });
    assert_eq!(to_server, http_headers(&[("traceparent", parent)]));
}

#[test]
fn a_program_reads_one_object_a_line() {
    let kept = Kept::default();
    let writer = kept.clone();
    let dispatch = dispatch(log(Format::Json), move || writer.clone(), None);
    tracing::dispatcher::with_default(&dispatch, || {
        tracing::info!(intent.id = "intent_1", "a question\nwas asked");
        tracing::debug!("not of interest");
    });
    let text = kept.text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 1, "{text}");
    let line: serde_json::Value = serde_json::from_str(lines[0]).unwrap();
    assert_eq!(line["message"], "a question\nwas asked");
    assert_eq!(line["intent.id"], "intent_1");
    assert_eq!(line["level"], "INFO");
}

#[test]
fn a_variable_that_cannot_be_understood_is_complained_about_and_ignored() {
    #[track_caller]
    fn check(filter: Option<&str>, format: Option<&str>, expected: (&str, Format, usize)) {
        let (log, complaints) = Log::read(filter, format, Level::WARN);
        assert_eq!((log.filter.to_string().as_str(), log.format, complaints.len()), expected);
    }
    check(None, None, ("warn", Format::Text, 0));
    check(Some("debug"), Some("text"), ("debug", Format::Text, 0));
    check(Some("warn,yesgate=debug"), Some("json"), ("yesgate=debug,warn", Format::Json, 0));
    check(Some("a=b=c"), Some("yaml"), ("warn", Format::Text, 2));
}

fn http_headers(all: &[(&'static str, &str)]) -> hyper::HeaderMap {
    let header = |(name, value): &(&'static str, &str)| {
        (hyper::header::HeaderName::from_static(name), value.parse().unwrap())
    };
    all.iter().map(header).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
