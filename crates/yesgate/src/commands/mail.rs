//! How mail leaves this gateway, as `[mail]` says: sign-in links, and notices.

use std::future::ready;
use std::sync::Arc;

use anyhow::Context as _;
use async_trait::async_trait;
use yesgate::SystemEntropy;
use yesgate_core::clock::Entropy as _;
use yesgate_core::person::{MailAddress, Person};
use yesgate_core::policy::{MailConfig, MailWay};
use yesgate_gateway::metrics::Metrics;
use yesgate_gateway::metrics::labels::Mail;
use yesgate_notice::{Count, Letter, Mailed, Mailer};
use yesgate_web::by_mail::Courier;

use crate::output::Hinted;

/// Opens the way that mail takes.
pub(super) fn open(config: &MailConfig, count: Count) -> anyhow::Result<Mailer> {
    let from = config.from.clone();
    match &config.way {
        MailWay::Smtp(server) => {
            let login = server.login.as_ref();
            let password = login.map(|login| login.password.expand(|name| std::env::var(name).ok()));
            let password = password.transpose().map_err(|error| {
                Hinted::new(format!("the mail server of [mail] has no password: {error}"), None::<&str>)
            })?;
            Mailer::smtp(from, server, password.as_ref(), count).context("mail cannot be sent")
        }
        MailWay::Folder(folder) => {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("the folder {} of [mail] cannot be made", folder.display()))?;
            Ok(Mailer::folder(from, folder.clone(), count))
        }
        MailWay::Console => Ok(Mailer::console(from, count)),
    }
}

/// The same for a gateway that counts what becomes of letters.
pub(super) fn counted(config: Option<&MailConfig>, metrics: &Metrics) -> anyhow::Result<Option<Arc<Mailer>>> {
    let metrics = metrics.clone();
    let count = move |mailed| {
        metrics.mail(match mailed {
            Mailed::Sent => Mail::Sent,
            Mailed::Failed => Mail::Failed,
            Mailed::Dropped => Mail::Dropped,
        });
    };
    Ok(config.map(|config| open(config, Box::new(count))).transpose()?.map(Arc::new))
}

/// Carries sign-in links.
#[derive(Debug)]
pub(super) struct LinkCourier(pub(super) Arc<Mailer>);

#[async_trait]
impl Courier for LinkCourier {
    async fn carry(&self, to: &MailAddress, person: &Person, url: &str) {
        let id = match SystemEntropy.draw() {
            Ok(entropy) => entropy.first_chunk::<16>().copied().unwrap_or_default(),
            Err(error) => {
                tracing::error!(%error, "a sign-in link is not sent: {error}");
                return;
            }
        };
        self.0.deliver(vec![Letter::with_link(id, to.clone(), person, url)], || ready(true)).await;
    }
}
