//! The signed-in browsers of a person, and ending them.

use askama::Template;
use http::StatusCode;
use yesgate_core::id::SessionId;
use yesgate_core::person::Session;
use yesgate_core::render::Sanitized;

use crate::answer::{self, Answer};
use crate::browser;
use crate::goal::Goal;
use crate::site::{Site, Trouble, Visit};
use crate::token::Pace;
use crate::view::{Frame, Tab, ago, moment};
use crate::visit::Visitor;

#[derive(Template)]
#[template(path = "sessions.html")]
struct Page {
    frame: Frame,
    sessions: Vec<Line>,
    /// The token of the form that ends all of them.
    end_all: String,
}

struct Line {
    id: String,
    browser: Sanitized,
    /// What it said of itself, where that says more.
    raw: Option<Sanitized>,
    way: &'static str,
    begun: String,
    seen: String,
    /// Whether it is the one that looks.
    is_this: bool,
    /// The token of the form that ends it.
    end: String,
}

impl Site {
    pub(crate) async fn sessions(&self, visit: &Visit, visitor: &Visitor) -> Result<Answer, Trouble> {
        let mut sessions = self.ledger.sessions().await?;
        sessions.retain(|session| session.person == visitor.person.id);
        let token = || self.token(visitor, "/sessions/end", visit.now);
        let line = |session: &Session| {
            let (raw, name) = (Sanitized::line(&session.browser), browser::name(&session.browser));
            Ok(Line {
                id: session.id.to_string(),
                raw: name.is_some().then(|| raw.clone()),
                browser: name.map_or(raw, |name| Sanitized::line(&name)),
                way: session.way.as_str(),
                begun: moment(session.begun_at),
                seen: ago(session.seen_at, visit.now),
                is_this: session.id == visitor.session.id,
                end: token()?,
            })
        };
        let sessions = sessions.iter().map(line).collect::<Result<Vec<_>, Trouble>>()?;
        let frame = self.frame(visitor, Tab::Sessions, "Sessions").await?;
        Ok(answer::page(StatusCode::OK, &Page { frame, sessions, end_all: token()? }))
    }

    pub(crate) async fn end_sessions(&self, visit: &Visit, visitor: &Visitor) -> Result<Answer, Trouble> {
        let only = match visit.form.one("session") {
            Some(id) => Some(id.parse::<SessionId>().map_err(|_| Trouble::NotFound)?),
            None => None,
        };
        self.take(visit, visitor, Pace::Any)?;
        let by = self.approver(visitor, None).name;
        self.ledger.end_sessions(&visitor.person.id, only, &by).await?;
        Ok(answer::see("/sessions"))
    }

    pub(crate) async fn sign_out(&self, visit: &Visit, visitor: &Visitor) -> Result<Answer, Trouble> {
        self.take(visit, visitor, Pace::Any)?;
        let (person, session) = (&visitor.person.id, visitor.session.id.clone());
        self.ledger.end_sessions(person, Some(session), &self.approver(visitor, None).name).await?;
        let goal = visit.goal();
        let mut answer = answer::see(&goal.as_ref().map_or_else(|| "/sign-in".to_owned(), Goal::sign_in));
        answer.headers_mut().extend(visit.address.forget());
        Ok(answer)
    }
}
