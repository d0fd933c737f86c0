//! Everybody who may look, decide or rule; inviting them, and what they are from now on.

use std::collections::BTreeSet;

use askama::Template;
use http::StatusCode;
use yesgate_core::id::{GroupName, PersonId};
use yesgate_core::person::{Link, LinkSecret, LinkWay, MailAddress, Person, Role};

use crate::answer::{self, Answer};
use crate::site::{Site, Trouble, Visit};
use crate::token::Pace;
use crate::view::{Frame, Tab, moment};
use crate::visit::Visitor;

#[derive(Template)]
#[template(path = "people.html")]
struct Page {
    frame: Frame,
    people: Vec<Line>,
    /// The token of the form that adds somebody.
    invite: String,
    shown: Option<Shown>,
}

struct Line {
    id: String,
    name: String,
    mail: String,
    role: Role,
    groups: String,
    added: String,
    link: String,
    set: String,
    /// How many keys they have, and the token of the form that revokes them all.
    keys: usize,
    forget: String,
    is_you: bool,
}

/// What came of what was just done.
pub(crate) enum Shown {
    /// A link to hand on, this once.
    Link {
        /// For whom.
        name: String,
        /// The link.
        url: String,
    },
    /// Why it was not done.
    Not(String),
}

impl Site {
    pub(crate) async fn people(
        &self,
        visit: &Visit,
        visitor: &Visitor,
        shown: Option<Shown>,
    ) -> Result<Answer, Trouble> {
        let mut people = self.ledger.people().await?;
        people.retain(|person| person.removed_at.is_none() && person.org == visitor.person.org);
        let line = |person: &Person| {
            let action = format!("/people/{}", person.id);
            let groups: Vec<&str> = person.groups.iter().map(GroupName::as_str).collect();
            Ok(Line {
                id: person.id.to_string(),
                name: person.name.to_string(),
                mail: person.mail.as_ref().map(|mail| mail.as_str().to_owned()).unwrap_or_default(),
                role: person.role,
                groups: groups.join(" "),
                added: moment(person.added_at),
                link: self.token(visitor, &format!("{action}/link"), visit.now)?,
                set: self.token(visitor, &action, visit.now)?,
                keys: self.keys().map_or(0, |keys| keys.registry.of(&person.id).len()),
                forget: self.token(visitor, &format!("{action}/forget-keys"), visit.now)?,
                is_you: person.id == visitor.person.id,
            })
        };
        let people = people.iter().map(line).collect::<Result<Vec<_>, Trouble>>()?;
        let invite = self.token(visitor, "/people", visit.now)?;
        let status = match shown {
            Some(Shown::Not(_)) => StatusCode::CONFLICT,
            Some(Shown::Link { .. }) | None => StatusCode::OK,
        };
        let frame = self.frame(visitor, Tab::People, "People").await?;
        Ok(answer::page(status, &Page { frame, people, invite, shown }))
    }

    pub(crate) async fn invite(&self, visit: &Visit, visitor: &Visitor) -> Result<Answer, Trouble> {
        self.take(visit, visitor, Pace::Any)?;
        let name = visit.form.words("name").and_then(|name| name.parse().ok());
        let Some(name) = name else {
            let why = "A name has 1 to 128 letters, digits and signs of ASCII, and no spaces.";
            return self.people(visit, visitor, Some(Shown::Not(why.to_owned()))).await;
        };
        let person = Person {
            id: PersonId::from_entropy(self.draw()?),
            name,
            org: visitor.person.org.clone(),
            mail: mail(visit)?,
            role: role(visit)?,
            groups: groups(visit)?,
            added_at: visit.now,
            removed_at: None,
        };
        match self.ledger.set_person(person.clone(), &self.approver(visitor, None).name).await? {
            Ok(()) => self.hand_link(visit, visitor, &person).await,
            Err(why) => self.people(visit, visitor, Some(Shown::Not(format!("Not added: {why}.")))).await,
        }
    }

    pub(crate) async fn make_link(&self, visit: &Visit, visitor: &Visitor) -> Result<Answer, Trouble> {
        let person = self.person(visit, visitor).await?;
        self.take(visit, visitor, Pace::Any)?;
        self.hand_link(visit, visitor, &person).await
    }

    pub(crate) async fn set_person(&self, visit: &Visit, visitor: &Visitor) -> Result<Answer, Trouble> {
        let person = self.person(visit, visitor).await?;
        self.take(visit, visitor, Pace::Any)?;
        let changed = match visit.form.one("remove") {
            Some(_) => Person { removed_at: Some(visit.now), ..person },
            None => Person { role: role(visit)?, groups: groups(visit)?, mail: mail(visit)?, ..person },
        };
        match self.ledger.set_person(changed, &self.approver(visitor, None).name).await? {
            Ok(()) => Ok(answer::see("/people")),
            Err(why) => self.people(visit, visitor, Some(Shown::Not(format!("Not changed: {why}.")))).await,
        }
    }

    /// Makes a link for somebody, and shows it to whoever asked for it, this once.
    async fn hand_link(&self, visit: &Visit, visitor: &Visitor, person: &Person) -> Result<Answer, Trouble> {
        let secret = LinkSecret::from_entropy(self.draw()?);
        let link = Link::new(&person.id, LinkWay::Console, visit.now);
        self.ledger.make_link(link, secret.hash(), &self.approver(visitor, None).name).await?;
        let url = format!("{}/sign-in#{}", visit.address.origin, secret.expose());
        let shown = Shown::Link { name: person.name.to_string(), url };
        self.people(visit, visitor, Some(shown)).await
    }

    /// The person that a path names.
    pub(crate) async fn person(&self, visit: &Visit, visitor: &Visitor) -> Result<Person, Trouble> {
        let id = visit.name.parse::<PersonId>().map_err(|_| Trouble::NotFound)?;
        let people = self.ledger.people().await?;
        let is_theirs = |person: &Person| {
            person.id == id && person.removed_at.is_none() && person.org == visitor.person.org
        };
        people.into_iter().find(is_theirs).ok_or(Trouble::NotFound)
    }
}

fn role(visit: &Visit) -> Result<Role, Trouble> {
    let role = visit.form.one("role").and_then(|role| role.parse().ok());
    role.ok_or(Trouble::Nonsense("there is no such role"))
}

fn mail(visit: &Visit) -> Result<Option<MailAddress>, Trouble> {
    let mail = visit.form.words("mail").map(|mail| mail.parse());
    mail.transpose().map_err(|_| Trouble::Nonsense("that is no mail address"))
}

fn groups(visit: &Visit) -> Result<BTreeSet<GroupName>, Trouble> {
    let words = visit.form.words("groups").unwrap_or_default();
    let groups = words.split([' ', ',', '\n']).filter(|word| !word.is_empty());
    let groups = groups.map(str::parse).collect::<Result<_, _>>();
    groups.map_err(|_| Trouble::Nonsense("a group's name has letters, digits, `_`, `.` and `-`"))
}
