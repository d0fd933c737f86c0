//! Who may do what, and inviting others.

use serde_json::json;

use super::{Play, approve, page_of};

/// A viewer sees the question and no button; a form that is sent all the same decides nothing.
#[tokio::test]
async fn a_viewer_looks_and_decides_nothing() {
    let play = Play::new().await;
    let viewer = play.person(&["vic", "--role", "viewer"]).await;
    let intent = play.delete("a").await;
    let page = viewer.get(&page_of(&intent)).await;
    assert_eq!(page.status, 200);
    assert!(!page.has_button(("answer", "approve")) && !page.has_button(("answer", "deny")));
    let owners = play.owner.get(&page_of(&intent)).await;
    let (action, fields) = owners.form_with(("answer", "deny"));
    let fields: Vec<(&str, &str)> =
        fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(viewer.post(&action, &fields).await.status, 403);
    assert_eq!(viewer.get("/people").await.status, 403);
    assert_eq!(play.stage.shown(&intent)["state"], "pending");
    play.finish(0);
}

/// People of another organisation do not see a question, by list or by name.
#[tokio::test]
async fn another_organisation_sees_nothing() {
    let play = Play::new().await;
    let other = play.person(&["eve", "--org", "other", "--role", "owner"]).await;
    let intent = play.delete("secret-note").await;
    assert_eq!(other.get(&page_of(&intent)).await.status, 404);
    for path in ["/", "/history", "/people", "/grants"] {
        let page = other.get(path).await;
        assert!(!page.html.contains("secret-note") && !page.html.contains(&intent), "{path}");
    }
    let owners = play.owner.get(&page_of(&intent)).await;
    let (action, fields) = owners.form_with(("answer", "deny"));
    let fields: Vec<(&str, &str)> =
        fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(other.post(&action, &fields).await.status, 404);
    assert_eq!(play.stage.shown(&intent)["state"], "pending");
    play.finish(0);
}

/// An owner invites on the page; the link is shown once, lets the new person in, and their yes counts.
#[tokio::test]
async fn an_invited_person_comes_in_and_decides() {
    let play = Play::new().await;
    let people = play.owner.get("/people").await;
    let token = people.form_with_action("/people");
    let fields = [
        ("token", token.as_str()),
        ("name", "bob"),
        ("role", "approver"),
        ("mail", ""),
        ("groups", "ops dev"),
    ];
    let invited = play.owner.post("/people", &fields).await;
    assert_eq!(invited.status, 200, "{}", invited.html);
    let link = invited.html.split("aria-label=\"Sign-in link\">").nth(1).unwrap().split('<').next().unwrap();
    assert!(!play.owner.get("/people").await.html.contains("ygl_"));
    let bob = play.gateway.visitor().sign_in(link).await;
    let intent = play.delete("a").await;
    let page = bob.get(&page_of(&intent)).await;
    assert_eq!(approve(&bob, &page, &[]).await.status, 303);
    assert_eq!(play.polled(&intent).await["result"]["deleted"], "a");
    let shown = play.stage.shown(&intent);
    assert_eq!(shown["decision"]["by"], "bob on a page");
    let listed = play.stage.stage().yesgate(&["people", "list", "--json"]).ok().json();
    assert_eq!(listed[1]["groups"], json!(["dev", "ops"]));
    play.finish(1);
}

/// Whoever rules another organisation takes nothing from those who decide here.
#[tokio::test]
async fn an_owner_elsewhere_changes_nothing_here() {
    let play = Play::new().await;
    let stage = play.stage.stage();
    stage.yesgate(&["people", "add", "root", "--role", "owner", "--org", "elsewhere"]).ok();
    let held = play.ann.call("notes", "delete_note", json!({"id": "a"})).await;
    assert_eq!(held.body["status"], "approval_required");
    play.finish(0);
}
