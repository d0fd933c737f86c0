//! Changing the arguments of a question, looking at what came of it, and saying yes to that.
//!
//! INVARIANT: the yes is to the changed call as it was shown: the form carries its digest, it is judged anew when the
//! yes comes, and judged again by whoever runs it.

use askama::Template;
use http::StatusCode;
use yesgate_core::id::IntentId;
use yesgate_core::intent::{Edit, Intent};
use yesgate_core::refusal::Why;
use yesgate_core::render::Sanitized;
use yesgate_core::verdict::Question;

use crate::answer::{self, Answer};
use crate::desk::Revised;
use crate::diff::{self, Line};
use crate::question::{Fact, facts, keys, lines, not_theirs};
use crate::site::{Site, Trouble, Visit, words};
use crate::token::Pace;
use crate::view::{Frame, Left, Tab};
use crate::visit::Visitor;

#[derive(Template)]
#[template(path = "edit.html")]
struct Page {
    frame: Frame,
    id: String,
    summary: Sanitized,
    left: Option<Left>,
    code: String,
    facts: Vec<Fact>,
    changes: Vec<Line>,
    arguments: Vec<Sanitized>,
    bytes: usize,
    keys: usize,
    /// What is sent back with the yes: what was asked, what was made of it, and the arguments.
    seen: String,
    made: String,
    text: String,
    token: String,
    /// Why this visitor cannot say yes, where that is so.
    not_yes: Option<String>,
}

/// What is true of the draft only, and not of what will be.
const OF_THE_DRAFT: [&str; 2] = ["Asked at", "Decide by"];

impl Site {
    /// Shows what a visitor would make of a question. Nothing is changed by it.
    pub(crate) async fn look_at_edit(&self, visit: &Visit, visitor: &Visitor) -> Result<Answer, Trouble> {
        let intent = self.find(visit, visitor).await?;
        self.take(visit, visitor, Pace::Any)?;
        let question = match self.revised(visit, &intent).await? {
            Ok(question) => question,
            Err(why) => return self.question(visit, visitor, Some(why)).await,
        };
        let text = question.binding.arguments.as_str().to_owned();
        let (before, after) =
            (intent.question().binding.arguments.to_value(), question.binding.arguments.to_value());
        // Only to be looked at: the ledger opens the real one.
        let draft = Intent::open(
            IntentId::from_entropy(self.draw()?),
            question,
            intent.asked_by().clone(),
            visit.now,
        );
        let page = Page {
            frame: self.frame(visitor, Tab::Inbox, "Changed call").await?,
            id: intent.id().to_string(),
            summary: draft.question().summary.clone(),
            left: Left::of(&intent, visit.now),
            code: draft.digest().match_code(),
            facts: facts(&draft).into_iter().filter(|fact| !OF_THE_DRAFT.contains(&fact.name)).collect(),
            changes: diff::compare(&lines(&before), &lines(&after)),
            arguments: lines(&after),
            bytes: text.len(),
            keys: keys(&after),
            seen: intent.digest().0.to_string(),
            made: draft.digest().0.to_string(),
            text,
            token: self.token(visitor, &format!("/approve/{}/edited", intent.id()), visit.now)?,
            not_yes: not_theirs(&intent, visitor, visit.now).or_else(|| self.not_yes(&draft, visitor)),
        };
        Ok(answer::page(StatusCode::OK, &page))
    }

    /// Says yes to what was made of a question, in its place.
    pub(crate) async fn approve_edit(&self, visit: &Visit, visitor: &Visitor) -> Result<Answer, Trouble> {
        let intent = self.find(visit, visitor).await?;
        let seen = visit.digest("seen")?;
        let made = visit.digest("made")?;
        self.take(visit, visitor, Pace::Human)?;
        let question = match self.revised(visit, &intent).await? {
            Ok(question) if question.binding.digest() == made => question,
            Ok(_) => return self.question(visit, visitor, Some(words(&Why::ContentChanged.into()))).await,
            Err(why) => return self.question(visit, visitor, Some(why)).await,
        };
        let id = IntentId::from_entropy(self.draw()?);
        let by = self.approver(visitor, None);
        let edit = Edit { of: intent.id().clone(), seen, id: id.clone(), question, by };
        match self.ledger.edit(edit).await? {
            Ok(()) => Ok(answer::see(&format!("/approve/{id}"))),
            Err(refusal) => self.question(visit, visitor, Some(words(&refusal))).await,
        }
    }

    /// The question with the arguments that were sent, or why there is none, in words.
    async fn revised(&self, visit: &Visit, intent: &Intent) -> Result<Result<Question, String>, Trouble> {
        let text = visit.form.one("arguments").ok_or(Trouble::Nonsense("the form has no arguments"))?;
        Ok(match self.desk.revise(intent, text).await? {
            Revised::As(question) => Ok(*question),
            Revised::Same => {
                Err("These are the arguments that were asked about: nothing was changed.".into())
            }
            Revised::Refused(refusal) => Err(format!("Not changed: {}", words(&refusal))),
            Revised::Unreadable(why) => Err(format!("Not changed: {}.", Sanitized::line(&why))),
        })
    }
}
