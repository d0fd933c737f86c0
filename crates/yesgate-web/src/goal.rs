//! What somebody came for who has to sign in first, and where it is when they have.
//!
//! INVARIANT: it is a word of ours and never an address (O-S2). Whatever is no such word leads to the inbox.

use std::fmt;
use std::str::FromStr;

use yesgate_core::id::IntentId;
use yesgate_core::oauth::{Ticket, UserCode};

/// What somebody came for.
#[derive(Clone, Debug)]
pub(crate) enum Goal {
    /// A question.
    Question(IntentId),
    /// A client that wants to be connected in this browser. The ticket alone opens nothing: the browser holds the rest.
    Connect(Ticket),
    /// A client elsewhere that showed a code, which they have typed or not.
    Device(Option<UserCode>),
    /// What is connected.
    Clients,
}

/// A word is none of ours.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct NoGoal;

impl Goal {
    /// Where it is.
    pub(crate) fn path(&self) -> String {
        match self {
            Self::Question(id) => format!("/approve/{id}"),
            Self::Connect(ticket) => format!("/connect/{}", ticket.expose()),
            Self::Device(None) => "/device".to_owned(),
            Self::Device(Some(code)) => format!("/device?user_code={}", code.shown()),
            Self::Clients => "/settings/connected-clients".to_owned(),
        }
    }

    /// Whether the page of a client opened this window, and may wait for it: what leads there leaves the two together.
    pub(crate) const fn is_for_a_client(&self) -> bool {
        match self {
            Self::Connect(_) => true,
            Self::Question(_) | Self::Device(_) | Self::Clients => false,
        }
    }

    /// Where one signs in for it.
    pub(crate) fn sign_in(&self) -> String {
        format!("/sign-in?to={self}")
    }
}

/// The word that stands for it in forms and links.
impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Question(id) => write!(f, "{id}"),
            Self::Connect(ticket) => f.write_str(ticket.expose()),
            Self::Device(None) => f.write_str(DEVICE),
            Self::Device(Some(code)) => write!(f, "{DEVICE}-{}", code.shown()),
            Self::Clients => f.write_str(CLIENTS),
        }
    }
}

impl FromStr for Goal {
    type Err = NoGoal;

    fn from_str(text: &str) -> Result<Self, NoGoal> {
        if let Ok(id) = text.parse() {
            return Ok(Self::Question(id));
        }
        if let Some(ticket) = ticket(text) {
            return Ok(Self::Connect(ticket));
        }
        match text.strip_prefix(DEVICE) {
            Some("") => Ok(Self::Device(None)),
            Some(rest) => {
                let code = rest.strip_prefix('-').map(UserCode::typed).ok_or(NoGoal)?;
                Ok(Self::Device(Some(code)))
            }
            None if text == CLIENTS => Ok(Self::Clients),
            None => Err(NoGoal),
        }
    }
}

/// Reads a ticket; `None`: it has another form.
pub(crate) fn ticket(text: &str) -> Option<Ticket> {
    let random = text.strip_prefix("ygq_")?;
    let fits = (1..=64).contains(&random.len()) && random.bytes().all(|byte| byte.is_ascii_alphanumeric());
    fits.then(|| Ticket::presented(text))
}

const DEVICE: &str = "device";
const CLIENTS: &str = "connected-clients";

#[cfg(test)]
mod tests {
    use yesgate_core::oauth::Ticket;

    use super::Goal;

    /// O-S2, O-A7: only words of ours lead anywhere, and each to one place on this site.
    #[test]
    fn only_our_own_words_lead_anywhere() {
        let ticket = Ticket::from_entropy([7; 32]);
        for (word, place) in [
            ("intent_0123456789abcdef", "/approve/intent_0123456789abcdef".to_owned()),
            (ticket.expose(), format!("/connect/{}", ticket.expose())),
            ("device", "/device".to_owned()),
            ("device-WDJB-MJHT", "/device?user_code=WDJB-MJHT".to_owned()),
            ("connected-clients", "/settings/connected-clients".to_owned()),
        ] {
            let goal: Goal = word.parse().unwrap();
            assert_eq!((goal.path(), goal.to_string().as_str()), (place, word));
        }
        for word in [
            "",
            "/",
            "//evil.example",
            "\\evil",
            "https:evil.example",
            "https://evil.example/",
            "ygq_",
            "ygq_../..",
            "ygq_a?b",
            "devices",
            "connected-clients/",
            "javascript:alert(1)",
        ] {
            assert!(word.parse::<Goal>().is_err(), "{word}");
        }
        // Whatever was typed for a code is letters and digits afterwards.
        let typed: Goal = "device-a&b=//c\r\nd".parse().unwrap();
        assert_eq!(typed.path(), "/device?user_code=ABCD-");
    }
}
