//! What an agent's key can say about a question: what its user said, and nothing more.

use serde_json::json;
use yesgate_testkit::eventually;

use super::{Play, assert_problem, cancel, decide, question};

/// X1, I3: where the rule takes a relayed yes, an agent passes its user's on, and the stored call runs.
#[tokio::test]
async fn an_agent_passes_on_a_relayed_yes_and_a_no() {
    let play = Play::new().await;
    let intent = play.ask("write_note", json!({"id": "a", "text": "x"})).await;
    let ran = play.ann.post(&decide(&intent), json!({"answer": "approve"})).await;
    assert_eq!(ran.status, 200, "{}", ran.text);
    let looked = play.ann.get(&question(&intent)).await;
    assert_eq!((&looked.body["status"], &looked.body["assurance"]), (&json!("approved"), &json!("relayed")));
    let again = play.ann.post(&decide(&intent), json!({"answer": "approve"})).await;
    assert_problem(&again, 409, "already_decided");

    let intent = play.ask("write_note", json!({"id": "b", "text": "x"})).await;
    let no = play.ann.post(&decide(&intent), json!({"answer": "deny", "reason": "not now"})).await;
    assert_eq!((no.status, &no.body["status"]), (200, &json!("denied")), "{}", no.text);
    play.finish(1);
}

/// X1: an agent's yes never counts for more than `relayed`; the refusal stands in the audit trail.
#[tokio::test]
async fn an_agent_never_decides_above_relayed_and_the_try_is_written_down() {
    let play = Play::new().await;
    let intent = play.delete("a").await;
    let seen = play.owner.get(&question(&intent)).await.text_of("digest");
    for (body, code) in [
        (json!({"answer": "approve"}), "assurance_too_low"),
        (json!({"answer": "approve", "seen": seen, "typed": "a"}), "assurance_too_low"),
        (json!({"answer": "approve", "remember": {"scope": "tool", "uses": 9}}), "not_for_agents"),
        (json!({"answer": "report"}), "not_for_agents"),
        (json!({"answer": "respond", "reason": "go on"}), "not_for_agents"),
    ] {
        assert_problem(&play.ann.post(&decide(&intent), body).await, 403, code);
    }
    let codes: Vec<_> = play.rows("refused").iter().map(|row| row["code"].clone()).collect();
    assert_eq!(codes.iter().filter(|code| *code == "assurance_too_low").count(), 2, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| *code == "not_for_agents").count(), 3, "{codes:?}");
    assert_eq!(play.state(&intent), "pending");
    play.finish(0);
}

/// The agent that asked withdraws its question; nobody else's, and not what is over.
#[tokio::test]
async fn an_agent_withdraws_its_own_question_only() {
    let play = Play::new().await;
    let (bob, _) = play.key(&["--user", "bob"]);
    let intent = play.delete("a").await;
    for path in [question(&intent), decide(&intent), cancel(&intent)] {
        let tried = match path == question(&intent) {
            true => bob.get(&path).await,
            false if path == decide(&intent) => bob.post(&path, json!({"answer": "deny"})).await,
            false => bob.post(&path, json!({})).await,
        };
        assert_problem(&tried, 404, "no_such_intent");
    }
    let withdrawn = play.ann.post(&cancel(&intent), json!({})).await;
    assert_eq!(
        (withdrawn.status, &withdrawn.body["status"]),
        (200, &json!("cancelled")),
        "{}",
        withdrawn.text
    );
    assert_problem(&play.owner.approve(&intent).await, 403, "cancelled");
    assert_problem(&play.ann.post(&cancel(&intent), json!({})).await, 403, "cancelled");
    assert_problem(&play.ann.post(&cancel(&intent), json!({"x": 1})).await, 400, "invalid_request");
    play.finish(0);
}

/// A key never sees what is people's: questions of others, grants, the trail, keys and sessions.
#[tokio::test]
async fn a_key_is_shut_out_of_what_is_peoples() {
    let play = Play::new().await;
    let key = play.stage.key("eve");
    let eve = play.gateway.rest().bearer(&key);
    eventually("her key is known", async || (eve.get("/api/openapi.json").await.status == 200).then_some(()))
        .await;
    for path in [
        "/api/intents",
        "/api/grants",
        "/api/grants/gr_x",
        "/api/audit",
        "/api/clients",
        "/api/me",
        "/api/me/sessions",
    ] {
        assert_problem(&play.ann.get(path).await, 403, "not_for_agents");
        // Not with somebody's cookie beside it, either: whoever shows a key is an agent.
        let both = eve.draft("GET", path).header("cookie", &play.owner.browser.cookie()).send().await;
        assert_eq!(both.status(), 403, "{path}");
        assert_eq!(play.gateway.rest().bearer("ygk_nobody").get(path).await.status, 401, "{path}");
        assert_problem(&play.gateway.rest().get(path).await, 401, "unauthorized");
    }
    for path in ["/api/me/sessions", "/api/me/sessions/x", "/api/clients/key_x", "/api/grants/gr_x"] {
        let tried = play.ann.draft("DELETE", path).without("content-type").send().await;
        assert_eq!(tried.status(), 403, "{path}");
    }
    assert_eq!(play.owner.get("/api/me").await.status, 200, "nobody was signed out");
    play.finish(0);
}

/// H8: a session never calls a tool, mints or consumes: those are for keys.
#[tokio::test]
async fn a_session_never_calls_a_tool() {
    let play = Play::new().await;
    for (path, body) in [
        ("/api/tools/notes/read_note", json!({"id": "a"})),
        ("/api/tools/notes/delete_note", json!({"id": "a"})),
        ("/api/consent/mint", json!({"operation": "x"})),
        ("/api/consent/consume", json!({"operation": "x", "confirm_token": "pbc_x"})),
    ] {
        assert_problem(&play.owner.post(path, body).await, 403, "not_for_people");
    }
    assert_eq!(play.stage.calls("notes").len(), 0);
    play.finish(0);

    // Where callers need no key, a session is still none.
    let stage = yesgate_testkit::ServeStage::new(env!("CARGO_BIN_EXE_yesgate"));
    let config = stage.child("notes", &[]);
    let stage = stage.config(&config);
    let mut gateway = stage.start();
    let owner = super::Person::new(&gateway, &gateway.first_link()).await;
    let tried = owner.post("/api/tools/notes/read_note", json!({"id": "a"})).await;
    assert_problem(&tried, 403, "not_for_people");
    assert_eq!(gateway.rest().call("notes", "read_note", json!({"id": "a"})).await.status, 200);
    assert!(gateway.close().success());
}
