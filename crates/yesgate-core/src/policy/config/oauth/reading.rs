//! Reads `[oauth]`.
//!
//! INVARIANT: a secret is a variable, never a text. Where clients are connected, the address that they know us by is reached
//! over TLS or is this machine's, and stands in the configuration as they compare it: letter by letter.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::super::super::error::ConfigError;
use super::super::super::reader::{Entry, Form, Section, shown};
use super::super::super::{
    DOCUMENT_KEYS, EXTERNAL_KEYS, KNOWN_CLIENT_KEYS, OAUTH_KEYS, OAUTH_LIMIT_KEYS, OAUTH_TIME_KEYS,
    SERVE_KEYS,
};
use super::super::address::{Authority, HttpUrl, Scheme};
use super::super::remote::parse_url;
use super::super::serve::ServeConfig;
use super::super::server::{parse_folder, parse_template};
use super::super::variables::Template;
use super::{
    DocumentHosts, Documents, ExternalIssuer, KnownClient, OAuthConfig, OAuthLimits, OAuthTimes,
    Registration, scopes,
};
use crate::oauth::{AuthMethod, OAuthClientId};

impl OAuthConfig {
    /// Reads `[oauth]`.
    pub(in crate::policy) fn parse(entry: &Entry<'_>) -> Result<Self, ConfigError> {
        let section = entry.section(&OAUTH_KEYS)?;
        let mut oauth = Self::default();
        if let Some(enabled) = section.entry("enabled") {
            oauth.enabled = Some(enabled.boolean()?);
        }
        if let Some(registration) = section.entry("registration") {
            oauth.registration = parse_registration(&registration)?;
        }
        if let Some(schemes) = section.entry("schemes") {
            oauth.schemes = schemes.distinct(parse_scheme)?;
        }
        if let Some(documents) = section.entry("documents") {
            oauth.documents = parse_documents(&documents)?;
        }
        if let Some(times) = section.entry("times") {
            oauth.times = parse_times(&times.section(&OAUTH_TIME_KEYS)?)?;
        }
        if let Some(limits) = section.entry("limits") {
            oauth.limits = parse_limits(&limits.section(&OAUTH_LIMIT_KEYS)?)?;
        }
        if let Some(table) = section.entry("scopes") {
            oauth.scopes = scopes::parse(&table)?;
        }
        if let Some(clients) = section.entry("clients") {
            oauth.clients = parse_clients(&clients)?;
        }
        if let Some(external) = section.entry("external") {
            oauth.external = Some(parse_external(&external)?);
        }
        Ok(oauth)
    }

    /// Whether clients of a gateway that is met like this are connected by OAuth.
    pub fn is_on(&self, serve: &ServeConfig) -> bool {
        self.enabled.unwrap_or(serve.public_url.is_some() || self.external.is_some())
    }
}

/// O-D1, O-S12: refuses an address that clients could not know us by.
pub(in crate::policy) fn refuse_issuer(
    top: &Section<'_>,
    serve: &ServeConfig,
    oauth: &OAuthConfig,
) -> Result<(), ConfigError> {
    if !oauth.is_on(serve) {
        return Ok(());
    }
    let Some(origin) = &serve.public_url else {
        let Some(entry) = top.entry("oauth").filter(|_| !serve.listen.ip().is_loopback()) else {
            return Ok(());
        };
        return Err(entry
            .error("clients are connected by OAuth, and nobody says by which address they know the gateway")
            .with_hint("set `public_url` in [serve]"));
    };
    let Some(section) = top.entry("serve").map(|serve| serve.section(&SERVE_KEYS)).transpose()? else {
        return Ok(());
    };
    let url = section.required("public_url")?;
    if origin.scheme() != Scheme::Https && !origin.authority().is_loopback() {
        return Err(url
            .error("`public_url` is no address to sign in at: it is not reached over TLS")
            .with_hint(
                "write https://; plain http is for this machine only. `enabled = false` in [oauth] leaves keys as the only way in",
            ));
    }
    let compared = origin.to_string();
    if url.text()? != compared {
        return Err(url
            .error("`public_url` is not written as clients compare it, letter by letter")
            .with_hint(format!("write \"{compared}\"")));
    }
    Ok(())
}

fn parse_registration(entry: &Entry<'_>) -> Result<Registration, ConfigError> {
    match entry.text()? {
        "open" => Ok(Registration::Open),
        "off" => Ok(Registration::Off),
        text if text.contains('$') => Ok(Registration::WithToken(parse_secret(entry)?)),
        // It may be a token that somebody wrote out.
        _ => Err(entry.error("this is not a value of `registration`").with_hint(
            "write \"open\" or \"off\", or the variable that holds the token which clients need: \"${NAME}\"",
        )),
    }
}

/// RFC 3986 §3.1. What a browser would run itself is never one.
fn parse_scheme(entry: &Entry<'_>) -> Result<String, ConfigError> {
    let text = entry.text()?;
    let scheme = text.to_ascii_lowercase();
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_lowercase())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    if !is_scheme {
        return Err(entry
            .error(format!("`{}` is no scheme of addresses", shown(text)))
            .with_hint("write what stands in front of the colon: \"acme-editor\""));
    }
    if DANGEROUS.contains(&scheme.as_str()) || ["http", "https"].contains(&scheme.as_str()) {
        return Err(entry.error(format!("`{scheme}` is no scheme of a program's own")).with_hint(
            "https is always taken, and http on the client's own machine; what a browser runs never is",
        ));
    }
    Ok(scheme)
}

fn parse_documents(entry: &Entry<'_>) -> Result<Documents, ConfigError> {
    let section = entry.section(&DOCUMENT_KEYS)?;
    let mut documents = Documents::default();
    if let Some(from) = section.entry("from") {
        documents.from = match from.form() {
            Form::List => match from.distinct(parse_host)? {
                hosts if hosts.is_empty() => DocumentHosts::Nobody,
                hosts => DocumentHosts::Only(hosts),
            },
            Form::Single | Form::Table => {
                match from.word(&[("any", Whose::Any), ("nobody", Whose::Nobody)])? {
                    Whose::Any => DocumentHosts::Any,
                    Whose::Nobody => DocumentHosts::Nobody,
                }
            }
        };
    }
    if let Some(except) = section.entry("except") {
        documents.denied = except.distinct(parse_host)?;
    }
    if let Some(file) = section.entry("authorities") {
        documents.authorities = Some(parse_folder(&file)?);
    }
    if let Some(here) = section.entry("this_machine") {
        documents.on_this_machine = here.boolean()?;
    }
    Ok(documents)
}

#[derive(Clone, Copy, Debug)]
enum Whose {
    Any,
    Nobody,
}

fn parse_host(entry: &Entry<'_>) -> Result<String, ConfigError> {
    let text = entry.text()?;
    let authority: Option<Authority> = text.parse().ok();
    authority
        .filter(|authority| authority.port().is_none())
        .map(|authority| authority.host().to_owned())
        .ok_or_else(|| {
            entry
                .error(format!("`{}` is no host", shown(text)))
                .with_hint("write the host alone: \"claude.ai\", without a scheme, a port or a path")
        })
}

fn parse_times(section: &Section<'_>) -> Result<OAuthTimes, ConfigError> {
    let mut times = OAuthTimes::default();
    for (key, time, most) in [
        ("code", &mut times.code, Some((SignedDuration::from_mins(10), "10m"))),
        ("access", &mut times.access, Some((SignedDuration::from_hours(24), "24h"))),
        ("refresh", &mut times.refresh, None),
        ("unbound", &mut times.unbound, None),
        ("unused", &mut times.unused, None),
        ("fresh", &mut times.fresh, None),
    ] {
        let Some(entry) = section.entry(key) else { continue };
        *time = entry.lasting()?;
        if let Some((_, words)) = most.filter(|(most, _)| *time > *most) {
            return Err(entry.error(format!("`{key}` can be {words} at most")));
        }
    }
    if let Some(entry) = section.entry("retry") {
        times.retry = parse_retry(&entry)?;
    }
    if let Some(entry) = section.entry("longest") {
        times.longest = Some(entry.lasting()?);
    }
    if times.refresh < times.access {
        let culprit = ["refresh", "access"].into_iter().find_map(|key| section.entry(key));
        let words = "`refresh` must not be shorter than `access`";
        return Err(culprit.map_or_else(|| section.error(words), |entry| entry.error(words)));
    }
    // O-R7: else clients come back with an id that nobody knows.
    if times.unused < times.refresh {
        let culprit = ["unused", "refresh"].into_iter().find_map(|key| section.entry(key));
        let words =
            "a registration would be forgotten while its tokens count: `unused` is shorter than `refresh`";
        return Err(culprit.map_or_else(|| section.error(words), |entry| entry.error(words)));
    }
    Ok(times)
}

fn parse_retry(entry: &Entry<'_>) -> Result<SignedDuration, ConfigError> {
    let retry = entry.duration_or_none()?;
    // O-F3: longer, and a stolen token would be good for that long beside its successor.
    if retry > SignedDuration::from_mins(30) {
        return Err(entry.error("`retry` can be 30m at most"));
    }
    Ok(retry)
}

fn parse_limits(section: &Section<'_>) -> Result<OAuthLimits, ConfigError> {
    let mut limits = OAuthLimits::default();
    for (key, limit) in [
        ("unbound", &mut limits.unbound),
        ("unbound_per_address", &mut limits.unbound_per_address),
        ("parked", &mut limits.parked),
        ("devices", &mut limits.devices),
        ("register_per_minute", &mut limits.register_per_minute),
        ("token_per_minute", &mut limits.token_per_minute),
        ("token_per_address", &mut limits.token_per_address),
        ("authorize_per_address", &mut limits.authorize_per_address),
    ] {
        let Some(entry) = section.entry(key) else { continue };
        *limit = u32::try_from(entry.count()?).ok().filter(|count| *count > 0).ok_or_else(|| {
            entry
                .error(format!("`{key}` must be 1 or more"))
                .with_hint("`registration = \"off\"` and `enabled = false` switch things off; there is no \"without limit\"")
        })?;
    }
    Ok(limits)
}

fn parse_clients(table: &Entry<'_>) -> Result<BTreeMap<String, KnownClient>, ConfigError> {
    let mut clients = BTreeMap::new();
    for entry in table.named_entries()? {
        let id = entry.name();
        let is_ours = id.starts_with(OAuthClientId::PREFIX) || id.contains("://");
        if is_ours || id.parse::<OAuthClientId>().is_err() {
            return Err(entry.error(format!("`{}` can be no id of a client", shown(id))).with_hint(
                "visible ASCII characters; what begins with `client_` is made by the gateway, and addresses name documents",
            ));
        }
        clients.insert(id.to_owned(), parse_client(&entry)?);
    }
    Ok(clients)
}

fn parse_client(entry: &Entry<'_>) -> Result<KnownClient, ConfigError> {
    let section = entry.section(&KNOWN_CLIENT_KEYS)?;
    let secret = section.entry("secret").map(|secret| parse_secret(&secret)).transpose()?;
    let usual = match secret {
        Some(_) => AuthMethod::ClientSecretBasic,
        None => AuthMethod::None,
    };
    let method = match section.entry("method") {
        Some(method) => method.word(&AuthMethod::ALL.map(|method| (method.as_str(), method)))?,
        None => usual,
    };
    match (method, &secret) {
        (AuthMethod::None, Some(_)) => {
            return Err(section.required("secret")?.error("`secret` has no effect with the method `none`"));
        }
        (AuthMethod::ClientSecretBasic | AuthMethod::ClientSecretPost, None) => {
            return Err(section
                .required("method")?
                .error(format!("the method `{}` needs a `secret`", method.as_str())));
        }
        (AuthMethod::None, None)
        | (AuthMethod::ClientSecretBasic | AuthMethod::ClientSecretPost, Some(_)) => {}
    }
    let introspects = match section.entry("introspects") {
        Some(introspects) => introspects.boolean()?,
        None => false,
    };
    if introspects && secret.is_none() {
        return Err(section
            .required("introspects")?
            .error("only a client with a `secret` may ask about tokens"));
    }
    let redirect_uris = match section.entry("redirect_uris") {
        Some(uris) => uris.distinct(parse_redirect)?,
        None => Vec::new(),
    };
    let name = match section.entry("name") {
        Some(name) => name.line()?.to_owned(),
        None => entry.name().to_owned(),
    };
    let retry = section.entry("retry").map(|retry| parse_retry(&retry)).transpose()?;
    Ok(KnownClient { name, redirect_uris, method, secret, introspects, retry })
}

/// O-R4: where a browser may bring a code.
fn parse_redirect(entry: &Entry<'_>) -> Result<String, ConfigError> {
    let text = entry.text()?;
    let wrong = |words: &str| entry.error(format!("`{}` cannot get a code: {words}", shown(text)));
    let is_plain = text.len() <= 2048
        && text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\\#*<>\"".contains(&byte));
    let Some((scheme, _)) = text.split_once(':').filter(|_| is_plain) else {
        return Err(wrong("it is no absolute address without a fragment"));
    };
    match scheme.to_ascii_lowercase().as_str() {
        "https" | "http" => {
            let url = parse_url(entry)?;
            let origin = url.origin();
            if origin.scheme() != Scheme::Https && !origin.authority().is_loopback() {
                return Err(wrong("plain http is for the client's own machine"));
            }
        }
        scheme if DANGEROUS.contains(&scheme) => return Err(wrong("a browser would run it")),
        _ => {}
    }
    Ok(text.to_owned())
}

fn parse_external(entry: &Entry<'_>) -> Result<ExternalIssuer, ConfigError> {
    let section = entry.section(&EXTERNAL_KEYS)?;
    let issuer = safe_url(&section.required("issuer")?)?;
    let keys = section.entry("keys").map(|keys| safe_url(&keys)).transpose()?;
    let org = match section.entry("org") {
        Some(org) => org.text()?.parse().map_err(|_| org.error("`org` is no organisation"))?,
        None => "local".parse().map_err(|_| section.error("there is no organisation `local`"))?,
    };
    let user = match section.entry("user") {
        Some(user) => user.line()?.to_owned(),
        None => "sub".to_owned(),
    };
    let client = match section.entry("client") {
        Some(client) => client.names::<String>()?,
        None => vec!["client_id".to_owned(), "azp".to_owned()],
    };
    Ok(ExternalIssuer { issuer, keys, org, user, client })
}

fn safe_url(entry: &Entry<'_>) -> Result<HttpUrl, ConfigError> {
    let url = parse_url(entry)?;
    if url.origin().scheme() == Scheme::Https || url.origin().authority().is_loopback() {
        return Ok(url);
    }
    Err(entry
        .error(format!("`{}` could be anybody: it is not reached over TLS", entry.name()))
        .with_hint("write https://; plain http is for this machine only"))
}

fn parse_secret(entry: &Entry<'_>) -> Result<Template, ConfigError> {
    let secret = parse_template(entry)?;
    if secret.is_reference() {
        return Ok(secret);
    }
    Err(entry
        .error(format!("`{}` must be a variable", entry.name()))
        .with_hint("write \"${NAME}\" and put the secret into the environment of the gateway"))
}

/// Schemes of addresses that a browser, or whoever opens addresses for it, runs or reads itself.
const DANGEROUS: [&str; 8] =
    ["javascript", "data", "file", "vbscript", "blob", "about", "filesystem", "view-source"];
