//! The inbox: what waits for a human, and above it what a human must settle.

use askama::Template;
use http::StatusCode;
use jiff::{SignedDuration, Timestamp};
use yesgate_core::approvers::plainly;
use yesgate_core::intent::Intent;
use yesgate_core::render::Sanitized;
use yesgate_ledger::{Listing, Stage};
use yesgate_proof::credential::Credential;

use crate::alarms::Alarm;
use crate::answer::{self, Answer};
use crate::site::{Site, Trouble, Visit};
use crate::view::{Frame, Left, Tab, ago};
use crate::visit::Visitor;

/// One question in a list.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) id: String,
    pub(crate) summary: Sanitized,
    pub(crate) server: String,
    pub(crate) tool: String,
    pub(crate) class: &'static str,
    pub(crate) client: Sanitized,
    pub(crate) principal: String,
    pub(crate) code: String,
    pub(crate) state: &'static str,
    pub(crate) asked: String,
    pub(crate) left: Option<Left>,
    /// The groups whose yes it waits for, where the rule names some.
    pub(crate) approvers: Option<String>,
    /// How many of the people who must agree have.
    pub(crate) quorum: Option<(usize, u8)>,
}

impl Line {
    pub(crate) fn of(intent: &Intent, now: Timestamp) -> Self {
        let question = intent.question();
        let binding = &question.binding;
        let need = question.quorum.people();
        Self {
            id: intent.id().to_string(),
            summary: question.summary.clone(),
            server: binding.server.to_string(),
            tool: binding.tool.to_string(),
            class: question.classified.class.as_str(),
            client: Sanitized::line(binding.caller.client.as_str()),
            principal: binding.caller.principal.to_string(),
            code: intent.digest().match_code(),
            state: intent.state().as_str(),
            asked: ago(intent.opened_at(), now),
            left: Left::of(intent, now),
            approvers: question.approvers.as_ref().map(|named| plainly(&named.groups)),
            quorum: (need > 1).then(|| (intent.yeses().len(), need)),
        }
    }
}

#[derive(Template)]
#[template(path = "inbox.html")]
struct Page {
    frame: Frame,
    lost: Vec<Line>,
    waiting: Vec<Line>,
    under_way: Vec<Line>,
    /// What ended because somebody else had a copy of a secret.
    alarms: Vec<Alarm>,
    /// The keys that others have enrolled lately.
    new_keys: Vec<NewKey>,
    /// Where the list goes on.
    more: Option<u64>,
    /// What tells one content from another.
    version: String,
}

/// A key that somebody has enrolled lately: whoever enrols one in another's name is noticed (THREATS §4.3).
struct NewKey {
    name: String,
    label: Sanitized,
    since: String,
}

impl Site {
    /// The keys of others of the same organisation that are new.
    async fn new_keys(&self, visit: &Visit, visitor: &Visitor) -> Result<Vec<NewKey>, Trouble> {
        let Some(keys) = self.keys() else { return Ok(Vec::new()) };
        let people = self.ledger.people().await?;
        let others = people
            .iter()
            .filter(|person| person.removed_at.is_none() && person.org == visitor.person.org)
            .filter(|person| person.id != visitor.person.id);
        let is_new = |key: &Credential| visit.now.duration_since(key.created_at) < NEW;
        let new = others.flat_map(|person| {
            let theirs = keys.registry.of(&person.id).into_iter().filter(is_new);
            theirs.map(|key| NewKey {
                name: person.name.to_string(),
                label: Sanitized::line(&key.label),
                since: ago(key.created_at, visit.now),
            })
        });
        Ok(new.collect())
    }

    pub(crate) async fn inbox(&self, visit: &Visit, visitor: &Visitor) -> Result<Answer, Trouble> {
        let after = visit.query("after").and_then(|after| after.parse().ok());
        let list = |stage, after, most| {
            let listing = Listing { org: visitor.person.org.clone(), stage, after, most };
            self.ledger.list(listing)
        };
        let lost = list(Stage::Lost, None, SHOWN).await?;
        let under_way = list(Stage::UnderWay, None, SHOWN).await?;
        let mut waiting = list(Stage::Waiting, after, SHOWN + 1).await?;
        let goes_on = waiting.len() > usize::try_from(SHOWN).unwrap_or(usize::MAX);
        waiting.truncate(usize::try_from(SHOWN).unwrap_or(usize::MAX));
        let more = waiting.last().filter(|_| goes_on).map(|last| last.number);
        // One whose time is over waits for nobody, whether somebody has noticed or not.
        waiting.retain(|listed| visit.now < listed.intent.decide_by());
        let version = [&lost, &waiting, &under_way]
            .into_iter()
            .flatten()
            .map(|listed| {
                format!("{}{}{}", listed.number, listed.intent.state(), listed.intent.yeses().len())
            })
            .collect();
        let lines = |listed: Vec<yesgate_ledger::Listed>| {
            listed.iter().map(|listed| Line::of(&listed.intent, visit.now)).collect::<Vec<_>>()
        };
        let frame = self.frame(visitor, Tab::Inbox, "Inbox").await?;
        let page = Page {
            frame,
            alarms: self.alarms(visit, visitor).await?,
            new_keys: self.new_keys(visit, visitor).await?,
            lost: lines(lost),
            waiting: lines(waiting),
            under_way: lines(under_way),
            more,
            version,
        };
        Ok(answer::page(StatusCode::OK, &page))
    }
}

/// How many questions a page shows.
const SHOWN: u32 = 50;
/// How long a key is new to others.
const NEW: SignedDuration = SignedDuration::from_hours(7 * 24);
