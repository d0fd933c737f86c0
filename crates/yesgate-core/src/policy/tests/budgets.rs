//! Budgets: what can be written, what a call under one comes to, and which way doubt falls.

use serde_json::{Value, json};

use super::super::Config;
use super::{Scene, call, policy};
use crate::amount::Amount;
use crate::budget::{Charge, Over, Share, Sum, Sums, Window};
use crate::fixture::{caller, t};
use crate::policy::Policy;
use crate::refusal::{Refusal, WireForm};
use crate::verdict::{Spend, Standing, Verdict};

/// Three tiers, as in the published design: small ones run, larger ones ask, the largest are rejected.
const TIERS: &str = r#"
[budgets.daily]
most = "50.00"
per = "day"
currency = "USDC"

[[rules]]
name = "cap"
tool = "wallet/pay"
when = 'decimal(args.amount) > 20.00'
then = "reject"
reason = "above the cap"

[[rules]]
name = "small change"
tool = "wallet/pay"
when = 'decimal(args.amount) <= 5.00'
then = "run"
spend = { amount = "args.amount", currency = "args.currency", recipient = "args.to" }
budget = "daily"
next = { increase = "https://example.com/limits" }

[[rules]]
name = "payments"
tool = "wallet/pay"
then = "ask"
spend = { amount = "args.amount", currency = "args.currency", recipient = "args.to" }
budget = "daily"
"#;

fn pay(amount: &str) -> Scene {
    call("wallet/pay").with(json!({"amount": amount, "currency": "USDC", "to": "ann"}))
}

impl Scene {
    /// The same after so much was spent in every window that the policy looks at.
    fn after(mut self, policy: &Policy, spent: &str) -> Self {
        let windows = policy.windows(&self.tool_call().binding);
        let spent: Amount = spent.parse().unwrap();
        let sum = |window| Sum { window, spent, oldest: Some(t(-60)) };
        self.spent = Sums::new(windows.into_iter().map(sum).collect());
        self
    }
}

fn refused(scene: &Scene, policy: &Policy) -> Refusal {
    match scene.under(policy) {
        Verdict::Refuse(refusal) => refusal,
        other @ (Verdict::Forward(_)
        | Verdict::Explain(_)
        | Verdict::Preview(_)
        | Verdict::Unneeded(_)
        | Verdict::Ask(_)
        | Verdict::AskWithPreview(..)) => {
            panic!("not refused: {}", super::short(&other))
        }
    }
}

fn load_error(text: &str) -> String {
    let error = Config::parse(text).unwrap_err();
    format!("{}: {} ({})", error.line(), error.message(), error.hint().unwrap_or("-"))
}

/// I1: run, ask or reject by the amount; what runs under a budget is an intent of its own, approved by the
/// rule.
#[test]
fn three_tiers_run_ask_and_reject() {
    let policy = policy(TIERS);
    assert_eq!(pay("5.00").after(&policy, "0").says(&policy), "runs, counted (rule small change)");
    assert_eq!(pay("5.01").after(&policy, "0").says(&policy), "asks (chat, relayed)");
    assert_eq!(pay("20.01").after(&policy, "0").says(&policy), "refused (policy_denied)");
    let question = pay("5.00").after(&policy, "12.5").question(&policy);
    assert_eq!(question.standing, Some(Standing::Rule));
    let charges = question.spend.unwrap().charges;
    let [Charge { window: Window { account, per }, most, over }] = charges.as_slice() else {
        panic!("{charges:?}")
    };
    assert_eq!((account.org.as_str(), account.currency.as_deref()), ("acme", Some("USDC")));
    assert_eq!((account.share.clone(), per.as_hours()), (Share::Everyone, 24));
    assert_eq!((most.to_string(), *over), ("50".to_owned(), Over::Reject));
}

/// I1, H6: over the budget is a refusal in the shape of consent errors: how much is left, when the window frees
/// up, and the rule's next steps.
#[test]
fn over_the_budget_is_a_refusal_that_says_what_is_left() {
    let policy = policy(TIERS);
    assert_eq!(pay("5.00").after(&policy, "45").says(&policy), "runs, counted (rule small change)");
    let refusal = refused(&pay("5.00").after(&policy, "45.000000000000000001"), &policy);
    assert_eq!(refusal.why.wire_form(), WireForm::ConsentError);
    insta::assert_snapshot!(serde_json::to_string_pretty(&refusal.payload()).unwrap(), @r#"
    {
      "details": {
        "amount": "5",
        "budget": "daily",
        "currency": "USDC",
        "frees_at": "2027-01-16T07:59:00Z",
        "increase": "https://example.com/limits",
        "left": "4.999999999999999999",
        "most": "50"
      },
      "error": "budget_exceeded",
      "message": "This call costs 5, and the budget `daily` has 4.999999999999999999 of 50 USDC left. Nothing ran. The first of what was spent is free again at 2027-01-16T07:59:00Z."
    }
    "#);
    // What a human is asked about is refused before they are bothered.
    assert_eq!(pay("10").after(&policy, "40.01").says(&policy), "refused (budget_exceeded)");
    assert_eq!(pay("10").after(&policy, "40").says(&policy), "asks (chat, relayed)");
}

/// I1: a budget may ask instead; then a human's yes may go over it, and the question says so.
#[test]
fn a_budget_may_ask_about_more() {
    let text = TIERS.replace("per = \"day\"", "per = \"day\"\nover = \"ask\"");
    let policy = policy(&text);
    assert_eq!(pay("5.00").after(&policy, "45").says(&policy), "runs, counted (rule small change)");
    let question = pay("5.00").after(&policy, "48").question(&policy);
    assert_eq!(question.standing, None);
    assert_eq!(question.reason.unwrap().as_str(), "the budget `daily` has 2 of 50 USDC left");
}

/// I6: where nobody knows what was spent there is no room, whatever the rule and the budget say.
#[test]
fn what_was_spent_and_is_not_known_is_not_zero() {
    for text in [TIERS.to_owned(), TIERS.replace("per = \"day\"", "per = \"day\"\nover = \"ask\"")] {
        let policy = policy(&text);
        for amount in ["1", "7"] {
            assert_eq!(pay(amount).says(&policy), "refused (consent_unavailable)", "{amount}");
        }
    }
}

/// I6: amounts of different currencies never add up; another currency than the budget's is refused loudly.
#[test]
fn another_currency_is_refused_loudly() {
    let policy = policy(TIERS);
    let euro = call("wallet/pay").with(json!({"amount": "1", "currency": "EUR", "to": "ann"}));
    let words = euro.refusal(&policy);
    assert!(words.contains("the budget `daily` is in USDC, and the call is in another currency"), "{words}");
    let small = call("wallet/pay").with(json!({"amount": "1", "currency": " usdc", "to": "ann"}));
    assert_eq!(small.after(&policy, "0").says(&policy), "runs, counted (rule small change)");

    let without = super::policy(&TIERS.replace("currency = \"USDC\"\n", ""));
    let window = |currency: &str| {
        let scene = call("wallet/pay").with(json!({"amount": "1", "currency": currency, "to": "ann"}));
        without.windows(&scene.tool_call().binding)
    };
    assert_ne!(window("EUR"), window("USD"), "each currency has a sum of its own");
    assert_eq!(window("EUR"), window("eur "));
}

/// I6: no amount that cannot be read is let through, or counted as nothing.
#[test]
fn an_amount_that_cannot_be_read_is_refused_under_a_budget_too() {
    let policy = policy(&TIERS.replace("when = 'decimal(args.amount) <= 5.00'\n", ""));
    let odd = ["NaN", "Infinity", "-Infinity", "-1", "-0", "1usd", "1e400", "1e2", "٣", "", " 1", "0x1"]
        .map(Value::from);
    let odder =
        [json!(null), json!(-1), json!(-0.5), json!(1e40), json!(true), json!([1]), json!({"value": 1})];
    for amount in odd.into_iter().chain(odder) {
        let scene = call("wallet/pay").with(json!({"amount": amount, "currency": "USDC", "to": "ann"}));
        assert_eq!(scene.after(&policy, "0").says(&policy), "refused (policy_denied)", "{amount}");
    }
}

/// I1: what was spent is exact in conditions, and a condition that cannot know it has no answer.
#[test]
fn conditions_see_what_was_spent() {
    let text = |condition: &str, then: &str| {
        format!(
            "[budgets.daily]\nmost = \"1000\"\nper = \"day\"\n[[rules]]\nname = \"r\"\ntool = \"wallet/pay\"\n\
             when = '{condition}'\nthen = \"{then}\"\nspend = {{ amount = \"args.amount\" }}\n"
        )
    };
    for (condition, spent, expected) in [
        (r#"decimal(args.amount) + spent("daily") > decimal("50")"#, "45", false),
        (r#"decimal(args.amount) + spent("daily") > decimal("50")"#, "45.000000000000000001", true),
        (r#"spent("daily") + decimal(args.amount) + 0.1 > 50"#, "44.9", false),
        (r#"spent("daily") >= 10.00"#, "10", true),
        (r#"10.00 > spent("daily")"#, "9.999999999999999999", true),
        (r#"spent("daily") == 0"#, "0", true),
        (r#"args.to == "ann" && !(spent("daily") < 0.3)"#, "0.3", true),
    ] {
        for (then, matched) in [("run", "runs (rule r)"), ("reject", "refused (policy_denied)")] {
            let policy = policy(&text(condition, then));
            let says = pay("5.00").after(&policy, spent).says(&policy);
            assert_eq!(says == matched, expected, "{condition} after {spent}: {says}");
            // No answer: a run does not happen, and a reject does.
            let unknown = pay("5.00").says(&policy);
            assert_eq!(unknown == matched, then == "reject", "{condition}: {unknown}");
        }
    }
}

/// I1: what `spent` means is the call's own share: its recipient, its caller.
#[test]
fn each_share_has_its_own_sum() {
    let text = |each: &str| TIERS.replace("per = \"day\"", &format!("per = \"day\"\n{each}"));
    let windows = |text: &str, to: &str| {
        let scene = call("wallet/pay").with(json!({"amount": "1", "currency": "USDC", "to": to}));
        policy(text).windows(&scene.tool_call().binding)
    };
    let everyone = text("");
    assert_eq!(windows(&everyone, "ann"), windows(&everyone, "ben"));
    let recipient = text("each = \"recipient\"");
    assert_ne!(windows(&recipient, "ann"), windows(&recipient, "ben"));
    assert_eq!(windows(&recipient, "ann"), windows(&recipient, " ANN"), "nobody becomes another by shouting");
    let caller_each = text("each = \"caller\"");
    let [window] = windows(&caller_each, "ann").try_into().unwrap();
    assert_eq!(window.account.share, Share::Caller(caller().principal));
}

/// X8: what could only fail, or count beside the mark, later is refused when the policy is loaded.
#[test]
fn what_is_no_budget_is_refused_at_load() {
    let spend =
        "spend = { amount = \"args.amount\", currency = \"args.currency\", recipient = \"args.to\" }\n";
    let mut table = String::new();
    for (from, to) in [
        ("most = \"50.00\"", "most = 50"),
        ("most = \"50.00\"", "most = \"fifty\""),
        ("most = \"50.00\"", "most = \"-1\""),
        ("most = \"50.00\"\n", ""),
        ("per = \"day\"", "per = \"dya\""),
        ("per = \"day\"", "per = \"0s\""),
        ("per = \"day\"", "per = \"60d\""),
        ("per = \"day\"\n", ""),
        ("per = \"day\"", "per = \"day\"\neach = \"client\""),
        ("per = \"day\"", "per = \"day\"\nover = \"run\""),
        ("per = \"day\"", "per = \"day\"\nevery = \"day\""),
        ("[budgets.daily]", "[budgets.\"per day\"]"),
        ("budget = \"daily\"\nnext", "budget = \"dayly\"\nnext"),
        ("budget = \"daily\"\nnext", "budget = []\nnext"),
        ("budget = \"daily\"\nnext", "budget = [\"daily\", \"daily\"]\nnext"),
        ("budget = \"daily\"\nnext", "budget = 5\nnext"),
        (spend, ""),
        ("currency = \"args.currency\", ", ""),
        ("currency = \"args.currency\"", "currency = \"=EUR\""),
        ("reason = \"above the cap\"", "budget = \"daily\""),
        ("reason = \"above the cap\"", spend),
        ("budget = \"daily\"\nnext", "budget = \"daily\"\nassurance = \"local\"\nnext"),
        ("'decimal(args.amount) > 20.00'", "'spent(\"weekly\") > 20.00'"),
        ("'decimal(args.amount) > 20.00'", "'spent(args.name) > 20.00'"),
        ("'decimal(args.amount) > 20.00'", "'spent(\"daily\")'"),
        ("'decimal(args.amount) > 20.00'", "'spent(\"daily\") > args.amount'"),
        ("'decimal(args.amount) > 20.00'", "'50.00 - spent(\"daily\") < 5.00'"),
        ("'decimal(args.amount) > 20.00'", "'spent(\"daily\") * 2 > 5'"),
    ] {
        assert!(TIERS.contains(from), "{from}");
        table.push_str(&load_error(&TIERS.replacen(from, to, 1)));
        table.push('\n');
    }
    let recipient = TIERS.replace("per = \"day\"", "per = \"day\"\neach = \"recipient\"");
    table.push_str(&load_error(&recipient.replacen(", recipient = \"args.to\"", "", 1)));
    table.push('\n');
    let mixed = TIERS.replace("currency = \"USDC\"\n", "").replacen("currency = \"args.currency\", ", "", 1);
    table.push_str(&load_error(&mixed));
    insta::assert_snapshot!(table, @r#"
    3: `most` must be a string, not an integer (-)
    3: `most` cannot be read: it is not a plain decimal number such as 12.50 (write "50.00")
    3: `most` cannot be read: it is negative (write "50.00")
    2: `most` is missing (-)
    4: `dya` is not a length of time (write "hour", "day", "week", "month" (30 days), or a time such as "90m")
    4: `per` must be longer than zero (write "hour", "day", "week", "month" (30 days), or a time such as "90m")
    4: `60d` is longer than 30 days (write "hour", "day", "week", "month" (30 days), or a time such as "90m")
    2: `per` is missing (-)
    5: `client` is not a value of `each` (one of `recipient` or `caller`)
    5: `run` is not a value of `over` (one of `ask` or `reject`)
    5: unknown key `every` (did you mean `over`?)
    2: `per day` is not a budget's name (1 to 128 of `A-Z a-z 0-9 _ . -`) (-)
    20: there is no budget `dayly` (did you mean `daily`?)
    20: `budget` is an empty list (-)
    20: `budget` names the same thing twice (leave one out)
    20: `budget` must be a string, not an integer (-)
    19: `budget` counts what `spend` reads, and the rule has no `spend` (add spend = { amount = "args.amount" })
    20: the budget `daily` is in USDC, and the rule's `spend` names no currency (-)
    20: the budget `daily` is in USDC, and the rule spends another currency (-)
    12: `budget` counts what `spend` reads, and the rule has no `spend` (add spend = { amount = "args.amount" })
    12: `spend` has no effect on a rule that rejects (-)
    21: `assurance` has no effect on a rule that lets calls run (a budget with over = "ask" asks)
    10: there is no budget `weekly` (one of `daily`)
    10: `spent(…)` takes the name of a budget, in quotes (write `spent("daily")`)
    10: `spent(…)` can only be added and compared (write `spent("daily") > 5.00`)
    10: `decimal(…)` is compared with a number or another `decimal(…)` (put `decimal(…)` around both sides)
    10: amounts are added and never taken away (write `a + b > c` in place of `a > c - b`)
    10: `decimal(…)` can only be added and compared (write `decimal(args.amount) > 5.00`)
    21: the budget `daily` is for each recipient, and the rule's `spend` names none (-)
    27: rule small change and this one use the budget `daily`, one with a currency and one without (-)
    "#);
}

/// X8: a budget that nobody uses, and a rule that looks at one without counting, are remarked on.
#[test]
fn a_budget_that_limits_nothing_is_remarked_on() {
    let text = format!(
        "{TIERS}\n[[rules]]\nname = \"tips\"\ntool = \"wallet/tip\"\nwhen = 'spent(\"daily\") < 5'\nthen = \"run\"\n\
         [budgets.weekly]\nmost = \"5\"\nper = \"week\"\n"
    );
    let lints: Vec<String> = Config::parse(&text).unwrap().lint().iter().map(ToString::to_string).collect();
    assert_eq!(
        lints,
        [
            "30: rule tips lets calls run by what was spent in `daily`, and counts them in no budget",
            "35: budget weekly is used by no rule: it limits nothing",
        ]
    );
}

/// X8: examples say what was spent before them; where they say nothing, nothing was.
#[test]
fn examples_can_say_what_was_spent() {
    let text = |example: &str| {
        TIERS.replace(
            "'decimal(args.amount) > 20.00'",
            &format!("'decimal(args.amount) + spent(\"daily\") > 50'\n{example}"),
        )
    };
    let example = |list: &str, spent: &str| {
        let args = "args = { amount = \"5\", currency = \"USDC\", to = \"ann\" }";
        text(&format!("{list} = [{{ tool = \"wallet/pay\", {args}{spent} }}]"))
    };
    Config::parse(&example("match", ", spent = { daily = \"45.01\" }")).unwrap();
    Config::parse(&example("not_match", ", spent = { daily = \"45\" }")).unwrap();
    Config::parse(&example("not_match", "")).unwrap();
    assert!(load_error(&example("match", "")).contains("should be decided by rule cap"));
    assert!(load_error(&example("match", ", spent = { daily = 5 }")).contains("must be a string"));
}

/// X8: `policy explain` shows what was spent, and that a run is counted.
#[test]
fn explain_shows_what_was_spent() {
    let policy = policy(TIERS);
    insta::assert_snapshot!(pay("5.00").after(&policy, "12.50").explained(&policy), @r#"
    wallet/pay
    class    dangerous (unknown)
    mode     execute
    profile  none
    rule     cap: its condition is false
    rule     small change: matches
    budget   daily: 12.5 of 50 USDC spent
    decided  by rule small change
    verdict  runs, by rule small change, and counts 5.00 in daily
    "#);
}

/// I1: which tools may ask because a budget may be used up is known before any call.
#[test]
fn a_tool_whose_budget_may_be_used_up_is_offered_with_a_token() {
    use crate::class::{Class, Trust};
    use crate::mode::Mode;
    use crate::policy::{Consequence, Needs};

    let run = TIERS
        .split_once("[[rules]]\nname = \"payments\"")
        .unwrap()
        .0
        .replace("when = 'decimal(args.amount) <= 5.00'\n", "");
    let run = run.replace("then = \"reject\"", "then = \"run\"").replace("reason = \"above the cap\"\n", "");
    let scene = pay("1");
    let look = |text: &str| {
        let (policy, definition) = (policy(text), scene.definition());
        let server = "wallet".parse().unwrap();
        (
            policy.offer(&server, &definition, Trust::Full, Class::Dangerous).needs,
            policy.consequence(&server, &definition, Trust::Full, Class::Dangerous, Mode::Execute),
        )
    };
    assert_eq!(look(&run), (Needs::Nothing, Consequence::Depends));
    let asks = run.replace("per = \"day\"", "per = \"day\"\nover = \"ask\"");
    assert_eq!(look(&asks), (Needs::RelayedYes, Consequence::Depends));
}

/// What conditions saw of the sums is in the question, so that the ledger can compare; what they did not look at holds
/// nobody up.
#[test]
fn a_question_carries_what_conditions_saw() {
    let plain = policy(TIERS);
    assert_eq!(pay("5.00").after(&plain, "12.50").question(&plain).spend.unwrap().seen, Sums::default());

    let policy = policy(&TIERS.replace("'decimal(args.amount) > 20.00'", "'spent(\"daily\") > 20.00'"));
    let scene = pay("5.00").after(&policy, "12.50");
    let spend = scene.question(&policy).spend.unwrap();
    assert_eq!(spend.seen, scene.spent);
    assert_eq!(spend.windows(), policy.windows(&scene.tool_call().binding));
    let stored: Spend = serde_json::from_value(serde_json::to_value(&spend).unwrap()).unwrap();
    assert_eq!((stored.charges, stored.seen), (spend.charges, Sums::default()));
}
