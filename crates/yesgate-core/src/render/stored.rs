//! Safe texts that were stored and come back: the store may have been edited by hand, so what is
//! not safe to show is escaped again.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Sanitized;
use super::escape::chrome;

impl Serialize for Sanitized {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Sanitized {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self(chrome(&text)))
    }
}

#[cfg(test)]
mod tests {
    use super::Sanitized;

    #[test]
    fn a_stored_text_comes_back_as_it_was() {
        for text in ["plain", "a\\b", "tab\there", "\u{202e}evil", "quote \" and ␠"] {
            let safe = Sanitized::line(text);
            let stored = serde_json::to_string(&safe).unwrap();
            assert_eq!(serde_json::from_str::<Sanitized>(&stored).unwrap(), safe, "{text:?}");
        }
    }

    #[test]
    fn an_edited_store_cannot_move_the_cursor() {
        let edited: Sanitized = serde_json::from_str(r#""ok\u001b[2J\u202e""#).unwrap();
        assert!(edited.as_str().chars().all(|c| !c.is_control() && c != '\u{202e}'), "{edited}");
    }
}
