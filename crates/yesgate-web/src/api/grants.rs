//! The yeses that are remembered, for programs of people.

use jiff::Timestamp;
use serde_json::{Value, json};
use yesgate_core::grant::GrantRecord;
use yesgate_core::id::GrantId;
use yesgate_core::render::Sanitized;

use super::{Told, Undone, json as told};
use crate::site::{Site, Visit};
use crate::visit::Visitor;

impl Site {
    pub(super) async fn list_grants(&self, visit: &Visit, visitor: &Visitor) -> Told {
        let records = self.ledger.grants().await?;
        let theirs = records.iter().rev().filter(|record| record.grant.caller.org == visitor.person.org);
        let grants: Vec<Value> = theirs.take(SHOWN).map(|record| described(record, visit.now)).collect();
        told(&json!({"grants": grants}))
    }

    pub(super) async fn one_grant(&self, visit: &Visit, visitor: &Visitor) -> Told {
        told(&described(&self.find_grant(visit, visitor).await?, visit.now))
    }

    /// Takes one back. One that was taken back before is: that is what was asked for.
    pub(super) async fn take_back(&self, visit: &Visit, visitor: &Visitor) -> Told {
        let record = self.find_grant(visit, visitor).await?;
        self.ledger.revoke_grant(&record.grant.id, &self.approver(visitor, None).name).await?;
        told(&described(&self.find_grant(visit, visitor).await?, visit.now))
    }

    async fn find_grant(&self, visit: &Visit, visitor: &Visitor) -> Result<GrantRecord, Undone> {
        let id = visit.name.parse::<GrantId>().map_err(|_| Undone::nothing_here())?;
        let mut records = self.ledger.grants().await?.into_iter();
        let found =
            records.find(|record| record.grant.id == id && record.grant.caller.org == visitor.person.org);
        found.ok_or_else(Undone::nothing_here)
    }
}

fn described(record: &GrantRecord, now: Timestamp) -> Value {
    let grant = &record.grant;
    json!({
        "id": grant.id,
        "standing": record.standing(now),
        "from": grant.from,
        "server": grant.server,
        "tool": grant.tool,
        "scope": Sanitized::line(&grant.scope.to_string()).as_str(),
        "client": Sanitized::line(grant.caller.client.as_str()).as_str(),
        "user": grant.caller.principal,
        "by": Sanitized::line(&grant.by).as_str(),
        "assurance": grant.assurance.as_str(),
        "made_at": grant.made_at,
        "until": grant.limits.until(),
        "uses": grant.limits.uses(),
        "used": record.used,
        "revoked_at": record.revoked_at,
    })
}

/// How many a list has, the newest first.
const SHOWN: usize = 1_000;
