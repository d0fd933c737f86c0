//! What `docs/rest.md` shows is what happens, and what the description says is what there is.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::Play;

/// H8: the session in the guide, word for word, with a real `curl`. `…` stands for what differs from run to run.
#[tokio::test(flavor = "multi_thread")]
async fn the_session_of_the_guide_is_what_curl_shows() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rest.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let play = Play::new();
    let mut environment: Vec<(&str, String)> = vec![("GATE", play.gateway.url().to_owned())];
    let mut commands = 0;
    for block in guide.split("```console\n").skip(1).filter_map(|rest| rest.split("```").next()) {
        for command in block.split("$ ").skip(1) {
            // A command ends with the first line that does not end with a backslash.
            let lines = command.split_inclusive('\n').collect::<Vec<_>>();
            let last = lines.iter().position(|line| !line.ends_with("\\\n")).unwrap();
            let (command, expected) = (lines[..=last].concat(), lines[last + 1..].concat());
            if !command.starts_with("curl") {
                continue;
            }
            let ran = Command::new("sh").args(["-c", &command]).envs(environment.clone()).output().unwrap();
            let shown = String::from_utf8(ran.stdout).unwrap();
            assert!(ran.status.success(), "{command}{}", String::from_utf8_lossy(&ran.stderr));
            assert!(fits(&expected, &shown), "{command}\nexpected {expected}\nshown {shown}");
            let body = shown.lines().next_back().unwrap_or_default();
            let body: Value = serde_json::from_str(body).unwrap_or_default();
            for (name, key) in [("TOKEN", "confirm_token"), ("ID", "intent_id")] {
                if let Some(value) = body[key].as_str() {
                    environment.retain(|(known, _)| *known != name);
                    environment.push((name, value.to_owned()));
                }
            }
            commands += 1;
        }
    }
    assert!(commands >= 5, "{commands}");
}

/// Whether a text is another one, in which `…` stands for anything.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.trim_end().split('…');
    let Some(mut rest) = text.trim_end().strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut is_last_empty = true;
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else { return false };
        (rest, is_last_empty) = (after, part.is_empty());
    }
    rest.is_empty() || (pattern.contains('…') && is_last_empty)
}

/// The description has each path under the methods that it has, and refers to nothing that is not there.
#[tokio::test]
async fn the_description_is_whole() {
    let play = Play::new();
    let document = play.host().get("/api/openapi.json").await;
    let paths = document.body["paths"].as_object().unwrap();
    let mut listed: Vec<String> = paths
        .iter()
        .flat_map(|(path, item)| item.as_object().unwrap().keys().map(move |verb| format!("{verb} {path}")))
        .collect();
    listed.sort();
    insta::assert_snapshot!(listed.join("\n"), @r"
    delete /api/clients/{client_id}
    delete /api/grants/{grant_id}
    delete /api/mcp/oauth/clients/{oauth_client_id}
    delete /api/me/sessions
    delete /api/me/sessions/{session_id}
    get /api/audit
    get /api/clients
    get /api/grants
    get /api/grants/{grant_id}
    get /api/intents
    get /api/intents/{intent_id}
    get /api/me
    get /api/me/sessions
    get /api/openapi.json
    post /api/consent/consume
    post /api/consent/mint
    post /api/consent/{intent_id}/outcome
    post /api/intents/{intent_id}/cancel
    post /api/intents/{intent_id}/decide
    post /api/tools/{server}/{tool}
    ");
    for reference in document.text.split("\"$ref\":\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(document.body.pointer(reference).is_some(), "{reference}");
    }
    let written = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/api.json"));
    let written: Value = serde_json::from_str(&written.unwrap()).unwrap();
    assert_eq!(written, document.body, "docs/api.json is what is served where the operator has no routes");
}
