//! Addresses that an operator writes: URLs of servers, origins of browsers, values of `Host`.
//!
//! Only a plain subset of URLs is taken: what every parser that later sees the text reads alike.
//! No user or password, no fragment, no `.` or `..` between slashes, no host that is a number in
//! disguise (`2130706433`, `0x7f.1`), nothing but ASCII.
//!
//! INVARIANT: what an error says never repeats the text, which may hold a password.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// The URL of something that speaks HTTP.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct HttpUrl {
    text: String,
    origin: Origin,
}

/// Scheme, host and port, in the form in which browsers write them.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Origin {
    scheme: Scheme,
    authority: Authority,
}

/// How HTTP is carried.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Scheme {
    /// In the clear.
    Http,
    /// Over TLS.
    Https,
}

/// A host and perhaps a port, in lower case, as in the header `Host`.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Authority {
    host: String,
    port: Option<u16>,
}

/// Why a text is no address.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum AddressError {
    /// It does not begin with a scheme that we speak.
    #[error("it begins with neither `https://` nor `http://`")]
    Scheme,
    /// It is a URL where a host belongs.
    #[error("it is more than a host and a port")]
    NotAHost,
    /// It is a URL where an origin belongs.
    #[error("it is more than a scheme, a host and a port")]
    NotAnOrigin,
    /// It has something in front of an `@`.
    #[error("it holds a user name or a password")]
    UserInfo,
    /// The host is missing or malformed.
    #[error("it names no valid host")]
    Host,
    /// The port is no port.
    #[error("its port is not 1 to 65535")]
    Port,
    /// It has a part that never leaves the client.
    #[error("it has a fragment, the part behind `#`")]
    Fragment,
    /// Its path steps about.
    #[error("its path has a `.` or `..` between slashes")]
    DotSegment,
    /// It has a character that cannot stand there.
    #[error("it has a character that cannot stand in a URL")]
    Character,
    /// It has letters outside ASCII.
    #[error("it has a character outside ASCII")]
    NotAscii,
    /// It is too long.
    #[error("it is longer than 2048 bytes")]
    Long,
}

impl AddressError {
    /// What to do about it.
    pub const fn hint(self) -> &'static str {
        match self {
            Self::Scheme => "write it like \"https://gate.example.org\"",
            Self::NotAHost => "write it like \"gate.example.org\" or \"gate.example.org:8787\"",
            Self::NotAnOrigin => "write it like \"https://gate.example.org\", without a path",
            Self::UserInfo => "leave it out; a secret for a server goes into its `headers`, as `${NAME}`",
            Self::Host => "a name, an IPv4 address in four parts, or an IPv6 address in brackets",
            Self::Port => "leave it out for the usual one",
            Self::Fragment => "leave it out",
            Self::DotSegment => "write the path that is meant",
            Self::Character => "write it as `%` and two digits; `${NAME}` cannot stand here",
            Self::NotAscii => "write a host in its `xn--` form, and other letters as `%` and two digits",
            Self::Long => "use a shorter one",
        }
    }
}

impl HttpUrl {
    /// The URL as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The part that says whom it leads to.
    pub const fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Whether there is more than an origin: `https://host/path`, where the path is not just `/`.
    pub(super) fn has_path(&self) -> bool {
        let (_, rest) = self.text.split_once("://").unwrap_or_default();
        rest.split_once('/').is_some_and(|(_, path)| !path.is_empty())
    }
}

impl FromStr for HttpUrl {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let (origin, tail) = split(text)?;
        if tail.contains('#') {
            return Err(AddressError::Fragment);
        }
        if !is_plain(tail) {
            return Err(AddressError::Character);
        }
        let path = tail.split('?').next().unwrap_or_default().to_ascii_lowercase().replace("%2e", ".");
        if path.split('/').any(|segment| segment == "." || segment == "..") {
            return Err(AddressError::DotSegment);
        }
        Ok(Self { text: text.to_owned(), origin })
    }
}

impl fmt::Display for HttpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Origin {
    /// How it is carried.
    pub const fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The host, and the port unless it is the scheme's own.
    pub const fn authority(&self) -> &Authority {
        &self.authority
    }
}

impl FromStr for Origin {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        match split(text)? {
            (origin, "" | "/") => Ok(origin),
            (_, _) => Err(AddressError::NotAnOrigin),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.authority)
    }
}

impl Scheme {
    const fn own_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Http => "http",
            Self::Https => "https",
        })
    }
}

impl Authority {
    /// The host in lower case; an IPv6 address stands in brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, if one was written.
    pub const fn port(&self) -> Option<u16> {
        self.port
    }

    /// Whether it can only be this very machine. A name such as `x.localhost` may lead elsewhere.
    pub fn is_loopback(&self) -> bool {
        self.host == "localhost"
            || self.host == "[::1]"
            || self.host.parse().is_ok_and(|address: Ipv4Addr| address.is_loopback())
    }
}

impl FromStr for Authority {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        if !text.is_ascii() {
            return Err(AddressError::NotAscii);
        }
        if text.contains('@') {
            return Err(AddressError::UserInfo);
        }
        if text.contains(['/', '?', '#']) {
            return Err(AddressError::NotAHost);
        }
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (address, after) = rest.split_once(']').ok_or(AddressError::Host)?;
                let address: Ipv6Addr = address.parse().map_err(|_| AddressError::Host)?;
                let port = match after {
                    "" => None,
                    _ => Some(after.strip_prefix(':').ok_or(AddressError::Host)?),
                };
                (format!("[{address}]"), port)
            }
            None => match text.split_once(':') {
                Some((host, port)) => (name(host)?, Some(port)),
                None => (name(text)?, None),
            },
        };
        Ok(Self { host, port: port.map(parse_port).transpose()? })
    }
}

impl fmt::Display for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.host)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// Takes a URL apart: its origin, and the rest from the first `/`, `?` or `#`.
fn split(text: &str) -> Result<(Origin, &str), AddressError> {
    if text.len() > LONGEST {
        return Err(AddressError::Long);
    }
    if !text.is_ascii() {
        return Err(AddressError::NotAscii);
    }
    let (scheme, rest) = match (text.strip_prefix("https://"), text.strip_prefix("http://")) {
        (Some(rest), _) => (Scheme::Https, rest),
        (None, Some(rest)) => (Scheme::Http, rest),
        (None, None) => return Err(AddressError::Scheme),
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let tail = rest.strip_prefix(authority).unwrap_or_default();
    let mut authority: Authority = authority.parse()?;
    authority.port = authority.port.filter(|port| *port != scheme.own_port());
    Ok((Origin { scheme, authority }, tail))
}

/// A host that is a name or an IPv4 address, in lower case.
fn name(text: &str) -> Result<String, AddressError> {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    };
    let host = text.to_ascii_lowercase();
    let last = host.rsplit('.').next().unwrap_or_default();
    // What ends in a number is an address to some resolvers, however it is written.
    let is_number = last.starts_with("0x") || last.bytes().all(|byte| byte.is_ascii_digit());
    let is_sound = if is_number { host.parse::<Ipv4Addr>().is_ok() } else { host.split('.').all(is_label) };
    if is_sound && host.len() <= 253 { Ok(host) } else { Err(AddressError::Host) }
}

fn parse_port(text: &str) -> Result<u16, AddressError> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port| is_number && *port > 0).ok_or(AddressError::Port)
}

/// Whether a path and query hold only what RFC 3986 §3.3 and §3.4 let them.
fn is_plain(tail: &str) -> bool {
    let mut escapes = tail.split('%');
    let first = escapes.next().unwrap_or_default();
    let is_allowed = |text: &str| {
        text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/?".contains(&byte))
    };
    is_allowed(first)
        && escapes.all(|part| {
            let digits = part.bytes().take(2).filter(u8::is_ascii_hexdigit).count();
            digits == 2 && is_allowed(part)
        })
}

/// Longer ones are cut or refused by much that stands between.
const LONGEST: usize = 2048;

#[cfg(test)]
mod tests;
