//! `[sign_in]`: no secret in the file, nobody who could be anybody, nobody who becomes an owner by it.

use super::super::{Config, OidcConfig};
use super::config::table;
use crate::person::Role;

fn oidc(text: &str) -> OidcConfig {
    let config = Config::parse(&format!("[sign_in.oidc]\nclient_id = \"gate\"\n{text}"));
    config.unwrap_or_else(|error| panic!("{error} ({:?})", error.hint())).oidc.unwrap()
}

#[test]
fn a_provider_is_read() {
    assert_eq!(Config::parse("").unwrap().oidc, None);
    let least = oidc("issuer = \"https://a.example/realms/x\"");
    assert_eq!((least.issuer.as_str(), least.name.as_str()), ("https://a.example/realms/x", "a.example"));
    assert_eq!((least.org.as_str(), least.client_secret, least.new.len()), ("local", None, 0));
    let whole = oidc(
        "issuer = \"http://127.0.0.1:9\"\nclient_secret = \"${SECRET}\"\nname = \"Us\"\norg = \"acme\"\n\
         subjects = { alice = \"42\" }\nnew = { \"Example.org\" = \"approver\" }",
    );
    assert_eq!((whole.name.as_str(), whole.org.as_str()), ("Us", "acme"));
    assert_eq!(whole.subjects.values().collect::<Vec<_>>(), ["42"]);
    assert_eq!(whole.new.get("example.org"), Some(&Role::Approver));
}

#[test]
fn what_is_wrong_with_a_provider_is_said_without_repeating_a_secret() {
    let with =
        |line: &str| format!("[sign_in.oidc]\nissuer = \"https://a.example\"\nclient_id = \"gate\"\n{line}");
    let texts = [
        "sign_in = true".to_owned(),
        "[sign_in]\nldap = true".to_owned(),
        "[sign_in.oidc]\nclient_id = \"gate\"".to_owned(),
        "[sign_in.oidc]\nissuer = \"https://a.example\"".to_owned(),
        "[sign_in.oidc]\nissuer = \"http://a.example\"\nclient_id = \"gate\"".to_owned(),
        with("client_secret = \"hunter2\""),
        with("org = \"\""),
        with("new = { \"example.org\" = \"owner\" }"),
        with("new = { \"@\" = \"viewer\" }"),
        with("subjects = { \"a b\" = \"1\" }"),
        with("subjects = { a = \"1\", b = \"1\" }"),
        with("scopes = []"),
    ];
    let errors = table(&texts.each_ref().map(String::as_str));
    assert!(!errors.contains("hunter2"));
    insta::assert_snapshot!(errors, @r#"
    yesgate.toml:1:11: `sign_in` must be a table, not a boolean
    yesgate.toml:2:1: unknown key `ldap`
        hint: one of `oidc`
    yesgate.toml:1:1: `issuer` is missing
    yesgate.toml:1:1: `client_id` is missing
    yesgate.toml:2:10: `issuer` could be anybody: it is not reached over TLS
        hint: write https://; plain http is for this machine only
    yesgate.toml:4:17: `client_secret` must be a variable
        hint: write "${NAME}" and put the secret into the environment of the gateway
    yesgate.toml:4:7: `org` is no organisation
    yesgate.toml:4:25: `owner` is not a value of `example.org`
        hint: one of `viewer` or `approver`
    yesgate.toml:4:15: `@` is no domain
    yesgate.toml:4:22: `a b` is no name of a person
    yesgate.toml:4:27: two people have the same subject
        hint: leave one out
    yesgate.toml:4:1: unknown key `scopes`
        hint: one of `issuer`, `client_id`, `client_secret`, `name`, `org`, `subjects` or `new`
    "#);
}
