//! What is connected, as its people see it, and take it back.

use serde_json::json;
use yesgate_testkit::{OAuthClient, RestAnswer, RestHost, Tokens, Visitor, eventually};

use super::Play;

const PAGE: &str = "/settings/connected-clients";

async fn play() -> Play {
    Play::with("[oauth]\nenabled = true\n", super::RULES).await
}

async fn client(play: &Play, name: &str, person: &Visitor) -> (OAuthClient, Tokens) {
    let body = json!({
        "client_name": name, "redirect_uris": [yesgate_testkit::oauth_client::REDIRECT],
        "token_endpoint_auth_method": "none",
    });
    let client = OAuthClient::register_as(play.gateway.url(), body).await;
    let tokens = client.connect(person).await;
    (client, tokens)
}

fn rest(play: &Play, tokens: &Tokens) -> RestHost {
    play.gateway.rest().bearer(&tokens.access)
}

/// The part of a page that is about one thing.
fn line<'a>(html: &'a str, name: &str) -> &'a str {
    let lines = html.split("<li class=\"line").skip(1).map(|line| line.split("</form>").next().unwrap());
    lines.into_iter().find(|line| line.contains(name)).unwrap_or_else(|| panic!("no {name}: {html}"))
}

async fn revoke(person: &Visitor, line: &str) -> u16 {
    let part = |before: &str| line.split_once(before).unwrap().1.split_once('"').unwrap().0;
    person.post(part("action=\""), &[("token", part("name=\"token\" value=\""))]).await.status
}

/// O6, O-V7: a person sees what is connected, with its scopes in words, when and from where it was used and how much it
/// asked; an owner sees that of everybody, and nobody else does.
#[tokio::test]
async fn everybody_sees_what_is_connected_for_them() {
    let play = play().await;
    let bob = play.person(&["bob", "--role", "viewer"]).await;
    let (_, owners) = client(&play, "Owner's client", &play.owner).await;
    let (_, bobs) = client(&play, "<b>Bob's</b> client", &bob).await;
    let asked = rest(&play, &bobs).call("notes", "delete_note", json!({"id": "a"})).await;
    assert_eq!(asked.status, 202, "{}", asked.text);
    let page = bob.get(PAGE).await;
    assert_eq!(page.status, 200);
    assert!(!page.html.contains("Owner&#39;s") && !page.html.contains("<b>Bob"), "{}", page.html);
    let mine = line(&page.html, "Bob&#39;s");
    for words in [
        "by its own word",
        "Use every tool; what is dangerous waits for your yes each time",
        "mcp:call",
        "all servers behind this gateway",
        "last used",
        "asked once",
        "from",
        "127.0.0.1",
    ] {
        assert!(mine.contains(words), "{words}: {mine}");
    }
    let page = play.owner.get(PAGE).await;
    assert!(page.html.contains("Of others in your organisation"), "{}", page.html);
    assert!(line(&page.html, "Bob&#39;s").contains("for <strong><bdi>bob</bdi>"), "{}", page.html);
    // The machine that has a key is there, too.
    assert!(line(&page.html, "key_").contains("ann"), "{}", page.html);
    // Nobody revokes what they do not see.
    let owned = line(&page.html, "Owner&#39;s");
    assert_eq!(revoke(&bob, owned).await, 404);
    assert_eq!(revoke(&play.owner, line(&page.html, "Bob&#39;s")).await, 303);
    assert_eq!(rest(&play, &bobs).get("/api/openapi.json").await.status, 401);
    assert_eq!(rest(&play, &owners).get("/api/openapi.json").await.status, 200);
    assert!(bob.get(PAGE).await.html.contains("Nothing is connected"));
    play.finish(0);
}

/// O6, O7: all of one's own is revoked at once, and everything is ended at once, by forms; of others nothing is.
#[tokio::test]
async fn all_of_ones_own_is_revoked_at_once() {
    let play = play().await;
    let ann = play.person(&["ann", "--role", "viewer"]).await;
    let (_, owners) = client(&play, "one", &play.owner).await;
    let (_, anns) = client(&play, "two", &ann).await;
    assert_eq!(play.ann.get("/api/openapi.json").await.status, 200);
    let page = ann.get(PAGE).await;
    let token = page.form_with_action("/settings/connected-clients/revoke-all");
    assert_eq!(ann.post("/settings/connected-clients/revoke-all", &[("token", &token)]).await.status, 303);
    assert_eq!(rest(&play, &anns).get("/api/openapi.json").await.status, 401);
    assert_eq!(play.ann.get("/api/openapi.json").await.status, 401, "her key is revoked, too");
    assert_eq!(rest(&play, &owners).get("/api/openapi.json").await.status, 200);
    let (_, anns) = client(&play, "three", &ann).await;
    let page = ann.get(PAGE).await;
    let token = page.form_with_action("/settings/connected-clients/end-everything");
    let out = ann.post("/settings/connected-clients/end-everything", &[("token", &token)]).await;
    assert_eq!((out.status, out.header("location")), (303, Some("/sign-in")));
    assert_eq!(ann.get("/").await.status, 303);
    assert_eq!(rest(&play, &anns).get("/api/openapi.json").await.status, 401);
    assert_eq!(rest(&play, &owners).get("/api/openapi.json").await.status, 200);
    play.finish(0);
}

/// O-F3: a person whose refresh token came back is told so on their pages, and nobody else is.
#[tokio::test]
async fn a_person_is_told_that_a_token_of_theirs_was_copied() {
    let play = Play::with("[oauth]\nenabled = true\n", super::RULES).await;
    let bob = play.person(&["bob"]).await;
    let (client, tokens) = client(&play, "Leaky", &bob).await;
    let next = client.tokens(&client.refresh(&tokens.refresh).await);
    // The successor was used, so nobody can have lost it.
    let last = client.tokens(&client.refresh(&next.refresh).await);
    assert_eq!(client.refresh(&tokens.refresh).await.status, 400);
    assert_eq!(rest(&play, &last).get("/api/openapi.json").await.status, 401);
    for path in ["/", PAGE] {
        let page = bob.get(path).await;
        assert!(page.html.contains("Somebody had a copy of a refresh token"), "{path}: {}", page.html);
        assert!(page.html.contains("Leaky"), "{path}: {}", page.html);
        assert!(!play.owner.get(path).await.html.contains("Somebody had a copy"), "{path}");
    }
    play.finish(0);
}

/// O-V4, O7: programs of people list and revoke connections beside keys; another's is not there.
#[tokio::test]
async fn programs_of_people_list_and_revoke_connections() {
    let play = play().await;
    let bob = play.person(&["bob", "--role", "viewer"]).await;
    let (registered, bobs) = client(&play, "Bob's", &bob).await;
    let (others, owners) = client(&play, "Owner's", &play.owner).await;
    let api = async |person: &Visitor, method: &str, path: &str| {
        let me = RestAnswer::read(person.draft("GET", "/api/me").send().await).await;
        let draft = person.draft(method, path).header("origin", play.gateway.url());
        RestAnswer::read(draft.header("x-yesgate-token", &me.text_of("token")).send().await).await
    };
    let listed = api(&bob, "GET", "/api/clients").await.body["clients"].clone();
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    let connection = &listed[0];
    assert_eq!((&connection["kind"], &connection["name"]), (&json!("connection"), &json!("Bob's")));
    assert_eq!(connection["scopes"], json!(["mcp:call", "mcp:read"]));
    assert_eq!(connection["client"], registered.id());
    let all = api(&play.owner, "GET", "/api/clients").await.body["clients"].clone();
    assert_eq!(all.as_array().unwrap().iter().filter(|client| client["kind"] == "connection").count(), 2);
    assert!(!all.to_string().contains("ygt_") && !all.to_string().contains("ygr_"));
    let theirs = all.as_array().unwrap().iter().find(|client| client["name"] == "Owner's").unwrap();
    let theirs = theirs["id"].as_str().unwrap();
    for path in [
        format!("/api/clients/{theirs}"),
        format!("/api/mcp/oauth/clients/{theirs}"),
        format!("/api/mcp/oauth/clients/{}", others.id()),
        "/api/mcp/oauth/clients/https%3A%2F%2Fnobody.example%2Fclient.json".to_owned(),
    ] {
        assert_eq!(api(&bob, "DELETE", &path).await.status, 404, "{path}");
    }
    // Without the token of the session it is anybody's.
    let path = format!("/api/mcp/oauth/clients/{}", registered.id());
    let forged = bob.draft("DELETE", &path).header("origin", play.gateway.url());
    assert_eq!(RestAnswer::read(forged.send().await).await.status, 403);
    assert_eq!(rest(&play, &bobs).get("/api/openapi.json").await.status, 200);
    let revoked = api(&bob, "DELETE", &path).await;
    assert_eq!((revoked.status, &revoked.body), (200, &json!({"connections": 1})), "{}", revoked.text);
    assert_eq!(rest(&play, &bobs).get("/api/openapi.json").await.status, 401);
    // The registration was theirs alone: the client hears that it has to register anew.
    assert_eq!(registered.refresh(&bobs.refresh).await.body["error"], "invalid_client");
    let revoked = api(&play.owner, "DELETE", &format!("/api/clients/{theirs}")).await;
    assert!(revoked.status == 200 && revoked.body["revoked_at"].is_string(), "{}", revoked.text);
    eventually("the owner's client is out", async || {
        (rest(&play, &owners).get("/api/openapi.json").await.status == 401).then_some(())
    })
    .await;
    play.finish(0);
}

/// O-S4: a code in a link is written into the form, and nothing is answered by opening it; a wrong one says so.
#[tokio::test]
async fn a_code_in_a_link_is_only_written_down() {
    let play = play().await;
    let page = play.owner.get("/device?user_code=bcdf-ghjk").await;
    assert!(page.status == 200 && page.html.contains("value=\"BCDF-GHJK\""), "{}", page.html);
    let sent = play.gateway.visitor().get("/device?user_code=bcdf-ghjk").await;
    assert_eq!((sent.status, sent.header("location")), (303, Some("/sign-in?to=device-BCDF-GHJK")));
    let token = page.form_with_action("/device");
    let wrong = play.owner.post("/device", &[("token", &token), ("user_code", "<b>")]).await;
    assert!(wrong.status == 403 && wrong.html.contains("Nothing waits under that code"), "{}", wrong.html);
    play.finish(0);
}
