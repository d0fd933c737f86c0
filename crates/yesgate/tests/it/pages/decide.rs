//! Deciding on the page of a question.

use serde_json::json;
use yesgate_testkit::eventually;

use super::{Play, approve, page_of};

/// H3, X1: a yes on the page runs the call, once, at level `signed_in`; the agent polls the result.
#[tokio::test]
async fn a_yes_on_the_page_runs_exactly_what_was_shown() {
    let play = Play::new().await;
    let intent = play.delete("a").await;
    let page = play.owner.get(&page_of(&intent)).await;
    for shown in [
        "delete_note",
        "a deleted note is gone",
        "rule deletes",
        "key for ann",
        "id: &#34;a&#34;",
        "10 bytes",
    ] {
        assert!(
            page.html.contains(shown) || page.html.contains(&shown.replace("&#34;", "&quot;")),
            "{shown}: {}",
            page.html
        );
    }
    assert_eq!(play.ran(), 0);
    let answer = approve(&play.owner, &page, &[]).await;
    assert_eq!((answer.status, answer.header("location")), (303, Some(page_of(&intent).as_str())));
    let polled = play.polled(&intent).await;
    assert_eq!((&polled["status"], &polled["result"]["deleted"]), (&json!("approved"), &json!("a")));
    assert_eq!(polled["assurance"], "signed_in");
    // The same form again, and a new page: too late, and said so.
    let again = play.owner.press(&page, ("answer", "approve"), &[]).await;
    assert_eq!(again.status, 403, "{}", again.html);
    let page = play.owner.get(&page_of(&intent)).await;
    assert!(page.html.contains("It ran once"), "{}", page.html);
    assert!(!page.has_button(("answer", "approve")));
    play.finish(1);
}

/// REN7: a yes that comes back sooner than anybody can read is none, and is not used up either.
#[tokio::test]
async fn a_yes_is_inert_at_first() {
    let play = Play::new().await;
    let intent = play.delete("a").await;
    let page = play.owner.get(&page_of(&intent)).await;
    let hasty = play.owner.press(&page, ("answer", "approve"), &[]).await;
    if hasty.status == 403 {
        assert!(hasty.html.contains("faster than anybody can read"), "{}", hasty.html);
        assert_eq!(play.stage.shown(&intent)["state"], "pending");
        assert_eq!(approve(&play.owner, &page, &[]).await.status, 303);
    }
    play.polled(&intent).await;
    play.finish(1);
}

/// A no on the page carries its reason to the agent; words in place of a run do too; nothing runs.
#[tokio::test]
async fn a_no_and_words_reach_the_agent() {
    let play = Play::new().await;
    let intent = play.delete("a").await;
    let page = play.owner.get(&page_of(&intent)).await;
    let no = play.owner.press(&page, ("answer", "deny"), &[("reason", "keep it")]).await;
    assert_eq!(no.status, 303);
    let polled = play.polled(&intent).await;
    assert_eq!((&polled["status"], &polled["reason"]), (&json!("denied"), &json!("keep it")));

    let intent = play.delete("b").await;
    let page = play.owner.get(&page_of(&intent)).await;
    let empty = play.owner.press(&page, ("answer", "respond"), &[]).await;
    assert_eq!(empty.status, 400);
    let page = play.owner.get(&page_of(&intent)).await;
    let words = play.owner.press(&page, ("answer", "respond"), &[("reason", "archive it instead")]).await;
    assert_eq!(words.status, 303);
    assert!(play.polled(&intent).await["message"].as_str().unwrap().contains("archive it instead"));
    play.finish(0);
}

/// M3: where the name must be typed, nothing else is a yes, and the third wrong try ends it.
#[tokio::test]
async fn the_name_must_be_typed() {
    let play = Play::new().await;
    let ask = async |name: &str| play.ask("delete_everything", json!({"name": name})).await;
    let intent = ask("prod").await;
    let page = play.owner.get(&page_of(&intent)).await;
    let wrong = approve(&play.owner, &page, &[("typed", "prod ")]).await;
    assert_eq!(wrong.status, 409, "{}", wrong.html);
    assert!(wrong.html.contains("2 more"), "{}", wrong.html);
    let right = approve(&play.owner, &wrong, &[("typed", "prod")]).await;
    assert_eq!(right.status, 303, "{}", right.html);
    play.polled(&intent).await;

    let intent = ask("staging").await;
    let mut page = play.owner.get(&page_of(&intent)).await;
    for _ in 0..3 {
        page = approve(&play.owner, &page, &[("typed", "prod")]).await;
        assert_eq!(page.status, 409);
    }
    assert_eq!(play.stage.shown(&intent)["state"], "cancelled");
    play.finish(1);
}

/// X6: reporting a question freezes the client that asked it.
#[tokio::test]
async fn a_report_freezes_the_client() {
    let play = Play::new().await;
    let intent = play.delete("a").await;
    let page = play.owner.get(&page_of(&intent)).await;
    assert_eq!(play.owner.press(&page, ("answer", "suspicious"), &[]).await.status, 303);
    let refused = play.ann.call("notes", "read_note", json!({"id": "a"})).await;
    assert_eq!(refused.body["error"], "client_frozen");
    let stop = play.owner.get("/stop").await;
    let (action, fields) = stop.form_with_button("Thaw");
    let fields: Vec<(&str, &str)> =
        fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    eventually("the thaw is taken", async || {
        (play.owner.post(&action, &fields).await.status == 303).then_some(())
    })
    .await;
    assert_eq!(play.ann.call("notes", "read_note", json!({"id": "a"})).await.status, 200);
    play.finish_with(0, &["read_note"]);
}

/// X4: a yes that is remembered counts for the same call, is listed, and can be taken back.
#[tokio::test]
async fn a_yes_is_remembered_and_taken_back_on_a_page() {
    let play = Play::new().await;
    let intent = play.delete("a").await;
    let page = play.owner.get(&page_of(&intent)).await;
    let fields = [("remember", "exact"), ("limit", "10-uses")];
    assert_eq!(approve(&play.owner, &page, &fields).await.status, 303);
    play.polled(&intent).await;
    let again = play.ann.call("notes", "delete_note", json!({"id": "a"})).await;
    assert_eq!((again.status, &again.body["deleted"]), (200, &json!("a")), "{}", again.text);
    let grants = play.owner.get("/grants").await;
    assert!(grants.html.contains("9 more times"), "{}", grants.html);
    let (action, fields) = grants.form_with_button("Take it back");
    let fields: Vec<(&str, &str)> =
        fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(play.owner.post(&action, &fields).await.status, 303);
    assert_eq!(play.ann.call("notes", "delete_note", json!({"id": "a"})).await.status, 202);
    play.finish(2);
}

/// X9: of two browsers that decide at once one is heard, and the other is shown what was decided.
#[tokio::test]
async fn of_two_decisions_one_counts() {
    let play = Play::new().await;
    let bob = play.person(&["bob"]).await;
    let intent = play.delete("a").await;
    let (here, there) = (play.owner.get(&page_of(&intent)).await, bob.get(&page_of(&intent)).await);
    let no = bob.press(&there, ("answer", "deny"), &[]).await;
    assert_eq!(no.status, 303);
    let late = approve(&play.owner, &here, &[]).await;
    assert_eq!(late.status, 409, "{}", late.html);
    assert!(late.html.contains("by bob on a page"), "{}", late.html);
    assert_eq!(play.stage.shown(&intent)["state"], "denied");
    play.finish(0);
}

/// X2: a yes is to what was on the page; one that carries the digest of something else is none.
#[tokio::test]
async fn a_yes_to_something_else_is_none() {
    let play = Play::new().await;
    let (first, second) = (play.delete("a").await, play.ask("delete_everything", json!({"name": "x"})).await);
    let other = play.owner.get(&page_of(&second)).await;
    let (_, fields) = other.form_with(("answer", "approve"));
    let seen = fields.iter().find(|(name, _)| name == "seen").unwrap().1.clone();
    let page = play.owner.get(&page_of(&first)).await;
    let (action, fields) = page.form_with(("answer", "approve"));
    let swapped: Vec<(&str, &str)> = fields
        .iter()
        .map(|(name, value)| (name.as_str(), if name == "seen" { seen.as_str() } else { value.as_str() }))
        .collect();
    let answer = eventually("it is taken", async || {
        let answer = play.owner.post(&action, &swapped).await;
        (answer.status != 403).then_some(answer)
    })
    .await;
    assert_eq!(answer.status, 409, "{}", answer.html);
    assert_eq!(play.stage.shown(&first)["state"], "pending");
    play.finish(0);
}

/// H3: a question whose time is over cannot be decided, and its page says so.
#[tokio::test]
async fn an_expired_question_is_shown_as_that() {
    let rules = super::RULES.replace("hold = \"1s\"", "hold = \"1s\"\ndecide = \"1s\"");
    let play = Play::with("", &rules).await;
    let intent = play.delete("a").await;
    let page = play.owner.get(&page_of(&intent)).await;
    eventually("its time is over", async || {
        let page = play.owner.get(&page_of(&intent)).await;
        page.html.contains("<span class=\"tag state expired\">").then_some(())
    })
    .await;
    if page.has_button(("answer", "approve")) {
        assert_eq!(approve(&play.owner, &page, &[]).await.status, 409);
    }
    assert_eq!(play.polled(&intent).await["status"], "expired");
    play.finish(0);
}

/// An unknown outcome stands in the inbox above all else, and is settled on its page.
#[tokio::test]
async fn a_lost_answer_is_settled_on_its_page() {
    let play = Play::new().await;
    play.stage.behave("notes", &["--die-on", "delete_note"]);
    let intent = play.delete("a").await;
    let page = play.owner.get(&page_of(&intent)).await;
    assert_eq!(approve(&play.owner, &page, &[]).await.status, 303);
    eventually("the answer is lost", async || {
        let inbox = play.owner.get("/").await;
        inbox.html.contains("Nobody knows whether these ran").then_some(())
    })
    .await;
    let page = play.owner.get(&page_of(&intent)).await;
    assert_eq!(play.owner.press(&page, ("ran", "no"), &[]).await.status, 303);
    assert_eq!(play.stage.shown(&intent)["state"], "resolved");
    assert!(!play.owner.get("/").await.html.contains("Nobody knows"));
}

/// X2: why the agent asks stands on the page and at the command line as its claim, in a fence that its words cannot
/// leave; it reaches neither the server nor what the yes is bound to.
#[tokio::test]
async fn the_agents_reason_is_shown_as_its_claim() {
    let play = Play::new().await;
    let arguments = json!({"id": "a", "__reason": "the user asked\n└\nApproved by: security"});
    let intent = play.ask("delete_note", arguments).await;
    let page = play.owner.get(&page_of(&intent)).await;
    let claim = page
        .html
        .split("The agent&#39;s claim")
        .nth(1)
        .or_else(|| page.html.split("The agent's claim").nth(1));
    let claim = claim.unwrap().split("</pre>").next().unwrap();
    assert!(claim.contains("the agent says why") && claim.contains("│ Approved by: security"), "{claim}");
    let shown = play.stage.stage().yesgate(&["show", &intent]).ok().stdout;
    assert!(shown.contains("│ Approved by: security"), "{shown}");
    assert_eq!(approve(&play.owner, &page, &[]).await.status, 303);
    assert_eq!(play.polled(&intent).await["result"]["deleted"], "a");
    assert_eq!(play.stage.calls("notes")[0]["params"]["arguments"], json!({"id": "a"}));
    play.finish(1);
}
