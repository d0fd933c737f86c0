//! People who decide, the links that let them in, and their sessions.
//!
//! INVARIANT: a link lets somebody in once, and its use and the session that comes of it are one step. Whoever was
//! removed has no session, no link and no key from the commit on, in whatever process.

use yesgate_core::audit::AuditEvent;
use yesgate_core::id::{PersonId, SessionId};
use yesgate_core::oauth::End;
use yesgate_core::person::{
    Link, LinkWay, Opener, Opening, Person, PersonEvent, SecretHash, Session, SignInWay,
};

use crate::change::{Effects, PeopleWrite, Target, Write};
use crate::error::LedgerError;
use crate::ledger::Ledger;
use crate::oauth::KeptConnection;
use crate::oauth::change::OAuthTarget;
use crate::oauth::ending::{end_all, withdraw_yeses};

/// Why a person was not written down.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NotSet {
    /// Somebody else has that name.
    #[error("somebody of that name is known already")]
    NameTaken,
    /// Somebody else has that mail address.
    #[error("somebody else has that mail address")]
    MailTaken,
    /// There would be nobody left who may rule.
    #[error("the last owner stays an owner: make somebody else one first")]
    LastOwner,
}

/// What came of a link.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum LinkUse {
    /// It is used up, and a session began.
    In(Session),
    /// Another browser asked for it: the digits that it shows are needed. Nothing is used up.
    WantsDigits,
    /// Those digits are others. Nothing is used up.
    WrongDigits,
    /// It does not count.
    No,
}

/// A session that is about to begin.
#[derive(Clone, Debug)]
pub struct NewSession {
    /// The id that it gets.
    pub id: SessionId,
    /// The hash of what its browser will hold.
    pub secret: SecretHash,
    /// What the browser calls itself.
    pub browser: String,
}

impl Ledger {
    /// Everybody, those who were removed too, the oldest first.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn people(&self) -> Result<Vec<Person>, LedgerError> {
        self.store().people().await
    }

    /// Adds a person, or writes down what they are from now on. Removed, they are signed out everywhere, no key of theirs
    /// and no yes that has not run counts, and what they allowed clients ends; that ends with another name or organisation too.
    ///
    /// # Errors
    /// When it is not durable.
    pub async fn set_person(&self, person: Person, by: &str) -> Result<Result<(), NotSet>, LedgerError> {
        let by = by.to_owned();
        self.change(Target::OAuth(OAuthTarget::Person(person.id.clone())), move |found, now| {
            let others = || found.people.iter().filter(|other| other.id != person.id);
            let is_here = |other: &&Person| other.removed_at.is_none();
            let takes_name = |other: &Person| other.org == person.org && other.name == person.name;
            if person.removed_at.is_none() && others().filter(is_here).any(takes_name) {
                return (Err(NotSet::NameTaken), Effects::default());
            }
            let takes_mail = |other: &Person| {
                let mails = person.mail.as_ref().zip(other.mail.as_ref());
                other.org == person.org && mails.is_some_and(|(mail, other)| mail.is(other.as_str()))
            };
            if person.removed_at.is_none() && others().filter(is_here).any(takes_mail) {
                return (Err(NotSet::MailTaken), Effects::default());
            }
            let rules = |person: &Person| person.may(yesgate_core::person::Role::Owner);
            let ruled = found.people.iter().any(|other| other.id == person.id && rules(other));
            if ruled && !rules(&person) && !others().any(rules) {
                return (Err(NotSet::LastOwner), Effects::default());
            }
            let mut events = vec![event(PersonEvent::Set {
                person: person.id.clone(),
                name: person.name.clone(),
                role: person.role,
                fingerprint: person.fingerprint(),
                by: by.clone(),
            })];
            let known = found.people.iter().find(|other| other.id == person.id);
            let is_another = |known: &Person| known.org != person.org || known.name != person.name;
            // What calls for somebody under a name ends with the name: somebody else may get it.
            let (mut writes, mut intents) = (vec![], vec![]);
            if person.removed_at.is_some() || known.is_some_and(is_another) {
                let is_theirs = |kept: &KeptConnection| kept.connection.person == person.id;
                let (theirs, others): (Vec<_>, Vec<_>) =
                    found.oauth.connections.into_iter().partition(is_theirs);
                let mut open = found.intents;
                if person.removed_at.is_some() {
                    withdraw_yeses(&mut open, person.name.as_str(), &by, now);
                }
                let (ended, _) = end_all(&theirs, &others, open, End::PersonEnded, &by, now);
                (writes, intents) = (ended.writes, ended.intents);
                events.extend(ended.events);
            }
            if person.removed_at.is_some() {
                let theirs = found.sessions.iter().filter(|session| session.person == person.id);
                for session in theirs.filter(|session| session.counts(now)) {
                    end(session, &by, &mut writes, &mut events);
                }
                for kept in found.credentials.iter().filter(|kept| kept.person == person.id) {
                    writes.push(Write::People(PeopleWrite::RevokeCredential(kept.id.clone())));
                    let (person, credential) = (person.id.clone(), kept.id.clone());
                    events.push(event(PersonEvent::KeyRevoked { person, credential, by: by.clone() }));
                }
                writes.push(Write::People(PeopleWrite::SpendLinks(person.id.clone())));
            }
            writes.push(Write::People(PeopleWrite::Person(person)));
            (Ok(()), Effects { intents, writes, events, ..Effects::default() })
        })
        .await
    }

    /// Makes a link for somebody; an earlier one of theirs counts no more. One by mail, which anybody can ask for, takes
    /// the place of earlier ones by mail only.
    ///
    /// # Errors
    /// When it is not durable.
    pub async fn make_link(&self, link: Link, secret: SecretHash, by: &str) -> Result<(), LedgerError> {
        let by = by.to_owned();
        self.change(Target::Nothing, move |_, _| {
            let made = event(PersonEvent::LinkMade { person: link.person.clone(), way: link.way, by });
            let person = link.person.clone();
            let earlier = match link.way {
                LinkWay::Console => PeopleWrite::SpendLinks(person),
                LinkWay::Mail => PeopleWrite::SpendMailedLinks(person),
            };
            let writes = vec![Write::People(earlier), Write::People(PeopleWrite::Link(link, secret))];
            ((), Effects { writes, events: vec![made], ..Effects::default() })
        })
        .await
    }

    /// The link with this hash, and whose it is. `None`: there is none that counts.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn link(&self, secret: SecretHash) -> Result<Option<(Link, Person)>, LedgerError> {
        let now = self.now();
        let found = self.store().link(secret).await?;
        Ok(found.filter(|(link, person)| link.counts(now) && person.removed_at.is_none()))
    }

    /// Uses a link up and begins a session with it, where whoever brings it brings enough.
    ///
    /// # Errors
    /// When it is not durable.
    pub async fn use_link(
        &self,
        secret: SecretHash,
        opener: Opener,
        new: NewSession,
    ) -> Result<LinkUse, LedgerError> {
        self.change(Target::Link(secret), move |found, now| {
            let Some((link, person)) = found.link else { return (LinkUse::No, Effects::default()) };
            if !link.counts(now) || person.removed_at.is_some() {
                return (LinkUse::No, Effects::default());
            }
            match link.open(&opener) {
                Opening::In => {}
                Opening::WantsDigits => return (LinkUse::WantsDigits, Effects::default()),
                Opening::WrongDigits => return (LinkUse::WrongDigits, Effects::default()),
            }
            let session = Session::new(new.id, person.id.clone(), link.way.into(), new.browser, now);
            let writes = vec![
                Write::People(PeopleWrite::SpendLinks(person.id.clone())),
                Write::People(PeopleWrite::Session(session.clone(), new.secret)),
            ];
            let events = vec![signed_in(&session)];
            (LinkUse::In(session), Effects { writes, events, ..Effects::default() })
        })
        .await
    }

    /// Has a link that came by mail, and any other such link of its person, count no more.
    ///
    /// # Errors
    /// When it is not durable.
    pub async fn spend_mailed_link(&self, secret: SecretHash) -> Result<(), LedgerError> {
        self.change(Target::Link(secret), |found, _| {
            let spend = |(_, person): (Link, Person)| Write::People(PeopleWrite::SpendMailedLinks(person.id));
            let writes = found.link.map(spend).into_iter().collect();
            ((), Effects { writes, ..Effects::default() })
        })
        .await
    }

    /// Begins a session for somebody who proved who they are without a link. `None`: they are not known here.
    ///
    /// # Errors
    /// When it is not durable.
    pub async fn begin_session(
        &self,
        person: &PersonId,
        way: SignInWay,
        new: NewSession,
    ) -> Result<Option<Session>, LedgerError> {
        let id = person.clone();
        self.change(Target::People, move |found, now| {
            let is_here = |person: &&Person| person.id == id && person.removed_at.is_none();
            if found.people.iter().find(is_here).is_none() {
                return (None, Effects::default());
            }
            let session = Session::new(new.id, id, way, new.browser, now);
            let writes = vec![Write::People(PeopleWrite::Session(session.clone(), new.secret))];
            let events = vec![signed_in(&session)];
            (Some(session), Effects { writes, events, ..Effects::default() })
        })
        .await
    }

    /// Who comes with this secret. `None`: nobody who is signed in.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn session(&self, secret: SecretHash) -> Result<Option<(Session, Person)>, LedgerError> {
        let now = self.now();
        let found = self.store().session(secret).await?;
        Ok(found.filter(|(session, person)| session.counts(now) && person.removed_at.is_none()))
    }

    /// Notes that a session is in use.
    ///
    /// # Errors
    /// When it is not durable.
    pub async fn see_session(&self, id: &SessionId) -> Result<(), LedgerError> {
        let write = Write::People(PeopleWrite::Seen(id.clone()));
        self.change(Target::Nothing, move |_, _| ((), Effects { writes: vec![write], ..Effects::default() }))
            .await
    }

    /// All sessions that count, of everybody, the latest first.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn sessions(&self) -> Result<Vec<Session>, LedgerError> {
        let now = self.now();
        let mut sessions = self.store().sessions().await?;
        sessions.retain(|session| session.counts(now));
        Ok(sessions)
    }

    /// Ends sessions of one person: the one that is named, or all of them. Says how many.
    ///
    /// # Errors
    /// When it is not durable.
    pub async fn end_sessions(
        &self,
        person: &PersonId,
        only: Option<SessionId>,
        by: &str,
    ) -> Result<usize, LedgerError> {
        let (person, by) = (person.clone(), by.to_owned());
        self.change(Target::People, move |found, now| {
            let (mut writes, mut events) = (Vec::new(), Vec::new());
            for session in &found.sessions {
                let is_meant = only.as_ref().is_none_or(|only| session.id == *only);
                if session.person == person && is_meant && session.counts(now) {
                    end(session, &by, &mut writes, &mut events);
                }
            }
            (events.len(), Effects { writes, events, ..Effects::default() })
        })
        .await
    }
}

fn end(session: &Session, by: &str, writes: &mut Vec<Write>, events: &mut Vec<AuditEvent>) {
    writes.push(Write::People(PeopleWrite::EndSession(session.id.clone())));
    let (person, session) = (session.person.clone(), session.id.clone());
    events.push(event(PersonEvent::SignedOut { person, session, by: by.to_owned() }));
}

fn signed_in(session: &Session) -> AuditEvent {
    event(PersonEvent::SignedIn {
        person: session.person.clone(),
        session: session.id.clone(),
        way: session.way,
    })
}

const fn event(event: PersonEvent) -> AuditEvent {
    AuditEvent::Person(event)
}
