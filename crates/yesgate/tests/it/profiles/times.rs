//! How long a human has, by the way in which they are asked.

use serde_json::{Value, json};
use yesgate_testkit::{Human, Lane, LaneEra, Player, intent_id, refusal, structured, until};

use super::{forms, setup};

const RULES: &str = r#"
[[rules]]
tool = "mock/delete_note"
then = "ask"
channel = "elicitation"

[[rules]]
tool = "mock/pay"
then = "ask"
channel = "chat"

[[rules]]
tool = "mock/deploy"
confirm = "preview"
channel = "chat"
preview = { args = { dry_run = true } }

[[rules]]
tool = "mock/slow"
then = "ask"
channel = "out_of_band"
"#;

/// The seconds from the opening of a question to the end of the time to decide.
#[track_caller]
fn time_of(player: &Player, intent: &str) -> i64 {
    let shown = player.shown(intent);
    let at = |key: &str| shown[key].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    at("decide_by").duration_since(at("opened_at")).as_secs()
}

/// PRODUCT "Time": elicitation and previews 5 minutes, web and out of band 30, a chat token one minute; and what the
/// operator writes holds for all.
#[test]
fn the_time_to_decide_follows_from_how_it_is_asked() {
    for lane in Lane::ALL {
        for (times, form, preview, (token, away)) in [
            ("", 300, 300, (60, 1800)),
            ("decide = \"20m\"\n", 1200, 1200, (60, 1200)),
            ("token = \"10m\"\n", 600, 600, (600, 1800)),
        ] {
            let config = format!("[times]\nhold = \"1s\"\nwait = \"0s\"\n{times}{RULES}");
            let mut player = setup(lane).config(&config).server_args(&["--deploy"]).open(forms());
            let paid = player.call("pay", json!({"amount": 1, "currency": "USDC", "to": "ann"}));
            assert_eq!(structured(&paid)["ttl_seconds"], token);
            let deployed = player.call("deploy", json!({"name": "a"}));
            assert_eq!(time_of(&player, &intent_id(&deployed)), preview, "{deployed:#}");
            let slow = player.call("slow", json!({}));
            assert_eq!(time_of(&player, &intent_id(&slow)), away);

            let pending = player.begin("delete_note", json!({"id": "a"}));
            let open = until("the form is open", || {
                let open = player.pending();
                open.iter().find(|one| one["tool"] == "delete_note").map(|one| one["intent_id"].clone())
            });
            assert_eq!(time_of(&player, open.as_str().unwrap()), form);
            assert_eq!(structured(&player.go_on(pending, Human::Accepts).answer)["deleted"], "a");
            player.leave();
            assert_eq!(player.runs("delete_note").len(), 1);
        }
    }
}

/// PRODUCT "Time": a form is worth nothing once the time to decide is over, and the agent is told that nobody decided.
#[test]
fn a_form_that_nobody_fills_in_expires() {
    for lane in Lane::ALL {
        let config = format!("[times]\ndecide = \"1s\"\n{RULES}");
        let mut player = setup(lane).config(&config).open(forms());
        let pending = player.begin("delete_note", json!({"id": "a"}));
        let answer = match lane.era() {
            LaneEra::Legacy => player.answer(pending),
            LaneEra::Modern => {
                let asking = player.answer(pending);
                let rows = until("the end of its time", || {
                    let rows = player.audit();
                    rows.iter().any(|row| row["entry"]["event"] == "expired").then_some(rows)
                });
                assert!(!rows.iter().any(|row| row["entry"]["event"] == "approved"));
                player.call_with("delete_note", json!({"id": "a"}), &late_yes(&asking["result"]))
            }
        };
        assert_eq!(refusal(&answer), "expired", "{answer:#}");
        assert!(player.upstream_calls().is_empty());
        player.finish(0);
    }
}

/// What a modern client comes back with when its human says yes to everything.
fn late_yes(asking: &Value) -> Value {
    let key = asking["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
    let yes = json!({"action": "accept", "content": {"approve": true}});
    json!({"requestState": asking["requestState"], "inputResponses": {key: yes}})
}
