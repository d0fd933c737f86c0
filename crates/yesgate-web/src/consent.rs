//! What a person sees of a client that wants to be allowed something, in a browser or by a code.
//!
//! INVARIANT: what a client says of itself is shown as such, and nothing of it is fetched: no picture, no style (O-C5).

use askama::Template;
use yesgate_core::oauth::{ClientKind, Resource, Scopes};
use yesgate_core::render::Sanitized;
use yesgate_oauth::{Asked, AskedScope};

use crate::assets;
use crate::form::Form;
use crate::redirect::{Leads, Redirect};
use crate::site::Trouble;
use crate::token::Pace;

/// The page of one client.
#[derive(Template)]
#[template(path = "consent.html")]
pub(crate) struct Page {
    pub(crate) client: Client,
    /// Where the answer goes; `None`: the client fetches it.
    pub(crate) redirect: Option<Redirect>,
    pub(crate) scopes: Vec<Line>,
    /// What it may be used for, in words.
    pub(crate) places: Vec<Sanitized>,
    /// Who is signed in.
    pub(crate) name: String,
    /// The token of the form that signs them out, and what they come back to afterwards.
    pub(crate) sign_out: String,
    pub(crate) to: String,
    /// Where the answer is sent, and its token.
    pub(crate) action: String,
    pub(crate) token: String,
    pub(crate) notice: Option<&'static str>,
    /// The code that somebody typed, where they did.
    pub(crate) code: Option<String>,
    /// When this page was made.
    pub(crate) now: String,
    pub(crate) assets: assets::Names,
}

/// A client, as people are shown it.
pub(crate) struct Client {
    pub(crate) name: Sanitized,
    pub(crate) initials: String,
    pub(crate) known: Known,
    /// Its id, where that says something to people.
    pub(crate) id: Sanitized,
}

/// How a client is known.
pub(crate) enum Known {
    /// The operator wrote it down.
    Here,
    /// This host vouches for it.
    Host(Sanitized),
    /// By its own word.
    ItsWord,
}

/// One scope.
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) says: Sanitized,
    pub(crate) wants_fresh: bool,
}

impl Client {
    pub(crate) fn of(asked: &Asked) -> Self {
        let client = &asked.client;
        let said = client.presentation.name.as_deref().filter(|name| !name.trim().is_empty());
        let known = match (client.kind, client.verified_host()) {
            (ClientKind::Operator, _) => Known::Here,
            (ClientKind::Document, Some(host)) => Known::Host(Sanitized::line(host)),
            (ClientKind::Document, None) | (ClientKind::Registered, _) => Known::ItsWord,
        };
        Self {
            name: Sanitized::line(said.unwrap_or("A program without a name")),
            initials: initials(said.unwrap_or_default()),
            known,
            id: Sanitized::line(client.id.as_str()),
        }
    }
}

impl Line {
    pub(crate) fn of(scope: &AskedScope) -> Self {
        Self {
            name: scope.name.to_string(),
            says: Sanitized::line(&scope.says),
            wants_fresh: scope.wants_fresh,
        }
    }
}

/// What somebody says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Says {
    Yes,
    No,
}

impl Says {
    /// What the form says.
    pub(crate) fn read(form: &Form) -> Result<Self, Trouble> {
        match form.one("answer") {
            Some("approve") => Ok(Self::Yes),
            Some("deny") => Ok(Self::No),
            Some(_) | None => Err(Trouble::Nonsense("the form says neither yes nor no")),
        }
    }

    /// How soon it may be said: a no at once, a yes after somebody could have read what it is to (REN7).
    pub(crate) const fn pace(self) -> Pace {
        match self {
            Self::Yes => Pace::Human,
            Self::No => Pace::Any,
        }
    }
}

/// The scopes that were ticked, of those that were asked for. Whatever else a form says is none.
pub(crate) fn ticked(form: &Form, asked: &Asked) -> Scopes {
    let is_ticked = |scope: &&AskedScope| form.all("scope").any(|name| name == scope.name.as_str());
    asked.scopes.iter().filter(is_ticked).map(|scope| scope.name.clone()).collect()
}

/// What is told to somebody whose yes came too soon.
pub(crate) const HASTY: &str =
    "That was faster than anybody can read. Nothing was allowed; look at it, and answer again.";
/// And to somebody who said yes to nothing.
pub(crate) const NOTHING_TICKED: &str =
    "Nothing was ticked, so nothing was allowed. Tick what it may do, or deny it altogether.";

/// Where something may be used, in words.
pub(crate) fn in_words(resource: &Resource, issuer: &str) -> Sanitized {
    let below = resource.as_str().strip_prefix(issuer);
    match below.map(|below| (below, below.strip_prefix("/mcp/"))) {
        Some((_, Some(server))) => Sanitized::line(&format!("only the server “{server}”")),
        Some(("" | "/mcp" | "/api/mcp", None)) => Sanitized::fixed("all servers behind this gateway"),
        Some((_, None)) | None => Sanitized::line(resource.as_str()),
    }
}

/// Up to two letters that stand for a name where others would show a picture.
pub(crate) fn initials(name: &str) -> String {
    let words = name.split(|c: char| !c.is_alphanumeric()).filter_map(|word| word.chars().next());
    let initials: String = words.take(2).flat_map(char::to_uppercase).collect();
    if initials.is_empty() { "?".to_owned() } else { initials }
}

#[cfg(test)]
mod tests {
    use yesgate_core::oauth::Resource;

    use super::{in_words, initials};

    #[test]
    fn a_name_has_initials_and_nothing_else_of_it() {
        for (name, expected) in [
            ("Claude Code", "CC"),
            ("cursor", "C"),
            ("VS Code Insiders", "VC"),
            ("<script>alert(1)</script>", "SA"),
            ("\u{202e}evil", "E"),
            ("", "?"),
            ("\u{200b}", "?"),
        ] {
            assert_eq!(initials(name), expected, "{name:?}");
        }
    }

    /// O-K2: where something may be used is said in words, and an address that is not ours in its own.
    #[test]
    fn endpoints_are_told_in_words() {
        let words = |address: &str| {
            in_words(&Resource::parse(address).unwrap(), "https://gate.example.org").to_string()
        };
        assert_eq!(words("https://gate.example.org/api/mcp"), "all servers behind this gateway");
        assert_eq!(words("https://gate.example.org"), "all servers behind this gateway");
        assert_eq!(words("https://gate.example.org/mcp/notes"), "only the server “notes”");
        assert_eq!(words("https://other.example.org/mcp"), "https://other.example.org/mcp");
    }
}
