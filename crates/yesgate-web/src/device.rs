//! Allowing a client that has no browser: a person types the code that it shows (RFC 8628).
//!
//! INVARIANT: a code in a link is only written into the form (O-S4). Whoever sends such a link cannot have it answered by
//! its being opened.

use askama::Template;
use http::StatusCode;
use yesgate_core::oauth::UserCode;
use yesgate_oauth::Answered;

use crate::answer::{self, Answer};
use crate::connect::{answered_already, sign_in_anew, told};
use crate::consent::{HASTY, NOTHING_TICKED, Says, ticked};
use crate::goal::Goal;
use crate::site::{Site, Trouble, Visit};
use crate::token::{Pace, Untaken};
use crate::view::{Frame, Tab};
use crate::visit::Visitor;

#[derive(Template)]
#[template(path = "device.html")]
struct Page {
    frame: Frame,
    /// What stands in the field already.
    code: String,
    token: String,
    notice: Option<&'static str>,
}

impl Site {
    /// Where a code is typed.
    pub(crate) async fn device_page(&self, visit: &Visit, visitor: &Visitor) -> Result<Answer, Trouble> {
        let code = visit.typed_code().map(|code| code.shown()).unwrap_or_default();
        self.device_with(visit, visitor, code, None).await
    }

    async fn device_with(
        &self,
        visit: &Visit,
        visitor: &Visitor,
        code: String,
        notice: Option<&'static str>,
    ) -> Result<Answer, Trouble> {
        self.server()?;
        let frame = self.frame(visitor, Tab::Clients, "Connect a device").await?;
        let token = self.token(visitor, "/device", visit.now)?;
        let status = if notice.is_some() { StatusCode::FORBIDDEN } else { StatusCode::OK };
        Ok(answer::page(status, &Page { frame, code, token, notice }))
    }

    /// Shows what the client asks for.
    pub(crate) async fn look_at_device(&self, visit: &Visit, visitor: &Visitor) -> Result<Answer, Trouble> {
        self.take(visit, visitor, Pace::Any)?;
        let Some(typed) = visit.form.words("user_code") else {
            return self.device_with(visit, visitor, String::new(), Some("Type the code first.")).await;
        };
        let code = UserCode::typed(&typed);
        self.device_asks(visit, visitor, &code, None).await
    }

    async fn device_asks(
        &self,
        visit: &Visit,
        visitor: &Visitor,
        code: &UserCode,
        notice: Option<&'static str>,
    ) -> Result<Answer, Trouble> {
        let by = (&visitor.person, &visitor.session);
        let Some(asked) = self.server()?.asked_by_device(code, by, visit.from()).await? else {
            return self.device_with(visit, visitor, code.shown(), Some(NO_SUCH_CODE)).await;
        };
        let goal = Goal::Device(Some(code.clone()));
        if asked.wants_fresh {
            return Ok(sign_in_anew(&goal));
        }
        let action = format!("/device/{}", code.shown());
        let page = self.consent((visit, visitor), &asked, &goal, (action, Some(code.shown())), notice)?;
        let status = if notice.is_some() { StatusCode::FORBIDDEN } else { StatusCode::OK };
        Ok(answer::page(status, &page))
    }

    /// Takes the answer.
    pub(crate) async fn answer_device(&self, visit: &Visit, visitor: &Visitor) -> Result<Answer, Trouble> {
        let code = UserCode::typed(&visit.name);
        let says = Says::read(&visit.form)?;
        match self.take(visit, visitor, says.pace()) {
            Ok(()) => {}
            Err(Trouble::Form(Untaken::Used)) => return Ok(answered_already()),
            Err(Trouble::Form(Untaken::Hasty)) => {
                return self.device_asks(visit, visitor, &code, Some(HASTY)).await;
            }
            Err(trouble) => return Err(trouble),
        }
        let (server, by) = (self.server()?, (&visitor.person, &visitor.session));
        let answered = match says {
            Says::Yes => {
                let Some(asked) = server.asked_by_device(&code, by, visit.from()).await? else {
                    return self.device_with(visit, visitor, code.shown(), Some(NO_SUCH_CODE)).await;
                };
                let scopes = ticked(&visit.form, &asked);
                if scopes.is_empty() && !asked.scopes.is_empty() {
                    return self.device_asks(visit, visitor, &code, Some(NOTHING_TICKED)).await;
                }
                server.allow_device(&code, by, &scopes, visit.from()).await?
            }
            Says::No => server.deny_device(&code, &visitor.person, visit.from()).await?,
        };
        match answered {
            Answered::Noted | Answered::Go(_) => Ok(noted(says)),
            Answered::Already => Ok(answered_already()),
            Answered::Gone => self.device_with(visit, visitor, code.shown(), Some(NO_SUCH_CODE)).await,
            Answered::SignInAnew => Ok(sign_in_anew(&Goal::Device(Some(code)))),
        }
    }
}

fn noted(says: Says) -> Answer {
    let (title, what) = match says {
        Says::Yes => {
            ("Connected", "Your program is allowed what you ticked, and goes on by itself in a few seconds.")
        }
        Says::No => ("Denied", "Your program is told that you said no. Nothing was allowed."),
    };
    let onward = Some(("/settings/connected-clients", "What is connected"));
    told(StatusCode::OK, title, what, "You can close this page.", onward)
}

const NO_SUCH_CODE: &str = "Nothing waits under that code. Look at it again on your device: it counts for ten minutes. After too many wrong \
     codes none is looked at for a while.";
