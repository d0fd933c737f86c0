//! The page of one question.

use yesgate_testkit::{Browser, Device};

use super::{Play, assert_sound};

/// H3: a yes by finger on a phone runs the call once, and a no by mouse without JavaScript runs nothing; both come from
/// a person who signed in.
#[tokio::test]
async fn a_person_says_yes_and_no_on_the_page_of_a_question() {
    let play = Play::new();
    let browser = Browser::start();
    for (device, note, button, state, words) in [
        (Device::phone(), "a", "Approve", "done", "It ran once"),
        (Device::desktop().without_javascript(), "b", "Deny", "denied", "A human said no"),
    ] {
        let page = play.signed_in(&browser.context(device));
        let intent = play.ask(note).await;
        page.goto(&play.address(&intent));
        page.click("button", button);
        play.becomes(&intent, state).await;
        assert_eq!(play.stage.calls("notes").len(), 1, "only the yes ran anything");
        page.wait_for_text(words);
        assert_eq!(page.count_role("button", button), 0, "it is decided");
        assert_sound(&page);
    }
    play.finish(browser, 1);
}
