//! Clients that have a document at their address, all the way from the first request to a refresh.

use serde_json::{Value, json};
use yesgate_core::policy::{DocumentHosts, Documents, OAuthConfig};
use yesgate_http::edge::bearer::Unadmitted;
use yesgate_testkit::DocumentServer;

use crate::support::{CALLBACK, Stage, request, seconds};

/// A stage on which documents of this machine are taken.
async fn stage() -> Stage {
    let documents = Documents {
        on_this_machine: true,
        authorities: Some(DocumentServer::authority()),
        ..Documents::default()
    };
    Stage::with(OAuthConfig { documents, ..OAuthConfig::default() }).await
}

/// As `ChatGPT` has it: it would rather sign, and names a picture and keys that nobody may fetch.
fn document(server: &DocumentServer, url: &str) -> Value {
    json!({
        "client_id": url,
        "client_name": "Client",
        "logo_uri": server.url("/logo.png"),
        "jwks_uri": server.url("/keys"),
        "redirect_uris": [CALLBACK],
        "token_endpoint_auth_method": "private_key_jwt",
        "token_endpoint_auth_methods_supported": ["private_key_jwt", "none"],
    })
}

/// O-C1, O-C2, O-C4, O-C5: a client connects by its document alone, which is fetched where a person is asked, and kept for the
/// rest; neither its picture nor its keys are ever fetched.
#[tokio::test]
async fn a_client_connects_by_its_document() {
    let server = DocumentServer::start();
    let url = server.url("/client.json");
    server.serves("/client.json", &document(&server, &url));
    let stage = stage().await;
    let (ticket, browser) = Stage::expect_ask(stage.authorize(&request(&url)).await);
    let asked = stage.server.asked(&ticket, &browser, &stage.session).await.unwrap().unwrap();
    let host = format!("127.0.0.1:{}", server.port());
    assert_eq!(asked.client.verified_host(), Some(host.as_str()));
    assert_eq!(server.requests("/client.json"), 1);
    let reply = stage.connect(&url).await;
    assert_eq!(server.requests("/client.json"), 2, "once for each time that a person is asked");
    stage.admit(&reply.str("access_token")).await.unwrap();
    stage.clock.turn(seconds(3600));
    assert_eq!(stage.admit(&reply.str("access_token")).await.unwrap_err(), Unadmitted::InvalidToken);
    let refresh = reply.str("refresh_token");
    let form = [("grant_type", "refresh_token"), ("refresh_token", &refresh), ("client_id", &url)];
    let renewed = stage.token(&form).await.is(200);
    stage.admit(&renewed.str("access_token")).await.unwrap();
    assert_eq!(server.requests("/client.json"), 2, "the one that is kept will do");
    assert_eq!(server.all_requests(), 2);
}

/// O-C6: a host that the operator denies is denied at once: tokens that clients of it have let nobody in any more. Others, and those
/// that registered, do not notice.
#[tokio::test]
async fn a_host_that_is_denied_later_is_denied_at_once() {
    let server = DocumentServer::start();
    let url = server.url("/client.json");
    server.serves("/client.json", &document(&server, &url));
    let stage = stage().await;
    let access = stage.connect(&url).await.str("access_token");
    let other = stage.connect(&stage.public_client().await).await.str("access_token");
    stage.admit(&access).await.unwrap();
    let documents = |denied: &str| Documents {
        on_this_machine: true,
        authorities: Some(DocumentServer::authority()),
        denied: vec![denied.to_owned()],
        ..Documents::default()
    };
    let govern = |documents| {
        stage.server.govern(OAuthConfig { documents, ..OAuthConfig::default() }, Vec::new());
    };
    govern(documents("elsewhere.example"));
    stage.admit(&access).await.unwrap();
    govern(documents("127.0.0.1"));
    assert_eq!(stage.admit(&access).await.unwrap_err(), Unadmitted::InvalidToken);
    stage.admit(&other).await.unwrap();
    govern(Documents { from: DocumentHosts::Nobody, ..documents("elsewhere.example") });
    assert_eq!(stage.admit(&access).await.unwrap_err(), Unadmitted::InvalidToken);
    stage.admit(&other).await.unwrap();
}

/// O-C3: nobody is asked about a document that cannot be taken, and what the person is told repeats nothing of it.
#[tokio::test]
async fn nobody_is_asked_about_a_document_that_cannot_be_taken() {
    let server = DocumentServer::start();
    let url = server.url("/client.json");
    let stage = stage().await;
    let mut other = document(&server, &server.url("/other.json"));
    other["client_name"] = json!("words-of-theirs");
    server.serves("/client.json", &other);
    let refused = Stage::expect_refusal(stage.authorize(&request(&url)).await);
    assert!(refused.what.contains("client_id"), "{refused:?}");
    assert!(!format!("{refused:?}").contains("words-of-theirs"), "{refused:?}");
    let to = server.url("/other.json");
    server.says("/client.json", format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n"));
    Stage::expect_refusal(stage.authorize(&request(&url)).await);
    assert_eq!(server.requests("/other.json"), 0);
    for url in [
        "https://169.254.169.254/client.json",
        "https://10.0.0.1/client.json",
        "http://127.0.0.1/client.json",
    ] {
        Stage::expect_refusal(stage.authorize(&request(url)).await);
    }
}
