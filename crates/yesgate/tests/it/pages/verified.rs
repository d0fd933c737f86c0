//! A yes that a key signed: SSH keys at the command line. Passkeys need a browser.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::json;

use super::{Play, approve, page_of};

/// What is asked for here.
const RULES: &str = r#"
[times]
hold = "1s"
[[rules]]
tool = "notes/delete_note"
then = "ask"
channel = "web"
assurance = "verified"
"#;

/// A key pair of somebody's.
fn key(play: &Play, name: &str) -> PathBuf {
    let file = play.stage.stage().file(name);
    let made = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-C", "", "-f"])
        .arg(&file)
        .status()
        .expect("ssh-keygen can be run");
    assert!(made.success());
    file
}

/// X1: a `verified` rule is refused until somebody has a key, a session is not enough for it, a signature is; and
/// only one of a key that was enrolled.
#[tokio::test]
async fn a_signature_over_exactly_this_call_is_verified() {
    let play = Play::with("", RULES).await;
    let nobody = play.ann.call("notes", "delete_note", json!({"id": "a"})).await;
    assert_eq!(
        (nobody.status, &nobody.body["error"]),
        (403, &json!("no_approver_reachable")),
        "{}",
        nobody.text
    );

    let stage = play.stage.stage();
    let (mine, other) = (key(&play, "mine"), key(&play, "other"));
    let public = mine.with_extension("pub");
    stage.yesgate(&["people", "add-key", "owner", public.to_str().unwrap()]).ok();
    let intent = super::eventually("a key counts", async || {
        let asked = play.ann.call("notes", "delete_note", json!({"id": "a"})).await;
        (asked.status == 202).then(|| asked.text_of("intent_id"))
    })
    .await;

    // Neither the session of the same person nor a bare yes at the command line will do.
    let page = play.owner.get(&page_of(&intent)).await;
    assert!(!page.has_button(("answer", "approve")) && page.html.contains("needs a key"), "{}", page.html);
    let plain = stage.yesgate(&["approve", &intent, "--yes"]);
    assert!(plain.stderr.contains("assurance_too_low") || plain.stderr.contains("verified"), "{plain:?}");
    let foreign = stage.yesgate(&["approve", &intent, "--yes", "--sign", other.to_str().unwrap()]);
    assert!(foreign.stderr.contains("is nobody's here"), "{foreign:?}");
    assert_eq!(play.stage.shown(&intent)["state"], "pending");

    // THREATS §4.3: the others are told of a new key, and its owner need not be.
    let bob = play.person(&["bob", "--role", "viewer"]).await;
    assert!(bob.get("/").await.html.contains("</strong> enrolled the key"));
    assert!(!play.owner.get("/").await.html.contains("</strong> enrolled the key"));

    stage.yesgate(&["approve", &intent, "--yes", "--sign", mine.to_str().unwrap()]).ok();
    let polled = play.polled(&intent).await;
    assert_eq!((&polled["result"]["deleted"], &polled["assurance"]), (&json!("a"), &json!("verified")));
    assert_eq!(play.stage.shown(&intent)["decision"]["by"], "owner with an SSH key");
    play.finish(1);
}

/// X1, FC-34: a key that was revoked signs nothing more, and where no other is left the call is refused at once.
#[tokio::test]
async fn a_key_that_was_revoked_signs_nothing() {
    let play = Play::with("", RULES).await;
    let stage = play.stage.stage();
    let mine = key(&play, "mine");
    stage.yesgate(&["people", "add-key", "owner", mine.with_extension("pub").to_str().unwrap()]).ok();
    let intent = super::eventually("a key counts", async || {
        let asked = play.ann.call("notes", "delete_note", json!({"id": "a"})).await;
        (asked.status == 202).then(|| asked.text_of("intent_id"))
    })
    .await;
    assert!(stage.yesgate(&["people", "forget-keys", "owner"]).ok().stdout.contains("1 keys"));
    let late = stage.yesgate(&["approve", &intent, "--yes", "--sign", mine.to_str().unwrap()]);
    assert!(late.stderr.contains("is nobody's here"), "{late:?}");
    let again = super::eventually("nobody can be asked", async || {
        let asked = play.ann.call("notes", "delete_note", json!({"id": "b"})).await;
        (asked.status == 403).then_some(asked)
    })
    .await;
    assert_eq!(again.body["error"], "no_approver_reachable");
    play.finish(0);
}

/// FC-34: a key that is revoked between the yes and the run takes the yes with it: the signature is verified again where it
/// would let something run.
#[tokio::test]
async fn a_key_that_is_revoked_after_its_yes_runs_nothing() {
    let mut play = Play::with("", &RULES.replace("hold = \"1s\"", "hold = \"1s\"\nrun = \"10s\"")).await;
    let (mine, other) = (key(&play, "mine"), key(&play, "other"));
    let stage = play.stage.stage();
    stage.yesgate(&["people", "add", "bob"]).ok();
    for (name, key) in [("owner", &mine), ("bob", &other)] {
        stage.yesgate(&["people", "add-key", name, key.with_extension("pub").to_str().unwrap()]).ok();
    }
    for (note, end) in [("a", "done"), ("b", "expired")] {
        let intent = super::eventually("a key counts", async || {
            let asked = play.ann.call("notes", "delete_note", json!({"id": note})).await;
            (asked.status == 202).then(|| asked.text_of("intent_id"))
        })
        .await;
        // Nobody is there who could run it at once.
        assert!(play.gateway.close().success());
        let mut says_yes = stage.command(&["approve", &intent, "--yes", "--sign", mine.to_str().unwrap()]);
        says_yes.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut says_yes = says_yes.spawn().unwrap();
        let state = || play.stage.shown(&intent)["state"].clone();
        super::eventually("it is approved", async || (state() == "approved").then_some(())).await;
        if end == "expired" {
            stage.yesgate(&["people", "forget-keys", "owner"]).ok();
        }
        let gateway = play.stage.start_again(&play.gateway);
        super::eventually("its end", async || (state() == end).then_some(())).await;
        says_yes.wait().unwrap();
        assert_eq!(play.ran(), 1, "{note}");
        play.gateway = gateway;
    }
    play.finish(1);
}

/// X6: whoever a call is made for does not say yes to it by being signed in.
#[tokio::test]
async fn nobody_approves_their_own_call_by_a_click() {
    let play = Play::new().await;
    let ann = play.person(&["ann"]).await;
    let intent = play.delete("a").await;
    let page = ann.get(&page_of(&intent)).await;
    assert!(!page.has_button(("answer", "approve")) && page.html.contains("your own call"), "{}", page.html);
    // A form that was sent all the same is refused by the judgement.
    let owners = play.owner.get(&page_of(&intent)).await;
    let seen = owners.form_with(("answer", "approve")).1;
    let seen = seen.iter().find(|(name, _)| name == "seen").unwrap().1.clone();
    let token = page.form_with(("answer", "deny")).1.into_iter().find(|(name, _)| name == "token").unwrap().1;
    let forged = super::eventually("it is taken", async || {
        let fields = [("token", token.as_str()), ("seen", seen.as_str()), ("answer", "approve")];
        let answer = ann.post(&page_of(&intent), &fields).await;
        (answer.status != 403).then_some(answer)
    })
    .await;
    assert_eq!(forged.status, 409, "{}", forged.html);
    assert_eq!(play.stage.shown(&intent)["state"], "pending");
    assert_eq!(approve(&play.owner, &owners, &[]).await.status, 303);
    play.polled(&intent).await;
    play.finish(1);
}
