//! Who does not get through: other sites, old tokens, lesser roles, other organisations.

use serde_json::json;
use yesgate_testkit::RestAnswer;

use super::{Play, assert_problem, cancel, decide, question};

/// O-K3: what changes something must come from a page of ours, with a token of that very session.
#[tokio::test]
async fn what_another_site_sends_changes_nothing() {
    let play = Play::new().await;
    let other = play.person(&["cy", "--role", "owner"]).await;
    let intent = play.delete("a").await;
    let url = play.gateway.url().to_owned();
    let good = [
        ("origin", url.as_str()),
        ("x-yesgate-token", play.owner.token.as_str()),
        ("content-type", "application/json"),
    ];
    let with = |spoilt: &[(&str, &str)]| {
        let mut all: Vec<(String, String)> =
            good.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        for (key, value) in spoilt {
            all.retain(|(known, _)| known != key);
            if !value.is_empty() {
                all.push(((*key).to_owned(), (*value).to_owned()));
            }
        }
        all
    };
    let cases = [
        (with(&[("origin", "")]), 403),
        (with(&[("origin", "null")]), 403),
        (with(&[("origin", "https://evil.example")]), 403),
        (with(&[("sec-fetch-site", "cross-site")]), 403),
        (with(&[("sec-fetch-site", "same-site")]), 403),
        (with(&[("x-yesgate-token", "")]), 403),
        (with(&[("x-yesgate-token", "00")]), 403),
        (with(&[("x-yesgate-token", other.token.as_str())]), 403),
        (with(&[("content-type", "text/plain")]), 415),
        (with(&[("content-type", "application/x-www-form-urlencoded")]), 415),
        (with(&[("content-type", "")]), 415),
    ];
    for (headers, status) in cases {
        let mut draft = play.owner.browser.draft("POST", &decide(&intent));
        for (name, value) in &headers {
            draft = draft.header(name, value);
        }
        let tried = RestAnswer::read(draft.body(json!({"answer": "deny"}).to_string()).send().await).await;
        assert_eq!(tried.status, status, "{headers:?}: {}", tried.text);
        assert_eq!(tried.header("access-control-allow-origin"), None);
    }
    for path in ["/api/me/sessions", "/api/clients/key_x", "/api/grants/gr_x"] {
        let draft = play.owner.browser.draft("DELETE", path).header("origin", &url);
        let tried = RestAnswer::read(draft.send().await).await;
        assert_problem(&tried, 403, "not_from_here");
    }
    // Nor do other sites learn that they might.
    let preflight =
        play.owner.browser.draft("OPTIONS", "/api/intents").header("origin", "https://evil.example");
    let preflight = RestAnswer::read(preflight.send().await).await;
    assert!(preflight.status >= 400 && preflight.header("access-control-allow-origin").is_none());
    assert_eq!(play.state(&intent), "pending");
    assert_eq!(play.owner.get("/api/me").await.status, 200);
    play.finish(0);
}

/// A viewer looks and decides nothing; an approver does not export the trail.
#[tokio::test]
async fn a_role_is_a_bound() {
    let play = Play::new().await;
    let viewer = play.person(&["vi", "--role", "viewer"]).await;
    let approver = play.person(&["ap", "--role", "approver"]).await;
    let intent = play.delete("a").await;
    assert_eq!(viewer.get(&question(&intent)).await.status, 200);
    assert_problem(&viewer.approve(&intent).await, 403, "role_too_low");
    assert_problem(&viewer.post(&cancel(&intent), json!({})).await, 403, "role_too_low");
    assert_problem(&viewer.delete("/api/grants/gr_0000000000000000").await, 403, "role_too_low");
    assert_problem(&viewer.get("/api/audit").await, 403, "role_too_low");
    assert_problem(&approver.get("/api/audit").await, 403, "role_too_low");
    assert_eq!(approver.approve(&intent).await.status, 200);
    play.polled(&intent).await;
    play.finish(1);
}

/// Another organisation's questions, grants and keys are not there.
#[tokio::test]
async fn another_organisation_sees_nothing_of_it() {
    let play = Play::new().await;
    let foreign = play.person(&["fo", "--role", "owner", "--org", "elsewhere"]).await;
    let intent = play.delete("a").await;
    let seen = play.owner.get(&question(&intent)).await.text_of("digest");
    assert_problem(&foreign.get(&question(&intent)).await, 404, "not_found");
    let yes = json!({"answer": "approve", "seen": seen, "remember": {"scope": "exact", "uses": 3}});
    assert_problem(&foreign.post(&decide(&intent), yes.clone()).await, 404, "not_found");
    assert_problem(&foreign.post(&cancel(&intent), json!({})).await, 404, "not_found");
    assert_eq!(foreign.get("/api/intents").await.body["intents"], json!([]));
    assert_eq!(play.owner.post(&decide(&intent), yes).await.status, 200);
    play.polled(&intent).await;
    let grant = play.owner.get("/api/grants").await.body["grants"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(foreign.get("/api/grants").await.body["grants"], json!([]));
    assert_problem(&foreign.get(&format!("/api/grants/{grant}")).await, 404, "not_found");
    assert_problem(&foreign.delete(&format!("/api/grants/{grant}")).await, 404, "not_found");
    let key = play.owner.get("/api/clients").await.body["clients"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(foreign.get("/api/clients").await.body["clients"], json!([]));
    assert_problem(&foreign.delete(&format!("/api/clients/{key}")).await, 404, "not_found");
    play.finish(1);
}
