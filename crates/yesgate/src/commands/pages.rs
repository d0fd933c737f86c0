//! The pages on which people decide: those of `serve`, and those of a home on its own machine (`local.rs`).

mod desk;
pub(super) mod local;
pub(super) mod office;
pub(super) mod port;

use std::sync::Arc;
use std::time::Duration;

use yesgate::SystemEntropy;
use yesgate_core::assurance::Assurance;
use yesgate_core::clock::Entropy as _;
use yesgate_core::id::PersonId;
use yesgate_core::person::{Person, Role};
use yesgate_core::policy::ServeConfig;
use yesgate_gateway::gate::Naming;
use yesgate_ledger::Ledger;
use yesgate_notice::Mailer;
use yesgate_oauth::AuthServer;
use yesgate_web::upstream::UpstreamSettings;
use yesgate_web::{Keys, Site, SiteSettings};

pub(super) use self::desk::{Desk, Listed};
use super::mail::LinkCourier;
use super::people::make_link;
use crate::witness::Witnesses;

/// The site of a gateway.
pub(super) fn site(
    ledger: Ledger,
    config: &ServeConfig,
    naming: Naming,
    witnesses: Witnesses,
    desk: Desk,
    mailer: Option<Arc<Mailer>>,
    (upstream, connecting): (Option<UpstreamSettings>, Option<Arc<AuthServer>>),
) -> Arc<Site> {
    let public = config.public_url.as_ref().map(|url| url.to_string().trim_end_matches('/').to_owned());
    let Witnesses { registry, seal, ceremonies, receipts } = witnesses;
    let keys = ceremonies.map(|ceremonies| Keys::new(registry, seal, ceremonies));
    let settings =
        SiteSettings { public, proves: proves(naming), keys, reign: None, account: None, receipts };
    let site = Site::new(ledger, Arc::new(SystemEntropy), Arc::new(desk), settings);
    let site = match mailer {
        Some(mailer) => site.with_mail(Arc::new(LinkCourier(mailer))),
        None => site,
    };
    let site = match upstream {
        Some(upstream) => site.with_upstream(upstream),
        None => site,
    };
    Arc::new(match connecting {
        Some(server) => site.connecting(server),
        None => site,
    })
}

/// How well a yes on a page proves a human. Where callers have no keys, they are taken for the account that runs the
/// gateway, and what that account can read could sign it in.
pub(super) const fn proves(naming: Naming) -> Assurance {
    match naming {
        Naming::ByKey => Assurance::SignedIn,
        Naming::BySelf => Assurance::Local,
    }
}

/// Notices within a second what nobody decided in time, so that it is counted nowhere any more and stands in the
/// history: nobody may ever ask for it again. Also what a process ran that is over: whoever waits for it learns that nobody
/// knows how it ended, and need not start anything for that.
pub(super) async fn notice_what_is_over(ledger: Ledger) {
    loop {
        tokio::time::sleep(LOOKING).await;
        // Mostly there is nothing to write.
        let noticed = match ledger.is_any_over().await {
            Ok(true) => ledger.sweep().await.map(drop),
            Ok(false) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = noticed {
            tracing::warn!(%error, "what is over could not be noticed: {error}");
        }
    }
}

/// Makes sure that somebody can come in: where no owner has ever signed in, prints a link for one.
pub(super) async fn invite_first(ledger: &Ledger, origin: &str) -> anyhow::Result<()> {
    let owner = first_owner(ledger).await?;
    let sessions = ledger.sessions().await?;
    if sessions.iter().any(|session| session.person == owner.id) {
        eprintln!("people decide at {origin}/");
        return Ok(());
    }
    let (secret, _) = make_link(ledger, &owner).await?;
    eprintln!("people decide at {origin}/; sign in as `{}` within 15 minutes, once, with", owner.name);
    eprintln!("  {origin}/sign-in#{}", secret.expose());
    Ok(())
}

/// The first of those who rule here; where there is nobody, somebody called `owner` is added.
pub(super) async fn first_owner(ledger: &Ledger) -> anyhow::Result<Person> {
    let people = ledger.people().await?;
    if let Some(owner) = people.into_iter().find(|person| person.may(Role::Owner)) {
        return Ok(owner);
    }
    let first = Person {
        id: PersonId::from_entropy(SystemEntropy.draw()?),
        name: "owner".parse()?,
        org: "local".parse()?,
        mail: None,
        role: Role::Owner,
        groups: std::collections::BTreeSet::new(),
        added_at: ledger.now(),
        removed_at: None,
    };
    ledger.set_person(first.clone(), "the first start").await??;
    Ok(first)
}

/// The time between two looks for what is over.
const LOOKING: Duration = Duration::from_secs(1);
