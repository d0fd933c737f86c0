//! What is shown in depth on one lane elsewhere, shown once on every lane: what humans set for callers and tools, and
//! what is refused before anybody is asked.

use serde_json::{Value, json};
use yesgate_testkit::{
    Human, Lane, Player, confirm_token, error_code, intent_id, refusal, structured, text, until,
};

use super::{CALM, ELSEWHERE, plain, setup, with_forms};

fn delete(player: &mut Player, note: &str) -> Value {
    player.call("delete_note", json!({"id": note}))
}

fn write(player: &mut Player, further: &Value) -> Value {
    let mut arguments = json!({"id": "b", "text": "x"});
    for (key, value) in further.as_object().into_iter().flatten() {
        arguments[key] = value.clone();
    }
    player.call("write_note", arguments)
}

#[track_caller]
fn ran(answer: &Value) -> bool {
    structured(answer).get("deleted").is_some()
}

/// X4: a yes that is remembered runs the same call without asking as often as was said, and then asks again; another
/// call, and another client, are asked about.
#[test]
fn a_remembered_yes_runs_as_often_as_was_said() {
    for lane in Lane::ALL {
        let mut player = plain(lane, "");
        let intent = intent_id(&delete(&mut player, "a"));
        player.yesgate(&["approve", &intent, "--yes", "--remember", "exact", "--uses", "1"]).ok();
        assert!(ran(&delete(&mut player, "a")), "the result of the first one");
        let mut other = player.another("other", json!({}));
        assert!(!ran(&delete(&mut other, "a")), "a grant belongs to one client");
        other.leave();
        assert!(!ran(&delete(&mut player, "b")));
        assert!(ran(&delete(&mut player, "a")));
        assert!(!ran(&delete(&mut player, "a")), "the uses are over");
        player.finish(2);
    }
}

/// X6, A14: after three noes nothing more is asked until a human lifts it; the agent is told how long, and to ask its
/// user.
#[test]
fn three_noes_end_the_asking() {
    for lane in Lane::ALL {
        let mut player = plain(lane, "");
        for note in ["a", "b", "c"] {
            let intent = intent_id(&delete(&mut player, note));
            player.yesgate(&["deny", &intent]).ok();
        }
        let refused = delete(&mut player, "d");
        assert_eq!(refusal(&refused), "rate_limited");
        assert_eq!(structured(&refused)["details"]["bound"], "denials");
        player.yesgate(&["thaw", "testkit"]).ok();
        assert_eq!(structured(&delete(&mut player, "d"))["status"], "confirmation_required");
        player.finish(0);
    }
}

/// A14, FC-27: the operator bounds how much is asked in a minute, and at once.
#[test]
fn the_operator_bounds_how_much_is_asked() {
    for lane in Lane::ALL {
        let mut player = plain(lane, "[asking]\nper_minute = 2\nopen = 1\n");
        delete(&mut player, "a");
        assert_eq!(structured(&write(&mut player, &json!({})))["details"]["bound"], "open");
        delete(&mut player, "b");
        assert_eq!(structured(&delete(&mut player, "c"))["details"]["bound"], "per_minute");
        player.finish(0);
    }
}

/// X6: a no that reports the client as suspicious freezes it: nothing of it runs, reads included, until it is thawed.
/// Nobody else is held up.
#[test]
fn a_suspicious_client_is_frozen_until_it_is_thawed() {
    for lane in Lane::ALL {
        let mut player = plain(lane, "");
        let intent = intent_id(&delete(&mut player, "a"));
        player.yesgate(&["deny", &intent, "--suspicious"]).ok();
        assert_eq!(refusal(&delete(&mut player, "b")), "client_frozen");
        let read = until("reads are refused", || {
            Some(player.call("read_note", json!({"id": "a"})))
                .filter(|told| told["result"]["isError"] == true)
        });
        assert_eq!(refusal(&read), "client_frozen");
        let mut other = player.another("other", json!({}));
        assert_eq!(text(&other.call("read_note", json!({"id": "a"}))), "the first note");
        other.leave();
        player.yesgate(&["thaw", "testkit"]).ok();
        assert_eq!(text(&player.call("read_note", json!({"id": "a"}))), "the first note");
        player.finish(0);
    }
}

/// X6: after the panic switch nothing runs, a token that was handed out before included, until it is lifted.
#[test]
fn after_a_panic_nothing_runs_until_it_is_lifted() {
    for lane in Lane::ALL {
        let mut player = plain(lane, "");
        let token = confirm_token(&delete(&mut player, "a"));
        player.yesgate(&["panic", "--reason", "stop"]).ok();
        for arguments in [json!({"id": "b"}), json!({"id": "a", "confirm_token": token})] {
            assert_eq!(refusal(&player.call("delete_note", arguments)), "policy_denied");
        }
        player.yesgate(&["panic", "--lift"]).ok();
        let dead = player.call("delete_note", json!({"id": "a", "confirm_token": token}));
        assert_eq!(refusal(&dead), "cancelled");
        assert_eq!(structured(&delete(&mut player, "a"))["status"], "confirmation_required");
        player.finish(0);
    }
}

/// X6: a human answers in place of the tool; nothing ran.
#[test]
fn a_human_answers_in_place_of_the_tool() {
    for lane in Lane::ALL {
        let mut player = plain(lane, ELSEWHERE);
        let pending = player.begin("delete_note", json!({"id": "a"}));
        let intent = player.question();
        player.yesgate(&["respond", &intent, "It is archived already."]).ok();
        let told = player.go_on(pending, Human::IsNotAsked).answer;
        assert_eq!((refusal(&told), intent_id(&told)), ("denied", intent));
        assert_eq!(structured(&told)["details"]["response"], "It is archived already.");
        player.finish(0);
    }
}

/// X6: a call that a human changed runs as they made it, and the agent is told what really ran.
#[test]
fn a_changed_call_runs_and_the_agent_is_told_what_ran() {
    for lane in Lane::ALL {
        let mut player = plain(lane, ELSEWHERE);
        let pending = player.begin("delete_note", json!({"id": "a"}));
        let intent = player.question();
        let file = player.home().join("arguments.json");
        std::fs::write(&file, r#"{"id": "b"}"#).unwrap();
        player.yesgate(&["approve", &intent, "--yes", "--edit", file.to_str().unwrap()]).ok();
        let told = player.go_on(pending, Human::IsNotAsked).answer;
        assert_eq!(structured(&told)["deleted"], "b");
        let edited = &told["result"]["_meta"]["dev.yesgate/edited"];
        assert_eq!((&edited["edited"], &edited["arguments"]), (&json!(true), &json!({"id": "b"})));
        assert_eq!(player.runs("delete_note"), [json!({"id": "b"})]);
        player.finish(1);
    }
}

/// X5: a tool that is described differently by the time of the yes does not run; it is asked about anew.
#[test]
fn a_tool_that_changed_between_question_and_token_does_not_run() {
    for lane in Lane::ALL {
        let mut player = setup(lane).server_args(&["--rug-pull-after", "1"]).open(json!({}));
        let held = write(&mut player, &json!({}));
        let token = confirm_token(&held);
        assert_eq!(refusal(&write(&mut player, &json!({"confirm_token": token}))), "tool_changed");
        assert_eq!(player.state(&intent_id(&held)), "voided");
        let anew = confirm_token(&write(&mut player, &json!({})));
        assert_eq!(text(&write(&mut player, &json!({"confirm_token": anew}))), "run 1: wrote b");
        player.finish(1);
    }
}

/// X5: a tool that came later is dangerous, whatever it says of itself, until a human accepts it.
#[test]
fn a_tool_that_came_later_is_held_until_it_is_accepted() {
    for lane in Lane::ALL {
        let flags = ["--grow-after", "1"];
        let mut player = setup(lane).server_args(&flags).ungated(&["peek_note"]).open(json!({}));
        player.list_tools();
        player.list_tools();
        let peek = |player: &mut Player| player.call("peek_note", json!({"id": "a"}));
        assert_eq!(structured(&peek(&mut player))["status"], "confirmation_required");
        player.yesgate(&["tools", "accept", "mock", "peek_note"]).ok();
        until("the acceptance counts", || {
            let told = peek(&mut player);
            (told.pointer("/result/structuredContent").is_none() && text(&told) == "the first note")
                .then_some(())
        });
        player.finish(0);
    }
}

/// X1, FC-25: the agent's word does not do where more is asked, and what nobody can prove is refused, never lowered.
#[test]
fn a_weaker_yes_does_not_do_and_what_nobody_can_prove_is_refused() {
    for lane in Lane::ALL {
        let rules = "[[rules]]\ntool = \"mock/delete_note\"\nthen = \"ask\"\nassurance = \"local\"\nchannel = \"out_of_band\"\n\
            [[rules]]\ntool = \"mock/write_note\"\nthen = \"ask\"\nassurance = \"verified\"\n";
        let mut player = plain(lane, &format!("{rules}[times]\nhold = \"1s\"\nwait = \"0s\"\n"));
        let held = player.call_answering("delete_note", json!({"id": "a"}), Human::IsNotAsked).answer;
        let weak = player.call("yesgate_approve", json!({"intent_id": intent_id(&held)}));
        assert_eq!(refusal(&weak), "assurance_too_low");
        assert_eq!(player.state(&intent_id(&held)), "pending", "the question stays open");
        assert_eq!(refusal(&write(&mut player, &json!({}))), "no_approver_reachable");
        player.finish(0);
    }
}

/// X9: the gateway's own tools know a question by the caller that asked it, and no other.
#[test]
fn the_own_tools_hide_the_questions_of_others() {
    for lane in Lane::ALL {
        let mut player = plain(lane, "");
        let intent = intent_id(&delete(&mut player, "a"));
        let mut other = player.another("other", json!({}));
        for tool in ["yesgate_approve", "yesgate_reject", "yesgate_status"] {
            let told = other.call(tool, json!({"intent_id": intent}));
            assert_eq!(refusal(&told), "consent_token_invalid", "{tool}");
        }
        other.leave();
        assert_eq!(player.state(&intent), "pending");
        player.finish(0);
    }
}

/// X2: what a human could not read to its end is refused before anybody is asked.
#[test]
fn what_nobody_could_read_is_refused() {
    for lane in Lane::ALL {
        let mut player = plain(lane, "");
        let told = write(&mut player, &json!({"text": "y".repeat(500_000)}));
        assert_eq!(refusal(&told), "too_large_to_review");
        assert!(player.pending().is_empty());
        player.finish(0);
    }
}

/// H1: what the rule wants to show and cannot look up is not asked, and does not run.
#[test]
fn without_the_state_nobody_is_asked() {
    for lane in Lane::ALL {
        let rule = "[[rules]]\ntool = \"mock/write_note\"\nthen = \"ask\"\nsummary = \"{{state.x}}\"\n\
            lookup = { tool = \"mock/fail\", args = { id = \"args.id\" } }\n\
            [[rules]]\ntool = \"mock/fail\"\nclass = \"read-only\"\n";
        let mut player = setup(lane).config(rule).ungated(&["fail"]).open(json!({}));
        assert_eq!(refusal(&write(&mut player, &json!({}))), "consent_unavailable");
        assert!(player.pending().is_empty());
        player.finish(0);
    }
}

/// X7: what is refused is in the trail too, with its code.
#[test]
fn a_refusal_is_written_down() {
    for lane in Lane::ALL {
        let rule = "[[rules]]\ntool = \"mock/delete_note\"\nthen = \"reject\"\nreason = \"never\"\n";
        let mut player = plain(lane, rule);
        assert_eq!(refusal(&delete(&mut player, "a")), "policy_denied");
        let row = until("the refusal is written down", || {
            player.audit().into_iter().find(|row| row["entry"]["event"] == "refused")
        });
        assert_eq!(row["entry"]["code"], "policy_denied", "{row:#}");
        player.finish(0);
    }
}

/// I6: each recipient has a budget of their own, and a condition can look at what was spent.
#[test]
fn each_recipient_has_a_budget_of_their_own() {
    for lane in Lane::ALL {
        let config = "profile = \"spend\"\n[budgets.each]\nmost = \"5\"\nper = \"day\"\neach = \"recipient\"\n\
            [[rules]]\ntool = \"mock/pay\"\nwhen = \"spent('each') <= 3\"\nthen = \"run\"\n\
            spend = { amount = \"args.amount\", currency = \"args.currency\", recipient = \"args.to\" }\nbudget = \"each\"\n\
            [[rules]]\ntool = \"mock/pay\"\nthen = \"reject\"\nreason = \"enough\"\n";
        let mut player = plain(lane, config);
        let pay = |player: &mut Player, amount: &str, to: &str| {
            player.call("pay", json!({"amount": amount, "currency": "EUR", "to": to}))
        };
        assert_eq!(text(&pay(&mut player, "3", "ann")), "run 1: paid 3 EUR to ann");
        let over = pay(&mut player, "2.01", " Ann ");
        assert_eq!((error_code(&over), refusal(&over)), (-32015, "budget_exceeded"));
        assert_eq!(text(&pay(&mut player, "2", "ann")), "run 2: paid 2 EUR to ann");
        assert_eq!(
            refusal(&pay(&mut player, "0.01", "ann")),
            "policy_denied",
            "the condition sees what was spent"
        );
        assert_eq!(text(&pay(&mut player, "5", "ben")), "run 3: paid 5 EUR to ben");
        player.finish(3);
    }
}

/// I1, I6: over a budget that asks a human is asked, and their yes counts; a payment whose outcome is lost stays
/// counted, and is not made again.
#[test]
fn over_a_budget_a_human_is_asked_and_what_may_have_run_counts() {
    for lane in Lane::ALL {
        let config = "profile = \"spend\"\n[budgets.daily]\nmost = \"10\"\nper = \"day\"\nover = \"ask\"\n\
            [[rules]]\ntool = \"mock/pay\"\nthen = \"run\"\n\
            spend = { amount = \"args.amount\", currency = \"args.currency\", recipient = \"args.to\" }\nbudget = \"daily\"\n";
        let mut player = setup(lane).config(config).open(json!({}));
        let pay = |player: &mut Player, amount: &str| {
            player.call("pay", json!({"amount": amount, "currency": "EUR", "to": "ann"}))
        };
        assert_eq!(text(&pay(&mut player, "9")), "run 1: paid 9 EUR to ann");
        let held = pay(&mut player, "2");
        assert_eq!(structured(&held)["status"], "approval_required");
        let ran = player.call("yesgate_approve", json!({"intent_id": intent_id(&held)}));
        assert_eq!(text(&ran), "run 2: paid 2 EUR to ann");
        let spent = player.yesgate(&["budgets", "--json"]).ok().json();
        assert_eq!(spent[0]["spent"], "11");
        player.finish(2);

        let mut player = setup(lane)
            .config(&config.replace("over = \"ask\"\n", ""))
            .server_args(&["--die-on", "pay"])
            .open(json!({}));
        assert_eq!(refusal(&pay(&mut player, "6")), "execution_unknown");
        // The server is started again; it is not paid a second time.
        until("the outcome is told again", || {
            let again = pay(&mut player, "6");
            (again.get("result").is_some() && refusal(&again) == "execution_unknown").then_some(())
        });
        let spent = player.yesgate(&["budgets", "--json"]).ok().json();
        assert_eq!(spent[0]["spent"], "6");
        player.leave();
    }
}

/// I1: a rule looks at the time of day, in a time zone.
#[test]
fn a_rule_looks_at_the_time_of_day() {
    for lane in Lane::ALL {
        for (hour, code) in [("< 24", "policy_denied"), ("> 23", "confirmation_required")] {
            let rule = format!(
                "[[rules]]\ntool = \"mock/delete_note\"\nwhen = \"time.at('Europe/Berlin').hour {hour}\"\nthen = \"reject\"\n"
            );
            let mut player = plain(lane, &rule);
            let told = delete(&mut player, "a");
            let seen =
                if told["result"]["isError"] == true { refusal(&told) } else { "confirmation_required" };
            assert_eq!(seen, code, "{told:#}");
            player.finish(0);
        }
    }
}

/// M6: three wrong tries burn the question, whether the agent relays them or they are typed at the command line.
#[test]
fn three_wrong_tries_burn_the_question_at_every_door() {
    let rule = "[[rules]]\ntool = \"mock/delete_note\"\nthen = \"ask\"\nconfirm = \"type\"\ntype = \"args.id\"\nassurance = \"relayed\"\n";
    for lane in Lane::ALL {
        let mut player = plain(lane, rule);
        let held = delete(&mut player, "a");
        let token = confirm_token(&held);
        for wrong in ["A", "a ", "b"] {
            let typed = json!({"id": "a", "confirm_token": token, "__typed": wrong});
            assert_eq!(refusal(&player.call("delete_note", typed)), "consent_token_mismatch");
        }
        assert_eq!(player.state(&intent_id(&held)), "cancelled");

        let intent = intent_id(&delete(&mut player, "a"));
        for wrong in ["A", "a ", "b"] {
            assert_eq!(player.yesgate(&["approve", &intent, "--yes", "--typed", wrong]).code(), 3);
        }
        assert_eq!(player.state(&intent), "cancelled");
        assert_eq!(player.yesgate(&["approve", &intent, "--yes", "--typed", "a"]).code(), 3);
        player.finish(0);
    }
}

/// K4: where only what may not be repeated is covered, a tool that says it may be repeated runs with no key.
#[test]
fn a_tool_that_may_be_repeated_needs_no_key_where_the_operator_says_so() {
    for lane in Lane::ALL {
        let config = "profile = \"two-key\"\ncover = \"not_idempotent\"\n";
        let flags = ["--idempotent", "write_note"];
        let mut player =
            setup(lane).config(config).server_args(&flags).ungated(&["write_note"]).open(json!({}));
        assert_eq!(text(&write(&mut player, &json!({}))), "run 1: wrote b");
        assert_eq!(structured(&delete(&mut player, "a"))["code"], "DRY_RUN_PREVIEW");
        player.finish(0);
    }
}

/// X9: a no that comes after a question's time is written down, and changes nothing.
#[test]
fn a_no_after_its_time_is_written_down() {
    for lane in Lane::ALL {
        let mut player = with_forms(lane, &format!("{CALM}decide = \"1s\"\ntoken = \"1s\"\n"));
        let mut chat = player.another("chat", json!({}));
        let intent = intent_id(&delete(&mut chat, "a"));
        until("its time is over", || (player.state(&intent) == "expired").then_some(()));
        assert_eq!(player.yesgate(&["deny", &intent]).code(), 3);
        assert_eq!(player.state(&intent), "expired");
        let late = |row: &Value| row["entry"]["event"] == "late_answer" && row["entry"]["answer"] == "deny";
        assert!(player.audit().iter().any(late), "{:#?}", player.audit());
        chat.leave();
        player.leave();
    }
}

/// M1, M5: in ask mode a write is explained with the present state, as the rule looks it up.
#[test]
fn ask_mode_explains_with_the_present_state() {
    for lane in Lane::ALL {
        let rule = "mode = \"ask\"\n[[rules]]\ntool = \"mock/write_note\"\n\
            lookup = { tool = \"mock/read_note\", args = { id = \"args.id\" } }\n\
            summary = \"Overwrite {{state.text}} with {{args.text}}\"\n";
        let mut player = plain(lane, rule);
        let told = player.call("write_note", json!({"id": "a", "text": "x"}));
        assert_eq!(refusal(&told), "mode_forbids");
        let message = structured(&told)["message"].as_str().unwrap();
        assert!(message.contains(r#"Overwrite "the first note" with "x""#), "{message}");
        player.finish(0);
    }
}
