//! `[pages]`: two keys, and a port that is one.

use super::super::{Config, Inbox, PagesConfig};
use super::config::table;

#[test]
fn pages_are_served_at_any_port_unless_the_operator_says_otherwise() {
    let pages = |text: &str| Config::parse(text).unwrap().pages;
    assert_eq!(pages(""), PagesConfig { wrap: Inbox::Served, port: None });
    assert_eq!(pages("[pages]\nwrap = false"), PagesConfig { wrap: Inbox::Off, port: None });
    assert_eq!(pages("[pages]\nport = 9000"), PagesConfig { wrap: Inbox::Served, port: Some(9000) });
}

#[test]
fn what_is_wrong_with_pages_is_said() {
    let errors = table(&[
        "pages = false",
        "[pages]\nserve = true",
        "[pages]\nwrap = \"no\"",
        "[pages]\nport = 0",
        "[pages]\nport = 65536",
        "[pages]\nport = \"8786\"",
    ]);
    insta::assert_snapshot!(errors, @r#"
    yesgate.toml:1:9: `pages` must be a table, not a boolean
    yesgate.toml:2:1: unknown key `serve`
        hint: one of `wrap` or `port`
    yesgate.toml:2:8: `wrap` must be `true` or `false`, not a string
    yesgate.toml:2:8: `port` must be from 1 to 65535
        hint: without it a free one is taken
    yesgate.toml:2:8: `port` must be from 1 to 65535
        hint: without it a free one is taken
    yesgate.toml:2:8: `port` must be an integer, not a string
    "#);
}
