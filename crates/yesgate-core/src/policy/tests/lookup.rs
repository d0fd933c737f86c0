//! Lookups: what a rule may say of the present state.

use serde_json::json;

use crate::policy::Config;

const RULE: &str = r#"
[[rules]]
tool = "billing/upgrade_plan"
then = "ask"
lookup = { tool = "billing/get_plan", args = { org = "args.org", full = true, kind = "=plan" } }
when = 'state.plan != args.to'
summary = "Upgrade from {{state.plan}} ({{state.price}}) to {{args.to}}"
match = [{ tool = "billing/upgrade_plan", args = { to = "scale" }, state = { plan = "pro" } }]
not_match = [{ tool = "billing/upgrade_plan", args = { to = "pro" }, state = { plan = "pro" } }]
"#;

/// H1: a rule may name a read tool whose answer is `state` in summaries and conditions.
#[test]
fn a_rule_names_what_is_looked_up_and_with_what() {
    let config = Config::parse(RULE).unwrap();
    let lookup = config.policy.lookup(&"billing".parse().unwrap(), &"upgrade_plan".parse().unwrap()).unwrap();
    assert_eq!(lookup.tool().as_str(), "get_plan");
    let arguments = lookup.arguments(&json!({"org": "acme", "to": "scale"}));
    assert_eq!(serde_json::Value::Object(arguments), json!({"org": "acme", "full": true, "kind": "plan"}));
    assert!(config.policy.lookup(&"billing".parse().unwrap(), &"get_plan".parse().unwrap()).is_none());
}

#[test]
fn state_without_a_lookup_and_a_lookup_of_nothing_are_errors() {
    for (text, words) in [
        ("[[rules]]\ntool = \"a/b\"\nwhen = 'state.x == 1'\nthen = \"ask\"", "`when` speaks of `state`"),
        ("[[rules]]\ntool = \"a/b\"\nsummary = \"{{state.x}}\"", "`summary` speaks of `state`"),
        ("[[rules]]\ntool = \"a/b\"\nlookup = \"get\"", "`get` names no tool"),
        ("[[rules]]\ntool = \"a/b\"\nlookup = { tool = \"a/c\", arg = {} }", "unknown key `arg`"),
        (
            "[[rules]]\ntool = \"a/b\"\nlookup = { tool = \"a/c\", args = { x = \"to\" } }",
            "names nothing in `args`",
        ),
    ] {
        let error = Config::parse(text).unwrap_err();
        assert!(error.message().contains(words), "{text}: {}", error.message());
    }
}
