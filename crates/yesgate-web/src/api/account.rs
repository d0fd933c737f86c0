//! A person's own: who they are, and where they are signed in.

use http::StatusCode;
use serde_json::{Value, json};
use yesgate_core::id::{KeyId, SessionId};
use yesgate_core::intent::Intent;
use yesgate_core::person::Session;
use yesgate_core::render::Sanitized;
use yesgate_ledger::{Listing, Stage};

use super::{PURPOSE, Told, Undone, json as told};
use crate::answer;
use crate::site::{Site, Visit};
use crate::visit::Visitor;

impl Site {
    /// Who is signed in, and the token that goes with what they change.
    pub(super) fn me(&self, visit: &Visit, visitor: &Visitor) -> Told {
        let person = &visitor.person;
        told(&json!({
            "id": person.id,
            "name": person.name,
            "org": person.org,
            "role": person.role.as_str(),
            "groups": person.groups,
            "assurance": self.proves().as_str(),
            "session": described(&visitor.session, visitor),
            "token": self.token(visitor, PURPOSE, visit.now)?,
        }))
    }

    pub(super) async fn list_sessions(&self, visit: &Visit, visitor: &Visitor) -> Told {
        let sessions = self.own_sessions(visit, visitor).await?;
        let sessions: Vec<Value> = sessions.iter().map(|session| described(session, visitor)).collect();
        told(&json!({"sessions": sessions}))
    }

    /// Ends one session of the person's own.
    pub(super) async fn end_session(&self, visit: &Visit, visitor: &Visitor) -> Told {
        let id = visit.name.parse::<SessionId>().map_err(|_| Undone::nothing_here())?;
        let by = self.approver(visitor, None).name;
        match self.ledger.end_sessions(&visitor.person.id, Some(id.clone()), &by).await? {
            0 => Err(Undone::nothing_here()),
            _ => {
                let mut answer =
                    answer::json(StatusCode::OK, &json!({"sessions": 1, "clients": 0, "intents": 0}));
                if id == visitor.session.id {
                    answer.headers_mut().extend(visit.address.forget());
                }
                Ok(answer)
            }
        }
    }

    /// O7: ends all sessions of the person's, revokes all keys with which agents call for them, and withdraws what these
    /// have asked.
    pub(super) async fn end_everything(&self, visit: &Visit, visitor: &Visitor) -> Told {
        let by = self.approver(visitor, None).name;
        let keys = self.ledger.keys().await?;
        let theirs: Vec<KeyId> = keys
            .into_iter()
            .filter(|key| key.revoked_at.is_none() && key.caller.org == visitor.person.org)
            .filter(|key| key.caller.principal == visitor.person.name)
            .map(|key| key.id)
            .collect();
        let clients = theirs.len();
        // The keys first: whoever is signed out cannot come back to revoke what was left.
        self.desk.revoke_clients(theirs, &by).await?;
        let intents = self.withdraw_all(visitor, &by).await?;
        let sessions = self.ledger.end_sessions(&visitor.person.id, None, &by).await?;
        let ended = json!({"sessions": sessions, "clients": clients, "intents": intents});
        let mut answer = answer::json(StatusCode::OK, &ended);
        answer.headers_mut().extend(visit.address.forget());
        Ok(answer)
    }

    /// Withdraws what was asked for a person and has not run.
    async fn withdraw_all(&self, visitor: &Visitor, by: &str) -> Result<usize, Undone> {
        let mut withdrawn = 0;
        for stage in [Stage::Waiting, Stage::UnderWay] {
            let mut after = None;
            loop {
                let org = visitor.person.org.clone();
                let listed = self.ledger.list(Listing { org, stage, after, most: CHUNK }).await?;
                let Some(last) = listed.last().map(|listed| listed.number) else { break };
                after = Some(last);
                let theirs = listed
                    .iter()
                    .map(|listed| &listed.intent)
                    .filter(|intent| intent.question().binding.caller.principal == visitor.person.name);
                for intent in theirs {
                    let by = by.to_owned();
                    let cancel = move |intent: &mut Intent, now| intent.cancel(&by, now).is_ok();
                    // What runs by now cannot be withdrawn.
                    withdrawn +=
                        usize::from(self.ledger.update(intent.id(), cancel).await?.unwrap_or_default());
                }
            }
        }
        Ok(withdrawn)
    }

    async fn own_sessions(&self, visit: &Visit, visitor: &Visitor) -> Result<Vec<Session>, Undone> {
        let mut sessions = self.ledger.sessions().await?;
        sessions.retain(|session| session.person == visitor.person.id && session.counts(visit.now));
        Ok(sessions)
    }
}

fn described(session: &Session, visitor: &Visitor) -> Value {
    json!({
        "id": session.id,
        "browser": Sanitized::line(&session.browser).as_str(),
        "way": session.way.as_str(),
        "begun_at": session.begun_at,
        "seen_at": session.seen_at,
        "current": session.id == visitor.session.id,
    })
}

/// How many questions are looked at in one go.
const CHUNK: u32 = 200;
