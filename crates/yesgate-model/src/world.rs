//! Everything there is at one moment.

use yesgate_core::intent::State;

/// The whole world: one question, and all who have to do with it.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct World {
    /// The question, as the store has it that everybody asks.
    pub primary: Row,
    /// The question, as the standby has it; `None` where there is none, or it has become the primary.
    pub standby: Option<Row>,
    /// How often each node was started again.
    pub boots: Vec<u8>,
    /// Each time that a client presented the token.
    pub attempts: Vec<Attempt>,
    /// What the human may still say.
    pub human: Human,
    /// How many calls the server received, by its own count.
    pub received: u8,
    /// What somebody was told, and may rely on.
    pub told: Told,
    /// How many nodes may still die.
    pub crashes_left: u8,
}

/// One row of one copy of the ledger.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Row {
    /// Where the question stands.
    pub state: State,
    /// Which attempt spent the yes.
    pub claim: Option<usize>,
}

/// One node's work on one presented token.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Attempt {
    /// At which node.
    pub node: usize,
    /// In which start of it.
    pub boot: u8,
    /// How far it has got.
    pub stage: Stage,
    /// Its redeem, which goes its own way once it was sent to the store.
    pub redeem: Redeem,
    /// Its call, which goes its own way once it was sent to the server.
    pub call: Call,
}

/// How far an attempt has got.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Stage {
    /// It waits for the store's word.
    Asking,
    /// The store's word is lost, or came with a warning.
    InDoubt,
    /// It holds the store's word, and may send.
    Cleared,
    /// It has sent, and waits for the server.
    Waiting,
    /// Nothing more comes of it.
    Over,
    /// Its node died.
    Gone,
}

/// Where the redeem of an attempt is.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Redeem {
    /// On the way to the store.
    OnTheWay,
    /// Committed, and not acknowledged.
    Granted,
    /// Turned down, and not answered.
    Refused,
    /// Answered, or its answer is lost.
    Answered,
}

/// Where the call of an attempt is.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Call {
    /// No byte of it has left.
    NotSent,
    /// On the way to the server.
    OnTheWay,
    /// The server has received it.
    Received,
    /// It never arrived.
    Lost,
}

/// What the human may still say: each once, in any order.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Human {
    /// A yes.
    pub may_approve: bool,
    /// A no.
    pub may_deny: bool,
}

/// What somebody was told. The world changes after it; the promises are about whether it may.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Told {
    /// The human: your yes is recorded.
    pub approved: bool,
    /// The human: your no is recorded, or time ran out, and it did not run.
    pub closed: bool,
    /// A node: the yes is spent, and the run is yours.
    pub spent: bool,
}

impl World {
    pub(crate) fn attempt(&mut self, attempt: usize) -> Option<&mut Attempt> {
        self.attempts.get_mut(attempt)
    }

    /// Whether the claim of an attempt is in every copy of the ledger that could become the only one.
    pub(crate) fn is_everywhere(&self, attempt: usize) -> bool {
        let has = |row: &Row| row.claim == Some(attempt);
        has(&self.primary) && self.standby.as_ref().is_none_or(has)
    }

    /// Whether the one writer of this attempt's process has another one at hand: it waits for the store's word, and settles
    /// a doubt before it goes on.
    pub(crate) fn is_writer_busy(&self, attempt: usize) -> bool {
        let Some(asked) = self.attempts.get(attempt) else { return false };
        let others = self.attempts.iter().enumerate().filter(|(number, _)| *number != attempt);
        others.map(|(_, other)| other).any(|other| {
            let waits = other.stage == Stage::Asking && other.redeem != Redeem::OnTheWay;
            (waits || other.stage == Stage::InDoubt) && (other.node, other.boot) == (asked.node, asked.boot)
        })
    }

    /// Whether the question runs, in the books, for the same start of the same node as this attempt.
    pub(crate) fn runs_for_the_process_of(&self, attempt: &Attempt) -> bool {
        let claimed = self.primary.claim.and_then(|claim| self.attempts.get(claim));
        self.primary.state == State::Running
            && claimed.is_some_and(|claimed| (claimed.node, claimed.boot) == (attempt.node, attempt.boot))
    }
}
