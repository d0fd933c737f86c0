//! Rules that say where money stands.

use serde_json::{Value, json};

use super::super::Config;
use super::{call, policy};
use crate::verdict::Spend;

const RULE: &str = r#"
[[rules]]
name = "pay"
tool = "wallet/pay"
then = "ask"
spend = { amount = "args.amount", currency = "args.currency", recipient = "args.to.name" }
"#;

fn spend(text: &str, arguments: Value) -> Spend {
    call("wallet/pay").with(arguments).question(&policy(text)).spend.unwrap()
}

fn costs(amount: &str, currency: Option<&str>, recipient: Option<&str>) -> Spend {
    Spend {
        amount: amount.into(),
        currency: currency.map(Into::into),
        recipient: recipient.map(Into::into),
        ..Spend::default()
    }
}

/// I2: the amount, the currency and the recipient of the call stand in the question.
#[test]
fn what_a_call_costs_stands_in_the_question() {
    let arguments = json!({"amount": "5.00", "currency": "EUR", "to": {"name": "ann"}});
    assert_eq!(spend(RULE, arguments), costs("5.00", Some("EUR"), Some("ann")));
    let literal = RULE.replace("args.currency", "=USDC").replace(", recipient = \"args.to.name\"", "");
    assert_eq!(spend(&literal, json!({"amount": 0.1})), costs("0.1", Some("USDC"), None));
}

/// I6: an amount that cannot be read is a loud refusal, and never a call without a limit.
#[test]
fn an_unreadable_amount_is_refused_whether_the_rule_asks_or_runs() {
    for text in [RULE.to_owned(), RULE.replace("\"ask\"", "\"run\"")] {
        let policy = policy(&text);
        for amount in
            [json!(null), json!("NaN"), json!("1usd"), json!(-1), json!("1e3"), json!([1]), json!(1e40)]
        {
            let scene =
                call("wallet/pay").with(json!({"amount": amount, "currency": "EUR", "to": {"name": "a"}}));
            let refusal = scene.refusal(&policy);
            assert!(refusal.contains("the amount `args.amount` cannot be read"), "{amount}: {refusal}");
        }
        for arguments in [
            json!({}),
            json!({"amount": 1}),
            json!({"amount": 1, "currency": 7}),
            json!({"amount": 1, "currency": "EUR", "to": "ann"}),
            json!({"amount": 1, "currency": "EUR", "to": {"name": " "}}),
        ] {
            assert_eq!(
                call("wallet/pay").with(arguments.clone()).says(&policy),
                "refused (policy_denied)",
                "{arguments}"
            );
        }
    }
}

#[test]
fn where_money_stands_is_checked_at_load() {
    for (from, to) in [
        ("args.amount", "amount"),
        ("args.amount", "args."),
        ("args.amount", "args.a b"),
        ("args.currency", "="),
        ("args.currency", "EUR"),
        ("amount =", "amout ="),
    ] {
        assert!(Config::parse(&RULE.replace(from, to)).is_err(), "{to}");
    }
}
