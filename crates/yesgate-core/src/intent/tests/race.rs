//! One question on several surfaces at once: whoever decides first decides, everybody sees it, and it runs at most
//! once. A model of a few lines says what must come of each move.

use proptest::prelude::{Strategy as _, prop, prop_assert, prop_assert_eq, proptest};
use proptest::sample::select;
use proptest::test_runner::TestCaseError;
use serde_json::json;

use super::super::{Approver, Awaited, Claim, Intent, Slot, State, Surface};
use crate::assurance::Assurance;
use crate::fixture::{boot, fresh, human, question, runner, t};

/// What somebody does.
#[derive(Clone, Copy, Debug)]
enum Move {
    /// The agent brings the token.
    Token,
    /// The agent calls the approve tool.
    ApproveTool,
    /// The human accepts the client's form.
    Form,
    /// A human says yes at the command line.
    Shell,
    /// Somebody says no, wherever.
    No(Assurance),
    /// The gateway runs what has a yes.
    Release,
    /// The caller gives up.
    Withdraw,
    /// The caller asks about another call in its place.
    Supersede,
    /// Time passes.
    Wait(i64),
}

/// How the question stands, as an onlooker would tell it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Life {
    Open,
    /// A human said yes at this second, and it has not run.
    Yes(i64),
    Ran,
    Over(State),
}

const TOKEN: i64 = 60;
const DECIDE: i64 = 30 * 60;
const RUN: i64 = 60;

impl Life {
    /// What becomes of it.
    fn after(self, step: Move, least: Assurance, now: i64) -> Self {
        let life = match (self, step) {
            // A withdrawal looks at no clock.
            (Self::Open | Self::Yes(_), Move::Withdraw) => return Self::Over(State::Cancelled),
            (_, Move::Wait(_)) => return self,
            (Self::Open, _) if now >= DECIDE => Self::Over(State::Expired),
            (Self::Yes(at), _) if now >= at + RUN => Self::Over(State::Expired),
            (life, _) => life,
        };
        let is_enough = match step {
            Move::Token => now < TOKEN && Assurance::Relayed >= least,
            Move::ApproveTool => Assurance::Relayed >= least,
            Move::Form => Assurance::Client >= least,
            Move::Shell | Move::No(_) | Move::Release | Move::Withdraw | Move::Supersede | Move::Wait(_) => {
                true
            }
        };
        match (life, step) {
            (Self::Open, Move::Token | Move::ApproveTool | Move::Form) if is_enough => Self::Ran,
            (Self::Yes(_), Move::Token | Move::ApproveTool | Move::Form | Move::Release) => Self::Ran,
            (Self::Open, Move::Shell) => Self::Yes(now),
            (Self::Open, Move::No(_)) => Self::Over(State::Denied),
            // A no after the yes and before the run.
            (Self::Yes(_), Move::No(_)) => Self::Over(State::Cancelled),
            (Self::Open | Self::Yes(_), Move::Supersede) => Self::Over(State::Superseded),
            (life, _) => life,
        }
    }

    fn fits(self, state: State) -> bool {
        state
            == match self {
                Self::Open => State::Pending,
                Self::Yes(_) => State::Approved,
                Self::Ran => State::Running,
                Self::Over(state) => state,
            }
    }
}

/// Makes a move, and gives the run that came of it.
fn play(slot: &mut Slot, step: Move, now: i64) -> Option<Claim> {
    let boot = boot();
    let waits = runner(&boot, Awaited::Yes);
    if let Move::Supersede = step {
        let mut fresh = fresh(2);
        fresh.id = crate::id::IntentId::from_entropy([u8::try_from(slot.intents().len()).unwrap_or(255); 32]);
        let other = question(&json!({"to": format!("other {}", slot.intents().len())}));
        drop(slot.ask(other, fresh, &waits, t(now)));
        return None;
    }
    let intent = &mut slot.intents_mut()[0];
    match step {
        Move::Token => {
            let presented = intent.question().binding.clone();
            Some(intent.claim_with_token(&presented, None, &waits, t(now)))
        }
        Move::ApproveTool => Some(intent.claim_for(&by(Assurance::Relayed), &waits, t(now))),
        Move::Form => Some(intent.claim_for(&by(Assurance::Client), &waits, t(now))),
        Move::Release => Some(intent.claim(&runner(&boot, Awaited::No), t(now))),
        Move::Shell => {
            let seen = intent.digest();
            intent.approve(&human(Assurance::Local), seen, t(now)).err().map(Claim::Refused)
        }
        Move::No(level) => intent.deny(&by(level), None, t(now)).err().map(Claim::Refused),
        Move::Withdraw => {
            // Too late is too late.
            intent.cancel("the caller", t(now)).ok();
            None
        }
        Move::Supersede | Move::Wait(_) => None,
    }
}

fn by(assurance: Assurance) -> Approver {
    Approver { surface: Surface::Agent, ..human(assurance) }
}

/// INVARIANT: what is over is over on every surface, and all are told the same.
fn is_over_everywhere(slot: &Slot, now: i64) -> Result<(), TestCaseError> {
    let intents = slot.intents().iter().take(1).cloned().collect::<Vec<Intent>>();
    let (state, ending) = (intents[0].state(), intents[0].ending());
    let surfaces =
        [Move::Token, Move::ApproveTool, Move::Form, Move::Shell, Move::No(Assurance::Local), Move::Release];
    for late in surfaces {
        let mut slot = Slot::new(intents.clone());
        let claim = play(&mut slot, late, now);
        prop_assert_eq!(slot.intents()[0].state(), state, "{:?} changed what was over", late);
        let Some(Claim::Refused(refusal)) = claim else {
            return Err(TestCaseError::fail(format!("{late:?} came to {claim:?}")));
        };
        prop_assert_eq!(&refusal.intent, &ending.intent);
        if let Move::Shell | Move::No(_) = late {
            prop_assert_eq!(&refusal, &ending);
        }
    }
    Ok(())
}

fn moves() -> impl proptest::strategy::Strategy<Value = Vec<Move>> {
    let no = select(vec![Assurance::Relayed, Assurance::Client, Assurance::Local]).prop_map(Move::No);
    let others = select(vec![
        Move::Token,
        Move::ApproveTool,
        Move::Form,
        Move::Shell,
        Move::Shell,
        Move::Release,
        Move::Withdraw,
        Move::Supersede,
    ]);
    let wait = select(vec![0, 1, 59, 60, 61, 1700, 1800]).prop_map(Move::Wait);
    prop::collection::vec(proptest::prop_oneof![1 => no, 6 => others, 3 => wait], 1..24)
}

proptest! {
    /// X9, DESIGN: the first decision wins on every surface, a no between yes and run cancels, and at most one call is
    /// ever permitted.
    #[test]
    fn the_first_decision_wins_and_everybody_sees_it(
        moves in moves(),
        least in select(vec![Assurance::Relayed, Assurance::Client, Assurance::Local]),
    ) {
        let mut asked = question(&json!({"to": "scale"}));
        asked.least = least;
        let first = fresh(1);
        let mut intent = Intent::open(first.id, asked, first.asked_by, t(0));
        intent.issue_token(crate::fixture::token(1).hash(), t(0)).unwrap();
        let mut slot = Slot::new(vec![intent]);
        let (mut life, mut now, mut runs) = (Life::Open, 0, 0);
        for step in moves {
            if let Move::Wait(seconds) = step {
                now += seconds;
                continue;
            }
            let before = life;
            life = life.after(step, least, now);
            if let Some(Claim::Run(permitted)) = play(&mut slot, step, now) {
                runs += 1;
                prop_assert_eq!(life, Life::Ran, "{:?} ran it when it was {:?}", step, before);
                prop_assert_eq!(permitted.call().binding.digest(), slot.intents()[0].digest());
            }
            let state = slot.intents()[0].state();
            prop_assert!(life.fits(state), "{step:?} at {now}: {before:?} should be {life:?} and is {state}");
            prop_assert!(runs <= 1, "it ran twice");
            match life {
                Life::Over(_) => is_over_everywhere(&slot, now)?,
                Life::Open | Life::Yes(_) | Life::Ran => {}
            }
        }
        prop_assert_eq!(runs == 1, life == Life::Ran);
    }
}
