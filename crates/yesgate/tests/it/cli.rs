//! The commands for people and programs: exit codes, JSON, and nothing on the screen that an agent put there.

use std::fs;

use serde_json::json;
use yesgate_testkit::{Host, Stage, confirm_token, intent_id, structured};

use crate::support::{legacy, legacy_named, stage, state, upstream_count};

fn ask(host: &mut Host, note: &str) -> String {
    intent_id(&host.call("delete_note", json!({ "id": note })))
}

#[track_caller]
fn assert_fails(stage: &Stage, words: &[&str], code: i32, complaint: &str) {
    let output = stage.yesgate(words);
    assert_eq!(output.code(), code, "{words:?} {output:#?}");
    assert!(output.stdout.is_empty(), "{words:?} {output:#?}");
    let error = output.stderr.lines().find(|line| line.starts_with("Error: ")).unwrap_or_default();
    assert!(error.contains(complaint), "{words:?} {output:#?}");
}

/// Every command that prints data prints JSON where it is asked to, and its exit code says how it went.
#[test]
fn every_command_that_prints_data_can_print_json() {
    let stage = stage();
    let mut host = legacy(&stage);
    host.list_tools();
    let [denied, approved] = ["a", "b"].map(|note| {
        let intent = ask(&mut host, note);
        let words = if note == "a" {
            vec!["deny", &intent, "--json"]
        } else {
            vec!["approve", &intent, "--yes", "--json"]
        };
        stage.yesgate(&words).ok().json()
    });
    assert_eq!((&denied["state"], &approved["state"]), (&json!("denied"), &json!("done")));
    assert_eq!(denied["decision"]["assurance"], "local");
    let intent = ask(&mut host, "c");
    let json = |words: &[&str]| stage.yesgate(words).ok().json();
    assert_eq!(json(&["pending", "--json"])[0]["intent_id"], intent.as_str());
    assert_eq!(json(&["show", &intent, "--json"])["arguments"], json!({"id": "c"}));
    assert!(json(&["tools", "--json"]).is_array());
    assert!(json(&["tools", "review", "--accept", "pay=dangerous", "--json"]).is_array());
    assert_eq!(json(&["policy", "check", "--json"])["profile"], "none");
    assert_eq!(json(&["policy", "test", "--json"])["failed"], 0);
    assert_eq!(json(&["policy", "lint", "--json"]), json!([]));
    assert!(json(&["policy", "explain", "mock/delete_note", "--json"]).is_object());
    assert_eq!(json(&["audit", "verify", "--json"])["problems"], json!([]));
    assert_eq!(json(&["audit", "list", "--json", "--last", "2"]).as_array().map(Vec::len), Some(2));
    let doctor = stage.yesgate(&["doctor", "--json"]);
    assert!(doctor.json().is_array() && [0, 5].contains(&doctor.code()), "{doctor:#?}");
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 1);
}

/// X3: a lost outcome is settled once, by `resolve`, and for programs too.
#[test]
fn a_lost_outcome_is_settled_by_resolve() {
    let stage = stage();
    stage.behave(&["--die-on", "delete_note"]);
    let mut host = legacy(&stage);
    let held = host.call("delete_note", json!({"id": "a"}));
    let intent = intent_id(&held);
    assert_fails(&stage, &["resolve", &intent, "--ran"], 3, "");
    host.call("delete_note", json!({"id": "a", "confirm_token": confirm_token(&held)}));
    assert_eq!(state(&stage, &intent), "unknown");
    let doctor = stage.yesgate(&["doctor"]);
    assert_eq!(doctor.code(), 5);
    assert!(doctor.stdout.contains("yesgate resolve"), "{}", doctor.stdout);
    for wrong in [vec!["resolve", &intent], vec!["resolve", &intent, "--ran", "--did-not-run"]] {
        assert_eq!(stage.yesgate(&wrong).code(), 2, "{wrong:?}");
    }
    let settled = stage.yesgate(&["resolve", &intent, "--ran", "--json"]).ok().json();
    assert_eq!(settled["state"], "resolved");
    assert_fails(&stage, &["resolve", &intent, "--did-not-run"], 3, "");
    host.close();
    assert_eq!(stage.check_history().gated, 1);
}

/// Exit code 4: there is no such question, or more than one.
#[test]
fn a_question_is_found_by_the_first_letters_of_its_id() {
    let stage = stage();
    let mut host = legacy(&stage);
    let (first, second) = (ask(&mut host, "a"), intent_id(&host.call("pay", json!({"amount": 1}))));
    let beginning = |intent: &str| intent.chars().take("intent_".len() + 8).collect::<String>();
    let shown = stage.yesgate(&["show", &beginning(&first), "--json"]).ok().json();
    assert_eq!(shown["intent_id"], first.as_str());
    for (id, complaint) in [
        ("intent_", "2 questions begin with"),
        ("intent_zzzzzzzzzzzzzzzz", "there is no question"),
        ("%", "there is no question"),
        ("' OR 1=1", "there is no question"),
    ] {
        for words in
            [["show", id].as_slice(), &["approve", id, "--yes"], &["deny", id], &["resolve", id, "--ran"]]
        {
            assert_fails(&stage, words, 4, complaint);
            assert!(stage.yesgate(words).stderr.contains("\nHint: "));
        }
    }
    stage.yesgate(&["deny", &beginning(&second)]).ok();
    assert_eq!((state(&stage, &first).as_str(), state(&stage, &second).as_str()), ("pending", "denied"));
    assert!(host.close().success());
}

/// X2, FC-24: without a terminal and without `--yes` nobody said yes; with `--code` the yes is to what was looked at.
#[test]
fn a_yes_needs_a_terminal_or_a_word_and_may_need_the_code() {
    let stage = stage();
    let mut host = legacy(&stage);
    let held = host.call("delete_note", json!({"id": "a"}));
    let intent = intent_id(&held);
    let code = structured(&held)["match_code"].as_str().unwrap();
    for words in [vec!["approve", &intent], vec!["approve", &intent, "--code", code]] {
        assert_fails(&stage, &words, 1, "there is no terminal to ask at");
        assert!(stage.yesgate(&words).stderr.contains("\nHint: "), "{words:?}");
    }
    assert_fails(&stage, &["approve", &intent, "--yes", "--code", "aaaa-aaaa"], 3, "(content_changed)");
    assert_eq!(state(&stage, &intent), "pending");
    assert_eq!(upstream_count(&stage, "delete_note"), 0);
    stage.yesgate(&["approve", &intent, "--yes", "--code", code]).ok();
    assert_eq!(upstream_count(&stage, "delete_note"), 1);
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 1);
}

/// X2, A11: whatever an agent or a server writes, the screen shows as text: no control, no hidden and no turned
/// letters, in no command.
#[test]
fn nothing_on_the_screen_is_under_the_agents_control() {
    let hostile =
        "\u{1b}[2J\u{1b}]0;owned\u{7}\r\nApproved.\n\u{202e}txt.exe\u{200b}\u{0}\u{9b}31m\u{e0041}\u{2028}";
    let stage = stage().config(
        "[[rules]]\ntool = \"*/write_note\"\nthen = \"ask\"\nsummary = \"Write {{args.text}} to {{args.id}}\"\n",
    );
    let mut host = legacy_named(&stage, "ev\u{1b}[31mil\u{202e}");
    host.list_tools();
    let held = host.call("write_note", json!({"id": hostile, "text": hostile, hostile: [hostile]}));
    let intent = intent_id(&held);
    stage.yesgate(&["deny", &intent, "--reason", "no\u{1b}[31m\u{202e}"]).ok();
    let open = ask(&mut host, hostile);
    let no_id = hostile.replace('\0', "");
    for words in [
        vec!["pending"],
        vec!["show", &intent],
        vec!["show", &open],
        vec!["tools"],
        vec!["doctor"],
        vec!["audit", "list"],
        vec!["audit", "verify"],
        vec!["approve", &open],
        vec!["show", &no_id],
        vec!["show", &intent, "--json"],
        vec!["pending", "--json"],
        vec!["audit", "list", "--json"],
    ] {
        let output = stage.yesgate(&words);
        for text in [&output.stdout, &output.stderr] {
            let odd = text.chars().find(|c| (c.is_control() && *c != '\n') || hidden(*c));
            assert_eq!(odd, None, "{words:?}: {text}");
            assert!(!text.lines().any(|line| line == "Approved."), "{words:?}: a line of the agent's own");
        }
    }
    // What the agent is asked to show to the user is the same text.
    let summary = structured(&held)["summary"].as_str().unwrap();
    assert_eq!(summary.chars().find(|c| c.is_control() || hidden(*c)), None, "{summary:?}");
    assert!(host.close().success());
    assert!(stage.upstream_calls().is_empty());
}

fn hidden(c: char) -> bool {
    let ranges = [
        '\u{200b}'..='\u{200f}',
        '\u{2028}'..='\u{202e}',
        '\u{2066}'..='\u{2069}',
        '\u{e0000}'..='\u{e007f}',
    ];
    ranges.iter().any(|range| range.contains(&c))
}

/// X2: `show` leaves nothing out, however long it is.
#[test]
fn show_leaves_nothing_out() {
    let stage = stage();
    let mut host = legacy(&stage);
    let long: Vec<String> = (0..200).map(|number| format!("line {number}")).collect();
    let intent = intent_id(&host.call("write_note", json!({"id": "b", "text": long.join(" and ")})));
    let shown = stage.yesgate(&["show", &intent]).ok().stdout;
    assert!(long.iter().all(|line| shown.contains(line.as_str())), "{shown}");
    let answer = host.call("write_note", json!({"id": "b", "text": "y".repeat(500_000)}));
    assert_eq!(yesgate_testkit::refusal(&answer), "too_large_to_review");
    assert!(host.close().success());
    assert!(stage.upstream_calls().is_empty());
}

/// X7, FC-8: a row that somebody changed is found, and exit code 5 says so.
#[test]
fn a_changed_ledger_is_found_out() {
    let stage = stage();
    let mut host = legacy(&stage);
    let intent = ask(&mut host, "a");
    stage.yesgate(&["deny", &intent, "--reason", "a reason to change"]).ok();
    assert!(host.close().success());
    let sound = stage.yesgate(&["audit", "verify"]).ok();
    assert!(sound.stdout.contains("The chain is whole"), "{}", sound.stdout);

    let file = stage.home().join("ledger.db");
    let mut bytes = fs::read(&file).unwrap();
    let words: &[u8] = b"a reason to change";
    let places: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(words)).collect();
    assert!(!places.is_empty(), "the reason is in the ledger");
    for place in places {
        bytes[place] = b'A';
    }
    fs::write(&file, bytes).unwrap();
    let broken = stage.yesgate(&["audit", "verify"]);
    assert_eq!(broken.code(), 5, "{broken:#?}");
    assert!(broken.stdout.contains("The chain is broken"), "{}", broken.stdout);
    let problems = stage.yesgate(&["audit", "verify", "--json"]);
    assert_eq!(problems.code(), 5);
    assert!(!problems.json()["problems"].as_array().unwrap().is_empty());
    assert_eq!(stage.yesgate(&["doctor"]).code(), 5);
}

/// `doctor` says what a yes at the command line does and does not prove.
#[test]
fn doctor_says_what_a_local_yes_proves() {
    let doctor = stage().yesgate(&["doctor"]);
    for words in ["a yes is `local` at most", "an agent with a shell there could give it too"] {
        assert!(doctor.stdout.contains(words), "{}", doctor.stdout);
    }
    let verified = doctor.stdout.lines().find(|line| line.trim_start().starts_with("verified")).unwrap();
    assert!(verified.contains("not reachable here"), "{verified}");
}

/// Exit code 2: wrong usage, with the words of the command line on stderr only.
#[test]
fn wrong_usage_is_exit_code_two() {
    let stage = stage();
    for words in
        [["no-such-command"].as_slice(), &["wrap"], &["wrap", "--name", "x"], &["show"], &["pending", "x"]]
    {
        let output = stage.yesgate(words);
        assert_eq!((output.code(), output.stdout.as_str()), (2, ""), "{words:?} {output:#?}");
        assert!(!output.stderr.is_empty());
    }
    let help = stage.yesgate(&["--help"]).ok().stdout;
    assert!(help.contains("Exit codes: 0 done"), "{help}");
}
