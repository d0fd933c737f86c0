//! A person's own: who they are, and where they are signed in.

use http::StatusCode;
use serde_json::{Value, json};
use yesgate_core::id::SessionId;
use yesgate_core::person::Session;
use yesgate_core::render::Sanitized;

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
                let mut answer = answer::json(
                    StatusCode::OK,
                    &json!({"sessions": 1, "connections": 0, "clients": 0, "intents": 0}),
                );
                if id == visitor.session.id {
                    answer.headers_mut().extend(visit.address.forget());
                }
                Ok(answer)
            }
        }
    }

    /// O7, O-V3: ends all sessions of the person's, all connections of clients, and all keys with which agents call for
    /// them, and withdraws what these have asked, in one step. Somebody who only has a cookie does not do that.
    pub(super) async fn end_everything(&self, visit: &Visit, visitor: &Visitor) -> Told {
        if !visitor.is_fresh(visit.now) {
            let words = "This wants somebody who has signed in within the last 15 minutes. Nothing was changed; sign in \
                         anew, and send it again.";
            return Err(Undone::new(StatusCode::FORBIDDEN, "sign_in_anew", words));
        }
        let ended = self.end_all_of(visitor).await?;
        let ended = json!({
            "sessions": ended.sessions,
            "connections": ended.connections,
            "clients": ended.keys,
            "intents": ended.intents,
        });
        let mut answer = answer::json(StatusCode::OK, &ended);
        answer.headers_mut().extend(visit.address.forget());
        Ok(answer)
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
