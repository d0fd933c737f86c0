//! `yesgate policy lint`: what is odd about a policy, one of each kind, by line.

use yesgate_testkit::Stage;

/// X8: each kind of oddity is named with its line, for people and for programs, and the exit code says so.
#[test]
fn every_kind_of_oddity_is_named_with_its_line() {
    let config = r#"[budgets.idle]
most = "1"
per = "day"
[budgets.daily]
most = "1"
per = "day"
[servers.notes]
command = ["true"]
[[rules]]
name = "runs"
tool = "notes/write"
then = "run"
[[rules]]
name = "too late"
tool = "notes/w*"
then = "ask"
[[rules]]
name = "never"
tool = "notes/write"
then = "reject"
[[rules]]
name = "always"
tool = "notes/read"
when = "true"
then = "ask"
[[rules]]
name = "nobody"
tool = "other/*"
then = "ask"
[[rules]]
name = "uncounted"
tool = "notes/pay"
when = "spent('daily') < 1"
then = "run"
"#;
    let stage = Stage::new(env!("CARGO_BIN_EXE_yesgate")).config(config);
    let told = stage.yesgate(&["policy", "lint"]);
    assert_eq!(told.code(), 5, "there is something to look at: {told:#?}");
    let told = told.stdout;
    for words in [
        "13: rule too late comes too late for some calls: rule runs above it lets them run",
        "17: rule never is never reached: rule runs above it decides every call of its tools",
        "21: rule always has a condition that is always true",
        "26: rule nobody speaks of `other/*`, and no configured server has such a name",
        "30: rule uncounted lets calls run by what was spent in `daily`",
        "budget idle is used by no rule",
    ] {
        assert!(told.contains(words), "{words}\nis not in\n{told}");
    }
    let listed = stage.yesgate(&["policy", "lint", "--json"]).json();
    assert_eq!(listed.as_array().map(Vec::len), Some(6), "{listed:#}");
}
