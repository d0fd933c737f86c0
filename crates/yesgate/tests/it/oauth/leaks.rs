//! O-S5, O-S7: after a full run, no secret that was ever issued is in any file of the gateway's or in its log.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::json;
use yesgate_testkit::consent::returned;
use yesgate_testkit::{OAuthClient, RestAnswer};

use super::{Play, read};

/// The files below a folder that hold some text.
fn holding(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holding(&path, text));
        } else if fs::read(&path).unwrap().windows(text.len()).any(|window| window == text.as_bytes()) {
            found.push(path.display().to_string());
        }
    }
    found
}

/// O-S5, O-S7, O-S11: registration, codes, tokens, refreshes, a device, wrong secrets, reuse and revokes, with the log at
/// its most talkative: every secret is searched for while the gateway runs and after it has ended.
#[tokio::test]
async fn no_secret_that_was_issued_is_in_a_file_or_in_the_log() {
    let mut play = Play::talkative("times = { retry = \"0s\" }\n").await;
    let mut secrets = BTreeSet::new();
    for method in [None, Some("none"), Some("client_secret_post")] {
        let client = OAuthClient::register(play.gateway.url(), method).await;
        let first = client.connect(&play.owner).await;
        assert_eq!(read(&play.rest(&first)).await.status, 200);
        play.rest(&first).call("notes", "delete_note", json!({"id": "a"})).await;
        let second = client.tokens(&client.refresh(&first.refresh).await);
        let _reused = client.refresh(&first.refresh).await;
        let unused = client.request(&[]);
        let back = play.owner.allow(&unused.url).await;
        secrets.extend(returned(&back, "code"));
        secrets.insert(unused.verifier);
        // Where secrets do not belong.
        let rest = play.gateway.rest();
        let mistaken = format!("/api/mcp/oauth/token?refresh_token={}", second.refresh);
        RestAnswer::read(rest.draft("POST", &mistaken).send().await).await;
        rest.get(&format!("/api/mcp?access_token={}", second.access)).await;
        rest.get(&format!("/nowhere/{}", second.access)).await;
        client.post("/api/mcp/oauth/introspect", &[("token", &second.access)]).await;
        assert_eq!(client.revoke(&second.refresh).await.status, 200);
        secrets.extend(client.secrets());
    }
    let device = super::without_a_browser::register(&play).await;
    let told = device.post("/api/mcp/oauth/device", &[("resource", &device.resource())]).await;
    assert_eq!(told.status, 200, "{}", told.text);
    play.owner.allow_device(&told.text_of("user_code")).await;
    secrets.extend(device.secrets());
    secrets.insert(play.owner.cookie().split('=').nth(1).unwrap().to_owned());
    assert!(secrets.len() > 20, "{}", secrets.len());
    let look = |play: &Play, when: &str| {
        let said = play.gateway.stderr();
        for secret in &secrets {
            let bare = secret.rsplit('_').next().filter(|bare| bare.len() > 20).unwrap_or(secret);
            assert_eq!(holding(&play.stage.stage().home(), bare), Vec::<String>::new(), "{when}: {secret}");
            assert!(!said.contains(bare), "{when}: {secret} is in the log");
        }
    };
    assert!(play.gateway.stderr().contains("a client registered"), "there is no log to look at");
    look(&play, "while it runs");
    let audit = play.stage.stage().yesgate(&["audit", "list", "--json", "--last", "100000"]).ok().stdout;
    assert!(!secrets.iter().any(|secret| audit.contains(secret.as_str())));
    play.stage.stage().yesgate(&["audit", "verify"]).ok();
    assert!(play.gateway.close().success());
    look(&play, "after its end");
}
