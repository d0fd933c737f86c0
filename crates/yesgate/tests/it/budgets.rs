//! Budgets: small payments run and are counted, larger ones ask and are counted, and no limit is ever exceeded.

mod serve;

use std::thread;

use serde_json::{Value, json};
use yesgate_testkit::{Host, Stage, confirm_token, error_code, intent_id, refusal, structured, text, until};

use crate::support::{Era, legacy, legacy_named, stage, state, upstream_count};

/// Three tiers over one budget.
pub(crate) const TIERS: &str = r#"
profile = "spend"

[budgets.daily]
most = "10.00"
per = "day"
currency = "USDC"

[[rules]]
name = "cap"
tool = "mock/pay"
when = 'decimal(args.amount) > 8.00'
then = "reject"
reason = "above the cap"

[[rules]]
name = "small change"
tool = "mock/pay"
when = 'decimal(args.amount) <= 5.00'
then = "run"
spend = { amount = "args.amount", currency = "args.currency", recipient = "args.to" }
budget = "daily"
next = { increase = "https://example.com/limits" }

[[rules]]
name = "payments"
tool = "mock/pay"
then = "ask"
reason = "above the free limit"
summary = "Pay {{args.amount}} {{args.currency}} to {{args.to}}"
spend = { amount = "args.amount", currency = "args.currency", recipient = "args.to" }
budget = "daily"
"#;

fn pay(host: &mut Host, amount: &str) -> Value {
    pay_to(host, amount, "ann")
}

fn pay_to(host: &mut Host, amount: &str, to: &str) -> Value {
    host.call("pay", json!({"amount": amount, "currency": "USDC", "to": to}))
}

/// What was spent, by `yesgate budgets --json`.
#[track_caller]
fn spent(stage: &Stage) -> String {
    let budgets = stage.yesgate(&["budgets", "--json"]).ok().json();
    budgets[0]["spent"].as_str().unwrap().to_owned()
}

/// I1: three tiers. A small payment runs at once and is an intent of its own with the rule's yes; a larger one asks,
/// and its yes is counted; the largest is rejected; what the budget has no room for is refused in the shape of
/// consent errors.
#[test]
fn three_tiers_run_ask_and_reject_under_one_budget() {
    for era in Era::BOTH {
        let stage = stage().config(TIERS);
        let mut host = era.greet(stage.host());
        assert_eq!(text(&pay(&mut host, "1.50")), "run 1: paid 1.50 USDC to ann");
        assert_eq!(
            text(&pay(&mut host, "1.50")),
            "run 2: paid 1.50 USDC to ann",
            "the same again is another"
        );
        let capped = pay(&mut host, "8.01");
        assert_eq!((error_code(&capped), refusal(&capped)), (-32015, "policy_denied"));
        let held = pay(&mut host, "6.00");
        assert_eq!(structured(&held)["status"], "approval_required");
        assert_eq!(spent(&stage), "3", "a question spends nothing");
        // A small payment does not take the question's place.
        assert_eq!(text(&pay(&mut host, "0.25")), "run 3: paid 0.25 USDC to ann");
        let approved = host.call("yesgate_approve", json!({"intent_id": intent_id(&held)}));
        assert_eq!(text(&approved), "run 4: paid 6.00 USDC to ann");
        assert_eq!(spent(&stage), "9.25");

        let over = pay(&mut host, "0.76");
        assert_eq!((error_code(&over), refusal(&over)), (-32015, "budget_exceeded"));
        let data = &over["error"]["data"];
        assert_eq!(
            (&data["details"]["left"], &data["details"]["increase"]),
            (&json!("0.75"), &json!("https://example.com/limits"))
        );
        assert!(data["details"]["frees_at"].is_string(), "{over:#}");
        assert_eq!(refusal(&pay(&mut host, "6.00")), "budget_exceeded", "nobody is asked in vain");
        assert_eq!(text(&pay(&mut host, "0.75")), "run 5: paid 0.75 USDC to ann");
        assert_eq!(spent(&stage), "10");
        host.assert_only_json_rpc();
        assert!(host.close().success());

        let approvals: Vec<Value> =
            stage.audit().into_iter().filter(|row| row["entry"]["event"] == "approved").collect();
        assert_eq!(approvals.len(), 5);
        assert_eq!(approvals[0]["entry"]["by"], "rule small change");
        assert_eq!(approvals[0]["entry"]["assurance"], "asserted");
        assert_eq!(approvals[3]["entry"]["assurance"], "relayed");
        assert_eq!(stage.check_history().gated, 5);
    }
}

/// I6: two gateways on one ledger race for the last 5.00; exactly one gets it, whoever is asked.
#[test]
fn of_two_gateways_one_gets_the_last_of_a_budget() {
    let stage = stage().config(TIERS);
    let mut hosts: Vec<Host> = (0..4).map(|number| legacy_named(&stage, &format!("host-{number}"))).collect();
    assert_eq!(text(&pay(&mut hosts[0], "5.00")), "run 1: paid 5.00 USDC to ann");
    let answers: Vec<Value> = thread::scope(|scope| {
        let racers: Vec<_> = hosts.iter_mut().map(|host| scope.spawn(|| pay(host, "5.00"))).collect();
        racers.into_iter().map(|racer| racer.join().unwrap()).collect()
    });
    let (ran, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.get("result").is_some());
    assert_eq!((ran.len(), refused.len()), (1, 3), "{answers:#?}");
    refused.iter().for_each(|answer| assert_eq!(refusal(answer), "budget_exceeded", "{answer:#}"));
    assert_eq!(upstream_count(&stage, "pay"), 2);
    assert_eq!(spent(&stage), "10");
    for mut host in hosts {
        assert!(host.close().success());
    }
    assert_eq!(stage.check_history().gated, 2);
}

/// I5, I6: a yes from the command line is counted with the approval and runs, although its own amount fills the
/// budget; the same call repeated hands over its result. The next yes has no room, and is none.
#[test]
fn a_yes_from_the_command_line_is_counted_and_does_not_stand_in_its_own_way() {
    let config = TIERS.replace("name = \"payments\"", "name = \"payments\"\nchannel = \"out_of_band\"");
    let stage = stage().config(&format!("[times]\nhold = \"1s\"\n{config}").replace(
        "[times]\nhold = \"1s\"\n\nprofile = \"spend\"",
        "profile = \"spend\"\n[times]\nhold = \"1s\"",
    ));
    let mut host = legacy(&stage);
    let first = intent_id(&pay(&mut host, "6.00"));
    let mut other = legacy_named(&stage, "other");
    let second = intent_id(&pay(&mut other, "7.00"));
    stage.yesgate(&["approve", &first, "--yes"]).ok();
    assert_eq!(state(&stage, &first), "done");
    assert_eq!(spent(&stage), "6");
    assert_eq!(text(&pay(&mut host, "6.00")), "run 1: paid 6.00 USDC to ann");
    assert_eq!(refusal(&pay(&mut host, "6.00")), "budget_exceeded", "its result was handed over");

    let refused = stage.yesgate(&["approve", &second, "--yes"]);
    assert_eq!(refused.code(), 3);
    assert!(refused.stderr.contains("has 4 of 10 USDC left"), "{}", refused.stderr);
    assert_eq!((state(&stage, &second).as_str(), spent(&stage).as_str()), ("pending", "6"));
    assert!(host.close().success() && other.close().success());
    assert_eq!(stage.check_history().gated, 1);
}

/// I1: over a budget that asks, a human is asked; their yes goes over it, and counts.
#[test]
fn over_a_budget_that_asks_a_human_is_asked() {
    let stage = stage().config(&TIERS.replace("per = \"day\"", "per = \"day\"\nover = \"ask\""));
    let mut host = legacy(&stage);
    assert_eq!(text(&pay(&mut host, "5.00")), "run 1: paid 5.00 USDC to ann");
    assert_eq!(text(&pay(&mut host, "4.00")), "run 2: paid 4.00 USDC to ann");
    let held = pay(&mut host, "2.00");
    assert_eq!(structured(&held)["reason"], "the budget `daily` has 1 of 10 USDC left");
    let arguments =
        json!({"amount": "2.00", "currency": "USDC", "to": "ann", "confirm_token": confirm_token(&held)});
    assert_eq!(text(&host.call("pay", arguments)), "run 3: paid 2.00 USDC to ann");
    assert_eq!(spent(&stage), "11");
    assert_eq!(structured(&pay(&mut host, "0.01"))["status"], "approval_required");
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 3);
}

/// I6: what may have run stays counted until a human settles it; what did not run is given back. So is what never
/// left.
#[test]
fn a_lost_payment_stays_counted_until_it_is_settled() {
    let stage = stage().config(TIERS);
    stage.behave(&["--die-on", "pay"]);
    let mut host = legacy(&stage);
    let lost = pay(&mut host, "5.00");
    assert_eq!(refusal(&lost), "execution_unknown", "{lost:#}");
    let intent = intent_id(&lost);
    assert_eq!(spent(&stage), "5");
    stage.behave(&[]);
    let other = until("the server is up again", || {
        let answer = pay_to(&mut host, "5.00", "ben");
        answer.get("result").is_some().then_some(answer)
    });
    assert_eq!(text(&other), "run 1: paid 5.00 USDC to ben");
    assert_eq!(refusal(&pay_to(&mut host, "0.01", "cyd")), "budget_exceeded");
    assert_eq!(refusal(&pay(&mut host, "5.00")), "execution_unknown", "it is not paid a second time");
    stage.yesgate(&["resolve", &intent, "--did-not-run"]).ok();
    assert_eq!(spent(&stage), "5");
    assert_eq!(text(&pay(&mut host, "5.00")), "run 2: paid 5.00 USDC to ann");
    host.close();
    stage.check_history();
}

/// I1: each recipient has a budget of their own, under one for all, and no way of writing a name makes a new one.
#[test]
fn each_recipient_has_a_budget_under_the_one_for_all() {
    let config = TIERS.replace("budget = \"daily\"", "budget = [\"daily\", \"each\"]").replace(
        "[[rules]]\nname = \"cap\"",
        "[budgets.each]\nmost = \"4\"\nper = \"90m\"\neach = \"recipient\"\n\n[[rules]]\nname = \"cap\"",
    );
    let stage = stage().config(&config);
    let mut host = legacy(&stage);
    for (amount, to, expected) in [
        ("3.00", "ann", "run 1: paid 3.00 USDC to ann"),
        ("1.01", "ANN ", "budget_exceeded"),
        ("1.00", "Ann", "run 2: paid 1.00 USDC to Ann"),
        ("4.00", "ben", "run 3: paid 4.00 USDC to ben"),
        ("2.01", "cyd", "budget_exceeded"),
        ("2.00", "cyd", "run 4: paid 2.00 USDC to cyd"),
    ] {
        let answer = pay_to(&mut host, amount, to);
        match answer.get("result") {
            Some(_) => assert_eq!(text(&answer), expected),
            None => assert_eq!(refusal(&answer), expected),
        }
    }
    let rows = stage.yesgate(&["budgets", "--json"]).ok().json();
    let told: Vec<_> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            let word = |key: &str| row[key].as_str().unwrap_or("-").to_owned();
            (word("budget"), word("recipient"), word("spent"), word("left"), word("most"))
        })
        .collect();
    let row = |words: [&str; 5]| {
        let [a, b, c, d, e] = words.map(str::to_owned);
        (a, b, c, d, e)
    };
    assert_eq!(
        told,
        [
            row(["daily", "-", "10", "0", "10"]),
            row(["each", "ann", "4", "0", "4"]),
            row(["each", "ben", "4", "0", "4"]),
            row(["each", "cyd", "2", "2", "4"]),
        ]
    );
    let table = stage.yesgate(&["budgets"]).ok().stdout;
    assert!(
        table.contains("BUDGET") && table.contains("ben (local)") && table.contains("10 USDC"),
        "{table}"
    );
    let doctor = stage.yesgate(&["doctor"]).stdout;
    assert!(doctor.contains("`daily` is used up for everyone (local)"), "{doctor}");
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 4);
}

/// I6: no amount, currency or recipient that cannot be read is let through or counted as nothing.
#[test]
fn an_amount_that_cannot_be_read_drops_no_budget() {
    let stage = stage().config(&TIERS.replace("when = 'decimal(args.amount) <= 5.00'\n", ""));
    let mut host = legacy(&stage);
    let odd = ["NaN", "Infinity", "-1", "1usd", "1e400", "1e2", "٣", "", " 1"].map(|text| json!(text));
    let odder = [json!(null), json!(-1), json!(true), json!([1]), json!({"value": 1})];
    for amount in odd.into_iter().chain(odder) {
        let answer = host.call("pay", json!({"amount": amount, "currency": "USDC", "to": "ann"}));
        assert_eq!(refusal(&answer), "policy_denied", "{amount}: {answer:#}");
    }
    let euro = host.call("pay", json!({"amount": "1", "currency": "EUR", "to": "ann"}));
    assert_eq!(refusal(&euro), "policy_denied", "another currency");
    assert_eq!(refusal(&host.call("pay", json!({"amount": "1", "to": "ann"}))), "policy_denied");
    assert_eq!(refusal(&host.call("pay", json!({"amount": "1", "currency": "USDC"}))), "policy_denied");
    assert!(stage.upstream_calls().is_empty());
    assert_eq!(spent(&stage), "0");
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 0);
}

/// I1: a condition sees what was spent, exactly, and `policy explain` says so.
#[test]
fn a_condition_sees_what_was_spent() {
    let config = TIERS.replace(
        "'decimal(args.amount) > 8.00'",
        "'decimal(args.amount) + spent(\"daily\") > decimal(\"4.50\")'",
    );
    let stage = stage().config(&config);
    let mut host = legacy(&stage);
    assert_eq!(text(&pay(&mut host, "3.00")), "run 1: paid 3.00 USDC to ann");
    assert_eq!(refusal(&pay(&mut host, "1.51")), "policy_denied");
    let explain = |amount: &str| {
        let arguments = json!({"amount": amount, "currency": "USDC", "to": "ann"}).to_string();
        stage.yesgate(&["policy", "explain", "mock/pay", "--args", &arguments]).ok().stdout
    };
    let fits = explain("1.50");
    assert!(fits.contains("budget   daily: 3 of 10 USDC spent"), "{fits}");
    assert!(fits.contains("runs, by rule small change, and counts 1.50 in daily"), "{fits}");
    assert!(explain("1.51").contains("refused (policy_denied)"));
    assert_eq!(text(&pay(&mut host, "1.50")), "run 2: paid 1.50 USDC to ann");
    assert_eq!(refusal(&pay(&mut host, "0.01")), "policy_denied");
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 2);
}

/// I6: budgets outlive the gateway: a new one counts on where the killed one stopped.
#[test]
fn a_budget_outlives_a_killed_gateway() {
    let stage = stage().config(TIERS);
    let mut host = legacy(&stage);
    assert_eq!(text(&pay(&mut host, "5.00")), "run 1: paid 5.00 USDC to ann");
    host.kill9();
    let mut host = legacy(&stage);
    assert_eq!(text(&pay(&mut host, "4.99")), "run 1: paid 4.99 USDC to ann");
    assert_eq!(refusal(&pay(&mut host, "0.02")), "budget_exceeded");
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 2);
}
