//! What is over: searched and filtered, the newest first.

use askama::Template;
use http::StatusCode;
use yesgate_core::intent::Intent;
use yesgate_core::render::Sanitized;
use yesgate_ledger::Stage;

use crate::answer::{self, Answer};
use crate::inbox::Line;
use crate::leafing::{Leaf, Leafing};
use crate::site::{Site, Trouble, Visit};
use crate::view::{Frame, Tab};
use crate::visit::Visitor;

#[derive(Template)]
#[template(path = "history.html")]
struct Page {
    frame: Frame,
    /// The words that were searched for, as they go back into the field.
    search: String,
    /// Each ending that can be chosen, and whether it is.
    endings: Vec<(&'static str, bool)>,
    lines: Vec<Line>,
    /// The rest of the address where the list goes on.
    more: Option<String>,
}

/// The endings that can be chosen.
const ENDINGS: [&str; 7] = ["done", "denied", "expired", "cancelled", "superseded", "voided", "resolved"];

impl Site {
    pub(crate) async fn history(&self, visit: &Visit, visitor: &Visitor) -> Result<Answer, Trouble> {
        let search = visit.query("search").unwrap_or_default();
        let search: String = search.trim().chars().take(LONGEST_SEARCH).collect();
        let ending = visit.query("ending").filter(|ending| ENDINGS.contains(&ending.as_str()));
        let after = visit.query("after").and_then(|after| after.parse().ok());
        // Where everything is shown, no more is read than that.
        let chunk = if search.is_empty() && ending.is_none() { ALL_SHOWN } else { Leafing::CHUNK };
        let leafing = Leafing { stage: Stage::Over, after, most: SHOWN, chunk };
        let is_wanted = |intent: &Intent| {
            ending.as_ref().is_none_or(|ending| intent.state().as_str() == ending) && has(intent, &search)
        };
        let Leaf { intents, next } = self.leaf(&visitor.person.org, leafing, is_wanted).await?;
        let lines = intents.iter().map(|intent| Line::of(intent, visit.now)).collect();
        let more = next.map(|after| {
            let mut query = form_urlencoded::Serializer::new(String::new());
            query.append_pair("search", &search).append_pair("ending", ending.as_deref().unwrap_or_default());
            query.append_pair("after", &after.to_string()).finish()
        });
        let endings = ENDINGS.map(|known| (known, ending.as_deref() == Some(known))).to_vec();
        let frame = self.frame(visitor, Tab::History, "History").await?;
        Ok(answer::page(StatusCode::OK, &Page { frame, search, endings, lines, more }))
    }
}

/// Whether all words of a search are in what a list shows of a question.
pub(crate) fn has(intent: &Intent, search: &str) -> bool {
    let binding = &intent.question().binding;
    let decided = intent.decision().map(|decision| decision.by.clone()).unwrap_or_default();
    let text = format!(
        "{} {} {}/{} {} {} {decided}",
        intent.id(),
        intent.question().summary,
        binding.server,
        binding.tool,
        Sanitized::line(binding.caller.client.as_str()),
        binding.caller.principal,
    )
    .to_lowercase();
    search.to_lowercase().split_whitespace().all(|word| text.contains(word))
}

const LONGEST_SEARCH: usize = 200;
/// How many questions a page shows.
const SHOWN: usize = 50;
/// So many are read to show them all, and to know whether there are more.
const ALL_SHOWN: u32 = 51;
