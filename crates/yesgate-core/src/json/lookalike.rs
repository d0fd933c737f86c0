//! Keys that are spelled differently but that a reader may take for one.
//!
//! Some readers match keys without regard to case, and some to Unicode form: to them `Name` is
//! `name` and `paramſ` (U+017F) is `params`. Two such keys in one object are two answers to one
//! question, so a judged text must not have them.

use serde_json::{Map, Value};
use unicode_normalization::UnicodeNormalization;

/// Finds two keys of `object` that look alike.
pub(super) fn find(object: &Map<String, Value>) -> Option<(&str, &str)> {
    // Nearly every object is like this, and each call has one: then nothing need be written down.
    if object.len() <= FEW && object.keys().all(|key| key.is_ascii()) {
        let pair = object.keys().enumerate().find_map(|(index, first)| {
            let twin = object.keys().skip(index + 1).find(|second| first.eq_ignore_ascii_case(second));
            twin.map(|second| if is_plain(second) { (second, first) } else { (first, second) })
        });
        return pair.map(|(first, second)| (first.as_str(), second.as_str()));
    }
    let mut folded = Vec::new();
    for key in object.keys().filter(|key| !is_plain(key)) {
        let fold = fold(key);
        if fold != *key
            && let Some((other, _)) = object.get_key_value(&fold)
        {
            return Some((other, key));
        }
        folded.push((fold, key));
    }
    folded.sort_unstable();
    folded.windows(2).find_map(|pair| match pair {
        [(one, first), (other, second)] if one == other => Some((first.as_str(), second.as_str())),
        _ => None,
    })
}

/// How many keys are compared each with each other.
const FEW: usize = 8;

/// Says whether `key` is its own fold, at a glance; most keys are.
pub(super) fn is_plain(key: &str) -> bool {
    key.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase())
}

/// Gives all spellings of one key the same text, after the manner of Unicode's `NFKC_Casefold`.
///
/// Lower case, upper, then lower again: that joins what lower case alone keeps apart (`ẞ`, `ß`
/// and `SS`, `ς` and `σ`, `ı` and `I`).
pub(super) fn fold(key: &str) -> String {
    if key.is_ascii() {
        return key.to_ascii_lowercase();
    }
    key.nfkc()
        .flat_map(char::to_lowercase)
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .filter(|character| !is_ignorable(*character))
        .nfkc()
        .collect()
}

/// Unicode's `Default_Ignorable_Code_Point`: characters that are not there for the eye.
fn is_ignorable(character: char) -> bool {
    match character {
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fff8}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        _ => false,
    }
}
