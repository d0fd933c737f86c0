//! Two organisations at one gateway never see each other's anything.

use serde_json::{Value, json};
use yesgate_testkit::{RestAnswer, Visitor, WebHost};

use super::{Play, delete, read};

async fn fetched(who: &Visitor, path: &str) -> RestAnswer {
    RestAnswer::read(who.draft("GET", path).send().await).await
}

/// O-V4: neither pages nor API nor polls of one organisation show anything of the other: no client, no connection, no
/// question, no person, no session.
#[tokio::test]
async fn two_organisations_never_see_each_others_anything() {
    let play = Play::new().await;
    let people = [
        play.person(&["ada", "--org", "acme", "--role", "owner"]).await,
        play.person(&["ada", "--org", "other", "--role", "owner"]).await,
    ];
    let mut sides = Vec::new();
    for (person, mark) in people.into_iter().zip(["acme-mark", "other-mark"]) {
        let words = json!({
            "client_name": mark, "redirect_uris": ["http://127.0.0.1:7777/callback"],
            "token_endpoint_auth_method": "none",
        });
        let client = yesgate_testkit::OAuthClient::register_as(play.gateway.url(), words).await;
        let tokens = client.connect(&person).await;
        let asked = play.rest(&tokens).call("notes", "delete_note", json!({"id": mark})).await;
        sides.push((person, mark, client, tokens, asked.text_of("intent_id")));
    }
    for (me, them) in [(0, 1), (1, 0)] {
        let (person, mine, _, tokens, _) = &sides[me];
        let (_, theirs, client, their_tokens, intent) = &sides[them];
        let own = person.get("/settings/connected-clients").await;
        assert!(own.html.contains(mine), "{}", own.html);
        for path in ["/", "/history", "/people", "/settings/connected-clients", "/grants"] {
            let page = person.get(path).await;
            for word in [theirs, client.id(), intent.as_str()] {
                assert!(!page.html.contains(word), "{path} of {mine} has {word}");
            }
        }
        for path in ["/api/clients", "/api/intents", "/api/me/sessions"] {
            let listed = fetched(person, path).await;
            assert!(!listed.text.contains(theirs) && !listed.text.contains(client.id()), "{path}");
            assert!(!listed.text.contains(intent.as_str()), "{path}");
        }
        assert_eq!(person.get(&format!("/approve/{intent}")).await.status, 404);
        assert_eq!(fetched(person, &format!("/api/intents/{intent}")).await.status, 404);
        assert_eq!(play.rest(tokens).get(&format!("/api/intents/{intent}")).await.status, 404);
        let asked = WebHost::new(client.resource()).bearer(&tokens.access);
        let status = asked.call("yesgate_status", json!({"intent_id": intent})).await;
        assert!(!status.to_string().contains(theirs), "{status:#}");

        let by_client = format!("/api/mcp/oauth/clients/{}", client.id());
        assert_eq!(delete(person, &play.gateway, &by_client).await.status, 404);
        assert_eq!(read(&play.rest(their_tokens)).await.status, 200, "it is still connected");
    }
    for (.., intent) in &sides {
        assert_eq!(play.stage.shown(intent)["state"], "pending");
    }
    let listed: Value = fetched(&sides[0].0, "/api/clients").await.body;
    assert!(listed.to_string().contains("acme-mark"), "{listed:#}");
    play.finish(0);
}

/// O-V4: the audit trail that the owner of one organisation reads, on the page or by REST, names no client of another's.
#[tokio::test]
async fn the_audit_trail_of_one_organisation_names_nothing_of_another() {
    let play = Play::new().await;
    let acme = play.person(&["ada", "--org", "acme", "--role", "owner"]).await;
    let other = play.person(&["eve", "--org", "other", "--role", "owner"]).await;
    let client = play.client().await;
    client.connect(&acme).await;
    for path in ["/audit", "/api/audit"] {
        let read = fetched(&other, path).await;
        assert!(!read.text.contains(client.id()), "{path} has the client of another organisation");
    }
    play.finish(0);
}

/// H4: what one organisation's client was told for its question is worth nothing to the other's, though user and tool
/// have the same names.
#[tokio::test]
async fn a_question_of_one_organisation_is_not_released_by_the_other() {
    let play = Play::with("").await;
    let acme = play.person(&["ada", "--org", "acme", "--role", "owner"]).await;
    let other = play.person(&["ada", "--org", "other", "--role", "owner"]).await;
    let client = play.client().await;
    let (mine, theirs) = (client.connect(&acme).await, client.connect(&other).await);
    let asked = play.rest(&mine).call("notes", "delete_note", json!({"id": "a"})).await;
    let intent = asked.text_of("intent_id");
    let same = play.rest(&theirs).call("notes", "delete_note", json!({"id": "a"})).await;
    assert_ne!(same.text_of("intent_id"), intent);
    // One client at two organisations: each has a connection of its own, and ends only that.
    assert_eq!(delete(&other, &play.gateway, "/api/me/sessions").await.status, 200);
    assert_eq!(read(&play.rest(&mine)).await.status, 200);
    assert_eq!(play.stage.shown(&intent)["state"], "pending");
    assert!(play.stage.calls("notes").iter().all(|call| call["params"]["name"] == "read_note"));
    play.finish(0);
}
