//! What pages of others can do with ours: nothing.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::thread;

use yesgate_testkit::{Browser, Device, Trouble};

use super::Play;

/// A site of somebody else on the same machine, all of whose pages are this one; its address. For cookies it is the
/// same site as ours, so that they come along: what keeps it out is that its origin is another.
fn site(body: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let body = body.clone();
            // A browser may open more connections than it uses; none may keep the others waiting.
            thread::spawn(move || {
                let lines = BufReader::new(&stream).lines().map_while(Result::ok);
                if lines.take_while(|line| !line.is_empty()).count() > 0 {
                    let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/html";
                    // Whoever has gone does not want it.
                    write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).ok();
                }
            });
        }
    });
    format!("http://localhost:{port}")
}

/// C4: in the browser of somebody who is signed in, a page of another origin neither shows ours in a frame, nor decides
/// or signs out with forms of its own, though it has got hold of everything that ours have in them.
#[tokio::test]
async fn no_other_site_shows_or_sends_what_is_ours() {
    let play = Play::new();
    let browser = Browser::start();
    let context = browser.context(Device::desktop());
    let page = play.signed_in(&context);
    let intent = play.ask("a").await;
    page.goto(&play.address(&intent));
    page.wait_for("button.approve:enabled");
    let fields = |form: &str| -> String {
        let hidden = format!("[...document.querySelectorAll('{form} input[type=hidden]')]");
        page.evaluate(&format!("{hidden}.map((field) => field.outerHTML).join('')"))
            .as_str()
            .unwrap()
            .to_owned()
    };
    let question = play.address(&intent);
    let sign_out = play.gateway.page("/sign-out");
    let other = context.page();
    let form = |name: &str, action: &str, fields: &str, answer: &str| {
        format!(
            "<form method=post action='{action}'>{fields}<button name=answer value={answer}>{name}</button></form>"
        )
    };
    let theirs = site(
        [
            form("Win a prize", &question, &fields("form.yes"), "approve"),
            form("Win two", &question, &fields("form.no"), "deny"),
            form("Win three", &sign_out, &fields("form.who"), "yes"),
            format!("<iframe src='{question}'></iframe>"),
        ]
        .concat(),
    );
    other.goto(&theirs);
    let troubles = other.troubles();
    let policy = format!("frame-ancestors: {}", play.gateway.page("/"));
    assert!(troubles.contains(&Trouble::Policy(policy)), "{troubles:#?}");

    let before = play.known(&intent);
    assert_eq!(before.0, "pending");
    for name in ["Win a prize", "Win two", "Win three"] {
        other.goto(&theirs);
        other.click("button", name);
        other.wait_for_text("this origin is not allowed");
    }
    // Nor without being seen.
    other.goto(&theirs);
    let sent = "fetch(document.forms[1].action, {method: 'POST', mode: 'no-cors', credentials: 'include', \
         body: new URLSearchParams([...new FormData(document.forms[1]), ['answer', 'deny']])}).then(() => true)";
    other.evaluate(&format!("({sent}).catch(() => false)"));
    assert_eq!(play.known(&intent), before);

    // The same form is good where it belongs.
    assert_eq!(page.count_role("button", "Approve"), 1);
    page.click("button", "Deny");
    page.wait_for_text("A human said no");
    play.finish(browser, 0);
}
