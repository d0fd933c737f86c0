//! The policy in force on a page, what it says of a call, and what it would have said.

use serde_json::json;
use yesgate_testkit::{Page, eventually};

use super::Play;

const RULES: &str = r#"
[times]
hold = "1s"
[[rules]]
name = "deletes"
tool = "notes/delete_note"
when = 'args.id != "kept"'
then = "ask"
channel = "web"
reason = "a deleted note is gone"
[[rules]]
name = "kept"
tool = "notes/delete_*"
then = "reject"
reason = "this one stays"
"#;

/// What a page says in the box of an explanation.
#[track_caller]
fn explanation(page: &Page) -> String {
    let (_, rest) = page.html.split_once("aria-label=\"What the policy says\">").expect("an explanation");
    let (lines, _) = rest.split_once("</pre>").unwrap();
    let lines = lines.replace("<bdi>", "").replace("</bdi>", "");
    lines.replace("&#34;", "\"").replace("&#39;", "'").replace("&#62;", ">").replace("&#60;", "<")
}

/// X8: the page says of a call what the command line says, and words that are no call are said to be none.
#[tokio::test]
async fn the_page_explains_a_call_as_the_command_line_does() {
    let play = Play::with("", RULES).await;
    assert_eq!(play.ann.call("notes", "read_note", json!({"id": "a"})).await.status, 200);
    for (tool, arguments, query) in [
        ("notes/delete_note", "{\"id\":\"a\"}", "tool=notes%2Fdelete_note&args=%7B%22id%22%3A%22a%22%7D"),
        (
            "notes/delete_note",
            "{\"id\":\"kept\"}",
            "tool=notes%2Fdelete_note&args=%7B%22id%22%3A%22kept%22%7D",
        ),
        ("notes/read_note", "{}", "tool=notes%2Fread_note&args="),
    ] {
        let told = play.stage.stage().yesgate(&["policy", "explain", tool, "--args", arguments]).ok().stdout;
        let page = play.owner.get(&format!("/policy?{query}")).await;
        assert_eq!(explanation(&page).trim(), told.trim(), "{tool} {arguments}");
    }
    for (query, why) in [
        ("tool=nothing", "names no tool"),
        ("tool=notes%2Fread_note&args=%7B", "the arguments are not readable"),
    ] {
        let page = play.owner.get(&format!("/policy?{query}")).await;
        assert!(page.status == 200 && page.html.contains(why), "{why}: {}", page.html);
    }
    let unseen = play.owner.get("/policy?tool=elsewhere%2Fdo").await;
    assert!(explanation(&unseen).contains("nothing is known of this tool but its name"), "{}", unseen.html);
    play.finish_with(0, &["read_note"]);
}

/// X8: an owner reads the rules that are in force, in order, and what they would have made of the last questions;
/// nobody else does, and where servers are is not told.
#[tokio::test]
async fn an_owner_reads_the_policy_in_force_and_what_it_would_have_said() {
    let play = Play::with("", RULES).await;
    play.delete("a").await;
    let page = play.owner.get("/policy").await;
    for shown in ["args.id != &#34;kept&#34;", "a deleted note is gone", "<span class=\"tag\">reject</span>"]
    {
        assert!(page.html.contains(shown), "{shown}: {}", page.html);
    }
    assert!(page.html.find("deletes</bdi>").unwrap() < page.html.find("kept</bdi>").unwrap());
    assert!(page.html.contains("Now decided by <strong><bdi>rule deletes</bdi>"), "{}", page.html);
    assert!(!page.html.contains("mock-server"), "{}", page.html);

    let stricter = RULES.replace("!= \"kept\"", "== \"x\"");
    let server = play.stage.child("notes", &[]);
    play.stage.set_config(&format!("{stricter}\n{server}"));
    eventually("the stricter policy is in force", async || {
        let page = play.owner.get("/policy").await;
        let is_now = page.html.contains("Now decided by <strong><bdi>rule kept</bdi></strong>: <bdi>refused");
        is_now.then_some(())
    })
    .await;
    let bob = play.person(&["bob"]).await;
    assert_eq!(bob.get("/policy").await.status, 403);
    assert!(!bob.get("/").await.html.contains("href=\"/policy\""));
    play.finish(0);
}
