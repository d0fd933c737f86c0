//! The numbers as OpenMetrics text, in the same order each time.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};

use super::labels::{Front, Judged, Label, MethodClass, Outcome};
use super::numbers::{Gauge, Histogram};
use super::{Metrics, Numbers};

/// All numbers as text.
pub(super) fn render(metrics: &Metrics) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Scrape(metrics.clone())));
    let mut text = String::with_capacity(TYPICAL_LENGTH);
    match encode(&mut text, &registry) {
        Ok(()) => text,
        // Nothing fails to be written to a string; half a text would be read as numbers that went away.
        Err(fmt::Error) => "# EOF\n".to_owned(),
    }
}

const TYPICAL_LENGTH: usize = 32 * 1024;

/// One look at all numbers.
#[derive(Debug)]
struct Scrape(Metrics);

impl Collector for Scrape {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let numbers = &*self.0.0;
        let mut page = Page(encoder);
        page.requests(numbers)?;
        page.servers(&self.0)?;
        page.counters(
            "yesgate_refusals",
            "Calls that did not run, by the code that the agent got.",
            numbers.refusals.iter().map(|(code, count)| ([label(code)], count.value())),
        )?;
        page.counters(
            "yesgate_unauthorized",
            "Requests whose caller could not be told.",
            [([], numbers.unauthorized.value())],
        )?;
        page.counters(
            "yesgate_http_rejected",
            "HTTP requests that were turned away before their message was read, by reason.",
            numbers.rejected.iter().map(|(reason, count)| ([label(reason)], count.value())),
        )?;
        page.counters(
            "yesgate_mail",
            "Mail to people, by what became of an attempt, or of a letter that was given up.",
            numbers.mail.iter().map(|(became, count)| ([label(became)], count.value())),
        )?;
        page.counters(
            "yesgate_checkpoints",
            "Checkpoints of the audit trail, by what became of an attempt to write one.",
            numbers.checkpoints.iter().map(|(became, count)| ([label(became)], count.value())),
        )?;
        page.gauge("yesgate_sessions", "Sessions that are open.", &numbers.sessions)?;
        page.gauge("yesgate_streams", "Event streams to clients that are open.", &numbers.streams)?;
        page.gauge("yesgate_connections", "Connections of clients that are open.", &numbers.connections)?;
        page.gauge("yesgate_children", "Server processes that run.", &numbers.children)?;
        page.gauge("yesgate_parked", "Requests that wait for more from their client.", &numbers.parked)
    }
}

struct Page<'a>(DescriptorEncoder<'a>);

impl Page<'_> {
    fn requests(&mut self, numbers: &Numbers) -> fmt::Result {
        let all = || {
            numbers.requests.iter().flat_map(|(front, methods)| {
                methods.iter().map(move |(method, requests)| (front, method, requests))
            })
        };
        let counted = all().flat_map(|(front, method, requests): (Front, MethodClass, _)| {
            requests.ended.iter().map(move |(outcome, count): (Outcome, _)| {
                ([label(front), label(method), label(outcome)], count.value())
            })
        });
        self.counters("yesgate_requests", "Messages of clients, by how they ended.", counted)?;
        self.histograms(
            "yesgate_request",
            "How long messages of clients took, from their arrival to the end of the answer.",
            all().map(|(front, method, requests)| ([label(front), label(method)], &requests.took)),
        )
    }

    fn servers(&mut self, metrics: &Metrics) -> fmt::Result {
        let servers = metrics.servers();
        let calls = servers.iter().flat_map(|(name, server)| {
            let counted = server.0.calls.iter();
            counted.map(move |(verdict, count): (Judged, _)| {
                ([server_label(name), label(verdict)], count.value())
            })
        });
        self.counters("yesgate_calls", "Calls of tools, by what the gate said.", calls)?;
        self.histograms(
            "yesgate_upstream",
            "How long servers took to answer.",
            servers.iter().map(|(name, server)| ([server_label(name)], &server.0.took)),
        )?;
        self.gauges(
            "yesgate_server_up",
            "Whether a server can be used: 1, or 0 if it cannot.",
            servers.iter().map(|(name, server)| ([server_label(name)], &server.0.up)),
        )
    }

    /// The text has `_total` at the end of their names.
    fn counters<'l, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        series: impl IntoIterator<Item = ([(&'l str, &'l str); N], u64)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (labels, value) in series {
            if labels.is_empty() {
                family.encode_counter::<NoLabelSet, _, u64>(&value, None)?;
            } else {
                family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(&value, None)?;
            }
        }
        Ok(())
    }

    fn gauge(&mut self, name: &str, help: &str, gauge: &Gauge) -> fmt::Result {
        self.0.encode_descriptor(name, help, None, MetricType::Gauge)?.encode_gauge(&gauge.value())
    }

    fn gauges<'l, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        series: impl IntoIterator<Item = ([(&'l str, &'l str); N], &'l Gauge)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (labels, gauge) in series {
            family.encode_family(&labels)?.encode_gauge(&gauge.value())?;
        }
        Ok(())
    }

    /// The text has `_seconds` at the end of their names. One that observed nothing is left out: it would be
    /// twenty lines of zeros.
    fn histograms<'l, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        series: impl IntoIterator<Item = ([(&'l str, &'l str); N], &'l Histogram)>,
    ) -> fmt::Result {
        let seconds = Unit::Seconds;
        let mut family = self.0.encode_descriptor(name, help, Some(&seconds), MetricType::Histogram)?;
        for (labels, histogram) in series {
            let Some(reading) = histogram.read() else { continue };
            family.encode_family(&labels)?.encode_histogram::<NoLabelSet>(
                reading.seconds,
                reading.count,
                &reading.steps,
                None,
            )?;
        }
        Ok(())
    }
}

fn label<L: Label>(label: L) -> (&'static str, &'static str) {
    (L::KEY, label.as_str())
}

fn server_label(name: &str) -> (&'static str, &str) {
    ("server", name)
}
