//! The yeses that are remembered, and taking one back.

use askama::Template;
use http::StatusCode;
use yesgate_core::grant::{GrantRecord, Standing};
use yesgate_core::id::GrantId;
use yesgate_core::person::Role;
use yesgate_core::render::Sanitized;

use crate::answer::{self, Answer};
use crate::site::{Site, Trouble, Visit};
use crate::token::Pace;
use crate::view::{Frame, Tab, moment};
use crate::visit::Visitor;

#[derive(Template)]
#[template(path = "grants.html")]
struct Page {
    frame: Frame,
    grants: Vec<Line>,
}

struct Line {
    id: String,
    what: Sanitized,
    scope: Sanitized,
    whose: Sanitized,
    by: Sanitized,
    limit: String,
    standing: &'static str,
    /// The token of the form that takes it back, where that can be done.
    revoke: Option<String>,
}

impl Site {
    pub(crate) async fn grants(&self, visit: &Visit, visitor: &Visitor) -> Result<Answer, Trouble> {
        let mut records = self.ledger.grants().await?;
        records.retain(|record| record.grant.caller.org == visitor.person.org);
        records.reverse();
        let mut grants = Vec::new();
        for record in records.iter().take(SHOWN) {
            let standing = record.standing(visit.now);
            let revoke = match standing {
                Standing::Live if visitor.person.may(Role::Approver) => {
                    let action = format!("/grants/{}/revoke", record.grant.id);
                    Some(self.token(visitor, &action, visit.now)?)
                }
                Standing::Live | Standing::UsedUp | Standing::Expired | Standing::Revoked => None,
            };
            grants.push(Line::of(record, standing, revoke));
        }
        let frame = self.frame(visitor, Tab::Grants, "Grants").await?;
        Ok(answer::page(StatusCode::OK, &Page { frame, grants }))
    }

    pub(crate) async fn revoke_grant(&self, visit: &Visit, visitor: &Visitor) -> Result<Answer, Trouble> {
        let id = visit.name.parse::<GrantId>().map_err(|_| Trouble::NotFound)?;
        let records = self.ledger.grants().await?;
        let theirs =
            |record: &&GrantRecord| record.grant.id == id && record.grant.caller.org == visitor.person.org;
        records.iter().find(theirs).ok_or(Trouble::NotFound)?;
        self.take(visit, visitor, Pace::Any)?;
        // One that was taken back before is taken back: that is what was asked for.
        self.ledger.revoke_grant(&id, &self.approver(visitor, None).name).await?;
        Ok(answer::see("/grants"))
    }
}

impl Line {
    fn of(record: &GrantRecord, standing: Standing, revoke: Option<String>) -> Self {
        let grant = &record.grant;
        let uses = record.uses_left().map(|left| format!("{left} more times"));
        let until = grant.limits.until().map(|until| format!("until {}", moment(until)));
        Self {
            id: grant.id.to_string(),
            what: Sanitized::line(&format!("{}/{}", grant.server, grant.tool)),
            scope: Sanitized::line(&grant.scope.to_string()),
            whose: Sanitized::line(&format!("{} for {}", grant.caller.client, grant.caller.principal)),
            by: Sanitized::line(&grant.by),
            limit: uses.into_iter().chain(until).collect::<Vec<_>>().join(", "),
            standing: standing.as_str(),
            revoke,
        }
    }
}

/// How many a page shows, the newest first.
const SHOWN: usize = 200;
