//! What somebody says about a question, wherever they say it: on its page, or by REST.
//!
//! - INVARIANT: this is the one way in which people decide over HTTP. Whoever calls has seen to it that a person who may
//!   decide is there, and that their browser meant it.
//! - INVARIANT: a yes is to what was seen: it carries its digest, and the ledger compares it.

use yesgate_core::assurance::Assurance;
use yesgate_core::digest::CallDigest;
use yesgate_core::grant::Wish;
use yesgate_core::intent::{Approver, Intent};
use yesgate_core::proof::Proven;
use yesgate_core::refusal::Refusal;

use crate::site::{Site, Trouble};
use crate::visit::Visitor;

/// What somebody says.
#[derive(Debug)]
pub(crate) enum Saying {
    /// Yes.
    Yes(Box<Yes>),
    /// No, and why.
    No(Option<String>),
    /// No, and nothing more of that client.
    Suspicious(Option<String>),
    /// Words for the agent in place of a run.
    Words(String),
}

/// A yes.
#[derive(Debug)]
pub(crate) struct Yes {
    /// What was seen.
    pub(crate) seen: CallDigest,
    /// What was typed, where something had to be.
    pub(crate) typed: Option<String>,
    /// What a key of theirs signed.
    pub(crate) proof: Option<Proven>,
    /// What is to be remembered.
    pub(crate) remember: Option<Wish>,
}

/// What came of it.
#[derive(Debug)]
pub(crate) enum Decided {
    /// It is decided.
    Done,
    /// It is one yes of several.
    Counted,
    /// Nothing is.
    Not(Refusal),
}

impl Site {
    /// Takes what somebody says about a question.
    pub(crate) async fn say(
        &self,
        visitor: &Visitor,
        intent: &Intent,
        saying: Saying,
    ) -> Result<Decided, Trouble> {
        let said = match saying {
            Saying::Yes(yes) => self.say_yes(visitor, intent, *yes).await?,
            Saying::No(reason) => {
                let by = self.approver(visitor, None);
                let update = move |intent: &mut Intent, now| intent.deny(&by, reason, now);
                self.ledger.update(intent.id(), update).await?.ok_or(Trouble::NotFound)?
            }
            Saying::Suspicious(reason) => {
                let reason = reason.unwrap_or_else(|| "a human found a question of it suspicious".to_owned());
                self.ledger.suspect(intent, self.approver(visitor, None), &reason).await?.denied
            }
            Saying::Words(text) => {
                let by = self.approver(visitor, None);
                let update = move |intent: &mut Intent, now| intent.respond(&by, text, now);
                self.ledger.update(intent.id(), update).await?.ok_or(Trouble::NotFound)?
            }
        };
        let Err(refusal) = said else { return Ok(Decided::Done) };
        let current = self.ledger.intent(intent.id()).await?.ok_or(Trouble::NotFound)?;
        let is_counted = current.yeses().len() > intent.yeses().len();
        Ok(if is_counted { Decided::Counted } else { Decided::Not(refusal) })
    }

    async fn say_yes(
        &self,
        visitor: &Visitor,
        intent: &Intent,
        yes: Yes,
    ) -> Result<Result<(), Refusal>, Trouble> {
        let Yes { seen, typed, proof, remember } = yes;
        let clicked = self.approver(visitor, typed);
        let by = match proof {
            Some(proof) => Approver {
                assurance: Assurance::Verified,
                proof: Some(proof),
                // A key is a person's own, whatever a click proves.
                identity: Some(visitor.person.name.to_string()),
                ..clicked
            },
            None => clicked,
        };
        match remember {
            None => {
                let update = move |intent: &mut Intent, now| intent.approve(&by, seen, now);
                self.ledger.update(intent.id(), update).await?.ok_or(Trouble::NotFound)
            }
            Some(wish) => {
                let made = self.ledger.approve_and_remember(intent.id(), by, seen, wish).await?;
                Ok(made.ok_or(Trouble::NotFound)?.map(drop))
            }
        }
    }
}
