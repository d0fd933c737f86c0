//! What we answer in place of a tool fits what the tool promises.
//!
//! INVARIANT: an answer of ours to a call of a tool with an `outputSchema` has structured content only where that
//! schema was widened for it. Otherwise it is an error in words, and strict clients throw nothing away.

use yesgate_core::definition::{Output, ToolDefinition};
use yesgate_core::policy::{Answers, Offer};

use super::Gate;
use crate::reply::Reply;
use crate::upstream::Upstream;

impl Gate {
    /// How a tool is offered to the agent.
    pub(crate) fn offer_of(&self, definition: &ToolDefinition) -> Offer {
        let policy = self.policy();
        let known = self.pins();
        let classified =
            policy.classify(&self.server.name, definition, self.server.trust, known.known(&definition.name));
        policy.offer(&self.server.name, definition, self.server.trust, classified.class)
    }

    /// An answer of ours as the tool's schema has room for it; any other as it is.
    pub(super) fn fitted(&self, reply: Reply, tool: &str, way: &Upstream) -> Reply {
        match reply {
            Reply::Own(own) => {
                let definition = tool.parse().ok().and_then(|name| way.book.definition(&name));
                match definition {
                    Some(definition) if !self.has_room(&definition) => own.in_words().into(),
                    Some(_) | None => Reply::Own(own),
                }
            }
            reply @ (Reply::Relayed | Reply::Result(_) | Reply::Error(_) | Reply::Silent) => reply,
        }
    }

    fn has_room(&self, definition: &ToolDefinition) -> bool {
        match definition.output {
            Output::Open => true,
            Output::Promised => self.offer_of(definition).answers == Answers::OursToo,
        }
    }
}
