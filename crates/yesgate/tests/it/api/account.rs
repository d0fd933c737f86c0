//! A person's own account: who they are, where they are signed in, and leaving everywhere at once.

use serde_json::json;
use yesgate_testkit::eventually;

use super::{Person, Play, assert_problem};

/// O-S3: everybody sees and ends their own sessions, and nobody another's.
#[tokio::test]
async fn sessions_are_listed_and_ended_by_their_own_person() {
    let play = Play::new().await;
    let me = play.owner.get("/api/me").await;
    assert_eq!(
        (&me.body["name"], &me.body["role"], &me.body["assurance"]),
        (&json!("owner"), &json!("owner"), &json!("signed_in"))
    );
    let other = play.person(&["cy", "--role", "owner"]).await;
    let theirs = other.get("/api/me").await.body["session"]["id"].as_str().unwrap().to_owned();
    let sessions = play.owner.get("/api/me/sessions").await.body["sessions"].clone();
    assert_eq!((sessions.as_array().unwrap().len(), &sessions[0]["current"]), (1, &json!(true)));
    assert_problem(&play.owner.delete(&format!("/api/me/sessions/{theirs}")).await, 404, "not_found");
    let ended = other.delete(&format!("/api/me/sessions/{theirs}")).await;
    assert_eq!(ended.status, 200, "{}", ended.text);
    assert!(ended.header("set-cookie").unwrap().contains("Max-Age=0"));
    assert_problem(&other.get("/api/me").await, 401, "unauthorized");
    assert_eq!(play.owner.get("/api/me").await.status, 200);
    play.finish(0);
}

/// O7, FC-34: one call signs somebody out everywhere, revokes every key of theirs from the next request on, and withdraws
/// what was asked with them.
#[tokio::test]
async fn one_call_ends_all_sessions_and_keys_of_a_person() {
    let play = Play::new().await;
    let told =
        play.stage.stage().yesgate(&["people", "add", "ann", "--role", "approver", "--json"]).ok().json();
    let ann = Person::new(&play.gateway, told["link"].as_str().unwrap()).await;
    let (bob, _) = play.key(&["--user", "bob"]);
    eventually("bob's key is known", async || {
        (bob.get("/api/openapi.json").await.status == 200).then_some(())
    })
    .await;
    assert_eq!(play.ann.get("/api/openapi.json").await.status, 200);
    let intent = play.delete("a").await;
    let ended = ann.delete("/api/me/sessions").await;
    assert_eq!(
        (ended.status, &ended.body),
        (200, &json!({"sessions": 1, "connections": 0, "clients": 1, "intents": 1})),
        "{}",
        ended.text
    );
    assert_problem(&ann.get("/api/me").await, 401, "unauthorized");
    assert_problem(&play.ann.get("/api/openapi.json").await, 401, "unauthorized");
    assert_eq!(play.state(&intent), "cancelled");
    assert_eq!(bob.get("/api/openapi.json").await.status, 200);
    assert_eq!(play.owner.get("/api/me").await.status, 200);
    play.finish(0);
}
