//! What must hold in every world that can be reached, and what must be possible in some.

use stateright::Property;
use yesgate_core::intent::{DoneKind, State};

use crate::model::Redeeming;
use crate::world::{Call, Stage, World};

/// A sentence that no reachable world may contradict.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Promise {
    /// At most one call for each yes, for ever.
    Once,
    /// No call without a yes.
    OnlyAfterYes,
    /// A no that was recorded before the redeem wins, and so does a clock.
    NoWins,
    /// Once somebody holds the word that a yes is spent, it is.
    NothingReturns,
    /// What a dead node was running is unknown, and stays so until a human settles it.
    LostIsUnknown,
    /// What is written down as not sent was not sent.
    NotSentIsTrue,
}

impl Promise {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Once,
        Self::OnlyAfterYes,
        Self::NoWins,
        Self::NothingReturns,
        Self::LostIsUnknown,
        Self::NotSentIsTrue,
    ];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Once => "at most one call for each yes",
            Self::OnlyAfterYes => "no call without a yes",
            Self::NoWins => "a no that was recorded before the redeem wins",
            Self::NothingReturns => "nothing returns to approved",
            Self::LostIsUnknown => "what a dead node was running is unknown",
            Self::NotSentIsTrue => "what is called not sent was not sent",
        }
    }

    /// Whether it holds in this world.
    pub fn holds(self, world: &World) -> bool {
        match self {
            Self::Once => world.received <= 1,
            Self::OnlyAfterYes => world.received == 0 || world.told.approved,
            Self::NoWins => world.received == 0 || !world.told.closed,
            Self::NothingReturns => !(world.told.spent && world.primary.state == State::Approved),
            Self::LostIsUnknown => {
                !is_claimed_by(world, |attempt| attempt.stage == Stage::Gone)
                    || [State::Running, State::Unknown].contains(&world.primary.state)
            }
            Self::NotSentIsTrue => {
                world.primary.state != State::Done(DoneKind::NotSent)
                    || is_claimed_by(world, |attempt| attempt.call == Call::NotSent)
            }
        }
    }

    fn property(self) -> Property<Redeeming> {
        match self {
            Self::Once => Property::always(self.name(), |_, world| Self::Once.holds(world)),
            Self::OnlyAfterYes => Property::always(self.name(), |_, world| Self::OnlyAfterYes.holds(world)),
            Self::NoWins => Property::always(self.name(), |_, world| Self::NoWins.holds(world)),
            Self::NothingReturns => {
                Property::always(self.name(), |_, world| Self::NothingReturns.holds(world))
            }
            Self::LostIsUnknown => Property::always(self.name(), |_, world| Self::LostIsUnknown.holds(world)),
            Self::NotSentIsTrue => Property::always(self.name(), |_, world| Self::NotSentIsTrue.holds(world)),
        }
    }
}

/// All promises, and what shows that a model in which nothing goes wrong is not one in which nothing happens.
pub(crate) fn properties() -> Vec<Property<Redeeming>> {
    let mut properties = Promise::ALL.map(Promise::property).to_vec();
    properties.extend([
        Property::sometimes("a yes runs", |_, world: &World| {
            world.primary.state == State::Done(DoneKind::Ok) && world.received == 1
        }),
        Property::sometimes("a no stops a yes", |_, world: &World| {
            world.told.approved && world.primary.state == State::Cancelled
        }),
        Property::sometimes("a call whose answer is lost is unknown", |_, world: &World| {
            world.primary.state == State::Unknown && world.received == 1
        }),
        Property::sometimes("a redeem in doubt is not sent", |_, world: &World| {
            world.primary.state == State::Done(DoneKind::NotSent)
        }),
    ]);
    properties
}

fn is_claimed_by(world: &World, is_so: impl Fn(&crate::world::Attempt) -> bool) -> bool {
    world.primary.claim.and_then(|claim| world.attempts.get(claim)).is_some_and(is_so)
}
