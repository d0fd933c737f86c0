//! Taking back what was allowed, in each way that there is: it holds from the next request on, and closes what is open.

use serde_json::json;
use yesgate_testkit::{Tokens, Visitor, WebHost, eventually};

use super::{Play, assert_error, assert_out, delete, read};

/// The id of the only connection of a person, as their page shows it.
async fn connection(play: &Play, person: &Visitor) -> String {
    let page = person.get("/settings/connected-clients").await;
    let (action, _) = page.form_with_button("Revoke<");
    let id =
        action.strip_prefix("/settings/connected-clients/").and_then(|rest| rest.strip_suffix("/revoke"));
    id.unwrap_or_else(|| panic!("{action} at {}", play.gateway.url())).to_owned()
}

/// The ways in which a client is shut out.
#[derive(Clone, Copy, Debug)]
enum Way {
    ByItself,
    OnThePage,
    AllOnThePage,
    ByConnection,
    ByClient,
    Everything,
    AtTheTerminal,
}

impl Way {
    const ALL: [Self; 7] = [
        Self::ByItself,
        Self::OnThePage,
        Self::AllOnThePage,
        Self::ByConnection,
        Self::ByClient,
        Self::Everything,
        Self::AtTheTerminal,
    ];

    async fn take(
        self,
        play: &Play,
        person: &Visitor,
        client: &yesgate_testkit::OAuthClient,
        tokens: &Tokens,
    ) {
        let press = async |words: &str| {
            let (action, fields) = person.get("/settings/connected-clients").await.form_with_button(words);
            let fields: Vec<(&str, &str)> =
                fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            let answer = person.post(&action, &fields).await;
            assert_eq!(answer.status, 303, "{words}: {}", answer.html);
        };
        let by_rest = async |path: &str| {
            let answer = delete(person, &play.gateway, path).await;
            assert!(answer.status < 300, "{path}: {} {}", answer.status, answer.text);
        };
        match self {
            Self::ByItself => assert_eq!(client.revoke(&tokens.refresh).await.status, 200),
            Self::OnThePage => press("Revoke<").await,
            Self::AllOnThePage => press("Revoke all of mine").await,
            Self::ByConnection => {
                by_rest(&format!("/api/mcp/oauth/clients/{}", connection(play, person).await)).await;
            }
            Self::ByClient => by_rest(&format!("/api/mcp/oauth/clients/{}", client.id())).await,
            Self::Everything => by_rest("/api/me/sessions").await,
            Self::AtTheTerminal => {
                let id = connection(play, person).await;
                play.stage.stage().yesgate(&["clients", "revoke", &id]).ok();
            }
        }
    }
}

/// O6, O7, O-V2: in whichever way a client is shut out, its next request finds the door closed, its refresh token is
/// worth nothing, and nobody else's client notices.
#[tokio::test]
async fn a_client_that_is_shut_out_is_out_on_the_next_request() {
    let play = Play::new().await;
    let (other, kept) = play.connected().await;
    for (index, way) in Way::ALL.into_iter().enumerate() {
        let person = play.person(&[&format!("bob{index}"), "--role", "approver"]).await;
        let client = play.client().await;
        let tokens = client.connect(&person).await;
        assert_eq!(read(&play.rest(&tokens)).await.status, 200, "{way:?}");
        way.take(&play, &person, &client, &tokens).await;
        assert_out(&read(&play.rest(&tokens)).await);
        let refused = client.refresh(&tokens.refresh).await;
        assert!([400, 401].contains(&refused.status), "{way:?}: {} {}", refused.status, refused.text);
        assert_eq!(read(&play.rest(&kept)).await.status, 200, "{way:?}");
    }
    assert_eq!(other.refresh(&kept.refresh).await.status, 200);
    play.finish(0);
}

/// O-V2: a revoke closes the streams that are open, of both eras, and those of nobody else.
#[tokio::test]
async fn a_revoke_closes_open_streams() {
    let play = Play::new().await;
    let (client, tokens) = play.connected().await;
    let (_, kept) = play.connected().await;
    let open = async |tokens: &Tokens| {
        let mut host = WebHost::new(client.resource()).bearer(&tokens.access);
        host.initialize().await;
        let stream = host.listen().await;
        assert_eq!(stream.status(), 200, "{}", stream.wire());
        (host, stream)
    };
    let (_mine, mut closed) = open(&tokens).await;
    let (theirs, _open) = open(&kept).await;
    let modern = WebHost::new(client.resource()).bearer(&tokens.access);
    let params = json!({"notifications": {"toolsListChanged": true}});
    let mut listening = modern.draft("subscriptions/listen", params).send().await;
    assert_eq!(listening.status(), 200, "{}", listening.wire());
    assert_eq!(client.revoke(&tokens.refresh).await.status, 200);
    // Nothing more comes, and the end does.
    closed.rest().await;
    listening.rest().await;
    assert_eq!(theirs.request("tools/list", json!({})).await["error"], serde_json::Value::Null);
    play.finish(0);
}

/// O-V2, FC-34: a call that waits for a person when its client is shut out is not released by a later yes.
#[tokio::test]
async fn what_a_revoked_client_asked_for_is_withdrawn() {
    let play = Play::new().await;
    let person = play.person(&["bob", "--role", "approver"]).await;
    let client = play.client().await;
    let tokens = client.connect(&person).await;
    let asked = play.rest(&tokens).call("notes", "delete_note", json!({"id": "a"})).await;
    let intent = asked.text_of("intent_id");
    assert_eq!(delete(&person, &play.gateway, "/api/me/sessions").await.status, 200);
    eventually("the question is withdrawn", async || {
        (play.stage.shown(&intent)["state"] == "cancelled").then_some(())
    })
    .await;
    assert!(!play.stage.approve(&intent).status.success());
    play.finish(0);
}

/// O-V1: anybody may bring any token; what is not their own stays as it is, and the answer is the same.
#[tokio::test]
async fn giving_back_what_is_not_ones_own_does_nothing() {
    let play = Play::new().await;
    let (client, tokens) = play.connected().await;
    let stranger = play.client().await;
    for token in [tokens.access.as_str(), &tokens.refresh, "ygt_nothing", "x", ""] {
        let answer = stranger.revoke(token).await;
        assert!(answer.status == 200 || token.is_empty(), "{token}: {} {}", answer.status, answer.text);
    }
    assert_eq!(read(&play.rest(&tokens)).await.status, 200);
    assert_eq!(client.revoke(&tokens.access).await.status, 200);
    assert_out(&read(&play.rest(&tokens)).await);
    let next = client.tokens(&client.refresh(&tokens.refresh).await);
    assert_eq!(read(&play.rest(&next)).await.status, 200, "an access token is given back alone");
    play.finish(0);
}

/// O-S10: a client that was deleted hears that it is not known any more, so that it registers anew; after a restart too.
#[tokio::test]
async fn a_deleted_client_hears_that_it_has_to_register_anew() {
    let mut play = Play::new().await;
    let (client, tokens) = play.connected().await;
    let path = format!("/api/mcp/oauth/clients/{}", client.id());
    assert!(delete(&play.owner, &play.gateway, &path).await.status < 300);
    play.restart();
    let client = client.reconnected();
    assert_error(&client.refresh(&tokens.refresh).await, 401, "invalid_client");
    let page = play.owner.open(&client.request(&[]).url).await;
    assert_eq!((page.status, page.header("location")), (400, None), "{}", page.html);
    play.finish(0);
}
