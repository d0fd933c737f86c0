//! The protocol revisions that the fronts speak, as an order: what holds from one on holds in all later ones.

use crate::era::Era;
use crate::talk::ELICITATION_COMPLETE;

/// One revision of the protocol.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Revision {
    /// 2025-03-26: sessions, batches, no elicitation.
    March2025,
    /// 2025-06-18: elicitation by form, no batches.
    June2025,
    /// 2025-11-25: elicitation by URL, streams that begin with an empty event.
    November2025,
    /// 2026-07-28: no sessions.
    July2026,
}

impl Revision {
    /// All of them, the newest first, as they are named to a client that asked for another one.
    pub(crate) const ALL: [Self; 4] = [Self::July2026, Self::November2025, Self::June2025, Self::March2025];

    /// The newest one with sessions.
    pub(crate) const NEWEST_LEGACY: Self = Self::November2025;

    /// The protocol's name for it.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::March2025 => "2025-03-26",
            Self::June2025 => "2025-06-18",
            Self::November2025 => crate::era::LEGACY_VERSION,
            Self::July2026 => crate::era::MODERN_VERSION,
        }
    }

    /// The one of this name.
    pub(crate) fn named(version: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == version)
    }

    /// The rules that hold in it.
    pub(crate) const fn era(self) -> Era {
        match self {
            Self::March2025 | Self::June2025 | Self::November2025 => Era::Legacy,
            Self::July2026 => Era::Modern,
        }
    }

    /// Whether a notification to a client has a meaning in it, as far as revisions differ in that.
    pub(crate) fn hears(self, notification: &str) -> bool {
        match self {
            Self::November2025 => true,
            Self::March2025 | Self::June2025 | Self::July2026 => notification != ELICITATION_COMPLETE,
        }
    }

    /// What a client that opens a session with this wish is given: its own where we know it, else our newest.
    pub(crate) fn negotiate(wish: &str) -> Self {
        match Self::named(wish) {
            Some(known @ (Self::March2025 | Self::June2025 | Self::November2025)) => known,
            Some(Self::July2026) | None => Self::NEWEST_LEGACY,
        }
    }
}
