//! Enrolling passkeys and signing in with them.
//!
//! INVARIANT: the first key of a person comes from a browser that signed in with a link minutes ago; every further one
//! needs a key that they have. So a stolen session enrols nothing (THREATS §4.3).

use askama::Template;
use http::StatusCode;
use serde_json::{Value, json};
use yesgate_core::id::{CredentialId, SessionId};
use yesgate_core::person::{SessionSecret, SignInWay};
use yesgate_core::render::Sanitized;
use yesgate_ledger::NewSession;
use yesgate_proof::ceremony::{CeremonyError, Names};
use yesgate_proof::credential::{Credential, Key};

use crate::answer::{self, Answer};
use crate::keys::{Begun, Keys, refresh};
use crate::site::{Site, Trouble, Visit};
use crate::token::Pace;
use crate::view::{Frame, Tab, moment};
use crate::visit::{Visitor, browser};

#[derive(Template)]
#[template(path = "keys.html")]
struct Page {
    frame: Frame,
    keys: Vec<Line>,
    /// The token of the form that begins to enrol one; why nobody can, where that is so.
    enrol: Result<String, &'static str>,
}

struct Line {
    id: String,
    label: Sanitized,
    kind: &'static str,
    since: String,
    /// The token of the form that revokes it.
    revoke: String,
}

impl Site {
    pub(crate) async fn keys_page(&self, visit: &Visit, visitor: &Visitor) -> Result<Answer, Trouble> {
        let theirs = self.keys().map(|keys| keys.registry.of(&visitor.person.id)).unwrap_or_default();
        let line = |credential: &Credential| {
            Ok(Line {
                id: credential.id.to_string(),
                label: Sanitized::line(&credential.label),
                kind: match credential.key {
                    Key::Passkey(_) => "passkey",
                    Key::Ssh(_) => "SSH key",
                },
                since: moment(credential.created_at),
                revoke: self.token(visitor, &format!("/keys/{}/revoke", credential.id), visit.now)?,
            })
        };
        let keys = theirs.iter().map(line).collect::<Result<Vec<_>, Trouble>>()?;
        let enrol = match self.may_enrol(visit, visitor) {
            Ok(_) => Ok(self.token(visitor, "/keys/begin", visit.now)?),
            Err(why) => Err(why),
        };
        let frame = self.frame(visitor, Tab::Keys, "Keys").await?;
        Ok(answer::page(StatusCode::OK, &Page { frame, keys, enrol }))
    }

    /// The keys of this site, where somebody may enrol one now.
    fn may_enrol(&self, visit: &Visit, visitor: &Visitor) -> Result<&Keys, &'static str> {
        let keys = self.keys().ok_or(
            "Passkeys belong to names: open this page as http://localhost, or at the gateway's public address.",
        )?;
        let theirs = keys.registry.of(&visitor.person.id);
        let is_fresh = visitor.is_fresh(visit.now);
        match (theirs.is_empty(), keys.passkeys(&visitor.person.id).is_empty()) {
            (true, _) if is_fresh => Ok(keys),
            (true, _) => {
                Err("Your first key is enrolled within 15 minutes of signing in with a link: sign in anew.")
            }
            (false, false) => Ok(keys),
            (false, true) => Err("You have an SSH key and no passkey to confirm another one with."),
        }
    }

    /// Begins to enrol: what the browser is to do.
    pub(crate) async fn begin_enrolment(&self, visit: &Visit, visitor: &Visitor) -> Result<Answer, Trouble> {
        self.take(visit, visitor, Pace::Any)?;
        let keys = match self.may_enrol(visit, visitor) {
            Ok(keys) => keys,
            Err(why) => return Ok(problem(StatusCode::FORBIDDEN, why)),
        };
        let name = visitor.person.name.as_str();
        let existing = keys.passkeys(&visitor.person.id);
        let names = Names { login: name, shown: name };
        let begun = keys.ceremonies.begin_enrolment(&visitor.person.id, names, &existing);
        let (create, state) = begun.map_err(|error| unexpected(&error))?;
        let (confirm, challenge) = match existing.is_empty() {
            true => (Value::Null, None),
            false => {
                let challenge = self.draw()?;
                let options = keys
                    .ceremonies
                    .approval_options(&challenge, &existing)
                    .map_err(|error| unexpected(&error))?;
                (read(&options), Some(challenge))
            }
        };
        let label = visit.form.words("label").unwrap_or_else(|| "passkey".to_owned());
        let begun = Begun::Enrolment {
            session: visitor.session.id.clone(),
            state: Box::new(state),
            label: label.chars().take(LONGEST_LABEL).collect(),
            confirm: challenge,
        };
        let Some(ceremony) = keys.begin(self.draw()?, begun, visit.now) else { return Ok(busy()) };
        let answer = json!({"ceremony": ceremony, "confirm": confirm, "create": read(&create)});
        Ok(answer::json(StatusCode::OK, &answer))
    }

    /// Ends it: the browser did what it was to do, or not.
    pub(crate) async fn finish_enrolment(&self, visit: &Visit, visitor: &Visitor) -> Result<Answer, Trouble> {
        let keys = self.keys().ok_or(Trouble::NotFound)?;
        let begun = keys.finish(visit.form.one("ceremony").unwrap_or_default(), visit.now);
        let Some(Begun::Enrolment { session, state, label, confirm }) = begun else { return Ok(too_late()) };
        if session != visitor.session.id {
            return Ok(too_late());
        }
        if let Some(challenge) = confirm {
            let response = visit.form.one("confirm").unwrap_or_default();
            let signed = keys
                .passkeys(&visitor.person.id)
                .iter()
                .any(|passkey| keys.ceremonies.check_approval(&challenge, response, passkey).is_ok());
            if !signed {
                return Ok(problem(
                    StatusCode::FORBIDDEN,
                    "A key that you have did not confirm it. Nothing was enrolled.",
                ));
            }
        }
        let response = visit.form.one("response").unwrap_or_default();
        let passkey = match keys.ceremonies.finish_enrolment(&state, response) {
            Ok(passkey) => passkey,
            Err(error) => return Ok(refused(&error)),
        };
        let credential = Credential {
            id: CredentialId::from_entropy(self.draw()?),
            person: visitor.person.id.clone(),
            identity: visitor.person.name.to_string(),
            key: Key::Passkey(Box::new(passkey)),
            label,
            created_at: visit.now,
        };
        let kept = keys.kept(&credential).map_err(|_| Trouble::Nonsense("the key cannot be written down"))?;
        self.ledger.enrol(kept, &self.approver(visitor, None).name).await?;
        refresh(&keys.registry, &self.ledger).await?;
        Ok(answer::json(StatusCode::OK, &json!({"to": "/keys"})))
    }

    pub(crate) async fn revoke_key(&self, visit: &Visit, visitor: &Visitor) -> Result<Answer, Trouble> {
        let id = visit.name.parse::<CredentialId>().map_err(|_| Trouble::NotFound)?;
        let keys = self.keys().ok_or(Trouble::NotFound)?;
        self.take(visit, visitor, Pace::Any)?;
        let by = self.approver(visitor, None).name;
        if !self.ledger.revoke_credential(&visitor.person.id, &id, &by).await? {
            return Err(Trouble::NotFound);
        }
        refresh(&keys.registry, &self.ledger).await?;
        Ok(answer::see("/keys"))
    }

    /// Revokes all keys of somebody who lost theirs, so that they can enrol a first one again.
    pub(crate) async fn forget_keys(&self, visit: &Visit, visitor: &Visitor) -> Result<Answer, Trouble> {
        let person = self.person(visit, visitor).await?;
        let keys = self.keys().ok_or(Trouble::NotFound)?;
        self.take(visit, visitor, Pace::Any)?;
        let by = self.approver(visitor, None).name;
        for credential in keys.registry.of(&person.id) {
            self.ledger.revoke_credential(&person.id, &credential.id, &by).await?;
        }
        refresh(&keys.registry, &self.ledger).await?;
        Ok(answer::see("/people"))
    }

    pub(crate) async fn begin_passkey(&self, visit: &Visit) -> Result<Answer, Trouble> {
        let keys = self.keys().ok_or(Trouble::NotFound)?;
        let (options, state) = keys.ceremonies.begin_sign_in().map_err(|error| unexpected(&error))?;
        let begun = Begun::SignIn(Box::new(state));
        let Some(ceremony) = keys.begin(self.draw()?, begun, visit.now) else { return Ok(busy()) };
        Ok(answer::json(StatusCode::OK, &json!({"ceremony": ceremony, "get": read(&options)})))
    }

    pub(crate) async fn use_passkey(&self, visit: &Visit) -> Result<Answer, Trouble> {
        let keys = self.keys().ok_or(Trouble::NotFound)?;
        let begun = keys.finish(visit.form.one("ceremony").unwrap_or_default(), visit.now);
        let Some(Begun::SignIn(state)) = begun else { return Ok(too_late()) };
        let response = visit.form.one("response").unwrap_or_default();
        let claimed = match keys.ceremonies.who(response) {
            Ok(claimed) => claimed,
            Err(error) => return Ok(refused(&error)),
        };
        let theirs = keys.registry.of(&claimed.person);
        let named = theirs.iter().find_map(|credential| {
            let passkey = credential.passkey().filter(|passkey| passkey.raw_id() == claimed.raw_id)?;
            Some((credential, passkey))
        });
        let Some((credential, passkey)) = named else {
            return Ok(problem(StatusCode::FORBIDDEN, "Nobody here has that passkey any more."));
        };
        let used = match keys.ceremonies.finish_sign_in(*state, response, passkey) {
            Ok(used) => used,
            Err(error) => return Ok(refused(&error)),
        };
        let credential = Credential { key: Key::Passkey(Box::new(used)), ..credential.clone() };
        let kept = keys.kept(&credential).map_err(|_| Trouble::Nonsense("the key cannot be written down"))?;
        self.ledger.keep_credential(kept).await?;
        refresh(&keys.registry, &self.ledger).await?;
        let secret = SessionSecret::from_entropy(self.draw()?);
        let new = NewSession {
            id: SessionId::from_entropy(self.draw()?),
            secret: self.hash(&secret),
            browser: browser(&visit.parts.headers),
        };
        let Some(_) = self.ledger.begin_session(&claimed.person, SignInWay::Passkey, new).await? else {
            return Ok(problem(StatusCode::FORBIDDEN, "Nobody here has that passkey any more."));
        };
        let to = visit.goal().map_or_else(|| "/".to_owned(), |goal| goal.path());
        let mut answer = answer::json(StatusCode::OK, &json!({"to": to}));
        answer.headers_mut().extend(visit.address.hold(&secret));
        Ok(answer)
    }
}

fn refused(error: &CeremonyError) -> Answer {
    tracing::warn!(%error, "a passkey was not accepted: {error}");
    problem(StatusCode::FORBIDDEN, "The passkey did not confirm it. Nothing was changed.")
}

fn too_late() -> Answer {
    problem(
        StatusCode::FORBIDDEN,
        "That took too long, or was begun elsewhere. Nothing was changed; begin again.",
    )
}

fn busy() -> Answer {
    problem(
        StatusCode::SERVICE_UNAVAILABLE,
        "Too many are signing in at this moment. Try again in a few minutes.",
    )
}

fn problem(status: StatusCode, words: &str) -> Answer {
    answer::json(status, &json!({"error": words}))
}

fn unexpected(error: &CeremonyError) -> Trouble {
    tracing::error!(%error, "a ceremony could not begin: {error}");
    Trouble::Nonsense("passkeys cannot be used at this moment")
}

fn read(options: &str) -> Value {
    serde_json::from_str(options).unwrap_or_default()
}

const LONGEST_LABEL: usize = 60;
