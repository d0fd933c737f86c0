//! The page of one question.

use yesgate_testkit::{Browser, Device};

use super::{Play, assert_sound};

/// H3: the page of a question can be read on a phone and on a desk, in light and dark, with and without JavaScript, and
/// whoever opens it has decided nothing.
#[tokio::test]
async fn the_page_of_a_question_opens_everywhere_and_decides_nothing() {
    let play = Play::new();
    let intent = play.ask("a").await;
    let browser = Browser::start();
    // Every two of these properties meet in every way.
    let devices = [
        ("phone-light", Device::phone()),
        ("phone-dark", Device::phone().dark().without_javascript()),
        ("desktop-light", Device::desktop().without_javascript()),
        ("desktop-dark", Device::desktop().dark()),
    ];
    let pages = devices.map(|(name, device)| (name, play.signed_in(&browser.context(device))));
    let before = play.known(&intent);
    assert_eq!(before.0, "pending");
    for (name, page) in &pages {
        assert_eq!(page.goto(&play.address(&intent)), 200);
        assert_eq!(page.count_role("button", "Approve") + page.count_role("button", "Deny"), 2);
        assert_sound(page);
        page.shot(&format!("question-{name}"));
    }
    assert_eq!(play.known(&intent), before);
    play.finish(browser, 0);
}

/// H3: a yes by finger on a phone runs the call once, and a no by mouse without JavaScript runs nothing; both come from
/// a person who signed in.
#[tokio::test]
async fn a_person_says_yes_and_no_on_the_page_of_a_question() {
    let play = Play::new();
    let browser = Browser::start();
    for (device, note, button, state) in [
        (Device::phone(), "a", "Approve", "done"),
        (Device::desktop().without_javascript(), "b", "Deny", "denied"),
    ] {
        let page = play.signed_in(&browser.context(device));
        let intent = play.ask(note).await;
        page.goto(&play.address(&intent));
        page.click("button", button);
        play.becomes(&intent, state).await;
        assert_eq!(play.stage.calls("notes").len(), 1, "only the yes ran anything");
        page.goto(&play.address(&intent));
        assert_eq!(page.count_role("button", button), 0, "it is decided");
        assert_sound(&page);
    }
    play.finish(browser, 1);
}
