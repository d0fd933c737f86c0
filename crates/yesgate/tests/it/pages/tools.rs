//! The tools on a page: what they count as, and accepting what has changed.

use serde_json::{Value, json};
use yesgate_testkit::{Gateway, Page, ServeStage, Visitor, eventually};

use super::{Play, RULES};

const LOOK: &str = "/tools/look?server=notes&tool=write_note";

/// A gateway whose server describes `write_note` differently since it was first used.
async fn changed() -> Play {
    let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate"));
    let config = format!("{RULES}\n{}", stage.child("notes", &[]));
    let stage = stage.config(&config);
    let key = stage.key("ann");
    let read = async |gateway: &Gateway| {
        let answer = gateway.rest().bearer(&key).call("notes", "read_note", json!({"id": "a"})).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
    };
    let mut first = stage.start();
    read(&first).await;
    assert!(first.close().success());
    stage.behave("notes", &["--rug-pull-after", "0"]);
    let gateway = stage.start();
    read(&gateway).await;
    let ann = gateway.rest().bearer(&key);
    let owner = gateway.visitor().sign_in(&gateway.first_link()).await;
    Play { stage, gateway, ann, owner }
}

/// The row of `write_note` as the command line has it.
fn row(play: &Play) -> Value {
    let rows = play.stage.stage().yesgate(&["tools", "--json"]).ok().json();
    rows.as_array().unwrap().iter().find(|row| row["tool"] == "write_note").unwrap().clone()
}

/// Presses a button as soon as anybody could have read the page.
async fn press(who: &Visitor, page: &Page, button: (&str, &str), fields: &[(&str, &str)]) -> Page {
    eventually("the form is not inert any more", async || {
        let answer = who.press(page, button, fields).await;
        (!answer.html.contains("faster than anybody can read")).then_some(answer)
    })
    .await
}

/// X5: an owner sees what changed about a tool, line by line, and accepts exactly that.
#[tokio::test]
async fn an_owner_accepts_a_changed_tool() {
    let play = changed().await;
    assert_eq!(row(&play)["standing"], "changed");
    let list = play.owner.get("/tools").await;
    assert!(list.html.contains("<span class=\"tag pending\">changed</span>"), "{}", list.html);
    let page = play.owner.get(LOOK).await;
    assert_eq!(page.status, 200, "{}", page.html);
    for shown in ["What has changed", "<span class=\"removed\">", "<span class=\"added\">", "write_note"] {
        assert!(page.html.contains(shown), "{shown}: {}", page.html);
    }
    assert_eq!(row(&play)["standing"], "changed", "looking accepts nothing");
    let accepted = press(&play.owner, &page, ("accept", "yes"), &[]).await;
    assert_eq!((accepted.status, accepted.header("location")), (303, Some(LOOK)), "{}", accepted.html);
    assert_eq!(row(&play)["standing"], "accepted");
    let page = play.owner.get(LOOK).await;
    assert!(!page.has_button(("accept", "yes")) && !page.html.contains("What has changed"), "{}", page.html);
    let trail = play.owner.get("/audit").await;
    assert!(trail.html.contains("owner on a page"), "{}", trail.html);
    play.finish_with(0, &["read_note", "read_note"]);
}

/// X5: a class that an owner gives a tool on its page counts from the next call on.
#[tokio::test]
async fn a_class_that_an_owner_gives_counts() {
    let play = changed().await;
    let write = async || play.ann.call("notes", "write_note", json!({"id": "a", "text": "x"})).await;
    assert_eq!(write().await.status, 202);
    let page = play.owner.get(LOOK).await;
    let none = press(&play.owner, &page, ("set", "class"), &[("class", "harmless")]).await;
    assert_eq!(none.status, 400, "{}", none.html);
    let set = press(&play.owner, &page, ("set", "class"), &[("class", "safe-write")]).await;
    assert_eq!(set.status, 303, "{}", set.html);
    let row = row(&play);
    assert_eq!((&row["class"], &row["standing"]), (&json!("safe-write"), &json!("accepted")));
    eventually("it counts", async || (write().await.status == 200).then_some(())).await;
}

/// X5: whoever saw another definition than the present one accepts nothing; nor does anybody who is no owner.
#[tokio::test]
async fn what_was_not_shown_is_not_accepted() {
    let play = changed().await;
    let page = play.owner.get(LOOK).await;
    let (action, fields) = page.form_with(("accept", "yes"));
    let other = "0".repeat(64);
    let swapped: Vec<(&str, &str)> = fields
        .iter()
        .map(|(name, value)| (name.as_str(), if name == "definition" { other.as_str() } else { value }))
        .collect();
    let answer = eventually("it is not inert any more", async || {
        let answer = play.owner.post(&action, &swapped).await;
        (answer.status != 403).then_some(answer)
    })
    .await;
    assert_eq!(answer.status, 409, "{}", answer.html);
    assert!(answer.html.contains("Nothing was accepted"), "{}", answer.html);

    let bob = play.person(&["bob"]).await;
    let seen = bob.get(LOOK).await;
    assert!(seen.html.contains("What has changed") && !seen.has_button(("accept", "yes")), "{}", seen.html);
    let (_, fields) = answer.form_with(("accept", "yes"));
    let fields: Vec<(&str, &str)> =
        fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    for path in ["/tools/accept", "/tools/class"] {
        assert_eq!(bob.post(path, &fields).await.status, 403);
    }
    for gone in ["/tools/look", "/tools/look?server=notes&tool=gone", "/tools/look?server=x&tool=write_note"]
    {
        assert_eq!(play.owner.get(gone).await.status, 404, "{gone}");
    }
    assert_eq!(row(&play)["standing"], "changed");
    play.finish_with(0, &["read_note", "read_note"]);
}
