//! JSON for a place where it is read and written by people and by programs: a terminal, a field of a form.

/// JSON in which nothing can steer a terminal or hide on it. Outside of its strings JSON is plain
/// ASCII, so whatever is escaped here stands in a string and means the same to programs.
pub fn on_screen(json: &str) -> String {
    let mut units = [0; 2];
    json.chars().fold(String::with_capacity(json.len()), |mut plain, c| {
        if c == '\n' || c == ' ' || c.is_ascii_graphic() || c.is_alphanumeric() {
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
        let value = serde_json::json!({"a": "x\u{202e}y\u{1b}[2J\u{1f600} é"});
        let shown = on_screen(&value.to_string());
        assert_eq!(shown, "{\"a\":\"x\\u202ey\\u001b[2J\\ud83d\\ude00 é\"}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }
}
