//! Random lives of a slot: nothing runs without a yes to that digest, and nothing runs twice.

use std::collections::HashMap;

use proptest::prelude::{Strategy as _, prop, prop_assert, prop_assert_eq, proptest};
use serde_json::json;

use super::super::{Asked, Awaited, Claim, DoneKind, Event, Slot, State};
use crate::assurance::Assurance;
use crate::fixture::{boot, fresh, human, question, runner, t};
use crate::permit::{Permit, PermittedCall};
use crate::verdict::Question;

#[derive(Clone, Debug)]
enum Step {
    Ask { params: u8, seed: u8 },
    Token { which: u8, params: u8 },
    ApproveTool { which: u8 },
    Approve { which: u8, level: u8 },
    Deny { which: u8 },
    Release { which: u8 },
    Finish { which: u8 },
    Lose { which: u8 },
    Cancel { which: u8 },
    Wait { seconds: i64 },
}

fn steps() -> impl proptest::strategy::Strategy<Value = Vec<Step>> {
    let which = 0..6_u8;
    let step = proptest::prop_oneof![
        4 => (0..3_u8, 0..=255_u8).prop_map(|(params, seed)| Step::Ask { params, seed }),
        4 => (which.clone(), 0..3_u8).prop_map(|(which, params)| Step::Token { which, params }),
        2 => which.clone().prop_map(|which| Step::ApproveTool { which }),
        4 => (which.clone(), 0..6_u8).prop_map(|(which, level)| Step::Approve { which, level }),
        1 => which.clone().prop_map(|which| Step::Deny { which }),
        3 => which.clone().prop_map(|which| Step::Release { which }),
        2 => which.clone().prop_map(|which| Step::Finish { which }),
        1 => which.clone().prop_map(|which| Step::Lose { which }),
        1 => which.prop_map(|which| Step::Cancel { which }),
        2 => (0..50_i64).prop_map(|seconds| Step::Wait { seconds }),
    ];
    prop::collection::vec(step, 1..60)
}

fn asked(params: u8) -> Question {
    let mut asked = question(&json!({"n": params}));
    asked.least = if params == 2 { Assurance::Local } else { Assurance::Relayed };
    asked
}

/// What an onlooker wrote down: yeses per digest, and runs per intent.
#[derive(Default)]
struct Onlooker {
    runs: HashMap<String, u32>,
}

impl Onlooker {
    fn saw(
        &mut self,
        slot: &Slot,
        permitted: PermittedCall,
    ) -> Result<(), proptest::test_runner::TestCaseError> {
        let Permit::Intent(id) = permitted.permit().clone() else {
            return Err(proptest::test_runner::TestCaseError::fail("a run that no intent permitted"));
        };
        let intent = slot.intents().iter().find(|intent| *intent.id() == id).expect("a run has an intent");
        prop_assert_eq!(intent.state(), State::Running);
        prop_assert_eq!(intent.digest(), permitted.call().binding.digest());
        let decision = intent.decision().expect("a run has a decision");
        prop_assert!(decision.assurance >= intent.question().least, "a weak yes ran");
        let runs = self.runs.entry(intent.id().to_string()).or_default();
        *runs += 1;
        prop_assert_eq!(*runs, 1, "an intent ran twice");
        drop(permitted);
        Ok(())
    }
}

proptest! {
    #[test]
    fn no_sequence_runs_a_call_without_a_yes_or_twice(steps in steps()) {
        let mut slot = Slot::default();
        let mut now = 0;
        let mut onlooker = Onlooker::default();
        let boot = boot();
        for (index, step) in steps.into_iter().enumerate() {
            let before: Vec<(String, State)> =
                slot.intents().iter().map(|intent| (intent.id().to_string(), intent.state())).collect();
            let count = slot.intents().len();
            let pick = |which: u8| if count == 0 { None } else { Some(usize::from(which) % count) };
            let claim = match step {
                Step::Ask { params, seed } => {
                    let mut fresh = fresh(seed);
                    fresh.id = crate::id::IntentId::from_entropy([u8::try_from(index).unwrap_or(0); 32]);
                    match slot.ask(asked(params), fresh, &runner(&boot, Awaited::Yes), t(now)) {
                        Asked::Claimed(_, claim) => Some(*claim),
                        Asked::Open(_) | Asked::Refused(_) => None,
                    }
                }
                Step::Token { which, params } => pick(which).map(|index| {
                    let binding = asked(params).binding;
                    slot.intents_mut()[index].claim_with_token(&binding, None, &runner(&boot, Awaited::Yes), t(now))
                }),
                Step::ApproveTool { which } => pick(which).map(|index| {
                    slot.intents_mut()[index].claim_for(&human(Assurance::Relayed), &runner(&boot, Awaited::Yes), t(now))
                }),
                Step::Release { which } => {
                    pick(which).map(|index| slot.intents_mut()[index].claim(&runner(&boot, Awaited::No), t(now)))
                }
                Step::Approve { which, level } => {
                    if let Some(index) = pick(which) {
                        let intent = &mut slot.intents_mut()[index];
                        let seen = intent.digest();
                        let level = Assurance::ALL[usize::from(level)];
                        intent.approve(&human(level), seen, t(now)).ok();
                    }
                    None
                }
                Step::Deny { which } => {
                    if let Some(index) = pick(which) {
                        slot.intents_mut()[index].deny(&human(Assurance::Local), None, t(now)).ok();
                    }
                    None
                }
                Step::Finish { which } => {
                    if let Some(index) = pick(which) {
                        slot.intents_mut()[index].finish(DoneKind::Ok, Some(super::result()), t(now)).ok();
                    }
                    None
                }
                Step::Lose { which } => {
                    if let Some(index) = pick(which) {
                        slot.intents_mut()[index].lose("gone", t(now)).ok();
                    }
                    None
                }
                Step::Cancel { which } => {
                    if let Some(index) = pick(which) {
                        slot.intents_mut()[index].cancel("client", t(now)).ok();
                    }
                    None
                }
                Step::Wait { seconds } => {
                    now += seconds;
                    None
                }
            };
            if let Some(Claim::Run(permitted)) = claim {
                onlooker.saw(&slot, permitted)?;
            }
            for (id, old) in before {
                let new = slot.intents().iter().find(|intent| intent.id().as_str() == id).unwrap().state();
                prop_assert!(new == old || reachable(old, new), "{old} became {new}");
            }
        }
    }
}

/// Whether one or two legal events lead from one state to the other (a token is a yes and a run).
fn reachable(from: State, to: State) -> bool {
    let events = [
        Event::Approve,
        Event::Deny,
        Event::Redeem,
        Event::Finish(DoneKind::Ok),
        Event::Lose,
        Event::Resolve { ran: true },
        Event::Expire,
        Event::Cancel,
        Event::Supersede,
        Event::Void,
    ];
    let step = |state: State| events.into_iter().filter_map(move |event| state.after(event).ok());
    step(from).any(|next| next == to || step(next).any(|last| last == to))
}
