//! Where an answer goes, as people are told it: the whole host, and what kind of place it is.

use std::net::Ipv4Addr;

use yesgate_core::render::Sanitized;

/// Where an answer goes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Redirect {
    /// The host with its port, or the scheme of an app.
    pub(crate) place: Sanitized,
    /// The whole address.
    pub(crate) whole: Sanitized,
    pub(crate) leads: Leads,
}

/// What kind of place that is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Leads {
    /// A site on the web.
    Site,
    /// A program on the visitor's own computer, whichever has the port.
    ThisComputer,
    /// An app on the visitor's own device, whichever has taken the scheme.
    App,
}

impl Redirect {
    pub(crate) fn of(uri: &str) -> Self {
        let (scheme, rest) = uri.split_once(':').unwrap_or(("", uri));
        let authority = rest.strip_prefix("//").and_then(|rest| rest.split(['/', '?', '#']).next());
        let is_web = ["http", "https"].iter().any(|web| scheme.eq_ignore_ascii_case(web));
        let (place, leads) = match authority {
            Some(authority) if is_web && is_loopback(authority) => {
                (authority.to_owned(), Leads::ThisComputer)
            }
            Some(authority) if is_web => (authority.to_owned(), Leads::Site),
            Some(_) | None => (format!("{scheme}:"), Leads::App),
        };
        Self { place: Sanitized::line(&place), whole: Sanitized::line(uri), leads }
    }
}

fn is_loopback(authority: &str) -> bool {
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        Some(_) | None => authority,
    };
    host.eq_ignore_ascii_case("localhost")
        || host == "[::1]"
        || host.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::{Leads, Redirect};

    /// O-K2, O-C6: people are told the whole host, and whether it is their own machine.
    #[test]
    fn people_are_told_where_an_answer_goes() {
        for (uri, place, leads) in [
            ("http://127.0.0.1:33418/callback", "127.0.0.1:33418", Leads::ThisComputer),
            ("http://localhost/callback?x=1", "localhost", Leads::ThisComputer),
            ("http://[::1]:8080", "[::1]:8080", Leads::ThisComputer),
            ("https://claude.ai/api/mcp/auth_callback", "claude.ai", Leads::Site),
            ("https://127.0.0.1.evil.example/", "127.0.0.1.evil.example", Leads::Site),
            ("https://localhost.evil.example:8443/x", "localhost.evil.example:8443", Leads::Site),
            ("cursor://anysphere.cursor-mcp/oauth", "cursor:", Leads::App),
            ("com.example.app:/callback", "com.example.app:", Leads::App),
        ] {
            let told = Redirect::of(uri);
            assert_eq!((told.place.as_str(), told.whole.as_str(), told.leads), (place, uri, leads), "{uri}");
        }
    }
}
