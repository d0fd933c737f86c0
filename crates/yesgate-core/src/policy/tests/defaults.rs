//! `yesgate.default.toml` and `docs/policy.md` tell the truth.

use super::super::{Config, EXAMPLE_KEYS, RULE_KEYS, SERVER_KEYS, SPEND_KEYS, TIME_KEYS, TOP_KEYS};

const DEFAULTS: &str = include_str!("../../../../../yesgate.default.toml");
const GUIDE: &str = include_str!("../../../../../docs/policy.md");

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

/// The guide shows nothing that would not load.
#[test]
fn every_example_in_the_guide_is_a_configuration() {
    let blocks: Vec<&str> =
        GUIDE.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() >= 4);
    for block in blocks {
        if let Err(error) = Config::parse(block) {
            panic!("{error}\n{block}");
        }
    }
}

#[test]
fn every_key_that_is_known_stands_in_the_default_file() {
    let text = switched_on();
    let stands = |key: &str| {
        text.lines()
            .any(|line| line.starts_with(&format!("{key} = ")) || line.contains(&format!("{{ {key} = ")))
            || text.contains(&format!(", {key} = "))
            || text.contains(&format!("[{key}]"))
            || text.contains(&format!("[{key}."))
    };
    for key in [&TOP_KEYS[..], &TIME_KEYS, &SERVER_KEYS, &RULE_KEYS, &SPEND_KEYS, &EXAMPLE_KEYS].concat() {
        assert!(stands(key), "`{key}` is not in yesgate.default.toml");
    }
}
