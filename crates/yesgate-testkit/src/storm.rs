//! Many gated calls through several nodes on one database, while everything that can fail does.
//!
//! - The nodes are real `yesgate serve` processes; each has a line of its own to the database.
//! - Faults are drawn from a seed, and come by how many calls are done: no clock decides when.
//! - INVARIANT: nothing here is the judge of itself. What ran is in the server's own log, which the joiner that ships holds
//!   against the ledger; what clients heard is held against both ([`told::check`]).

mod client;
mod dice;
mod fault;
mod nodes;
pub mod told;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::watch;

use self::client::{Client, Person};
pub use self::fault::Fault;
use self::fault::Faults;
pub use self::nodes::Nodes;
use self::told::{End, Told};
use crate::mock_http::{MockEras, MockHttp};
use crate::stage::Output;
use crate::upstream_log::{self, Received};

/// What is to be done.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How the dice fall.
    pub seed: u64,
    /// How many calls are made.
    pub calls: u64,
    /// How many clients make them, each one after the other.
    pub clients: u64,
    /// How many calls there are to a fault, about.
    pub calls_to_a_fault: u64,
    /// One call of so many is decided by a command.
    pub calls_to_a_command: u64,
    /// No new call is begun after this long.
    pub longest: Duration,
}

/// What was left.
#[derive(Debug)]
pub struct Aftermath {
    nodes: Nodes,
    received: Vec<Received>,
    /// What clients and people were told.
    pub told: Vec<Told>,
    /// What failed, how often.
    pub faults: BTreeMap<Fault, u64>,
    /// How long the calls took.
    pub took: Duration,
}

/// Does it. Every node has ended afterwards.
///
/// # Panics
/// When a node does not come back.
pub async fn rage(yesgate: impl Into<PathBuf>, plan: &Plan) -> Aftermath {
    eprintln!("the seed of this storm is {}", plan.seed);
    let server = MockHttp::start(MockEras::Modern);
    let nodes = Arc::new(Nodes::start(&yesgate.into(), &server));
    let person = Arc::new(Person::sign_in(&nodes).await);
    let (done, progress) = watch::channel(0);
    let done = Arc::new(done);
    let next = Arc::new(AtomicU64::new(0));
    let begun = Instant::now();
    let mut clients = tokio::task::JoinSet::new();
    for number in 0..plan.clients {
        let (plan, nodes, person) = (plan.clone(), Arc::clone(&nodes), Arc::clone(&person));
        let (next, done) = (Arc::clone(&next), Arc::clone(&done));
        clients.spawn(async move {
            let mut client = Client::new(number, nodes, person, &plan);
            let mut told = Vec::new();
            while begun.elapsed() < plan.longest {
                let call = next.fetch_add(1, Ordering::Relaxed);
                if call >= plan.calls {
                    break;
                }
                told.push(client.call(call).await);
                done.send_modify(|done| *done += 1);
            }
            told
        });
    }
    let faults = Faults::new(plan.seed, plan.calls_to_a_fault, Arc::clone(&nodes));
    let faults = tokio::spawn(faults.rage(Arc::clone(&next), plan.calls, progress, server));
    let told: Vec<Told> = clients.join_all().await.concat();
    let took = begun.elapsed();
    // Whoever waits for the next call to be done learns that there is none.
    next.store(plan.calls, Ordering::Relaxed);
    done.send_modify(|_| {});
    drop(done);
    let (server, faults) = faults.await.expect("the faults end");
    drop(person);
    let nodes = Arc::into_inner(nodes).expect("nobody else has the nodes");
    let nodes = tokio::task::spawn_blocking(|| nodes.end()).await.expect("the nodes end");
    Aftermath { nodes, received: server.received(), told, faults, took }
}

impl Aftermath {
    /// Holds the server's own log against the ledger, by the command that ships.
    #[must_use]
    pub fn join(&self) -> Output {
        self.join_with(&self.received)
    }

    /// The same for another log.
    #[must_use]
    pub fn join_with(&self, received: &[Received]) -> Output {
        let stage = self.nodes.stage();
        let log = stage.file("upstream.jsonl");
        upstream_log::write_json(&log, received);
        let log = log.to_str().expect("a path of a test is text");
        stage.yesgate(&[
            "audit",
            "verify",
            "--json",
            "--server",
            "web",
            "--skew",
            "0s",
            "--upstream-log",
            log,
        ])
    }

    /// Holds what was told against the server's log and the ledger.
    ///
    /// # Errors
    /// With one sentence for each thing that does not fit.
    pub fn check_told(&self) -> Result<(), Vec<String>> {
        told::check(&self.told, &self.received, &self.rows())
    }

    /// The server's own log.
    #[must_use]
    pub fn received(&self) -> &[Received] {
        &self.received
    }

    /// The rows of the audit trail.
    #[must_use]
    pub fn rows(&self) -> Vec<Value> {
        self.nodes.stage().yesgate(&["audit", "list", "--json", "--last", "10000000"]).ok().list()
    }

    /// How many calls ended in which way.
    #[must_use]
    pub fn ends(&self) -> BTreeMap<End, u64> {
        let mut ends = BTreeMap::new();
        for told in &self.told {
            *ends.entry(told.end.clone()).or_default() += 1;
        }
        ends
    }
}
