//! Remembering a yes: a human's own act, at the command line, with a limit.

use serde_json::{Value, json};
use yesgate_testkit::{Host, Stage, intent_id, refusal, structured};

use crate::support::{legacy, legacy_named, stage, upstream_count};

fn delete(host: &mut Host, note: &str) -> Value {
    host.call("delete_note", json!({"id": note}))
}

#[track_caller]
fn ran(answer: &Value) -> bool {
    structured(answer).get("deleted").is_some()
}

/// Makes a call, says yes to it at the command line with these words besides, and gives back the grant's id.
#[track_caller]
fn remember(stage: &Stage, host: &mut Host, note: &str, words: &[&str]) -> String {
    let held = delete(host, note);
    let mut args = vec!["approve".to_owned(), intent_id(&held), "--yes".to_owned()];
    args.extend(words.iter().map(ToString::to_string));
    let said = stage.yesgate(&args).ok().stdout;
    assert!(said.contains("It ran once: ok."), "{said}");
    // The agent takes the result of the first one.
    assert!(ran(&delete(host, note)));
    said.split_whitespace().find(|word| word.starts_with("gr_")).unwrap().trim_end_matches(':').to_owned()
}

/// X4: the same call runs without asking as often as was said, under the yes that was given, and then asks again.
#[test]
fn a_remembered_yes_runs_as_often_as_was_said() {
    let stage = stage();
    let mut host = legacy(&stage);
    let grant = remember(&stage, &mut host, "a", &["--remember", "exact", "--uses", "2"]);
    assert!(ran(&delete(&mut host, "a")));
    let shown = stage.yesgate(&["grants", "show", &grant, "--json"]).ok().json();
    assert_eq!((&shown["state"], &shown["uses_left"]), (&json!("live"), &json!(1)));
    assert!(!ran(&delete(&mut host, "b")), "another call is asked about");
    assert!(ran(&delete(&mut host, "a")));
    assert!(!ran(&delete(&mut host, "a")), "the uses are over");
    let listed = stage.yesgate(&["grants", "list"]).ok().stdout;
    assert!(listed.contains("used up"), "{listed}");
    let yes = stage.audit().into_iter().rfind(|row| row["entry"]["event"] == "approved").unwrap();
    let by = yes["entry"]["by"].as_str().unwrap();
    assert!(by.starts_with(&format!("grant {grant} of account")), "{by}");
    assert_eq!(yes["entry"]["assurance"], "local");
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 3);
}

/// X4: a pattern and a whole tool; another client is asked, and so is everybody after the grant was revoked.
#[test]
fn a_pattern_covers_what_it_holds_for_until_it_is_revoked() {
    let stage = stage();
    let mut host = legacy(&stage);
    let words =
        ["--remember", "pattern", "--pattern", "args.id.startsWith(\"a\")", "--uses", "9", "--for", "30m"];
    let grant = remember(&stage, &mut host, "a", &words);
    assert!(ran(&delete(&mut host, "ab")) && ran(&delete(&mut host, "ac")));
    assert!(!ran(&delete(&mut host, "b")));
    let mut other = legacy_named(&stage, "other");
    assert!(!ran(&delete(&mut other, "ab")), "a grant belongs to one client");
    assert!(other.close().success());
    let mode = host.call("delete_note", json!({"id": "ad", "__mode": "execute"}));
    assert!(ran(&mode), "naming the mode that holds raises nothing");

    stage.yesgate(&["grants", "revoke", &grant]).ok();
    assert!(!ran(&delete(&mut host, "ab")));
    let whole = remember(&stage, &mut host, "z", &["--remember", "tool", "--until", "2199-01-01"]);
    assert_ne!(grant, whole);
    assert!(ran(&delete(&mut host, "anything")));
    assert!(host.close().success());
    stage.check_history();
}

/// X4: a human's no and a freeze are stronger than what was remembered.
#[test]
fn a_no_and_a_freeze_overrule_a_remembered_yes() {
    let stage = stage();
    let mut host = legacy(&stage);
    let words = ["--remember", "pattern", "--pattern", "args.id.startsWith(\"a\")", "--uses", "99"];
    remember(&stage, &mut host, "a", &words);
    assert!(ran(&delete(&mut host, "a1")));
    let asked = delete(&mut host, "b");
    stage.yesgate(&["deny", &intent_id(&asked), "--reason", "no more deleting"]).ok();
    assert!(!ran(&delete(&mut host, "a2")), "a human is asked again after the no");
    stage.yesgate(&["freeze", "testkit"]).ok();
    assert_eq!(refusal(&delete(&mut host, "a3")), "client_frozen");
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 2);
}

/// X4: without a limit, off the policy, or past its own call nothing is remembered and nothing runs.
#[test]
fn what_may_not_be_remembered_is_refused_and_nothing_runs() {
    let typed = "[[rules]]\ntool = \"mock/delete_note\"\nconfirm = \"type\"\ntype = \"args.id\"\nassurance = \"relayed\"\n";
    let exact = ["--remember", "exact", "--uses", "1"];
    for (config, words, code) in [
        ("profile = \"handshake\"\n", &exact[..], 3),
        (typed, &exact, 3),
        ("", &["--remember", "exact"], 2),
        ("", &["--uses", "3"], 2),
        ("", &["--remember", "exact", "--uses", "0"], 1),
        ("", &["--remember", "exact", "--until", "2020-01-01"], 1),
        ("", &["--remember", "pattern", "--uses", "1"], 1),
        ("", &["--remember", "pattern", "--pattern", "true", "--uses", "1"], 1),
        ("", &["--remember", "pattern", "--pattern", "args.id == \"b\"", "--uses", "1"], 3),
        ("grants = false\n", &exact, 3),
    ] {
        let stage = stage().config(config);
        let mut host = legacy(&stage);
        let intent = intent_id(&delete(&mut host, "a"));
        let mut args = vec!["approve", &intent, "--yes", "--typed", "a"];
        args.extend(words);
        let refused = stage.yesgate(&args);
        assert_eq!(refused.code(), code, "{config} {words:?}: {refused:#?}");
        assert!(stage.yesgate(&["grants", "list", "--json"]).ok().json().as_array().unwrap().is_empty());
        assert_eq!(upstream_count(&stage, "delete_note"), 0, "{config} {words:?}");
        assert!(host.close().success());
    }
}

/// X4: in `handshake` and `two-key` remembering is off unless it is switched on.
#[test]
fn remembering_can_be_switched_on_where_it_is_off() {
    let stage = stage().config("profile = \"handshake\"\ngrants = true\n");
    let mut host = legacy(&stage);
    remember(&stage, &mut host, "a", &["--remember", "exact", "--uses", "1"]);
    assert!(ran(&delete(&mut host, "a")));
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 2);
}
