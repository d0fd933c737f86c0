//! `[mail]`: one way, no secret in the file, nothing in the clear but on this machine.

use super::super::{ByMail, Carried, Config, MailConfig, MailWay, SmtpConfig};
use super::config::table;

fn mail(text: &str) -> MailConfig {
    let config = Config::parse(&format!("[mail]\nfrom = \"gate@example.org\"\n{text}"));
    config.unwrap_or_else(|error| panic!("{error} ({:?})", error.hint())).mail.unwrap()
}

fn smtp(url: &str) -> SmtpConfig {
    match mail(&format!("via = \"{url}\"\nuser = \"gate\"\npassword = \"${{SMTP}}\"")).way {
        MailWay::Smtp(smtp) => smtp,
        way @ (MailWay::Folder(_) | MailWay::Console) => panic!("{way:?}"),
    }
}

#[test]
fn mail_leaves_in_one_of_three_ways() {
    assert_eq!(Config::parse("").unwrap().mail, None);
    assert_eq!(mail("via = \"console\"").way, MailWay::Console);
    assert_eq!(mail("via = \"/tmp/mails\"").way, MailWay::Folder("/tmp/mails".into()));
    let both = Config::parse("[mail]\nfrom = \"a@b\"\nvia = \"console\"\n[notices]\nmail = true").unwrap();
    assert_eq!(both.notices.mail, ByMail::Told);
}

/// What holds a sign-in link is never sent in the clear, whatever the server offers.
#[test]
fn off_this_machine_mail_travels_over_tls_or_not_at_all() {
    let check = |url: &str, host: &str, port: u16, carried: Carried| {
        let read = smtp(url);
        assert_eq!((read.host.as_str(), read.port, read.carried), (host, port, carried), "{url}");
        assert_eq!(read.login.unwrap().password.unexpanded(), "${SMTP}");
    };
    check("smtps://mail.example.org", "mail.example.org", 465, Carried::Tls);
    check("smtp://mail.example.org", "mail.example.org", 587, Carried::StartTls);
    check("smtp://mail.example.org:25/", "mail.example.org", 25, Carried::StartTls);
    check("smtp://192.0.2.1:25", "192.0.2.1", 25, Carried::StartTls);
    check("smtp://x.localhost", "x.localhost", 587, Carried::StartTls);
    check("smtp://localhost", "localhost", 25, Carried::Plain);
    check("smtp://127.0.0.1:1025", "127.0.0.1", 1025, Carried::Plain);
    check("smtps://localhost:4650", "localhost", 4650, Carried::Tls);
}

#[test]
fn what_is_wrong_with_mail_is_said_without_repeating_a_secret() {
    let errors = table(&[
        "mail = true",
        "[mail]\nvia = \"console\"",
        "[mail]\nfrom = \"gate\"\nvia = \"console\"",
        "[mail]\nfrom = \"Gate <a@b>\\r\\nBcc: c@d\"\nvia = \"console\"",
        "[mail]\nfrom = \"a@b\"",
        "[mail]\nfrom = \"a@b\"\nvia = \"mails\"",
        "[mail]\nfrom = \"a@b\"\nvia = \"http://x\"",
        "[mail]\nfrom = \"a@b\"\nvia = \"smtp://u:hunter2@x\"",
        "[mail]\nfrom = \"a@b\"\nvia = \"smtp://x\"\nuser = \"u\"",
        "[mail]\nfrom = \"a@b\"\nvia = \"smtp://x\"\nuser = \"u\"\npassword = \"hunter2\"",
        "[mail]\nfrom = \"a@b\"\nvia = \"console\"\nuser = \"u\"\npassword = \"${SMTP}\"",
        "[mail]\nfrom = \"a@b\"\nvia = \"smtp://x\"\ntls = false",
    ]);
    assert!(!errors.contains("hunter2"));
    insta::assert_snapshot!(errors, @r#"
    yesgate.toml:1:8: `mail` must be a table, not a boolean
    yesgate.toml:1:1: `from` is missing
    yesgate.toml:2:8: `from` is no mail address
        hint: write it like "gate@example.org"
    yesgate.toml:2:8: `from` is no mail address
        hint: write it like "gate@example.org"
    yesgate.toml:1:1: `via` is missing
    yesgate.toml:3:7: `via` is no way for mail
        hint: write "smtps://mail.example.org"; for development "console", or a folder as "/path"
    yesgate.toml:3:7: `via` is no way for mail
        hint: write "smtps://mail.example.org"; for development "console", or a folder as "/path"
    yesgate.toml:3:7: `via` cannot be used: it holds a user name or a password
        hint: leave it out; `user` and `password` say who the gateway is there
    yesgate.toml:4:8: `user` and `password` belong together
    yesgate.toml:5:12: `password` must be a variable
        hint: write "${NAME}" and put the password into the environment of the gateway
    yesgate.toml:4:8: `user` has no effect without a mail server
    yesgate.toml:4:1: unknown key `tls`
        hint: one of `from`, `via`, `user` or `password`
    "#);
}
