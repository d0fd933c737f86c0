//! Who a client is, by its id: written down by the operator, registered, or described by its own document.

use yesgate_core::oauth::{ClientKind, OAuthClient, OAuthClientId};
use yesgate_ledger::LedgerError;

use crate::documents::Freshness;
use crate::documents::fault::DocumentFault;
use crate::server::AuthServer;

/// What is known of a client.
#[derive(Clone, Debug)]
pub(crate) enum Lookup {
    /// This.
    Known(Box<OAuthClient>),
    /// It was ended. It has to register anew.
    Ended,
    /// Nothing.
    Unknown,
    /// It has a document that cannot be taken, for this reason.
    Refused(DocumentFault),
}

impl AuthServer {
    /// Looks a client up.
    ///
    /// # Errors
    /// When the ledger cannot be used.
    pub(crate) async fn look_up(
        &self,
        id: &OAuthClientId,
        freshness: Freshness,
    ) -> Result<Lookup, LedgerError> {
        if let Some(known) = self.governed().known(id) {
            return Ok(Lookup::Known(Box::new(known.clone())));
        }
        if id.is_document() {
            return self.described(id, freshness).await;
        }
        Ok(match self.ledger.client(id).await? {
            Some(client) if client.ended_at.is_some() => Lookup::Ended,
            // It is known so that it can be listed. Whether it is one is for the operator alone to say, and they do not.
            Some(client) if client.kind == ClientKind::Operator => Lookup::Unknown,
            Some(client) => Lookup::Known(Box::new(client)),
            None => Lookup::Unknown,
        })
    }

    /// O-C4: looks a client up that is described by its own document. Where that cannot be had for a moment, and nobody is
    /// about to be asked, the one will do that somebody said yes to.
    async fn described(&self, id: &OAuthClientId, freshness: Freshness) -> Result<Lookup, LedgerError> {
        let governed = self.governed();
        let Some(documents) = &governed.documents else { return Ok(Lookup::Unknown) };
        let fault = match documents.client(id, freshness, self.ledger.now()).await {
            Ok(client) => return Ok(Lookup::Known(Box::new(client))),
            Err(fault) => fault,
        };
        tracing::info!(client.id = %id, %fault, "the document of a client cannot be taken");
        let may_be_kept = fault.is_passing() && freshness == Freshness::Kept;
        let kept = if may_be_kept { self.ledger.client(id).await? } else { None };
        let kept = kept.filter(|client| client.ended_at.is_none());
        Ok(kept.map_or(Lookup::Refused(fault), |client| Lookup::Known(Box::new(client))))
    }
}
