//! Why there is no token for a server, and who can do something about it.
//!
//! INVARIANT: no text here holds a token, a code or a secret; what a peer said is cut to one line.

use yesgate_core::id::ServerName;
use yesgate_ledger::{KeyError, LedgerError};

/// Why there is no token.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum SignInError {
    /// A person must sign in; nothing else helps.
    #[error("{0}")]
    NeedsPerson(Need),
    /// The server said no to the request itself: another token would not help.
    #[error("the server does not allow this to the account that is signed in")]
    Forbidden,
    /// The server refuses a token that it should accept. A retry does not help.
    #[error("the server refuses the token that its authorization server has just given")]
    TokenRefused,
    /// The server or its authorization server could not be reached. A retry can help.
    #[error("the sign-in could not be renewed: {0}")]
    Unreachable(String),
    /// What the server or its authorization server says cannot be accepted.
    #[error("the authorization server cannot be used: {0}")]
    Unacceptable(String),
    /// The authorization server, or the person there, said no.
    #[error("the authorization server said no: {0}")]
    Denied(String),
    /// What came back belongs to no sign-in that we began.
    #[error("this is not the answer to the sign-in that was begun")]
    NotOurs,
    /// The settings of the server cannot be used.
    #[error("{0}")]
    Settings(&'static str),
    /// What is kept was sealed under another key, or was changed.
    #[error("the sign-in that is kept cannot be opened with the present secret key")]
    Sealed,
    /// The secret key cannot be used.
    #[error("{0}")]
    Key(#[from] KeyError),
    /// The ledger could not do it.
    #[error("{0}")]
    Ledger(#[from] LedgerError),
    /// The machine we run on could not do it.
    #[error("{0}")]
    Ourselves(&'static str),
}

/// What a person is needed for.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Need {
    /// Nobody has signed in yet.
    #[error("nobody has signed in to the server yet")]
    First,
    /// The sign-in has ended and cannot be renewed.
    #[error("the sign-in to the server has ended")]
    Again,
    /// The server wants more than was granted.
    #[error("the server wants more than was granted: {}", .0.join(" "))]
    Scopes(Vec<String>),
    /// The server names another authorization server than the one that granted it.
    #[error("the server now names another authorization server, `{now}` instead of `{before}`")]
    OtherIssuer {
        /// Who granted what is kept.
        before: String,
        /// Who the server names now.
        now: String,
    },
}

impl SignInError {
    /// What the operator can do, in words.
    pub fn hint(&self, server: &ServerName) -> Option<String> {
        match self {
            Self::NeedsPerson(_) | Self::Sealed | Self::NotOurs => {
                Some(format!("run `yesgate connect {server}`"))
            }
            Self::Denied(_) => Some(format!("`yesgate connect {server}` asks again")),
            Self::Unreachable(_) => Some("it is tried again with the next call".into()),
            Self::Key(_) => Some("look at `secret.key` in the home folder and at YESGATE_SECRET_KEY".into()),
            Self::TokenRefused
            | Self::Forbidden
            | Self::Unacceptable(_)
            | Self::Settings(_)
            | Self::Ledger(_)
            | Self::Ourselves(_) => None,
        }
    }

    /// What an agent may be told: no address, no path, nothing that a peer wrote.
    pub const fn public_reason(&self) -> &'static str {
        match self {
            Self::NeedsPerson(Need::Scopes(_)) => "the operator must grant the gateway more at this server",
            Self::NeedsPerson(Need::First | Need::Again | Need::OtherIssuer { .. }) => {
                "the operator must sign the gateway in to this server"
            }
            Self::Forbidden | Self::TokenRefused => "the server refuses the gateway's account",
            Self::Unreachable(_) => "the gateway cannot renew its sign-in to this server now",
            Self::Unacceptable(_)
            | Self::Denied(_)
            | Self::NotOurs
            | Self::Settings(_)
            | Self::Sealed
            | Self::Key(_)
            | Self::Ledger(_)
            | Self::Ourselves(_) => "the gateway cannot sign in to this server",
        }
    }

    /// Whether the same may work a little later, without anybody doing anything.
    pub const fn may_pass(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::Ledger(_) => true,
            Self::NeedsPerson(_)
            | Self::Forbidden
            | Self::TokenRefused
            | Self::Unacceptable(_)
            | Self::Denied(_)
            | Self::NotOurs
            | Self::Settings(_)
            | Self::Sealed
            | Self::Key(_)
            | Self::Ourselves(_) => false,
        }
    }
}

/// What a peer said, as one short line of plain letters.
pub(super) fn said(text: &str) -> String {
    let plain = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut line: String = plain.take(LONGEST_SAID).collect();
    if text.chars().nth(LONGEST_SAID).is_some() {
        line.push('…');
    }
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Enough for a sentence and an address.
const LONGEST_SAID: usize = 300;
