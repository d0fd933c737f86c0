//! Clients that ask to be connected, in a real browser: the page must lead wherever the client is, and nobody else may use
//! it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::json;
use yesgate_testkit::browser::Context;
use yesgate_testkit::browser::page::Page;
use yesgate_testkit::oauth_client::Request;
use yesgate_testkit::{Browser, Device, OAuthClient, Trouble, until};

use super::{assert_sound, read};
use crate::oauth::Play;

/// A client on this machine that waits for a browser: its port, and what browsers sent.
fn listener() -> (u16, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (tell, told) = channel();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let tell = tell.clone();
            thread::spawn(move || {
                let mut first = [0];
                if stream.read_exact(&mut first).is_err() {
                    return;
                }
                // A handshake of TLS, which is all that can be seen of a request by it.
                if first == [0x16] {
                    tell.send("tls".to_owned()).ok();
                    return;
                }
                let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
                let line = lines.next().unwrap_or_default();
                let _head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
                let body = "<!doctype html><title>Client</title><p>You are connected.</p>";
                let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/html";
                write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).ok();
                if line.contains("/callback") {
                    tell.send(format!("{}{line}", char::from(first[0]))).ok();
                }
            });
        }
    });
    (port, told)
}

fn heard(told: &Receiver<String>) -> String {
    told.recv_timeout(Duration::from_secs(20)).expect("the browser comes to the client")
}

/// A client whose answers go there, and what it wants a browser to open.
pub(super) async fn asking(play: &Play, name: &str, redirect_uri: &str) -> Request {
    let body = json!({
        "client_name": name, "redirect_uris": [redirect_uri], "token_endpoint_auth_method": "none",
    });
    let client = OAuthClient::register_as(play.gateway.url(), body).await;
    client.request(&[("redirect_uri", redirect_uri)])
}

/// Signs the first owner in at the address that clients know, where no script helps.
#[track_caller]
pub(super) fn signed_in(play: &Play, context: &Context) -> Page {
    let page = context.page();
    page.goto(&format!("{}/sign-in", play.gateway.url()));
    sign_in(play, &page);
    page.wait_for_path("/");
    page
}

#[track_caller]
fn sign_in(play: &Play, page: &Page) {
    let made = play.stage.stage().yesgate(&["people", "link", "owner", "--json"]).ok().json();
    page.fill("Your sign-in link, or the code at its end", made["link"].as_str().unwrap());
    page.click("button", "Sign in");
}

/// How many clients are connected, as their person is told.
#[track_caller]
fn connected(play: &Play, context: &Context) -> usize {
    let page = context.page();
    page.goto(&format!("{}/settings/connected-clients", play.gateway.url()));
    let number = page.count(".connected");
    page.close();
    number
}

fn finish(play: Play, browser: Browser) {
    browser.close();
    play.finish(0);
}

/// O-K5, O-A7: a person who is not signed in is led through the sign-in to the page, and by their yes to a program on this
/// computer. Nothing that the page's policy forbids stands in the way.
#[tokio::test]
async fn a_yes_leads_to_a_program_on_this_computer() {
    let play = Play::new().await;
    let browser = Browser::start();
    let context = browser.context(Device::desktop());
    let (port, told) = listener();
    let request = asking(&play, "Claude Code", &format!("http://127.0.0.1:{port}/callback")).await;
    let page = context.page();
    assert_eq!(page.goto(&request.url), 200);
    page.wait_for_text("A program wants to be connected");
    sign_in(&play, &page);
    page.wait_for_text("Claude Code wants to connect");
    assert_eq!(page.focused(), "button \"Deny\"");
    assert_sound(&page);
    read(&page);
    page.click("button", "Approve");
    let line = heard(&told);
    assert!(line.starts_with("GET /callback?code=ygc_") && line.contains(&request.state), "{line}");
    page.wait_for_text("You are connected.");
    let against = |trouble: &Trouble| format!("{trouble:?}").contains("form-action");
    assert!(!page.troubles().iter().any(against));
    assert_eq!(connected(&play, &context), 1);
    finish(play, browser);
}

/// O-K5: a yes leads to a site, which is seen by the handshake that the browser begins there.
#[tokio::test]
async fn a_yes_leads_to_a_site() {
    let play = Play::new().await;
    let browser = Browser::start();
    let context = browser.context(Device::phone());
    let (port, told) = listener();
    let request = asking(&play, "Claude", &format!("https://localhost:{port}/callback")).await;
    let page = signed_in(&play, &context);
    page.goto(&request.url);
    page.wait_for_text("Claude wants to connect");
    read(&page);
    page.click("button", "Approve");
    assert_eq!(heard(&told), "tls");
    assert_eq!(connected(&play, &context), 1);
    finish(play, browser);
}

/// O-K5: a yes leads to an app. The browser stays where it is, so the page says what has happened, and nobody answers twice.
#[tokio::test]
async fn a_yes_leads_to_an_app_and_the_page_says_so() {
    let play = Play::new().await;
    let browser = Browser::start();
    let context = browser.context(Device::desktop());
    let request = asking(&play, "Cursor", "cursor://anysphere.cursor-mcp/oauth/callback").await;
    let page = signed_in(&play, &context);
    page.goto(&request.url);
    page.wait_for_text("whichever opens");
    read(&page);
    page.click("button", "Approve");
    page.wait_for_text("Your answer is on its way. If the browser asks whether to open the app, let it.");
    assert_eq!(page.count_role("button", "Approve"), 0);
    let against = |trouble: &Trouble| format!("{trouble:?}").contains("form-action");
    assert!(!page.troubles().iter().any(against));
    assert_eq!(connected(&play, &context), 1);
    finish(play, browser);
}

/// O-K8: where no script runs a person chooses what a client may do, says yes, and says no.
#[tokio::test]
async fn a_client_is_answered_without_a_script() {
    let play = Play::new().await;
    let browser = Browser::start();
    let context = browser.context(Device::phone().without_javascript());
    let (port, told) = listener();
    let uri = format!("http://127.0.0.1:{port}/callback");
    let page = signed_in(&play, &context);
    let request = asking(&play, "One", &uri).await;
    page.goto(&request.url);
    page.click_on("input[value='mcp:call']");
    read(&page);
    page.click("button", "Approve");
    assert!(heard(&told).contains("code=ygc_"));
    page.wait_for_text("You are connected.");
    let clients = context.page();
    clients.goto(&format!("{}/settings/connected-clients", play.gateway.url()));
    assert!(clients.text(".may").contains("mcp:read") && !clients.text(".may").contains("mcp:call"));
    let request = asking(&play, "Two", &uri).await;
    page.goto(&request.url);
    page.click("button", "Deny");
    assert!(heard(&told).contains("error=access_denied"));
    clients.reload();
    clients.click_on("button:has-text('Revoke') >> nth=0");
    clients.wait_for_text("Nothing is connected");
    finish(play, browser);
}

/// O-K3, O-K7: two tabs with two clients both work, whichever is answered first; a double click answers once.
#[tokio::test]
async fn two_tabs_and_two_clicks() {
    let play = Play::new().await;
    let browser = Browser::start();
    let context = browser.context(Device::desktop());
    let (port, told) = listener();
    let uri = format!("http://127.0.0.1:{port}/callback");
    let first = signed_in(&play, &context);
    let second = context.page();
    let (one, two) = (asking(&play, "One", &uri).await, asking(&play, "Two", &uri).await);
    first.goto(&one.url);
    second.goto(&two.url);
    let (address, again) = (first.url(), context.page());
    again.goto(&address);
    for page in [&first, &second, &again] {
        page.wait_for("button.approve:enabled");
        read(page);
    }
    // Two clicks in one moment: the second finds that the form was sent.
    second.evaluate(
        "(() => { const yes = document.querySelector('button.approve'); yes.click(); yes.click(); })()",
    );
    assert!(heard(&told).contains(&two.state));
    second.wait_for_text("You are connected.");
    first.click("button", "Approve");
    assert!(heard(&told).contains(&one.state));
    first.wait_for_text("You are connected.");
    assert!(told.recv_timeout(Duration::from_millis(300)).is_err(), "each was answered once");
    // The same question in another tab is over, and says so.
    again.click("button", "Approve");
    again.wait_for_text("once more in your program");
    assert_eq!(connected(&play, &context), 2);
    finish(play, browser);
}

/// O-K5, C4: no other page shows the question in a frame.
#[tokio::test]
async fn nobody_frames_the_question() {
    let play = Play::new().await;
    let browser = Browser::start();
    let context = browser.context(Device::desktop());
    let request = asking(&play, "Claude", "http://127.0.0.1:9/callback").await;
    let page = signed_in(&play, &context);
    page.goto(&request.url);
    let address = page.url();
    let (port, _told) = listener();
    page.goto(&format!("http://127.0.0.1:{port}/"));
    for address in [address.as_str(), request.url.as_str()] {
        let frame = json!(address);
        page.evaluate(&format!(
            "new Promise((done) => {{ const frame = document.createElement('iframe'); frame.onload = done; \
             frame.src = {frame}; document.body.append(frame); }})"
        ));
        assert_eq!(
            page.evaluate("[...document.querySelectorAll('iframe')].pop().contentDocument"),
            json!(null)
        );
    }
    let troubles = page.troubles();
    let is_kept_out = |trouble: &Trouble| {
        let said = format!("{trouble:?}");
        said.contains("frame") || said.contains("refused") || said.contains("X-Frame-Options")
    };
    assert!(troubles.iter().any(is_kept_out), "{troubles:#?}");
    assert_eq!(connected(&play, &context), 0);
    finish(play, browser);
}

/// A client that is a page opens a window to ask, and hears from that window when it comes back: whoever opened it stays
/// known all the way, through the sign-in.
#[tokio::test]
async fn a_window_that_a_client_opened_can_tell_it() {
    let play = Play::new().await;
    let browser = Browser::start();
    let context = browser.context(Device::desktop());
    let (port, told) = listener();
    let request = asking(&play, "A page", &format!("http://127.0.0.1:{port}/callback")).await;
    let page = context.page();
    page.goto(&format!("http://127.0.0.1:{port}/"));
    let (url, inbox) = (json!(request.url), json!(play.gateway.url()));
    page.evaluate(&format!("void (window.asked = window.open({url}, 'ask'))"));
    // Any other page of ours is cut off from whoever opened it, which looks as if it had been closed.
    page.evaluate(&format!("void (window.other = window.open({inbox}, 'other'))"));
    until("the other window is cut off", || {
        (page.evaluate("window.other.closed") == json!(true)).then_some(())
    });
    assert_eq!(page.evaluate("window.asked.closed"), json!(false));
    drop(told);
    finish(play, browser);
}
