//! Contents at rest: through the real binary, what stands in the files of the home folder and what does not.

use std::fs;
use std::path::Path;

use serde_json::json;
use yesgate_testkit::{Host, Stage, confirm_token, intent_id, structured};

use crate::support::{legacy, stage, state, upstream_count};

/// Looks like a secret, and is in the arguments, the preview and the result.
const MARK: &str = "sk-live-mark-7391";

/// A tool whose preview and result repeat its argument.
fn previewed() -> Stage {
    stage().config(
        "[[rules]]\ntool = \"mock/delete_note\"\nconfirm = \"preview\"\nchannel = \"chat\"\n\
         summary = \"Delete {{args.id}}\"\npreview = { text = \"It would delete {{args.id}}.\" }\n",
    )
}

/// Has the call run with a yes that the agent brings; the id of its question.
#[track_caller]
fn run(host: &mut Host, note: &str) -> String {
    let held = host.call("delete_note", json!({ "id": note }));
    let token = confirm_token(&held);
    let done = host.call("delete_note", json!({"id": note, "confirm_token": token}));
    assert_eq!(structured(&done)["deleted"], note);
    intent_id(&held)
}

/// The files below a folder that hold some bytes.
fn holding(folder: &Path, bytes: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holding(&path, bytes));
        } else if fs::read(&path).unwrap().windows(bytes.len()).any(|window| window == bytes) {
            found.push(path.display().to_string());
        }
    }
    found
}

/// INV11: what was asked, shown and answered stands in no file of the home folder, while `yesgate show` shows it.
#[test]
fn contents_stand_in_no_file_and_are_shown_all_the_same() {
    let stage = previewed();
    let mut host = legacy(&stage);
    let intent = run(&mut host, MARK);
    assert_eq!(holding(&stage.home(), MARK.as_bytes()), Vec::<String>::new(), "while the gateway runs");
    let shown = stage.yesgate(&["show", &intent]).ok().stdout;
    assert!(shown.contains(&format!("It would delete \"{MARK}\".")), "{shown}");
    assert!(shown.matches(MARK).count() >= 3, "summary, preview and arguments: {shown}");
    assert!(host.close().success());
    assert_eq!(holding(&stage.home(), MARK.as_bytes()), Vec::<String>::new(), "after it ended");
    stage.check_history();
}

/// FC-26: a key that is gone is told as that, with what helps; no new key and no new ledger takes its place.
#[test]
fn a_lost_key_is_told_and_nothing_takes_its_place() {
    let stage = previewed();
    let mut host = legacy(&stage);
    let intent = run(&mut host, "a");
    assert!(host.close().success());
    let (key, aside) = (stage.home().join("secret.key"), stage.work().join("secret.key"));
    fs::rename(&key, &aside).unwrap();
    for words in
        [&["pending"][..], &["show", &intent], &["audit", "verify"], &["purge", "--older-than", "1d"]]
    {
        let output = stage.yesgate(words);
        assert_eq!(output.code(), 1, "{words:?}");
        assert!(output.stderr.contains("the ledger is sealed under it"), "{}", output.stderr);
        assert!(output.stderr.contains("Hint: bring back the key"), "{}", output.stderr);
    }
    assert!(!key.exists(), "no new key was made");

    let other = stage.env("YESGATE_SECRET_KEY", "0a".repeat(32));
    let output = other.yesgate(&["pending"]);
    assert_eq!(output.code(), 1);
    assert!(output.stderr.contains("is sealed under the key"), "{}", output.stderr);
    assert!(output.stderr.contains("Hint: bring back the key"), "{}", output.stderr);
    assert!(!output.stderr.contains("damaged"), "{}", output.stderr);

    let digits: String = fs::read(&aside).unwrap().iter().map(|byte| format!("{byte:02x}")).collect();
    let right = other.env("YESGATE_SECRET_KEY", digits);
    assert_eq!(state(&right, &intent), "done");
    right.yesgate(&["audit", "verify"]).ok();
}

/// Doctor says under which key contents are encrypted, and what that does not protect.
#[test]
fn doctor_says_what_encryption_protects_and_what_not() {
    let stage = previewed();
    let findings = stage.yesgate(&["doctor", "--json"]).json();
    let contents =
        findings.as_array().unwrap().iter().find(|finding| finding["topic"] == "contents").unwrap();
    let text = contents["text"].as_str().unwrap();
    for words in ["secret.key", "a copy of the ledger alone", "Whoever can read that file", "back it up"] {
        assert!(text.contains(words), "{text}");
    }
}

/// A purge takes the contents, keeps the trail whole, and leaves nothing that could run again.
#[test]
fn a_purge_takes_the_contents_and_keeps_the_trail() {
    let stage = previewed();
    let mut host = legacy(&stage);
    let intent = run(&mut host, MARK);
    let open = intent_id(&host.call("delete_note", json!({"id": "still open"})));

    assert_eq!(stage.yesgate(&["purge"]).code(), 1, "nothing says how old");
    let would = stage.yesgate(&["purge", "--older-than", "1ms", "--dry-run", "--json"]).ok().json();
    assert_eq!(would["would_purge"], 1);
    assert_eq!(stage.yesgate(&["purge", "--older-than", "1d", "--json"]).ok().json()["purged"], 0);
    assert_eq!(stage.yesgate(&["purge", "--older-than", "1ms", "--json"]).ok().json()["purged"], 1);

    let shown = stage.yesgate(&["show", &intent]).ok().stdout;
    assert!(!shown.contains(MARK) && shown.contains("purged"), "{shown}");
    assert!(shown.contains("by the agent, with the confirm token at level `relayed`"), "{shown}");
    let described = stage.yesgate(&["show", &intent, "--json"]).ok().json();
    assert_eq!((&described["state"], &described["arguments"]), (&json!("done"), &json!(null)));
    assert!(described["purged_at"].is_string() && described["digest"].is_string());
    assert_eq!(state(&stage, &open), "pending");
    assert!(stage.yesgate(&["show", &open]).ok().stdout.contains("still open"));
    let listed = stage.yesgate(&["audit", "list"]).ok().stdout;
    assert!(listed.contains("purged") && listed.contains("count=1"), "{listed}");
    stage.yesgate(&["audit", "verify"]).ok();

    // The same call is asked about anew; what was purged stands for nothing.
    let again = host.call("delete_note", json!({ "id": MARK }));
    assert_ne!(intent_id(&again), intent);
    assert_eq!(upstream_count(&stage, "delete_note"), 1);
    assert!(host.close().success());
}

/// Where the configuration says how long, a gateway purges by itself.
#[test]
fn a_gateway_purges_by_itself_what_was_kept_long_enough() {
    let stage = previewed();
    let mut host = legacy(&stage);
    let intent = run(&mut host, MARK);
    assert!(host.close().success());
    stage.set_config("[ledger]\nkeep = \"1ms\"\n");
    let mut host = legacy(&stage);
    yesgate_testkit::until("its contents are purged", || {
        stage.yesgate(&["show", &intent, "--json"]).ok().json()["purged_at"].is_string().then_some(())
    });
    assert!(host.close().success());
    let rows = stage.audit();
    let row = rows.iter().find(|row| row["entry"]["event"] == "purged").unwrap();
    assert_eq!(row["entry"]["by"], "the gateway, as `keep` says");
}
