//! Changing the arguments of a question on its page, and saying yes to what came of it.

use serde_json::json;
use yesgate_testkit::{Page, Visitor};

use super::{Play, approve, page_of};

/// Where nobody may delete `b`.
const STRICT: &str = r#"
[[rules]]
name = "not b"
tool = "notes/delete_note"
when = 'args.id == "b"'
then = "reject"
reason = "b is kept"
"#;

/// Sends changed arguments, and gives back the page that shows what came of it.
async fn look(who: &Visitor, intent: &str, arguments: &str) -> Page {
    let page = who.get(&page_of(intent)).await;
    who.press(&page, ("edit", "look"), &[("arguments", arguments)]).await
}

/// X6: what a human made of a call on its page runs once in its place, and the agent is told what really ran.
#[tokio::test]
async fn a_changed_call_runs_once_and_the_agent_is_told() {
    let play = Play::new().await;
    let intent = play.delete("a").await;
    let looked = look(&play.owner, &intent, "{\r\n  \"id\": \"b\"\r\n}").await;
    assert_eq!(looked.status, 200, "{}", looked.html);
    let asked = play.stage.shown(&intent);
    for shown in ["removed: </span><bdi>id: &#34;a&#34;", "added: </span><bdi>id: &#34;b&#34;", "10 bytes"] {
        assert!(looked.html.contains(shown), "{shown}: {}", looked.html);
    }
    let code = asked["match_code"].as_str().unwrap();
    assert!(!looked.html.contains(code), "the changed call has a code of its own: {}", looked.html);
    assert_eq!((&asked["state"], play.ran()), (&json!("pending"), 0), "looking decides nothing");

    let answer = approve(&play.owner, &looked, &[]).await;
    assert_eq!(answer.status, 303, "{}", answer.html);
    let made = answer.header("location").unwrap().to_owned();
    assert_ne!(made, page_of(&intent));
    let polled = play.polled(&intent).await;
    assert_eq!((&polled["status"], &polled["edited"]), (&json!("approved"), &json!(true)), "{polled:#}");
    assert_eq!(
        (&polled["arguments"], &polled["result"]["deleted"]),
        (&json!({"id": "b"}), &json!("b")),
        "{polled:#}"
    );
    assert_eq!(polled["assurance"], "signed_in", "{polled:#}");
    assert_eq!(play.stage.shown(&intent)["state"], "superseded");
    assert!(play.owner.get(&made).await.html.contains("It ran once"));
    // The same yes again is none.
    assert_eq!(play.owner.press(&looked, ("answer", "approve"), &[]).await.status, 403);
    play.finish(1);
}

/// X6: changed arguments are judged like any others; what the policy refuses, or nobody can read, runs nothing, and the
/// page says why and keeps what was written.
#[tokio::test]
async fn what_cannot_be_put_is_said_and_runs_nothing() {
    let play = Play::with("", &format!("{STRICT}\n{}", super::RULES)).await;
    let intent = play.delete("a").await;
    for (arguments, why) in [
        ("{\"id\": \"b\"}", "b is kept"),
        ("{\"id\": \"c\", \"id\": \"d\"}", "not readable"),
        ("[1]", "no JSON object"),
        ("", "not readable"),
        ("{\"id\":\"a\"}", "nothing was changed"),
    ] {
        let page = look(&play.owner, &intent, arguments).await;
        assert_eq!(page.status, 409, "{arguments}: {}", page.html);
        assert!(page.html.contains(why), "{why}: {}", page.html);
        assert!(page.html.contains("<details class=\"other\" open>"), "{}", page.html);
        assert!(!page.html.contains("Approve the changed call"));
        assert_eq!(play.stage.shown(&intent)["state"], "pending");
    }
    play.finish(0);
}

/// X2: the yes to a changed call is to what was shown: with other arguments, or for another question, it is none.
#[tokio::test]
async fn a_yes_to_another_change_is_none() {
    let play = Play::new().await;
    let intent = play.delete("a").await;
    let looked = look(&play.owner, &intent, "{\"id\": \"b\"}").await;
    let (action, fields) = looked.form_with(("answer", "approve"));
    let swapped: Vec<(&str, &str)> = fields
        .iter()
        .map(|(name, value)| (name.as_str(), if name == "arguments" { "{\"id\":\"c\"}" } else { value }))
        .collect();
    let answer = yesgate_testkit::eventually("it is not inert any more", async || {
        let answer = play.owner.post(&action, &swapped).await;
        (answer.status != 403).then_some(answer)
    })
    .await;
    assert_eq!(answer.status, 409, "{}", answer.html);
    assert_eq!(play.stage.shown(&intent)["state"], "pending");
    play.finish(0);
}

/// O-K3: a token that was made for another form, or for another person, changes nothing; a viewer changes nothing.
#[tokio::test]
async fn a_foreign_token_and_a_viewer_change_nothing() {
    let play = Play::new().await;
    let (bob, eve) = (play.person(&["bob"]).await, play.person(&["eve", "--role", "viewer"]).await);
    let intent = play.delete("a").await;
    let page = play.owner.get(&page_of(&intent)).await;
    let action = format!("{}/edit", page_of(&intent));
    let arguments = ("arguments", "{\"id\": \"b\"}");
    let token = page.form_with_action(&action);
    for foreign in [token.as_str(), &page.form_with_action(&page_of(&intent)), "00"] {
        let answer = bob.post(&action, &[("token", foreign), arguments]).await;
        assert_eq!(answer.status, 403, "{}", answer.html);
    }
    let looked = look(&play.owner, &intent, "{\"id\": \"b\"}").await;
    let (yes, fields) = looked.form_with(("answer", "approve"));
    let fields: Vec<(&str, &str)> =
        fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(bob.post(&yes, &fields).await.status, 403);
    let seen = eve.get(&page_of(&intent)).await;
    assert!(!seen.has_button(("edit", "look")), "{}", seen.html);
    for path in [&action, &yes] {
        assert_eq!(eve.post(path, &fields).await.status, 403);
    }
    assert_eq!(play.stage.shown(&intent)["state"], "pending");
    play.finish(0);
}

/// M3: where something must be typed, nothing can be changed.
#[tokio::test]
async fn what_must_be_typed_cannot_be_changed() {
    let play = Play::new().await;
    let intent = play.ask("delete_everything", json!({"name": "prod"})).await;
    let page = play.owner.get(&page_of(&intent)).await;
    assert!(!page.has_button(("edit", "look")), "{}", page.html);
    let token = play.owner.get(&page_of(&intent)).await.form_with_action(&page_of(&intent));
    let action = format!("{}/edit", page_of(&intent));
    assert_eq!(play.owner.post(&action, &[("token", &token), ("arguments", "{}")]).await.status, 403);
    play.finish(0);
}
