//! `yesgate.default.toml`, `docs/pages.md`, `docs/policy.md`, `docs/serve.md`, `docs/rest.md` and `docs/notices.md` tell the truth.

use std::collections::BTreeSet;

use super::super::{
    ASKING_KEYS, BUDGET_KEYS, CHECKPOINT_KEYS, CLIENT_KEYS, Config, DOCUMENT_KEYS, EXAMPLE_KEYS,
    EXTERNAL_KEYS, FALLBACK_KEYS, KNOWN_CLIENT_KEYS, LEDGER_KEYS, LOOKUP_KEYS, MAIL_KEYS, NOTICE_KEYS,
    OAUTH_KEYS, OAUTH_LIMIT_KEYS, OAUTH_TIME_KEYS, OIDC_KEYS, PAGES_KEYS, RULE_KEYS, SCOPE_KEYS, SERVE_KEYS,
    SERVE_LIMIT_KEYS, SERVE_TIME_KEYS, SERVER_KEYS, SIGN_IN_KEYS, SPEND_KEYS, TELEMETRY_KEYS, TIME_KEYS,
    TOP_KEYS, WEBHOOK_KEYS,
};

const DEFAULTS: &str = include_str!("../../../../../yesgate.default.toml");
const GUIDES: [&str; 5] = [
    include_str!("../../../../../docs/notices.md"),
    include_str!("../../../../../docs/pages.md"),
    include_str!("../../../../../docs/policy.md"),
    include_str!("../../../../../docs/serve.md"),
    include_str!("../../../../../docs/rest.md"),
];

/// A setting that is switched off stands behind `#` without a space; prose stands behind `# `.
fn switched_on() -> String {
    let on = |line: &str| match line.strip_prefix('#') {
        Some(setting) if !setting.is_empty() && !setting.starts_with(' ') => setting.to_owned(),
        Some(_) | None => line.to_owned(),
    };
    DEFAULTS.lines().map(on).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_default_file_is_no_configuration_at_all() {
    assert_eq!(Config::parse(DEFAULTS).unwrap(), Config::default());
}

#[test]
fn every_setting_in_the_default_file_can_be_switched_on() {
    let (cover, rest): (Vec<_>, Vec<_>) =
        switched_on().lines().map(str::to_owned).partition(|line| line.starts_with("cover"));
    let config = Config::parse(&rest.join("\n")).unwrap();
    assert!(!config.servers.is_empty());
    assert_eq!(config.lint(), []);
    Config::parse(&format!("profile = \"two-key\"\n{}", cover.join("\n"))).unwrap();
}

/// The guides show nothing that would not load.
#[test]
fn every_example_in_the_guides_is_a_configuration() {
    for guide in GUIDES {
        let blocks: Vec<&str> =
            guide.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
        assert!(!blocks.is_empty());
        for block in blocks {
            if let Err(error) = Config::parse(block) {
                panic!("{error}\n{block}");
            }
        }
    }
}

/// The keys of a table of the default file; a name that stands for many tables gives the keys of all.
fn keys(file: &toml::Table, path: &[&str]) -> BTreeSet<String> {
    let mut tables = vec![file];
    for step in path {
        tables = tables
            .into_iter()
            .flat_map(|table| {
                let found: Vec<&toml::Value> = match *step {
                    "*" => table.values().collect(),
                    step => table.get(step).into_iter().collect(),
                };
                found.into_iter().flat_map(|value| match value.as_array() {
                    Some(items) => items.iter().collect(),
                    None => vec![value],
                })
            })
            .filter_map(toml::Value::as_table)
            .collect();
    }
    tables.into_iter().flat_map(|table| table.keys().cloned()).collect()
}

/// X8: what can be written, and what the default file shows, is the same, table by table.
#[test]
fn every_key_that_is_known_stands_in_the_default_file() {
    let file: toml::Table = switched_on().parse().unwrap();
    let check = |path: &[&str], known: &[&str]| {
        let known: BTreeSet<String> = known.iter().map(|key| (*key).to_owned()).collect();
        assert_eq!(keys(&file, path), known, "{path:?}");
    };
    check(&[], &TOP_KEYS);
    check(&["clients", "*"], &CLIENT_KEYS);
    check(&["notices"], &NOTICE_KEYS);
    check(&["mail"], &MAIL_KEYS);
    check(&["sign_in"], &SIGN_IN_KEYS);
    check(&["sign_in", "oidc"], &OIDC_KEYS);
    check(&["oauth"], &OAUTH_KEYS);
    check(&["oauth", "documents"], &DOCUMENT_KEYS);
    check(&["oauth", "times"], &OAUTH_TIME_KEYS);
    check(&["oauth", "limits"], &OAUTH_LIMIT_KEYS);
    check(&["oauth", "scopes", "*"], &SCOPE_KEYS);
    check(&["oauth", "clients", "*"], &KNOWN_CLIENT_KEYS);
    check(&["oauth", "external"], &EXTERNAL_KEYS);
    check(&["notices", "webhook"], &WEBHOOK_KEYS);
    check(&["asking"], &ASKING_KEYS);
    check(&["times"], &TIME_KEYS);
    check(&["serve"], &SERVE_KEYS);
    check(&["serve", "times"], &SERVE_TIME_KEYS);
    check(&["serve", "limits"], &SERVE_LIMIT_KEYS);
    check(&["ledger"], &LEDGER_KEYS);
    check(&["checkpoints"], &CHECKPOINT_KEYS);
    check(&["checkpoints", "webhook"], &WEBHOOK_KEYS);
    check(&["pages"], &PAGES_KEYS);
    check(&["telemetry"], &TELEMETRY_KEYS);
    check(&["servers", "*"], &SERVER_KEYS);
    check(&["budgets", "*"], &BUDGET_KEYS);
    check(&["rules"], &RULE_KEYS);
    check(&["rules", "spend"], &SPEND_KEYS);
    check(&["rules", "lookup"], &LOOKUP_KEYS);
    check(&["rules", "fallback"], &FALLBACK_KEYS);
    check(&["rules", "match"], &EXAMPLE_KEYS);
}

/// What has a default stands in the default file with it, switched on; the rest is switched off.
#[test]
fn every_default_of_serve_is_written_down() {
    let file: toml::Table = DEFAULTS.parse().unwrap();
    let known = |keys: &[&str], without: &[&str]| -> BTreeSet<String> {
        keys.iter().filter(|key| !without.contains(key)).map(|key| (*key).to_owned()).collect()
    };
    assert_eq!(keys(&file, &["serve"]), known(&SERVE_KEYS, &["public_url"]));
    assert_eq!(keys(&file, &["serve", "times"]), known(&SERVE_TIME_KEYS, &[]));
    assert_eq!(keys(&file, &["serve", "limits"]), known(&SERVE_LIMIT_KEYS, &[]));
    assert_eq!(keys(&file, &["oauth", "documents"]), known(&DOCUMENT_KEYS, &["authorities"]));
    assert_eq!(keys(&file, &["oauth", "times"]), known(&OAUTH_TIME_KEYS, &["longest"]));
    assert_eq!(keys(&file, &["oauth", "limits"]), known(&OAUTH_LIMIT_KEYS, &[]));
    assert_eq!(keys(&file, &["ledger"]), known(&LEDGER_KEYS, &["at", "keep"]));
    assert_eq!(keys(&file, &["pages"]), known(&PAGES_KEYS, &["port"]));
    assert_eq!(keys(&file, &["telemetry"]), known(&TELEMETRY_KEYS, &["otlp"]));
}
