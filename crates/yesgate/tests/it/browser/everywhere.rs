//! Every page on every kind of device.

use serde_json::json;
use yesgate_testkit::browser::page::Page;
use yesgate_testkit::{Browser, Device, Trouble};

use super::{Play, assert_sound, read};

/// Fails where something that a finger should hit is smaller than a finger. Words of a sentence may be.
#[track_caller]
fn assert_large_enough(page: &Page) {
    let targets = "button, summary, select, textarea, input:not([type=hidden]), nav a, a.brand, a.what, a.more, .back a";
    let small = page.evaluate(&format!(
        "[...document.querySelectorAll('{targets}')] \
           .map((element) => [element.outerHTML.slice(0, 80), element.getBoundingClientRect()]) \
           .filter(([_, box]) => box.width > 0 && (box.height < 43.5 || box.width < 43.5)) \
           .map(([name, box]) => `${{Math.round(box.width)}} x ${{Math.round(box.height)}}: ${{name}}`)"
    ));
    assert_eq!(small, json!([]), "{}", page.url());
}

/// A page can be used in both themes, on a phone and on a desk, with and without scripts.
#[tokio::test]
async fn every_page_is_sound_everywhere() {
    let play = Play::with("", &[("mail", &["--die-on", "delete_note"])]);
    let browser = Browser::start();
    // Every two of these properties meet in every way.
    let devices = [
        ("phone-light", Device::phone()),
        ("phone-dark", Device::phone().dark().without_javascript()),
        ("desktop-light", Device::desktop().without_javascript()),
        ("desktop-dark", Device::desktop().dark()),
    ];
    let pages = devices.map(|(name, device)| (name, play.signed_in(&browser.context(device))));

    // A yes that is remembered, a no, a lost answer, and two that wait.
    let (_, first) = &pages[0];
    let remembered = play.ask("minutes-of-march").await;
    first.goto(&play.address(&remembered));
    first.click_on("summary:text('Remember this yes')");
    first.check("The same call again");
    read(first);
    first.click("button", "Approve");
    play.becomes(&remembered, "done").await;
    let lost = play.ask_for("mail", "delete_note", json!({"id": "draft-to-the-board"})).await;
    first.goto(&play.address(&lost));
    read(first);
    first.click("button", "Approve");
    play.becomes(&lost, "unknown").await;
    let denied = play.ask("guest-list").await;
    play.stage.stage().yesgate(&["deny", &denied, "--reason", "we still need it"]).ok();
    let note = "a-rather-long-name-without-any-spaces-in-it-as-agents-like-to-make-them-2026-03-31";
    let asked = play.ask(note).await;
    let typed =
        play.ask_for("notes", "delete_everything", json!({"name": "prod", "also": ["drafts", "bin"]})).await;

    for (name, page) in &pages {
        let is_phone = name.starts_with("phone");
        let look = |path: &str, shot: Option<&str>| {
            if !path.is_empty() {
                assert_eq!(page.goto(&play.gateway.page(path)), 200, "{path}");
            }
            for details in 0..page.count("summary") {
                page.click_on(&format!("summary >> nth={details}"));
            }
            assert_sound(page);
            if is_phone {
                assert_large_enough(page);
            }
            if let Some(shot) = shot {
                page.shot(&format!("{shot}-{name}"));
            }
        };
        look("/", Some("inbox"));
        look(&format!("/approve/{typed}"), Some("question"));
        look(&format!("/approve/{asked}"), Some("asked"));
        look(&format!("/approve/{lost}"), Some("lost"));
        look("/history", Some("history"));
        look("/history?search=guest&ending=denied", None);
        assert_eq!(page.count(".line"), 1, "{}", page.outline());
        look("/grants", Some("grants"));
        look("/sessions", Some("sessions"));
        look("/keys", Some("keys"));
        look("/stop", Some("stop"));
        look("/audit?verify=now", Some("audit"));
        assert_eq!(page.goto(&play.gateway.page("/people")), 200);
        page.fill(
            "Name (the one that their agents' keys have, so that nobody approves their own calls)",
            name,
        );
        page.click("button", "Invite");
        page.wait_for_text("Give this link to");
        look("", Some("people"));
        look("/sign-in", Some("sign-in"));
        assert_eq!(page.goto(&play.address("intent_0000000000000000")), 404);
        let troubles = page.troubles();
        assert!(troubles.iter().all(is_about_404), "{troubles:#?}");
        look("", Some("trouble"));
    }
    play.stage.check_history("mail", &[]);
    play.finish(browser, 1);
}

/// The browser tells of every answer above 399.
fn is_about_404(trouble: &Trouble) -> bool {
    match trouble {
        Trouble::Console(words) => words.contains("404"),
        Trouble::Script(_) | Trouble::Policy(_) | Trouble::Elsewhere(_) | Trouble::Crash(_) => false,
    }
}
