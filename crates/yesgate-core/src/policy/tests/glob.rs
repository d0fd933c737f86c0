//! Which tools a rule speaks of.

use proptest::prelude::*;

use super::super::glob::{Glob, ToolGlob};

fn matches(pattern: &str, name: &str) -> bool {
    let (server, tool) = name.split_once('/').unwrap();
    ToolGlob::parse(pattern).unwrap().matches(&server.parse().unwrap(), &tool.parse().unwrap())
}

#[test]
fn a_star_stands_for_any_characters_on_its_side_of_the_slash() {
    for (pattern, name, expected) in [
        ("*", "github/get_issue", true),
        ("*/*", "github/get_issue", true),
        ("github/*", "github/get_issue", true),
        ("github/*", "gitlab/get_issue", false),
        ("*/get_issue", "github/get_issue", true),
        ("git*/get_*", "github/get_issue", true),
        ("github/get_*", "github/forget_issue", false),
        ("github/*issue", "github/get_issue", true),
        ("github/*e*i*", "github/get_issue", true),
        ("github/*i*e", "github/get_issue", true),
        ("github/get_issue", "github/get_issues", false),
        ("github/ge*et_issue", "github/get_issue", false),
        ("github/GET_*", "github/get_issue", false),
        // A tool's name may hold a slash; no such name slips through under a `*`.
        ("files/*", "files/a/b", true),
        ("files/a/*", "files/a/b", true),
        ("*/b", "files/a/b", false),
    ] {
        assert_eq!(matches(pattern, name), expected, "{pattern} on {name}");
    }
}

#[test]
fn what_covers_and_what_overlaps_is_known() {
    for (one, two, covers, overlaps) in [
        ("*", "github/get_*", true, true),
        ("github/*", "github/get_*", true, true),
        ("github/get_*", "github/*", false, true),
        ("github/get_*", "github/*_issue", false, true),
        ("github/get_*", "github/set_*", false, false),
        ("github/*", "gitlab/*", false, false),
        ("git*/*", "*lab/*", false, true),
        ("*/a*b", "*/a*c*b", true, true),
        ("*/ab", "*/a*b", false, true),
        ("*/a", "*/aa", false, false),
    ] {
        let (first, second) = (ToolGlob::parse(one).unwrap(), ToolGlob::parse(two).unwrap());
        assert_eq!(first.covers(&second), covers, "{one} covers {two}");
        assert_eq!(first.overlaps(&second), overlaps, "{one} overlaps {two}");
        assert_eq!(second.overlaps(&first), overlaps, "{two} overlaps {one}");
    }
}

/// The plainest way to say what `*` means; slow, and the model for the fast one.
fn model(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern.split_first(), text.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), None) => model(rest, text),
        (Some((b'*', rest)), Some((_, after))) => model(rest, text) || model(pattern, after),
        (Some((one, rest)), Some((other, after))) => one == other && model(rest, after),
        (None, Some(_)) | (Some(_), None) => false,
    }
}

proptest! {
    #[test]
    fn the_fast_match_is_the_plain_one(pattern in "[ab*]{0,7}", text in "[ab]{0,8}") {
        prop_assert_eq!(Glob::new(&pattern).matches(&text), model(pattern.as_bytes(), text.as_bytes()));
    }

    #[test]
    fn two_patterns_that_match_one_name_overlap_and_a_covering_one_matches_all(
        one in "[ab*]{1,5}", two in "[ab*]{1,5}", name in "[ab]{1,6}",
    ) {
        let pattern = |tool: &str| ToolGlob::parse(&format!("s/{tool}"));
        prop_assume!(pattern(&one).is_ok() && pattern(&two).is_ok());
        let (first, second) = (pattern(&one).unwrap(), pattern(&two).unwrap());
        let both = |glob: &ToolGlob| glob.matches(&"s".parse().unwrap(), &name.parse().unwrap());
        if both(&first) && both(&second) {
            prop_assert!(first.overlaps(&second));
        }
        if first.covers(&second) && both(&second) {
            prop_assert!(both(&first));
        }
    }
}
