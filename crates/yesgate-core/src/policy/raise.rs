//! Raising the mode of a caller is itself a question, whatever rules there are (M6).

use super::condition::{Spending, Subject, World};
use super::judge::{Case, Judged};
use super::trace::DecidedBy;
use super::{Facts, Policy};
use crate::call::{Presented, ToolCall};
use crate::class::{Class, ClassSource, Classified};
use crate::permit::{Permit, PermittedCall};
use crate::verdict::Verdict;

impl Policy {
    /// Decides about a call that sets the caller's mode to its own. Rules have no say: no `then = "run"` may
    /// let an agent raise itself.
    pub fn decide_mode(&self, call: ToolCall, presented: &Presented, facts: &Facts<'_>) -> Verdict {
        if let Some(why) = facts.regime.held_back() {
            return Verdict::Refuse(why.into());
        }
        let in_force = facts.regime.mode.unwrap_or(self.defaults.mode);
        let mode = call.binding.mode;
        if mode <= in_force {
            return Verdict::Forward(PermittedCall::new(call, Permit::Class(Class::SafeWrite)));
        }
        let binding = &call.binding;
        let world = World::new(Subject {
            caller: &binding.caller,
            server: &binding.server,
            tool: &binding.tool,
            class: Class::Dangerous,
            arguments: &binding.arguments,
            state: None,
            spent: Spending::Read(facts.spent),
            now: facts.now,
        });
        let raising = Presented { mode: Some(mode), ..presented.clone() };
        let ruling = Case::without_rule(self, &call, &world, &raising, facts, in_force).ask();
        let classified = Classified { class: Class::Dangerous, source: ClassSource::Unknown };
        Judged { mode, classified, by: DecidedBy::Gate, ruling }.into_verdict(call)
    }
}
