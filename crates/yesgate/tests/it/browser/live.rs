//! What open pages show by themselves.

use std::time::Duration;

use serde_json::json;
use yesgate_testkit::browser::page::Page;
use yesgate_testkit::{Browser, Device, until};

use super::{Play, assert_sound};

/// Has a page note the moment at which it first says this, by the clock that the gateway has, too.
#[track_caller]
fn note(page: &Page, text: &str) {
    let text = json!(text);
    page.evaluate(&format!(
        "{{ window.noted = 0; new MutationObserver((_, observer) => {{ \
           if (!document.body.innerText.includes({text})) return; \
           window.noted = Date.now(); observer.disconnect(); \
         }}).observe(document.body, {{childList: true, subtree: true}}) }}"
    ));
}

/// X9: of two tabs on one question one says no. The other shows within a second, without being loaded again, who
/// decided what; and where it had not heard of it, its yes is answered with what was decided.
#[tokio::test]
async fn another_tab_shows_at_once_what_was_decided() {
    let play = Play::new();
    let browser = Browser::start();
    let owner = play.signed_in(&browser.context(Device::desktop()));
    let bob = play.invited(&browser.context(Device::phone()), "bob");

    let intent = play.ask("a").await;
    for page in [&owner, &bob] {
        page.goto(&play.address(&intent));
    }
    owner.evaluate("window.same = true");
    note(&owner, "bob on a page");
    bob.click("button", "Deny");
    owner.wait_for_text("no, by bob on a page");
    assert_eq!(owner.evaluate("window.same"), true, "it was not loaded again");
    assert_eq!(owner.count_role("button", "Approve") + owner.count_role("button", "Deny"), 0);
    assert_eq!(owner.focused().lines().next(), Some("main:"), "the no that had the focus is gone");
    let decided: jiff::Timestamp =
        play.stage.shown(&intent)["decision"]["at"].as_str().unwrap().parse().unwrap();
    let noted = jiff::Timestamp::from_millisecond(owner.evaluate("window.noted").as_i64().unwrap()).unwrap();
    let took = noted.duration_since(decided);
    assert!(took.unsigned_abs() < Duration::from_secs(1), "{took:#}");
    assert_sound(&owner);

    // The owner's tab is slow to hear of anything, and the yes is on its way.
    let intent = play.ask("b").await;
    owner.goto(&play.address(&intent));
    owner.evaluate("{ window.fetch = () => new Promise(() => {}) }");
    bob.goto(&play.address(&intent));
    bob.click("button", "Deny");
    bob.wait_for_text("A human said no");
    owner.click("button", "Approve");
    owner.wait_for("[role=alert]");
    owner.wait_for_text("no, by bob on a page");
    assert_eq!(owner.count_role("button", "Approve"), 0);
    assert_eq!(play.known(&intent).0, "denied");
    play.finish(browser, 0);
}

/// A question appears in an open inbox by itself, is counted in the title of the tab, and leaves when somebody decides
/// it elsewhere; meanwhile nobody loses what they are writing, or their place.
#[tokio::test]
async fn an_open_page_follows_what_happens() {
    let play = Play::new();
    let browser = Browser::start();
    let desk = browser.context(Device::desktop());
    let inbox = play.signed_in(&desk);
    inbox.wait_for_text("Nothing waits for you");
    assert_eq!(inbox.title(), "Inbox · Yesgate");

    let first = play.ask("a").await;
    inbox.wait_for(&format!("a[href='/approve/{first}']"));
    assert_eq!(inbox.title(), "(1) Inbox · Yesgate");

    // Somebody writes on the page of the first, somebody else is at it in the inbox by keyboard, when another comes.
    let question = desk.page();
    question.goto(&play.address(&first));
    let label = "Why not? The agent is told. (may stay empty)";
    question.fill(label, "keep it, it is");
    inbox.evaluate("document.querySelector('a.what').focus()");
    let second = play.ask_for("notes", "delete_everything", json!({"name": "prod"})).await;
    inbox.wait_for(&format!("a[href='/approve/{second}']"));
    assert!(inbox.focused().starts_with("link \"delete_note"), "{}", inbox.focused());
    until("the other tab counts it", || (question.title() == "(2) Question · Yesgate").then_some(()));
    assert_eq!(question.value(label), "keep it, it is");
    question.type_text(" mine");
    question.click("button", "Deny");
    question.wait_for_text("A human said no");
    assert_eq!(play.stage.shown(&first)["decision"]["reason"], "keep it, it is mine");

    // At the command line, by another process.
    play.stage.deny(&second).ok();
    inbox.wait_for_text("Nothing waits for you");
    until("the title counts nothing", || (inbox.title() == "Inbox · Yesgate").then_some(()));

    // That everything is stopped stands on every open page, as long as it is.
    play.stage.stage().yesgate(&["panic", "--reason", "the intern has left"]).ok();
    for page in [&inbox, &question] {
        page.wait_for_text("the intern has left");
    }
    play.stage.stage().yesgate(&["panic", "--lift"]).ok();
    inbox.wait_until_gone("Everything is stopped");

    // A link that is shown once stays, though its page cannot be read again.
    inbox.goto(&play.gateway.page("/people"));
    inbox.click("button", "New sign-in link for owner");
    inbox.wait_for_text("Give this link to owner");
    let seen = inbox.outline();
    inbox.evaluate("lookAgain()");
    assert_eq!(inbox.outline(), seen);
    for page in [&inbox, &question] {
        // What cannot be read again is told by the browser, too.
        page.troubles();
        assert_sound(page);
    }
    play.finish(browser, 0);
}

/// H3: a question expires under the eyes of whoever looks at it: the ring runs down, and with the time the yes goes.
#[tokio::test]
async fn a_question_expires_while_somebody_looks() {
    let play = Play::with("decide = \"4s\"\n", &[]);
    let browser = Browser::start();
    let page = play.signed_in(&browser.context(Device::phone()));
    let intent = play.ask("a").await;
    page.goto(&play.address(&intent));
    // How much of the ring is gone; all of it where there is none any more.
    let gone = || {
        let script = "document.querySelector('article .run')?.getAttribute('stroke-dashoffset') ?? '100'";
        page.evaluate(script).as_str().unwrap().parse::<f64>().unwrap()
    };
    let first = gone();
    until("the ring runs down", || (gone() > first).then_some(()));
    page.wait_for(".tag.state.expired");
    // In other words once the gateway has written that down.
    page.wait_for_text("Nothing ran.");
    assert_eq!(page.count(".left") + page.count("form[action^='/approve']"), 0, "{}", page.outline());
    until("nothing is counted any more", || (page.title() == "Question · Yesgate").then_some(()));
    assert_sound(&page);
    assert_eq!(play.known(&intent).0, "expired");
    page.goto(&play.gateway.page("/history?ending=expired"));
    assert_eq!(page.count(&format!("a[href='/approve/{intent}']")), 1, "{}", page.outline());
    play.finish(browser, 0);
}

/// REN7: the yes does nothing for 700 ms after the page appears, and again after its window comes back.
#[tokio::test]
async fn a_yes_is_inert_at_first_and_after_looking_away() {
    let play = Play::new();
    let browser = Browser::start();
    let page = play.signed_in(&browser.context(Device::desktop()));
    let intent = play.ask("a").await;
    // The browser may be slower than the button.
    until("the yes is seen inert", || {
        page.goto(&play.address(&intent));
        (page.count("button.approve:disabled") == 1).then_some(())
    });
    page.wait_for("button.approve:enabled");
    assert!(page.evaluate("performance.now()").as_f64().unwrap() > 700.0);

    let times = page.evaluate(
        "new Promise((done) => { \
           const button = document.querySelector('button.approve'), since = performance.now(); \
           dispatchEvent(new Event('focus')); \
           const inert = button.disabled; \
           new MutationObserver(() => done([inert, performance.now() - since])).observe(button, {attributes: true}); \
         })",
    );
    assert_eq!(times[0], true);
    assert!(times[1].as_f64().unwrap() >= 699.0, "{times}");
    page.click("button", "Approve");
    page.wait_for_text("It ran once");
    page.assert_untroubled();
    play.finish(browser, 1);
}
