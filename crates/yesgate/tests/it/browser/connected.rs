//! The pages about clients on every kind of device.

use serde_json::json;
use yesgate_testkit::browser::page::Page;
use yesgate_testkit::{Browser, Device, OAuthClient};

use super::connect::{asking, signed_in};
use super::everywhere::{Look, look_at};
use crate::oauth::Play;

/// What is kept as a picture for the documentation.
const PICTURES: [&str; 2] = ["consent-phone-light", "clients-desktop-dark"];

/// H3, O-K2, O-V7: the question, the page on which a code is typed, and what is connected can be used by everybody, on a phone
/// and on a desk, in light and dark, with and without JavaScript.
#[tokio::test]
async fn the_pages_about_clients_are_sound_everywhere() {
    let play = Play::new().await;
    let mut requests = Vec::new();
    for (name, uri) in [
        ("Claude Code", "http://127.0.0.1:33418/callback"),
        ("Cursor", "cursor://anysphere.cursor-mcp/oauth/callback"),
        (
            "\u{202e}<b>A name that is as long as a name may be, and lies about itself",
            "https://claude.ai/callback",
        ),
    ] {
        requests.push(asking(&play, name, uri).await);
    }
    for name in ["Claude Code", "A client with a rather long name of its own, as some have"] {
        let body = json!({
            "client_name": name, "redirect_uris": [yesgate_testkit::oauth_client::REDIRECT],
            "token_endpoint_auth_method": "none",
        });
        let client = OAuthClient::register_as(play.gateway.url(), body).await;
        let tokens = client.connect(&play.owner).await;
        play.gateway.rest().bearer(&tokens.access).call("notes", "delete_note", json!({"id": "a"})).await;
    }
    play.stage.key("ann");
    let browser = Browser::start();
    let devices = [
        ("phone-light", Device::phone()),
        ("phone-dark", Device::phone().dark().without_javascript()),
        ("desktop-dark", Device::desktop().dark()),
        ("desktop-light", Device::desktop().without_javascript()),
    ];
    for (name, device) in devices {
        let page = signed_in(&play, &browser.context(device));
        let seen = |page: &Page, place: &str| {
            let picture = format!("{place}-{name}");
            if PICTURES.contains(&picture.as_str()) {
                page.shot(&picture);
            }
            look_at(page, name, Look::Close);
        };
        for (place, request) in ["consent", "app", "hostile"].iter().zip(&requests) {
            assert_eq!(page.goto(&request.url), 200);
            page.wait_for_text("wants to connect");
            seen(&page, place);
        }
        for (place, path) in
            [("clients", "/settings/connected-clients"), ("device", "/device?user_code=BCDF-GHJK")]
        {
            assert_eq!(page.goto(&format!("{}{path}", play.gateway.url())), 200);
            seen(&page, place);
        }
        page.goto(&format!("{}/connect/ygq_0000", play.gateway.url()));
        page.troubles();
        seen(&page, "gone");
    }
    browser.close();
    play.finish(0);
}
