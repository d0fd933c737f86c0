//! One page of a server's tools on its way to the host.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::value::RawValue;
use yesgate_core::policy::{Needs, Offer};

use crate::book::definition;
use crate::gate::Gate;
use crate::offer::rewrite_list;
use crate::own_tools::OwnTool;
use crate::reply::Reply;

/// A page as the server gave it.
#[derive(Debug)]
pub(super) struct ListedPage {
    pub(super) gate: Arc<Gate>,
    /// Whether this page or one before it has a tool that is not simply passed.
    pub(super) gated_tool_seen: Arc<AtomicBool>,
    pub(super) id: Box<RawValue>,
    pub(super) result: Box<RawValue>,
    pub(super) last: bool,
}

impl ListedPage {
    /// The answer with its tools as they are offered; `None`: as the server put them.
    pub(super) fn into_message(self) -> Option<Vec<u8>> {
        let result = self.offered()?;
        Reply::Result(result.get().to_owned().into()).into_message(&self.id)
    }

    fn offered(&self) -> Option<Box<RawValue>> {
        let offer_of = |tool: &RawValue| {
            let offer =
                definition(tool).map(|definition| self.gate.offer_of(&definition)).unwrap_or_default();
            if offer.needs != Needs::Nothing {
                self.gated_tool_seen.store(true, Ordering::Relaxed);
            }
            offer
        };
        let offered = rewrite_list(&self.result, offer_of, None);
        if self.last && self.gated_tool_seen.load(Ordering::Relaxed) && self.gate.policy().asks() {
            let own = OwnTool::definitions(&self.gate.policy(), self.gate.name());
            return rewrite_list(
                offered.as_deref().unwrap_or(&self.result),
                |_| Offer::default(),
                Some(&own),
            );
        }
        offered
    }
}
