//! One play: who is on stage, and what breaks when.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use yesgate_core::id::IntentId;

use super::cast::{self, Log};
use super::dice::Dice;
use super::judge::History;
use super::node::{self, Boots, Habit};
use super::vault::Vault;

const QUESTIONS: u64 = 8;
const NODES: usize = 3;
const AGENTS: u64 = 2;
const TICK: Duration = Duration::from_millis(10);

/// No play is longer.
const END: Duration = Duration::from_secs(20);

/// Plays one seed to its end.
pub(crate) fn play(seed: u64, habit: Habit) -> History {
    let vault = Vault::new();
    let mut dice = Dice::new(seed, 1);
    let intents: Vec<IntentId> = (0..QUESTIONS).map(|_| IntentId::from_entropy(dice.entropy())).collect();
    for (number, intent) in (0..).zip(&intents) {
        vault.open(intent, number);
    }
    let (received, noes, said) = (Log::default(), Log::default(), Log::default());
    let nodes: Vec<String> = (0..NODES).map(|number| format!("node-{number}")).collect();

    let mut sim = turmoil::Builder::new()
        .rng_seed(seed)
        .enable_random_order()
        .tick_duration(TICK)
        .simulation_duration(2 * END)
        .min_message_latency(Duration::from_millis(1))
        .max_message_latency(Duration::from_millis(80))
        .fail_rate(0.01)
        .repair_rate(0.4)
        .build();
    let store = vault.clone();
    let of_store = Dice::new(seed, 2);
    sim.host("store", move || cast::store(store.clone(), of_store.clone()));
    let (log, of_upstream) = (Arc::clone(&received), Dice::new(seed, 3));
    sim.host("upstream", move || cast::upstream(Arc::clone(&log), of_upstream.clone()));
    for (number, name) in (10..).zip(&nodes) {
        let (boots, of_node) = (Boots::default(), Dice::new(seed, number));
        sim.host(name.as_str(), move || node::run(habit, Arc::clone(&boots), of_node.clone()));
    }
    for number in 0..AGENTS {
        let agent =
            cast::agent(intents.clone(), nodes.clone(), Dice::new(seed, 20 + number), Arc::clone(&said));
        sim.client(format!("agent-{number}"), agent);
    }
    sim.client("human", cast::human(intents.clone(), Dice::new(seed, 30), Arc::clone(&noes)));

    let mut faults = Faults::new(dice, &nodes);
    while sim.elapsed() < END && !sim.step().unwrap_or_else(|error| panic!("YESGATE_SEED={seed}: {error}")) {
        faults.befall(&mut sim);
    }
    History { received: taken(&received), noes: taken(&noes), said: taken(&said), books: vault.close() }
}

/// What breaks, and for how long.
struct Faults {
    dice: Dice,
    machines: Vec<String>,
    down: Vec<(String, Duration)>,
    cut: Vec<(String, String, Duration)>,
}

impl Faults {
    fn new(dice: Dice, nodes: &[String]) -> Self {
        let machines = nodes.iter().cloned().chain(["store".to_owned()]).collect();
        Self { dice, machines, down: Vec::new(), cut: Vec::new() }
    }

    /// Lets something break, and mends what was broken for long enough.
    fn befall(&mut self, sim: &mut turmoil::Sim<'_>) {
        let now = sim.elapsed();
        for (host, _) in self.down.extract_if(.., |(_, until)| *until <= now) {
            sim.bounce(host);
        }
        for (from, to, _) in self.cut.extract_if(.., |(_, _, until)| *until <= now) {
            sim.repair(from, to);
        }
        if self.dice.happens(12) {
            let host = self.any();
            let until = now + self.dice.pause(600);
            if !self.down.iter().any(|(down, _)| *down == host) {
                sim.crash(host.as_str());
                self.down.push((host, until));
            }
        }
        if self.dice.happens(16) {
            let (from, to) = (self.any(), self.any_other());
            let until = now + self.dice.pause(800);
            if from != to {
                // One direction is enough for a word to be lost.
                sim.partition_oneway(from.as_str(), to.as_str());
                self.cut.push((from, to, until));
            }
        }
    }

    fn any(&mut self) -> String {
        let number = self.dice.below(self.machines.len() as u64);
        self.machines[usize::try_from(number).unwrap()].clone()
    }

    fn any_other(&mut self) -> String {
        match self.dice.happens(400) {
            true => "upstream".to_owned(),
            false => self.any(),
        }
    }
}

fn taken<T: Clone>(log: &Arc<Mutex<Vec<T>>>) -> Vec<T> {
    log.lock().unwrap().clone()
}
