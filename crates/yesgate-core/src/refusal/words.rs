//! The parts of a refusal's text that depend on more than its kind.

use jiff::Timestamp;

use crate::budget::{Exceeded, Over};
use crate::mode::Mode;
use crate::policy::OwnNames;

/// How a call comes to run that its mode forbids. A call that lowered its own mode need only not do so.
pub(super) fn to_run(names: &OwnNames) -> String {
    match &names.set_mode {
        Some(set_mode) => format!(
            "To run it, switch with `{set_mode}` to `execute` (a human is asked), or to `plan` to see a preview \
             where there is one."
        ),
        None => "To run it, call it without `__mode`.".to_owned(),
    }
}

/// How a caller comes to a higher mode.
pub(super) fn to_raise(names: &OwnNames, mode: Mode) -> String {
    match &names.set_mode {
        Some(set_mode) => format!(
            "Raise the mode with `{set_mode}` (a human is asked), or call without `__mode` to stay in {mode} mode."
        ),
        None => format!("Call without `__mode` to stay in {mode} mode."),
    }
}

/// How much is left, that nothing ran, and what helps.
pub(super) fn exceeded(exceeded: &Exceeded) -> String {
    let next = match (exceeded.over, exceeded.frees_at) {
        (Over::Ask, _) => "Call the tool again: a human will be asked.".to_owned(),
        (Over::Reject, Some(at)) => format!("The first of what was spent is free again at {at:.0}."),
        (Over::Reject, None) => "Waiting does not help; a smaller amount does.".to_owned(),
    };
    format!("This call costs {}, and {}. Nothing ran. {next}", exceeded.amount, exceeded.left_of())
}

/// The end of a sentence: until when it holds.
pub(super) fn until_when(until: Option<Timestamp>) -> String {
    until.map(|until| format!(" until {until:.0}")).unwrap_or_default()
}
