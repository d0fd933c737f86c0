//! Links to sign in with.

use yesgate_testkit::{MailServer, eventually, until};

use super::{Play, code, digits};

/// O-S1: a link comes by mail, opening it uses nothing up, the form signs in the browser that asked, once. Nobody learns
/// which addresses are known.
#[tokio::test]
async fn a_link_by_mail_lets_in_the_browser_that_asked_and_once() {
    let server = MailServer::start();
    let play = Play::new(&server, "");
    let (alice, stranger) = (play.gateway.visitor(), play.gateway.visitor());
    let unknown = play.ask(&stranger, "nobody@example.org").await;
    let known = play.ask(&alice, "ALICE@example.org").await;
    assert_eq!((known.status, unknown.status), (200, 200));
    assert_eq!(
        known.html.replace(&digits(&known), "…"),
        unknown.html.replace(&digits(&unknown), "…"),
        "the answer tells nothing"
    );

    let mail = server.next();
    assert_eq!(mail.to, ["alice@example.org"]);
    assert_eq!(mail.header("Subject"), Some("Sign in to Yesgate"));
    assert_eq!(mail.header("Content-Type"), Some("text/plain; charset=utf-8"));
    assert_eq!(mail.header("Auto-Submitted"), Some("auto-generated"));
    let link = mail.link();
    assert!(link.starts_with(&format!("{}/sign-in#ygl_", play.gateway.url())), "{link}");
    for _ in 0..3 {
        assert_eq!(stranger.get("/sign-in").await.status, 200);
    }
    let signed_in = alice.post("/sign-in", &[("code", &link)]).await;
    assert_eq!((signed_in.status, signed_in.header("location")), (303, Some("/")));
    assert_eq!(alice.get("/").await.status, 200);
    let again = alice.post("/sign-in", &[("code", &link)]).await;
    assert_eq!(again.status, 403);
    assert!(again.html.contains("used already"), "{}", again.html);

    let steps = play.steps();
    let has = |step: &str| steps.iter().any(|event| event["step"] == step && event["way"] == "mail");
    assert!(has("link_made") && has("signed_in"), "{steps:#?}");
    assert_eq!(play.counted("sent").await, 1);
    // O-S5, O-S7: what lets somebody in stands in no file and no log.
    assert!(!play.gateway.stderr().contains(&code(&link)));
    for file in std::fs::read_dir(play.stage.stage().home()).unwrap() {
        let path = file.unwrap().path();
        let content = if path.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
        let text = String::from_utf8_lossy(&content);
        assert!(!text.contains(&code(&link)), "{}", path.display());
    }
    assert!(server.so_far().is_empty(), "nobody else was written to");
    play.finish();
}

/// O-S1: in another browser the link is worth nothing without the digits, and nobody guesses them; a newer link makes the
/// older ones worthless.
#[tokio::test]
async fn a_link_opened_elsewhere_wants_the_digits_of_the_page_that_asked() {
    let server = MailServer::start();
    let play = Play::new(&server, "");
    let (laptop, phone) = (play.gateway.visitor(), play.gateway.visitor());
    let shown = digits(&play.ask(&laptop, "alice@example.org").await);
    let link = code(&server.next().link());
    let asked = phone.post("/sign-in", &[("code", &link)]).await;
    assert_eq!(asked.status, 200);
    assert!(asked.html.contains("asked for in another browser"), "{}", asked.html);
    assert_eq!(phone.get("/").await.status, 303, "nobody is signed in yet");
    let wrong = if shown == "000000" { "000001" } else { "000000" };
    assert_eq!(phone.post("/sign-in", &[("code", &link), ("digits", wrong)]).await.status, 403);
    let (left, right) = shown.split_at(3);
    let spaced = format!("{left} {right}");
    assert_eq!(phone.post("/sign-in", &[("code", &link), ("digits", &spaced)]).await.status, 303);
    assert_eq!(phone.get("/").await.status, 200);

    let older = {
        play.ask(&laptop, "alice@example.org").await;
        code(&server.next().link())
    };
    let shown = digits(&play.ask(&laptop, "alice@example.org").await);
    let newest = code(&server.next().link());
    assert_eq!(laptop.post("/sign-in", &[("code", &older)]).await.status, 403);
    let guesser = play.gateway.visitor();
    let wrong = if shown == "000000" { "000001" } else { "000000" };
    for _ in 0..5 {
        let answer = guesser.post("/sign-in", &[("code", &newest), ("digits", wrong)]).await;
        assert_eq!(answer.status, 403);
    }
    let late = guesser.post("/sign-in", &[("code", &newest), ("digits", &shown)]).await;
    assert_eq!(late.status, 403, "it was guessed at too often");
    assert_eq!(laptop.post("/sign-in", &[("code", &newest)]).await.status, 403);
    play.finish();
}

/// O-S8, O-S9: an address gets five links in an hour, however often it is asked for, and one place may ask for sixty. What
/// is no address is no letter, and nothing that is sent along becomes a header.
#[tokio::test]
async fn links_by_mail_are_limited_by_address_and_by_place() {
    let server = MailServer::start();
    let play = Play::new(&server, "");
    let browser = play.gateway.visitor();
    for _ in 0..7 {
        let answer = play.ask(&browser, "alice@example.org").await;
        assert_eq!(answer.status, 200);
        digits(&answer);
    }
    for bad in ["alice", "alice@example.org\r\nBcc: eve@example.org", "<alice@example.org>", "a@b, c@d", ""] {
        assert_eq!(browser.post("/sign-in/mail", &[("mail", bad)]).await.status, 400, "{bad:?}");
    }
    for number in 0..53 {
        let address = format!("nobody{number}@example.org");
        assert_eq!(browser.post("/sign-in/mail", &[("mail", &address)]).await.status, 200);
    }
    let full = browser.post("/sign-in/mail", &[("mail", "vic@example.org")]).await;
    assert_eq!((full.status, full.header("retry-after")), (429, Some("3600")));
    for _ in 0..5 {
        assert_eq!(server.next().to, ["alice@example.org"]);
    }
    assert!(server.so_far().is_empty());
    play.finish();
}

/// A mail server that is down changes nothing for whoever asks; the operator is told.
#[tokio::test]
async fn a_mail_server_that_is_down_changes_nothing_on_the_page() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let play = Play::via(&format!("smtp://{free}"), "");
    let (alice, stranger) = (play.gateway.visitor(), play.gateway.visitor());
    let known = play.ask(&alice, "alice@example.org").await;
    let unknown = play.ask(&stranger, "nobody@example.org").await;
    assert_eq!(known.html.replace(&digits(&known), "…"), unknown.html.replace(&digits(&unknown), "…"));
    eventually("it is counted", async || (play.counted("failed").await > 0).then_some(())).await;
    until("the log says so", || play.gateway.stderr().contains("mail cannot be sent now").then_some(()));
    assert!(!play.gateway.stderr().contains("alice@example.org"));
    let doctor = play.stage.stage().yesgate(&["doctor"]);
    assert!(doctor.stdout.contains("MEND  mail"), "{}", doctor.stdout);
    play.finish();
}

/// An address is one person's, is shown and changed on the page and at the command line, and is one.
#[tokio::test]
async fn an_address_is_set_at_the_command_line_and_on_the_page() {
    let server = MailServer::start();
    let play = Play::new(&server, "");
    let stage = play.stage.stage();
    let taken = stage.yesgate(&["people", "add", "bob", "--mail", "Alice@example.org"]);
    assert_ne!(taken.code(), 0);
    assert!(taken.stderr.contains("somebody else has that mail address"), "{}", taken.stderr);
    assert_ne!(stage.yesgate(&["people", "add", "bob", "--mail", "b@c\r\nBcc: x@y"]).code(), 0);
    stage.yesgate(&["people", "set", "alice", "--email", "alice@example.com"]).ok();
    assert!(stage.yesgate(&["people", "list"]).ok().stdout.contains("alice@example.com"));

    let owner = play.gateway.visitor().sign_in(&play.gateway.first_link()).await;
    let page = owner.get("/people").await;
    let alice = stage.yesgate(&["people", "list", "--json"]).ok().json();
    let alice = alice.as_array().unwrap().iter().find(|person| person["name"] == "alice").unwrap();
    let action = format!("/people/{}", alice["id"].as_str().unwrap());
    let set = async |mail: &str| {
        let token = owner.get("/people").await.form_with_action(&action);
        let fields = [("token", token.as_str()), ("role", "approver"), ("groups", ""), ("mail", mail)];
        owner.post(&action, &fields).await.status
    };
    assert!(page.html.contains("value=\"alice@example.com\""), "{}", page.html);
    assert_eq!(set("vic@example.org").await, 409);
    assert_eq!(set("no address").await, 400);
    assert_eq!(set("alice@example.net").await, 303);
    assert!(stage.yesgate(&["people", "list"]).ok().stdout.contains("alice@example.net"));
    stage.yesgate(&["people", "set", "alice", "--no-mail"]).ok();
    assert!(!stage.yesgate(&["people", "list"]).ok().stdout.contains("alice@"));
    play.finish();
}
