//! All of it without a script.

use serde_json::json;
use yesgate_testkit::{Browser, Device};

use super::{Play, assert_sound, read};

/// H3, X4: where no script runs, a person signs in, says no with a reason, types a name, has a yes remembered, and takes
/// it back.
#[tokio::test]
async fn everything_is_decided_without_a_script() {
    let play = Play::new();
    let browser = Browser::start();
    let context = browser.context(Device::phone().without_javascript());
    let page = context.page();
    page.goto(&play.gateway.page("/sign-in"));
    let link = play.link();
    page.fill("Your sign-in link, or the code at its end", link.rsplit_once('#').unwrap().1);
    page.click("button", "Sign in");
    page.wait_for_path("/");

    let denied = play.ask("a").await;
    page.goto(&play.address(&denied));
    page.fill("Why not? The agent is told. (may stay empty)", "it is still needed");
    page.click("button", "Deny");
    page.wait_for_text("A human said no. Nothing ran.");
    page.wait_for_text("it is still needed");
    assert_eq!(play.stage.shown(&denied)["decision"]["reason"], "it is still needed");

    let typed = play.ask_for("notes", "delete_everything", json!({"name": "staging"})).await;
    page.goto(&play.address(&typed));
    page.fill("To run exactly this, once, type \"staging\" (without the quotes)", "staging");
    read(&page);
    page.click("button", "Approve");
    page.wait_for_text("yes, by owner on a page");
    play.becomes(&typed, "done").await;

    let remembered = play.ask("b").await;
    page.goto(&play.address(&remembered));
    page.click_on("summary:text('Remember this yes')");
    page.check("The same call again");
    page.check("10 times");
    read(&page);
    page.click("button", "Approve");
    page.wait_for_text("yes, by owner on a page");
    play.becomes(&remembered, "done").await;
    // The agent fetches what came of it, and the next call is another.
    assert_eq!(play.agent.get(&format!("/api/intents/{remembered}")).await.body["status"], "approved");
    assert_eq!(play.agent.call("notes", "delete_note", json!({"id": "b"})).await.status, 200);

    page.click("link", "Grants");
    page.wait_for_text("9 more times");
    page.click_on("button:text('Take it back')");
    page.wait_for(".tag.state.revoked");
    assert_sound(&page);
    assert_eq!(play.agent.call("notes", "delete_note", json!({"id": "b"})).await.status, 202);
    play.finish(browser, 3);
}
