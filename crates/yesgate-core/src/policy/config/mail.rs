//! `[mail]`: how mail leaves the gateway.
//!
//! INVARIANT: the password is a variable, never a text. Mail that holds a sign-in link travels over TLS, or stays on this
//! machine.

use std::path::PathBuf;

use super::super::MAIL_KEYS;
use super::super::error::ConfigError;
use super::super::reader::{Entry, Section};
use super::address::{AddressError, Authority};
use super::remote::address_error;
use super::server::{parse_folder, parse_template};
use super::variables::Template;
use crate::person::MailAddress;

/// How mail leaves the gateway.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct MailConfig {
    /// Whom it is from.
    pub from: MailAddress,
    /// Which way it takes.
    pub way: MailWay,
}

/// Which way mail takes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum MailWay {
    /// To a mail server.
    Smtp(SmtpConfig),
    /// Into a folder, a file for each: for development and tests.
    Folder(PathBuf),
    /// Onto the gateway's stderr: for development.
    Console,
}

/// A mail server.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SmtpConfig {
    /// Its host; an IPv6 address stands in brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// What protects the way there.
    pub carried: Carried,
    /// Who the gateway is there, where the server wants to know.
    pub login: Option<SmtpLogin>,
}

/// What protects the way to a mail server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Carried {
    /// TLS from the first byte.
    Tls,
    /// TLS before anything is said, or nothing is said.
    StartTls,
    /// Nothing: the server is on this machine.
    Plain,
}

/// Who the gateway is to a mail server.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SmtpLogin {
    /// The account.
    pub user: String,
    /// Its password: always a variable.
    pub password: Template,
}

impl MailConfig {
    /// Reads `[mail]`.
    pub(super) fn parse(entry: &Entry<'_>) -> Result<Self, ConfigError> {
        let section = entry.section(&MAIL_KEYS)?;
        let from = section.required("from")?;
        let address = from.text()?.parse().map_err(|_| {
            from.error("`from` is no mail address").with_hint("write it like \"gate@example.org\"")
        })?;
        Ok(Self { from: address, way: parse_way(&section)? })
    }
}

fn parse_way(section: &Section<'_>) -> Result<MailWay, ConfigError> {
    let via = section.required("via")?;
    let text = via.text()?;
    let way = match (text.strip_prefix("smtps://"), text.strip_prefix("smtp://"), text) {
        (Some(rest), _, _) => MailWay::Smtp(parse_smtp(section, &via, rest, Carried::Tls)?),
        (None, Some(rest), _) => MailWay::Smtp(parse_smtp(section, &via, rest, Carried::StartTls)?),
        (None, None, "console") => MailWay::Console,
        (None, None, path) if path.starts_with('/') => MailWay::Folder(parse_folder(&via)?),
        (None, None, _) => {
            return Err(via.error("`via` is no way for mail").with_hint(
                "write \"smtps://mail.example.org\"; for development \"console\", or a folder as \"/path\"",
            ));
        }
    };
    match (&way, section.entry("user").or(section.entry("password"))) {
        (MailWay::Folder(_) | MailWay::Console, Some(entry)) => {
            Err(entry.error(format!("`{}` has no effect without a mail server", entry.name())))
        }
        (MailWay::Smtp(_), _) | (MailWay::Folder(_) | MailWay::Console, None) => Ok(way),
    }
}

fn parse_smtp(
    section: &Section<'_>,
    via: &Entry<'_>,
    rest: &str,
    carried: Carried,
) -> Result<SmtpConfig, ConfigError> {
    let authority: Authority =
        rest.trim_end_matches('/').parse().map_err(|error| not_an_address(via, error))?;
    let carried = match carried {
        Carried::StartTls | Carried::Plain if authority.is_loopback() => Carried::Plain,
        Carried::StartTls | Carried::Plain => Carried::StartTls,
        Carried::Tls => Carried::Tls,
    };
    // RFC 8314 §3.3 and RFC 6409 §3.1; on this machine stands a relay.
    let usual = match carried {
        Carried::Tls => 465,
        Carried::StartTls => 587,
        Carried::Plain => 25,
    };
    let login = match (section.entry("user"), section.entry("password")) {
        (None, None) => None,
        (Some(user), Some(password)) => Some(parse_login(&user, &password)?),
        (Some(one), None) | (None, Some(one)) => {
            return Err(one.error("`user` and `password` belong together"));
        }
    };
    Ok(SmtpConfig {
        host: authority.host().to_owned(),
        port: authority.port().unwrap_or(usual),
        carried,
        login,
    })
}

fn not_an_address(via: &Entry<'_>, error: AddressError) -> ConfigError {
    let wrong = address_error(via, error);
    match error {
        AddressError::UserInfo => {
            wrong.with_hint("leave it out; `user` and `password` say who the gateway is there")
        }
        AddressError::Scheme
        | AddressError::NotAHost
        | AddressError::NotAnOrigin
        | AddressError::Host
        | AddressError::Port
        | AddressError::Fragment
        | AddressError::DotSegment
        | AddressError::Character
        | AddressError::NotAscii
        | AddressError::Long => wrong,
    }
}

fn parse_login(user: &Entry<'_>, password: &Entry<'_>) -> Result<SmtpLogin, ConfigError> {
    let secret = parse_template(password)?;
    if !secret.is_reference() {
        return Err(password
            .error("`password` must be a variable")
            .with_hint("write \"${NAME}\" and put the password into the environment of the gateway"));
    }
    Ok(SmtpLogin { user: user.line()?.to_owned(), password: secret })
}
