//! Conditions: what they can say, what is refused at load, and which way an error falls.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::super::Config;
use super::{call, policy};

/// Whether a condition holds for some arguments: `None` where it has no answer.
fn holds(condition: &str, arguments: Value) -> Option<bool> {
    let text = |then: &str| format!("[[rules]]\ntool = \"*\"\nwhen = {condition:?}\nthen = \"{then}\"");
    let ran = call("shop/refund").with(arguments.clone()).says(&policy(&text("run"))).starts_with("runs");
    let rejected = call("shop/refund").with(arguments).says(&policy(&text("reject"))).starts_with("refused");
    match (ran, rejected) {
        (true, true) => Some(true),
        (false, false) => Some(false),
        (false, true) => None,
        (true, false) => panic!("{condition}: what has no answer must not run"),
    }
}

fn load_error(condition: &str) -> String {
    let error =
        Config::parse(&format!("[[rules]]\ntool = \"*\"\nthen = \"ask\"\nwhen = {condition:?}")).unwrap_err();
    match error.hint() {
        Some(hint) => format!("{} ({hint})", error.message()),
        None => error.message().to_owned(),
    }
}

#[test]
fn conditions_see_the_arguments() {
    let arguments = json!({
        "n": 5, "big": 9_007_199_254_740_991_i64, "price": 1.5, "to": "Ann@Example.com", "yes": true,
        "list": [1, 2, 3], "who": {"name": "ann"}, "weird-key": 1, "nothing": null,
    });
    for condition in [
        "args.n == 5 && args.n + 1 == 6 && args.n > 4.5 && args.n < 6u",
        "args.big > 9007199254740990",
        "args.price == 1.5 && args.price < 2",
        "args.to.endsWith('.com') && args.to.contains('@') && args.to.startsWith('Ann') && size(args.to) == 15",
        "lower(args.to) == 'ann@example.com'",
        "glob(args.to, 'Ann@*.com') && !glob(args.to, '*.org')",
        "args.to.matches('^[A-Z][a-z]+@')",
        "args.yes && !(args.n == 6) && (args.n == 1 ? false : true)",
        "2 in args.list && size(args.list) == 3 && args.list[0] == 1",
        "args.list.all(x, x < 4) && args.list.exists(x, x == 2) && args.list.map(x, x * 2) == [2, 4, 6]",
        "args.list.filter(x, x > 1).size() == 2 && args.list.exists_one(x, x == 3)",
        "has(args.who.name) && !has(args.who.age) && args.who.name == 'ann'",
        "args['weird-key'] == 1 && args.nothing == null",
        "true || args.missing",
    ] {
        assert_eq!(holds(condition, arguments.clone()), Some(true), "{condition}");
    }
}

#[test]
fn conditions_see_the_caller_the_tool_and_the_time_in_utc() {
    let runs = |condition: &str| {
        let text = format!("[[rules]]\nname = \"r\"\ntool = \"*\"\nwhen = {condition:?}\nthen = \"run\"");
        // A Sunday.
        call("shop/refund").at("2026-11-15T23:07:00+01:00").says(&policy(&text)) == "runs (rule r)"
    };
    assert!(runs("caller.org == 'acme' && caller.principal == 'ada' && caller.client == 'claude'"));
    assert!(runs("tool.name == 'refund' && tool.server == 'shop' && tool.class == 'dangerous'"));
    assert!(runs("time.hour == 22 && time.minute == 7 && time.weekday == 7 && time.date == '2026-11-15'"));
    assert!(!runs("time.hour >= 8 && time.hour < 18"));
}

/// I6: a limit on money is compared exactly, however the two amounts are written.
#[test]
fn decimals_are_compared_exactly() {
    for (condition, amount, expected) in [
        ("decimal(args.amount) > 5.00", json!(5), Some(false)),
        ("decimal(args.amount) > 5.00", json!("5.00"), Some(false)),
        ("decimal(args.amount) > 5.00", json!("5.000000000000000001"), Some(true)),
        ("decimal(args.amount) > 5.00", json!(5.01), Some(true)),
        ("decimal(args.amount) <= 0.3", json!("0.30"), Some(true)),
        ("decimal(args.amount) <= 0.3", json!("0.300000000000000001"), Some(false)),
        ("5.00 < decimal(args.amount)", json!("5.01"), Some(true)),
        ("decimal(args.amount) == 5", json!("5.00"), Some(true)),
        ("decimal(args.amount) != 5", json!("5.00"), Some(false)),
        ("decimal(args.amount) >= decimal('9007199254740993')", json!("9007199254740992"), Some(false)),
        ("decimal(args.amount) > 0.1000000000000000055", json!("0.1000000000000000054"), None),
        ("decimal(args.amount) > 0.100000000000000005", json!("0.100000000000000006"), Some(true)),
        ("decimal(args.amount) > decimal(args.limit)", json!("3"), Some(true)),
        // Loud, and closed.
        ("decimal(args.amount) > 5.00", json!(null), None),
        ("decimal(args.amount) > 5.00", json!("NaN"), None),
        ("decimal(args.amount) > 5.00", json!("1usd"), None),
        ("decimal(args.amount) > 5.00", json!(-1), None),
        ("decimal(args.amount) > 5.00", json!([9]), None),
    ] {
        if expected.is_none() && condition.len() > 40 {
            assert!(load_error(condition).contains("more than 18 digits"), "{condition}");
            continue;
        }
        let arguments = json!({"amount": amount, "limit": 2});
        assert_eq!(holds(condition, arguments), expected, "{condition} with {amount}");
    }
}

/// A path is placed only where every reader would place it alike.
#[test]
fn a_path_is_under_a_root_only_after_its_dots_are_gone() {
    for (path, expected) in [
        ("/tmp", Some(true)),
        ("/tmp/", Some(true)),
        ("/tmp/a/b", Some(true)),
        ("//tmp/./a", Some(true)),
        ("/tmp/a/../b", Some(true)),
        ("/tmpfile", Some(false)),
        ("/tmp/../etc/passwd", Some(false)),
        ("/tmp/a/../../etc", Some(false)),
        ("/", Some(false)),
        ("tmp/a", None),
        ("../tmp", None),
        ("", None),
        ("~/x", None),
        ("/../tmp", None),
        ("/tmp\\..\\etc", None),
        ("/tmp/\0", None),
    ] {
        assert_eq!(holds("under(args.path, '/tmp')", json!({"path": path})), expected, "{path:?}");
    }
    assert_eq!(holds("under(args.path, '/tmp')", json!({"path": 1})), None);
}

/// X8: an error never lets more through.
#[test]
fn a_condition_without_an_answer_falls_to_the_closed_side() {
    let rules = [
        ("then = \"run\"", "does not match"),
        ("then = \"ask\"", "matches"),
        ("then = \"reject\"", "matches"),
        ("class = \"read-only\"", "does not match"),
        ("class = \"safe-write\"", "does not match"),
        ("class = \"dangerous\"", "matches"),
        ("summary = \"Pay\"", "matches, and asks"),
    ];
    let mut table = String::new();
    for (line, expected) in rules {
        let text = format!("[[rules]]\nname = \"r\"\ntool = \"*\"\nwhen = \"args.amount > 5\"\n{line}");
        let dangerous = call("wallet/pay").says(&policy(&text));
        let read_only = call("wallet/balance").read_only().says(&policy(&text));
        writeln!(table, "{line:<22}  {expected:<18}  {dangerous:<24}  {read_only}").unwrap();
    }
    insta::assert_snapshot!(table, @r#"
    then = "run"            does not match      asks (chat, relayed)      runs (read-only)
    then = "ask"            matches             asks (chat, relayed)      asks (chat, relayed)
    then = "reject"         matches             refused (policy_denied)   refused (policy_denied)
    class = "read-only"     does not match      asks (chat, relayed)      runs (read-only)
    class = "safe-write"    does not match      asks (chat, relayed)      runs (read-only)
    class = "dangerous"     matches             asks (chat, relayed)      asks (chat, relayed)
    summary = "Pay"         matches, and asks   asks (chat, relayed)      asks (chat, relayed)
    "#);
}

/// X8, FC-16: whatever makes a condition fail, a run does not happen and a reject does.
#[test]
fn every_kind_of_error_is_closed() {
    for (condition, arguments) in [
        ("args.missing > 1", json!({})),
        ("args.a.b.c == 1", json!({"a": {}})),
        ("args.n > 1", json!({"n": "many"})),
        ("args.n + 1 > 1", json!({"n": "1"})),
        ("args.n * args.n > 1", json!({"n": 9_007_199_254_740_991_i64})),
        ("args.n / 0 == 1", json!({"n": 1})),
        ("args.n % 0 == 1", json!({"n": 1})),
        ("-args.n > 0", json!({"n": true})),
        ("int(args.n) > 0", json!({"n": "x"})),
        ("args.list[5] == 1", json!({"list": []})),
        ("args.list.all(x, x > 1)", json!({"list": "abc"})),
        ("args.list.all(x, x > 1)", json!({"list": ["a"]})),
        ("args.yes", json!({"yes": 1})),
        ("args.yes ? true : false", json!({"yes": "true"})),
        ("!args.yes", json!({"yes": null})),
        ("lower(args.n) == 'x'", json!({"n": 1})),
        ("size(args.n) == 1", json!({"n": 1})),
        ("1 in args.n", json!({"n": 1})),
    ] {
        assert_eq!(holds(condition, arguments), None, "{condition}");
    }
}

/// An error never repeats what was sent: it may be a secret, and a human will read it.
#[test]
fn an_error_names_keys_and_types_and_never_values() {
    let sent = "hunter2: please approve";
    for condition in [
        "args[args.to] == 1",
        "int(args.to) == 1",
        "args.to > 5",
        "args.to + 1 == 2",
        "decimal(args.to) > 5.00",
        "under(args.to, '/tmp')",
        "args.list[args.to] == 1",
        "args.to.all(x, x)",
        "args.to ? true : false",
    ] {
        let text = format!("[[rules]]\ntool = \"*\"\nwhen = {condition:?}\nthen = \"ask\"");
        let question = call("shop/refund").with(json!({"to": sent, "list": []})).question(&policy(&text));
        let reason = question.reason.unwrap().to_string();
        assert!(reason.contains("has no answer") && !reason.contains("hunter2"), "{condition}: {reason}");
    }
}

/// A25: arguments that would make a condition slow are an error before it is evaluated.
#[test]
fn large_arguments_are_not_evaluated() {
    let long = json!({"text": "x".repeat(64 * 1024)});
    assert_eq!(holds("args.text.contains('y')", long.clone()), None);
    assert_eq!(holds("caller.org == 'acme'", long), Some(true), "a condition that does not look at them");
    let many = |items: usize| json!({"list": vec![1; items], "n": 1});
    assert_eq!(holds("args.list.all(x, x == 1)", many(1000)), Some(true));
    assert_eq!(holds("args.list.all(x, x == 1)", many(1001)), None);
    assert_eq!(holds("args.n == 1", many(1001)), Some(true), "a condition without a loop");
    let wide: serde_json::Map<_, _> = (0..1001).map(|n| (n.to_string(), json!(n))).collect();
    assert_eq!(holds("args.all(key, key != '')", Value::Object(wide)), None);
}

/// X8: what could only fail, or run long, is refused when the policy is loaded.
#[test]
fn what_is_no_condition_is_refused_at_load() {
    let mut table = String::new();
    for condition in [
        "args.amount >",
        "amount > 5",
        "arg.amount > 5",
        "args.amount > 5 && now > 3",
        "caller == 'x'",
        "caller.organisation == 'acme'",
        "tool.clas == 'dangerous'",
        "lowercase(args.to) == 'x'",
        "startswith(args.to, 'x')",
        "timestamp('2020-01-01T00:00:00Z') < time.date",
        "args.to.matches('(')",
        "args.to.matches(args.pattern)",
        "under(args.path, 'tmp')",
        "under(args.path, args.root)",
        "args.lists.all(x, x.all(y, y > 1))",
        "args.lists.filter(x, x > 1).all(y, y > 1)",
        "args.list.all(args, args > 1)",
        "decimal(args.amount)",
        "decimal(args.amount) - 1 > 5",
        "decimal(args.amount) * 2 > 5",
        "decimal(args.amount) + args.fee > 5",
        "decimal(args.amount) > args.limit",
        "decimal(args.amount) in [5]",
        "decimal(args.amount) > -5.0",
        "decimal(args.amount) > 1e3",
        "decimal('5usd') < decimal(args.amount)",
        "decimal(args.amount) == 'five'",
        "args.?amount == 5",
        "Money{amount: 5} == args",
        "1 + 1",
        "1 / 0 == 1",
        "((((((((((args.n))))))))))",
    ] {
        writeln!(table, "{condition}\n    {}", load_error(condition)).unwrap();
    }
    insta::assert_snapshot!(table, @r#"
    args.amount >
        cannot read the condition at character 14: it ends too early
    amount > 5
        unknown name `amount` (one of `args`, `caller`, `tool`, `time` or `state`)
    arg.amount > 5
        unknown name `arg` (did you mean `args`?)
    args.amount > 5 && now > 3
        unknown name `now` (one of `args`, `caller`, `tool`, `time` or `state`)
    caller == 'x'
        `caller` needs a field: `org`, `principal` or `client` (write `caller.org`)
    caller.organisation == 'acme'
        `caller` has no `organisation` (one of `org`, `principal` or `client`)
    tool.clas == 'dangerous'
        `tool` has no `clas` (did you mean `class`?)
    lowercase(args.to) == 'x'
        unknown function `lowercase` (one of `at`, `contains`, `decimal`, `double`, `endsWith`, `glob`, `int`, `lower`, `matches`, `size`, `spent`, `startsWith`, `string`, `uint` or `under`)
    startswith(args.to, 'x')
        unknown function `startswith` (did you mean `startsWith`?)
    timestamp('2020-01-01T00:00:00Z') < time.date
        unknown function `timestamp` (one of `at`, `contains`, `decimal`, `double`, `endsWith`, `glob`, `int`, `lower`, `matches`, `size`, `spent`, `startsWith`, `string`, `uint` or `under`)
    args.to.matches('(')
        the pattern of `matches` is no regular expression: unclosed group
    args.to.matches(args.pattern)
        the pattern of `matches` must be written out in quotes
    under(args.path, 'tmp')
        the root of `under`: only a path that begins with `/` can be placed
    under(args.path, args.root)
        the root of `under` must be written out in quotes
    args.lists.all(x, x.all(y, y > 1))
        a loop inside a loop can take very long (use `all`, `exists`, `filter` and `map` beside each other, not within each other)
    args.lists.filter(x, x > 1).all(y, y > 1)
        a loop inside a loop can take very long (use `all`, `exists`, `filter` and `map` beside each other, not within each other)
    args.list.all(args, args > 1)
        `args` already has a meaning; choose another name
    decimal(args.amount)
        `decimal(…)` can only be added and compared (write `decimal(args.amount) > 5.00`)
    decimal(args.amount) - 1 > 5
        amounts are added and never taken away (write `a + b > c` in place of `a > c - b`)
    decimal(args.amount) * 2 > 5
        `decimal(…)` can only be added and compared (write `decimal(args.amount) > 5.00`)
    decimal(args.amount) + args.fee > 5
        `decimal(…)` is compared with a number or another `decimal(…)` (put `decimal(…)` around both sides)
    decimal(args.amount) > args.limit
        `decimal(…)` is compared with a number or another `decimal(…)` (put `decimal(…)` around both sides)
    decimal(args.amount) in [5]
        `decimal(…)` can only be added and compared (write `decimal(args.amount) > 5.00`)
    decimal(args.amount) > -5.0
        `-5.0` cannot be compared with a decimal: it is negative
    decimal(args.amount) > 1e3
        `1e3` cannot be compared with a decimal: it is not a plain decimal number such as 12.50
    decimal('5usd') < decimal(args.amount)
        `5usd` cannot be compared with a decimal: it is not a plain decimal number such as 12.50
    decimal(args.amount) == 'five'
        `five` cannot be compared with a decimal: it is not a plain decimal number such as 12.50
    args.?amount == 5
        cannot read the condition at character 5: unsupported syntax '.?'
    Money{amount: 5} == args
        a condition has no types of its own
    1 + 1
        the answer is no boolean
    1 / 0 == 1
        the values do not fit the condition
    ((((((((((args.n))))))))))
        cannot read the condition at character 10: it is nested too deeply
    "#);
    assert_eq!(load_error(" "), "the condition is empty");
    assert!(load_error(&format!("args.n == '{}'", "x".repeat(4096))).contains("longer than 4096 bytes"));
}

/// A25: no text of a condition makes loading crash, however it is nested or chained.
#[test]
fn no_condition_is_too_deep_to_be_refused() {
    for text in [
        format!("{}1{}", "(".repeat(2000), ")".repeat(2000)),
        "[".repeat(4000),
        format!("{}true", "!".repeat(4000)),
        format!("{}1", "-".repeat(4000)),
        format!("1{}", "+1".repeat(2000)),
        format!("args{}", ".b".repeat(2000)),
        format!("args{}", "[0]".repeat(1300)),
        format!("1{}", "+1".repeat(900)),
        format!("args{}", ".b".repeat(900)),
        format!("true{}", "?1:true".repeat(500)),
        format!("{}true{}", "a.all(x,".repeat(300), ")".repeat(300)),
    ] {
        let _refused = load_error(&text);
    }
    let many = format!("args.n in [{}]", (0..600).map(|n| n.to_string()).collect::<Vec<_>>().join(","));
    assert_eq!(holds(&many, json!({"n": 599})), Some(true), "a long list is no deep one");
    let wide = vec!["args.n == 1"; 60].join(" || ");
    assert_eq!(holds(&wide, json!({"n": 1})), Some(true), "nor is a long row of alternatives");
}

/// I1: the time of day is that of a place, summer time and all.
#[test]
fn conditions_see_the_time_in_a_time_zone() {
    let runs = |at: &str, condition: &str| {
        let text = format!("[[rules]]\nname = \"r\"\ntool = \"*\"\nwhen = {condition:?}\nthen = \"run\"");
        call("shop/refund").at(at).says(&policy(&text)) == "runs (rule r)"
    };
    let office = "time.at('Europe/Berlin').hour >= 8 && time.at('Europe/Berlin').hour < 18";
    for (at, open) in [
        ("2026-01-15T06:59:59Z", false),
        ("2026-01-15T07:00:00Z", true),
        ("2026-01-15T16:59:59Z", true),
        ("2026-01-15T17:00:00Z", false),
        // In summer the same hours begin an hour earlier.
        ("2026-07-15T05:59:59Z", false),
        ("2026-07-15T06:00:00Z", true),
        ("2026-07-15T16:00:00Z", false),
        // The night on which the clock goes from 2 to 3.
        ("2026-03-29T05:59:59Z", false),
        ("2026-03-29T06:00:00Z", true),
    ] {
        assert_eq!(runs(at, office), open, "{at}");
    }
    // It is Monday in one place and Sunday in another, and the day has another date.
    let at = "2026-11-15T23:30:00Z";
    assert!(runs(at, "time.at('Asia/Tokyo').weekday == 1 && time.at('Asia/Tokyo').date == '2026-11-16'"));
    assert!(runs(at, "time.at('America/New_York').weekday == 7 && time.weekday == 7"));
    assert!(runs(at, "time.at('asia/kolkata').minute == 0 && time.minute == 30"));
    assert!(runs(at, "time.at('UTC').hour == time.hour"));
}

/// X8: a time zone that is none is found when the policy is loaded, not at night.
#[test]
fn what_is_no_time_zone_is_refused_at_load() {
    for (condition, words) in [
        ("time.at('Europe/Berlni').hour > 1", "there is no time zone `Europe/Berlni`"),
        ("time.at('').hour > 1", "there is no time zone ``"),
        ("time.at(args.zone).hour > 1", "takes the name of a time zone, in quotes"),
        ("args.at('UTC').hour > 1", "takes the name of a time zone, in quotes"),
        ("time.at('UTC').year > 1", "`time` has no `year`"),
        ("time.at('UTC') == 1", "`time.at(…)` needs a field"),
        ("at('UTC').hour > 1", "takes the name of a time zone, in quotes"),
    ] {
        let error = load_error(condition);
        assert!(error.contains(words), "{condition}: {error}");
    }
}

/// I1: a list of recipients is an allow-list: who is not on it, or is no text, does not get anything.
#[test]
fn recipients_can_be_listed() {
    for condition in ["args.to in ['ann', 'ben']", "lower(args.to) in ['ann', 'ben']"] {
        let runs = |to: Value| {
            let text = format!("[[rules]]\ntool = \"*\"\nwhen = {condition:?}\nthen = \"run\"");
            call("shop/refund").with(json!({ "to": to })).says(&policy(&text)).starts_with("runs")
        };
        assert!(runs(json!("ann")) && runs(json!("ben")));
        for other in [json!("eve"), json!("ann, eve"), json!(["ann"]), json!(null), json!(1), json!("аnn")] {
            assert!(!runs(other.clone()), "{condition}: {other}");
        }
    }
}
