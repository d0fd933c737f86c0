//! Deciding by REST, with a session: the same as on the page.

use std::process::Command;

use serde_json::json;
use yesgate_testkit::eventually;

use super::{Play, assert_problem, cancel, decide, question};

/// H3, X1: a yes by REST runs the call, once, at level `signed_in`; who comes second is told that.
#[tokio::test]
async fn a_yes_by_rest_runs_exactly_what_was_seen_once() {
    let play = Play::new().await;
    let intent = play.delete("a").await;
    let looked = play.owner.get(&question(&intent)).await;
    assert_eq!((looked.status, &looked.body["state"]), (200, &json!("pending")), "{}", looked.text);
    assert_eq!(
        (&looked.body["arguments"], &looked.body["needs"]),
        (&json!({"id": "a"}), &json!("signed_in"))
    );
    assert_eq!(looked.body["approval_url"], format!("{}/approve/{intent}", play.gateway.url()));
    let yes = json!({"answer": "approve", "seen": looked.text_of("digest")});
    let said = play.owner.post(&decide(&intent), yes.clone()).await;
    assert_eq!(said.status, 200, "{}", said.text);
    assert_eq!(said.body["decision"]["by"], "owner on a page");
    let polled = play.polled(&intent).await;
    assert_eq!((&polled["result"]["deleted"], &polled["assurance"]), (&json!("a"), &json!("signed_in")));
    // The same again, another answer, and a withdrawal: too late.
    assert_problem(&play.owner.post(&decide(&intent), yes).await, 409, "already_decided");
    assert_problem(
        &play.owner.post(&decide(&intent), json!({"answer": "deny"})).await,
        409,
        "already_decided",
    );
    assert_problem(&play.owner.post(&cancel(&intent), json!({})).await, 409, "already_decided");
    let looked = play.owner.get(&question(&intent)).await;
    assert_eq!(looked.body["state"], "done");
    play.finish(1);
}

/// A no, words and a report go the way of the pages, with their reasons; a replayed no is `already_decided`.
#[tokio::test]
async fn a_no_words_and_a_report_do_what_they_do_on_the_page() {
    let play = Play::new().await;
    let intent = play.delete("a").await;
    let no = json!({"answer": "deny", "reason": " keep it "});
    let said = play.owner.post(&decide(&intent), no.clone()).await;
    assert_eq!(
        (&said.body["state"], &said.body["decision"]["reason"]),
        (&json!("denied"), &json!("keep it"))
    );
    assert_eq!(play.polled(&intent).await["reason"], "keep it");
    assert_problem(&play.owner.post(&decide(&intent), no).await, 409, "already_decided");

    let intent = play.delete("b").await;
    assert_problem(
        &play.owner.post(&decide(&intent), json!({"answer": "respond"})).await,
        400,
        "invalid_request",
    );
    let words = json!({"answer": "respond", "reason": "archive it"});
    assert_eq!(play.owner.post(&decide(&intent), words).await.status, 200);
    assert!(play.polled(&intent).await["message"].as_str().unwrap().contains("archive it"));

    let intent = play.delete("c").await;
    assert_eq!(play.owner.post(&decide(&intent), json!({"answer": "report"})).await.status, 200);
    let refused = play.ann.call("notes", "read_note", json!({"id": "a"})).await;
    assert_problem(&refused, 403, "client_frozen");
    play.finish(0);
}

/// X2: a yes to something else than what is stored is none, and neither is one to nothing.
#[tokio::test]
async fn a_yes_to_another_digest_is_none() {
    let play = Play::new().await;
    let (first, second) =
        (play.delete("a").await, play.ask("delete_everything", json!({"name": "prod"})).await);
    let other = play.owner.get(&question(&second)).await.text_of("digest");
    let wrong = play.owner.post(&decide(&first), json!({"answer": "approve", "seen": other})).await;
    assert_problem(&wrong, 402, "content_changed");
    for body in [
        json!({"answer": "approve"}),
        json!({"answer": "approve", "seen": "x"}),
        json!({"answer": "yes"}),
        json!({"answer": "deny", "remembered": true}),
        json!({}),
        json!([]),
    ] {
        assert_problem(&play.owner.post(&decide(&first), body).await, 400, "invalid_request");
    }
    assert_eq!(play.state(&first), "pending");
    play.finish(0);
}

/// M3: where something must be typed, nothing else is a yes.
#[tokio::test]
async fn what_must_be_typed_must_be_typed_here_too() {
    let play = Play::new().await;
    let intent = play.ask("delete_everything", json!({"name": "prod"})).await;
    let looked = play.owner.get(&question(&intent)).await;
    assert_eq!((&looked.body["confirm"], &looked.body["to_type"]), (&json!("type"), &json!("\"prod\"")));
    let seen = looked.text_of("digest");
    assert_problem(&play.owner.approve(&intent).await, 402, "consent_token_mismatch");
    let yes = json!({"answer": "approve", "seen": seen, "typed": "prod"});
    assert_eq!(play.owner.post(&decide(&intent), yes).await.status, 200);
    assert_eq!(play.polled(&intent).await["status"], "approved");
    play.finish(1);
}

/// X1: what needs a key that signs is refused here, with the page on which that can be done.
#[tokio::test]
async fn a_verified_rule_is_decided_on_the_page_only() {
    let rules = super::RULES.replacen("assurance = \"signed_in\"", "assurance = \"verified\"", 1);
    let play = Play::with(&rules).await;
    let key = play.stage.stage().file("key");
    let made =
        Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-C", "", "-f"]).arg(&key).status();
    assert!(made.unwrap().success());
    let public = key.with_extension("pub");
    play.stage.stage().yesgate(&["people", "add-key", "owner", public.to_str().unwrap()]).ok();
    let intent = eventually("the key counts", async || {
        let asked = play.ann.call("notes", "delete_note", json!({"id": "a"})).await;
        (asked.status == 202).then(|| asked.text_of("intent_id"))
    })
    .await;
    let refused = play.owner.approve(&intent).await;
    assert_problem(&refused, 403, "assurance_too_low");
    assert_eq!(refused.body["approval_url"], format!("{}/approve/{intent}", play.gateway.url()));
    assert_eq!(play.state(&intent), "pending");
    // A no needs no key.
    assert_eq!(play.owner.post(&decide(&intent), json!({"answer": "deny"})).await.status, 200);
    play.finish(0);
}

/// A withdrawal ends a question before it runs, and the agent is told.
#[tokio::test]
async fn a_person_withdraws_a_question() {
    let play = Play::new().await;
    let intent = play.delete("a").await;
    let withdrawn = play.owner.post(&cancel(&intent), json!({})).await;
    assert_eq!(
        (withdrawn.status, &withdrawn.body["state"]),
        (200, &json!("cancelled")),
        "{}",
        withdrawn.text
    );
    assert_eq!(play.polled(&intent).await["status"], "cancelled");
    assert_problem(&play.owner.approve(&intent).await, 403, "cancelled");
    assert_eq!(play.rows("cancelled")[0]["by"], "owner on a page");
    play.finish(0);
}
