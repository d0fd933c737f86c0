//! Every step that the world can take.
//!
//! A step that cannot be taken now is `None`. What is peculiar to a protocol that is wrong is in a `match` on it.

use yesgate_core::intent::{DoneKind, Event, State};

use crate::model::Redeeming;
use crate::protocol::{Protocol, Replication};
use crate::world::{Attempt, Call, Redeem, Stage, World};

/// One step. The number is the attempt that takes it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Action {
    /// A client presents the token.
    Present {
        /// At this node.
        node: usize,
    },
    /// The redeem reaches the store, and is carried out.
    Commit(usize),
    /// The store's word reaches the node.
    Acknowledge(usize),
    /// The store's word reaches the node, with a warning that the standby may not have it.
    Warn(usize),
    /// The store's word is lost, or the node waits no longer for it.
    LoseWord(usize),
    /// The node looks what became of the redeem that it is in doubt about.
    Settle(usize),
    /// The call leaves.
    Send(usize),
    /// The server receives it.
    Deliver(usize),
    /// It never arrives.
    DropCall(usize),
    /// The server's answer arrives, and is written down.
    Finish(usize),
    /// The server's answer does not arrive, and that is written down.
    LoseAnswer(usize),
    /// The human says yes.
    Approve,
    /// The human says no.
    Deny,
    /// A clock runs out.
    Expire,
    /// The standby hears what the primary has.
    Replicate,
    /// The primary is lost, and the standby takes its place.
    Failover,
    /// A node dies, and is started again.
    Crash {
        /// This one.
        node: usize,
    },
    /// Somebody takes the node that runs it for dead, rightly or not, and writes that down.
    Sweep,
    /// The job that puts back what runs for too long.
    Reclaim,
}

impl Action {
    /// What no single attempt does.
    pub(crate) const OF_THE_WORLD: [Self; 7] = [
        Self::Approve,
        Self::Deny,
        Self::Expire,
        Self::Replicate,
        Self::Failover,
        Self::Sweep,
        Self::Reclaim,
    ];

    /// What one attempt does.
    pub(crate) const fn of_attempt(attempt: usize) -> [Self; 10] {
        [
            Self::Commit(attempt),
            Self::Acknowledge(attempt),
            Self::Warn(attempt),
            Self::LoseWord(attempt),
            Self::Settle(attempt),
            Self::Send(attempt),
            Self::Deliver(attempt),
            Self::DropCall(attempt),
            Self::Finish(attempt),
            Self::LoseAnswer(attempt),
        ]
    }
}

/// Takes a step, where it can be taken.
pub(crate) fn take(model: &Redeeming, world: &mut World, action: Action) -> Option<()> {
    match action {
        Action::Present { node } => present(model, world, node),
        Action::Commit(attempt) => commit(model, world, attempt),
        Action::Acknowledge(attempt) => acknowledge(model, world, attempt),
        Action::Warn(attempt) => warn(model, world, attempt),
        Action::LoseWord(attempt) => lose_word(model, world, attempt),
        Action::Settle(attempt) => settle(model, world, attempt),
        Action::Send(attempt) => {
            let attempt = world.attempt(attempt).filter(|attempt| attempt.stage == Stage::Cleared)?;
            (attempt.stage, attempt.call) = (Stage::Waiting, Call::OnTheWay);
            Some(())
        }
        // A call that has left is out of the node's hands: it arrives even if the node is gone.
        Action::Deliver(attempt) => {
            fly(world, attempt, Call::Received)?;
            world.received += 1;
            Some(())
        }
        Action::DropCall(attempt) => fly(world, attempt, Call::Lost),
        Action::Finish(attempt) => end(model, world, attempt, Event::Finish(DoneKind::Ok)),
        Action::LoseAnswer(attempt) => end(model, world, attempt, Event::Lose),
        Action::Approve => {
            std::mem::take(&mut world.human.may_approve).then_some(())?;
            say(model, world, Event::Approve)?;
            world.told.approved = true;
            Some(())
        }
        Action::Deny => {
            std::mem::take(&mut world.human.may_deny).then_some(())?;
            say(model, world, Event::Deny)?;
            world.told.closed = true;
            Some(())
        }
        Action::Expire => {
            say(model, world, Event::Expire)?;
            world.told.closed = true;
            Some(())
        }
        Action::Replicate => {
            *world.standby.as_mut()? = world.primary;
            Some(())
        }
        Action::Failover => {
            world.primary = world.standby.take()?;
            Some(())
        }
        Action::Crash { node } => crash(model, world, node),
        Action::Sweep => advance(world, Event::Lose),
        Action::Reclaim => {
            let is_due = model.protocol == Protocol::ReclaimJob && world.primary.state == State::Running;
            is_due.then(|| (world.primary.state, world.primary.claim) = (State::Approved, None))
        }
    }
}

/// A node takes the token, and asks the store to spend the yes.
fn present(model: &Redeeming, world: &mut World, node: usize) -> Option<()> {
    let boot = *world.boots.get(node)?;
    (world.attempts.len() < model.bounds.presentations).then_some(())?;
    // Nodes are alike: the next one to be used is the next one in order.
    (node == 0 || world.attempts.iter().any(|attempt| attempt.node + 1 >= node)).then_some(())?;
    let has_yes = world.primary.state == State::Approved;
    if model.protocol == Protocol::CheckThenAct && !has_yes {
        return None;
    }
    let call = match model.protocol == Protocol::DispatchFirst && has_yes {
        true => Call::OnTheWay,
        false => Call::NotSent,
    };
    world.attempts.push(Attempt { node, boot, stage: Stage::Asking, redeem: Redeem::OnTheWay, call });
    Some(())
}

/// The one conditional write.
///
/// It is carried out even where nobody waits for it any more: the request had left.
fn commit(model: &Redeeming, world: &mut World, attempt: usize) -> Option<()> {
    if model.protocol == Protocol::OneWriter && world.is_writer_busy(attempt) {
        return None;
    }
    let asked = world.attempts.get_mut(attempt).filter(|asked| asked.redeem == Redeem::OnTheWay)?;
    let next = match model.protocol == Protocol::CheckThenAct {
        // The condition was looked at when the token came.
        true => Ok(State::Running),
        false => world.primary.state.after(Event::Redeem),
    };
    asked.redeem = match next {
        Ok(state) => {
            (world.primary.state, world.primary.claim) = (state, Some(attempt));
            Redeem::Granted
        }
        Err(_) => Redeem::Refused,
    };
    Some(())
}

fn acknowledge(model: &Redeeming, world: &mut World, attempt: usize) -> Option<()> {
    let is_everywhere = world.is_everywhere(attempt);
    let asked = world.attempt(attempt).filter(|asked| asked.stage == Stage::Asking)?;
    match (asked.redeem, model.replication) {
        (Redeem::Granted, Replication::Synchronous) if !is_everywhere => return None,
        (Redeem::Granted, _) => {
            asked.clear();
            world.told.spent = true;
        }
        (Redeem::Refused, _) => {
            asked.redeem = Redeem::Answered;
            asked.stage = Stage::Over;
        }
        (Redeem::OnTheWay | Redeem::Answered, _) => return None,
    }
    Some(())
}

/// Somebody cancelled the wait for the standby: the commit stands here, and perhaps nowhere else.
fn warn(model: &Redeeming, world: &mut World, attempt: usize) -> Option<()> {
    (model.replication == Replication::Synchronous).then_some(())?;
    let asked = world.attempt(attempt).filter(|asked| asked.stage == Stage::Asking)?;
    (asked.redeem == Redeem::Granted).then_some(())?;
    if model.protocol == Protocol::BelieveWarnings {
        asked.clear();
        world.told.spent = true;
    } else {
        asked.stage = Stage::InDoubt;
    }
    Some(())
}

fn lose_word(model: &Redeeming, world: &mut World, attempt: usize) -> Option<()> {
    let asked = world.attempt(attempt).filter(|asked| asked.stage == Stage::Asking)?;
    asked.stage = match model.protocol == Protocol::SendInDoubt {
        true => Stage::Cleared,
        false => Stage::InDoubt,
    };
    // What is still on the way to the store stays on the way, and what was carried out stays so.
    Some(())
}

/// After doubt nothing is sent. If the yes was spent by this very attempt, that is written down.
fn settle(model: &Redeeming, world: &mut World, attempt: usize) -> Option<()> {
    let asked = *world.attempts.get(attempt).filter(|asked| asked.stage == Stage::InDoubt)?;
    let is_own = world.primary.claim == Some(attempt) && world.primary.state == State::Running;
    let is_of_own_process = world.runs_for_the_process_of(&asked);
    if model.protocol == Protocol::OneWriter {
        return settle_first(world, attempt, is_of_own_process);
    }
    let is_sent = match model.protocol {
        Protocol::RetryByBoot => is_of_own_process || redeem_again(world, attempt),
        Protocol::RetryByClaim => is_own || redeem_again(world, attempt),
        Protocol::Yesgate
        | Protocol::OneWriter
        | Protocol::CheckThenAct
        | Protocol::DispatchFirst
        | Protocol::ReclaimJob
        | Protocol::ResendAfterRestart
        | Protocol::SendInDoubt
        | Protocol::BelieveWarnings
        | Protocol::SettleByBoot => false,
    };
    if is_sent {
        world.attempt(attempt)?.stage = Stage::Cleared;
        return Some(());
    }
    world.attempt(attempt)?.stage = Stage::Over;
    if is_own || (model.protocol == Protocol::SettleByBoot && is_of_own_process) {
        advance(world, Event::Finish(DoneKind::NotSent))?;
    }
    Some(())
}

/// The next transaction of the one writer: it waits for the locks of the one before it, so that this was carried out by now
/// or never will be.
fn settle_first(world: &mut World, attempt: usize, is_of_own_process: bool) -> Option<()> {
    let asked = world.attempt(attempt)?;
    let was_granted = asked.redeem == Redeem::Granted;
    (asked.stage, asked.redeem) = (Stage::Over, Redeem::Answered);
    if was_granted && is_of_own_process {
        advance(world, Event::Finish(DoneKind::NotSent))?;
    }
    Some(())
}

/// The second redeem of a retry, carried out at once. Whether it was granted.
fn redeem_again(world: &mut World, attempt: usize) -> bool {
    let is_granted = advance(world, Event::Redeem).is_some();
    if is_granted {
        world.primary.claim = Some(attempt);
    }
    is_granted
}

/// A call on the way comes to an end.
fn fly(world: &mut World, attempt: usize, end: Call) -> Option<()> {
    world.attempt(attempt).filter(|sent| sent.call == Call::OnTheWay)?.call = end;
    Some(())
}

/// The node writes down how the call ended, as far as it can know.
fn end(model: &Redeeming, world: &mut World, attempt: usize, event: Event) -> Option<()> {
    let sent = world.attempt(attempt).filter(|sent| sent.stage == Stage::Waiting)?;
    if event != Event::Lose && sent.call != Call::Received {
        return None;
    }
    sent.stage = Stage::Over;
    // A restarted node that sends for its predecessor also writes for it.
    let is_own = model.protocol == Protocol::ResendAfterRestart || world.primary.claim == Some(attempt);
    // An answer that comes too late is noted and changes nothing.
    let _: Option<()> = is_own.then(|| advance(world, event)).flatten();
    Some(())
}

/// What a human or a clock does is one commit, in both copies where replication is synchronous.
fn say(model: &Redeeming, world: &mut World, event: Event) -> Option<()> {
    advance(world, event)?;
    match model.replication {
        Replication::Synchronous => {
            if let Some(standby) = &mut world.standby {
                *standby = world.primary;
            }
        }
        Replication::None | Replication::Asynchronous => {}
    }
    Some(())
}

/// All that a node had in hand is gone with it; what it had sent is not.
fn crash(model: &Redeeming, world: &mut World, node: usize) -> Option<()> {
    world.crashes_left = world.crashes_left.checked_sub(1)?;
    let boot = world.boots.get_mut(node)?;
    *boot += 1;
    let boot = *boot;
    let mut was_running = false;
    for (number, attempt) in world.attempts.iter_mut().enumerate() {
        if attempt.node == node && attempt.stage != Stage::Over {
            attempt.stage = Stage::Gone;
            was_running |= world.primary.claim == Some(number) && world.primary.state == State::Running;
        }
    }
    if model.protocol == Protocol::ResendAfterRestart && was_running {
        let again =
            Attempt { node, boot, stage: Stage::Cleared, redeem: Redeem::Answered, call: Call::NotSent };
        world.attempts.push(again);
    }
    Some(())
}

/// Moves the question by the gateway's own function.
fn advance(world: &mut World, event: Event) -> Option<()> {
    world.primary.state = world.primary.state.after(event).ok()?;
    Some(())
}

impl Attempt {
    /// It holds the store's word.
    fn clear(&mut self) {
        self.redeem = Redeem::Answered;
        self.stage = match self.call {
            Call::NotSent => Stage::Cleared,
            Call::OnTheWay | Call::Received | Call::Lost => Stage::Waiting,
        };
    }
}
