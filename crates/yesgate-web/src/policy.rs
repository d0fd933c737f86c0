//! The policy in force: its rules, what it says of a call, and what it would have said of the last questions.

use askama::Template;
use http::StatusCode;
use yesgate_core::intent::Intent;
use yesgate_core::render::Sanitized;
use yesgate_ledger::{Listing, Stage};

use crate::answer::{self, Answer};
use crate::desk::{CallWords, Hindsight, PolicyLook};
use crate::site::{Site, Trouble, Visit};
use crate::view::{Frame, Tab, ago};
use crate::visit::Visitor;

#[derive(Template)]
#[template(path = "policy.html")]
struct Page {
    frame: Frame,
    policy: PolicyLook,
    /// The call that is explained, as it goes back into the form.
    tool: String,
    arguments: String,
    explained: Option<Result<Vec<Sanitized>, Sanitized>>,
    questions: Vec<Question>,
}

struct Question {
    id: String,
    summary: Sanitized,
    asked: String,
    state: &'static str,
    /// The rule that asked then.
    then: Sanitized,
    now: Option<Hindsight>,
}

impl Site {
    pub(crate) async fn policy(&self, visit: &Visit, visitor: &Visitor) -> Result<Answer, Trouble> {
        let field = |name| visit.query(name).map(|words| words.trim().to_owned());
        let tool = field("tool").filter(|tool| !tool.is_empty());
        let arguments = field("args").filter(|arguments| !arguments.is_empty());
        let arguments = arguments.unwrap_or_else(|| "{}".to_owned());
        let explained = match &tool {
            Some(tool) => {
                let call = CallWords { tool: tool.clone(), arguments: arguments.clone() };
                Some(self.desk.explain(&call).await?)
            }
            None => None,
        };
        let page = Page {
            frame: self.frame(visitor, Tab::Policy, "Policy").await?,
            policy: self.desk.policy().await?,
            tool: tool.unwrap_or_default(),
            arguments,
            explained,
            questions: self.in_hindsight(visit, visitor).await?,
        };
        Ok(answer::page(StatusCode::OK, &page))
    }

    /// The last questions, the newest first, with what would be said of them now.
    async fn in_hindsight(&self, visit: &Visit, visitor: &Visitor) -> Result<Vec<Question>, Trouble> {
        let mut listed = Vec::new();
        for stage in [Stage::Over, Stage::Waiting, Stage::UnderWay, Stage::Lost] {
            let listing = Listing { org: visitor.person.org.clone(), stage, after: None, most: SHOWN };
            listed.extend(self.ledger.list(listing).await?);
        }
        listed.sort_by_key(|listed| std::cmp::Reverse(listed.number));
        listed.truncate(usize::try_from(SHOWN).unwrap_or(usize::MAX));
        // What an application asks about itself is not judged by the policy.
        let intents: Vec<Intent> = listed
            .into_iter()
            .map(|listed| listed.intent)
            .filter(|intent| intent.question().binding.is_tool_call())
            .collect();
        let hindsight = self.desk.hindsight(&intents).await?;
        let question = |(intent, now): (&Intent, Option<Hindsight>)| Question {
            id: intent.id().to_string(),
            summary: intent.question().summary.clone(),
            asked: ago(intent.opened_at(), visit.now),
            state: intent.state().as_str(),
            then: match &intent.question().rule {
                Some(rule) => Sanitized::line(&format!("rule {rule}")),
                None => Sanitized::fixed("no rule"),
            },
            now,
        };
        Ok(intents.iter().zip(hindsight).map(question).collect())
    }
}

/// How many questions are looked at again.
const SHOWN: u32 = 50;
