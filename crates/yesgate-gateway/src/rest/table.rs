//! The paths of the REST front: one table, from which requests are routed and the document is written.

use std::borrow::Cow;

use http::Method;

/// What there is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Endpoint {
    /// Calls a tool.
    Call,
    /// Looks a question up.
    Look,
    /// Says what the user said in the conversation.
    Decide,
    /// Withdraws a question.
    Cancel,
    /// Asks for consent to an operation of an application.
    Mint,
    /// Spends the yes to one.
    Consume,
    /// Says how it ended.
    Outcome,
    /// Describes all this.
    Document,
}

/// The one method that a path has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Verb {
    /// It only reads.
    Get,
    /// It may do something.
    Post,
}

impl Verb {
    /// The word in a request.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
        }
    }

    /// Whether a request has it.
    pub(crate) fn is(self, method: &Method) -> bool {
        method.as_str() == self.as_str()
    }
}

/// One path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    pub(crate) verb: Verb,
    /// The path, with names in braces for what stands for one segment each.
    pub(crate) path: &'static str,
    pub(crate) endpoint: Endpoint,
}

/// All of them. No two fit one path.
pub(crate) const ROUTES: [Route; 8] = [
    Route { verb: Verb::Post, path: "/api/tools/{server}/{tool}", endpoint: Endpoint::Call },
    Route { verb: Verb::Get, path: "/api/intents/{intent_id}", endpoint: Endpoint::Look },
    Route { verb: Verb::Post, path: "/api/intents/{intent_id}/decide", endpoint: Endpoint::Decide },
    Route { verb: Verb::Post, path: "/api/intents/{intent_id}/cancel", endpoint: Endpoint::Cancel },
    Route { verb: Verb::Post, path: "/api/consent/mint", endpoint: Endpoint::Mint },
    Route { verb: Verb::Post, path: "/api/consent/consume", endpoint: Endpoint::Consume },
    Route { verb: Verb::Post, path: "/api/consent/{intent_id}/outcome", endpoint: Endpoint::Outcome },
    Route { verb: Verb::Get, path: "/api/openapi.json", endpoint: Endpoint::Document },
];

impl Route {
    /// What stands in the places of the names, where this is the route of a path.
    pub(crate) fn fit(&self, path: &str) -> Option<Vec<String>> {
        let (mut names, mut segments) = (self.path.split('/'), path.split('/'));
        let mut values = Vec::new();
        loop {
            match (names.next(), segments.next()) {
                (None, None) => return Some(values),
                (Some(name), Some(segment)) if name.starts_with('{') => values.push(decoded(segment)?),
                (Some(name), Some(segment)) if name == segment => {}
                (Some(_), _) | (None, Some(_)) => return None,
            }
        }
    }

    /// The names in braces.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }
}

/// A segment as it is meant (RFC 3986 §2.1); `None` where it is empty or means nothing.
fn decoded(segment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                let (high, low) = (digit()?, digit()?);
                u8::try_from(high * 16 + low).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok().filter(|text| !text.is_empty())
}

/// A text as a segment of a path.
pub(crate) fn encoded(text: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    if text.bytes().all(is_plain) {
        return text.into();
    }
    let spell = |byte: u8| match is_plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(spell).collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use yesgate_core::policy::OWN_SEGMENTS;

    use super::{Endpoint, ROUTES, decoded, encoded};

    #[test]
    fn a_path_has_one_route_and_its_segments_are_read_once() {
        let find = |path: &str| {
            let found: Vec<_> =
                ROUTES.iter().filter_map(|route| Some((route.endpoint, route.fit(path)?))).collect();
            assert!(found.len() < 2, "{path}: {found:?}");
            found.into_iter().next()
        };
        let call =
            |server: &str, tool: &str| Some((Endpoint::Call, vec![server.to_owned(), tool.to_owned()]));
        assert_eq!(find("/api/tools/notes/read_note"), call("notes", "read_note"));
        assert_eq!(find("/api/tools/notes/a%2Fb"), call("notes", "a/b"));
        assert_eq!(find("/api/tools/notes/a%252Fb"), call("notes", "a%2Fb"));
        assert_eq!(find("/api/consent/mint"), Some((Endpoint::Mint, vec![])));
        for nothing in [
            "/api/tools/notes",
            "/api/tools/notes/",
            "/api/tools//read_note",
            "/api/tools/notes/read_note/",
            "/api/tools/notes/read/note",
            "/api/tools/notes/a%2",
            "/api/tools/notes/%zz",
            "/api/tools/notes/%ff",
            "/API/tools/notes/read_note",
            "/api/intents",
            "/api/consent",
            "/approve",
        ] {
            assert_eq!(find(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn what_is_encoded_is_decoded_to_the_same() {
        for text in ["read_note", "a/b", "ä b%", "../x", "?#"] {
            assert_eq!(decoded(&encoded(text)).as_deref(), Some(text));
        }
    }

    /// H8: no route of the operator's can hide one of ours.
    #[test]
    fn every_path_of_ours_is_closed_to_the_operator() {
        for route in ROUTES {
            if let Some(rest) = route.path.strip_prefix("/api/") {
                assert!(OWN_SEGMENTS.contains(&rest.split('/').next().unwrap()), "{}", route.path);
            }
        }
    }
}
