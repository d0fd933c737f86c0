//! Deciding a question on its page: from the form that somebody sent to what they said.
//!
//! INVARIANT: a yes is to what was on the page: the form carries its digest, and the ledger compares it.

use jiff::{SignedDuration, Timestamp};
use yesgate_core::grant::{Limits, Wish, WishedScope};
use yesgate_core::id::GrantId;
use yesgate_core::intent::{Answer as Answered, Intent};
use yesgate_core::policy::Pattern;
use yesgate_core::proof::{Evidence, EvidenceText, Nonce, NotProven, Proven, Statement};

use crate::answer::{self, Answer};
use crate::saying::{Decided, Saying, Yes};
use crate::site::{Site, Trouble, Visit, words};
use crate::token::Pace;
use crate::visit::Visitor;

/// What somebody says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Said {
    Yes,
    No,
    /// No, and nothing more of that client.
    Suspicious,
    /// Words for the agent in place of a run.
    Words,
}

impl Said {
    fn read(word: &str) -> Option<Self> {
        match word {
            "approve" => Some(Self::Yes),
            "deny" => Some(Self::No),
            "suspicious" => Some(Self::Suspicious),
            "respond" => Some(Self::Words),
            _ => None,
        }
    }
}

impl Site {
    /// Takes what somebody says about a question.
    pub(crate) async fn decide(&self, visit: &Visit, visitor: &Visitor) -> Result<Answer, Trouble> {
        let intent = self.find(visit, visitor).await?;
        let said = visit.form.one("answer").and_then(Said::read);
        let said = said.ok_or(Trouble::Nonsense("the form does not say what was decided"))?;
        let pace = match said {
            Said::Yes => Pace::Human,
            Said::No | Said::Suspicious | Said::Words => Pace::Any,
        };
        self.take(visit, visitor, pace)?;
        let reason = visit.form.words("reason");
        let saying = match said {
            Said::Yes => match self.signature(visit, visitor, &intent) {
                Some(Err(_)) => {
                    let words = "The passkey did not sign this call, or not in time. Nothing was decided.";
                    return self.question(visit, visitor, Some(words.to_owned())).await;
                }
                signed => Saying::Yes(Box::new(Yes {
                    seen: visit.digest("seen")?,
                    typed: visit.form.one("typed").map(str::to_owned),
                    proof: signed.and_then(Result::ok),
                    remember: self.wish(visit)?,
                })),
            },
            Said::No => Saying::No(reason),
            Said::Suspicious => Saying::Suspicious(reason),
            Said::Words => {
                Saying::Words(reason.ok_or(Trouble::Nonsense("there are no words to answer with"))?)
            }
        };
        match self.say(visitor, &intent, saying).await? {
            Decided::Done | Decided::Counted => Ok(answer::see(&format!("/approve/{}", intent.id()))),
            Decided::Not(refusal) => self.question(visit, visitor, Some(words(&refusal))).await,
        }
    }

    /// What the visitor's passkey signed, where the form carries that.
    fn signature(
        &self,
        visit: &Visit,
        visitor: &Visitor,
        intent: &Intent,
    ) -> Option<Result<Proven, NotProven>> {
        let assertion = visit.form.one("assertion").filter(|assertion| !assertion.is_empty())?;
        let proven = || {
            let nonce = visit.form.one("nonce")?;
            let nonce: Nonce = serde_json::from_value(nonce.into()).ok()?;
            let until: Timestamp = visit.form.one("until")?.parse().ok()?;
            let now_asked = intent.statement(Answered::Approve);
            // What was signed may end before what could be signed now, never after it.
            let statement = Statement { until, ..now_asked.clone() };
            let assertion = EvidenceText::try_from(assertion.to_owned()).ok()?;
            let evidence = Evidence::Passkey { nonce, assertion };
            let keys = self.keys().filter(|_| until <= now_asked.until)?;
            keys.registry.prove(&visitor.person.id, &statement, &evidence).ok()
        };
        Some(proven().ok_or(NotProven))
    }

    /// What is to be remembered, where anything is.
    fn wish(&self, visit: &Visit) -> Result<Option<Wish>, Trouble> {
        let scope = match visit.form.one("remember") {
            None | Some("no") => return Ok(None),
            Some("exact") => WishedScope::Exact,
            Some("tool") => WishedScope::Tool,
            Some("pattern") => {
                let pattern = visit.form.words("pattern").and_then(|text| Pattern::parse(&text).ok());
                let why = Trouble::Nonsense("the pattern is no condition over `args`");
                WishedScope::Pattern(pattern.ok_or(why)?)
            }
            Some(_) => return Err(Trouble::Nonsense("there is no such way to remember a yes")),
        };
        let (uses, lasting) = match visit.form.one("limit") {
            Some("10-uses") => (Some(10), None),
            Some("1-hour") => (None, Some(SignedDuration::from_hours(1))),
            Some("8-hours") => (None, Some(SignedDuration::from_hours(8))),
            Some("7-days") => (None, Some(SignedDuration::from_hours(7 * 24))),
            Some(_) | None => return Err(Trouble::Nonsense("a yes is not remembered without a limit")),
        };
        let until = lasting.map(|time| visit.now + time);
        let limits = Limits::new(uses, until, visit.now);
        let limits = limits.ok_or(Trouble::Nonsense("a yes is not remembered without a limit"))?;
        Ok(Some(Wish { id: GrantId::from_entropy(self.draw()?), scope, limits }))
    }

    /// Settles a run whose answer was lost.
    pub(crate) async fn resolve(&self, visit: &Visit, visitor: &Visitor) -> Result<Answer, Trouble> {
        let intent = self.find(visit, visitor).await?;
        let ran = match visit.form.one("ran") {
            Some("yes") => true,
            Some("no") => false,
            Some(_) | None => return Err(Trouble::Nonsense("the form does not say whether it ran")),
        };
        self.take(visit, visitor, Pace::Any)?;
        let by = self.approver(visitor, None).name;
        let resolved =
            self.ledger.update(intent.id(), move |intent, now| intent.resolve(&by, ran, now)).await?;
        match resolved.ok_or(Trouble::NotFound)? {
            Ok(()) => Ok(answer::see(&format!("/approve/{}", intent.id()))),
            Err(refusal) => self.question(visit, visitor, Some(words(&refusal))).await,
        }
    }
}
