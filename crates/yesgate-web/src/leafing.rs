//! Going through the questions of an organisation, some at a time, until enough of those are found that somebody wants.
//!
//! INVARIANT: what a leaf ends with is where the next one begins: nothing is passed over, and nothing comes twice.

use yesgate_core::id::OrgId;
use yesgate_core::intent::Intent;
use yesgate_ledger::{LedgerError, Listing, Stage};

use crate::site::Site;

/// Where to begin, and how far to go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leafing {
    pub(crate) stage: Stage,
    /// After this one; `None`: from the first.
    pub(crate) after: Option<u64>,
    /// How many are wanted.
    pub(crate) most: usize,
    /// How many are read in one go.
    pub(crate) chunk: u32,
}

/// What was found.
#[derive(Debug)]
pub(crate) struct Leaf {
    pub(crate) intents: Vec<Intent>,
    /// Where it goes on, where it does.
    pub(crate) next: Option<u64>,
}

impl Leafing {
    /// How many are read in one go where most of them are not wanted.
    pub(crate) const CHUNK: u32 = 200;
}

impl Site {
    /// Finds questions. Who looks for something rare is given what there is after some thousands, and goes on from there.
    pub(crate) async fn leaf(
        &self,
        org: &OrgId,
        leafing: Leafing,
        is_wanted: impl Fn(&Intent) -> bool,
    ) -> Result<Leaf, LedgerError> {
        let Leafing { stage, mut after, most, chunk } = leafing;
        let mut intents = Vec::new();
        for _ in 0..MOST_CHUNKS {
            let listed = self.ledger.list(Listing { org: org.clone(), stage, after, most: chunk }).await?;
            let is_last = listed.len() < usize::try_from(chunk).unwrap_or(usize::MAX);
            for listed in listed {
                // Found out only where there is more: the next one begins before it.
                if intents.len() == most {
                    return Ok(Leaf { intents, next: after });
                }
                after = Some(listed.number);
                if is_wanted(&listed.intent) {
                    intents.push(listed.intent);
                }
            }
            if is_last {
                return Ok(Leaf { intents, next: None });
            }
        }
        Ok(Leaf { intents, next: after })
    }
}

/// How often more is read for one leaf.
const MOST_CHUNKS: usize = 25;
