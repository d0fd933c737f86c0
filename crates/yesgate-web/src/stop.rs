//! The stop of everything, and the clients that are frozen.

use askama::Template;
use http::StatusCode;
use yesgate_core::caller::Caller;
use yesgate_core::person::Role;
use yesgate_core::render::Sanitized;

use crate::answer::{self, Answer};
use crate::site::{Site, Trouble, Visit};
use crate::token::Pace;
use crate::view::{Frame, Tab};
use crate::visit::Visitor;

#[derive(Template)]
#[template(path = "stop.html")]
struct Page {
    frame: Frame,
    /// The token of the form that stops everything or lets it go on, where the visitor may do that.
    set: Option<String>,
    frozen: Vec<Frozen>,
}

struct Frozen {
    client: Sanitized,
    principal: String,
    reason: Sanitized,
    key: String,
    /// The token of the form that ends it.
    thaw: Option<String>,
}

impl Site {
    pub(crate) async fn stop_page(&self, visit: &Visit, visitor: &Visitor) -> Result<Answer, Trouble> {
        let token = |action: &str| match visitor.person.may(Role::Approver) {
            true => self.token(visitor, action, visit.now).map(Some),
            false => Ok(None),
        };
        let regimes = self.ledger.regimes().await?;
        let mut frozen = Vec::new();
        for (caller, regime) in &regimes.callers {
            let Some(reason) = regime.frozen.as_deref() else { continue };
            if caller.org == visitor.person.org {
                frozen.push(Frozen {
                    client: Sanitized::line(caller.client.as_str()),
                    principal: caller.principal.to_string(),
                    reason: Sanitized::line(reason),
                    key: caller.key().to_string(),
                    thaw: token("/stop/thaw")?,
                });
            }
        }
        frozen.sort_by(|a, b| a.key.cmp(&b.key));
        let set = token("/stop")?;
        let frame = self.frame(visitor, Tab::Stop, "Stop").await?;
        Ok(answer::page(StatusCode::OK, &Page { frame, set, frozen }))
    }

    pub(crate) async fn set_stop(&self, visit: &Visit, visitor: &Visitor) -> Result<Answer, Trouble> {
        let by = self.approver(visitor, None).name;
        match visit.form.one("set") {
            Some("stop") => {
                self.take(visit, visitor, Pace::Any)?;
                let reason = visit.form.words("reason").unwrap_or_else(|| "they gave no reason".to_owned());
                self.ledger.stop(&reason, &by).await?;
            }
            // Whoever is in doubt may stop everything; to go on is for those who answer for it.
            Some("go-on") if visitor.person.may(Role::Owner) => {
                self.take(visit, visitor, Pace::Human)?;
                self.ledger.go_on(&by).await?;
            }
            Some(_) | None => return Err(Trouble::Nonsense("there is nothing like that for you to do")),
        }
        Ok(answer::see("/stop"))
    }

    pub(crate) async fn thaw(&self, visit: &Visit, visitor: &Visitor) -> Result<Answer, Trouble> {
        let key = visit.form.one("caller").unwrap_or_default();
        let regimes = self.ledger.regimes().await?;
        let is_meant = |caller: &&Caller| caller.key().to_string() == key && caller.org == visitor.person.org;
        let caller = regimes.callers.keys().find(is_meant).ok_or(Trouble::NotFound)?;
        self.take(visit, visitor, Pace::Human)?;
        self.ledger.thaw(caller, &self.approver(visitor, None).name).await?;
        Ok(answer::see("/stop"))
    }
}
