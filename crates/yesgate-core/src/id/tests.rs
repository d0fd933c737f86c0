//! What is an id and what is not.

use super::{ClientId, IntentId, ServerName, ToolName, base32};

#[test]
fn an_id_is_made_of_its_prefix_and_sixteen_letters() {
    let id = IntentId::from_entropy([0xff; 32]);
    assert_eq!(id.as_str(), "intent_zzzzzzzzzzzzzzzz");
    assert_eq!(id.as_str().parse(), Ok(id));
}

#[test]
fn base32_follows_crockford() {
    assert_eq!(base32(b""), "");
    assert_eq!(base32(b"f"), "cr");
    assert_eq!(base32(b"foobar"), "csqpyrk1e8");
}

#[test]
fn a_text_of_another_shape_is_no_id() {
    for text in [
        "",
        "intent_",
        "intent_short",
        "intent_UPPERUPPERUPPERU",
        "zzzzzzzzzzzzzzzz",
        "intent_zzzzzzzzzzzzzzz/",
    ] {
        assert!(text.parse::<IntentId>().is_err(), "{text}");
    }
}

#[test]
fn a_name_never_holds_what_could_move_a_cursor_or_leave_a_folder() {
    for text in ["", "a/b", "a b", "ü", "a\u{1b}[2J", "a\n", &"x".repeat(129)] {
        assert!(text.parse::<ServerName>().is_err(), "{text:?}");
    }
    for text in ["", "a b", "tool\u{200b}", "\u{202e}loot"] {
        assert!(text.parse::<ToolName>().is_err(), "{text:?}");
    }
    assert!("Claude Code".parse::<ClientId>().is_ok());
}

#[test]
fn a_bad_name_is_quoted_harmlessly() {
    let error = "a\u{1b}b".parse::<ServerName>().unwrap_err();
    assert_eq!(error.to_string(), "`a\\u{1b}b` is not a server name (1 to 128 of `A-Z a-z 0-9 _ . -`)");
}
