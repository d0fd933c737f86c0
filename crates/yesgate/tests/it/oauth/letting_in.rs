//! From the address of an endpoint to the first call: the code flow, and each way in which it does not lead there.

use serde_json::json;
use yesgate_testkit::consent::{REFUSE, returned};
use yesgate_testkit::oauth_client::REDIRECT;
use yesgate_testkit::{OAuthClient, WebHost};

use super::{Play, assert_error, assert_out, read};

/// O3: a client that knows one address registers, is let in by a person on the page, and calls a tool.
#[tokio::test]
async fn a_client_that_knows_one_address_is_let_in_and_calls_a_tool() {
    let play = Play::new().await;
    let (client, tokens) = play.connected().await;
    assert!(tokens.access.starts_with("ygt_") && tokens.refresh.starts_with("ygr_"));
    let mut legacy = WebHost::new(client.resource()).bearer(&tokens.access);
    legacy.initialize().await;
    for host in [WebHost::new(client.resource()).bearer(&tokens.access), legacy] {
        assert!(host.list_tools().await.iter().any(|tool| tool["name"] == "notes__read_note"));
        let read = host.call("notes__read_note", json!({"id": "a"})).await;
        assert!(read["result"].is_object(), "{read:#}");
    }
    assert_eq!(read(&play.rest(&tokens)).await.status, 200);
    let [connected] = play.steps("connected").try_into().expect("one person let it in");
    assert_eq!(connected["caller"]["principal"], "owner", "{connected:#}");
    assert_eq!(play.steps("issued").len(), 1);
    play.finish(0);
}

/// O-A6, O-K1: opening the page mints nothing, however often; only the form does, and each time anew.
#[tokio::test]
async fn nothing_is_minted_before_a_person_says_yes() {
    let play = Play::new().await;
    let client = play.client().await;
    let request = client.request(&[]);
    for _ in 0..5 {
        let page = play.owner.open(&request.url).await;
        assert_eq!(page.status, 200, "{}", page.html);
        assert!(!page.html.contains("ygc_"));
    }
    // Somebody who has not signed in is asked to, and their client waits.
    let stranger = play.gateway.visitor().open(&request.url).await;
    assert!(!stranger.has_button(REFUSE), "{}", stranger.html);
    let back = play.owner.allow(&request.url).await;
    client.tokens(&client.exchange(&request, &back).await);
    let again = play.owner.open(&client.request(&[]).url).await;
    assert!(again.has_button(REFUSE), "a person who said yes before is asked all the same");
    play.finish(0);
}

/// O-K6, O-A8: a no is an answer too, and comes with what the client needs to know whose it is.
#[tokio::test]
async fn a_no_reaches_the_client() {
    let play = Play::new().await;
    let client = play.client().await;
    let request = client.request(&[]);
    let back = play.owner.refuse(&request.url).await;
    assert!(back.starts_with(REDIRECT), "{back}");
    assert_eq!(returned(&back, "error").as_deref(), Some("access_denied"));
    assert_eq!(returned(&back, "state"), Some(request.state));
    assert_eq!(returned(&back, "iss").as_deref(), Some(play.gateway.url()));
    assert_eq!(returned(&back, "code"), None);
    assert_eq!(play.steps("consent_denied").len(), 1);
    // No is no more than this one answer.
    let tokens = client.connect(&play.owner).await;
    assert_eq!(read(&play.rest(&tokens)).await.status, 200);
    play.finish(0);
}

/// O-T3, O-T4: a code is good once, for whoever asked for it. Brought again by its client it ends all that came of it;
/// brought by another it does nothing at all.
#[tokio::test]
async fn a_code_is_good_once_and_for_its_own_client() {
    let play = Play::new().await;
    let (client, other) = (play.client().await, play.client().await);
    let request = client.request(&[]);
    let back = play.owner.allow(&request.url).await;
    let code = returned(&back, "code").unwrap();
    let fields = [
        ("grant_type", "authorization_code"),
        ("code", code.as_str()),
        ("redirect_uri", REDIRECT),
        ("code_verifier", request.verifier.as_str()),
    ];
    assert_error(&other.token(&fields).await, 400, "invalid_grant");
    let tokens = client.tokens(&client.exchange(&request, &back).await);
    assert_error(&other.token(&fields).await, 400, "invalid_grant");
    assert_eq!(read(&play.rest(&tokens)).await.status, 200, "a stranger with the code ends nothing");
    assert_error(&client.token(&fields).await, 400, "invalid_grant");
    assert_out(&read(&play.rest(&tokens)).await);
    assert_error(&client.refresh(&tokens.refresh).await, 400, "invalid_grant");
    assert_eq!(play.steps("ended")[0]["why"], "code_replayed");
    play.finish(0);
}

/// O-T5, O-A3: without the proof that it is the same client, a code is worth nothing; and no request goes without one.
#[tokio::test]
async fn a_code_without_its_proof_is_worth_nothing() {
    let play = Play::new().await;
    let client = play.client().await;
    let mut request = client.request(&[]);
    let back = play.owner.allow(&request.url).await;
    let right = std::mem::replace(&mut request.verifier, "x".repeat(43));
    assert_error(&client.exchange(&request, &back).await, 400, "invalid_grant");
    request.verifier = right;
    assert_error(&client.exchange(&request, &back).await, 400, "invalid_grant");
    for spoilt in [
        [("code_challenge", "")].as_slice(),
        &[("code_challenge_method", "")],
        &[("code_challenge_method", "plain")],
        &[("code_challenge", "short")],
        &[("response_type", "token")],
        &[("resource", "https://elsewhere.example/mcp")],
    ] {
        let request = client.request(spoilt);
        let page = play.owner.open(&request.url).await;
        let back = page.header("location").unwrap_or_else(|| panic!("{spoilt:?}: {}", page.html));
        assert!(returned(back, "error").is_some() && returned(back, "code").is_none(), "{back}");
        assert_eq!(returned(back, "iss").as_deref(), Some(play.gateway.url()), "{back}");
    }
    play.finish(0);
}

/// O-A1, O-A2: a code goes only where the client said at registration; on its own machine the port may differ, and
/// nothing else.
#[tokio::test]
async fn a_code_goes_only_where_the_client_said() {
    let play = Play::new().await;
    let client = play.client().await;
    let any_port = client.request(&[("redirect_uri", "http://127.0.0.1:50123/callback")]);
    assert!(play.owner.allow(&any_port.url).await.starts_with("http://127.0.0.1:50123/callback?"));
    for elsewhere in [
        "http://localhost:7777/callback",
        "http://127.0.0.1:7777/other",
        "http://127.0.0.1:7777/callback?a=b",
        "https://127.0.0.1:7777/callback",
        "http://127.0.0.1.evil.example:7777/callback",
        "https://evil.example/callback",
    ] {
        let page = play.owner.open(&client.request(&[("redirect_uri", elsewhere)]).url).await;
        assert_eq!((page.status, page.header("location")), (400, None), "{elsewhere}");
    }
    let unknown = play.owner.open(&client.request(&[("client_id", "nobody")]).url).await;
    assert_eq!((unknown.status, unknown.header("location")), (400, None));
    play.finish(0);
}

/// O-D8, O-T7: what a person did not tick is not allowed, over MCP and REST alike, and the client is told what it needs.
#[tokio::test]
async fn a_client_is_allowed_what_was_ticked_and_told_what_it_lacks() {
    let play = Play::new().await;
    let client = play.client().await;
    let request = client.request(&[("scope", "mcp:read mcp:call unheard-of offline_access")]);
    let page = play.owner.open(&request.url).await;
    let back = play.owner.allow_on(&page, &["mcp:call"]).await;
    let tokens = client.tokens(&client.exchange(&request, &back).await);
    assert_eq!(tokens.scope, "mcp:read");
    assert_eq!(read(&play.rest(&tokens)).await.status, 200);
    let refused = play.rest(&tokens).call("notes", "write_note", json!({"id": "a", "text": "b"})).await;
    let over_mcp = WebHost::new(client.resource()).bearer(&tokens.access);
    let mut over_mcp = over_mcp.draft_call("notes__write_note", json!({"id": "a", "text": "b"})).send().await;
    let told_over_mcp = over_mcp.answer().await;
    assert!(told_over_mcp["error"].is_object(), "{told_over_mcp:#}");
    for (status, told) in [
        (refused.status, refused.header("www-authenticate")),
        (over_mcp.status(), over_mcp.header("www-authenticate")),
    ] {
        let told = told.unwrap_or_default();
        assert_eq!(status, 403, "{told} {} {}", refused.text, over_mcp.wire());
        assert!(told.contains("error=\"insufficient_scope\"") && told.contains("mcp:call"), "{told}");
        assert!(told.contains("resource_metadata=\""), "{told}");
    }
    assert_eq!(play.stage.calls("notes").len(), 1, "only the read reached the server");
    let wider = [
        ("grant_type", "refresh_token"),
        ("refresh_token", tokens.refresh.as_str()),
        ("scope", "mcp:call mcp:read offline_access"),
    ];
    assert_eq!(client.tokens(&client.token(&wider).await).scope, "mcp:read");
    play.finish(0);
}

/// O-T2: whoever does not prove to be the client gets nothing, and learns nothing about which clients there are.
#[tokio::test]
async fn whoever_does_not_prove_to_be_the_client_gets_nothing() {
    let play = Play::new().await;
    let mut client = OAuthClient::register(play.gateway.url(), Some("client_secret_post")).await;
    let tokens = client.connect(&play.owner).await;
    let right = client.registered["client_secret"].take();
    assert_error(&client.refresh(&tokens.refresh).await, 401, "invalid_client");
    client.registered["client_secret"] = json!("ygx_wrong");
    let wrong = client.refresh(&tokens.refresh).await;
    assert_error(&wrong, 401, "invalid_client");
    client.registered["client_id"] = json!("nobody");
    let unknown = client.refresh(&tokens.refresh).await;
    assert_eq!((unknown.status, &unknown.text), (wrong.status, &wrong.text));
    assert_eq!(read(&play.rest(&tokens)).await.status, 200, "{right}");
    play.finish(0);
}
