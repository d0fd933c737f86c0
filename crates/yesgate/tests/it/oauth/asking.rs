//! A dangerous call of a connected client: it waits for a person, in the client's own name, and nothing that the client
//! holds decides it.

use serde_json::json;
use yesgate_testkit::{RestAnswer, WebHost, eventually};

use super::Play;

/// H1, H4: the call waits, is bound to organisation, user and client, and runs once after the yes on the page.
#[tokio::test]
async fn a_dangerous_call_waits_for_a_person_and_runs_once() {
    let play = Play::new().await;
    let person = play.person(&["bob", "--role", "viewer", "--org", "local"]).await;
    let client = play.client().await;
    let tokens = client.connect(&person).await;
    let rest = play.rest(&tokens);
    let intent = rest.call("notes", "delete_note", json!({"id": "a"})).await.text_of("intent_id");
    assert_eq!(play.stage.calls("notes").len(), 0);
    let shown = play.stage.shown(&intent);
    let caller = &shown["caller"];
    assert_eq!((&caller["org"], &caller["principal"]), (&json!("local"), &json!("bob")), "{shown:#}");
    assert_eq!(caller["client"], play.steps("connected")[0]["caller"]["client"], "{shown:#}");

    let path = format!("/approve/{intent}");
    let page = play.owner.get(&path).await;
    assert!(page.html.contains("bob"), "{}", page.html);
    let answer = eventually("the yes is not inert any more", async || {
        let answer = play.owner.press(&page, ("answer", "approve"), &[]).await;
        (!answer.html.contains("faster than anybody can read")).then_some(answer)
    })
    .await;
    assert_eq!(answer.status, 303, "{}", answer.html);
    let ran = eventually("it ran", async || {
        let looked = rest.get(&format!("/api/intents/{intent}")).await;
        (looked.status == 200 && looked.body["status"] != "pending").then_some(looked.body)
    })
    .await;
    assert_eq!(ran["result"], json!({"deleted": "a", "run": 1}), "{ran:#}");
    assert_eq!(play.stage.calls("notes").len(), 1);
    play.finish(1);
}

/// O4: there is no scope for deciding: with all that a client can be given it cannot answer its own question, see the
/// pages on which people do, or say who may.
#[tokio::test]
async fn a_client_cannot_decide_what_it_asked() {
    let play = Play::new().await;
    let client = play.client().await;
    let scope =
        "mcp:read mcp:call approvals:decide approvals:read admin clients:manage offline_access openid";
    let tokens = client.connect_with(&play.owner, &[("scope", scope)]).await;
    let given: Vec<&str> = tokens.scope.split(' ').collect();
    assert!(given.iter().all(|scope| ["mcp:read", "mcp:call"].contains(scope)), "{given:?}");
    let rest = play.rest(&tokens);
    let intent = rest.call("notes", "delete_note", json!({"id": "a"})).await.text_of("intent_id");
    for (method, path) in [
        ("POST", format!("/api/intents/{intent}/decide")),
        ("POST", format!("/approve/{intent}")),
        ("GET", format!("/approve/{intent}")),
        ("GET", "/api/me".to_owned()),
        ("GET", "/people".to_owned()),
        ("GET", "/settings/connected-clients".to_owned()),
        ("DELETE", "/api/me/sessions".to_owned()),
        ("DELETE", format!("/api/mcp/oauth/clients/{}", client.id())),
    ] {
        let body = json!({"answer": "approve", "seen": "x"}).to_string();
        let draft = rest.draft(method, &path).header("origin", play.gateway.url()).body(body);
        let tried = RestAnswer::read(draft.send().await).await;
        assert!(
            tried.status >= 300 && tried.status < 500,
            "{method} {path}: {} {}",
            tried.status,
            tried.text
        );
    }
    let host = WebHost::new(client.resource()).bearer(&tokens.access);
    host.call("yesgate_approve", json!({"intent_id": intent})).await;
    assert_eq!(play.stage.shown(&intent)["state"], "pending");
    assert_eq!(play.stage.calls("notes").len(), 0);
    play.finish(0);
}

/// O-D9: what a client shows at the door stays there: no server behind it sees a token.
#[tokio::test]
async fn no_server_sees_a_clients_token() {
    let web = yesgate_testkit::MockHttp::with(yesgate_testkit::MockSettings::default());
    let stage = yesgate_testkit::ServeStage::new(env!("CARGO_BIN_EXE_yesgate"));
    let stage = stage.config("");
    stage.set_config(&format!("{}{}", super::ON, stage.web("far", &web)));
    let mut gateway = stage.start();
    let owner = gateway.visitor().sign_in(&gateway.first_link()).await;
    let client = yesgate_testkit::OAuthClient::register(gateway.url(), Some("none")).await;
    let tokens = client.connect(&owner).await;
    let read = gateway.rest().bearer(&tokens.access).call("far", "read_note", json!({"id": "a"})).await;
    assert_eq!(read.status, 200, "{}", read.text);
    assert!(!web.requests().is_empty());
    for request in web.requests() {
        let seen = format!("{request:?}");
        assert!(!seen.contains(&tokens.access) && !seen.to_lowercase().contains("cookie"), "{seen}");
    }
    assert!(gateway.close().success());
}
