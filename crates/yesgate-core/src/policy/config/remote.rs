//! A server that is reached over HTTP: its URL, our headers, and how we sign in there.
//!
//! INVARIANT: calls and secrets travel over TLS, or stay on this machine, or the operator wrote
//! `insecure = true`. A header that the protocol lives on is the gateway's to write.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::super::error::ConfigError;
use super::super::reader::{Entry, Section, shown};
use super::address::{AddressError, HttpUrl, Scheme};
use super::server::parse_template;
use super::variables::Template;

/// A server that is reached over HTTP.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HttpPlace {
    /// Its endpoint.
    pub url: HttpUrl,
    /// What is sent with every request to it.
    pub headers: BTreeMap<HeaderName, Template>,
    /// How the gateway signs in there.
    pub auth: AuthSetting,
}

/// The name of a header, in lower case: one that the operator may set.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct HeaderName(String);

/// Why a text cannot be the name of a header here.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum HeaderNameError {
    /// It is no token (RFC 9110 §5.1).
    #[error("is not the name of a header")]
    NotAToken,
    /// The gateway or the protocol needs it.
    #[error("is a header that the gateway writes itself")]
    Ours,
}

/// How the gateway signs in to a server.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum AuthSetting {
    /// Not at all, or by `headers`.
    #[default]
    None,
    /// By OAuth, with a person's agreement that `yesgate connect` gets.
    OAuth(OAuthSetting),
}

/// What the operator says about OAuth.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OAuthSetting {
    /// The scopes to ask for; none leaves it to the server's own words.
    pub scopes: Vec<String>,
    /// Who the gateway is there.
    pub client: OAuthClient,
}

/// Who the gateway is to an authorization server.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum OAuthClient {
    /// Nobody yet: it registers by itself.
    Unregistered,
    /// A client that was registered beforehand.
    Registered {
        /// Its id.
        id: String,
        /// Its secret, if it has one: always a variable.
        secret: Option<Template>,
    },
    /// A client that a document describes, whose URL is the client's id.
    Described {
        /// The document.
        url: HttpUrl,
    },
}

impl HeaderName {
    /// The name in lower case.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for HeaderName {
    type Err = HeaderNameError;

    fn from_str(text: &str) -> Result<Self, HeaderNameError> {
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if text.is_empty() || text.len() > LONGEST_HEADER_NAME || !text.bytes().all(is_token) {
            return Err(HeaderNameError::NotAToken);
        }
        let name = text.to_ascii_lowercase();
        if name.starts_with("mcp-") || OUR_HEADERS.contains(&name.as_str()) {
            return Err(HeaderNameError::Ours);
        }
        Ok(Self(name))
    }
}

impl fmt::Display for HeaderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reads the keys of a server that has a `url`.
pub(super) fn parse(section: &Section<'_>, url: &Entry<'_>) -> Result<HttpPlace, ConfigError> {
    let place = HttpPlace {
        url: parse_url(url)?,
        headers: section
            .entry("headers")
            .map_or_else(|| Ok(BTreeMap::new()), |table| parse_headers(&table))?,
        auth: parse_auth(section)?,
    };
    refuse_in_the_clear(section, url, &place)?;
    if let (AuthSetting::OAuth(_), Some(headers)) = (&place.auth, section.entry("headers"))
        && place.headers.keys().any(|name| name.as_str() == "authorization")
    {
        return Err(headers
            .error("`Authorization` and auth = \"oauth\" exclude each other")
            .with_hint("with \"oauth\" the gateway writes that header itself"));
    }
    Ok(place)
}

/// Reads a URL; its text is not repeated in an error, for it may hold a secret.
pub(super) fn parse_url(entry: &Entry<'_>) -> Result<HttpUrl, ConfigError> {
    entry.text()?.parse().map_err(|error| address_error(entry, error))
}

/// Says why an address cannot be used.
pub(super) fn address_error(entry: &Entry<'_>, error: AddressError) -> ConfigError {
    entry.error(format!("`{}` cannot be used: {error}", entry.name())).with_hint(error.hint())
}

fn refuse_in_the_clear(section: &Section<'_>, url: &Entry<'_>, place: &HttpPlace) -> Result<(), ConfigError> {
    let insecure = section.entry("insecure");
    let is_wanted = insecure.map(|insecure| insecure.boolean()).transpose()? == Some(true);
    let origin = place.url.origin();
    let is_safe = origin.scheme() == Scheme::Https || origin.authority().is_loopback();
    match (is_safe, is_wanted, insecure, &place.auth) {
        (true, true, Some(insecure), _) => Err(insecure
            .error("`insecure` has no effect: this `url` is safe without it")
            .with_hint("leave it out")),
        (false, false, _, _) => Err(url
            .error("`url` would send calls and secrets in the clear")
            .with_hint("write https://, or insecure = true if nobody else is on the network between")),
        (false, true, _, AuthSetting::OAuth(_)) => Err(url
            .error("auth = \"oauth\" needs a `url` that begins with https://")
            .with_hint("`insecure` does not help here: a token that others can read is theirs")),
        (true, false, _, _) | (true, true, None, _) | (false, true, _, AuthSetting::None) => Ok(()),
    }
}

fn parse_headers(table: &Entry<'_>) -> Result<BTreeMap<HeaderName, Template>, ConfigError> {
    let mut headers = BTreeMap::new();
    for entry in table.named_entries()? {
        let name: HeaderName = entry.name().parse().map_err(|error: HeaderNameError| {
            let wrong = entry.error(format!("`{}` {error}", shown(entry.name())));
            match error {
                HeaderNameError::NotAToken => wrong.with_hint("letters, digits and `-`, as in `X-Team`"),
                HeaderNameError::Ours => wrong.with_hint("leave it out"),
            }
        })?;
        let value = parse_template(&entry)?;
        let text = value.unexpanded();
        let is_visible = |byte: u8| byte == b' ' || byte.is_ascii_graphic();
        if text.is_empty() || text.trim() != text || !value.words().all(|words| words.bytes().all(is_visible))
        {
            return Err(entry
                .error(format!("`{}` has no value that a header can have", shown(entry.name())))
                .with_hint("visible ASCII characters on one line, and no space at its ends"));
        }
        if headers.insert(name, value).is_some() {
            return Err(entry
                .error(format!("`{}` stands twice in `headers`", shown(entry.name())))
                .with_hint("leave one out; large and small letters count as the same"));
        }
    }
    Ok(headers)
}

fn parse_auth(section: &Section<'_>) -> Result<AuthSetting, ConfigError> {
    let is_oauth = section
        .entry("auth")
        .map(|auth| auth.word(&[("none", false), ("oauth", true)]))
        .transpose()?
        .unwrap_or_default();
    if is_oauth {
        let scopes =
            section.entry("scopes").map_or_else(|| Ok(Vec::new()), |scopes| scopes.distinct(parse_scope))?;
        return Ok(AuthSetting::OAuth(OAuthSetting { scopes, client: parse_client(section)? }));
    }
    match OAUTH_KEYS.iter().find_map(|key| section.entry(key)) {
        Some(entry) => Err(entry
            .error(format!("`{}` has no effect without auth = \"oauth\"", entry.name()))
            .with_hint("set auth = \"oauth\", or leave it out")),
        None => Ok(AuthSetting::None),
    }
}

fn parse_client(section: &Section<'_>) -> Result<OAuthClient, ConfigError> {
    let secret = section.entry("client_secret");
    match (section.entry("client_id"), section.entry("client_metadata_url")) {
        (Some(_), Some(url)) => Err(url
            .error("`client_id` and `client_metadata_url` exclude each other")
            .with_hint("a client is registered beforehand, or described by a document")),
        (Some(id), None) => Ok(OAuthClient::Registered {
            id: parse_client_id(&id)?,
            secret: secret.map(|secret| parse_secret(&secret)).transpose()?,
        }),
        (None, url) => match (secret, url) {
            (Some(secret), _) => Err(secret
                .error("`client_secret` has no effect without `client_id`")
                .with_hint("write the id that it belongs to")),
            (None, Some(url)) => Ok(OAuthClient::Described { url: parse_description(&url)? }),
            (None, None) => Ok(OAuthClient::Unregistered),
        },
    }
}

fn parse_client_id(entry: &Entry<'_>) -> Result<String, ConfigError> {
    let id = entry.line()?;
    if id.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
        Ok(id.to_owned())
    } else {
        Err(entry
            .error("`client_id` must be visible ASCII characters")
            .with_hint("copy it from where the client was registered"))
    }
}

fn parse_secret(entry: &Entry<'_>) -> Result<Template, ConfigError> {
    let secret = parse_template(entry)?;
    if secret.is_reference() {
        Ok(secret)
    } else {
        Err(entry
            .error("`client_secret` must be a variable")
            .with_hint("write \"${NAME}\" and put the secret into the environment of the gateway"))
    }
}

/// A description is fetched by the authorization server: over TLS, and its URL has a path.
fn parse_description(entry: &Entry<'_>) -> Result<HttpUrl, ConfigError> {
    let url = parse_url(entry)?;
    if url.origin().scheme() == Scheme::Https && url.has_path() {
        Ok(url)
    } else {
        Err(entry
            .error("`client_metadata_url` must begin with https:// and have a path")
            .with_hint("write it like \"https://gate.example.org/client.json\""))
    }
}

/// RFC 6749 §3.3.
fn parse_scope(entry: &Entry<'_>) -> Result<String, ConfigError> {
    let scope = entry.text()?;
    let is_allowed = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
    if !scope.is_empty() && scope.bytes().all(is_allowed) {
        Ok(scope.to_owned())
    } else {
        Err(entry
            .error(format!("`{}` is not a scope", shown(scope)))
            .with_hint("one scope is one word; write a list: [\"repo\", \"user\"]"))
    }
}

const OAUTH_KEYS: [&str; 4] = ["scopes", "client_id", "client_secret", "client_metadata_url"];

const LONGEST_HEADER_NAME: usize = 128;

/// Besides `Mcp-…`: what frames a message, what is agreed hop by hop, what the protocol needs, and
/// what would bring answers in a form that we do not read.
const OUR_HEADERS: [&str; 15] = [
    "accept",
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "last-event-id",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
