//! `[sign_in]`: who else says who people are.
//!
//! INVARIANT: the secret is a variable, never a text. What says who somebody is travels over TLS, or stays on this machine.
//! Nobody becomes an owner because a provider knows them.

use std::collections::BTreeMap;

use super::super::error::ConfigError;
use super::super::reader::{Entry, shown};
use super::super::{OIDC_KEYS, SIGN_IN_KEYS};
use super::address::{HttpUrl, Scheme};
use super::remote::parse_url;
use super::server::parse_template;
use super::variables::Template;
use crate::id::{OrgId, PrincipalId};
use crate::person::{MailAddress, Role};

/// A provider of OpenID Connect that people of one organisation sign in by way of.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OidcConfig {
    /// Its issuer, word for word.
    pub issuer: HttpUrl,
    /// Who the gateway is there.
    pub client_id: String,
    /// Its secret there, if it has one: always a variable.
    pub client_secret: Option<Template>,
    /// What people call it.
    pub name: String,
    /// Whose people come this way.
    pub org: OrgId,
    /// People whom it knows by something else than their address.
    pub subjects: BTreeMap<PrincipalId, String>,
    /// Domains whose people are added when they first come, and as what.
    pub new: BTreeMap<String, Role>,
}

/// Reads `[sign_in]`.
pub(super) fn parse(entry: &Entry<'_>) -> Result<Option<OidcConfig>, ConfigError> {
    entry.section(&SIGN_IN_KEYS)?.entry("oidc").map(|oidc| parse_oidc(&oidc)).transpose()
}

fn parse_oidc(entry: &Entry<'_>) -> Result<OidcConfig, ConfigError> {
    let section = entry.section(&OIDC_KEYS)?;
    let address = section.required("issuer")?;
    let issuer = parse_url(&address)?;
    let origin = issuer.origin();
    if origin.scheme() != Scheme::Https && !origin.authority().is_loopback() {
        return Err(address
            .error("`issuer` could be anybody: it is not reached over TLS")
            .with_hint("write https://; plain http is for this machine only"));
    }
    let client_secret = section.entry("client_secret").map(|entry| parse_secret(&entry)).transpose()?;
    let org = match section.entry("org") {
        Some(org) => org.text()?.parse().map_err(|_| org.error("`org` is no organisation"))?,
        None => "local".parse().map_err(|_| section.error("there is no organisation `local`"))?,
    };
    Ok(OidcConfig {
        client_id: section.required("client_id")?.line()?.to_owned(),
        client_secret,
        name: match section.entry("name") {
            Some(name) => name.line()?.to_owned(),
            None => origin.authority().host().to_owned(),
        },
        issuer,
        org,
        subjects: section.entry("subjects").map_or_else(|| Ok(BTreeMap::new()), |table| subjects(&table))?,
        new: section.entry("new").map_or_else(|| Ok(BTreeMap::new()), |table| domains(&table))?,
    })
}

fn parse_secret(entry: &Entry<'_>) -> Result<Template, ConfigError> {
    let secret = parse_template(entry)?;
    if secret.is_reference() {
        return Ok(secret);
    }
    Err(entry
        .error("`client_secret` must be a variable")
        .with_hint("write \"${NAME}\" and put the secret into the environment of the gateway"))
}

fn subjects(table: &Entry<'_>) -> Result<BTreeMap<PrincipalId, String>, ConfigError> {
    let mut subjects = BTreeMap::new();
    for entry in table.named_entries()? {
        let name = entry
            .name()
            .parse()
            .map_err(|_| entry.error(format!("`{}` is no name of a person", shown(entry.name()))))?;
        let subject = entry.line()?.to_owned();
        if subjects.values().any(|other| *other == subject) {
            return Err(entry.error("two people have the same subject").with_hint("leave one out"));
        }
        subjects.insert(name, subject);
    }
    Ok(subjects)
}

fn domains(table: &Entry<'_>) -> Result<BTreeMap<String, Role>, ConfigError> {
    let mut domains = BTreeMap::new();
    for entry in table.named_entries()? {
        // What is the end of no address is no domain.
        if format!("a@{}", entry.name()).parse::<MailAddress>().is_err() {
            return Err(entry.error(format!("`{}` is no domain", shown(entry.name()))));
        }
        let role = entry.word(&[("viewer", Role::Viewer), ("approver", Role::Approver)])?;
        domains.insert(entry.name().to_ascii_lowercase(), role);
    }
    Ok(domains)
}
