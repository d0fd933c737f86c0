//! The model as the checker sees it: where it begins, and how far it looks.

use stateright::{Model, Property};
use yesgate_core::intent::State;

use crate::promise;
use crate::protocol::{Protocol, Replication};
use crate::step::{self, Action};
use crate::world::{Human, Row, Told, World};

/// One way to redeem, on one kind of store, within bounds.
#[derive(Clone, Copy, Debug)]
pub struct Redeeming {
    /// How the nodes redeem.
    pub protocol: Protocol,
    /// What the standby knows.
    pub replication: Replication,
    /// How far to look.
    pub bounds: Bounds,
}

/// How much may happen. What breaks a protocol of this kind breaks it with two of each; three are looked at.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// How many nodes there are.
    pub nodes: usize,
    /// How often the token is presented.
    pub presentations: usize,
    /// How often a node dies.
    pub crashes: u8,
}

impl Model for Redeeming {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let row = Row { state: State::Pending, claim: None };
        let standby = match self.replication {
            Replication::None => None,
            Replication::Synchronous | Replication::Asynchronous => Some(row),
        };
        vec![World {
            primary: row,
            standby,
            boots: vec![0; self.bounds.nodes],
            attempts: Vec::new(),
            human: Human { may_approve: true, may_deny: true },
            received: 0,
            told: Told::default(),
            crashes_left: self.bounds.crashes,
        }]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        let nodes = 0..self.bounds.nodes;
        actions.extend(nodes.flat_map(|node| [Action::Present { node }, Action::Crash { node }]));
        actions.extend((0..world.attempts.len()).flat_map(Action::of_attempt));
        actions.extend(Action::OF_THE_WORLD);
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        step::take(self, &mut next, action)?;
        // A step that changes nothing is none.
        (next != *world).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        promise::properties()
    }
}
