//! The web answer (H3): the agent is sent away with an address and no token, a human decides, polling only reads.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};
use yesgate_testkit::{Lane, Player, intent_id, refusal, structured, until};

use super::plain;

const CONFIG: &str = "profile = \"handshake\"\n[times]\nhold = \"1s\"\nwait = \"0s\"\n";

/// Asks for a deletion by a page.
fn delete(player: &mut Player, note: &str) -> Value {
    player.call("delete_note", json!({"id": note, "__channel": "web"}))
}

/// What the agent reads when it looks: over HTTP at the address that it was given, and with the tool on every lane.
#[track_caller]
fn looked_at(player: &mut Player, held: &Value) -> Vec<Value> {
    let told = player.call("yesgate_status", json!({"intent_id": intent_id(held)}));
    let mut looks = vec![structured(&told).clone()];
    if let Some(url) = structured(held)["polling_url"].as_str() {
        looks.extend(get(url).map(|body| serde_json::from_str(&body).unwrap()));
    }
    looks
}

/// The body at an address of the gateway. `None`: we have looked too soon, and are told to slow down.
#[track_caller]
fn get(url: &str) -> Option<String> {
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    // Whoever is not signed in is sent to the sign-in.
    let is_page = path.starts_with("approve/");
    if !is_page && head.starts_with("HTTP/1.1 429 ") {
        assert!(body.contains("\"slow_down\"") && head.contains("retry-after: "), "{answer}");
        return None;
    }
    let expected = if is_page { "HTTP/1.1 303 " } else { "HTTP/1.1 200 " };
    assert!(head.starts_with(expected), "{head}");
    Some(body.to_owned())
}

/// H3: the answer names the question, its end and where to look, and carries no secret; looking, at the page or for the
/// state, decides and runs nothing. A yes on a human surface releases the call at once.
#[test]
fn a_web_answer_sends_the_agent_away_and_a_yes_releases_the_call() {
    for lane in Lane::ALL {
        let mut player = plain(lane, CONFIG);
        let held = delete(&mut player, "a");
        let fields = structured(&held);
        let intent = intent_id(&held);
        assert_eq!(fields["status"], "approval_required");
        assert!(fields["expires_at"].is_string() && fields["poll_interval_seconds"].is_u64(), "{held:#}");
        assert_eq!(fields.get("confirm_token"), None);
        assert!(!held.to_string().contains("pbc_"), "{held:#}");
        match lane {
            Lane::HttpLegacy | Lane::HttpModern => {
                for (key, path) in [("approval_url", "/approve/"), ("polling_url", "/api/intents/")] {
                    let url = fields[key].as_str().unwrap();
                    assert!(url.ends_with(&format!("{path}{intent}")), "{url}");
                    get(url);
                    get(url);
                }
            }
            // There is a page and nothing to poll; the words say what else to run.
            Lane::StdioLegacy | Lane::StdioModern => {
                let url = fields["approval_url"].as_str().unwrap();
                assert!(url.ends_with(&format!("/approve/{intent}")), "{url}");
                get(url);
                get(url);
                assert_eq!(fields.get("polling_url"), None);
                assert!(fields["message"].as_str().unwrap().contains("yesgate approve"), "{held:#}");
            }
        }
        for look in looked_at(&mut player, &held) {
            assert_eq!(look["status"], "pending", "{look:#}");
        }
        assert!(player.upstream_calls().is_empty());
        let by_agent = player.call("yesgate_approve", json!({ "intent_id": intent }));
        assert_eq!(refusal(&by_agent), "assurance_too_low");

        player.approve(&intent).ok();
        assert_eq!(player.runs("delete_note"), [json!({"id": "a"})], "without the agent");
        for look in looked_at(&mut player, &held).iter().chain(&looked_at(&mut player, &held)) {
            assert!(look["status"] == "done" || look["status"] == "approved", "{look:#}");
            assert!(look["result"].to_string().contains("\"deleted\":\"a\""), "{look:#}");
        }
        assert_eq!(player.runs("delete_note").len(), 1, "polling only reads");
        player.finish(1);
    }
}

/// H3: a no with its reason, and the end of the time to decide, have words of their own.
#[test]
fn a_web_answer_tells_a_no_from_the_end_of_the_time() {
    for lane in Lane::ALL {
        let mut player = plain(lane, &format!("{CONFIG}decide = \"3s\"\n"));
        let denied = delete(&mut player, "a");
        player.yesgate(&["deny", &intent_id(&denied), "--reason", "keep it"]).ok();
        for look in looked_at(&mut player, &denied) {
            assert_eq!(look["status"], "denied", "{look:#}");
            assert!(look.to_string().contains("keep it"), "{look:#}");
        }
        let late = delete(&mut player, "b");
        until("the end of its time", || {
            let looks = looked_at(&mut player, &late);
            looks.iter().all(|look| look["status"] == "expired").then_some(())
        });
        assert_ne!(player.approve(&intent_id(&late)).code(), 0);
        assert!(player.upstream_calls().is_empty());
        player.finish(0);
    }
}
