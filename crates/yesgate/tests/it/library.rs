//! The library face: an application gates its own operation.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use serde_json::json;
use yesgate::{Answer, Assurance, Consent, ConsentError, Operation, Pace, console};
use yesgate_core::intent::{Approver, State, Surface};
use yesgate_ledger::Filter;

use crate::terminal::Terminal;

fn upgrade(to: &str) -> Operation {
    Operation::new("acme", "ada", "assistant", "upgrade_plan")
        .params(&json!({ "to": to }))
        .unwrap()
        .summary("Upgrade acme from Pro to Scale")
}

fn code(error: &ConsentError) -> &'static str {
    let ConsentError::Refused(refusal) = error else { panic!("{error:?}") };
    refusal.why.code()
}

/// H10: any custom operation is gated through the same engine, with the same token rules.
#[tokio::test]
async fn an_operation_runs_once_and_only_with_its_own_token() {
    let consent = Consent::in_memory("billing").await.unwrap();
    let minted = consent.mint(upgrade("scale")).await.unwrap();
    assert!(minted.token().starts_with("pbc_"));
    assert_eq!(minted.payload()["summary"], "Upgrade acme from Pro to Scale");
    assert_eq!(minted.payload()["ttl_seconds"], 60);

    let other = consent.consume(minted.token(), &upgrade("enterprise")).await.unwrap_err();
    assert_eq!(code(&other), "consent_token_mismatch");
    let permit = consent.consume(minted.token(), &upgrade("scale")).await.unwrap();
    assert_eq!(permit.params(), json!({"to": "scale"}));
    permit.done(&json!({"ok": true})).await.unwrap();
    let replayed = consent.consume(minted.token(), &upgrade("scale")).await.unwrap_err();
    assert_eq!(code(&replayed), "consent_token_invalid");
    assert_eq!(
        code(&consent.consume("pbc_guess", &upgrade("scale")).await.unwrap_err()),
        "consent_token_invalid"
    );
}

/// H5, H10: other parameters supersede, the same ones get a fresh token.
#[tokio::test]
async fn minting_again_kills_the_earlier_token() {
    let consent = Consent::in_memory("billing").await.unwrap();
    let first = consent.mint(upgrade("scale")).await.unwrap();
    let again = consent.mint(upgrade("scale")).await.unwrap();
    assert_eq!(first.intent(), again.intent());
    assert_eq!(
        code(&consent.consume(first.token(), &upgrade("scale")).await.unwrap_err()),
        "consent_token_invalid"
    );
    let other = consent.mint(upgrade("pro")).await.unwrap();
    assert_ne!(other.intent(), again.intent());
    assert_eq!(code(&consent.consume(again.token(), &upgrade("scale")).await.unwrap_err()), "superseded");
}

/// X3, H10: an application that says nothing leaves `unknown`, and the yes stays spent.
#[tokio::test]
async fn a_permit_that_is_dropped_is_an_unknown_outcome() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let consent = Consent::open("billing", &path).await.unwrap();
    let minted = consent.mint(upgrade("scale")).await.unwrap();
    let mut changes = consent.ledger().changes();
    drop(consent.consume(minted.token(), &upgrade("scale")).await.unwrap());
    while consent.ledger().intents(Filter::Unknown).await.unwrap().is_empty() {
        changes.changed().await;
    }
    let refused = consent.mint(upgrade("scale")).await.unwrap_err();
    assert_eq!(code(&refused), "execution_unknown");
}

fn yes(assurance: Assurance) -> Answer {
    Answer::Yes { by: "ada, in a dialog".into(), assurance }
}

/// I5, H10: a callback asks the human; what it claims of them counts for at most `local`, and the yes runs one
/// operation once.
#[tokio::test]
async fn a_callback_is_believed_up_to_local_and_its_yes_is_spent_at_once() {
    let consent = Consent::in_memory("billing").await.unwrap();
    for (claimed, recorded) in
        [(Assurance::Verified, Assurance::Local), (Assurance::Client, Assurance::Client)]
    {
        let scale = upgrade("scale");
        let permit = consent.ask_with(&scale, async |question| {
            assert_eq!(question.params(), json!({"to": "scale"}));
            assert!(question.lines().iter().any(|line| line.contains("\"scale\"")), "{:?}", question.lines());
            yes(claimed)
        });
        permit.await.unwrap().done(&json!({"ok": true})).await.unwrap();
        let last = consent.ledger().intents(Filter::Recent(1)).await.unwrap().remove(0);
        assert_eq!(last.decision().unwrap().assurance, recorded);
        assert_eq!(last.state().as_str(), "done");
    }
    let strict = upgrade("scale").assurance(Assurance::Local);
    let weak = consent.ask_with(&strict, async |_| yes(Assurance::Relayed)).await.unwrap_err();
    assert_eq!(code(&weak), "assurance_too_low");
    let unreachable = consent.mint(upgrade("scale").assurance(Assurance::SignedIn)).await.unwrap_err();
    assert_eq!(code(&unreachable), "no_approver_reachable");
}

/// I5: a no is a no, also for a while; no answer is none.
#[tokio::test]
async fn a_callback_that_says_no_or_nothing_runs_nothing() {
    let consent = Consent::in_memory("billing").await.unwrap();
    let silent = consent.ask_with(&upgrade("scale"), async |_| Answer::Nothing).await.unwrap_err();
    assert_eq!(code(&silent), "cancelled");
    let no = async |_| Answer::No { by: "ada".into(), reason: Some("too dear".into()) };
    let denied = consent.ask_with(&upgrade("scale"), no).await.unwrap_err();
    assert_eq!(code(&denied), "denied");
    assert!(denied.to_string().contains("too dear"), "{denied}");
    assert_eq!(code(&consent.mint(upgrade("scale")).await.unwrap_err()), "denied");
}

/// I5: the first answer counts, wherever it is given; a callback that nobody answers does not outlive the question.
#[tokio::test]
async fn an_answer_elsewhere_ends_the_wait_for_a_callback() {
    let consent = Consent::in_memory("billing").await.unwrap();
    let elsewhere = async |question: yesgate::Asking| {
        let by = Approver {
            name: "eve".into(),
            identity: None,
            groups: BTreeSet::new(),
            surface: Surface::Human,
            assurance: Assurance::Local,
            typed: None,
            proof: None,
        };
        let id = question.intent().clone();
        let approved = consent.ledger().update(&id, move |intent, now| {
            let seen = intent.digest();
            intent.approve(&by, seen, now)
        });
        approved.await.unwrap().unwrap().unwrap();
        std::future::pending().await
    };
    let permit = consent.ask_with(&upgrade("scale"), elsewhere).await.unwrap();
    permit.failed(&json!("no")).await.unwrap();

    let short = upgrade("pro").lifetime(jiff::SignedDuration::from_millis(20));
    let late = consent.ask_with(&short, async |_| std::future::pending().await).await.unwrap_err();
    assert_eq!(code(&late), "expired");
    let last = consent.ledger().intents(Filter::Recent(1)).await.unwrap().remove(0);
    assert_eq!(last.state(), State::Expired);
}

/// I5, FC-24: the console asks a terminal and nothing else: what is piped in was not typed by anybody.
#[tokio::test]
async fn the_console_takes_no_answer_from_a_pipe() {
    let consent = Consent::in_memory("billing").await.unwrap();
    let refused = consent.ask_with(&upgrade("scale"), console).await.unwrap_err();
    assert_eq!(code(&refused), "cancelled");
}

/// What the next test runs at a terminal: it prints nothing but the answer.
#[tokio::test]
#[ignore = "a part of another test, which runs it at a terminal"]
async fn asks_at_the_console() {
    let consent = Consent::in_memory("billing").await.unwrap();
    let said = match consent.ask_with(&upgrade("scale"), console).await {
        Ok(permit) => permit.done(&json!({})).await.map(|()| "permitted").unwrap(),
        Err(error) => code(&error),
    };
    let last = consent.ledger().intents(Filter::Recent(1)).await.unwrap().remove(0);
    let assurance = last.decision().map_or("none", |decision| decision.assurance.as_str());
    eprintln!("<{said} at {assurance}>");
}

/// I5: at a terminal the whole question is shown; only a yes that was typed after it is one, and it is `local`.
#[test]
fn the_console_takes_the_answer_of_a_terminal() {
    for (typed, expected) in [
        ("y\n", "<permitted at local>"),
        ("YES\n", "<permitted at local>"),
        ("n\n", "<denied at local>"),
        ("yess\n", "<denied at local>"),
        ("\n", "<denied at local>"),
        ("\u{4}", "<cancelled at none>"),
    ] {
        let mut terminal = run_at_terminal("library::asks_at_the_console");
        let shown = terminal.read_until("[y/N] ");
        assert!(shown.contains("Upgrade acme from Pro to Scale") && shown.contains("\"scale\""), "{shown}");
        terminal.type_in(typed);
        let said = terminal.read_until(">");
        assert!(said.contains(expected), "{typed:?}: {said}");
        assert!(terminal.ended().success());
    }
}

/// A test of this binary at a terminal of its own, which shows what it says on stderr.
fn run_at_terminal(test: &str) -> Terminal {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored", "--nocapture"]).stdout(Stdio::null());
    Terminal::run(command)
}

/// X2, H10: what a human could not read whole is not asked about, and that is written down.
#[tokio::test]
async fn an_operation_that_nobody_could_read_is_refused() {
    let consent = Consent::in_memory("billing").await.unwrap();
    let large = upgrade("scale").params(&json!({"text": "x".repeat(20_000)})).unwrap();
    assert_eq!(code(&consent.mint(large).await.unwrap_err()), "too_large_to_review");
    let rows = consent.ledger().audit_last(1).await.unwrap();
    assert!(format!("{rows:?}").contains("too_large_to_review"), "{rows:?}");
}

/// H10, A14, X6, X7: the library's questions are bounded, frozen and stopped like every other, and each refusal is
/// written down.
#[tokio::test]
async fn asking_from_the_library_is_bounded_frozen_and_stopped() {
    let pace = Pace { breaker: 2, ..Pace::default() };
    let consent = Consent::in_memory("billing").await.unwrap().at_pace(pace);
    for to in ["pro", "scale"] {
        let no = async |_| Answer::No { by: "ada".into(), reason: None };
        assert_eq!(code(&consent.ask_with(&upgrade(to), no).await.unwrap_err()), "denied");
    }
    assert_eq!(code(&consent.mint(upgrade("max")).await.unwrap_err()), "rate_limited");
    let never = async |_| panic!("nobody is asked");
    assert_eq!(code(&consent.ask_with(&upgrade("max"), never).await.unwrap_err()), "rate_limited");

    let other = || Operation::new("acme", "bob", "assistant", "upgrade_plan");
    let minted = consent.mint(other()).await.unwrap();
    let caller = consent.ledger().intent(minted.intent()).await.unwrap().unwrap();
    consent.ledger().freeze(&caller.question().binding.caller, "odd", "eve").await.unwrap();
    assert_eq!(code(&consent.mint(other()).await.unwrap_err()), "client_frozen");
    assert_eq!(code(&consent.consume(minted.token(), &other()).await.unwrap_err()), "client_frozen");
    consent.ledger().stop("wrong account", "eve").await.unwrap();
    let third = Operation::new("acme", "cyd", "assistant", "upgrade_plan");
    let stopped = consent.mint(third).await.unwrap_err();
    assert_eq!(code(&stopped), "policy_denied");
    assert!(stopped.to_string().contains("wrong account"), "{stopped}");

    let rows = format!("{:?}", consent.ledger().audit_last(100).await.unwrap());
    for (refused, times) in [("rate_limited", 2), ("client_frozen", 2), ("policy_denied", 1), ("denied", 2)] {
        let row = format!("code\\\":\\\"{refused}\\\"");
        assert_eq!(rows.matches(&row).count(), times, "{refused}: {rows}");
    }
}
