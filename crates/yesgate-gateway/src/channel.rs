//! The ways to ask a human, one file each. All end in the same ledger call; here is what they share.

pub(crate) mod elicitation;
pub(crate) mod elsewhere;
pub(crate) mod late;
pub(crate) mod page;
pub(crate) mod task;

use std::sync::Arc;

use yesgate_core::call::CallRequest;
use yesgate_core::id::IntentId;
use yesgate_core::intent::{Approver, Intent, Runner};
use yesgate_core::refusal::Why;

use crate::errand::Errand;
use crate::gate::{Gate, forgotten};
use crate::reply::Reply;

impl Gate {
    /// Somebody said yes while the agent's call waits: the yes and the run, in one step. Where somebody else
    /// was faster, what they decided holds.
    pub(crate) async fn yes_now(
        &self,
        intent: &Intent,
        by: Approver,
        request: &CallRequest,
        errand: &Errand,
    ) -> Reply {
        let caller = &errand.caller;
        let tool = intent.question().binding.tool.clone();
        let (ground, preview) = match self.ground(&errand.way, intent.question()).await {
            Ok(found) => found,
            Err(_) if errand.way.is_forgotten() => return forgotten(errand),
            Err(refusal) => return self.refused(caller, Some(&tool), &refusal).await,
        };
        if errand.cancel.is_fired() {
            self.withdraw(intent.id()).await;
            return Reply::Silent;
        }
        let (boot, awaited) = (self.setting.boot.clone(), errand.awaited());
        let question = intent.question().clone();
        let witness = Arc::clone(&self.setting.witness);
        let claim = self
            .ledger
            .update(intent.id(), move |intent, now| {
                let ground = intent.ground_as_judged(&question, ground);
                let runner = Runner { boot: &boot, ground, awaited, witness: &*witness };
                intent.claim_previewed(preview.as_deref(), |intent| intent.claim_for(&by, &runner, now))
            })
            .await;
        match claim {
            Ok(Some(claim)) => self.claimed(&tool, intent.id(), claim, request, errand).await,
            Ok(None) => self.refused(caller, Some(&tool), &Why::NoSuchIntent.into()).await,
            Err(error) => self.unavailable(caller, &tool, &error).await,
        }
    }

    /// Somebody said no.
    pub(crate) async fn no(&self, id: &IntentId, by: Approver, errand: &Errand) -> Reply {
        match self
            .ledger
            .update(id, move |intent, now| intent.deny(&by, None, now).map(|()| intent.ending()))
            .await
        {
            Ok(Some(Ok(refusal) | Err(refusal))) => self.refused(&errand.caller, None, &refusal).await,
            Ok(None) => self.refused(&errand.caller, None, &Why::NoSuchIntent.into()).await,
            Err(error) => {
                let why = Why::ConsentUnavailable { reason: error.public_reason() };
                self.refused(&errand.caller, None, &why.into()).await
            }
        }
    }
}
