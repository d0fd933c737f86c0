//! What humans have set for a caller, beyond the policy: its mode, a freeze, a stop of everything.

use std::collections::HashMap;

use crate::caller::Caller;
use crate::mode::Mode;
use crate::refusal::Why;

/// What holds for one caller at one moment.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Regime {
    /// The mode that was set for it, if one was (M2).
    pub mode: Option<Mode>,
    /// Why it is frozen, if it is.
    pub frozen: Option<String>,
    /// Why everything is stopped, if it is.
    pub stopped: Option<String>,
}

/// What holds for all callers at one moment.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Regimes {
    /// Why everything is stopped, if it is.
    pub stopped: Option<String>,
    /// What was set for single callers: the mode, and why it is frozen.
    pub callers: HashMap<Caller, Regime>,
}

impl Regime {
    /// Why nothing of this caller may be asked or run, whatever the policy says.
    pub fn held_back(&self) -> Option<Why> {
        match (&self.stopped, &self.frozen) {
            (Some(reason), _) => Some(Why::Stopped { reason: reason.clone() }),
            (None, Some(reason)) => Some(Why::ClientFrozen { reason: reason.clone() }),
            (None, None) => None,
        }
    }
}

impl Regimes {
    /// What holds for one caller.
    pub fn of(&self, caller: &Caller) -> Regime {
        // Mostly nothing is set for anybody.
        let own = if self.callers.is_empty() { None } else { self.callers.get(caller) };
        Regime { stopped: self.stopped.clone(), ..own.cloned().unwrap_or_default() }
    }
}
