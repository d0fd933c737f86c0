//! JSON for a place where it is read and written by people and by programs: a terminal, a field of a form.

use crate::render;

/// JSON in which nothing can steer a terminal, hide on it, change places or pass for something else: the same
/// judgement as over everything that people are shown. Outside of its strings JSON is plain ASCII, so whatever is
/// escaped here stands in a string and means the same to programs.
pub fn on_screen(json: &str) -> String {
    let mut units = [0; 2];
    render::in_json(json).fold(String::with_capacity(json.len()), |mut plain, (c, is_shown)| {
        if is_shown {
            plain.push(c);
        } else {
            plain.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        }
        plain
    })
}

#[cfg(test)]
mod tests {
    use super::on_screen;

    #[test]
    fn what_steers_or_hides_is_escaped_and_means_the_same() {
        let value = serde_json::json!({"a": "x\u{202e}y\u{1b}[2J\u{fe0f} é"});
        let shown = on_screen(&value.to_string());
        assert_eq!(shown, "{\"a\":\"x\\u202ey\\u001b[2J\\ufe0f é\"}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }

    /// A11, REN2: letters that cannot be seen, that pass for others or that are written from the right are letters to
    /// Unicode, and still nothing that a field of a form may show.
    #[test]
    fn letters_that_deceive_are_escaped_and_honest_words_are_not() {
        for (text, expected) in [
            ("a\u{3164}b\u{115f}\u{1160}\u{ffa0}", r#""a\u3164b\u115f\u1160\uffa0""#),
            ("p\u{430}ypal", r#""p\u0430ypal""#),
            ("שלום", r#""\u05e9\u05dc\u05d5\u05dd""#),
            ("cafe\u{301}", r#""cafe\u0301""#),
            ("ｒｍ", r#""\uff52\uff4d""#),
            ("a”, b", r#""a\u201d, b""#),
            ("Straße, 書く, Перевод, \"a\\b\"\n", r#""Straße, 書く, Перевод, \"a\\b\"\n""#),
        ] {
            let value = serde_json::json!(text);
            let shown = on_screen(&value.to_string());
            assert_eq!(shown, expected);
            assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
        }
        assert_eq!(on_screen("{\n  \"a\": 1\n}"), "{\n  \"a\": 1\n}");
    }
}
