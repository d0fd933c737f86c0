//! Coming in, and going out.

use yesgate_testkit::Visitor;

use super::{Play, page_of};

/// O-S1: the first start prints a link; opening it three times uses nothing up, the form on it does, once.
#[tokio::test]
async fn the_first_owner_comes_in_by_the_printed_link_once() {
    let play = Play::new().await;
    assert_eq!(play.owner.get("/").await.status, 200);
    let stage = play.stage.stage();
    let link = stage.yesgate(&["people", "link", "owner", "--json"]).ok().json();
    let link = link["link"].as_str().unwrap();
    let stranger = play.gateway.visitor();
    for _ in 0..3 {
        assert_eq!(stranger.get("/sign-in").await.status, 200);
    }
    let code = link.rsplit_once('#').unwrap().1;
    let second = stranger.post("/sign-in", &[("code", code)]).await;
    assert_eq!((second.status, second.header("location")), (303, Some("/")));
    let again = play.gateway.visitor().post("/sign-in", &[("code", code)]).await;
    assert_eq!(again.status, 403);
    assert!(again.html.contains("used already"), "{}", again.html);
    // O-S3: no browser gets a session that another one had.
    assert_ne!(stranger.cookie(), play.owner.cookie());
    play.finish(0);
}

/// O-S2: whoever comes for a question is led back to it by its id, and nowhere else.
#[tokio::test]
async fn signing_in_leads_to_the_question_and_never_elsewhere() {
    let play = Play::new().await;
    let intent = play.delete("a").await;
    let stranger = play.gateway.visitor();
    let sent = stranger.get(&page_of(&intent)).await;
    let place = format!("/sign-in?to={intent}");
    assert_eq!((sent.status, sent.header("location")), (303, Some(place.as_str())));
    assert!(stranger.get(&place).await.html.contains(&format!("name=\"to\" value=\"{intent}\"")));
    let link = |to: &str| {
        let told = play.stage.stage().yesgate(&["people", "link", "owner", "--json"]).ok().json();
        (told["link"].as_str().unwrap().rsplit_once('#').unwrap().1.to_owned(), to.to_owned())
    };
    for (to, expected) in [
        (intent.as_str(), page_of(&intent)),
        ("//evil.example", "/".to_owned()),
        ("https://evil.example/", "/".to_owned()),
        ("\\evil", "/".to_owned()),
        ("", "/".to_owned()),
    ] {
        let (code, to) = link(to);
        let answer = play.gateway.visitor().post("/sign-in", &[("code", &code), ("to", &to)]).await;
        assert_eq!((answer.status, answer.header("location")), (303, Some(expected.as_str())), "{to}");
    }
    play.finish(0);
}

/// O-S3: a session ends when its person signs out, when they end it elsewhere, and when they are removed.
#[tokio::test]
async fn a_session_that_was_ended_lets_nobody_in() {
    let play = Play::new().await;
    let is_in = async |who: &Visitor| who.get("/").await.status == 200;
    let bob = play.person(&["bob", "--role", "viewer"]).await;
    let told = play.stage.stage().yesgate(&["people", "link", "bob", "--json"]).ok().json();
    let at_home = play.gateway.visitor().sign_in(told["link"].as_str().unwrap()).await;

    let sessions = bob.get("/sessions").await;
    assert_eq!(sessions.html.matches("Sign it out").count(), 2, "{}", sessions.html);
    let cookie = bob.cookie();
    let page = bob.get("/").await;
    let token = page.form_with_action("/sign-out");
    let out = bob.post("/sign-out", &[("token", &token)]).await;
    assert_eq!(out.header("set-cookie").map(|cookie| cookie.contains("Max-Age=0")), Some(true));
    // Somebody who kept the cookie has nothing of it.
    let kept = play.gateway.visitor();
    assert_eq!(kept.read(kept.draft("GET", "/").header("cookie", &cookie)).await.status, 303);
    assert!(is_in(&at_home).await);
    play.stage.stage().yesgate(&["people", "remove", "bob"]).ok();
    assert!(!is_in(&at_home).await);
    assert!(is_in(&play.owner).await);
    play.stage.stage().yesgate(&["people", "sign-out", "owner"]).ok();
    assert!(!is_in(&play.owner).await);
    play.finish(0);
}

/// O-S7: no secret of a sign-in stands in what the gateway logs; the link that the console is given is not logged.
#[tokio::test]
async fn secrets_are_not_logged() {
    let play = Play::new().await;
    let bob = play.person(&["bob"]).await;
    assert_eq!(bob.get("/").await.status, 200);
    let cookie = bob.cookie();
    let secret = cookie.split_once('=').unwrap().1;
    let said = play.gateway.stderr();
    assert!(!said.contains(secret));
    assert_eq!(said.matches("ygl_").count(), 1, "{said}");
    play.finish(0);
}

/// A page that is open and told of changes does not keep the gateway from ending.
#[tokio::test]
async fn an_open_page_does_not_keep_the_gateway_alive() {
    let mut play = Play::new().await;
    let mut stream = play.owner.draft("GET", "/live").send().await;
    assert_eq!(stream.status(), 200);
    play.gateway.signal("TERM");
    stream.rest().await;
    assert!(play.gateway.ended().success());
}
