//! What an operator's monitoring reads.

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::{any, prop_assert_eq, proptest};
use serde_json::json;
use yesgate_core::amount::Amount;
use yesgate_core::assurance::Assurance;
use yesgate_core::budget::{Exceeded, Over};
use yesgate_core::class::Class;
use yesgate_core::mode::Mode;
use yesgate_core::pace::Bound;
use yesgate_core::refusal::Why;
use yesgate_core::render::Sanitized;

use self::exposition::{Exposition, Kind};
use super::Metrics;
use super::labels::{Front, Judged, Label as _, MethodClass, Outcome, RefusalCode, Rejection};
use crate::methods::{Route, route};

mod exposition;

/// Some of everything.
fn busy() -> Metrics {
    let metrics = Metrics::new();
    metrics.requests(Front::Modern, MethodClass::Call, Outcome::Answered, Duration::from_millis(3));
    metrics.requests(Front::Modern, MethodClass::Call, Outcome::Answered, Duration::from_secs(3));
    metrics.requests(Front::Modern, MethodClass::Call, Outcome::Refused, Duration::from_secs(3600));
    metrics.requests(Front::Stdio, MethodClass::List, Outcome::Failed, Duration::ZERO);
    metrics.refusal(&Why::TokenExpired);
    metrics.unauthorized();
    metrics.rejected(Rejection::Origin);
    let files = metrics.server(&"files".parse().unwrap());
    files.call(Judged::Forwarded);
    files.call(Judged::Asked);
    files.took(Duration::from_millis(40));
    files.is_up();
    metrics.server(&"git.hub".parse().unwrap()).call(Judged::Refused);
    metrics
}

#[test]
fn what_is_rendered_is_well_formed_and_has_the_numbers() {
    let metrics = busy();
    let _stream = metrics.stream();
    let text = metrics.render();
    let page = Exposition::parse(&text);

    let call = [("front", "modern"), ("method", "call")];
    let ended = |outcome| page.value("yesgate_requests_total", &[call[0], call[1], ("outcome", outcome)]);
    assert_eq!((ended("answered"), ended("refused"), ended("cancelled")), (2.0, 1.0, 0.0));
    assert_eq!(page.value("yesgate_request_seconds_count", &call), 3.0);
    assert_eq!(page.value("yesgate_request_seconds_sum", &call), 3603.003);
    let bucket = |le| page.value("yesgate_request_seconds_bucket", &[("le", le), call[0], call[1]]);
    assert_eq!((bucket("0.0025"), bucket("0.005"), bucket("600.0"), bucket("+Inf")), (0.0, 1.0, 2.0, 3.0));

    assert_eq!(page.value("yesgate_refusals_total", &[("code", "consent_token_expired")]), 1.0);
    assert_eq!(page.value("yesgate_unauthorized_total", &[]), 1.0);
    assert_eq!(page.value("yesgate_http_rejected_total", &[("reason", "origin")]), 1.0);
    assert_eq!(page.value("yesgate_calls_total", &[("server", "files"), ("verdict", "asked")]), 1.0);
    assert_eq!(page.value("yesgate_upstream_seconds_count", &[("server", "files")]), 1.0);
    assert_eq!(page.value("yesgate_server_up", &[("server", "files")]), 1.0);
    assert_eq!(page.value("yesgate_server_up", &[("server", "git.hub")]), 0.0);
    assert_eq!(page.value("yesgate_streams", &[]), 1.0);
    assert_eq!(page.value("yesgate_sessions", &[]), 0.0);
    assert_eq!(page.kind("yesgate_request_seconds"), Kind::Histogram);
}

#[test]
fn what_is_there_to_read_is_documented() {
    let text = busy().render();
    let documentation: String = text
        .lines()
        .filter(|line| line.starts_with("# "))
        .fold(String::new(), |documentation, line| documentation + line + "\n");
    insta::assert_snapshot!(documentation, @r"
    # HELP yesgate_requests Messages of clients, by how they ended.
    # TYPE yesgate_requests counter
    # HELP yesgate_request_seconds How long messages of clients took, from their arrival to the end of the answer.
    # TYPE yesgate_request_seconds histogram
    # UNIT yesgate_request_seconds seconds
    # HELP yesgate_calls Calls of tools, by what the gate said.
    # TYPE yesgate_calls counter
    # HELP yesgate_upstream_seconds How long servers took to answer.
    # TYPE yesgate_upstream_seconds histogram
    # UNIT yesgate_upstream_seconds seconds
    # HELP yesgate_server_up Whether a server can be used: 1, or 0 if it cannot.
    # TYPE yesgate_server_up gauge
    # HELP yesgate_refusals Calls that did not run, by the code that the agent got.
    # TYPE yesgate_refusals counter
    # HELP yesgate_unauthorized Requests whose caller could not be told.
    # TYPE yesgate_unauthorized counter
    # HELP yesgate_http_rejected HTTP requests that were turned away before their message was read, by reason.
    # TYPE yesgate_http_rejected counter
    # HELP yesgate_mail Mail to people, by what became of an attempt, or of a letter that was given up.
    # TYPE yesgate_mail counter
    # HELP yesgate_checkpoints Checkpoints of the audit trail, by what became of an attempt to write one.
    # TYPE yesgate_checkpoints counter
    # HELP yesgate_sessions Sessions that are open.
    # TYPE yesgate_sessions gauge
    # HELP yesgate_streams Event streams to clients that are open.
    # TYPE yesgate_streams gauge
    # HELP yesgate_connections Connections of clients that are open.
    # TYPE yesgate_connections gauge
    # HELP yesgate_children Server processes that run.
    # TYPE yesgate_children gauge
    # HELP yesgate_parked Requests that wait for more from their client.
    # TYPE yesgate_parked gauge
    # EOF
    ");
}

/// A dashboard shows a zero where nothing happened yet, not a gap.
#[test]
fn every_count_is_there_from_the_start() {
    let text = Metrics::new().render();
    let page = Exposition::parse(&text);
    assert_eq!(
        page.series_of("yesgate_requests_total"),
        Front::ALL.len() * MethodClass::ALL.len() * Outcome::ALL.len()
    );
    assert_eq!(page.series_of("yesgate_refusals_total"), RefusalCode::ALL.len());
    assert_eq!(page.series_of("yesgate_http_rejected_total"), Rejection::ALL.len());
    assert_eq!(page.series_of("yesgate_request_seconds_bucket"), 0);
}

/// A24: whatever clients send, only words of ours and names of the operator's are told.
#[test]
fn a_client_cannot_add_a_series() {
    let metrics = busy();
    let text = metrics.render();
    for number in 0..1000 {
        let method = MethodClass::of(&format!("tools/call{number}"));
        metrics.request(Front::Modern, method).end(Outcome::Invalid);
        metrics.refusal(&Why::PolicyDenied { reason: format!("canary{number}") });
        metrics.rejected(Rejection::Host);
    }
    let later = metrics.render();
    // The one histogram that had nothing to tell before.
    let appeared = later.lines().count() - text.lines().count();
    assert_eq!(appeared, Exposition::parse(&later).series_with("yesgate_request_seconds", "unknown"));
    assert!(!later.contains("canary"));
}

#[test]
fn a_name_with_hostile_characters_stays_one_label() {
    let hostile = "a\"} 1\nyesgate_sessions 999\n# EOF\n\\\" {x=\"";
    let metrics = busy();
    metrics.server_named(hostile).call(Judged::Asked);
    let text = metrics.render();
    let page = Exposition::parse(&text);
    assert_eq!(page.value("yesgate_calls_total", &[("server", hostile), ("verdict", "asked")]), 1.0);
    assert_eq!(page.value("yesgate_sessions", &[]), 0.0);
}

#[test]
fn a_request_that_is_dropped_counts_as_cancelled() {
    let metrics = Metrics::new();
    drop(metrics.request(Front::Legacy, MethodClass::Read));
    metrics.request(Front::Legacy, MethodClass::Read).end(Outcome::Answered);
    let text = metrics.render();
    let page = Exposition::parse(&text);
    let ended = |outcome| {
        page.value("yesgate_requests_total", &[("front", "legacy"), ("method", "read"), ("outcome", outcome)])
    };
    assert_eq!((ended("cancelled"), ended("answered")), (1.0, 1.0));
}

#[test]
fn a_name_has_the_same_numbers_wherever_it_is_asked_for() {
    let metrics = Metrics::new();
    let name = "files".parse().unwrap();
    metrics.server(&name).call(Judged::Asked);
    metrics.clone().server(&name).call(Judged::Asked);
    let text = metrics.render();
    let labels = [("server", "files"), ("verdict", "asked")];
    assert_eq!(Exposition::parse(&text).value("yesgate_calls_total", &labels), 2.0);
}

/// The codes of refusals are a contract with agents; the numbers use the same words.
#[test]
fn a_refusal_is_counted_under_the_code_that_the_agent_gets() {
    let tool = || "rm".parse().unwrap();
    let need = Assurance::Local;
    let all = [
        Why::TokenInvalid,
        Why::NoSuchIntent,
        Why::TokenExpired,
        Why::TokenMismatch { field: "params" },
        Why::DryRunPreview { tool: tool(), preview: json!({}) },
        Why::ModeForbids {
            tool: tool(),
            class: Class::Dangerous,
            mode: Mode::Ask,
            summary: Sanitized::fixed("rm"),
        },
        Why::ModeRaise { mode: Mode::Ask, wished: Mode::Execute },
        Why::PolicyDenied { reason: String::new() },
        Why::Denied { reason: None },
        Why::Expired,
        Why::Superseded,
        Why::Cancelled,
        Why::AlreadyDecided { state: "approved" },
        Why::ExecutionInProgress,
        Why::ExecutionUnknown,
        Why::AssuranceTooLow { have: Assurance::Relayed, need },
        Why::NoApproverReachable { need },
        Why::ToolChanged,
        Why::PolicyChanged,
        Why::FailedOver,
        Why::ContentChanged,
        Why::TooLargeToReview { bytes: 1 },
        Why::NothingTyped,
        Why::WrongText { left: 1 },
        Why::ClientFrozen { reason: "…".into() },
        Why::Stopped { reason: "…".into() },
        Why::BudgetExceeded(Box::new(Exceeded {
            budget: "daily".parse().unwrap(),
            amount: Amount::ZERO,
            most: Amount::ZERO,
            left: Amount::ZERO,
            currency: None,
            frees_at: None,
            over: Over::Reject,
        })),
        Why::NotRemembered { reason: "…" },
        Why::NotEditable,
        Why::Responded { text: String::new() },
        Why::QuorumPending { have: 1, need: 2 },
        Why::RateLimited { bound: Bound::Open, until: None },
        Why::ConsentUnavailable { reason: "…" },
    ];
    for why in &all {
        assert_eq!(RefusalCode::from(why).as_str(), why.code());
    }
    for code in RefusalCode::ALL {
        assert!(all.iter().any(|why| why.code() == code.as_str()), "nothing is refused with {code:?}");
    }
}

proptest! {
    #[test]
    fn a_known_method_has_a_kind_and_an_unknown_one_has_none(
        area in "(tools|prompts|resources|tasks|server|logging|completion|subscriptions|sampling)",
        verb in "(call|list|get|read|result|update|cancel|discover|setLevel|complete|listen|subscribe|x)",
    ) {
        let method = format!("{area}/{verb}");
        prop_assert_eq!(
            MethodClass::of(&method) == MethodClass::Unknown,
            route(&method) == Route::Unknown,
            "{}", method
        );
    }

    /// Whatever comes and goes in whatever order, a number of things that are there ends at zero.
    #[test]
    fn what_was_held_is_given_back(moves in vec((0_usize..5, any::<bool>(), any::<u8>()), 0..200)) {
        let metrics = Metrics::new();
        let take = [Metrics::session, Metrics::stream, Metrics::connection, Metrics::child, Metrics::parked];
        let names = ["sessions", "streams", "connections", "children", "parked"];
        let mut held: [Vec<_>; 5] = Default::default();
        for (which, comes, place) in moves {
            let held = &mut held[which];
            if comes || held.is_empty() {
                held.push(take[which](&metrics));
            } else {
                drop(held.swap_remove(usize::from(place) % held.len()));
            }
        }
        let text = metrics.render();
        let page = Exposition::parse(&text);
        for (held, name) in held.iter().zip(names) {
            let value = page.value(&format!("yesgate_{name}"), &[]);
            prop_assert_eq!(value as usize, held.len());
        }
        drop(held);
        let text = metrics.render();
        let page = Exposition::parse(&text);
        let left: f64 = names.iter().map(|name| page.value(&format!("yesgate_{name}"), &[])).sum();
        prop_assert_eq!(left, 0.0);
    }

    #[test]
    fn a_histogram_counts_each_observation_once(times in vec(0_u64..2_000_000_000_000, 1..50)) {
        let metrics = Metrics::new();
        let server = metrics.server(&"files".parse().unwrap());
        for time in &times {
            server.took(Duration::from_nanos(*time));
        }
        let text = metrics.render();
        let page = Exposition::parse(&text);
        let labels = [("server", "files")];
        prop_assert_eq!(page.value("yesgate_upstream_seconds_count", &labels) as usize, times.len());
        for bound in ["0.001", "1.0", "60.0", "600.0"] {
            let bound_seconds: f64 = bound.parse().unwrap();
            let within = times.iter().filter(|time| Duration::from_nanos(**time).as_secs_f64() <= bound_seconds);
            let labels = [("le", bound), ("server", "files")];
            let counted = page.value("yesgate_upstream_seconds_bucket", &labels);
            prop_assert_eq!(counted as usize, within.count());
        }
    }
}
