//! `[checkpoints]`: off unless somebody says where to, and never nowhere.

use jiff::SignedDuration;

use super::super::Config;
use super::config::table;

#[test]
fn there_are_none_unless_the_operator_says_where_to() {
    assert_eq!(Config::parse("").unwrap().checkpoints, None);
}

#[test]
fn checkpoints_are_read() {
    let read = |text: &str| Config::parse(&format!("[checkpoints]\n{text}")).unwrap().checkpoints.unwrap();
    let least = read("file = \"/var/log/marks.jsonl\"");
    assert_eq!((least.rows, least.every), (1000, SignedDuration::from_mins(5)));
    assert_eq!(least.refuse_after, None);
    let strict = read("file = \"/m\"\nrefuse_after = \"1h\"");
    assert_eq!(strict.refuse_after, Some(SignedDuration::from_hours(1)));
    let all =
        read("webhook = { url = \"https://a.example/x\", secret = \"${HOOK}\" }\nrows = 7\nevery = \"10s\"");
    assert_eq!((all.rows, all.every), (7, SignedDuration::from_secs(10)));
    assert_eq!((all.file, all.webhook.unwrap().url.as_str()), (None, "https://a.example/x"));
}

#[test]
fn what_is_wrong_with_checkpoints_is_said() {
    let errors = table(&[
        "checkpoints = true",
        "[checkpoints]\nrows = 5",
        "[checkpoints]\nfile = \"marks.jsonl\"",
        "[checkpoints]\nfile = \"/m\"\nrows = 0",
        "[checkpoints]\nfile = \"/m\"\nevery = \"2h\"",
        "[checkpoints]\nfile = \"/m\"\nevery = \"0s\"",
        "[checkpoints]\nfile = \"/m\"\nrefuse_after = \"1m\"",
        "[checkpoints]\nfile = \"/m\"\nsink = \"x\"",
        "[checkpoints]\nwebhook = { url = \"http://a.example\", secret = \"${HOOK}\" }",
        "[checkpoints]\nwebhook = { url = \"https://a.example\", secret = \"whsec_x\" }",
    ]);
    insta::assert_snapshot!(errors, @r#"
    yesgate.toml:1:15: `checkpoints` must be a table, not a boolean
    yesgate.toml:1:1: checkpoints would go nowhere
        hint: say where: `file`, `webhook`, or both
    yesgate.toml:2:8: `marks.jsonl` is not an absolute path
        hint: begin it with `/`: where the gateway was started must not matter
    yesgate.toml:3:8: `rows` must be at least 1
        hint: leave it out for 1000
    yesgate.toml:3:9: `every` is longer than 30m
        hint: what is not marked may be rewritten unseen: make it short
    yesgate.toml:3:9: `every` must be longer than zero
        hint: there is no "without end"; write how long
    yesgate.toml:3:16: `refuse_after` is shorter than `every`
        hint: leave time to try again: an hour, say
    yesgate.toml:3:1: unknown key `sink`
        hint: one of `file`, `webhook`, `rows`, `every` or `refuse_after`
    yesgate.toml:2:19: `url` would be told in the clear
        hint: write https://; plain http is for this machine only
    yesgate.toml:2:49: `secret` must be a variable
        hint: write "${NAME}" and put the secret, `whsec_…`, into the environment of the gateway
    "#);
}
