//! Trace headers as clients send them, and as servers get them.

use std::sync::Arc;

use http::header::{HeaderMap, HeaderName, HeaderValue};
use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
use tracing::Span;

use super::state::TraceState;
use super::{Spans, TraceContext, TraceParent, Tracing, remote_parent};

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";

fn headers(all: &[(&'static str, &str)]) -> HeaderMap {
    let header = |(name, value): &(&'static str, &str)| {
        (HeaderName::from_static(name), HeaderValue::from_bytes(value.as_bytes()).unwrap())
    };
    all.iter().map(header).collect()
}

/// The client's headers, as a server gets them when we have no spans of our own.
fn passed_on(all: &[(&'static str, &str)]) -> Vec<(String, String)> {
    let tracing = Tracing::default();
    let client = tracing.begin(&Span::none(), &headers(all));
    let mut headers = HeaderMap::new();
    tracing.inject(client.as_ref(), &mut headers);
    headers.iter().map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned())).collect()
}

#[track_caller]
fn check_parent(sent: &str, expected: Option<&str>) {
    let got = passed_on(&[("traceparent", sent)]);
    let expected: Vec<_> =
        expected.into_iter().map(|value| ("traceparent".to_owned(), value.to_owned())).collect();
    assert_eq!(got, expected, "{sent:?}");
}

#[track_caller]
fn check_state(sent: &[&str], expected: Option<&str>) {
    let mut all = vec![("traceparent", PARENT)];
    all.extend(sent.iter().map(|list| ("tracestate", *list)));
    let got = passed_on(&all);
    let mut expected_headers = vec![("traceparent".to_owned(), PARENT.to_owned())];
    expected_headers.extend(expected.map(|value| ("tracestate".to_owned(), value.to_owned())));
    assert_eq!(got, expected_headers, "{sent:?}");
}

#[test]
fn a_valid_parent_is_passed_on_as_it_came() {
    check_parent(PARENT, Some(PARENT));
    let unsampled = PARENT.replace("-01", "-00");
    check_parent(&unsampled, Some(&unsampled));
    let random = PARENT.replace("-01", "-03");
    check_parent(&random, Some(&random));
}

/// Trace Context §4.3: what a later version adds is not ours to pass on.
#[test]
fn a_later_version_is_passed_on_as_far_as_we_know_it() {
    check_parent(&PARENT.replace("00-0af", "cc-0af"), Some(PARENT));
    check_parent(&(PARENT.replace("00-0af", "01-0af") + "-what-the-future-brings"), Some(PARENT));
    check_parent(&PARENT.replace("-01", "-fd"), Some(PARENT));
}

#[test]
fn a_malformed_parent_is_dropped() {
    let parts: Vec<&str> = PARENT.split('-').collect();
    let with = |place: usize, part: &str| {
        let mut parts = parts.clone();
        parts[place] = part;
        parts.join("-")
    };
    for sent in [
        "",
        "-",
        "00",
        "---",
        &with(0, "ff"),
        &with(0, "0"),
        &with(0, "000"),
        &with(0, "0G"),
        &with(1, "00000000000000000000000000000000"),
        &with(1, "0AF7651916CD43DD8448EB211C80319C"),
        &with(1, "0af7651916cd43dd8448eb211c80319"),
        &with(1, "0af7651916cd43dd8448eb211c80319c0"),
        &with(2, "0000000000000000"),
        &with(2, "00f067aa0ba902b"),
        &with(2, "00f067aa0ba902bz"),
        &with(3, "1"),
        &with(3, "+1"),
        &with(3, "001"),
        &with(3, "01-"),
        &with(3, "01-extra"),
        &with(3, "01 "),
        &with(3, "01,"),
        &(with(0, "01") + "extra"),
        "00-0af7651916cd43dd8448eb211c8031é-00f067aa0ba902b7-01",
    ] {
        check_parent(sent, None);
    }
}

#[test]
fn two_parents_are_none() {
    assert_eq!(passed_on(&[("traceparent", PARENT), ("traceparent", PARENT)]), []);
}

#[test]
fn a_valid_state_is_passed_on_as_it_came() {
    check_state(&["congo=t61rcWkgMzE"], Some("congo=t61rcWkgMzE"));
    check_state(&["rojo=00f067aa0ba902b7,congo=t61"], Some("rojo=00f067aa0ba902b7,congo=t61"));
    check_state(&["fw529a3039@dt=FfAAAA;a:b /x", "2=b"], Some("fw529a3039@dt=FfAAAA;a:b /x,2=b"));
    check_state(&[" a=1 ,\t, b= 2"], Some("a=1,b= 2"));
}

#[test]
fn a_malformed_state_is_dropped_and_the_parent_stays() {
    let long = format!("{}=1", "a".repeat(257));
    let many: Vec<String> = (0..33).map(|number| format!("k{number}=1")).collect();
    for sent in [
        "",
        ",",
        "a",
        "a=",
        "=1",
        "A=1",
        "_a=1",
        "a b=1",
        "a=1=2",
        "a=1,a=2",
        "a=1,b",
        "a=é",
        &long,
        &many.join(","),
    ] {
        check_state(&[sent], None);
    }
    check_state(&["a=1", "A=1"], None);
}

/// Trace Context §3.3.1.5
#[test]
fn a_long_state_loses_its_large_members_first_and_then_its_last() {
    let large = format!("large={}", "x".repeat(200));
    let small = |number: usize| format!("k{number:02}={}", "y".repeat(35));
    let members: Vec<String> = (0..20).map(small).collect();
    let sent = format!("first=1,{large},{}", members.join(","));
    let expected = format!("first=1,{}", members[..12].join(","));
    assert!(expected.len() <= 512 && expected.len() + 1 + members[12].len() > 512);
    check_state(&[&sent], Some(&expected));
    let fits = format!("{large},a=1");
    check_state(&[&fits], Some(&fits));
}

#[test]
fn a_state_without_a_parent_means_nothing() {
    assert_eq!(passed_on(&[("tracestate", "a=1")]), []);
    assert_eq!(passed_on(&[("traceparent", "00"), ("tracestate", "a=1")]), []);
}

#[test]
fn what_was_in_the_headers_to_the_server_before_is_replaced() {
    let mut to_server = headers(&[("traceparent", "junk"), ("tracestate", "junk"), ("x-team", "a")]);
    Tracing::default().inject(None, &mut to_server);
    assert_eq!(to_server, headers(&[("x-team", "a")]));
}

/// Spans that are always the same one.
#[derive(Debug)]
struct Fixed(Option<TraceContext>);

impl Spans for Fixed {
    fn put_under(&self, _: &Span, parent: &TraceContext) {
        assert_eq!(parent.parent.to_string(), PARENT);
    }

    fn current(&self) -> Option<TraceContext> {
        self.0.clone()
    }
}

#[test]
fn a_span_of_our_own_stands_between_the_clients_and_the_servers() {
    let own = TraceContext {
        parent: TraceParent::new([0xaa; 16], [0xbb; 8], 1).unwrap(),
        state: TraceState::parse("own=1"),
    };
    let from_client = headers(&[("traceparent", PARENT), ("tracestate", "a=1")]);
    let mut to_server = HeaderMap::new();
    let tracing = Tracing::with(Arc::new(Fixed(Some(own))));
    let client = tracing.begin(&Span::none(), &from_client);
    tracing.inject(client.as_ref(), &mut to_server);
    let expected = format!("00-{}-{}-01", "aa".repeat(16), "bb".repeat(8));
    assert_eq!(to_server, headers(&[("traceparent", &expected), ("tracestate", "own=1")]));

    // Outside of every span, the client's is still better than none.
    Tracing::with(Arc::new(Fixed(None))).inject(client.as_ref(), &mut to_server);
    assert_eq!(to_server, from_client);
}

proptest! {
    #[test]
    fn every_parent_is_read_as_it_was_written(trace: [u8; 16], span: [u8; 8], flags in 0_u8..4) {
        if let Some(parent) = TraceParent::new(trace, span, flags) {
            prop_assert_eq!(parent.to_string().parse(), Ok(parent));
        }
    }

    #[test]
    fn nothing_that_is_sent_breaks_the_reader(parent: String, state in "\\PC{0,40}|[a-c=, ]{0,40}") {
        if let Ok(parent) = parent.parse::<TraceParent>() {
            prop_assert!(TraceParent::new(parent.trace(), parent.span(), parent.flags()).is_some());
        }
        if let Some(state) = TraceState::parse(&state) {
            prop_assert_eq!(TraceState::parse(state.as_str()), Some(state));
        }
    }

    #[test]
    fn a_damaged_parent_is_never_taken_for_another_length(place in 0_usize..55, byte in any::<u8>()) {
        let mut text = PARENT.as_bytes().to_vec();
        text[place] = byte;
        let Ok(value) = HeaderValue::from_bytes(&text) else { return Ok(()) };
        let mut headers = HeaderMap::new();
        headers.insert("traceparent", value);
        if let Some(context) = remote_parent(&headers) {
            prop_assert_eq!(context.parent.to_string().len(), PARENT.len());
        }
    }
}
