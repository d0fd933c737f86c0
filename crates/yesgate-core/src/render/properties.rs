//! What holds for every text and every value, not only for the payloads somebody thought of.

use proptest::prelude::{
    Just, Strategy, any, prop, prop_assert, prop_assert_eq, prop_assert_ne, prop_oneof, proptest,
};
use serde_json::{Map, Value};

use super::alphabet::Kind;
use super::escape::{Frame, escape};
use super::{Sanitized, fence, render_call, render_inline, render_value};

proptest! {
    /// REN2: a surface prints nothing that is not on the list.
    #[test]
    fn only_allowed_characters_come_out(text in hostile_text(), value in value()) {
        let mut shown = vec![Sanitized::line(&text), Sanitized::quoted(&text), render_inline(&value)];
        shown.extend(fence("label", &text));
        shown.extend(render_value(&value).unwrap_or_default());
        for line in shown {
            for c in line.as_str().chars() {
                prop_assert!(is_allowed(c), "{c:?} in {line:?}");
            }
        }
    }

    /// REN2: the picture of a text can be read back, so two texts never share one.
    #[test]
    fn a_text_can_be_read_back_from_its_picture(text in hostile_text()) {
        for frame in [Frame::Line, Frame::Fence, Frame::Value, Frame::Inline] {
            prop_assert_eq!(read_text(&escape(&text, frame)), text.clone());
        }
    }

    /// REN4: the picture of a value can be read back, so nothing was left out and two values never share one.
    #[test]
    fn a_value_can_be_read_back_from_its_picture(value in value()) {
        if let Ok(lines) = render_value(&value) {
            prop_assert_eq!(read_tree(&lines), value);
        }
    }

    /// REN2: texts that are made to collide do not.
    #[test]
    fn two_texts_never_look_the_same((one, other) in (forged_text(), forged_text())) {
        let same = one == other;
        prop_assert_eq!(Sanitized::line(&one) == Sanitized::line(&other), same);
        prop_assert_eq!(Sanitized::quoted(&one) == Sanitized::quoted(&other), same);
        prop_assert_eq!(fence("label", &one) == fence("label", &other), same);
    }

    /// REN2: values that are made to collide do not.
    #[test]
    fn two_values_never_look_the_same(one in forged_value(), other in forged_value()) {
        // Zero and minus zero are equal and look different.
        if one != other {
            prop_assert_ne!(render_value(&one), render_value(&other));
            prop_assert_ne!(render_inline(&one), render_inline(&other));
            prop_assert_ne!(render_call("name", &one), render_call("name", &other));
        }
    }

    /// A11: a letter inserted anywhere shows, even one that has no width.
    #[test]
    fn one_more_character_always_shows(before in hostile_text(), c in hostile_char(), after in hostile_text()) {
        let without = format!("{before}{after}");
        let with = format!("{before}{c}{after}");
        prop_assert_ne!(Sanitized::line(&without), Sanitized::line(&with));
    }
}

/// REN2: the whole of Unicode, one by one.
#[test]
fn no_invisible_character_is_on_the_list() {
    for c in '\0'..=char::MAX {
        if Kind::of(c) != Kind::Hidden {
            assert!(c == ' ' || !c.is_whitespace() && !c.is_control(), "{c:?}");
            assert!(!is_default_ignorable(c), "{c:?}");
            assert!(!CHROME.contains(c), "{c:?} belongs to us");
        }
    }
}

fn is_allowed(c: char) -> bool {
    c == ' ' || c.is_ascii_graphic() || CHROME.contains(c) || !c.is_ascii() && Kind::of(c) != Kind::Hidden
}

/// Unicode's own list of what has no picture (Default_Ignorable_Code_Point), and a few that should be on it.
const fn is_default_ignorable(c: char) -> bool {
    match c {
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' => true,
        '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' => true,
        '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{e000}'..='\u{f8ff}' => true,
        '\u{fdd0}'..='\u{fdef}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' => true,
        '\u{fff0}'..='\u{ffff}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' => true,
        '\u{e0000}'..='\u{10ffff}' => true,
        _ => false,
    }
}

/// Reads an escaped text back.
fn read_text(shown: &str) -> String {
    let mut text = String::new();
    let mut rest = shown;
    while !rest.is_empty() {
        if let Some(run) = rest.strip_prefix('⟦') {
            let (run, after) = run.split_once('⟧').unwrap();
            let (name, count) = run.split_once('×').unwrap();
            let name = if name == "␠" { " ".to_owned() } else { read_text(name) };
            text.push_str(&name.repeat(count.parse().unwrap()));
            rest = after;
        } else if let Some(escape) = rest.strip_prefix("\\u{") {
            let (code, after) = escape.split_once('}').unwrap();
            text.push(char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap());
            rest = after;
        } else {
            let mut chars = rest.chars();
            text.push(match chars.next().unwrap() {
                '\\' => match chars.next().unwrap() {
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    escaped => escaped,
                },
                c => c,
            });
            rest = chars.as_str();
        }
    }
    text
}

/// Reads a rendered value back.
fn read_tree(lines: &[Sanitized]) -> Value {
    let lines: Vec<&str> =
        lines.iter().map(Sanitized::as_str).filter(|line| !line.trim_start().starts_with('(')).collect();
    let mut rest = lines.as_slice();
    let value = read_block(&mut rest, 0);
    assert!(rest.is_empty(), "unread: {rest:?}");
    value
}

fn read_block(lines: &mut &[&str], depth: usize) -> Value {
    let mut items = Vec::new();
    let mut members = Map::new();
    while let Some((line, after)) = lines.split_first() {
        let body = line.trim_start_matches(' ');
        if line.len() - body.len() < depth * 2 {
            break;
        }
        *lines = after;
        let (name, leaf) = match body.strip_prefix('-') {
            Some(leaf) if leaf.is_empty() || leaf.starts_with(' ') => (None, leaf),
            Some(_) | None => match read_name(body) {
                Some((name, leaf)) => (Some(name), leaf),
                None => return read_leaf(body),
            },
        };
        let value = match leaf.strip_prefix(' ') {
            Some(leaf) => read_leaf(leaf),
            None => read_block(lines, depth + 1),
        };
        match name {
            Some(name) => assert!(members.insert(name, value).is_none()),
            None => items.push(value),
        }
    }
    if items.is_empty() { Value::Object(members) } else { Value::Array(items) }
}

fn read_name(body: &str) -> Option<(String, &str)> {
    let Some(quoted) = body.strip_prefix('"') else {
        let (name, leaf) = body.split_once(':')?;
        return Some((name.to_owned(), leaf));
    };
    let mut is_escaped = false;
    let end = quoted.find(|c| {
        let ends = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends
    });
    let (name, leaf) = quoted.split_at(end.unwrap());
    Some((read_text(name), leaf.strip_prefix("\":")?))
}

fn read_leaf(leaf: &str) -> Value {
    match leaf.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        Some(text) => Value::String(read_text(text)),
        // The parser that rounds correctly: serde_json's own default is off by one bit at times.
        None if leaf.starts_with(['-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
            && leaf.contains(['.', 'e']) =>
        {
            Value::from(leaf.parse::<f64>().unwrap())
        }
        None => serde_json::from_str(leaf).unwrap(),
    }
}

fn hostile_char() -> impl Strategy<Value = char> {
    prop_oneof![
        3 => any::<char>(),
        3 => prop::char::range(' ', '~'),
        2 => prop::char::range('\u{370}', '\u{6ff}'),
        2 => prop::sample::select(HOSTILE.chars().collect::<Vec<_>>()),
    ]
}

fn hostile_text() -> impl Strategy<Value = String> {
    let run = (hostile_char(), prop_oneof![8 => Just(1_usize), 1 => 2_usize..20])
        .prop_map(|(c, count)| c.to_string().repeat(count));
    prop::collection::vec(run, 0..24).prop_map(|runs| runs.concat())
}

/// Texts from the few characters that our own notation is made of.
fn forged_text() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        " ",
        "         ",
        "\\",
        "\"",
        "n",
        "u{20}",
        "\n",
        "⟦",
        "⟧",
        "×",
        "9",
        "␠",
        "а",
        "a",
        "│ ",
        "\u{301}",
        "é",
        "e",
    ]);
    prop::collection::vec(piece, 0..5).prop_map(|pieces| pieces.concat())
}

fn value() -> impl Strategy<Value = Value> {
    nested(hostile_text().boxed())
}

fn forged_value() -> impl Strategy<Value = Value> {
    let text =
        prop::sample::select(vec!["", "1", "null", "- 1", "a: 1", "a", "\", a=\"", "{}", "[]", "\n", ", "]);
    nested(text.prop_map(str::to_owned).boxed())
}

fn nested(text: proptest::strategy::BoxedStrategy<String>) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2_i64..2).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((text.clone(), inner), 0..3)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

const CHROME: &str = "⟦⟧␠┌│└";

const HOSTILE: &str = "\0\u{7}\u{8}\t\n\r\u{1b}\u{7f}\u{85}\u{9b}\u{a0}\u{ad}\u{300}\u{301}\u{307}\u{323}\u{338}\u{34f}\u{61c}\
    аеорсІ\u{3bf}\u{585}\u{5d0}\u{5d1}\u{661}\u{200b}\u{200d}\u{200f}\u{2028}\u{202e}\u{2060}\u{2067}\u{2800}⟦⟧␠×│└ノ“”\
    \u{3164}\u{e000}\u{fe0f}\u{feff}\u{ffff}\u{e0041}\u{e0100}\\\"(-:";
