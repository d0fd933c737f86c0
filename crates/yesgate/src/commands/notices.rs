//! Starts what tells people that a question waits, as `[notices]` says.

use std::sync::Arc;

use anyhow::Context as _;
use tokio::task::JoinSet;
use yesgate_core::policy::{ByMail, Desktop, NoticesConfig, WebhookConfig};
use yesgate_ledger::Ledger;
use yesgate_notice::{DesktopTeller, Link, MailNotices, Mailer, Means, Teller, Webhook, WebhookSecret};

use crate::output::Hinted;

/// Whom a process tells.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Audience {
    /// The one who works at this machine.
    Desktop,
    /// Everybody in the configuration.
    Everybody,
}

/// Those who tell. Dropped, they stop.
#[derive(Debug)]
pub(super) struct Telling(JoinSet<()>);

impl Telling {
    /// Starts them. What happens from here on is told.
    pub(super) async fn start(
        config: &NoticesConfig,
        audience: Audience,
        ledger: &Ledger,
        link: Link,
        mailer: Option<Arc<Mailer>>,
    ) -> anyhow::Result<Self> {
        let mut tellers = JoinSet::new();
        match config.desktop {
            Desktop::Shown => {
                let teller = DesktopTeller::begin(ledger.clone(), link.clone(), config.remind).await?;
                tellers.spawn(teller.run());
            }
            Desktop::Silent => {}
        }
        match (&config.webhook, audience) {
            (Some(webhook), Audience::Everybody) => {
                let means = Means::Webhook(Box::new(open_webhook(webhook, link.clone(), "[notices]")?));
                tellers.spawn(Teller::begin(ledger.clone(), means, config.remind).await?.run());
            }
            (None, _) | (_, Audience::Desktop) => {}
        }
        match (config.mail, mailer, audience) {
            (ByMail::Told, Some(mailer), Audience::Everybody) => {
                let means = Means::Mail(MailNotices::new(mailer, link));
                tellers.spawn(Teller::begin(ledger.clone(), means, config.remind).await?.run());
            }
            (ByMail::Silent, _, _) | (_, None, _) | (_, _, Audience::Desktop) => {}
        }
        Ok(Self(tellers))
    }

    /// Stops them. What was being delivered is delivered by the next start.
    pub(super) async fn stop(mut self) {
        self.0.shutdown().await;
    }
}

/// Opens the webhook of a section of the configuration.
pub(super) fn open_webhook(config: &WebhookConfig, link: Link, section: &str) -> anyhow::Result<Webhook> {
    let secret = config.secret.expand(|name| std::env::var(name).ok()).map_err(|error| {
        Hinted::new(format!("the webhook of {section} has no secret: {error}"), None::<&str>)
    })?;
    let secret = WebhookSecret::parse(&secret).map_err(|error| {
        let hint = "make one with: echo \"whsec_$(head -c 32 /dev/urandom | base64)\"";
        Hinted::new(format!("the secret of the webhook in {section} cannot be used: {error}"), Some(hint))
    })?;
    Webhook::new(config.url.clone(), secret, link).context("webhooks cannot be sent")
}
