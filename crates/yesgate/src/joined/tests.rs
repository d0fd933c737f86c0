//! Lines that servers may write, and how a call finds its redemption.

use serde_json::{Value, json};
use yesgate_core::assurance::Assurance;
use yesgate_core::audit::{AuditEntry, AuditEvent};
use yesgate_core::caller::Caller;
use yesgate_core::class::Class;
use yesgate_core::definition::ToolDefinition;
use yesgate_core::digest::{Binding, ServerIdentity};
use yesgate_core::id::BootId;
use yesgate_core::json::CanonicalJson;
use yesgate_core::mode::Mode;

use super::line::LineError;
use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

fn boot() -> BootId {
    BootId::from_entropy([7; 32])
}

fn intent(seed: u8) -> IntentId {
    IntentId::from_entropy([seed; 32])
}

fn opened() -> AuditEvent {
    let definition = ToolDefinition::parse(&json!({"name": "pay"})).unwrap().digest;
    let caller = Caller {
        org: "acme".parse().unwrap(),
        principal: "ada".parse().unwrap(),
        client: "host".parse().unwrap(),
    };
    let binding = Binding {
        caller: caller.clone(),
        server: "wallet".parse().unwrap(),
        identity: ServerIdentity::of_command([b"wallet".as_slice()], b"/srv", []),
        method: "tools/call".into(),
        tool: "pay".parse().unwrap(),
        definition,
        arguments: CanonicalJson::empty_object(),
        meta: CanonicalJson::empty_object(),
        mode: Mode::Execute,
        preview: None,
    };
    AuditEvent::Opened {
        caller,
        server: binding.server.clone(),
        tool: binding.tool.clone(),
        class: Class::Dangerous,
        digest: binding.digest(),
        definition,
        least: Assurance::Relayed,
        rule: None,
    }
}

fn approved() -> AuditEvent {
    AuditEvent::Approved {
        by: "ada".into(),
        assurance: Assurance::Local,
        counted: None,
        signed: None,
        own_call: false,
    }
}

fn redeemed() -> AuditEvent {
    AuditEvent::Redeemed { boot: boot() }
}

fn finished(outcome: &str) -> AuditEvent {
    AuditEvent::Finished { outcome: outcome.into() }
}

/// A ledger with these steps of one question, a second apart, about paying 10.
fn releases(steps: &[AuditEvent]) -> Releases {
    let mut releases = Releases::default();
    add(&mut releases, 1, 1, steps);
    releases
}

fn add(releases: &mut Releases, seed: u8, from: i64, steps: &[AuditEvent]) {
    for (second, event) in (from..).zip(steps) {
        releases.follow(&AuditEntry { at: at(second), intent: Some(intent(seed)), event: event.clone() });
    }
    for id in releases.redeemed() {
        releases.called_with(&id, Some(&CanonicalJson::of(&json!({"amount": 10})).unwrap()));
    }
}

fn pay(second: i64) -> Value {
    json!({"at": at(second).to_string(), "tool": "pay", "arguments": {"amount": 10}})
}

fn join(releases: Releases, lines: &[Value], free: &[&str]) -> Joined {
    let about = About {
        server: Some("wallet".into()),
        free: free.iter().map(|tool| (*tool).to_owned()).collect(),
        skew: SignedDuration::ZERO,
        since: None,
    };
    let mut joiner = Joiner::new(about, releases);
    for (number, line) in (1..).zip(lines) {
        joiner.read(number, line.to_string().as_bytes());
    }
    joiner.finish(at(1000))
}

#[track_caller]
fn codes(joined: &Joined, expected: &[&str]) {
    let codes: Vec<&str> = joined.findings.iter().map(|finding| finding.wrong.code()).collect();
    assert_eq!(codes, expected, "{:#?}", joined.lines());
}

#[test]
fn a_call_after_its_yes_fits_and_once() {
    let steps = [opened(), approved(), redeemed(), finished("ok")];
    let joined = join(releases(&steps), &[pay(4)], &[]);
    codes(&joined, &[]);
    assert_eq!((joined.calls, joined.consented, joined.redeemed), (1, 1, 1));
    codes(&join(releases(&steps), &[pay(4), pay(5)], &[]), &["ran_twice"]);
}

#[test]
fn a_call_that_was_never_released_has_no_consent() {
    codes(&join(releases(&[opened(), approved()]), &[pay(4)], &[]), &["without_consent"]);
    codes(&join(releases(&[]), &[pay(4)], &[]), &["without_consent"]);
    let other = json!({"at": at(4).to_string(), "tool": "pay", "arguments": {"amount": 11}});
    let steps = [opened(), approved(), redeemed()];
    codes(&join(releases(&steps), &[other], &[]), &["without_consent"]);
    let joined = join(releases(&[]), &[pay(4)], &["pay"]);
    codes(&joined, &[]);
    assert_eq!(joined.free, 1);
}

#[test]
fn a_call_that_arrived_before_its_yes_was_spent_is_found() {
    codes(&join(releases(&[opened(), approved(), redeemed()]), &[pay(2)], &[]), &["before_redeem"]);
}

#[test]
fn a_call_names_the_process_that_sent_it() {
    let steps = [opened(), approved(), redeemed()];
    let own = boot().as_str().trim_start_matches(BootId::PREFIX).to_owned();
    let with_id = |id: Value| {
        let mut line = pay(4);
        line["id"] = id;
        join(releases(&steps), &[line], &[])
    };
    codes(&with_id(json!(format!("yesgate-{own}-12"))), &[]);
    codes(&with_id(json!(12)), &[]);
    codes(&with_id(json!("yesgate-another-12")), &["other_process"]);
}

#[test]
fn what_the_ledger_says_ran_must_be_in_the_log() {
    let steps = |end: &[AuditEvent]| {
        let mut steps = vec![opened(), approved(), redeemed()];
        steps.extend_from_slice(end);
        releases(&steps)
    };
    codes(&join(steps(&[finished("tool_error")]), &[], &[]), &["never_arrived"]);
    codes(&join(steps(&[finished("not_sent")]), &[pay(4)], &[]), &["arrived_not_sent"]);
    let lost = AuditEvent::Lost { why: "no answer".into() };
    for (end, unknown, not_sent) in [(lost, 1, 0), (finished("not_sent"), 0, 1)] {
        let joined = join(steps(&[end]), &[], &[]);
        codes(&joined, &[]);
        assert_eq!((joined.unknown, joined.not_sent), (unknown, not_sent));
    }
}

#[test]
fn a_trail_that_released_without_a_yes_or_twice_is_found() {
    codes(&join(releases(&[opened(), redeemed()]), &[pay(4)], &[]), &["redeemed_without_yes"]);
    let twice = [opened(), approved(), redeemed(), redeemed()];
    codes(&join(releases(&twice), &[pay(5)], &[]), &["redeemed_twice"]);
}

#[test]
fn the_same_call_with_two_yeses_runs_twice() {
    let steps = [opened(), approved(), redeemed(), finished("ok")];
    let mut both = releases(&steps);
    add(&mut both, 2, 11, &steps);
    codes(&join(both, &[pay(4), pay(14)], &[]), &[]);
    let mut both = releases(&steps);
    add(&mut both, 2, 11, &steps);
    // The second call came before the second yes.
    codes(&join(both, &[pay(4), pay(5)], &[]), &["ran_twice", "never_arrived"]);
}

#[test]
fn the_next_round_of_a_call_is_the_same_run() {
    let steps = [opened(), approved(), redeemed()];
    let mut round = pay(5);
    round["inputResponses"] = json!({});
    let joined = join(releases(&steps), &[pay(4), round.clone()], &[]);
    codes(&joined, &[]);
    assert_eq!(joined.consented, 1);
    codes(&join(releases(&steps), &[round], &[]), &["without_consent"]);
}

#[test]
fn arguments_that_were_purged_are_compared_by_their_tool() {
    let mut releases = Releases::default();
    for (second, event) in (1..).zip([opened(), approved(), redeemed(), finished("ok")]) {
        releases.follow(&AuditEntry { at: at(second), intent: Some(intent(1)), event });
    }
    for id in releases.redeemed() {
        releases.called_with(&id, None);
    }
    codes(&join(releases, &[pay(4), pay(5)], &[]), &["ran_twice"]);
}

#[test]
fn arguments_may_be_told_by_their_digest() {
    // printf '{"amount":10}' | sha256sum
    let digest = "a8b88b82fe90a16048eb8851fe382405395cd395dafaa7ca9be90ec00f82a72b";
    let known = line::Sha::of(&CanonicalJson::of(&json!({"amount": 10})).unwrap()).to_string();
    assert_eq!(known, digest);
    let told = |digest: &str| json!({"at": at(4).to_string(), "tool": "pay", "arguments_sha256": digest});
    let steps = [opened(), approved(), redeemed()];
    codes(&join(releases(&steps), &[told(&known)], &[]), &[]);
    codes(&join(releases(&steps), &[told(&"0".repeat(64))], &[]), &["without_consent"]);
    codes(&join(releases(&steps), &[told("short")], &[]), &["unreadable_line"]);
}

#[test]
fn a_line_that_tells_nothing_is_a_problem_and_other_messages_are_none() {
    #[track_caller]
    fn check(line: &str, expected: LineError) {
        assert_eq!(Call::parse(line.as_bytes()).unwrap_err(), expected, "{line}");
    }
    check("pay 10", LineError::NoJson);
    check("[]", LineError::NoJson);
    check(r#"{"tool": "pay"}"#, LineError::NoTime);
    check(r#"{"at": "yesterday", "tool": "pay"}"#, LineError::NoTime);
    check(r#"{"at": "2027-01-15T08:00:00Z"}"#, LineError::NoTool);
    let list = r#"{"at": "2027-01-15T08:00:00Z", "message": {"method": "tools/list", "id": 1}}"#;
    assert!(Call::parse(list.as_bytes()).unwrap().is_none());
    assert!(Call::parse(b"\n").unwrap().is_none());
}

#[test]
fn only_the_first_problems_are_kept_and_all_are_counted() {
    let joined = join(releases(&[]), &vec![pay(4); 250], &[]);
    assert_eq!((joined.wrong, joined.findings.len()), (250, 100));
    assert!(joined.lines().contains(&"  and 150 more".to_owned()));
}
