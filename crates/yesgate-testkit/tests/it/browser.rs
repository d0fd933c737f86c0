//! The browser itself, on small pages of our own: what it can do, and that it notices what must not happen.
#![expect(clippy::expect_used, reason = "a test that cannot go on fails")]

mod passkeys;

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::thread;

use yesgate_testkit::{Browser, Device, Trouble, until};

/// A server that answers everything with one page under a strict policy; its address.
fn site(body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let port = listener.local_addr().expect("a listener has an address").port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A browser may open more connections than it uses; none may keep the others waiting.
            thread::spawn(move || answer(stream, body));
        }
    });
    format!("http://localhost:{port}")
}

fn answer(mut stream: TcpStream, body: &str) {
    let asked = BufReader::new(&stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty());
    if asked.count() == 0 {
        return;
    }
    let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/html; charset=utf-8\r\n\
        set-cookie: seen=yes; HttpOnly\r\ncontent-security-policy: default-src 'none'; script-src 'self' 'unsafe-inline'";
    let page =
        format!("<!doctype html><html lang=en><meta name=viewport content='width=device-width'>{body}");
    // Whoever has gone does not want it.
    write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{page}", page.len()).ok();
}

const TROUBLED: &str = "<title>Troubled</title><main><h1 style='color: red'>Troubled</h1>\
    <img src='http://127.0.0.1:9/picture.png'><script>nowhere.to.go()</script></main>";

/// Each kind of trouble is told, with and without JavaScript, and told once.
#[test]
fn what_goes_wrong_on_a_page_is_noticed() {
    let browser = Browser::start();
    let url = site(TROUBLED);
    let with = Device::desktop();
    for (device, runs_scripts) in [(with, true), (with.without_javascript(), false)] {
        let page = browser.context(device).page();
        assert_eq!(page.goto(&url), 200);
        let troubles = page.troubles();
        let elsewhere = "http://127.0.0.1:9/picture.png";
        assert!(troubles.contains(&Trouble::Elsewhere(elsewhere.into())), "{troubles:#?}");
        assert!(troubles.contains(&Trouble::Policy(format!("img-src: {elsewhere}"))), "{troubles:#?}");
        assert!(troubles.contains(&Trouble::Policy("style-src-attr: inline".into())), "{troubles:#?}");
        let script = Trouble::Script("ReferenceError: nowhere is not defined".into());
        assert_eq!(troubles.contains(&script), runs_scripts, "{troubles:#?}");
        assert_eq!(page.troubles(), [], "they were told already");

        let rules: Vec<String> = page.violations().into_iter().map(|violation| violation.rule).collect();
        assert_eq!(rules, ["image-alt"]);
    }
}

const FORM: &str = "<title>Form</title><main><h1>Form</h1><p>one</p><p>two</p>\
    <details><summary>More</summary>A hint</details>\
    <form action=/sent><label>Name <input name=name></label>\
    <label><input type=checkbox name=sure value=yes> Sure</label>\
    <label for=size>Size</label><select id=size name=size><option>small<option>large</select>\
    <button>Send</button></form></main>";

/// A person at a form, by finger and by keyboard, without JavaScript.
#[test]
fn a_form_is_filled_in_and_sent_in_either_way() {
    let browser = Browser::start();
    let url = site(FORM);
    let ann = browser.context(Device::phone().without_javascript());
    let page = ann.page();
    page.goto(&url);
    assert_eq!((page.title(), page.count("p"), page.count_role("button", "Send")), ("Form".into(), 2, 1));
    assert_eq!((page.text("h1"), page.attribute("form", "action")), ("Form".into(), Some("/sent".into())));
    assert_eq!(page.attribute("form", "method"), None);
    page.click_on("summary");
    page.wait_for_text("A hint");
    page.fill("Name", "Ann");
    assert_eq!(page.value("Name"), "Ann");
    page.check("Sure");
    page.choose("Size", "large");
    page.click("button", "Send");
    page.wait_for_path("/sent");
    assert_eq!(page.url(), format!("{url}/sent?name=Ann&sure=yes&size=large"));
    page.assert_accessible();
    page.assert_untroubled();
    assert_eq!(page.sideways(), 0);
    assert_eq!(ann.cookies().iter().map(|cookie| &cookie["name"]).collect::<Vec<_>>(), ["seen"]);

    let ben = browser.context(Device::desktop());
    assert!(ben.cookies().is_empty(), "nobody has the cookies of others");
    let page = ben.page();
    page.goto(&url);
    assert_eq!(page.goto(&format!("{url}/#more")), 0);
    let picture = browser.folder().join("form.png");
    page.screenshot(&picture);
    assert!(std::fs::read(picture).expect("a picture was taken").starts_with(b"\x89PNG"));
    assert_eq!(page.focused(), "");
    page.press("Tab");
    page.press("Tab");
    assert_eq!(page.focused(), "textbox \"Name\"");
    page.type_text("Ben");
    page.press("Tab");
    page.press("Space");
    page.press("Tab");
    page.press("Tab");
    assert_eq!(page.focused(), "button \"Send\"");
    page.press("Enter");
    page.wait_for_path("/sent");
    assert_eq!(page.url(), format!("{url}/sent?name=Ben&sure=yes&size=small"));
    page.assert_untroubled();
    ben.clear_cookies();
    assert!(ben.cookies().is_empty());
}

/// Whoever reads the failure sees the order, the reason and the page.
#[test]
fn what_cannot_be_done_fails_with_what_the_page_shows() {
    let browser = Browser::start();
    let page = browser.context(Device::desktop()).page();
    page.goto(&site(FORM));
    let failure = catch_unwind(AssertUnwindSafe(|| page.text("p"))).unwrap_err();
    let words = failure.downcast_ref::<String>().unwrap();
    for part in ["\"selector\":\"p\"", "resolved to 2 elements", "http://localhost:", "- button \"Send\""] {
        assert!(words.contains(part), "{part}: {words}");
    }
    assert_eq!(page.count("p"), 2, "the page can still be used");
}

/// Clicks that were begun together are under way together; each page answers for itself.
#[test]
fn two_tabs_can_race() {
    let browser = Browser::start();
    let url = site(FORM);
    let ann = browser.context(Device::desktop());
    let (one, two) = (ann.page(), ann.page());
    for page in [&one, &two] {
        page.goto(&url);
    }
    let clicks = [one.begin_click("button", "Send"), two.begin_click("button", "Send")];
    // Answers may be asked for in any order.
    clicks.into_iter().rev().for_each(|click| click.done());
    for page in [&one, &two] {
        page.wait_for_path("/sent");
    }
}

/// A test that fails must not leave a browser running on the machine, nor a profile.
#[test]
fn a_browser_that_is_dropped_leaves_no_process_and_no_file() {
    let browser = Browser::start();
    browser.context(Device::desktop()).page().goto(&site(FORM));
    let folder = browser.folder().to_owned();
    assert!(processes_with(&folder) > 1, "the browser runs in several processes");
    drop(browser);
    until("all its processes have ended", || (processes_with(&folder) == 0).then_some(()));
    assert!(!folder.exists());
}

/// How many processes were started with this folder in their words.
fn processes_with(folder: &Path) -> usize {
    let processes = std::fs::read_dir("/proc").expect("processes can be listed").flatten();
    let words = processes.map(|entry| std::fs::read(entry.path().join("cmdline")).unwrap_or_default());
    let folder = folder.to_string_lossy();
    words.filter(|words| String::from_utf8_lossy(words).contains(&*folder)).count()
}
