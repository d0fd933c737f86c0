//! Whose a yes, a question and a mode are: organisation, user and client are all part of it (H4, H5, M2).

use serde_json::{Value, json};
use yesgate_testkit::{Gateway, ServeStage, WebHost, confirm_token, intent_id, refusal, structured};

/// A gateway with keys for these organisations, users and clients.
#[track_caller]
fn play<const N: usize>(config: &str, callers: [[&str; 3]; N]) -> (ServeStage, Gateway, [String; N]) {
    let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate"));
    let server = stage.child("notes", &[]);
    let stage = stage.config(&format!("{config}{server}"));
    let keys = callers.map(|[org, user, client]| {
        let words = ["keys", "add", "--org", org, "--user", user, "--client", client, "--json"];
        stage.stage().yesgate(&words).ok().json()["key"].as_str().unwrap().to_owned()
    });
    let gateway = stage.start();
    (stage, gateway, keys)
}

/// Clients of both eras with this key, at the server's own endpoint.
async fn clients(gateway: &Gateway, key: &str) -> [WebHost; 2] {
    let mut legacy = gateway.server("notes").bearer(key);
    legacy.initialize().await;
    [legacy, gateway.server("notes").bearer(key)]
}

const CALLERS: [[&str; 3]; 4] =
    [["acme", "ada", "desk"], ["other", "ada", "desk"], ["acme", "bob", "desk"], ["acme", "ada", "phone"]];

fn delete(note: &str, token: Option<&str>) -> Value {
    match token {
        Some(token) => json!({"id": note, "confirm_token": token}),
        None => json!({"id": note}),
    }
}

/// H4: a token of one caller is worth nothing to another: not in another organisation, not to another user, not from
/// another client.
#[tokio::test]
async fn a_token_is_its_callers_alone() {
    let (stage, mut gateway, keys) = play("", CALLERS);
    for era in 0..2 {
        let note = format!("note-{era}");
        let mine = &clients(&gateway, &keys[0]).await[era];
        let token = confirm_token(&mine.call("delete_note", delete(&note, None)).await);
        for (thief, field) in keys[1..].iter().zip(["org", "principal", "client"]) {
            let stolen = &clients(&gateway, thief).await[era];
            let told = stolen.call("delete_note", delete(&note, Some(&token))).await;
            assert_eq!(refusal(&told), "consent_token_mismatch", "{field}");
            assert_eq!(told["error"]["data"]["details"]["changed"], field, "{told:#}");
        }
        let ran = mine.call("delete_note", delete(&note, Some(&token))).await;
        assert_eq!(structured(&ran)["deleted"], note.as_str());
    }
    assert!(gateway.close().success());
    assert_eq!(stage.check_history("notes", &[]).gated, 2);
}

/// H5: another call supersedes a question of the same caller, and of nobody else.
#[tokio::test]
async fn a_question_is_superseded_by_its_own_caller_only() {
    let (stage, mut gateway, keys) = play("", CALLERS);
    for era in 0..2 {
        let mine = &clients(&gateway, &keys[0]).await[era];
        let intent = intent_id(&mine.call("delete_note", delete(&format!("a{era}"), None)).await);
        for other in &keys[1..] {
            clients(&gateway, other).await[era].call("delete_note", delete(&format!("b{era}"), None)).await;
        }
        assert_eq!(stage.shown(&intent)["state"], "pending");
        mine.call("delete_note", delete(&format!("c{era}"), None)).await;
        assert_eq!(stage.shown(&intent)["state"], "superseded");
    }
    assert!(gateway.close().success());
    assert_eq!(stage.check_history("notes", &[]).gated, 0);
}

/// M2: a mode belongs to a user and a client: what one lowers stays as it was for all others.
#[tokio::test]
async fn a_mode_belongs_to_a_user_and_a_client() {
    let (stage, mut gateway, keys) = play(
        "profile = \"modes\"\nmode = \"execute\"\n[[rules]]\ntool = \"notes/write_note\"\nclass = \"safe-write\"\n",
        CALLERS,
    );
    let [mine, _] = clients(&gateway, &keys[0]).await;
    let lowered = mine.call("yesgate_set_mode", json!({"mode": "ask"})).await;
    assert_eq!(structured(&lowered)["mode"], "ask", "{lowered:#}");
    for (index, key) in keys.iter().enumerate() {
        for host in clients(&gateway, key).await {
            let told = host.call("write_note", json!({"id": "b", "text": "x"})).await;
            let forbidden = told["result"]["isError"] == true && refusal(&told) == "mode_forbids";
            assert_eq!(forbidden, index == 0, "{told:#}");
        }
    }
    assert!(gateway.close().success());
    stage.check_history("notes", &["write_note"]);
}
