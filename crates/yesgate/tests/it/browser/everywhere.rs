//! Every page on every kind of device.

use serde_json::json;
use yesgate_testkit::browser::page::Page;
use yesgate_testkit::{Browser, Device, Trouble};

use super::{Play, assert_fits, assert_sound, read};

/// Fails where something that a finger should hit is smaller than a finger. Words of a sentence may be.
#[track_caller]
fn assert_large_enough(page: &Page) {
    let targets = "button, summary, select, textarea, input:not([type=hidden], [type=checkbox]), label.scope, nav a, a.brand, a.what, a.more, .back a";
    let small = page.evaluate(&format!(
        "[...document.querySelectorAll('{targets}')] \
           .map((element) => [element.outerHTML.slice(0, 80), element.getBoundingClientRect()]) \
           .filter(([_, box]) => box.width > 0 && (box.height < 43.5 || box.width < 43.5)) \
           .map(([name, box]) => `${{Math.round(box.width)}} x ${{Math.round(box.height)}}: ${{name}}`)"
    ));
    assert_eq!(small, json!([]), "{}", page.url());
}

/// How closely a page is looked at.
#[derive(Clone, Copy)]
pub(super) enum Look {
    /// As everybody who might use it.
    Close,
    /// Whether it fits, and did nothing wrong.
    Quick,
}

/// Looks at a page with everything on it unfolded.
#[track_caller]
pub(super) fn look_at(page: &Page, device: &str, look: Look) {
    for details in 0..page.count("summary") {
        page.click_on(&format!("summary >> nth={details}"));
    }
    match look {
        Look::Close => assert_sound(page),
        Look::Quick => assert_fits(page),
    }
    if device.starts_with("phone") {
        assert_large_enough(page);
    }
}

/// What is kept as a picture for the documentation.
const PICTURES: [&str; 11] = [
    "inbox-phone-light",
    "inbox-desktop-dark",
    "question-phone-light",
    "question-phone-dark",
    "question-desktop-light",
    "lost-phone-dark",
    "history-desktop-light",
    "figures-phone-light",
    "figures-desktop-dark",
    "grants-desktop-dark",
    "sign-in-phone-light",
];

/// H3: every page can be used on a phone and on a desk, in light and dark, with and without JavaScript, and whoever
/// opens them all has decided nothing.
#[tokio::test]
async fn every_page_is_sound_everywhere_and_decides_nothing() {
    let play = Play::with("", &[("mail", &["--die-on", "delete_note"])]);
    let browser = Browser::start();
    // Every two of these properties meet in every way.
    let devices = [
        ("phone-light", Device::phone()),
        ("phone-dark", Device::phone().dark().without_javascript()),
        ("desktop-dark", Device::desktop().dark()),
        ("desktop-light", Device::desktop().without_javascript()),
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

    let open = || [&asked, &typed, &lost].map(|intent| play.stage.shown(intent)["state"].clone());
    let before = (open(), play.stage.calls("notes").len(), play.stage.calls("mail").len());
    assert_eq!(before, ([json!("pending"), json!("pending"), json!("unknown")], 1, 1));
    let places = [
        ("inbox", "/".to_owned()),
        ("question", format!("/approve/{typed}")),
        ("asked", format!("/approve/{asked}")),
        ("lost", format!("/approve/{lost}")),
        ("history", "/history".to_owned()),
        ("filtered", "/history?search=guest&ending=denied".to_owned()),
        ("figures", "/figures".to_owned()),
        ("grants", "/grants".to_owned()),
        ("sessions", "/sessions".to_owned()),
        ("keys", "/keys".to_owned()),
        ("tools", "/tools".to_owned()),
        ("tool", "/tools/look?server=notes&tool=delete_note".to_owned()),
        ("budgets", "/budgets".to_owned()),
        ("policy", "/policy?tool=notes%2Fdelete_note&args=%7B%22id%22%3A%22a%22%7D".to_owned()),
        ("stop", "/stop".to_owned()),
        ("audit", "/audit?verify=now".to_owned()),
        ("reference", "/api/docs".to_owned()),
        ("sign-in", "/sign-in".to_owned()),
    ];
    for (device, (name, page)) in pages.iter().enumerate() {
        for (number, (place, path)) in places.iter().enumerate() {
            assert_eq!(page.goto(&play.gateway.page(path)), 200, "{path}");
            let picture = format!("{place}-{name}");
            if PICTURES.contains(&picture.as_str()) {
                page.shot(&picture);
            }
            // axe-core takes its time: it sees each page in both themes and at both widths, on two devices of the four.
            let look = if (device + number) % 2 == 0 { Look::Close } else { Look::Quick };
            look_at(page, name, look);
            if name.starts_with("phone") && *place != "sign-in" {
                let head = page.evaluate("document.querySelector('header.top').offsetHeight");
                assert!(head.as_u64().unwrap() < 125, "the head has two rows on a phone: {head}");
            }
            if *place == "sessions" {
                assert!(page.text("main").contains("Chrome"), "{}", page.outline());
            }
            let lines = page.count(".line");
            assert!(*place != "filtered" || lines == 1, "{}", page.outline());
        }
        assert_eq!(page.goto(&play.gateway.page("/people")), 200);
        let label = "Name (the one that their agents' keys have, so that nobody approves their own calls)";
        page.fill(label, name);
        page.click("button", "Invite");
        page.wait_for_text("Give this link to");
        look_at(page, name, Look::Close);
        assert_eq!(page.goto(&play.address("intent_0000000000000000")), 404);
        let troubles = page.troubles();
        assert!(troubles.iter().all(is_about_404), "{troubles:#?}");
        look_at(page, name, Look::Close);
    }
    assert_eq!((open(), play.stage.calls("notes").len(), play.stage.calls("mail").len()), before);
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
