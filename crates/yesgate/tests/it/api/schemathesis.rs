//! The API against its own description, with requests that nobody would think of: by an agent, and by a person.
//!
//! Schemathesis makes them from the description: what it allows, what it forbids, and the edges between. Names that
//! exist are written into the description first, so that most requests get further than "there is none".

use std::process::Command;

use serde_json::{Value, json};
use yesgate_testkit::peers::installed;

use super::Play;

/// How many requests for each operation, beside those at every edge of its description.
const EXAMPLES: &str = "4";

/// What an answer must be: no failure of ours, and exactly what the description says.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
    response_headers_conformance,response_schema_conformance";

const RULES: &str = r#"
[asking]
open = 1000
per_minute = 10000
[[rules]]
tool = "notes/delete_note"
then = "ask"
channel = "chat"
"#;

/// No answer is a failure of ours or breaks the description, whoever asks and whatever they ask.
#[tokio::test(flavor = "multi_thread")]
async fn every_answer_to_peers_of_the_description_is_as_described() {
    let play = Play::with(RULES).await;
    let open = [play.delete("a").await, play.delete("b").await];
    let mut document = play.owner.get("/api/openapi.json").await.body;
    narrow(&mut document, &open);
    let seen = play.owner.get(&super::question(&open[1])).await.text_of("digest");
    let body = "/paths/~1api~1intents~1{intent_id}~1decide/post/requestBody/content/application~1json/schema";
    document.pointer_mut(body).unwrap()["properties"]["seen"] = json!({"enum": [seen, "nonsense"]});
    let file = play.stage.stage().file("openapi.json");
    std::fs::write(&file, document.to_string()).unwrap();
    // The same caller as the one that asked: it may decide what was asked in chat.
    let key = play.stage.key("ann");
    let agent = [format!("Authorization: Bearer {key}")];
    let person = [
        format!("Cookie: {}", play.owner.browser.cookie()),
        format!("Origin: {}", play.gateway.url()),
        format!("X-Yesgate-Token: {}", play.owner.token),
    ];
    let run = |headers: &[String]| {
        let mut command = Command::new(installed("schemathesis/python/bin/schemathesis"));
        command.args(["run".as_ref(), file.as_os_str()]).args(["--url", play.gateway.url()]);
        command.args(["--checks", CHECKS, "--phases", "coverage,fuzzing", "--max-examples", EXAMPLES]);
        command.args(["--generation-deterministic", "--generation-with-security-parameters", "false"]);
        command.args(["--suppress-health-check", "all", "--warnings", "off", "--no-color", "--no-shrink"]);
        // Whoever ends their own session is told nothing more.
        command.args(["--exclude-operation-id", "end_everything", "--exclude-operation-id", "end_session"]);
        command.args(headers.iter().flat_map(|header| ["--header", header.as_str()]));
        let ran = command.current_dir(file.parent().unwrap()).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert!(ran.status.success(), "{said}\n{}", String::from_utf8_lossy(&ran.stderr));
        assert!(said.contains("No issues found"), "{said}");
        said
    };
    for headers in [&agent[..], &person[..]] {
        let said = run(headers);
        assert!(said.contains("Operations:"), "{said}");
    }
    assert_eq!(play.owner.get("/api/me").await.status, 200, "still signed in");
    let mut play = play;
    assert!(play.gateway.close().success());
    // Whatever was tried: what ran was read, or had its yes.
    play.stage.check_history("notes", &["read_note"]);
}

/// Writes names that exist into the description.
fn narrow(document: &mut Value, intents: &[String]) {
    let of = |name: &str| match name {
        "server" => Some(json!(["notes", "nowhere"])),
        "tool" => Some(json!(["read_note", "delete_note", "yesgate_status", "nothing"])),
        "intent_id" => Some(json!([intents[0], intents[1], "nonsense"])),
        _ => None,
    };
    let operations = document["paths"].as_object_mut().unwrap().values_mut();
    let operations = operations.flat_map(|item| item.as_object_mut().unwrap().values_mut());
    let lists = operations.filter_map(|operation| operation.get_mut("parameters")?.as_array_mut());
    for parameter in lists.flatten() {
        if let Some(values) = parameter["name"].as_str().and_then(of) {
            parameter["schema"] = json!({"enum": values});
        }
    }
}
