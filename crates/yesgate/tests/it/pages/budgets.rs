//! Budgets on a page.

use serde_json::json;

use super::Play;

const DAY: &str = r#"
[budgets.day]
most = "10.00"
currency = "USDC"
per = "1d"
each = "recipient"
[[rules]]
name = "small"
tool = "notes/pay"
then = "run"
spend = { amount = "args.amount", currency = "args.currency", recipient = "args.to" }
budget = "day"
"#;

/// I1: the page tells of each share what the command line tells: spent, left, and when it is free again.
#[tokio::test]
async fn the_page_tells_what_was_spent_and_what_is_left() {
    let play = Play::with("", DAY).await;
    let empty = play.owner.get("/budgets").await;
    for shown in ["each recipient", "0 USDC of 10 USDC spent per 1d", "10 USDC left", "0 percent spent"] {
        assert!(empty.html.contains(shown), "{shown}: {}", empty.html);
    }
    let paid =
        play.ann.call("notes", "pay", json!({"amount": "2.50", "currency": "USDC", "to": "bo<b>"})).await;
    assert_eq!(paid.status, 200, "{}", paid.text);
    let told = play.stage.stage().yesgate(&["budgets", "--json"]).ok().json();
    let viewer = play.person(&["eve", "--role", "viewer"]).await;
    let page = viewer.get("/budgets").await;
    let (spent, left) = (told[0]["spent"].as_str().unwrap(), told[0]["left"].as_str().unwrap());
    for shown in [
        "bo&#60;b&#62; (local)",
        "25 percent spent",
        &format!("{spent} USDC of"),
        &format!("{left} USDC left"),
        "free again",
    ] {
        assert!(page.html.contains(shown), "{shown}: {}", page.html);
    }
    play.finish(1);
}
