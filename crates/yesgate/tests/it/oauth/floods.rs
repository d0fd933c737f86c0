//! O-R6, O-S8, O-S9: whatever strangers send, what they can make grow stays bounded, and who is connected does not notice.

use serde_json::json;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use yesgate_testkit::oauth_client::REDIRECT;
use yesgate_testkit::{OAuthClient, RestAnswer, RestHost};

use super::{Play, read};

/// Small bounds, so that a test can reach them.
const SMALL: &str = "limits = { unbound = 10, parked = 10, devices = 10, register_per_minute = 1000, \
                     token_per_address = 10000, token_per_minute = 10000, authorize_per_address = 10000 }\n";
/// Small numbers of requests in a time.
const SLOW: &str = "limits = { register_per_minute = 5, token_per_minute = 5, token_per_address = 20, \
                    authorize_per_address = 5 }\n";

/// O-R6: strangers who register without end drive each other out, and nobody who is connected.
#[tokio::test]
async fn registrations_without_end_drive_out_only_each_other() {
    let play = Play::with(SMALL).await;
    let (client, tokens) = play.connected().await;
    let first = play.client().await;
    for _ in 0..50 {
        play.client().await;
    }
    let last = play.client().await;
    let asked = async |client: &OAuthClient| play.owner.open(&client.request(&[]).url).await.status;
    assert_eq!(asked(&first).await, 400, "the oldest that nobody let in has gone");
    assert_eq!(asked(&last).await, 200);
    assert_eq!(asked(&client).await, 200);
    let next = client.tokens(&client.refresh(&tokens.refresh).await);
    assert_eq!(read(&play.rest(&next)).await.status, 200);
    play.finish(0);
}

/// O-R6: twenty thousand registrations of two thousand addresses, with the limits as they come: there are never more than the
/// ten thousand that there may be, and who is connected gets tokens all the while. That no registration is more work than
/// the first is shown where the statements are, by `a_registration_is_as_much_work_however_many_there_are`.
#[tokio::test]
async fn a_flood_from_many_addresses_is_bounded_and_disturbs_nobody() {
    let play = Play::with(BEHIND_A_PROXY).await;
    let (client, mut tokens) = play.connected().await;
    let first = play.client().await;
    let (told, mut registered) = mpsc::unbounded_channel();
    let mut lanes = JoinSet::new();
    for lane in 0..LANES {
        let (told, rest) = (told.clone(), play.gateway.rest());
        lanes.spawn(async move {
            for number in (lane..FLOOD).step_by(LANES) {
                told.send(register_from(&rest, number % ADDRESSES).await).unwrap();
            }
        });
    }
    drop(told);
    let mut count = 0;
    while let Some(answer) = registered.recv().await {
        assert_eq!(answer.status, 201, "{}", answer.text);
        count += 1;
        if count % (FLOOD / 10) == 0 {
            tokens = client.tokens(&client.refresh(&tokens.refresh).await);
        }
    }
    assert_eq!(count, FLOOD);
    assert_eq!(lanes.join_all().await.len(), LANES);
    let known = play.stage.stage().yesgate(&["clients", "list", "--registered", "--json"]).ok().json();
    assert_eq!(
        known.as_array().unwrap().len(),
        10_000 + 1,
        "those that may be, and the one that is connected"
    );
    assert_eq!(play.owner.open(&first.request(&[]).url).await.status, 400, "the oldest has gone");
    let last = play.client().await;
    assert_eq!(play.owner.open(&last.request(&[]).url).await.status, 200);
    let next = client.tokens(&client.refresh(&tokens.refresh).await);
    assert_eq!(read(&play.rest(&next)).await.status, 200);
    play.finish(0);
}

/// The gateway believes what stands in `X-Forwarded-For`: the test is its proxy.
const BEHIND_A_PROXY: &str = "[serve]\nproxies = [\"127.0.0.1\"]\n";
const FLOOD: usize = 20_000;
const ADDRESSES: usize = 2_000;
/// How many register at once.
const LANES: usize = 32;

/// Registers a client from one of many addresses.
async fn register_from(rest: &RestHost, address: usize) -> RestAnswer {
    let body = json!({"redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none"});
    let from = format!("203.0.{}.{}", address / 250, address % 250);
    let draft = rest.draft("POST", "/api/mcp/oauth/register").header("x-forwarded-for", &from);
    RestAnswer::read(draft.body(body.to_string()).send().await).await
}

/// O-S9: requests that nobody answers are bounded, and so are devices that nobody types the code of.
#[tokio::test]
async fn requests_that_nobody_answers_are_bounded() {
    let play = Play::with(SMALL).await;
    let (client, tokens) = play.connected().await;
    let stranger = super::without_a_browser::register(&play).await;
    let (mut parked, mut devices) = (0, 0);
    for _ in 0..50 {
        let page = play.gateway.visitor().open(&client.request(&[]).url).await;
        assert!([200, 429].contains(&page.status), "{} {}", page.status, page.html);
        parked += usize::from(page.status == 200);
        let device = stranger.post("/api/mcp/oauth/device", &[]).await;
        assert!([200, 429, 503].contains(&device.status), "{} {}", device.status, device.text);
        devices += usize::from(device.status == 200);
    }
    assert!((1..=10).contains(&parked) && (1..=10).contains(&devices), "{parked} and {devices}");
    assert_eq!(read(&play.rest(&tokens)).await.status, 200);
    let next = client.tokens(&client.refresh(&tokens.refresh).await);
    assert_eq!(read(&play.rest(&next)).await.status, 200);
    play.finish(0);
}

/// O-S8: who asks too often is told so in the words of OAuth, and when to come again; whatever they say of where they
/// come from.
#[tokio::test]
async fn who_asks_too_often_is_told_when_to_come_again() {
    let play = Play::with(SLOW).await;
    let (client, tokens) = play.connected().await;
    let rest = play.gateway.rest();
    let body = json!({"redirect_uris": ["https://a.example/b"]}).to_string();
    let mut told = None;
    for turn in 0..10 {
        let draft = rest.draft("POST", "/api/mcp/oauth/register").body(body.clone());
        let draft = draft.header("x-forwarded-for", &format!("203.0.113.{turn}"));
        let answer = RestAnswer::read(draft.send().await).await;
        told = (answer.status == 429).then_some(answer).or(told);
    }
    check_too_often(&told.expect("somebody is told to wait"));
    let mut told = None;
    for _ in 0..10 {
        let answer = client.refresh("ygr_nothing").await;
        told = (answer.status == 429).then_some(answer).or(told);
    }
    check_too_often(&told.expect("somebody is told to wait"));
    let mut told = None;
    for _ in 0..10 {
        let page =
            play.gateway.visitor().get(client.request(&[]).url.trim_start_matches(play.gateway.url())).await;
        told = (page.status == 429).then_some(page).or(told);
    }
    let told = told.expect("somebody is told to wait");
    assert!(told.header("retry-after").is_some());
    assert_eq!(read(&play.rest(&tokens)).await.status, 200, "calls are not counted with that");
    play.finish(0);
}

#[track_caller]
fn check_too_often(answer: &RestAnswer) {
    let seconds: Option<u32> = answer.header("retry-after").and_then(|value| value.parse().ok());
    assert!(seconds.is_some_and(|seconds| (1..=900).contains(&seconds)), "{answer:?}");
    assert!(answer.body["error"].is_string(), "{}", answer.text);
}

/// O-T1: what is too long, or no form at all, is refused with a word about it, and is never our fault.
#[tokio::test]
async fn what_is_no_request_is_refused_and_never_our_fault() {
    let play = Play::new().await;
    let long = "x".repeat(100_000);
    for path in ["token", "revoke", "introspect", "device", "register"] {
        for (kind, body) in [
            ("application/json", "{"),
            ("application/x-www-form-urlencoded", "%%%=&&&"),
            ("application/x-www-form-urlencoded", "client_id=a&client_id=b"),
            ("application/json, application/x-www-form-urlencoded", "grant_type=refresh_token"),
            ("text/plain", "grant_type=refresh_token"),
            ("application/x-www-form-urlencoded", long.as_str()),
            ("application/json", long.as_str()),
        ] {
            // Whoever sends too much is cut off, so nobody comes twice by one connection.
            let rest = play.gateway.rest();
            let draft = rest.draft("POST", &format!("/api/mcp/oauth/{path}")).header("content-type", kind);
            let answer = RestAnswer::read(draft.body(body.to_owned()).send().await).await;
            assert!((400..500).contains(&answer.status), "{path}, {kind}: {} {}", answer.status, answer.text);
        }
    }
    let long = format!("/api/mcp/oauth/authorize?client_id={}", "x".repeat(10_000));
    let page = play.gateway.visitor().get(&long).await;
    assert!((400..500).contains(&page.status), "{}", page.status);
    play.finish(0);
}
