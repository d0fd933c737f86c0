//! Random stories against a short list of what may never happen.

use std::collections::{HashMap, HashSet};

use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::test_runner::Config as ProptestConfig;
use proptest::{collection, proptest};
use serde_json::json;
use tokio::runtime::Builder;
use yesgate_core::digest::{Binding, CallDigest};
use yesgate_core::id::IntentId;
use yesgate_core::intent::{Asked, Claim, DoneKind, Ground, Intent, State};
use yesgate_core::permit::PermittedCall;
use yesgate_core::token::ConfirmToken;
use yesgate_core::verdict::Standing;
use yesgate_ledger::{Filter, Ledger};

use crate::support::{
    TestClock, ask, binding, fewer, human, id, in_memory, present, question, redeem, relayed, runner, token,
};

/// One thing that somebody does. Calls, intents and tokens are picked by number.
#[derive(Clone, Debug)]
enum Step {
    Ask(usize),
    TurnBothKeys(usize),
    Approve(usize),
    ApproveSomethingElse(usize),
    Deny(usize),
    PresentToken(usize, usize),
    ApproveTool(usize),
    Redeem(usize),
    Finish(usize),
    Lose(usize),
    Resolve(usize, bool),
    Cancel(usize),
    Void(usize),
    Pass(i64),
    Sweep,
    Sight(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let pick = 0..12_usize;
    prop_oneof![
        4 => (0..3_usize).prop_map(Step::Ask),
        1 => (0..3_usize).prop_map(Step::TurnBothKeys),
        3 => pick.clone().prop_map(Step::Approve),
        1 => pick.clone().prop_map(Step::ApproveSomethingElse),
        1 => pick.clone().prop_map(Step::Deny),
        3 => (pick.clone(), 0..3_usize).prop_map(|(token, call)| Step::PresentToken(token, call)),
        1 => pick.clone().prop_map(Step::ApproveTool),
        3 => pick.clone().prop_map(Step::Redeem),
        2 => pick.clone().prop_map(Step::Finish),
        1 => pick.clone().prop_map(Step::Lose),
        1 => (pick.clone(), any::<bool>()).prop_map(|(pick, ran)| Step::Resolve(pick, ran)),
        1 => pick.clone().prop_map(Step::Cancel),
        1 => pick.prop_map(Step::Void),
        2 => (0..70_i64).prop_map(Step::Pass),
        1 => Just(Step::Sweep),
        1 => (0..4_usize).prop_map(Step::Sight),
    ]
}

/// The ledger, and what we saw with our own eyes.
struct Story {
    ledger: Ledger,
    clock: TestClock,
    second: i64,
    drawn: u32,
    intents: Vec<IntentId>,
    tokens: Vec<ConfirmToken>,
    /// To which call somebody said yes, by intent.
    yeses: HashMap<IntentId, CallDigest>,
    noes: HashSet<IntentId>,
    runs: HashSet<IntentId>,
    states: HashMap<IntentId, State>,
}

/// The three calls: two of one operation, one of another.
fn call(number: usize) -> (&'static str, serde_json::Value) {
    match number {
        0 => ("upgrade_plan", json!({"to": "scale"})),
        1 => ("upgrade_plan", json!({"to": "enterprise"})),
        _ => ("delete_plan", json!({})),
    }
}

fn bound(number: usize) -> Binding {
    let (tool, arguments) = call(number);
    binding(tool, &arguments)
}

impl Story {
    async fn new() -> Self {
        let clock = TestClock::new();
        Self {
            ledger: in_memory(&clock).await,
            clock,
            second: 0,
            drawn: 0,
            intents: Vec::new(),
            tokens: Vec::new(),
            yeses: HashMap::new(),
            noes: HashSet::new(),
            runs: HashSet::new(),
            states: HashMap::new(),
        }
    }

    async fn take(&mut self, step: Step) {
        match step {
            Step::Ask(number) => self.ask(number, None).await,
            Step::TurnBothKeys(number) => self.ask(number, Some(Standing::TwoKeys)).await,
            Step::Approve(pick) => {
                let yes = |intent: &mut Intent, now| {
                    intent.approve(&human(), intent.digest(), now).map(|()| intent.digest())
                };
                if let Some((id, Ok(digest))) = self.change(pick, yes).await {
                    self.yeses.insert(id, digest);
                }
            }
            Step::ApproveSomethingElse(pick) => {
                let other = binding("another", &json!({})).digest();
                let yes = move |intent: &mut Intent, now| intent.approve(&human(), other, now);
                assert!(self.change(pick, yes).await.is_none_or(|(_, answer)| answer.is_err()));
            }
            Step::Deny(pick) => {
                if let Some((id, Ok(()))) =
                    self.change(pick, |intent, now| intent.deny(&human(), None, now)).await
                {
                    self.noes.insert(id);
                }
            }
            Step::PresentToken(pick, number) => {
                let Some(token) = self.tokens.get(pick % self.tokens.len().max(1)).cloned() else { return };
                if let Some(Claim::Run(permitted)) = present(&self.ledger, &token, bound(number)).await {
                    // Bringing the token with a call is the yes to that call.
                    self.ran(&permitted, Some(bound(number).digest()));
                }
            }
            Step::ApproveTool(pick) => {
                let boot = self.ledger.boot().clone();
                let claim = move |intent: &mut Intent, now| {
                    (intent.digest(), intent.claim_for(&relayed(), &runner(&boot), now))
                };
                if let Some((_, (digest, Claim::Run(permitted)))) = self.change(pick, claim).await {
                    self.ran(&permitted, Some(digest));
                }
            }
            Step::Redeem(pick) => {
                let Some(id) = self.intents.get(pick % self.intents.len().max(1)) else { return };
                if let Ok(permitted) = redeem(&self.ledger, id).await.unwrap() {
                    self.ran(&permitted, None);
                }
            }
            Step::Finish(pick) => {
                drop(self.change(pick, |intent, now| intent.finish(DoneKind::Ok, None, now)).await)
            }
            Step::Lose(pick) => {
                drop(self.change(pick, |intent, now| intent.lose("the wire broke", now)).await)
            }
            Step::Resolve(pick, ran) => {
                drop(self.change(pick, move |intent, now| intent.resolve("ada", ran, now)).await);
            }
            Step::Cancel(pick) => {
                drop(self.change(pick, |intent, now| intent.cancel("the agent", now)).await)
            }
            Step::Void(pick) => {
                drop(self.change(pick, |intent, now| intent.void(Ground::PolicyStricter, now)).await)
            }
            Step::Pass(seconds) => {
                self.second += seconds;
                self.clock.set(self.second);
            }
            Step::Sweep => drop(self.ledger.sweep().await.unwrap()),
            Step::Sight(list) => self.sight(list).await,
        }
    }

    /// A list of tools arrives: as it always was, with one changed, with one gone, with a new one.
    async fn sight(&mut self, list: usize) {
        let names: &[(&str, &str)] = match list {
            0 => &[("upgrade_plan", "upgrade_plan"), ("delete_plan", "delete_plan")],
            1 => &[("upgrade_plan", "upgrade_plan_2"), ("delete_plan", "delete_plan")],
            2 => &[("upgrade_plan", "upgrade_plan")],
            _ => &[("upgrade_plan", "upgrade_plan"), ("delete_plan", "delete_plan"), ("pay", "pay")],
        };
        let defined = |name: &str| binding(name, &json!({})).definition;
        let tools: Vec<_> = names.iter().map(|(tool, as_)| (tool.parse().unwrap(), defined(as_))).collect();
        let server = "billing".parse().unwrap();
        let sighted = self.ledger.sight(&server, &crate::support::identity(), tools.clone()).await.unwrap();
        for intent in self.ledger.intents(Filter::Open).await.unwrap() {
            let binding = &intent.question().binding;
            let stands = tools.contains(&(binding.tool.clone(), binding.definition));
            assert!(stands || intent.state() == State::Running, "{} lost its ground", intent.id());
        }
        assert!(sighted.voided.iter().all(|id| !self.runs.contains(id)), "what ran was voided");
    }

    async fn ask(&mut self, number: usize, standing: Option<Standing>) {
        self.drawn += 1;
        let (tool, arguments) = call(number);
        let mut question = question(tool, &arguments);
        if standing.is_some() {
            question.least = yesgate_core::assurance::Assurance::Asserted;
        }
        question.standing = standing;
        match ask(&self.ledger, self.drawn, question).await.unwrap() {
            Asked::Open(_) => self.tokens.push(token(self.drawn)),
            Asked::Claimed(_, claim) => {
                if let Claim::Run(permitted) = *claim {
                    self.ran(&permitted, standing.map(|_| bound(number).digest()));
                }
            }
            Asked::Refused(_) => {}
        }
        let known = id(self.drawn);
        if self.ledger.intent(&known).await.unwrap().is_some() {
            self.intents.push(known);
        }
    }

    async fn change<T: Send + 'static>(
        &self,
        pick: usize,
        change: impl FnOnce(&mut Intent, jiff::Timestamp) -> T + Send + 'static,
    ) -> Option<(IntentId, T)> {
        let id = self.intents.get(pick % self.intents.len().max(1))?.clone();
        let returned = self.ledger.update(&id, change).await.unwrap().unwrap();
        Some((id, returned))
    }

    /// Something left for the server.
    fn ran(&mut self, permitted: &PermittedCall, said_now: Option<CallDigest>) {
        let yesgate_core::permit::Permit::Intent(id) = permitted.permit().clone() else { panic!() };
        let digest = permitted.call().binding.digest();
        let yes = self.yeses.get(&id).copied().or(said_now);
        assert_eq!(yes, Some(digest), "ran without a yes to exactly that");
        assert!(!self.noes.contains(&id), "ran against a no");
        assert!(self.runs.insert(id), "ran twice");
    }

    /// Looks whether every intent went where it may go.
    async fn look_around(&mut self) {
        for intent in self.ledger.intents(Filter::All).await.unwrap() {
            let now = intent.state();
            let before = self.states.insert(intent.id().clone(), now).unwrap_or(State::Pending);
            assert!(may_become(before.as_str(), now.as_str()), "{before} became {now}");
            if before.as_str() == now.as_str() {
                assert_eq!(before, now);
            }
            let left = ["running", "done", "unknown", "resolved"].contains(&now.as_str());
            assert_eq!(left, self.runs.contains(intent.id()), "{} is {now}", intent.id());
        }
    }
}

/// What may become of a state, in one step of the story or in several.
fn may_become(before: &str, now: &str) -> bool {
    let later: &[&str] = match before {
        "pending" => &["approved", "running", "denied", "expired", "cancelled", "superseded", "voided"],
        "approved" => &["running", "expired", "cancelled", "superseded", "voided"],
        "running" => &["done", "unknown"],
        "unknown" => &["resolved"],
        _ => &[],
    };
    before == now || later.contains(&now)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(fewer(256)))]

    /// X3, H1: nothing runs without a yes to exactly that, nothing runs twice, and the chain holds.
    #[test]
    fn whatever_happens_nothing_runs_without_its_yes_or_twice(steps in collection::vec(step(), 1..60)) {
        Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
            let mut story = Story::new().await;
            for step in steps {
                story.take(step).await;
                story.look_around().await;
            }
            crate::support::assert_sound(&story.ledger).await;
        });
    }
}
