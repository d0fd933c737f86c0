//! Why a document makes no client, in words for the people at both ends.

use crate::redirect::RedirectFault;

/// Why a document makes no client. Nothing of it is repeated.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum DocumentFault {
    /// The id is no address that a document may have.
    #[error("the client_id is no https address with a path, on port 443, of a document")]
    Address,
    /// The operator lets no documents of that host in.
    #[error("documents of that host are not taken here")]
    Host,
    /// Too much is being fetched.
    #[error("too many documents of clients were fetched; try again in a minute")]
    TooOften,
    /// There is no way there, or none that we go.
    #[error("the server of the client's document cannot be reached")]
    Unreachable,
    /// The server there is not who it should be.
    #[error("the server of the client's document could not be trusted")]
    Tls,
    /// It took too long.
    #[error("the client's document did not come within ten seconds")]
    TooSlow,
    /// It is too large.
    #[error("the client's document is larger than five kilobytes")]
    TooLarge,
    /// The answer was another one than yes. Redirects are not followed.
    #[error("the server of the client's document answered {0} instead of 200")]
    Status(u16),
    /// It is something else.
    #[error("the client's document is not said to be application/json")]
    ContentType,
    /// It cannot be read.
    #[error("the client's document is no JSON object")]
    Unreadable,
    /// It is another client's.
    #[error("the client_id in the client's document is not the address of the document")]
    ClientId,
    /// It does not say what the client is called.
    #[error("the client's document has no usable client_name")]
    Name,
    /// It does not say where codes go.
    #[error("the client's document has no usable redirect_uris")]
    NoRedirect,
    /// One of the places where codes would go must never be one.
    #[error("the client's document cannot be used: {0}")]
    Redirect(&'static str),
    /// The client wants to prove itself in a manner that is not taken.
    #[error(
        "the client's document offers no token_endpoint_auth_method that is taken here; it has to offer `none`, with PKCE"
    )]
    Method,
    /// The document tells a secret to everybody.
    #[error("the client's document holds a secret or a private key")]
    Secret,
}

impl DocumentFault {
    /// Whether it may be over soon, with the document as it is.
    pub const fn is_passing(self) -> bool {
        match self {
            Self::TooOften | Self::Unreachable | Self::Tls | Self::TooSlow => true,
            Self::Status(status) => status >= 500 || status == 429,
            Self::Address
            | Self::Host
            | Self::TooLarge
            | Self::ContentType
            | Self::Unreadable
            | Self::ClientId
            | Self::Name
            | Self::NoRedirect
            | Self::Redirect(_)
            | Self::Method
            | Self::Secret => false,
        }
    }
}

impl From<RedirectFault> for DocumentFault {
    fn from(fault: RedirectFault) -> Self {
        Self::Redirect(match fault {
            RedirectFault::Unlisted => "a redirect_uri has a scheme that is not taken here",
            RedirectFault::Dangerous => "a redirect_uri has a scheme that browsers run or read",
            RedirectFault::Clear => "a redirect_uri with http must lead to the client's own machine",
            RedirectFault::Malformed => {
                "a redirect_uri is no absolute address without a fragment, user or wildcard"
            }
            RedirectFault::Long => "a redirect_uri is too long",
        })
    }
}
