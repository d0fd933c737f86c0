//! The keys of people, as every gate of this home verifies them.
//!
//! INVARIANT: the seal under a key is made with the secret key of this home, so only a gateway of this home enrols one.

use std::sync::Arc;

use url::Url;
use yesgate_core::approvers::{Reach, Reachable};
use yesgate_core::assurance::Assurance;
use yesgate_core::person::Role;
use yesgate_gateway::gate::SharedReach;
use yesgate_ledger::{Ledger, LedgerError};
use yesgate_proof::ceremony::Ceremonies;
use yesgate_proof::receipt::ReceiptKey;
use yesgate_proof::registry::Registry;
use yesgate_proof::seal::SealKey;
use yesgate_web::refresh;

use crate::home::Home;

/// The keys of people, and what seals them.
#[derive(Debug)]
pub(crate) struct Witnesses {
    pub(crate) registry: Arc<Registry>,
    pub(crate) seal: SealKey,
    /// The ceremonies of passkeys at the gateway's address, where it has a name.
    pub(crate) ceremonies: Option<Ceremonies>,
    /// What receipts are signed with.
    pub(crate) receipts: ReceiptKey,
}

impl Witnesses {
    /// Knows the keys that the ledger has. Passkeys are those of the pages at this address.
    pub(crate) async fn of(home: &Home, ledger: &Ledger, origin: &str) -> anyhow::Result<Self> {
        let (key, _) = home.key()?;
        let seal = SealKey::derive(&key.derive(PURPOSE));
        let ceremonies = Url::parse(origin).ok().and_then(|origin| Ceremonies::new(&origin).ok());
        let registry = Arc::new(Registry::new(seal.clone(), ceremonies.clone()));
        refresh(&registry, ledger).await?;
        Ok(Self { registry, seal, ceremonies, receipts: home.receipt_key()? })
    }
}

/// Who could say yes, where being signed in proves so much. The command line gives `local`, whoever else is there.
pub(crate) async fn reach(
    ledger: &Ledger,
    registry: &Registry,
    signed_in: Assurance,
) -> Result<Reach, LedgerError> {
    let people = ledger.people().await?;
    let approvers = people.into_iter().filter(|person| person.may(Role::Approver));
    Ok(Reach::anybody(Assurance::Local).with(approvers.map(|person| {
        let has_key = !registry.of(&person.id).is_empty();
        let assurance = if has_key { Assurance::Verified } else { signed_in };
        Reachable { org: person.org, groups: person.groups, assurance }
    })))
}

/// Keeps the keys, and who could say yes, as fresh as the ledger.
pub(crate) async fn keep_fresh(
    ledger: Ledger,
    registry: Arc<Registry>,
    shared: SharedReach,
    signed_in: Assurance,
) {
    let mut changes = ledger.changes();
    loop {
        let known = async {
            refresh(&registry, &ledger).await?;
            reach(&ledger, &registry, signed_in).await
        };
        match known.await {
            Ok(reach) => shared.set(reach),
            Err(error) => {
                // A key that was revoked must not count because we cannot read that it was.
                tracing::error!(%error, "the keys of people cannot be read, so none counts: {error}");
                drop(registry.replace(&[]));
            }
        }
        changes.changed().await;
    }
}

/// What the key that seals the keys of people is derived for.
const PURPOSE: &str = "yesgate/keys-of-people/1";
