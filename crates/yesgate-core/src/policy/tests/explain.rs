//! Lints, examples and explanations: policy that can be trusted because it can be looked into (X8).

use serde_json::json;

use super::super::Config;
use super::{call, policy};
use crate::call::CallKey;
use crate::mode::Mode;
use crate::switch::OperatorSwitch;

fn lints(text: &str) -> String {
    let lints = Config::parse(text).unwrap().lint();
    lints.iter().map(|lint| format!("{lint}\n")).collect()
}

/// X8: rules that are never reached, or come too late, are pointed out.
#[test]
fn lint_finds_what_was_probably_not_meant() {
    let text = r#"
        [servers.wallet]
        command = ["wallet-mcp"]

        [[rules]]
        name = "reads run"
        tool = "wallet/*"
        then = "run"

        [[rules]]
        name = "shadowed"
        tool = "wallet/pay"
        then = "reject"

        [[rules]]
        name = "partly shadowed"
        tool = "*/pay"
        then = "reject"

        [[rules]]
        name = "always"
        tool = "*/list"
        when = "1 < 2"
        then = "ask"

        [[rules]]
        name = "never"
        tool = "*/drop"
        when = "'a' == 'b'"
        then = "ask"

        [[rules]]
        name = "nobody"
        tool = "walet/pay"
        then = "ask"
    "#;
    insta::assert_snapshot!(lints(text), @"
    10: rule shadowed is never reached: rule reads run above it decides every call of its tools
    15: rule partly shadowed comes too late for some calls: rule reads run above it lets them run; move it up
    20: rule always has a condition that is always true
    20: rule always comes too late for some calls: rule reads run above it lets them run; move it up
    26: rule never has a condition that is always false: it never matches
    32: rule nobody is never reached: rule partly shadowed above it decides every call of its tools
    32: rule nobody speaks of `walet/pay`, and no configured server has such a name
    ");
}

/// X8: an exception before a catch-all is how rules are written, and is no remark.
#[test]
fn lint_is_silent_about_an_ordinary_policy() {
    let text = r#"
        [[rules]]
        tool = "wallet/pay"
        when = "decimal(args.amount) > 100"
        then = "reject"

        [[rules]]
        tool = "wallet/pay"
        when = "decimal(args.amount) < 5"
        then = "run"

        [[rules]]
        tool = "wallet/*"
        then = "ask"

        [[rules]]
        tool = "*"
        then = "reject"
    "#;
    assert_eq!(lints(text), "");
    let late = "[[rules]]\ntool = \"a/b\"\nwhen = \"args.n < 5\"\nthen = \"run\"\n\
                [[rules]]\ntool = \"a/*\"\nwhen = \"args.to == 'x'\"\nthen = \"reject\"\n";
    insta::assert_snapshot!(lints(late), @"5: rule #2 (line 5) comes too late for some calls: rule #1 (line 1) above it lets them run; move it up");
}

/// X8: inline examples are tried when the policy is loaded.
#[test]
fn examples_are_tried_at_load() {
    let with = |examples: &str| {
        let text = format!(
            r#"
[[rules]]
name = "small"
tool = "wallet/pay"
when = "decimal(args.amount) < 5"
then = "run"
{examples}

[[rules]]
name = "rest"
tool = "wallet/*"
then = "ask"
"#
        );
        Config::parse(&text).map(|_| "good".to_owned()).unwrap_or_else(|error| error.to_string())
    };
    assert_eq!(with("match = [{ tool = \"wallet/pay\", args = { amount = \"4.99\" } }]"), "good");
    assert_eq!(
        with("not_match = [\"wallet/pay\", \"shop/pay\", { tool = \"wallet/pay\", args = { amount = 5 } }]"),
        "good"
    );
    insta::assert_snapshot!(with("match = [{ tool = \"wallet/pay\", args = { amount = 5 } }]"), @"7:10: the example `wallet/pay` should be decided by rule small, but rule rest decides it");
    insta::assert_snapshot!(with("match = [\"shop/pay\"]"), @"7:10: the example `shop/pay` should be decided by rule small, but no rule matches it");
    insta::assert_snapshot!(with("not_match = [{ tool = \"wallet/pay\", args = { amount = 1 } }]"), @"7:14: the example `wallet/pay` is decided by rule small and should not be");
    insta::assert_snapshot!(with("match = [\"wallet\"]"), @"7:10: `wallet` is no call");
    insta::assert_snapshot!(with("match = [{ tool = \"wallet/pay\", argz = {} }]"), @"7:33: unknown key `argz`");
}

const EXPLAINED: &str = r#"
profile = "handshake"

[[rules]]
name = "other"
tool = "shop/*"
then = "ask"

[[rules]]
name = "small"
tool = "wallet/pay"
when = "decimal(args.amount) < 5"
then = "run"

[[rules]]
name = "unsure"
tool = "wallet/*"
when = "args.trusted"
then = "run"

[[rules]]
name = "to strangers"
tool = "wallet/pay"
when = "args.to != 'ann'"
then = "ask"
assurance = "local"
"#;

/// X8: `explain` tells what came of each rule, and ends as `decide` does.
#[test]
fn explain_tells_what_came_of_each_rule() {
    let policy = policy(EXPLAINED);
    let scene = call("wallet/pay").with(json!({"amount": 7}));
    insta::assert_snapshot!(scene.explained(&policy), @"
    wallet/pay
    class    dangerous (unknown)
    mode     execute
    profile  handshake
    rule     other: speaks of other tools
    rule     small: its condition is false
    rule     unsure: does not match, for its condition has no answer: the call has no `trusted`
    rule     to strangers: matches, for its condition has no answer: the call has no `to`
    decided  by rule to strangers
    verdict  asks a human (out_of_band, at least local, 1800 s to decide): pay(amount=7) on wallet
    ");
    let json = serde_json::to_string_pretty(&scene.explained(&policy)).unwrap();
    insta::assert_snapshot!(json, @r#"
    {
      "server": "wallet",
      "tool": "pay",
      "class": "dangerous",
      "class_source": "unknown",
      "mode": "execute",
      "profile": "handshake",
      "rules": [
        {
          "rule": "other",
          "line": 4,
          "tool": "shop/*",
          "when": null,
          "outcome": "other_tool"
        },
        {
          "rule": "small",
          "line": 9,
          "tool": "wallet/pay",
          "when": "decimal(args.amount) < 5",
          "outcome": "condition_false"
        },
        {
          "rule": "unsure",
          "line": 15,
          "tool": "wallet/*",
          "when": "args.trusted",
          "outcome": "skipped_on_error",
          "error": "the call has no `trusted`"
        },
        {
          "rule": "to strangers",
          "line": 21,
          "tool": "wallet/pay",
          "when": "args.to != 'ann'",
          "outcome": "matched_on_error",
          "error": "the call has no `to`"
        }
      ],
      "decided_by": {
        "rule": "to strangers"
      },
      "answer": {
        "verdict": "asks",
        "summary": "pay(amount=7) on wallet",
        "channel": "out_of_band",
        "least": "local",
        "decide_seconds": 1800,
        "token_seconds": 60
      }
    }
    "#);
}

/// X8: every kind of answer can be read.
#[test]
fn explain_ends_as_decide_does() {
    let last = |text: &str, scene: &super::Scene| {
        let explained = scene.explained(&policy(text)).to_string();
        explained.lines().rev().take(2).collect::<Vec<_>>().join(" | ")
    };
    let pay = call("wallet/pay").with(json!({"amount": 1}));
    insta::assert_snapshot!(last(EXPLAINED, &pay), @"verdict  runs, by rule small | decided  by rule small");
    insta::assert_snapshot!(last("", &call("a/list").read_only()), @"verdict  runs, by class read-only | decided  by the class; no rule matches");
    insta::assert_snapshot!(last("otherwise = \"reject\"", &pay), @"verdict  refused (policy_denied): The operator's policy does not allow this call: no rule allows it. Nothing ran. | decided  by `otherwise`; no rule matches");
    insta::assert_snapshot!(last("mode = \"ask\"", &pay), @"verdict  explained: pay(amount=1) on wallet | decided  by the class; no rule matches");
    insta::assert_snapshot!(last("mode = \"ask\"", &pay.clone().wishing(Mode::Plan)), @"verdict  refused (mode_forbids): This caller is in ask mode and asked for plan mode. Nothing ran. Raise the mode with `yesgate_set_mode` (a human is asked), or call without `__mode` to stay in ask mode. | decided  by the class; no rule matches");
    let two_keys = pay.keys(OperatorSwitch::Live, CallKey::Turned);
    insta::assert_snapshot!(last("profile = \"two-key\"", &two_keys), @"verdict  runs, by both keys | decided  by the two keys");
}
