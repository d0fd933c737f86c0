//! Which way a question takes: the best that the client can really do and the rule allows.
//!
//! INVARIANT: the way never lowers the proof. A rule that names only stronger ways is not satisfied by a
//! weaker one, and the caller can move a question away from itself, never towards itself.

use super::judge::Case;
use super::rule::Rule;
use crate::assurance::Assurance;
use crate::call::WishedChannel;
use crate::verdict::{Channel, ConfirmType};

/// What the client of a call can do for the human behind it, as far as that is known.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ClientWays {
    /// It shows forms and brings the answer back.
    pub forms: bool,
}

impl Case<'_> {
    /// Where the human is asked, and how well they must be proven.
    pub(super) fn channel_and_proof(&self) -> (Channel, Assurance) {
        let channels = self.channels();
        let weakest = channels.iter().map(|channel| channel.proof()).min().unwrap_or(Assurance::Local);
        let least = self.least().max(weakest);
        match self.presented.channel {
            // Going away from the agent is always more careful, so the caller may choose it.
            Some(WishedChannel::Web) => {
                let way = if channels.contains(&Channel::Web) { Channel::Web } else { Channel::OutOfBand };
                (way, least.max(way.proof()))
            }
            Some(WishedChannel::Chat) if self.is_open(Channel::Chat, least) => (Channel::Chat, least),
            Some(WishedChannel::Chat) | None => {
                let best = channels.iter().copied().find(|channel| self.is_open(*channel, least));
                let best = best.unwrap_or(Channel::OutOfBand);
                match best {
                    Channel::Chat | Channel::Elicitation => (best, least),
                    // I5: a question that is put away from the agent is not answered by the agent's word.
                    Channel::Web | Channel::OutOfBand => (best, least.max(best.proof())),
                }
            }
        }
    }

    /// Where a human may be asked, the preferred place first.
    fn channels(&self) -> &[Channel] {
        self.policy.channels_of(self.found.map(|found| found.rule))
    }

    /// Whether a yes could come this way, and would do.
    fn is_open(&self, channel: Channel, least: Assurance) -> bool {
        let possible = match channel {
            Channel::Chat => least <= Assurance::Relayed,
            Channel::Elicitation => least <= Assurance::Client && self.facts.ways.forms,
            Channel::Web | Channel::OutOfBand => true,
        };
        possible && self.channels().contains(&channel)
    }

    fn least(&self) -> Assurance {
        let defaults = &self.policy.defaults;
        let usual = match self.confirm() {
            ConfirmType::Type => defaults.least_typed,
            ConfirmType::None | ConfirmType::Simple | ConfirmType::Preview => defaults.least,
        };
        let rule = self.found.map(|found| found.rule);
        let least = rule.and_then(|rule| rule.assurance).unwrap_or(usual);
        least.max(rule.map_or(Assurance::Asserted, Rule::least_of_people))
    }

    /// How the human confirms.
    pub(super) fn confirm(&self) -> ConfirmType {
        let said = self.found.and_then(|found| found.rule.confirm.kind);
        said.filter(|kind| *kind != ConfirmType::None).unwrap_or(ConfirmType::Simple)
    }
}
