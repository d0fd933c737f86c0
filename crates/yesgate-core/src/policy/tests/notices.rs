//! `[notices]`: few keys, no secret in the file, nothing in the clear.

use jiff::SignedDuration;

use super::super::{Config, Desktop, NoticesConfig, Remind};
use super::config::table;

fn notices(text: &str) -> NoticesConfig {
    let config = Config::parse(&format!("[notices]\n{text}"));
    config.unwrap_or_else(|error| panic!("{error} ({:?})", error.hint())).notices
}

#[test]
fn nobody_is_told_anything_unless_the_operator_says_so() {
    let silent = Config::parse("").unwrap().notices;
    assert_eq!(silent, NoticesConfig::default());
    assert_eq!((silent.desktop, silent.webhook), (Desktop::Silent, None));
}

#[test]
fn notices_are_read() {
    let read = notices(
        "desktop = true\nremind = \"10m\"\nwebhook = { url = \"https://a.example/x\", secret = \"${HOOK}\" }",
    );
    assert_eq!((read.desktop, read.remind), (Desktop::Shown, Remind::Before(SignedDuration::from_mins(10))));
    let webhook = read.webhook.unwrap();
    assert_eq!((webhook.url.as_str(), webhook.secret.unexpanded()), ("https://a.example/x", "${HOOK}"));
    notices("webhook = { url = \"http://127.0.0.1:9/x\", secret = \"${HOOK}\" }");
}

/// X9: a reminder comes while there is still time to decide.
#[test]
fn a_reminder_comes_before_the_end_and_after_the_beginning() {
    let check = |text: &str, whole: i64, expected: Option<i64>| {
        let ahead = notices(text).remind.ahead(SignedDuration::from_secs(whole));
        assert_eq!(ahead, expected.map(SignedDuration::from_secs), "{text} of {whole}");
    };
    check("", 1800, Some(600));
    check("remind = \"5m\"", 1800, Some(300));
    check("remind = \"5m\"", 300, Some(100));
    check("remind = \"5m\"", 60, Some(20));
    check("remind = \"0s\"", 1800, None);
}

#[test]
fn what_is_wrong_with_notices_is_said_without_repeating_a_secret() {
    let errors = table(&[
        "notices = true",
        "[notices]\npager = true",
        "[notices]\nmail = true",
        "[notices]\nmail = \"me\"",
        "[notices]\ndesktop = \"yes\"",
        "[notices]\nremind = 5",
        "[notices]\nwebhook = \"https://a.example\"",
        "[notices]\nwebhook = { url = \"https://a.example\" }",
        "[notices]\nwebhook = { secret = \"${HOOK}\" }",
        "[notices]\nwebhook = { url = \"http://a.example\", secret = \"${HOOK}\" }",
        "[notices]\nwebhook = { url = \"ftp://a.example\", secret = \"${HOOK}\" }",
        "[notices]\nwebhook = { url = \"https://a.example\", secret = \"whsec_hunter2\" }",
        "[notices]\nwebhook = { url = \"https://a.example\", secret = \"whsec_${HOOK}\" }",
        "[notices]\nwebhook = { url = \"https://a.example\", secret = \"${YESGATE_SECRET_KEY}\" }",
        "[notices]\nwebhook = { url = \"https://a.example\", secret = \"${HOOK}\", retries = 3 }",
    ]);
    assert!(!errors.contains("hunter2"));
    insta::assert_snapshot!(errors, @r#"
    yesgate.toml:1:11: `notices` must be a table, not a boolean
    yesgate.toml:2:1: unknown key `pager`
        hint: one of `desktop`, `webhook`, `mail` or `remind`
    yesgate.toml:1:1: `mail` in [notices] needs [mail]
        hint: say there how mail leaves the gateway: `from` and `via`
    yesgate.toml:2:8: `mail` must be `true` or `false`, not a string
    yesgate.toml:2:11: `desktop` must be `true` or `false`, not a string
    yesgate.toml:2:10: `remind` must be a time such as "60s", not an integer
    yesgate.toml:2:11: `webhook` must be a table, not a string
    yesgate.toml:2:11: `secret` is missing
    yesgate.toml:2:11: `url` is missing
    yesgate.toml:2:19: `url` would be told in the clear
        hint: write https://; plain http is for this machine only
    yesgate.toml:2:19: `url` cannot be used: it begins with neither `https://` nor `http://`
        hint: write it like "https://gate.example.org"
    yesgate.toml:2:49: `secret` must be a variable
        hint: write "${NAME}" and put the secret, `whsec_…`, into the environment of the gateway
    yesgate.toml:2:49: `secret` must be a variable
        hint: write "${NAME}" and put the secret, `whsec_…`, into the environment of the gateway
    yesgate.toml:2:49: `secret` cannot be read: `YESGATE_SECRET_KEY` is for the gateway alone
        hint: use a variable that does not begin with `YESGATE_`
    yesgate.toml:2:60: unknown key `retries`
        hint: one of `url` or `secret`
    "#);
}
