//! Notices on the desktop, with a program of the test's own in the place of `notify-send`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::json;
use yesgate_testkit::{Stage, until};

use super::MARK;
use crate::support::{legacy, stage};

const RULE: &str = "[notices]\ndesktop = true\n[[rules]]\ntool = \"mock/delete_note\"\nthen = \"ask\"\nchannel = \"out_of_band\"\nsummary = \"Delete {{args.id}}\"\n";

/// A stage whose desktop writes down each word that it was given, on a line of its own.
fn watched(pages: &str) -> (Stage, PathBuf) {
    let stage = stage().config(&format!("{RULE}{pages}"));
    let (folder, log) = (stage.home().join("../desktop"), stage.home().join("../shown"));
    fs::create_dir_all(&folder).unwrap();
    let program = folder.join("notify-send");
    fs::write(&program, "#!/bin/sh\nfor word in \"$@\"; do echo \"[$word]\"; done >> \"$SHOWN\"\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    (stage.env("PATH", &folder).env("SHOWN", &log), log)
}

/// X9, A24: `wrap` shows that a question waits, as arguments that nobody can turn into options, and nothing of the call.
/// It names the question's page, or the command where there are no pages.
#[test]
fn the_desktop_shows_that_a_question_waits_and_nothing_of_it() {
    for pages in ["", "[pages]\nwrap = false\n"] {
        let (stage, log) = watched(pages);
        let mut host = legacy(&stage);
        let request = host.call_async("delete_note", json!({"id": MARK}));
        let question = stage.wait_for_question();
        let intent = question["intent_id"].as_str().unwrap();
        let shown =
            until("it is shown", || fs::read_to_string(&log).ok().filter(|text| text.contains("intent_")));
        let code = question["match_code"].as_str().unwrap();
        let place = match pages {
            "" => {
                let told = stage.yesgate(&["open", "--json"]).ok().json();
                format!("{}/approve/{intent}", told["origin"].as_str().unwrap())
            }
            _ => format!("yesgate show {intent}"),
        };
        assert_eq!(
            shown,
            format!(
                "[--app-name=Yesgate]\n[--]\n[A call waits for your yes or no]\n[mock/delete_note (dangerous), code {code}\n{place}]\n"
            )
        );
        stage.yesgate(&["deny", intent]).ok();
        host.answer_to(request);
        assert!(host.close().success());
        assert_eq!(fs::read_to_string(&log).unwrap(), shown, "what is decided needs nobody");
        assert_eq!(stage.check_history().gated, 0);
    }
}

/// A desktop without the program is said once, and nothing else changes.
#[test]
fn a_desktop_that_shows_nothing_is_said_once_and_holds_up_nothing() {
    let stage = stage().config(RULE);
    let empty = stage.home().join("../empty");
    fs::create_dir_all(&empty).unwrap();
    let stage = stage.env("PATH", &empty);
    let mut host = legacy(&stage);
    for note in ["a", "b"] {
        let request = host.call_async("delete_note", json!({"id": note}));
        let intent = stage.wait_for_question()["intent_id"].as_str().unwrap().to_owned();
        until("it is said", || host.stderr().contains("`notify-send` is not installed").then_some(()));
        stage.yesgate(&["deny", &intent]).ok();
        host.answer_to(request);
    }
    assert!(host.close().success());
    assert_eq!(host.stderr().matches("is not installed").count(), 1);
    assert_eq!(stage.check_history().gated, 0);
}
