//! Where browsers may bring codes: which addresses a client may register, and which registered one an asked one is.
//!
//! INVARIANTS:
//! - A code goes to an address that was registered to the letter, but for the port on the client's own machine.
//! - An address that a browser would run, or read from its disk, is never one.

use std::net::{Ipv4Addr, Ipv6Addr};

#[cfg(test)]
mod tests;

/// Which private-use schemes are taken besides `https`, `http` on the client's own machine, and reversed domain names.
#[derive(Clone, Debug, Default)]
pub(crate) struct RedirectPolicy {
    schemes: Vec<String>,
}

/// What is wrong with an address.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub(crate) enum RedirectFault {
    /// It is only not among those that are taken. Others of the same client may be.
    #[error("a redirect_uri has a scheme that this gateway does not take")]
    Unlisted,
    /// A browser would run it, or read a file.
    #[error("a redirect_uri has a scheme that browsers run or read")]
    Dangerous,
    /// It leads over the network in the clear.
    #[error("a redirect_uri with http must lead to the client's own machine: localhost, 127.0.0.1 or [::1]")]
    Clear,
    /// It is no address, or one with a part that has no place there.
    #[error("a redirect_uri must be an absolute address without a fragment, a user, wildcards and spaces")]
    Malformed,
    /// It is too long.
    #[error("a redirect_uri is too long")]
    Long,
}

impl RedirectPolicy {
    /// One that takes these schemes too.
    pub(crate) fn new(more: &[String]) -> Self {
        Self { schemes: more.iter().map(|scheme| scheme.to_ascii_lowercase()).collect() }
    }

    /// O-R4: whether an address may be registered, and may be asked for.
    ///
    /// # Errors
    /// When it may not.
    pub(crate) fn judge(&self, uri: &str) -> Result<(), RedirectFault> {
        if uri.len() > LONGEST {
            return Err(RedirectFault::Long);
        }
        // Control characters and spaces first: browsers leave some out, and `java\nscript:` is what they read then.
        let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"\\#*<>\"^`{|}".contains(&byte);
        let joined: String = uri.chars().filter(|c| c.is_ascii_graphic()).collect();
        let scheme = joined.split(':').next().unwrap_or_default().to_ascii_lowercase();
        if DANGEROUS.contains(&scheme.as_str()) {
            return Err(RedirectFault::Dangerous);
        }
        if !uri.bytes().all(is_plain) {
            return Err(RedirectFault::Malformed);
        }
        let (_, rest) = uri.split_once(':').ok_or(RedirectFault::Malformed)?;
        if !is_scheme(&scheme) || rest.is_empty() {
            return Err(RedirectFault::Malformed);
        }
        if rest.split(['?', '/']).nth(2).is_some_and(|authority| authority.contains('@')) {
            return Err(RedirectFault::Malformed);
        }
        match scheme.as_str() {
            "https" => Web::read(uri).map(|_| ()).ok_or(RedirectFault::Malformed),
            "http" => match Web::read(uri).ok_or(RedirectFault::Malformed)? {
                web if web.is_loopback() => Ok(()),
                _ => Err(RedirectFault::Clear),
            },
            other => {
                let is_listed = LISTED.contains(&other) || self.schemes.iter().any(|scheme| scheme == other);
                let is_taken = is_listed || is_reversed_domain(other);
                if is_taken && rest.starts_with('/') { Ok(()) } else { Err(RedirectFault::Unlisted) }
            }
        }
    }
}

/// O-A2: whether an address that is asked for is a registered one: to the letter, but for the port on the client's own
/// machine (OAuth 2.1 §2.3.1, RFC 8252 §7.3). `localhost` and `127.0.0.1` are two hosts.
pub(crate) fn is_registered(registered: &str, asked: &str) -> bool {
    if registered == asked {
        return true;
    }
    let (Some(registered), Some(asked)) = (Web::read(registered), Web::read(asked)) else { return false };
    let is_plain = |web: &Web<'_>| web.scheme.eq_ignore_ascii_case("http") && web.is_loopback();
    is_plain(&registered)
        && is_plain(&asked)
        && registered.host.eq_ignore_ascii_case(asked.host)
        && registered.rest == asked.rest
}

/// An address of the web, in its parts as they were written.
#[derive(Debug)]
struct Web<'a> {
    scheme: &'a str,
    host: &'a str,
    rest: &'a str,
}

impl<'a> Web<'a> {
    /// Reads one; `None`: it is none, or browsers would read it in another way than we do.
    fn read(uri: &'a str) -> Option<Self> {
        let (scheme, behind) = uri.split_once("://")?;
        let end = behind.find(['/', '?']).unwrap_or(behind.len());
        let (authority, rest) = behind.split_at_checked(end)?;
        let colon = if authority.starts_with('[') {
            let bracket = authority.find(']')? + 1;
            authority
                .get(bracket..)
                .filter(|port| port.is_empty() || port.starts_with(':'))
                .map(|_| bracket)?
        } else {
            authority.find(':').unwrap_or(authority.len())
        };
        let (host, port) = authority.split_at_checked(colon)?;
        let port = port.strip_prefix(':').unwrap_or_default();
        let is_port = port.bytes().all(|byte| byte.is_ascii_digit()) && port.len() <= 5;
        let is_host = !host.is_empty() && !host.contains('@') && is_port;
        // The same host to a browser, which reads `2130706433` and `0x7f.1` as addresses.
        let read = url::Url::parse(uri).ok()?;
        let is_same = read.host_str().is_some_and(|read| read.eq_ignore_ascii_case(host));
        (is_host && is_same).then_some(Self { scheme, host, rest })
    }

    fn is_loopback(&self) -> bool {
        let bare = self.host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        self.host.eq_ignore_ascii_case("localhost")
            || self.host.parse::<Ipv4Addr>().is_ok_and(|four| four.is_loopback())
            || bare.is_some_and(|bare| bare.parse::<Ipv6Addr>().is_ok_and(|six| six.is_loopback()))
    }
}

/// RFC 3986 §3.1.
fn is_scheme(scheme: &str) -> bool {
    scheme.starts_with(|c: char| c.is_ascii_lowercase())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

/// RFC 8252 §7.1: `com.example.app`.
fn is_reversed_domain(scheme: &str) -> bool {
    scheme.contains('.') && scheme.split('.').all(|label| !label.is_empty())
}

/// The longest address that is taken.
const LONGEST: usize = 2048;
/// What browsers run or read themselves.
const DANGEROUS: [&str; 9] =
    ["javascript", "data", "file", "vbscript", "blob", "about", "filesystem", "view-source", "jar"];
/// The schemes of well-known hosts of MCP.
const LISTED: [&str; 6] = ["cursor", "vscode", "vscode-insiders", "claude", "windsurf", "jetbrains"];
