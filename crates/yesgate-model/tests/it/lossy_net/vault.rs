//! The real ledger, on a thread of its own, asked and answered in one go.
//!
//! It outlives the host that serves it, as a disk would. Inside the simulation a request to it takes no time and cannot be
//! interrupted, which is what a transaction is; what can go wrong lies before and after it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::json;
use yesgate_core::assurance::Assurance;
use yesgate_core::audit::AuditEntry;
use yesgate_core::caller::Caller;
use yesgate_core::class::{Class, ClassSource, Classified};
use yesgate_core::clock::Clock;
use yesgate_core::definition::ToolDefinition;
use yesgate_core::digest::{Binding, ServerIdentity};
use yesgate_core::id::{BootId, IntentId};
use yesgate_core::intent::{
    Approver, Asked, Asker, Awaited, DoneKind, Fresh, Ground, Intent, Runner, SlotKey, State, Surface,
};
use yesgate_core::json::CanonicalJson;
use yesgate_core::mode::Mode;
use yesgate_core::proof::NoWitness;
use yesgate_core::render::Sanitized;
use yesgate_core::verdict::{Channel, ConfirmType, Question, Quorum, Remember, Times};
use yesgate_ledger::{Filter, Ledger};

/// What is asked of the store.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    /// A human says yes.
    Approve(IntentId),
    /// A human says no.
    Deny(IntentId),
    /// A node wants to spend the yes.
    Redeem { intent: IntentId, boot: BootId },
    /// A node says how the call ended.
    Finish(IntentId),
    /// A node says that the answer is lost.
    Lose(IntentId),
    /// A node was started, in place of these starts of it.
    Started { ended: Vec<BootId> },
}

/// What the store says.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// It is written down. With what was running for a start that is over, where one was named.
    Done(Vec<IntentId>),
    /// It was too late, or too early.
    Refused,
}

/// What is left when everybody has gone home.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Books {
    pub(crate) rows: Vec<AuditEntry>,
    pub(crate) states: Vec<(IntentId, State)>,
    pub(crate) faults: Vec<String>,
}

/// A handle of the ledger's thread.
#[derive(Clone, Debug)]
pub(crate) struct Vault {
    requests: mpsc::Sender<(Job, mpsc::Sender<Outcome>)>,
    clock: StoreClock,
}

#[derive(Debug)]
enum Job {
    Open(IntentId, u64),
    Serve(Request),
    Close,
}

#[derive(Debug)]
enum Outcome {
    Reply(Reply),
    Books(Books),
}

impl Vault {
    pub(crate) fn new() -> Self {
        let (requests, received) = mpsc::channel::<(Job, mpsc::Sender<Outcome>)>();
        let clock = StoreClock::default();
        let shared: Arc<dyn Clock> = Arc::new(clock.clone());
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(async {
                let ledger = Ledger::in_memory(shared, BootId::from_entropy([0; 32])).await.unwrap();
                while let Ok((job, answer)) = received.recv() {
                    let outcome = match job {
                        Job::Open(id, number) => {
                            open(&ledger, id, number).await;
                            Outcome::Reply(Reply::Done(Vec::new()))
                        }
                        Job::Serve(request) => Outcome::Reply(serve(&ledger, request).await),
                        Job::Close => Outcome::Books(close(&ledger).await),
                    };
                    answer.send(outcome).unwrap();
                }
            });
        });
        Self { requests, clock }
    }

    /// Opens a question about one call.
    pub(crate) fn open(&self, id: &IntentId, number: u64) {
        self.ask(Job::Open(id.clone(), number));
    }

    /// Carries out one request, at this moment of the store's clock.
    pub(crate) fn serve(&self, request: Request, at: Duration) -> Reply {
        self.clock.set(at);
        match self.ask(Job::Serve(request)) {
            Outcome::Reply(reply) => reply,
            Outcome::Books(_) => panic!("the books were not asked for"),
        }
    }

    /// Takes every node for dead, and reads everything.
    pub(crate) fn close(&self) -> Books {
        match self.ask(Job::Close) {
            Outcome::Books(books) => books,
            Outcome::Reply(_) => panic!("the books were asked for"),
        }
    }

    fn ask(&self, job: Job) -> Outcome {
        let (answer, answered) = mpsc::channel();
        self.requests.send((job, answer)).unwrap();
        answered.recv().unwrap()
    }
}

/// The moment of the simulation, as the store tells it.
pub(crate) fn moment(at: Duration) -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap() + SignedDuration::try_from(at).unwrap()
}

#[derive(Clone, Debug, Default)]
struct StoreClock(Arc<Mutex<Duration>>);

impl StoreClock {
    fn set(&self, at: Duration) {
        *self.0.lock().unwrap() = at;
    }
}

impl Clock for StoreClock {
    fn now(&self) -> Timestamp {
        moment(*self.0.lock().unwrap())
    }
}

async fn open(ledger: &Ledger, id: IntentId, number: u64) {
    let question = question(number);
    let fresh = Fresh { id, token: None, asked_by: Asker { uid: None, boot: None } };
    let boot = ledger.boot().clone();
    let ask = move |slot: &mut yesgate_core::intent::Slot, now| {
        slot.ask(question.clone(), fresh, &runner(&boot), now)
    };
    match ledger.update_slot(SlotKey::of(&self::question(number).binding), ask).await.unwrap() {
        Asked::Open(_) => {}
        other @ (Asked::Claimed(..) | Asked::Refused(_)) => panic!("not open: {other:?}"),
    }
}

async fn serve(ledger: &Ledger, request: Request) -> Reply {
    let changed = match request {
        Request::Approve(id) => {
            ledger.update(&id, |intent, now| intent.approve(&human(), intent.digest(), now).is_ok()).await
        }
        Request::Deny(id) => ledger.update(&id, |intent, now| intent.deny(&human(), None, now).is_ok()).await,
        Request::Redeem { intent, boot } => {
            ledger.update(&intent, move |intent, now| intent.redeem(&runner(&boot), now).is_ok()).await
        }
        Request::Finish(id) => {
            ledger.update(&id, |intent, now| intent.finish(DoneKind::Ok, None, now).is_ok()).await
        }
        Request::Lose(id) => {
            ledger.update(&id, |intent, now| intent.lose("no answer came", now).is_ok()).await
        }
        Request::Started { ended } => {
            return Reply::Done(lose_runs(ledger, |boot| ended.contains(boot)).await);
        }
    };
    match changed.unwrap() {
        Some(true) => Reply::Done(Vec::new()),
        Some(false) | None => Reply::Refused,
    }
}

async fn lose_runs(ledger: &Ledger, is_over: impl Fn(&BootId) -> bool) -> Vec<IntentId> {
    let mut lost = Vec::new();
    for intent in ledger.intents(Filter::Open).await.unwrap() {
        if intent.state() == State::Running && intent.boot().is_some_and(&is_over) {
            let lose = |intent: &mut Intent, now| intent.lose("the node that ran it ended", now).is_ok();
            ledger.update(intent.id(), lose).await.unwrap();
            lost.push(intent.id().clone());
        }
    }
    lost
}

async fn close(ledger: &Ledger) -> Books {
    lose_runs(ledger, |_| true).await;
    let rows = ledger.audit(1, u32::MAX).await.unwrap();
    let intents = ledger.intents(Filter::All).await.unwrap();
    let report = ledger.verify().await.unwrap();
    Books {
        rows: rows.iter().map(|row| row.entry().unwrap()).collect(),
        states: intents.iter().map(|intent| (intent.id().clone(), intent.state())).collect(),
        faults: report.faults.iter().map(ToString::to_string).collect(),
    }
}

fn runner(boot: &BootId) -> Runner<'_> {
    Runner { boot, ground: Ground::Holds, awaited: Awaited::No, witness: &NoWitness }
}

fn human() -> Approver {
    Approver {
        name: "ada".into(),
        identity: None,
        groups: BTreeSet::new(),
        surface: Surface::Human,
        assurance: Assurance::Local,
        typed: None,
        proof: None,
    }
}

/// A question about the payment of this number, which nobody else asks about.
fn question(number: u64) -> Question {
    let tool = format!("pay_{number}");
    Question {
        binding: Binding {
            caller: Caller {
                org: "acme".parse().unwrap(),
                principal: "ada".parse().unwrap(),
                client: "host".parse().unwrap(),
            },
            server: "wallet".parse().unwrap(),
            identity: ServerIdentity::of_command([b"wallet-mcp".as_slice()], b"/srv", []),
            method: "tools/call".into(),
            tool: tool.parse().unwrap(),
            definition: ToolDefinition::parse(&json!({"name": tool})).unwrap().digest,
            arguments: CanonicalJson::of(&json!({"invoice": number})).unwrap(),
            meta: CanonicalJson::empty_object(),
            mode: Mode::Execute,
            preview: None,
        },
        classified: Classified { class: Class::Dangerous, source: ClassSource::Unknown },
        rule: None,
        reason: None,
        summary: Sanitized::fixed("Pay an invoice"),
        confirm: ConfirmType::Simple,
        channel: Channel::Chat,
        least: Assurance::Relayed,
        typed: None,
        preview: None,
        quorum: Quorum::ONE,
        approvers: None,
        claim: None,
        remember: Remember::AnyScope,
        next: serde_json::Map::new(),
        spend: None,
        standing: None,
        // Shorter than the play: some yeses run out.
        times: Times {
            token: SignedDuration::from_secs(5),
            decide: SignedDuration::from_secs(15),
            run: SignedDuration::from_secs(5),
            cool_off: SignedDuration::from_secs(1),
        },
    }
}
