//! `yesgate watch` at a real terminal, and without one.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::{Value, json};
use yesgate_testkit::{Host, Stage, refusal, structured};

use crate::support::{legacy, stage, state, upstream_count};
use crate::terminal::Terminal;

/// A tool that a human is asked about elsewhere.
fn elsewhere() -> (Stage, Host) {
    let rule = "[[rules]]\ntool = \"mock/delete_note\"\nthen = \"ask\"\nchannel = \"out_of_band\"\n";
    let stage = stage().config(rule);
    let host = legacy(&stage);
    (stage, host)
}

/// Starts a call, and waits for its question: the request, and the question's id.
#[track_caller]
fn ask(stage: &Stage, host: &mut Host, arguments: Value) -> (u64, String) {
    let request = host.call_async("delete_note", arguments);
    (request, stage.wait_for_question()["intent_id"].as_str().unwrap().to_owned())
}

fn watch(stage: &Stage) -> Terminal {
    Terminal::run_whole(stage.command(&["watch"]))
}

/// Types an answer once the prompt listens.
#[track_caller]
fn answer(terminal: &mut Terminal, text: &str) {
    terminal.read_until("Enter goes on: ");
    terminal.type_in(text);
}

/// REN7: a question shows at once; a yes that is typed before it could be read is none, and one after it runs the call.
#[test]
fn a_question_shows_at_once_and_a_typed_yes_runs_it() {
    let (stage, mut host) = elsewhere();
    let mut terminal = watch(&stage);
    terminal.read_until("Nothing waits for an answer.");
    let (request, intent) = ask(&stage, &mut host, json!({"id": "a"}));
    terminal.read_until(&intent);
    // All in one go, as from a keyboard that somebody fell onto.
    terminal.type_in("ayes\r");
    terminal.read_until("type yes");
    terminal.type_in("yes\r");
    assert_eq!(state(&stage, &intent), "pending", "nobody can have read it");
    assert_eq!(upstream_count(&stage, "delete_note"), 0);
    answer(&mut terminal, "yes\r");
    assert_eq!(structured(&host.answer_to(request))["deleted"], "a");
    terminal.read_until("Approved");
    terminal.type_in("q");
    assert!(terminal.ended().success());
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 1);
}

/// I5: a no from the list reaches the agent with its reason.
#[test]
fn a_no_from_the_list_has_a_reason() {
    let (stage, mut host) = elsewhere();
    let (request, intent) = ask(&stage, &mut host, json!({"id": "a"}));
    let mut terminal = watch(&stage);
    terminal.read_until(&intent);
    terminal.type_in("d");
    terminal.read_until("Why not");
    answer(&mut terminal, "archive it\r");
    let no = host.answer_to(request);
    assert_eq!(refusal(&no), "denied");
    assert_eq!(structured(&no)["details"]["reason"], "archive it");
    terminal.type_in("q");
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 0);
}

/// What somebody else decided is said at once, and leaves the list.
#[test]
fn what_somebody_else_decided_leaves_the_list() {
    let (stage, mut host) = elsewhere();
    let (_, intent) = ask(&stage, &mut host, json!({"id": "a"}));
    let mut terminal = watch(&stage);
    terminal.read_until(&intent);
    terminal.type_in("\r");
    terminal.read_until("exactly as they will run");
    stage.yesgate(&["deny", &intent]).ok();
    let shown = terminal.read_until("denied by account");
    assert!(shown.contains("Nothing waits for an answer."), "{shown}");
    terminal.type_in("q");
    assert!(terminal.ended().success());
}

/// X1: a long question is shown page by page, whole, before a yes can be typed; nothing in it steers the terminal.
#[test]
fn a_long_question_is_read_to_its_end_before_a_yes() {
    let (stage, mut host) = elsewhere();
    let lines: Vec<String> = (0..60).map(|number| format!("line-{number}-\u{1b}]0;evil\u{7}")).collect();
    let (_, intent) = ask(&stage, &mut host, json!({"id": "a", "lines": lines}));
    let mut terminal = watch(&stage);
    terminal.read_until(&intent);
    terminal.type_in("a");
    let mut shown = terminal.read_until("before you can say yes");
    assert!(!shown.contains("type yes"), "{shown}");
    for _ in 0..20 {
        terminal.type_in(" ");
        // Each page ends with what the keys do there, or with the question.
        let page = terminal.read_until("goes on");
        shown.push_str(&page);
        if page.contains("type yes") {
            break;
        }
    }
    for number in 0..60 {
        assert!(shown.contains(&format!("line-{number}-")), "{number}: {shown}");
    }
    assert!(!shown.contains("\u{1b}]0;evil"), "{shown}");
    assert_eq!(state(&stage, &intent), "pending");
    terminal.signal(Signal::TERM);
    assert!(terminal.ended().success());
}

/// However it ends, the terminal is as it was.
#[test]
fn the_terminal_is_given_back_however_it_ends() {
    let stage = stage();
    for end in [None, Some(Signal::INT), Some(Signal::TERM), Some(Signal::HUP)] {
        let mut terminal = watch(&stage);
        let before = terminal.before();
        terminal.read_until("Nothing waits for an answer.");
        assert_ne!(terminal.modes(), before, "keys come one by one");
        match end {
            None => terminal.type_in("q"),
            Some(signal) => terminal.signal(signal),
        }
        let shown = terminal.read_until("\u{1b}[?1049l");
        assert!(shown.ends_with("\u{1b}[?25h\u{1b}[?1049l"), "{end:?}: {shown:?}");
        assert!(terminal.ended().success(), "{end:?}");
        assert_eq!(terminal.modes(), before, "{end:?}");
    }
}

/// Where there is no terminal, there is one line for each change, for people and for programs.
#[test]
fn without_a_terminal_each_change_is_a_line() {
    let (stage, mut host) = elsewhere();
    let start = |words: &[&str]| {
        let mut child = stage.command(words).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        (child, lines)
    };
    let (mut plain, mut words) = start(&["watch"]);
    let (mut programs, mut values) = start(&["watch", "--json"]);
    let (_, intent) = ask(&stage, &mut host, json!({"id": "a"}));
    let opened = words.next().unwrap().unwrap();
    assert!(opened.starts_with(&format!("open  {intent}")), "{opened}");
    let value: Value = serde_json::from_str(&values.next().unwrap().unwrap()).unwrap();
    assert_eq!((&value["change"], &value["question"]["intent_id"]), (&json!("open"), &json!(intent)));
    stage.yesgate(&["deny", &intent]).ok();
    let over = words.next().unwrap().unwrap();
    assert!(over.starts_with(&format!("over  {intent}  denied by account")), "{over}");
    let value: Value = serde_json::from_str(&values.next().unwrap().unwrap()).unwrap();
    assert_eq!((&value["change"], &value["question"]["state"]), (&json!("over"), &json!("denied")));
    for child in [&mut plain, &mut programs] {
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
