//! Who may speak to us as far as the request's own head tells: the name it came for and the page it came
//! from. It stops web pages, not programs: a program writes what it likes into these headers.
//!
//! INVARIANTS:
//! - A request passes only with a name of ours in every place where it states one. That is what stops a
//!   foreign name that was pointed at our address (DNS rebinding).
//! - A request that names a page it comes from passes only if that page is ours or was allowed. What a
//!   browser calls cross-site and does not explain further does not pass.
//! - Names are compared as they are written, but for the case of letters: no lookups, no final dots, no
//!   other spellings of an address.

use std::net::{Ipv6Addr, SocketAddr};

use http::header::{CONTENT_ENCODING, HOST, HeaderName, HeaderValue, ORIGIN};
use http::request::Parts;
use http::{HeaderMap, Method, Response, StatusCode};

use super::body::{Body, plain};

#[cfg(test)]
mod tests;

/// Says why a request was refused at the edge.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Refused {
    /// There is not exactly one well-formed `Host`.
    #[error("there must be exactly one valid host header")]
    BadHost,
    /// It came for a name that is not ours.
    #[error("this host name is not served here")]
    ForeignHost,
    /// The target is a form that only a proxy serves.
    #[error("this request target is not served here")]
    Target,
    /// It came from a page that was not allowed.
    #[error("this origin is not allowed")]
    Origin,
    /// A browser says that it came from another site, and does not say which.
    #[error("requests from other sites are not allowed")]
    CrossSite,
    /// Its body is compressed.
    #[error("compressed bodies are not accepted")]
    Encoded,
}

impl Refused {
    /// The HTTP status that says the same.
    pub const fn status(self) -> StatusCode {
        match self {
            Self::BadHost | Self::Target => StatusCode::BAD_REQUEST,
            Self::ForeignHost | Self::Origin | Self::CrossSite => StatusCode::FORBIDDEN,
            Self::Encoded => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        }
    }

    /// The whole answer.
    pub fn response(self) -> Response<Body> {
        plain(self.status(), self)
    }
}

/// Says why the configured names cannot be used.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum GuardError {
    /// It is no host with or without a port.
    #[error("`{}` is not a host name, nor a host name with a port", .0.escape_debug())]
    Name(String),
    /// It is no origin.
    #[error("`{}` is not an origin such as `https://app.example.com`", .0.escape_debug())]
    Origin(String),
}

/// Knows our names and the pages that may speak to us.
#[derive(Clone, Debug)]
pub struct Guard {
    names: Vec<(String, Option<u16>)>,
    /// The same names as most clients write them.
    spelled: Vec<String>,
    origins: Vec<(String, String, Option<u16>)>,
}

/// A request that the guard let pass, and the page that it came from, if any.
#[derive(Clone, Debug)]
pub struct Admitted {
    pub(super) origin: Option<HeaderValue>,
}

impl Guard {
    /// Allows `own` names, their `https` origins, and `origins`.
    ///
    /// A name without a port stands for itself and for itself with the port of `bound`. When `bound` is a
    /// loopback address, `localhost`, `127.0.0.1` and `[::1]` are names of ours too, and their `http`
    /// origins with the same port are allowed. A plain `http` origin of another name has to be given in
    /// `origins`: whoever sits on the wire can write such pages.
    pub fn new<N: AsRef<str>, O: AsRef<str>>(
        bound: SocketAddr,
        own: &[N],
        origins: &[O],
    ) -> Result<Self, GuardError> {
        let mut guard = Self { names: Vec::new(), spelled: Vec::new(), origins: Vec::new() };
        for text in own.iter().map(AsRef::as_ref) {
            let name = Authority::parse(text).ok_or_else(|| GuardError::Name(text.to_owned()))?;
            guard.own(name, "https", bound.port());
        }
        if bound.ip().to_canonical().is_loopback() {
            for host in LOOPBACK_NAMES {
                guard.names.push((host.to_owned(), None));
                guard.own(Authority { host, port: Some(bound.port()) }, "http", bound.port());
            }
        }
        for text in origins.iter().map(AsRef::as_ref) {
            let origin = Origin::parse(text).ok_or_else(|| GuardError::Origin(text.to_owned()))?;
            guard.allow(origin);
        }
        let spell = |(host, port): &(String, Option<u16>)| match port {
            Some(port) => format!("{host}:{port}"),
            None => host.clone(),
        };
        guard.spelled = guard.names.iter().map(spell).collect();
        Ok(guard)
    }

    /// Lets a request pass, or says why not.
    pub fn check(&self, parts: &Parts) -> Result<Admitted, Refused> {
        self.admit(parts, Links::Refused)
    }

    /// Lets a request for a page pass, or says why not. Unlike a call, a page may be opened by a link on
    /// another site, or by a redirect from one, as a sign-in ends.
    pub fn check_page(&self, parts: &Parts) -> Result<Admitted, Refused> {
        self.admit(parts, Links::Followed)
    }

    /// Lets a request pass to what every page and program may call, or says why not: only the name it came for is looked at.
    /// There must be nothing behind it that a browser's own credentials open.
    pub fn check_open(&self, parts: &Parts) -> Result<(), Refused> {
        self.check_name(parts)?;
        check_encoding(parts)
    }

    fn check_name(&self, parts: &Parts) -> Result<(), Refused> {
        let host = single(&parts.headers, &HOST).ok_or(Refused::BadHost)?;
        if !self.spelled.iter().any(|name| name.as_bytes() == host.as_bytes()) {
            let host = host.to_str().ok().and_then(Authority::parse).ok_or(Refused::BadHost)?;
            if !self.is_own(host) {
                return Err(Refused::ForeignHost);
            }
        }
        if let Some(target) = parts.uri.authority() {
            if parts.method == Method::CONNECT || parts.uri.scheme().is_none() {
                return Err(Refused::Target);
            }
            let target = Authority::parse(target.as_str()).ok_or(Refused::Target)?;
            if !self.is_own(target) {
                return Err(Refused::ForeignHost);
            }
        }
        Ok(())
    }

    fn admit(&self, parts: &Parts, links: Links) -> Result<Admitted, Refused> {
        self.check_name(parts)?;
        let origin = if parts.headers.contains_key(ORIGIN) {
            let value = single(&parts.headers, &ORIGIN).ok_or(Refused::Origin)?;
            let origin = value.to_str().ok().and_then(Origin::parse).ok_or(Refused::Origin)?;
            if !self.is_allowed(origin) {
                return Err(Refused::Origin);
            }
            Some(value.clone())
        } else {
            if says(&parts.headers, &SEC_FETCH_SITE, "cross-site") && !links.allow(parts) {
                return Err(Refused::CrossSite);
            }
            None
        };
        check_encoding(parts)?;
        Ok(Admitted { origin })
    }

    /// Makes a name ours, and its pages too.
    fn own(&mut self, name: Authority<'_>, scheme: &str, bound_port: u16) {
        let ports = match name.port {
            Some(port) => [Some(port), None].into_iter().take(1),
            None => [None, Some(bound_port)].into_iter().take(2),
        };
        for port in ports {
            self.names.push((name.host.to_ascii_lowercase(), port));
            self.allow(Origin { scheme, authority: Authority { host: name.host, port } });
        }
    }

    fn allow(&mut self, origin: Origin<'_>) {
        let Origin { scheme, authority } = origin;
        let (scheme, host) = (scheme.to_ascii_lowercase(), authority.host.to_ascii_lowercase());
        self.origins.push((scheme, host, origin.port()));
    }

    fn is_own(&self, name: Authority<'_>) -> bool {
        self.names.iter().any(|(host, port)| name.host.eq_ignore_ascii_case(host) && name.port == *port)
    }

    fn is_allowed(&self, origin: Origin<'_>) -> bool {
        self.origins.iter().any(|(scheme, host, port)| {
            origin.scheme.eq_ignore_ascii_case(scheme)
                && origin.authority.host.eq_ignore_ascii_case(host)
                && origin.port() == *port
        })
    }
}

fn check_encoding(parts: &Parts) -> Result<(), Refused> {
    let mut encodings = parts.headers.get_all(CONTENT_ENCODING).into_iter();
    let is_plain = encodings.all(|encoding| encoding.as_bytes().eq_ignore_ascii_case(b"identity"));
    if is_plain { Ok(()) } else { Err(Refused::Encoded) }
}

/// The names that every machine has for itself.
const LOOPBACK_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// What a browser says about where a request comes from; pages cannot set it.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// Whether a link on another site may lead here.
#[derive(Clone, Copy, Debug)]
enum Links {
    Refused,
    Followed,
}

impl Links {
    fn allow(self, parts: &Parts) -> bool {
        match self {
            Self::Refused => false,
            Self::Followed => {
                [Method::GET, Method::HEAD].contains(&parts.method)
                    && says(&parts.headers, &SEC_FETCH_MODE, "navigate")
                    && says(&parts.headers, &SEC_FETCH_DEST, "document")
            }
        }
    }
}

/// A host as it is written, with or without a port.
#[derive(Clone, Copy, Debug)]
struct Authority<'a> {
    host: &'a str,
    port: Option<u16>,
}

impl<'a> Authority<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let (host, port) = match text.rsplit_once(':') {
            // The last colon of an IPv6 address in brackets is no separator.
            Some((_, rest)) if rest.ends_with(']') => (text, None),
            Some((host, port)) => (host, Some(parse_port(port)?)),
            None => (text, None),
        };
        let is_ipv6 = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'))
            .is_some_and(|host| host.parse::<Ipv6Addr>().is_ok());
        (is_ipv6 || is_name(host)).then_some(Self { host, port })
    }
}

fn parse_port(text: &str) -> Option<u16> {
    // Rust's own numbers may begin with a plus.
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

fn is_name(host: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    };
    host.len() <= 253 && host.split('.').all(is_label)
}

/// The page that a request comes from, as browsers write it (RFC 6454 §6.2).
#[derive(Clone, Copy, Debug)]
struct Origin<'a> {
    scheme: &'a str,
    authority: Authority<'a>,
}

impl<'a> Origin<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let (scheme, authority) = text.split_once("://")?;
        let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
        is_scheme.then_some(Self { scheme, authority: Authority::parse(authority)? })
    }

    /// The port, also when it goes without saying.
    fn port(self) -> Option<u16> {
        let usual = if self.scheme.eq_ignore_ascii_case("https") {
            Some(443)
        } else if self.scheme.eq_ignore_ascii_case("http") {
            Some(80)
        } else {
            None
        };
        self.authority.port.or(usual)
    }
}

/// The value of a header that is there once.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a HeaderValue> {
    let mut all = headers.get_all(name).into_iter();
    all.next().filter(|_| all.next().is_none())
}

/// Whether any header of that name has that value.
fn says(headers: &HeaderMap, name: &HeaderName, value: &str) -> bool {
    headers.get_all(name).into_iter().any(|header| header.as_bytes().eq_ignore_ascii_case(value.as_bytes()))
}
