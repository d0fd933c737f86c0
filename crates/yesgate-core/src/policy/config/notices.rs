//! `[notices]`: who is told that a question waits, and what became of it.
//!
//! INVARIANT: the secret is a variable, never a text. What is told travels over TLS, or stays on this machine.

use jiff::SignedDuration;

use super::super::error::ConfigError;
use super::super::reader::{Entry, Section};
use super::super::{NOTICE_KEYS, WEBHOOK_KEYS};
use super::address::{HttpUrl, Scheme};
use super::remote::parse_url;
use super::server::parse_template;
use super::variables::Template;

/// Who is told that a question waits, and what became of it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct NoticesConfig {
    /// Whether the desktop of the account that runs the gateway shows them.
    pub desktop: Desktop,
    /// The address that gets them, where there is one.
    pub webhook: Option<WebhookConfig>,
    /// Whether people who may decide get them by mail.
    pub mail: ByMail,
    /// When people are reminded.
    pub remind: Remind,
}

/// Whether notices come by mail, to those who may decide and have an address.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum ByMail {
    /// They do.
    Told,
    /// They do not.
    #[default]
    Silent,
}

/// Whether notices are shown on the desktop.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Desktop {
    /// They are.
    Shown,
    /// They are not.
    #[default]
    Silent,
}

/// An address that is told, and the secret under which that is signed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct WebhookConfig {
    /// The address.
    pub url: HttpUrl,
    /// The secret: always a variable.
    pub secret: Template,
}

/// When people are reminded of a question that nobody has decided.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Remind {
    /// When a third of its time is left.
    #[default]
    AtAThird,
    /// When this much of its time is left; a question that had less from the start is reminded of at a third.
    Before(SignedDuration),
    /// Never.
    Never,
}

impl Remind {
    /// How long before the end of a question people are reminded of it, given how long it has in all.
    pub fn ahead(self, whole: SignedDuration) -> Option<SignedDuration> {
        match self {
            Self::Never => None,
            Self::Before(time) if time < whole => Some(time),
            Self::Before(_) | Self::AtAThird => Some(whole / 3),
        }
    }
}

impl NoticesConfig {
    /// Reads `[notices]`.
    pub(super) fn parse(entry: &Entry<'_>) -> Result<Self, ConfigError> {
        let section = entry.section(&NOTICE_KEYS)?;
        let mut notices = Self::default();
        if let Some(desktop) = section.entry("desktop") {
            notices.desktop = if desktop.boolean()? { Desktop::Shown } else { Desktop::Silent };
        }
        if let Some(webhook) = section.entry("webhook") {
            notices.webhook = Some(parse_webhook(&webhook.section(&WEBHOOK_KEYS)?)?);
        }
        if let Some(mail) = section.entry("mail") {
            notices.mail = if mail.boolean()? { ByMail::Told } else { ByMail::Silent };
        }
        if let Some(remind) = section.entry("remind") {
            notices.remind = match remind.duration_or_none()? {
                SignedDuration::ZERO => Remind::Never,
                time => Remind::Before(time),
            };
        }
        Ok(notices)
    }
}

/// Reads an address that is told something, and the secret under which that is signed.
pub(super) fn parse_webhook(section: &Section<'_>) -> Result<WebhookConfig, ConfigError> {
    let address = section.required("url")?;
    let url = parse_url(&address)?;
    let origin = url.origin();
    if origin.scheme() != Scheme::Https && !origin.authority().is_loopback() {
        return Err(address
            .error("`url` would be told in the clear")
            .with_hint("write https://; plain http is for this machine only"));
    }
    let entry = section.required("secret")?;
    let secret = parse_template(&entry)?;
    if !secret.is_reference() {
        return Err(entry.error("`secret` must be a variable").with_hint(
            "write \"${NAME}\" and put the secret, `whsec_…`, into the environment of the gateway",
        ));
    }
    Ok(WebhookConfig { url, secret })
}
