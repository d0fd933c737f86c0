//! Spending: a rule reads the money in a call, asks in its own words, and whichever way the yes comes, what was stored
//! is paid, once.

use serde_json::{Value, json};
use yesgate_testkit::{Human, Lane, Player, confirm_token, error_code, intent_id, refusal, structured, text};

use super::{forms, plain, setup};

const SPEND: &str = r#"
profile = "spend"

[own_tools.mock]
approve = "approve_payment"
reject = "reject_payment"
status = "payment_status"

[[rules]]
name = "far too much"
tool = "mock/pay"
when = 'decimal(args.amount) > 100.00 || args.to == "mallory"'
then = "reject"
reason = "above the limit"
next = { increase = "ask the owner" }

[[rules]]
name = "small change"
tool = "mock/pay"
when = 'decimal(args.amount) <= 1.00'
then = "run"

[[rules]]
name = "payments"
tool = "mock/pay"
then = "ask"
reason = "above the free limit"
summary = "Pay {{args.amount}} {{args.currency}} to {{args.to}}"
spend = { amount = "args.amount", currency = "args.currency", recipient = "args.to" }
"#;

fn payment(amount: &Value) -> Value {
    json!({"amount": amount, "currency": "USDC", "to": "ann"})
}

fn pay(player: &mut Player, amount: &Value) -> Value {
    player.call("pay", payment(amount))
}

fn own(player: &mut Player, tool: &str, intent: &str) -> Value {
    player.call(tool, json!({ "intent_id": intent }))
}

/// I1: the policy decides per call, by amount and recipient: run, ask, or reject.
#[test]
fn a_payment_runs_is_asked_about_or_is_rejected_by_its_amount_and_recipient() {
    for lane in Lane::ALL {
        let mut player = setup(lane).config(SPEND).ungated(&["pay"]).open(json!({}));
        assert_eq!(text(&pay(&mut player, &json!("1.00"))), "run 1: paid 1.00 USDC to ann");
        assert_eq!(structured(&pay(&mut player, &json!("1.01")))["confirm_required"], true);
        let mallory = json!({"amount": 0.5, "currency": "USDC", "to": "mallory"});
        for rejected in [payment(&json!(100.01)), payment(&json!("1000000000")), mallory] {
            let answer = player.call("pay", rejected);
            assert_eq!(refusal(&answer), "policy_denied");
        }
        assert_eq!(player.runs("pay").len(), 1);
        player.finish(0);
    }
}

/// H6: a call that a cap rejects is answered like a token that does not fit, with the rule's next steps; a policy switch
/// makes a tool result of it. What is rejected for another reason, or without an answer, is a tool result anyway.
#[test]
fn a_cap_is_answered_in_the_shape_of_consent_errors() {
    let no_deletes =
        "\n[[rules]]\ntool = \"mock/delete_note\"\nthen = \"reject\"\nwhen = 'args.id == \"a\"'\n";
    for lane in Lane::ALL {
        let mut player = plain(lane, &format!("{SPEND}{no_deletes}"));
        let capped = pay(&mut player, &json!("100.01"));
        assert_eq!((error_code(&capped), refusal(&capped)), (-32015, "policy_denied"), "{capped:#}");
        let data = &capped["error"]["data"];
        assert_eq!(data["details"], json!({"increase": "ask the owner"}));
        assert!(data["message"].as_str().unwrap().contains("above the limit. Nothing ran."), "{data:#}");
        for answer in [pay(&mut player, &json!("1usd")), player.call("delete_note", json!({"id": "a"}))] {
            assert_eq!(refusal(&answer), "policy_denied");
            assert_eq!(answer["result"]["isError"], true, "{answer:#}");
        }
        player.finish(0);

        let mut player = plain(lane, &format!("token_errors = \"tool_result\"\n{SPEND}"));
        let capped = pay(&mut player, &json!("100.01"));
        assert_eq!(refusal(&capped), "policy_denied");
        assert_eq!(structured(&capped)["details"]["increase"], "ask the owner");
        player.finish(0);
    }
}

/// I2, I3: asking about money is no error and says what it costs; the approve tool, under the name that was chosen for
/// it, runs the stored call, once. The status tool only reads.
#[test]
fn a_payment_is_asked_about_and_the_approve_tool_runs_it_once() {
    for lane in Lane::ALL {
        let mut player = plain(lane, SPEND);
        let held = pay(&mut player, &json!("7.50"));
        assert_eq!(held["result"].get("isError"), None);
        let fields = structured(&held);
        assert_eq!((&fields["ok"], &fields["status"]), (&json!(false), &json!("approval_required")));
        assert_eq!((&fields["currency"], &fields["recipient"]), (&json!("USDC"), &json!("ann")));
        assert_eq!(fields["amount"].as_f64(), Some(7.5));
        assert_eq!(fields["reason"], "above the free limit");
        assert_eq!(fields["summary"], r#"Pay "7.50" "USDC" to "ann""#);
        assert!(fields["expires_at"].is_string() && fields["message"].is_string());
        assert_eq!((&fields["confirm_required"], &fields["ttl_seconds"]), (&json!(true), &json!(600)));
        assert!(player.upstream_calls().is_empty());

        let intent = intent_id(&held);
        for tool in ["payment_status", "yesgate_status"] {
            assert_eq!(structured(&own(&mut player, tool, &intent))["status"], "pending");
        }
        assert_eq!(text(&own(&mut player, "approve_payment", &intent)), "run 1: paid 7.50 USDC to ann");
        for tool in ["approve_payment", "yesgate_approve"] {
            let again = own(&mut player, tool, &intent);
            assert_eq!((error_code(&again), refusal(&again)), (-32015, "consent_token_invalid"));
        }
        let ended = own(&mut player, "payment_status", &intent);
        let status = structured(&ended);
        assert_eq!((&status["status"], &status["outcome"]), (&json!("done"), &json!("ok")));
        assert_eq!(status["assurance"], "relayed");
        assert_eq!(status["result"]["content"][0]["text"], "run 1: paid 7.50 USDC to ann");
        player.finish(1);
    }
}

/// I3: the completing tools are offered under the names that were chosen for this server.
#[test]
fn the_completing_tools_have_the_names_that_were_chosen() {
    for lane in Lane::ALL {
        let mut player = plain(lane, SPEND);
        let tools = player.list_tools();
        let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
        for chosen in ["approve_payment", "reject_payment", "payment_status"] {
            assert_eq!(names.iter().filter(|name| **name == chosen).count(), 1, "{names:?}");
        }
        assert!(!names.iter().any(|name| name.starts_with("yesgate_")), "{names:?}");
        player.finish(0);
    }
}

/// I3: the client's own form completes a payment, too.
#[test]
fn a_form_completes_a_payment() {
    for lane in Lane::ALL {
        let mut player = setup(lane).config(SPEND).open(forms());
        let told = player.call_answering("pay", payment(&json!("7.50")), Human::Accepts);
        assert_eq!(text(&told.answer), "run 1: paid 7.50 USDC to ann");
        let message = told.asked[0]["message"].as_str().unwrap();
        assert!(message.starts_with(r#"Pay "7.50" "USDC" to "ann""#), "{message}");
        assert!(message.contains("Because: above the free limit"), "{message}");
        assert_eq!(player.yeses(), ["client"]);
        player.finish(1);
    }
}

/// H2, I2: agents of either vocabulary are served: the token of the same answer works too, and then the tool does
/// not.
#[test]
fn the_token_of_a_payment_works_as_well_as_the_tool() {
    for lane in Lane::ALL {
        let mut player = plain(lane, SPEND);
        let held = pay(&mut player, &json!(7.5));
        let mut again = payment(&json!(7.5));
        again["confirm_token"] = json!(confirm_token(&held));
        assert_eq!(text(&player.call("pay", again)), "run 1: paid 7.5 USDC to ann");
        let late = own(&mut player, "approve_payment", &intent_id(&held));
        assert_eq!(refusal(&late), "consent_token_invalid");
        player.finish(1);
    }
}

/// I3: a rejected payment does not run, and the agent is told so whichever way it tries.
#[test]
fn a_rejected_payment_stays_rejected() {
    for lane in Lane::ALL {
        let mut player = plain(lane, SPEND);
        let held = pay(&mut player, &json!(7.5));
        let intent = intent_id(&held);
        let rejected = player.call("reject_payment", json!({"intent_id": intent, "reason": "too dear"}));
        assert_eq!(structured(&rejected)["status"], "denied");
        assert_eq!(rejected["result"].get("isError"), None);

        let mut with_token = payment(&json!(7.5));
        with_token["confirm_token"] = json!(confirm_token(&held));
        for answer in [
            own(&mut player, "approve_payment", &intent),
            pay(&mut player, &json!(7.5)),
            player.call("pay", with_token),
        ] {
            assert_eq!(refusal(&answer), "denied", "{answer:#}");
            assert_eq!(intent_id(&answer), intent);
            assert!(answer.to_string().contains("too dear"), "{answer:#}");
        }
        assert_eq!(structured(&own(&mut player, "payment_status", &intent))["status"], "denied");
        assert!(player.upstream_calls().is_empty());
        player.finish(0);
    }
}

/// I3: what is paid is what was asked about: the tools take an id and nothing else.
#[test]
fn the_approve_tool_cannot_change_the_payment() {
    for lane in Lane::ALL {
        let mut player = plain(lane, SPEND);
        let intent = intent_id(&pay(&mut player, &json!(7.5)));
        let arguments =
            json!({"intent_id": intent, "amount": 9999, "to": "mallory", "arguments": {"to": "mallory"}});
        assert_eq!(text(&player.call("approve_payment", arguments)), "run 1: paid 7.5 USDC to ann");
        assert_eq!(player.runs("pay"), [payment(&json!(7.5))]);
        player.finish(1);
    }
}

/// I4: whatever is asked, answered or refused: what a client hears is JSON-RPC and nothing else. (On stdio every line is
/// looked at when the client goes.)
#[test]
fn nothing_but_json_rpc_is_said() {
    for lane in Lane::ALL {
        let mut player = setup(lane).config(SPEND).ungated(&["pay"]).open(forms());
        for (amount, human) in
            [("0.50", Human::IsNotAsked), ("7.50", Human::Accepts), ("200", Human::IsNotAsked)]
        {
            player.call_answering("pay", payment(&json!(amount)), human);
        }
        pay(&mut player, &json!("x\ny"));
        player.yesgate(&["pending"]).ok();
        player.finish(1);
    }
}

/// I5: a yes from another shell releases the stored call at once, and the agent is never in the path. The held call
/// returns the result.
#[test]
fn a_yes_in_another_shell_releases_the_held_call() {
    for lane in Lane::ALL {
        let mut player = plain(
            lane,
            &SPEND
                .replace("reason = \"above the free", "channel = \"out_of_band\"\nreason = \"above the free"),
        );
        let pending = player.begin("pay", payment(&json!("7.50")));
        let intent = player.question();
        let shown = player.shown(&intent);
        assert_eq!((&shown["channel"], &shown["least_assurance"]), (&json!("out_of_band"), &json!("local")));
        assert!(player.upstream_calls().is_empty());
        let by_agent = own(&mut player, "approve_payment", &intent);
        assert_eq!(refusal(&by_agent), "assurance_too_low");
        let approved = player.approve(&intent).ok();
        assert!(approved.stdout.contains("level `local`") && approved.stdout.contains("It ran once: ok."));
        assert_eq!(text(&player.answer(pending)), "run 1: paid 7.50 USDC to ann");
        assert!(!player.heard_by_agent().contains("pbc_"), "the agent has no handle");
        player.finish(1);
    }
}

/// I5: the result waits for the agent: status shows it, or the same call repeated hands it over, once.
#[test]
fn the_result_of_a_released_call_waits_for_the_agent() {
    for lane in Lane::ALL {
        let mut player = plain(lane, SPEND);
        let intent = intent_id(&pay(&mut player, &json!("7.50")));
        player.approve(&intent).ok();
        assert_eq!(text(&pay(&mut player, &json!("7.50"))), "run 1: paid 7.50 USDC to ann");
        let anew = pay(&mut player, &json!("7.50"));
        assert_ne!(intent_id(&anew), intent);

        player.approve(&intent_id(&anew)).ok();
        let status = own(&mut player, "payment_status", &intent_id(&anew));
        assert_eq!(structured(&status)["result"]["content"][0]["text"], "run 2: paid 7.50 USDC to ann");
        player.finish(2);
    }
}

/// I6, FC-16: an amount that cannot be read is a loud refusal, never a dropped limit.
#[test]
fn an_amount_that_cannot_be_read_is_refused() {
    let odd = ["NaN", "Infinity", "-1", "-0.5", "1usd", "1e2", "0x10", "1,000", " 1", "", "١"]
        .map(|text| json!(text));
    let odder = [json!(null), json!(-1), json!(-0.01), json!(true), json!([1]), json!({"value": 1})];
    for lane in Lane::ALL {
        let mut player = plain(lane, SPEND);
        for amount in odd.iter().chain(&odder) {
            let answer = pay(&mut player, amount);
            assert_eq!(refusal(&answer), "policy_denied", "{amount}: {answer:#}");
        }
        let absent = player.call("pay", json!({"currency": "USDC", "to": "ann"}));
        assert_eq!(refusal(&absent), "policy_denied");
        assert!(player.upstream_calls().is_empty());
        assert!(player.pending().is_empty());
        player.finish(0);
    }
}
