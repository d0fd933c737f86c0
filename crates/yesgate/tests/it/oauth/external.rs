//! An issuer that the operator trusts says who calls, instead of the gateway: a real one, and one that is not it.

use serde_json::json;
use yesgate_testkit::{
    Gateway, OIDC_CLIENT, OidcServer, RestAnswer, RestHost, ServeStage, Visitor, WebHost, eventually,
};

use super::{RULES, assert_out, read};

/// A gateway that takes the tokens of a provider, for the people of one organisation, and one of these in a browser.
struct Play {
    provider: OidcServer,
    stage: ServeStage,
    gateway: Gateway,
    acme: Visitor,
}

impl Play {
    async fn new() -> Self {
        let provider = OidcServer::start();
        provider.knows(json!({"sub": "ada"}));
        let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate"));
        let external = format!("[oauth.external]\nissuer = \"{}\"\norg = \"acme\"\n", provider.issuer());
        let servers = format!("{}{}", stage.child("notes", &[]), stage.child("other", &[]));
        let stage = stage.config(&format!("{external}{RULES}{servers}"));
        let gateway = stage.start();
        let words = ["people", "add", "olga", "--org", "acme", "--role", "owner", "--json"];
        let told = stage.stage().yesgate(&words).ok().json();
        let acme = gateway.visitor().sign_in(told["link"].as_str().unwrap()).await;
        Self { provider, stage, gateway, acme }
    }

    fn resource(&self) -> String {
        format!("{}/api/mcp", self.gateway.url())
    }

    async fn token(&self, scope: &str) -> String {
        self.provider.access_token(&self.resource(), scope).await
    }

    fn rest(&self, token: &str) -> RestHost {
        self.gateway.rest().bearer(token)
    }

    fn finish(mut self, gated: usize) {
        assert!(self.gateway.close().success(), "{}", self.gateway.stderr());
        assert_eq!(self.stage.check_history("notes", &["read_note"]).gated, gated);
    }
}

/// O-D3, O-D4: clients are sent to the issuer, and find at the gateway nothing that could be mistaken for one.
#[tokio::test]
async fn clients_are_sent_to_the_issuer_and_find_no_other() {
    let play = Play::new().await;
    let rest = play.gateway.rest();
    for (path, resource) in [("", "/api/mcp"), ("/api/mcp", "/api/mcp"), ("/mcp/notes", "/mcp/notes")] {
        let told = rest.get(&format!("/.well-known/oauth-protected-resource{path}")).await;
        assert_eq!(told.status, 200, "{}", told.text);
        assert_eq!(told.body["authorization_servers"], json!([play.provider.issuer()]));
        assert_eq!(told.body["resource"], format!("{}{resource}", play.gateway.url()));
    }
    for (method, path) in [
        ("GET", "/.well-known/oauth-authorization-server"),
        ("GET", "/.well-known/openid-configuration"),
        ("GET", "/.well-known/oauth-authorization-server/api/mcp"),
        ("POST", "/api/mcp/oauth/register"),
        ("GET", "/api/mcp/oauth/register/somebody"),
        ("GET", "/api/mcp/oauth/authorize?response_type=code&client_id=desk"),
        ("POST", "/api/mcp/oauth/token"),
        ("POST", "/api/mcp/oauth/revoke"),
        ("POST", "/api/mcp/oauth/introspect"),
        ("POST", "/api/mcp/oauth/device"),
        ("GET", "/device"),
    ] {
        let answer = RestAnswer::read(rest.draft(method, path).send().await).await;
        assert_eq!(answer.status, 404, "{method} {path}: {}", answer.text);
        assert_eq!(answer.header("location"), None, "{path}");
        if path != "/device" {
            assert!(!answer.text.contains("<html"), "{path}: {}", answer.text);
        }
    }
    play.finish(0);
}

/// O4, O-D8: a token of the issuer lists and calls; what is dangerous waits for a person of the operator's organisation, and is
/// bound to whom and to which client the token names. Scopes bound it as they bound our own.
#[tokio::test]
async fn a_token_of_the_issuer_says_who_calls_and_what_they_may() {
    let play = Play::new().await;
    let token = play.token("mcp:read mcp:call").await;
    let host = WebHost::new(play.resource()).bearer(&token);
    assert!(host.list_tools().await.iter().any(|tool| tool["name"] == "notes__read_note"));
    let read_over_mcp = host.call("notes__read_note", json!({"id": "a"})).await;
    assert!(read_over_mcp["result"].is_object(), "{read_over_mcp:#}");
    assert_eq!(read(&play.rest(&token)).await.status, 200);

    let rest = play.rest(&token);
    let asked = rest.call("notes", "delete_note", json!({"id": "a"})).await;
    assert_eq!(asked.status, 202, "{}", asked.text);
    let intent = asked.text_of("intent_id");
    let shown = play.stage.shown(&intent);
    assert_eq!(
        shown["caller"],
        json!({"org": "acme", "principal": "ada", "client": OIDC_CLIENT}),
        "{shown:#}"
    );
    // Neither another person with the same client, nor an owner of another organisation, has to do with it.
    play.provider.knows(json!({"sub": "eve"}));
    let eve = play.token("mcp:read mcp:call").await;
    let path = format!("/api/intents/{intent}");
    assert_eq!(play.rest(&eve).get(&path).await.status, 404);
    let local = play.gateway.visitor().sign_in(&play.gateway.first_link()).await;
    assert_eq!(local.get(&format!("/approve/{intent}")).await.status, 404);
    let page = play.acme.get(&format!("/approve/{intent}")).await;
    eventually("the yes is taken", async || {
        let answer = play.acme.press(&page, ("answer", "approve"), &[]).await;
        (!answer.html.contains("faster than anybody can read")).then_some(())
    })
    .await;
    let ran = eventually("it ran", async || {
        let looked = rest.get(&path).await;
        (looked.status == 200 && looked.body["status"] != "pending").then_some(looked.body)
    })
    .await;
    assert_eq!(ran["result"]["deleted"], "a", "{ran:#}");

    play.provider.knows(json!({"sub": "ada"}));
    let reader = play.token("mcp:read").await;
    assert_eq!(read(&play.rest(&reader)).await.status, 200);
    let refused = play.rest(&reader).call("notes", "delete_note", json!({"id": "b"})).await;
    let told = refused.header("www-authenticate").unwrap_or_default();
    assert_eq!(refused.status, 403, "{}", refused.text);
    assert!(told.contains("error=\"insufficient_scope\"") && told.contains("mcp:call"), "{told}");
    play.finish(1);
}

/// O-D5, O-D6: what the issuer did not sign, for this gateway, as a token for calling, lets nobody in.
#[tokio::test]
async fn what_the_issuer_did_not_sign_for_this_gateway_lets_nobody_in() {
    let play = Play::new().await;
    let nothing = read(&play.gateway.rest()).await;
    let told = nothing.header("www-authenticate").unwrap_or_default();
    assert_eq!(nothing.status, 401, "{}", nothing.text);
    assert!(told.contains("resource_metadata=\"") && !told.contains("error="), "{told}");

    let good = play.token("mcp:call").await;
    assert_eq!(read(&play.rest(&good)).await.status, 200);
    let stranger = OidcServer::start();
    stranger.knows(json!({"sub": "ada"}));
    let resource = play.resource();
    let mut wrong = vec![
        ("garbage", "garbage".to_owned()),
        ("its end is cut off", good.rsplit_once('.').unwrap().0.to_owned()),
        ("of another issuer", stranger.access_token(&resource, "mcp:call").await),
        ("for somebody else", play.provider.access_token("https://elsewhere.example/mcp", "mcp:call").await),
        ("for a neighbour", play.provider.access_token(&format!("{resource}-other"), "mcp:call").await),
    ];
    stranger.lies(json!({"claims": {"iss": play.provider.issuer()}}));
    wrong.push(("another issuer says it is this one", stranger.access_token(&resource, "mcp:call").await));
    for (why, lie) in [
        ("of an unknown key", json!({"key": "other"})),
        ("not signed", json!({"key": "none"})),
        ("signed with a secret", json!({"key": "secret"})),
        ("over", json!({"claims": {"exp": 1_000_000}})),
        ("without an end", json!({"claims": {"exp": null}})),
        ("of nobody", json!({"claims": {"sub": null}})),
        ("of no client", json!({"claims": {"client_id": null}})),
        ("bound to a key", json!({"claims": {"cnf": {"jkt": "x"}}})),
    ] {
        play.provider.lies(lie);
        wrong.push((why, play.token("mcp:call").await));
    }
    for (why, token) in wrong {
        let answer = read(&play.rest(&token)).await;
        assert_eq!(answer.status, 401, "{why}: {}", answer.text);
        let told = answer.header("www-authenticate").unwrap_or_default();
        assert!(told.contains("error=\"invalid_token\"") && told.contains("resource_metadata=\""), "{told}");
    }
    // One server's token is good there and nowhere else.
    play.provider.lies(json!(null));
    let notes = format!("{}/mcp/notes", play.gateway.url());
    let narrow = play.provider.access_token(&notes, "mcp:call").await;
    assert!(!WebHost::new(&notes).bearer(&narrow).list_tools().await.is_empty());
    assert_out(&read(&play.rest(&narrow)).await);
    play.finish(0);
}

/// H10: a client that has the name of an application speaks for its own user all the same: it neither sees nor withdraws what
/// that application asks of others.
#[tokio::test]
async fn a_client_is_no_application_whatever_it_is_called() {
    let play = Play::new().await;
    let words = ["keys", "add", "--org", "acme", "--user", "ops", "--client", OIDC_CLIENT, "--json"];
    let key = play.stage.stage().yesgate(&words).ok().json()["key"].as_str().unwrap().to_owned();
    let app = play.rest(&key);
    eventually("the key is known", async || (read(&app).await.status == 200).then_some(())).await;
    let operation = json!({"operation": "upgrade_plan", "params": {"to": "scale"}, "principal": "carol"});
    let intent = app.post("/api/consent/mint", operation).await.text_of("intent_id");
    let path = format!("/api/intents/{intent}");
    let client = play.rest(&play.token("mcp:read mcp:call").await);
    assert_eq!(client.get(&path).await.status, 404);
    assert_eq!(client.post(&format!("{path}/decide"), json!({"answer": "deny"})).await.status, 404);
    assert_eq!(client.post(&format!("{path}/cancel"), json!({})).await.status, 404);
    assert_eq!(play.stage.shown(&intent)["state"], "pending");
    assert_eq!(app.get(&path).await.status, 200);
    play.finish(0);
}

/// Whoever holds a token under a key that is known goes on while the issuer is away.
#[tokio::test]
async fn nobody_is_logged_out_because_the_issuer_is_away() {
    let Play { provider, stage, mut gateway, .. } = Play::new().await;
    let token = provider.access_token(&format!("{}/api/mcp", gateway.url()), "mcp:read").await;
    let rest = gateway.rest().bearer(&token);
    assert_eq!(read(&rest).await.status, 200);
    drop(provider);
    for _ in 0..3 {
        assert_eq!(read(&rest).await.status, 200);
    }
    assert_out(&read(&gateway.rest().bearer("garbage")).await);
    assert!(gateway.close().success());
    assert_eq!(stage.check_history("notes", &["read_note"]).gated, 0);
}
