//! Running on a yes that a human had remembered (X4).
//!
//! INVARIANT: no human looks at such a call, so the server is asked how it defines the tool right now before the
//! remembered yes may count. In doubt a human is asked.

use yesgate_core::intent::SlotKey;
use yesgate_core::verdict::{Question, Remember};

use super::Gate;
use crate::errand::Errand;

/// Whether remembered yeses may count for one call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Memory {
    Counts,
    DoesNot,
}

impl Gate {
    /// Whether a remembered yes may be the yes to this question: one seems to cover it, and the tool is still
    /// what it was. The ledger looks again, in the transaction that would use it.
    pub(super) async fn memory_for(&self, question: &Question, errand: &Errand) -> Memory {
        if question.remember == Remember::Never {
            return Memory::DoesNot;
        }
        let now = self.ledger.now();
        let covered = match self.ledger.grants_for(SlotKey::of(&question.binding)).await {
            Ok(grants) => grants.iter().any(|record| record.covers(question, now)),
            Err(error) => {
                tracing::error!(%error, "remembered yeses cannot be read: {error}");
                false
            }
        };
        if !covered {
            return Memory::DoesNot;
        }
        match self.definition_now(&errand.way, &question.binding.tool).await {
            Ok(Some(definition)) if definition.digest == question.binding.definition => Memory::Counts,
            Ok(Some(_) | None) | Err(_) => Memory::DoesNot,
        }
    }
}
