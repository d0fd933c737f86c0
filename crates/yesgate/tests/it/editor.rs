//! Changing a call in an editor before saying yes to it: `yesgate approve ID --edit` at a terminal.

use std::fs::File;

use serde_json::{Value, json};
use yesgate_testkit::{Host, Stage, intent_id, structured};

use crate::support::{legacy, stage, state, upstream_arguments, upstream_count};
use crate::terminal::Terminal;

/// A question about deleting the note `a`, its host, and a human at a terminal whose editor is this shell script.
fn at_editor(script: &str) -> (Stage, Host, Value, Terminal) {
    let stage = stage();
    let mut host = legacy(&stage);
    let held = host.call("delete_note", json!({"id": "a"}));
    let file = stage.work().join("editor.sh");
    // It shows where it was called, so that a test can look there.
    std::fs::write(&file, format!("echo \"<$1>\" >&2\n{script}\n")).unwrap();
    let mut command = stage.command(&["approve", &intent_id(&held), "--edit"]);
    let page = File::create(stage.work().join("page")).unwrap();
    command.env("EDITOR", format!("sh {}", file.display())).stdout(page);
    (stage, host, held, Terminal::run(command))
}

/// The file that was edited is gone, and so is its folder.
#[track_caller]
fn assert_nothing_is_left(shown: &str) {
    let (_, rest) = shown.split_once('<').unwrap_or_else(|| panic!("no editor ran: {shown}"));
    let path = std::path::Path::new(rest.split('>').next().unwrap());
    assert_eq!(path.file_name().unwrap(), "arguments.json");
    assert!(!path.parent().unwrap().exists(), "{}", path.display());
}

/// X6: what the editor makes of the arguments is shown, and a yes runs that, once; the agent is told.
#[test]
fn what_was_changed_in_the_editor_is_shown_and_runs() {
    let (stage, mut host, held, mut terminal) = at_editor("sed -i 's/\"a\"/\"b\"/' \"$1\"");
    let shown = terminal.read_until("[y/N] ");
    let page = std::fs::read_to_string(stage.work().join("page")).unwrap();
    assert!(page.contains("\"b\"") && !page.contains("\"a\""), "{page}");
    assert_eq!(upstream_count(&stage, "delete_note"), 0, "{shown}");
    terminal.type_in("y\n");
    assert!(terminal.ended().success());
    assert_nothing_is_left(&shown);
    assert_eq!(state(&stage, &intent_id(&held)), "superseded");
    let taken = host.call("delete_note", json!({"id": "a"}));
    assert_eq!(structured(&taken)["deleted"], "b");
    assert_eq!(taken["result"]["_meta"]["dev.yesgate/edited"]["arguments"], json!({"id": "b"}));
    assert_eq!(upstream_arguments(&stage, "delete_note"), [json!({"id": "b"})]);
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 1);
}

/// X6: an editor that fails, arguments that cannot be read and a no at the end change and approve nothing.
#[test]
fn an_editor_that_fails_approves_nothing() {
    for (script, typed, code) in [
        ("sed -i 's/\"a\"/\"b\"/' \"$1\"; exit 1", None, 1),
        ("echo '{\"id\": \"b\", \"id\": \"c\"}' > \"$1\"", None, 1),
        ("rm \"$1\"", None, 1),
        ("sed -i 's/\"a\"/\"b\"/' \"$1\"", Some("n\n"), 3),
    ] {
        let (stage, mut host, held, mut terminal) = at_editor(script);
        let shown = terminal.read_until("[y/N] ");
        if let Some(typed) = typed {
            terminal.type_in(typed);
        }
        assert_eq!(terminal.ended().code(), Some(code), "{script}: {shown}");
        assert_eq!(shown.contains("[y/N]"), typed.is_some(), "{script}: {shown}");
        assert_nothing_is_left(&shown);
        assert_eq!(state(&stage, &intent_id(&held)), "pending");
        assert_eq!(upstream_count(&stage, "delete_note"), 0);
        assert!(host.close().success());
        assert_eq!(stage.check_history().gated, 0);
    }
}

/// X6: arguments that come back as they were, however they are laid out, are no change: the yes is to the question
/// itself, and nobody is told otherwise.
#[test]
fn an_editor_that_changes_nothing_leaves_a_plain_yes() {
    for script in ["true", "echo '  {\"id\":\"\\u0061\"}' > \"$1\""] {
        let (stage, mut host, held, mut terminal) = at_editor(script);
        terminal.read_until("[y/N] ");
        terminal.type_in("y\n");
        assert!(terminal.ended().success());
        assert_eq!(state(&stage, &intent_id(&held)), "done");
        let taken = host.call("delete_note", json!({"id": "a"}));
        assert_eq!(structured(&taken)["deleted"], "a");
        assert_eq!(taken["result"].get("_meta"), None, "{taken:#}");
        assert!(!stage.audit().iter().any(|row| row["entry"]["event"] == "edited"));
        assert!(host.close().success());
        assert_eq!(stage.check_history().gated, 1);
    }
}

/// Without an editor nothing is guessed.
#[test]
fn without_an_editor_nothing_is_changed() {
    let stage = stage();
    let mut host = legacy(&stage);
    let held = host.call("delete_note", json!({"id": "a"}));
    for editor in [None, Some(" "), Some("/no/such/editor")] {
        let mut command = stage.command(&["approve", &intent_id(&held), "--edit"]);
        match editor {
            Some(editor) => command.env("EDITOR", editor),
            None => command.env_remove("EDITOR"),
        };
        let mut terminal = Terminal::run(command);
        let shown = terminal.read_until("[y/N] ");
        assert_eq!(terminal.ended().code(), Some(1), "{shown}");
        assert!(shown.contains("$EDITOR is not set") || shown.contains("cannot be started"), "{shown}");
    }
    assert_eq!(state(&stage, &intent_id(&held)), "pending");
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 0);
}
