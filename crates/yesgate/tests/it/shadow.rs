//! Trying a policy: it is judged as always, what it would hold up passes, and that is written down first.

mod edges;

use serde_json::{Value, json};
use yesgate_testkit::lane::Setup;
use yesgate_testkit::{Lane, Player, error_code, intent_id, refusal, structured, text};

/// A rule that asks, one that rejects, and everything else by its class.
const TRIED: &str = r#"
shadow = true

[[rules]]
name = "notes"
tool = "mock/write_note"
then = "ask"
reason = "somebody reads them"

[[rules]]
name = "no payments"
tool = "mock/pay"
then = "reject"
reason = "this agent pays nobody"
"#;

#[track_caller]
fn setup(lane: Lane) -> Setup {
    lane.setup(env!("CARGO_BIN_EXE_yesgate"))
}

#[track_caller]
fn plain(lane: Lane, config: &str) -> Player {
    setup(lane).config(config).open(json!({}))
}

fn delete(player: &mut Player, note: &str) -> Value {
    player.call("delete_note", json!({ "id": note }))
}

fn payment(amount: &str) -> Value {
    json!({"amount": amount, "currency": "USDC", "to": "ann"})
}

/// What the trail says of calls that passed because the policy is only tried, without times and ids.
#[track_caller]
fn would(player: &Player) -> Vec<Value> {
    let rows = player.audit().into_iter().map(|row| row["entry"].clone());
    rows.filter(|entry| entry["event"].as_str().unwrap().starts_with("would_"))
        .map(|mut entry| {
            for of_the_moment in ["at", "intent"] {
                entry.as_object_mut().unwrap().remove(of_the_moment);
            }
            entry
        })
        .collect()
}

/// X8: what the policy would ask about or refuse passes at once, nobody is asked, and the trail says by which rule and
/// why, before the call goes out.
#[test]
fn what_would_be_held_up_passes_and_is_written_down() {
    for lane in Lane::ALL {
        let mut player = plain(lane, TRIED);
        assert_eq!(structured(&delete(&mut player, "a"))["deleted"], "a");
        assert!(text(&player.call("write_note", json!({"id": "a", "text": "b"}))).starts_with("run 2"));
        assert_eq!(text(&player.call("pay", payment("7.50"))), "run 3: paid 7.50 USDC to ann");
        player.call("read_note", json!({"id": "a"}));

        assert_eq!(
            would(&player),
            [
                json!({"event": "would_ask", "server": "mock", "tool": "delete_note", "class": "dangerous",
                       "rule": null, "reason": null}),
                json!({"event": "would_ask", "server": "mock", "tool": "write_note", "class": "dangerous",
                       "rule": "notes", "reason": "somebody reads them"}),
                json!({"event": "would_refuse", "server": "mock", "tool": "pay", "class": "dangerous",
                       "rule": "no payments", "reason": "this agent pays nobody", "code": "policy_denied"}),
            ]
        );
        let rows = player.audit();
        let at = |name: &str| rows.iter().position(|row| row["entry"]["event"] == name).unwrap();
        assert!(at("would_ask") < at("redeemed"), "it is written down before the call may go");
        let listed = player.yesgate(&["audit", "list"]).ok().stdout;
        assert!(listed.contains("would_refuse") && listed.contains("rule=\"no payments\""), "{listed}");
        assert_eq!(player.yeses(), ["asserted"; 3], "nobody said yes");
        assert!(player.pending().is_empty());
        player.yesgate(&["audit", "verify"]).ok();
        player.finish(3);
    }
}

/// X8: whoever starts the gateway, looks at the set-up or asks for an explanation is told.
#[test]
fn a_trial_is_loud() {
    for lane in Lane::ALL {
        let mut player = plain(lane, TRIED);
        delete(&mut player, "a");
        assert!(player.stderr().contains("SHADOW MODE at every server"), "{}", player.stderr());
        let doctor = player.yesgate(&["doctor"]);
        assert_eq!(doctor.code(), 5);
        assert!(doctor.stdout.contains("MEND  SHADOW"), "{}", doctor.stdout);
        player.finish(1);

        let player = plain(lane, "");
        assert!(!player.stderr().contains("SHADOW"));
        assert!(!player.yesgate(&["doctor"]).stdout.contains("SHADOW"));
        player.finish(0);
    }
}

/// X8: a policy is tried where the operator says, and in earnest elsewhere.
#[test]
fn a_policy_can_be_tried_at_single_servers() {
    for lane in Lane::ALL {
        let mut player = plain(lane, "shadow = [\"other\", \"mock\"]\n");
        assert_eq!(structured(&delete(&mut player, "a"))["deleted"], "a");
        player.finish(1);

        let mut player = plain(lane, "shadow = [\"other\"]\n");
        assert_eq!(structured(&delete(&mut player, "a"))["confirm_required"], true);
        player.finish(0);
    }
}

/// X8: nothing that a caller sends makes a trial of the policy.
#[test]
fn a_caller_cannot_have_the_policy_tried() {
    for lane in Lane::ALL {
        let mut player = plain(lane, "");
        for key in ["shadow", "__shadow"] {
            let mut arguments = json!({"id": "a"});
            arguments[key] = json!(true);
            let answer = player.call("delete_note", arguments);
            assert_eq!(structured(&answer)["confirm_required"], true, "{answer:#}");
        }
        let meta = json!({"_meta": {"shadow": true, "dev.yesgate/shadow": true}});
        let answer = player.call_with("write_note", json!({"id": "a", "text": "b"}), &meta);
        assert_eq!(structured(&answer)["confirm_required"], true, "{answer:#}");
        assert!(player.upstream_calls().is_empty());
        player.finish(0);
    }
}

/// X6, X8: a human who stopped everything or froze a client is heard whatever the policy is.
#[test]
fn what_a_human_stopped_stays_stopped_in_a_trial() {
    for lane in Lane::ALL {
        let mut player = plain(lane, TRIED);
        delete(&mut player, "a");
        player.yesgate(&["panic", "--reason", "enough"]).ok();
        assert_eq!(refusal(&delete(&mut player, "b")), "policy_denied");
        player.yesgate(&["panic", "--lift"]).ok();
        player.yesgate(&["freeze", "testkit"]).ok();
        assert_eq!(refusal(&delete(&mut player, "c")), "client_frozen");
        player.yesgate(&["thaw", "testkit"]).ok();
        assert_eq!(structured(&delete(&mut player, "d"))["deleted"], "d");
        assert_eq!(player.runs("delete_note"), [json!({"id": "a"}), json!({"id": "d"})]);
        assert_eq!(would(&player).len(), 2);
        player.finish(2);
    }
}

/// X8: what cannot be judged is refused in a trial too: parameters that the protocol does not know, numbers that
/// change on the way, a tool that is not there.
#[test]
fn what_cannot_be_judged_is_refused_in_a_trial() {
    for lane in Lane::ALL {
        let mut player = plain(lane, TRIED);
        let odd = player.call_with("delete_note", json!({"id": "a"}), &json!({"shadow": true}));
        assert_eq!(error_code(&odd), -32602, "{odd:#}");
        let changes = player.call("pay", json!({"amount": 9_007_199_254_740_993_u64, "to": "ann"}));
        assert_eq!(error_code(&changes), -32600, "{changes:#}");
        let nothing = player.call("no_such_tool", json!({}));
        assert!(nothing.get("error").is_some(), "{nothing:#}");
        assert!(player.upstream_calls().is_empty());
        assert!(would(&player).is_empty());
        player.finish(0);
    }
}

/// X8: a human's fresh no holds against a trial that begins after it, and an open question is over once its call has
/// passed.
#[test]
fn what_a_human_decided_holds_in_a_trial() {
    for lane in Lane::ALL {
        let mut player = plain(lane, "");
        let denied = intent_id(&delete(&mut player, "a"));
        player.yesgate(&["deny", &denied, "--reason", "keep it"]).ok();
        let open = intent_id(&delete(&mut player, "b"));
        player.set_config("shadow = true\n");
        player.restart();

        let refused = delete(&mut player, "a");
        assert_eq!((refusal(&refused), intent_id(&refused)), ("denied", denied));
        assert_eq!(structured(&delete(&mut player, "b"))["deleted"], "b");
        assert_eq!(player.state(&open), "cancelled");
        assert_ne!(player.approve(&open).code(), 0, "a yes that comes later runs nothing");
        assert_eq!(player.runs("delete_note"), [json!({"id": "b"})]);
        player.finish(1);
    }
}

/// M1, M6, X8: the mode that only the policy sets is tried like the rest; a mode that the caller wishes for or has set
/// holds, and raising it is asked about.
#[test]
fn a_mode_that_was_chosen_holds_in_a_trial() {
    for lane in Lane::ALL {
        let mut player = plain(lane, "profile = \"modes\"\nshadow = true\n");
        assert_eq!(structured(&delete(&mut player, "a"))["deleted"], "a");
        assert_eq!(would(&player)[0]["code"], "mode_forbids");
        let explained = player.call("delete_note", json!({"id": "b", "__mode": "ask"}));
        assert_eq!(refusal(&explained), "mode_forbids");
        let raised = player.call("delete_note", json!({"id": "b", "__mode": "plan"}));
        assert_eq!(structured(&raised)["confirm_required"], true, "{raised:#}");
        player.call("yesgate_set_mode", json!({"mode": "ask"}));
        assert_eq!(refusal(&delete(&mut player, "c")), "mode_forbids");
        let raised = player.call("delete_note", json!({"id": "d", "__mode": "execute"}));
        assert_eq!(structured(&raised)["confirm_required"], true, "{raised:#}");
        let raised = player.call("yesgate_set_mode", json!({"mode": "execute"}));
        assert_eq!(structured(&raised)["confirm_required"], true, "{raised:#}");
        assert_eq!(player.runs("delete_note"), [json!({"id": "a"})]);
        player.finish(1);
    }
}

/// X8: a preview that nobody would see is not made.
#[test]
fn a_trial_makes_no_preview() {
    let rule =
        "[[rules]]\ntool = \"mock/deploy\"\nconfirm = \"preview\"\npreview = { args = { dry_run = true } }\n";
    for lane in Lane::ALL {
        let config = format!("shadow = true\n{rule}");
        let mut player = setup(lane).config(&config).server_args(&["--deploy"]).open(json!({}));
        player.call("deploy", json!({"name": "a"}));
        assert_eq!(player.runs("deploy"), [json!({"name": "a"})]);
        assert_eq!(would(&player)[0]["event"], "would_ask");
        player.finish(1);
    }
}

/// I1, X8: in a trial what passes is spent, whatever a budget has left; what cannot be counted in one does not pass.
#[test]
fn a_trial_counts_what_is_spent() {
    for lane in Lane::ALL {
        let config = format!("shadow = true\n{}", crate::budgets::TIERS);
        let mut player = plain(lane, &config);
        let spent = |player: &Player| {
            let budgets = player.yesgate(&["budgets", "--json"]).ok().json();
            budgets[0]["spent"].as_str().unwrap().to_owned()
        };
        player.call("pay", payment("1.50"));
        player.call("pay", payment("6.00"));
        assert_eq!(spent(&player), "7.5", "the rule's run, and what would have been asked about");
        player.call("pay", payment("5.00"));
        assert_eq!(spent(&player), "12.5", "there was no room for it");
        player.call("pay", payment("8.01"));
        assert_eq!(spent(&player), "12.5", "the rule that would refuse it names no budget");
        let codes: Vec<Value> = would(&player).iter().map(|row| row["code"].clone()).collect();
        assert_eq!(codes, [json!(null), json!("budget_exceeded"), json!("policy_denied")]);

        let odd = player.call("pay", json!({"amount": "2.00", "currency": "EUR", "to": "ann"}));
        assert_eq!(refusal(&odd), "policy_denied", "it cannot be counted in a budget of another currency");
        assert_eq!(player.runs("pay").len(), 4);
        player.yesgate(&["audit", "verify"]).ok();
        player.finish(4);
    }
}
