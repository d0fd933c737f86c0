//! What a client can have a person asked, and what no page, no other browser and no second click can answer for them.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use yesgate_core::clock::Clock as _;
use yesgate_core::oauth::{AuthMethod, ClientKind, GrantType, OAuthClient, Presentation};
use yesgate_core::person::{Role, SessionSecret};
use yesgate_core::policy::OAuthConfig;

use crate::site::tests::jar::{Jar, Seen};
use crate::site::tests::{HERE, Play};

/// Stores a client that registered itself.
pub(crate) async fn client(play: &Play, id: &str, name: &str, redirect_uri: &str) {
    let kind = if id.starts_with("https://") { ClientKind::Document } else { ClientKind::Registered };
    let client = OAuthClient {
        id: id.parse().unwrap(),
        kind,
        presentation: Presentation {
            name: Some(name.to_owned()),
            logo: Some("https://evil.example/logo.png".to_owned()),
            uri: Some("https://evil.example/".to_owned()),
            ..Presentation::default()
        },
        redirect_uris: vec![redirect_uri.to_owned()],
        method: AuthMethod::None,
        method_was_chosen: true,
        grants: BTreeSet::from(GrantType::ALL),
        scope: None,
        secret: None,
        management: None,
        created_at: play.watch.now(),
        used_at: play.watch.now(),
        is_bound: false,
        ended_at: None,
    };
    play.ledger.store_client(client, 100).await.unwrap().unwrap();
}

fn asking(id: &str, redirect_uri: &str) -> String {
    let query = form_urlencoded::Serializer::new(String::new())
        .extend_pairs([
            ("response_type", "code"),
            ("client_id", id),
            ("redirect_uri", redirect_uri),
            ("state", "st/a te"),
            ("code_challenge", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"),
            ("code_challenge_method", "S256"),
        ])
        .finish();
    format!("/api/mcp/oauth/authorize?{query}")
}

const LOOPBACK: &str = "http://127.0.0.1:33418/callback";

/// A play with one client, and its page in the browser of somebody who is signed in.
async fn asked(name: &str, redirect_uri: &str) -> (Play, SessionSecret, Jar, String, Seen) {
    let play = Play::new().await;
    client(&play, "client_1", name, redirect_uri).await;
    let secret = play.sign_in(1, Role::Approver).await;
    let mut jar = Jar::of(&secret);
    let sent = jar.get(&play, &asking("client_1", redirect_uri)).await;
    assert_eq!(sent.status, 303, "{}", sent.html);
    let path = sent.location().to_owned();
    let page = jar.get(&play, &path).await;
    assert_eq!(page.status, 200, "{}", page.html);
    (play, secret, jar, path, page)
}

async fn approve(play: &Play, jar: &mut Jar, path: &str, token: &str, scopes: &[&str]) -> Seen {
    play.watch.pass(SignedDuration::from_millis(700));
    let mut fields = vec![("token", token), ("answer", "approve")];
    fields.extend(scopes.iter().map(|scope| ("scope", *scope)));
    jar.post(play, path, &fields).await
}

/// O-A6, O-A8: any number of looks mint nothing; a yes leads back with a code, the state and the issuer, once each, and
/// tells nobody on the way.
#[tokio::test]
async fn a_yes_leads_back_to_the_client_with_a_code() {
    let (play, _, mut jar, path, page) = asked("Claude Code", LOOPBACK).await;
    for _ in 0..5 {
        assert_eq!(jar.get(&play, &asking("client_1", LOOPBACK)).await.status, 303);
        assert_eq!(jar.get(&play, &path).await.status, 200);
    }
    assert!(play.ledger.connections().await.unwrap().is_empty());
    let answer = approve(&play, &mut jar, &path, &page.token(&path), &["mcp:read", "mcp:call"]).await;
    assert_eq!(answer.status, 303, "{}", answer.html);
    assert!(answer.location().starts_with("http://127.0.0.1:33418/callback?code=ygc_"), "{answer:?}");
    assert_eq!(answer.sent_with("state").as_deref(), Some("st/a te"));
    assert_eq!(answer.sent_with("iss").as_deref(), Some(HERE));
    assert_eq!(
        (answer.header("cache-control"), answer.header("referrer-policy")),
        ("no-store", "no-referrer")
    );
    let [kept] = play.ledger.connections().await.unwrap().try_into().unwrap();
    assert_eq!(kept.connection.scopes.to_string(), "mcp:call mcp:read");
    // O-A7: it was answered, and is told so to whoever comes back.
    let back = jar.get(&play, &path).await;
    assert!(back.status == 410 && back.html.contains("once more in your program"), "{}", back.html);
}

/// O-K6: a no leads back, too, at once, and nothing is allowed.
#[tokio::test]
async fn a_no_leads_back_and_allows_nothing() {
    let (play, _, mut jar, path, page) = asked("Claude Code", LOOPBACK).await;
    let token = page.token(&path);
    let answer = jar.post(&play, &path, &[("token", token.as_str()), ("answer", "deny")]).await;
    assert_eq!((answer.status, answer.sent_with("error").as_deref()), (303, Some("access_denied")));
    assert_eq!(answer.sent_with("state").as_deref(), Some("st/a te"));
    assert_eq!(answer.sent_with("iss").as_deref(), Some(HERE));
    assert!(play.ledger.connections().await.unwrap().is_empty());
}

/// O-K2: only what was ticked is given, and never more than was asked for; ticking nothing is no yes.
#[tokio::test]
async fn only_what_was_ticked_is_given() {
    let (play, _, mut jar, path, page) = asked("Claude Code", LOOPBACK).await;
    let nothing = approve(&play, &mut jar, &path, &page.token(&path), &["admin"]).await;
    assert!(nothing.status == 403 && nothing.html.contains("Nothing was ticked"), "{}", nothing.html);
    let answer = approve(&play, &mut jar, &path, &nothing.token(&path), &["mcp:read", "admin"]).await;
    assert_eq!(answer.status, 303, "{}", answer.html);
    let [kept] = play.ledger.connections().await.unwrap().try_into().unwrap();
    assert_eq!(kept.connection.scopes.to_string(), "mcp:read");
}

/// REN7, O-K8: a yes that comes sooner than anybody reads is none, and the page is shown again.
#[tokio::test]
async fn a_yes_is_inert_for_as_long_as_nobody_can_have_read_it() {
    let (play, _, mut jar, path, page) = asked("Claude Code", LOOPBACK).await;
    let token = page.token(&path);
    let fields = [("token", token.as_str()), ("answer", "approve"), ("scope", "mcp:read")];
    let hasty = jar.post(&play, &path, &fields).await;
    assert!(hasty.status == 403 && hasty.html.contains("faster than anybody can read"), "{}", hasty.html);
    assert_eq!(approve(&play, &mut jar, &path, &token, &["mcp:read"]).await.status, 303);
}

/// O-K7: the second of two clicks changes nothing, and lands on a page that says so.
#[tokio::test]
async fn the_second_click_lands_on_a_friendly_page() {
    let (play, _, mut jar, path, page) = asked("Claude Code", LOOPBACK).await;
    let other = jar.get(&play, &path).await;
    let first = approve(&play, &mut jar, &path, &page.token(&path), &["mcp:read"]).await;
    assert_eq!(first.status, 303);
    let second = approve(&play, &mut jar, &path, &page.token(&path), &["mcp:read"]).await;
    assert_eq!((second.status, second.location()), (200, ""));
    assert!(second.html.contains("your first answer holds"), "{}", second.html);
    // The same question in another tab.
    let elsewhere = approve(&play, &mut jar, &path, &other.token(&path), &["mcp:read"]).await;
    assert_eq!((elsewhere.status, elsewhere.location()), (410, ""));
    assert_eq!(play.ledger.connections().await.unwrap().len(), 1);
}

/// O-K3, O-K4: a page of somebody else, in whatever browser, answers nothing for anybody.
#[tokio::test]
async fn nobody_answers_for_somebody_else() {
    let (play, secret, jar, path, page) = asked("Claude Code", LOOPBACK).await;
    play.watch.pass(SignedDuration::from_secs(1));
    let attacker = play.sign_in(2, Role::Owner).await;
    let mut theirs = Jar::of(&attacker);
    let own = theirs.get(&play, &asking("client_1", LOOPBACK)).await.location().to_owned();
    let own_page = theirs.get(&play, &own).await;
    play.watch.pass(SignedDuration::from_secs(1));
    let yes = |token: &str| format!("token={token}&answer=approve&scope=mcp%3Aread");
    let (good, foreign) = (page.token(&path), own_page.token(&own));
    // The attacker's own token and question, in the browser of somebody else.
    let mut victim = jar.clone();
    for (what, action, origin, token, status) in [
        ("the attacker's token", &path, HERE, &foreign, 403),
        ("the attacker's question", &own, HERE, &foreign, 403),
        ("a form of another site", &path, "http://evil.example", &good, 403),
        ("a form that does not say where it is from", &path, "", &good, 403),
        ("no token", &path, HERE, &String::new(), 403),
    ] {
        let answer = victim.send(&play, "POST", action, origin, yes(token)).await;
        assert_eq!((answer.status, answer.location()), (status, ""), "{what}: {}", answer.html);
    }
    // The same person in another browser has no part in it.
    let mut elsewhere = Jar::of(&secret);
    assert_eq!(elsewhere.get(&play, &path).await.status, 410);
    let answer = elsewhere.send(&play, "POST", &path, HERE, yes(&good)).await;
    assert_eq!((answer.status, answer.location()), (410, ""));
    // The attacker cannot look at it either.
    assert_eq!(theirs.get(&play, &path).await.status, 410);
    assert!(play.ledger.connections().await.unwrap().is_empty());
}

/// O-K3: several tabs all work, those that began in the same moment too, and a browser is not filled with cookies.
#[tokio::test]
async fn several_tabs_all_work() {
    let play = Play::new().await;
    client(&play, "client_1", "one", LOOPBACK).await;
    let mut jar = Jar::of(&play.sign_in(1, Role::Viewer).await);
    // Both requests were under way before either was answered.
    let mut before = jar.clone();
    let first = jar.get(&play, &asking("client_1", LOOPBACK)).await.location().to_owned();
    let second = before.get(&play, &asking("client_1", LOOPBACK)).await.location().to_owned();
    jar.0.extend(before.0);
    let pages = [jar.get(&play, &first).await, jar.get(&play, &second).await];
    for (path, page) in [first, second].iter().zip(pages) {
        assert_eq!(page.status, 200, "{}", page.html);
        let answer = approve(&play, &mut jar, path, &page.token(path), &["mcp:read"]).await;
        assert_eq!(answer.status, 303, "{}", answer.html);
    }
    for _ in 0..40 {
        jar.get(&play, &asking("client_1", LOOPBACK)).await;
    }
    assert!(jar.0.len() <= 3, "{jar:?}");
}

/// O-A7, O-S2: whoever is not signed in comes back to the question afterwards, by its ticket.
#[tokio::test]
async fn the_question_survives_the_sign_in() {
    let play = Play::new().await;
    client(&play, "client_1", "one", LOOPBACK).await;
    let mut jar = Jar::default();
    let path = jar.get(&play, &asking("client_1", LOOPBACK)).await.location().to_owned();
    let ticket = path.strip_prefix("/connect/").unwrap().to_owned();
    let sent = jar.get(&play, &path).await;
    assert_eq!((sent.status, sent.location()), (303, format!("/sign-in?to={ticket}").as_str()));
    let sign_in = jar.get(&play, sent.location()).await;
    assert!(sign_in.html.contains(&format!("name=\"to\" value=\"{ticket}\"")), "{}", sign_in.html);
    assert!(sign_in.html.contains("A program wants to be connected"), "{}", sign_in.html);
    // A window that a page of the client opened stays together with it all the way.
    for answer in [&sent, &sign_in] {
        assert_eq!(answer.header("cross-origin-opener-policy"), "unsafe-none");
    }
    jar.0.extend(Jar::of(&play.sign_in(1, Role::Viewer).await).0);
    let page = jar.get(&play, &path).await;
    assert_eq!(page.status, 200, "{}", page.html);
    // Whoever is somebody else signs out, and comes back to it.
    let token = page.token("/sign-out");
    let out = jar.post(&play, "/sign-out", &[("token", token.as_str()), ("to", ticket.as_str())]).await;
    assert_eq!((out.status, out.location()), (303, format!("/sign-in?to={ticket}").as_str()));
    // After ten minutes it is over.
    jar.0.extend(Jar::of(&play.sign_in(2, Role::Viewer).await).0);
    play.watch.pass(SignedDuration::from_mins(10));
    assert_eq!(jar.get(&play, &path).await.status, 410);
}

/// O-A1: where nobody knows who asks or where the answer would go, the person is told, and the browser goes nowhere.
#[tokio::test]
async fn what_no_client_can_be_told_is_told_to_the_person() {
    let play = Play::new().await;
    client(&play, "client_1", "one", LOOPBACK).await;
    let mut jar = Jar::default();
    for path in [
        asking("client_unknown", LOOPBACK),
        asking("client_1", "https://evil.example/<script>alert(1)</script>"),
        "/api/mcp/oauth/authorize".to_owned(),
        format!("{}&x={}", asking("client_1", LOOPBACK), "x".repeat(9_000)),
    ] {
        let answer = jar.get(&play, &path).await;
        assert_eq!((answer.status, answer.location()), (400, ""), "{path}");
        assert_eq!(answer.header("content-type"), "text/html; charset=utf-8");
        assert!(!answer.html.contains("<script>alert"), "{}", answer.html);
    }
    // O-A10: the same by POST, from wherever.
    let query = asking("client_1", LOOPBACK).split_once('?').unwrap().1.to_owned();
    let posted = jar.send(&play, "POST", "/api/mcp/oauth/authorize", "https://claude.ai", query).await;
    assert!(posted.status == 303 && posted.location().starts_with("/connect/ygq_"), "{}", posted.html);
}

/// O-S8: too many requests are told when to come back.
#[tokio::test]
async fn too_many_requests_are_told_when_to_come_back() {
    let mut config = OAuthConfig::default();
    config.limits.authorize_per_address = 2;
    let play = Play::known_as(None, config).await;
    client(&play, "client_1", "one", LOOPBACK).await;
    let mut jar = Jar::default();
    for _ in 0..2 {
        assert_eq!(jar.get(&play, &asking("client_1", LOOPBACK)).await.status, 303);
    }
    let answer = jar.get(&play, &asking("client_1", LOOPBACK)).await;
    assert_eq!(answer.status, 429);
    assert!(answer.header("retry-after").parse::<u32>().is_ok_and(|seconds| seconds > 0), "{answer:?}");
}

/// O-K5: nobody frames the page, and its form may lead out of the site.
#[tokio::test]
async fn the_page_is_closed_and_its_form_leads_out() {
    for uri in [LOOPBACK, "https://claude.ai/api/mcp/auth_callback", "cursor://anysphere.cursor-mcp/oauth"] {
        let (play, _, mut jar, path, page) = asked("Claude", uri).await;
        let policy = page.header("content-security-policy");
        assert_eq!(
            policy,
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri \
             'none'; frame-ancestors 'none'"
        );
        assert_eq!((page.header("x-frame-options"), page.header("cache-control")), ("DENY", "no-store"));
        assert_eq!(page.header("access-control-allow-origin"), "");
        let answer = approve(&play, &mut jar, &path, &page.token(&path), &["mcp:read"]).await;
        assert!(answer.status == 303 && answer.location().starts_with(uri), "{answer:?}");
    }
}

/// O-K10: what a browser holds is as closed as its address allows.
#[tokio::test]
async fn what_the_browser_holds_is_as_closed_as_its_address_allows() {
    let (_, _, jar, _, _) = asked("Claude", LOOPBACK).await;
    assert!(jar.0.keys().any(|name| name.starts_with("yesgate-1-connect-")), "{jar:?}");
    let play = Play::new().await;
    client(&play, "client_1", "one", LOOPBACK).await;
    let sent = Jar::default().get(&play, &asking("client_1", LOOPBACK)).await;
    let cookie = sent.header("set-cookie");
    assert!(cookie.ends_with("; Max-Age=600; Path=/; HttpOnly; SameSite=Lax"), "{cookie}");
}

/// O-K9, O-A9: what wants a fresh sign-in is asked after one.
#[tokio::test]
async fn what_wants_a_fresh_sign_in_gets_one_first() {
    let play = Play::new().await;
    client(&play, "client_1", "one", LOOPBACK).await;
    let mut jar = Jar::of(&play.sign_in(1, Role::Viewer).await);
    play.watch.pass(SignedDuration::from_secs(1));
    let path = jar.get(&play, &format!("{}&prompt=login", asking("client_1", LOOPBACK))).await;
    let path = path.location().to_owned();
    let page = jar.get(&play, &path).await;
    assert!(page.status == 200 && page.html.contains("has just signed in"), "{}", page.html);
    assert!(page.html.contains("href=\"/sign-in?to=ygq_"), "{}", page.html);
    jar.0.extend(Jar::of(&play.sign_in(2, Role::Viewer).await).0);
    assert!(jar.get(&play, &path).await.html.contains("wants to connect"));
}

/// Where no clients connect, none of this is there.
#[tokio::test]
async fn where_nothing_connects_there_is_nothing_to_see() {
    let mut play = Play::new().await;
    play.site.connecting = None;
    let mut jar = Jar::of(&play.sign_in(1, Role::Owner).await);
    for path in ["/api/mcp/oauth/authorize", "/connect/ygq_0", "/device", "/settings/connected-clients"] {
        assert_eq!(jar.get(&play, path).await.status, 404, "{path}");
        assert!(!yesgate_http::edge::pages::Pages::has(&play.site, path), "{path}");
    }
    assert!(!jar.get(&play, "/").await.html.contains("connected-clients"));
}

/// O-K2, O-R5, O-C5: a name that is meant to deceive is inert, marked as the client's own word, and nothing of the client is
/// fetched.
#[tokio::test]
async fn a_hostile_name_is_inert() {
    let hostile = "\u{202e}edualC\u{202c}</h1><script src=//evil.example/x></script><img src=x onerror=alert(1)>\"'\r\n\u{200b}";
    let (_, _, _, path, page) = asked(hostile, LOOPBACK).await;
    assert!(!page.html.contains("<script src=//") && !page.html.contains("<img"), "{}", page.html);
    assert!(!page.html.contains("evil.example/logo"), "{}", page.html);
    let token = page.token(&path);
    let out = page.token("/sign-out");
    let (_, ticket) = path.rsplit_once('/').unwrap();
    let shown = page.html.replace(&token, "TOKEN").replace(&out, "TOKEN").replace(ticket, "TICKET");
    let main = shown.split_once("<article").unwrap().1.split_once("</article>").unwrap().0;
    insta::assert_snapshot!(main);
}

/// O-C6, O-K2: a client whose document was read is shown with its host, and where the answer goes is told whole.
#[tokio::test]
async fn people_are_told_who_asks_and_where_the_answer_goes() {
    let (_, _, _, _, page) = asked("Claude", "https://claude.ai.evil.example:8443/cb").await;
    for words in
        ["unverified", "Anybody can use any name", "claude.ai.evil.example:8443", "p1", "all servers behind"]
    {
        assert!(page.html.contains(words), "{words}: {}", page.html);
    }
    assert!(!page.html.contains("on this computer"));
    let (_, _, _, _, page) = asked("Cursor", "cursor://anysphere.cursor-mcp/oauth").await;
    assert!(
        page.html.contains("<bdi>cursor:</bdi></code> links") && page.html.contains("data-leaves=\"app\"")
    );
    let (_, _, _, _, page) = asked("Claude Code", LOOPBACK).await;
    assert!(page.html.contains("a program on this computer") && page.html.contains("data-leaves=\"page\""));
}
