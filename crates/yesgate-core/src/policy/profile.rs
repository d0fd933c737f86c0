//! Profiles: a few settings under a name, one for each of the designs that Yesgate keeps the
//! promises of. A profile is data, never a second code path.

use std::fmt;

use jiff::SignedDuration;

use crate::assurance::Assurance;
use crate::mode::Mode;
use crate::verdict::{Channel, ConfirmType, Times};

/// A named set of defaults.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Profile {
    /// Ask in the conversation, and run on the second call.
    Handshake,
    /// Run only with the operator's key and the caller's key turned.
    TwoKey,
    /// Decide about money by amounts and recipients.
    Spend,
    /// Begin in ask mode.
    Modes,
    /// Begin in ask mode, and take a yes only from a signed-in person away from the agent.
    Strict,
}

impl Profile {
    /// Every profile.
    pub const ALL: [Self; 5] = [Self::Handshake, Self::TwoKey, Self::Spend, Self::Modes, Self::Strict];

    /// The word used in configuration and tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Handshake => "handshake",
            Self::TwoKey => "two-key",
            Self::Spend => "spend",
            Self::Modes => "modes",
            Self::Strict => "strict",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What holds where neither a rule nor a setting says otherwise.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Defaults {
    pub(super) mode: Mode,
    /// Where a human may be asked, the preferred place first.
    pub(super) channels: &'static [Channel],
    /// The least proof of a human for a dangerous call.
    pub(super) least: Assurance,
    /// The same, where the human must type the resource's name.
    pub(super) least_typed: Assurance,
    pub(super) times: Times,
    /// How long a human has in front of a form or a preview, and how long a token lives that comes with a preview.
    pub(super) shown: Shown,
    /// How long a call is held open before it is answered.
    pub(super) hold: SignedDuration,
    /// How long a modern client goes on waiting after that.
    pub(super) wait: SignedDuration,
    /// What is answered faster than this was not read by anybody.
    pub(super) reflex: SignedDuration,
}

/// The clocks of a question that comes with something to look at.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Shown {
    pub(super) token: SignedDuration,
    pub(super) decide: SignedDuration,
}

impl Defaults {
    /// The clocks of a question that is put this way. Whoever is asked away from the agent has to be found first, so
    /// that they get the longer time whatever they are shown.
    pub(super) const fn times(&self, channel: Channel, confirm: ConfirmType) -> Times {
        let times = self.times;
        match (channel, confirm) {
            (Channel::Web | Channel::OutOfBand, _)
            | (Channel::Chat, ConfirmType::None | ConfirmType::Simple | ConfirmType::Type) => times,
            (Channel::Chat | Channel::Elicitation, ConfirmType::Preview) => {
                Times { token: self.shown.token, decide: self.shown.decide, ..times }
            }
            (Channel::Elicitation, ConfirmType::None | ConfirmType::Simple | ConfirmType::Type) => {
                Times { decide: self.shown.decide, ..times }
            }
        }
    }

    /// The table of profiles; `None` is no configuration at all.
    pub(super) const fn of(profile: Option<Profile>) -> Self {
        let base = Self {
            mode: Mode::Execute,
            channels: AUTO,
            least: Assurance::Relayed,
            least_typed: Assurance::Local,
            times: times(SignedDuration::from_secs(60), SignedDuration::from_mins(30)),
            shown: Shown { token: SignedDuration::from_mins(5), decide: SignedDuration::from_mins(5) },
            hold: LONGEST_HOLD,
            wait: SignedDuration::from_mins(5),
            reflex: SignedDuration::from_millis(500),
        };
        match profile {
            None => base,
            Some(Profile::Handshake) => {
                // H4: a token lives for a minute, whatever is shown with it.
                let shown = Shown { token: base.times.token, ..base.shown };
                Self { channels: &[Channel::Chat], least_typed: Assurance::Relayed, shown, ..base }
            }
            Some(Profile::TwoKey) => Self {
                channels: &[Channel::Elicitation],
                least: Assurance::Asserted,
                least_typed: Assurance::Client,
                ..base
            },
            Some(Profile::Spend) => Self {
                channels: &[Channel::Elicitation, Channel::Chat, Channel::OutOfBand],
                times: times(SignedDuration::from_mins(10), SignedDuration::from_mins(10)),
                shown: Shown { token: SignedDuration::from_mins(10), decide: SignedDuration::from_mins(10) },
                ..base
            },
            Some(Profile::Modes) => Self {
                mode: Mode::Ask,
                least_typed: Assurance::Client,
                times: times(SignedDuration::from_mins(5), SignedDuration::from_mins(5)),
                ..base
            },
            Some(Profile::Strict) => Self {
                mode: Mode::Ask,
                channels: &[Channel::Web, Channel::OutOfBand],
                least: Assurance::SignedIn,
                shown: Shown { decide: base.times.decide, ..base.shown },
                least_typed: Assurance::Verified,
                ..base
            },
        }
    }
}

/// The best that the client can do, and the conversation where it can do nothing better.
pub(super) const AUTO: &[Channel] = &[Channel::Elicitation, Channel::Chat];

const fn times(token: SignedDuration, decide: SignedDuration) -> Times {
    Times { token, decide, run: SignedDuration::from_secs(60), cool_off: SignedDuration::from_mins(10) }
}

/// Most clients give up on a call after sixty seconds.
pub(super) const LONGEST_HOLD: SignedDuration = SignedDuration::from_secs(45);
