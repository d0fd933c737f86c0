//! What a form of ours sends back.

use http::HeaderMap;
use http::header::CONTENT_TYPE;

/// The fields of a form.
#[derive(Debug, Default)]
pub(crate) struct Form(Vec<(String, String)>);

impl Form {
    /// Reads a form. `None`: the body is none.
    pub(crate) fn read(headers: &HeaderMap, body: &[u8]) -> Option<Self> {
        let kind = headers.get(CONTENT_TYPE)?.to_str().ok()?;
        let essence = kind.split(';').next().unwrap_or_default().trim();
        essence
            .eq_ignore_ascii_case("application/x-www-form-urlencoded")
            .then(|| Self(form_urlencoded::parse(body).into_owned().collect()))
    }

    /// What was sent for a name, where it was sent once.
    pub(crate) fn one(&self, name: &str) -> Option<&str> {
        let mut all = self.0.iter().filter(|(key, _)| key == name);
        let (_, value) = all.next()?;
        all.next().is_none().then_some(value.as_str())
    }

    /// Everything that was sent for a name, such as the boxes that were ticked.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Every field, in the order in which they came.
    pub(crate) fn fields(&self) -> &[(String, String)] {
        &self.0
    }

    /// A text that somebody wrote, without the white space around it; `None` where there is none.
    pub(crate) fn words(&self, name: &str) -> Option<String> {
        // A browser ends lines as mail does.
        let words = self.one(name)?.replace("\r\n", "\n");
        Some(words.trim().to_owned()).filter(|words| !words.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use http::header::{CONTENT_TYPE, HeaderValue};

    use super::Form;

    fn form(kind: &'static str, body: &str) -> Option<Form> {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(kind))]);
        Form::read(&headers, body.as_bytes())
    }

    #[test]
    fn a_form_has_its_fields_and_a_field_sent_twice_is_none() {
        let read =
            form("application/x-www-form-urlencoded; charset=UTF-8", "a=1&b=x+y%26z&c=1&c=2&d=").unwrap();
        assert_eq!(read.one("a"), Some("1"));
        assert_eq!(read.one("b"), Some("x y&z"));
        assert_eq!(read.one("c"), None);
        assert_eq!(read.all("c").collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!(read.fields().len(), 5);
        assert_eq!(read.one("e"), None);
        assert_eq!(read.words("d"), None);
    }

    #[test]
    fn nothing_else_is_a_form() {
        for kind in ["application/json", "text/plain", "multipart/form-data; boundary=x"] {
            assert!(form(kind, "a=1").is_none(), "{kind}");
        }
    }
}
