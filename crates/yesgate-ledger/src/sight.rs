//! What a server's list of tools means to the ledger: first use, new and changed tools, and the
//! questions that lost their ground.
//!
//! INVARIANT: tools are pinned by themselves once, at the first use of their server. Whatever comes
//! or changes later is pinned by a human only.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use yesgate_core::audit::AuditEvent;
use yesgate_core::digest::{DefinitionDigest, ServerIdentity};
use yesgate_core::grant::{Grant, GrantRecord, Standing};
use yesgate_core::id::{BootId, IntentId, ServerName, ToolName};
use yesgate_core::intent::{Ground, Intent};
use yesgate_core::policy::{Known, Pins, Usage};

use crate::change::{Effects, Found, Target};
use crate::error::LedgerError;
use crate::ledger::Ledger;

/// What came of a look at all tools of a server.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Sighted {
    /// Tools that were pinned because the server is used for the first time.
    pub first: Vec<ToolName>,
    /// Tools that came after the first use, and that nobody has accepted.
    pub new: Vec<ToolName>,
    /// Tools that were accepted with another definition.
    pub changed: Vec<ToolName>,
    /// Questions that are void, because their tool is defined differently now or is gone.
    pub voided: Vec<IntentId>,
}

impl Ledger {
    /// Takes note of all tools that a server has right now, in one transaction.
    ///
    /// Where the server was never used, every tool that nobody pinned is pinned as it is; an empty
    /// list is no use. Later, nothing is pinned. Each time, open questions and unused yeses of this
    /// very server are void if their tool has another definition now or is gone, but for those of
    /// another gateway that lives: it has its own process of the server, and looks for itself.
    ///
    /// # Errors
    /// When what it found is not durable.
    pub async fn sight(
        &self,
        server: &ServerName,
        identity: &ServerIdentity,
        tools: Vec<(ToolName, DefinitionDigest)>,
    ) -> Result<Sighted, LedgerError> {
        let look = Look {
            server: server.clone(),
            identity: *identity,
            tools: tools.into_iter().collect(),
            over: BTreeSet::new(),
            own: self.boot().clone(),
        };
        self.change(Target::Server(server.clone(), *identity), move |found, now| look.take(found, now)).await
    }
}

/// One look at a server.
struct Look {
    server: ServerName,
    identity: ServerIdentity,
    tools: BTreeMap<ToolName, DefinitionDigest>,
    /// Which of the processes that asked are over.
    over: BTreeSet<BootId>,
    own: BootId,
}

impl Look {
    fn take(mut self, found: Found, now: Timestamp) -> (Sighted, Effects) {
        let Found { mut intents, pins, grants, over, .. } = found;
        self.over = over;
        let mut sighted = Sighted::default();
        let mut events = match pins.usage() {
            Usage::Unused if !self.tools.is_empty() => self.first_use(&pins, &mut sighted),
            Usage::Unused | Usage::InUse => Vec::new(),
        };
        for (tool, definition) in &self.tools {
            match pins.known(tool) {
                Known::FirstUse => {}
                Known::Pinned(pin) if pin.definition == *definition => {}
                Known::Pinned(_) => sighted.changed.push(tool.clone()),
                Known::New => sighted.new.push(tool.clone()),
            }
        }
        for intent in &mut intents {
            // One whose time ran out is over for that reason.
            if !self.stands(intent)
                && !intent.notice_expiry(now)
                && intent.void(Ground::ToolChanged, now).is_ok()
            {
                sighted.voided.push(intent.id().clone());
            }
        }
        events.extend(grants.into_iter().filter(|record| self.ends(record, now)).map(|record| {
            AuditEvent::GrantRevoked {
                grant: record.grant.id,
                by: "the tool's definition changed".to_owned(),
            }
        }));
        (sighted, Effects { intents, events, ..Effects::default() })
    }

    /// Whether a remembered yes is over, because its tool is defined differently now. A tool that is gone may come
    /// back as it was.
    fn ends(&self, record: &GrantRecord, now: Timestamp) -> bool {
        let Grant { identity, tool, definition, .. } = &record.grant;
        let is_defined_otherwise = self.tools.get(tool).is_some_and(|now| now != definition);
        is_defined_otherwise && *identity == self.identity && record.standing(now) == Standing::Live
    }

    /// Pins what nobody has pinned.
    fn first_use(&self, pins: &Pins, sighted: &mut Sighted) -> Vec<AuditEvent> {
        let mut events = vec![AuditEvent::FirstUse { server: self.server.clone() }];
        for (tool, definition) in self.tools.iter().filter(|(tool, _)| pins.get(tool).is_none()) {
            sighted.first.push(tool.clone());
            events.push(AuditEvent::Pinned {
                server: self.server.clone(),
                tool: tool.clone(),
                definition: *definition,
                class: None,
                by: "first use".to_owned(),
            });
        }
        events
    }

    /// Whether a question is still about the tool as it is, or is not ours to judge. One about the gateway itself,
    /// such as the caller's mode, has no tool of the server that could change.
    fn stands(&self, intent: &Intent) -> bool {
        let binding = &intent.question().binding;
        if binding.method != "tools/call" {
            return true;
        }
        let asked_by = intent.asked_by().boot.as_ref().filter(|boot| **boot != self.own);
        let is_anothers = asked_by.is_some_and(|boot| !self.over.contains(boot));
        is_anothers || self.tools.get(&binding.tool) == Some(&binding.definition)
    }
}
