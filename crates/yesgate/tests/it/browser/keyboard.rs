//! Deciding with a keyboard and nothing else.

use serde_json::json;
use yesgate_testkit::browser::page::Page;
use yesgate_testkit::{Browser, Device};

use super::{Play, assert_sound};

/// What has the focus, without what is inside it.
#[track_caller]
fn at(page: &Page) -> String {
    page.focused().lines().next().unwrap_or_default().trim_end_matches(':').to_owned()
}

/// Presses a key until this has the focus.
#[track_caller]
fn go_to(page: &Page, key: &str, wanted: &str) {
    let mut passed = Vec::new();
    while passed.len() < 40 {
        page.press(key);
        let focused = at(page);
        if focused.starts_with(wanted) {
            return;
        }
        passed.push(focused);
    }
    panic!("{key} never leads to {wanted}, but to {passed:#?}");
}

/// M3: from the inbox on, a question that wants its name typed is decided by keyboard alone. A wrong text runs nothing,
/// the right one runs it once; the no has the focus at first, and no place keeps it.
#[tokio::test]
async fn a_name_is_typed_by_keyboard_alone() {
    let play = Play::new();
    let browser = Browser::start();
    let page = play.signed_in(&browser.context(Device::desktop()));
    let intent = play.ask_for("notes", "delete_everything", json!({"name": "prod"})).await;
    page.goto(&play.gateway.page("/"));

    // The first key leads past what is the same on every page.
    page.press("Tab");
    assert_eq!(at(&page), "link \"Skip to the content\"");
    page.press("Enter");
    page.press("Tab");
    assert!(at(&page).starts_with("link \"delete_everything"), "{}", at(&page));
    page.press("Enter");
    page.wait_for_path(&format!("/approve/{intent}"));
    page.wait_for("button.deny:focus");

    // From the no on: what must be typed, and after that the yes.
    page.wait_for("button.approve:enabled");
    let mut order = vec![at(&page)];
    while order.len() < 5 {
        page.press("Tab");
        order.push(at(&page));
    }
    let typed = "textbox \"To run exactly this, once, type \\\"prod\\\" (without the quotes)\"";
    let rest = ["button \"Approve\"", "text: Something else", "link \"Back to the inbox\""];
    assert_eq!(order, [&["button \"Deny\"", typed], rest.as_slice()].concat());
    // Nothing keeps the focus: it comes round to the beginning, and goes back.
    go_to(&page, "Tab", "link \"Skip to the content\"");
    go_to(&page, "Shift+Tab", "textbox \"To run exactly this");

    page.type_text("prod ");
    page.wait_for("button.approve:enabled");
    page.press("Enter");
    page.wait_for_text("2 more");
    assert_eq!(play.known(&intent).0, "pending");
    page.troubles();
    page.wait_for("button.deny:focus");
    assert_sound(&page);

    go_to(&page, "Tab", "textbox \"To run exactly this");
    page.type_text("prod");
    // Enter says yes no sooner than the button does.
    page.wait_for("button.approve:enabled");
    page.press("Enter");
    page.wait_for_text("It ran once");
    assert_eq!(page.count_role("button", "Approve"), 0);
    play.becomes(&intent, "done").await;
    play.finish(browser, 1);
}
