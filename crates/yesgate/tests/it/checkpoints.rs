//! Checkpoints of the audit trail: written off the box by a running gateway, and held against the trail later.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use yesgate_testkit::{Gateway, RestHost, ServeStage, Stage, eventually, until};

use crate::notices::receiver::{Receiver, SECRET, Says};

const RULES: &str = r#"
[[rules]]
name = "deletes"
tool = "notes/*"
then = "ask"
channel = "out_of_band"
"#;

/// A gateway that writes checkpoints.
struct Play {
    stage: ServeStage,
    gateway: Gateway,
    agent: RestHost,
}

impl Play {
    /// With this in `[checkpoints]`, in which `{folder}` is a folder of the test's.
    fn new(checkpoints: &str) -> Self {
        let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate")).env("HOOK_SECRET", SECRET);
        let checkpoints = checkpoints.replace("{folder}", folder(stage.stage()).to_str().unwrap());
        let server = stage.child("notes", &["--gate", "/no/such/gate"]);
        let stage = stage.config(&format!(
            "[times]\nhold = \"1s\"\n[checkpoints]\nevery = \"1s\"\n{checkpoints}\n{RULES}\n{server}"
        ));
        let gateway = stage.start();
        let agent = gateway.rest();
        Self { stage, gateway, agent }
    }

    /// Has a note deleted, with everything that belongs to it.
    async fn delete(&self, note: &str) {
        let asked = self.agent.call("notes", "delete_note", json!({"id": note})).await;
        self.stage.approve(&asked.text_of("intent_id")).ok();
    }

    fn doctor(&self) -> Value {
        let findings = self.stage.stage().yesgate(&["doctor", "--json"]).json();
        let is_it = |finding: &&Value| finding["topic"] == "checkpoints";
        findings.as_array().unwrap().iter().find(is_it).unwrap().clone()
    }
}

fn folder(stage: &Stage) -> PathBuf {
    let folder = stage.home().parent().unwrap().join("elsewhere");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn lines(path: &PathBuf) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// THREATS G1: a running gateway marks the trail in a file, with its signature, and the trail holds the marks.
#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_marks_its_trail_in_a_file() {
    let mut play = Play::new("file = \"{folder}/marks.jsonl\"");
    let file = folder(play.stage.stage()).join("marks.jsonl");
    play.delete("a").await;
    let last = || play.stage.stage().audit().last().unwrap()["sequence"].clone();
    until("the last row is marked", || {
        let marked = lines(&file).pop()?["checkpoint"]["sequence"].clone();
        (marked == last()).then_some(())
    });
    let key = play.stage.stage().yesgate(&["receipt", "key"]).ok().stdout.trim().to_owned();
    assert!(lines(&file).iter().all(|line| line["key"] == json!(key)));
    assert_eq!(play.doctor()["weight"], "fine", "{}", play.doctor());

    play.stage.stage().yesgate(&["audit", "checkpoint", "--file", file.to_str().unwrap()]).ok();
    let held = play.stage.stage().yesgate(&["audit", "verify", "--checkpoints", file.to_str().unwrap()]).ok();
    assert!(held.stdout.contains("it was neither cut off nor written anew"), "{}", held.stdout);
    assert_eq!(held.stderr, "", "nobody asked how far it has got");
    let told = play.stage.stage().yesgate(&["audit", "verify", "--progress"]).ok();
    let rows = last();
    assert_eq!(told.stderr, format!("{rows} of {rows} rows\n"));
    assert!(play.gateway.close().success());
}

/// THREATS G1: marks of another installation, and marks that somebody changed, are refused.
#[tokio::test(flavor = "multi_thread")]
async fn checkpoints_of_another_installation_are_refused() {
    let (mine, other) = (Play::new("file = \"{folder}/m\""), Play::new("file = \"{folder}/m\""));
    mine.delete("a").await;
    other.delete("a").await;
    let mark = |play: &Play| play.stage.stage().yesgate(&["audit", "checkpoint"]).ok().stdout;
    let file = folder(mine.stage.stage()).join("given");
    let verify = |text: &str| {
        std::fs::write(&file, text).unwrap();
        mine.stage.stage().yesgate(&["audit", "verify", "--json", "--checkpoints", file.to_str().unwrap()])
    };
    let good = verify(&mark(&mine)).ok().json();
    assert_eq!((&good["checkpoints"], &good["problems"]), (&json!(1), &json!([])));
    let check = |text: &str, expected: &str| {
        let refused = verify(text);
        assert_eq!(refused.status.code(), Some(5));
        let problems = refused.json()["problems"].to_string();
        assert!(problems.contains(expected), "{problems}");
    };
    check(&mark(&other), "line 1 of ");
    check(&mark(&other), "this checkpoint was signed with another key");
    check(&mark(&mine).replace("\"sequence\":", "\"sequence\":1"), "the signature does not hold");
    check("{}\n", "this is no checkpoint of Yesgate");
}

/// FC-9: where checkpoints cannot be written, calls go on; it is told, tried again, and over once it works.
#[tokio::test(flavor = "multi_thread")]
async fn a_place_that_takes_no_checkpoints_holds_up_no_call() {
    let receiver = Receiver::that_says(&[Says::Status(500)]);
    let play =
        Play::new(&format!("webhook = {{ url = \"{}\", secret = \"${{HOOK_SECRET}}\" }}", receiver.url));
    play.delete("a").await;
    assert_eq!(play.stage.calls("notes").len(), 1);
    receiver.next();
    until("the failure is noted", || (play.doctor()["weight"] == "mend").then_some(()));
    let said = play.doctor()["text"].as_str().unwrap().to_owned();
    assert!(said.contains("the webhook of [checkpoints] did not take it: the answer was 500"), "{said}");
    assert!(!said.contains(&receiver.url), "{said}");
    assert!(play.gateway.stderr().contains("could not be written, and is tried again"));

    receiver.now_says(Says::Status(204));
    until("it is over", || (play.doctor()["weight"] == "fine").then_some(()));
    receiver.forget();
    play.delete("b").await;
    let told = receiver.next();
    assert_eq!(told.id, format!("checkpoint_{}", told.body["checkpoint"]["sequence"]));
    assert_eq!(play.stage.calls("notes").len(), 2);
}

/// FC-9: where the operator says after how long, nothing is asked and nothing runs any more, whatever was decided; reads pass.
/// Once a checkpoint is taken, it goes on.
#[tokio::test(flavor = "multi_thread")]
async fn without_checkpoints_for_too_long_nothing_is_asked_and_nothing_runs() {
    let play = Play::new("file = \"{folder}/later/marks.jsonl\"\nrefuse_after = \"1s\"");
    let notes = AtomicU32::new(0);
    // Each is another question: one that is open already could be asked about again.
    let ask = async || {
        let note = notes.fetch_add(1, Ordering::Relaxed).to_string();
        play.agent.call("notes", "delete_note", json!({"id": note})).await
    };
    let mut open = None;
    let refused = eventually("nothing is asked", async || match ask().await {
        asked if asked.status == 503 => Some(asked),
        asked => {
            open = Some(asked.text_of("intent_id"));
            None
        }
    })
    .await;
    let open = open.expect("it was asked at first");
    assert_eq!(refused.text_of("error"), "consent_unavailable");
    assert!(refused.text_of("message").contains("cannot be marked off the machine"), "{refused:?}");
    let ready = async || play.agent.get("/readyz").await.status;
    eventually("it is not ready", async || (ready().await == 503).then_some(())).await;
    assert!(play.doctor()["text"].as_str().unwrap().contains("so nothing is asked and nothing runs"));
    // A decision is taken, and waits.
    let calls = || play.stage.calls("notes").len();
    std::thread::scope(|scope| {
        let approving = scope.spawn(|| play.stage.approve(&open));
        let show = || play.stage.stage().yesgate(&["show", &open, "--json"]).ok().json();
        until("the yes is there", || (show()["state"] == "approved").then_some(()));
        assert_eq!(calls(), 0);
        std::fs::create_dir(folder(play.stage.stage()).join("later")).unwrap();
        approving.join().unwrap().ok();
    });
    assert_eq!(calls(), 1);
    eventually("it is ready", async || (ready().await == 200).then_some(())).await;
    assert_eq!(ask().await.text_of("status"), "approval_required");
}

/// X7: old rows go to a file and out of the ledger, by a human's word; what is left is proven alone, and with the file
/// everything is.
#[tokio::test(flavor = "multi_thread")]
async fn old_rows_are_exported_and_taken_out_and_all_is_still_proven() {
    let mut play = Play::new("file = \"{folder}/marks.jsonl\"");
    play.delete("a").await;
    assert!(play.gateway.close().success());
    let stage = play.stage.stage();
    let (marks, rows) = (folder(stage).join("marks.jsonl"), folder(stage).join("rows.jsonl"));
    let (marks, rows) = (marks.to_str().unwrap(), rows.to_str().unwrap());
    stage.yesgate(&["audit", "checkpoint", "--file", marks]).ok();
    let before = stage.audit();
    let prune = ["audit", "prune", "--before", "2999-01-01", "--exported", rows];

    assert_eq!(stage.yesgate(&["audit", "export", "--older", "2y", rows]).code(), 4, "none is so old");
    let refused = stage.yesgate(&[&prune[..], &["--yes"]].concat());
    assert!(refused.code() != 0 && stage.audit() == before, "{refused:?}");
    stage.yesgate(&["audit", "export", "--before", "2999-01-01", rows]).ok();
    assert_eq!(stage.audit(), before, "it is only written down elsewhere");
    let asked = stage.yesgate(&prune);
    assert!(asked.code() == 3 && asked.stdout.contains("--yes"), "{asked:?}");
    assert_eq!(stage.audit(), before);
    let text = std::fs::read_to_string(rows).unwrap();
    std::fs::write(rows, text.replacen("delete_note", "forget_note", 1)).unwrap();
    let refused = stage.yesgate(&[&prune[..], &["--yes"]].concat());
    assert!(refused.stderr.contains("does not follow from the one before it"), "{refused:?}");
    std::fs::write(rows, &text).unwrap();
    stage.yesgate(&[&prune[..], &["--yes"]].concat()).ok();

    let after = stage.audit();
    assert_eq!(after.len(), 1, "{after:#?}");
    assert_eq!(
        (&after[0]["entry"]["event"], &after[0]["entry"]["up_to"]),
        (&json!("pruned"), &json!(before.len()))
    );
    let alone = stage.yesgate(&["audit", "verify"]).ok().stdout;
    assert!(
        alone.contains(&format!("The trail begins after row {}, as was signed", before.len())),
        "{alone}"
    );
    let both =
        stage.yesgate(&["audit", "verify", "--with", rows, "--checkpoints", marks, "--json"]).ok().json();
    assert_eq!((&both["rows"], &both["unchecked"]), (&json!(before.len() + 1), &json!(0)));
    assert!(both["checkpoints"].as_u64() >= Some(1), "{both}");

    // The gate goes on as before.
    play.gateway = play.stage.start();
    play.agent = play.gateway.rest();
    play.delete("b").await;
    assert_eq!(play.stage.calls("notes").len(), 2);
    play.stage.stage().yesgate(&["audit", "verify", "--with", rows]).ok();
}
