//! The keys of agents: listed with what they asked, and revoked at once.

use serde_json::json;
use yesgate_testkit::eventually;

use super::{Play, assert_problem};

/// O6: whoever owns the gateway sees every key of the organisation, others their own; a revoked key is dead on the next
/// request.
#[tokio::test]
async fn a_key_is_listed_and_revoked_on_the_next_request() {
    let play = Play::new().await;
    let (bob, made) = play.key(&["--user", "bob", "--client", "bot", "--name", "bobs"]);
    eventually("bob's key is known", async || {
        (bob.get("/api/openapi.json").await.status == 200).then_some(())
    })
    .await;
    play.delete("a").await;
    let clients = play.owner.get("/api/clients").await.body["clients"].clone();
    let of = |user: &str| {
        clients.as_array().unwrap().iter().find(|client| client["user"] == user).unwrap().clone()
    };
    assert_eq!((&of("ann")["asks"], &of("bob")["asks"]), (&json!(1), &json!(0)));
    assert!(of("ann")["first_asked_at"].is_string() && of("bob")["last_asked_at"].is_null());
    assert_eq!((&of("bob")["name"], &of("bob")["client"]), (&json!("bobs"), &json!("bot")));
    assert!(!clients.to_string().contains(made["key"].as_str().unwrap()), "a key is shown once");

    let viewer = play.person(&["bob", "--role", "viewer"]).await;
    let own = viewer.get("/api/clients").await.body["clients"].clone();
    assert_eq!(own, json!([of("bob")]));
    let path = |user: &str| format!("/api/clients/{}", of(user)["id"].as_str().unwrap());
    assert_problem(&viewer.delete(&path("ann")).await, 404, "not_found");
    assert_eq!(play.ann.get("/api/openapi.json").await.status, 200);
    let revoked = viewer.delete(&path("bob")).await;
    assert_eq!(revoked.status, 200, "{}", revoked.text);
    assert!(revoked.body["revoked_at"].is_string());
    assert_problem(&bob.get("/api/openapi.json").await, 401, "unauthorized");
    assert_eq!(play.owner.delete(&path("ann")).await.status, 200);
    assert_problem(&play.ann.call("notes", "read_note", json!({"id": "a"})).await, 401, "unauthorized");
    assert_problem(&play.owner.delete("/api/clients/nonsense").await, 404, "not_found");
    play.finish(0);
}
