//! Which era a server speaks, by what it answers to a hello, and when.

use std::future::ready;

use super::*;

fn refusal(error: &serde_json::Value) -> Answer {
    Answer { kind: ResultKind::Error, json: error.to_string().into() }
}

/// SEP-2575: who refuses a revision says which ones it takes.
#[test]
fn a_server_that_refuses_the_revision_it_names_is_no_server_of_the_old_era() {
    let check = |error: serde_json::Value, expected: bool| {
        assert_eq!(refuses_what_it_speaks(&refusal(&error)), expected, "{error}");
    };
    let of = |code: i64, supported: &[&str]| json!({"code": code, "message": "no", "data": {"supported": supported}});
    check(of(-32022, &[MODERN_VERSION]), true);
    check(of(-32022, &["2027-01-01", MODERN_VERSION]), true);
    check(of(-32022, &["2027-01-01"]), false);
    check(of(-32022, &[]), false);
    check(of(-32601, &[MODERN_VERSION]), false);
    check(json!({"code": -32022, "message": "no"}), false);
    let result = Answer { kind: ResultKind::Result, json: of(-32022, &[MODERN_VERSION]).to_string().into() };
    assert!(!refuses_what_it_speaks(&result));
}

fn hello() -> Result<Hello, NoHello> {
    Ok(Hello { result: raw("{}".into()) })
}

fn refused() -> Result<Hello, NoHello> {
    Err(NoHello::Refused("no".into()))
}

/// The answers come one after the other; the era of the hello that counts, if any does.
async fn check(
    probe: Option<Result<Hello, NoHello>>,
    initialize: Result<Hello, NoHello>,
    expected: Option<Era>,
) {
    let probe = probe.map(|said| {
        Box::pin(async move {
            tokio::task::yield_now().await;
            said
        })
    });
    let said = first_hello(probe, ready(initialize)).await;
    assert_eq!(said.ok().map(|(era, _)| era), expected);
}

/// A server of the Python SDK that starts slowly answers the probe, and `initialize` with an error.
#[tokio::test]
async fn a_late_answer_to_the_probe_counts_though_initialize_was_refused() {
    check(Some(hello()), refused(), Some(Era::Modern)).await;
}

/// A server of the old era that never answers what it does not know.
#[tokio::test]
async fn an_answer_to_initialize_counts_while_the_probe_is_open() {
    let never = Box::pin(std::future::pending());
    let said = first_hello(Some(never), ready(hello())).await;
    assert_eq!(said.ok().map(|(era, _)| era), Some(Era::Legacy));
}

/// Neither question is forgotten because the other was answered with an error.
#[tokio::test]
async fn a_refused_probe_leaves_initialize_to_count() {
    let probe = Some(Box::pin(ready(refused())));
    let initialize = async {
        tokio::task::yield_now().await;
        hello()
    };
    let said = first_hello(probe, initialize).await;
    assert_eq!(said.ok().map(|(era, _)| era), Some(Era::Legacy));
    check(Some(refused()), refused(), None).await;
    check(None, hello(), Some(Era::Legacy)).await;
}
