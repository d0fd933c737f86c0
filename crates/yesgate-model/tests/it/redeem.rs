//! Ours holds in every world that can be reached; each way that is wrong is found, and a story of it is told.

use std::collections::BTreeSet;

use stateright::{Checker, HasDiscoveries, Model};
use yesgate_model::{Action, Bounds, Promise, Protocol, Redeeming, Replication};

const TWO_NODES: Bounds = Bounds { nodes: 2, presentations: 2, crashes: 2 };
const THREE_CLIENTS: Bounds = Bounds { nodes: 2, presentations: 3, crashes: 1 };

/// Looks at every world, and finds nothing wrong in any.
#[track_caller]
fn holds(protocol: Protocol, replication: Replication, bounds: Bounds) {
    let checker = Redeeming { protocol, replication, bounds }.checker().threads(2).spawn_bfs().join();
    assert!(checker.is_done(), "the search was given up");
    println!("{protocol:?} {replication:?}: {} worlds", checker.unique_state_count());
    checker.assert_properties();
}

/// Finds that the promises are broken, and that this story breaks the first of them.
#[track_caller]
fn is_broken(protocol: Protocol, replication: Replication, promises: &[Promise], story: &[Action]) {
    let names: BTreeSet<&str> = promises.iter().map(|promise| promise.name()).collect();
    let model = Redeeming { protocol, replication, bounds: TWO_NODES };
    let checker = model.checker().finish_when(HasDiscoveries::AllOf(names.clone())).spawn_bfs().join();
    for name in names {
        let path = checker.assert_any_discovery(name);
        println!("{protocol:?} breaks \"{name}\": {:?}", path.into_actions());
    }
    if let Some(first) = promises.first().filter(|_| !story.is_empty()) {
        checker.assert_discovery(first.name(), story.to_vec());
    }
}

/// INV1, INV2, INV7, INV9: one node after the other, side by side, dying, and in doubt.
#[test]
fn ours_holds_on_one_store() {
    holds(Protocol::Yesgate, Replication::None, TWO_NODES);
}

#[test]
fn ours_holds_with_three_clients() {
    holds(Protocol::Yesgate, Replication::None, THREE_CLIENTS);
}

#[test]
fn ours_holds_when_a_store_fails_over_that_replicates_synchronously() {
    holds(Protocol::Yesgate, Replication::Synchronous, TWO_NODES);
    holds(Protocol::Yesgate, Replication::Synchronous, THREE_CLIENTS);
}

/// FC-2: as the ledger's writer settles a commit in doubt.
#[test]
fn one_writer_for_each_process_may_settle_its_doubts_by_the_process() {
    holds(Protocol::OneWriter, Replication::None, TWO_NODES);
    holds(Protocol::OneWriter, Replication::None, THREE_CLIENTS);
    holds(Protocol::OneWriter, Replication::Synchronous, TWO_NODES);
}

/// Between the look and the write somebody else has written, and a no is written over.
#[test]
fn to_check_and_then_act_is_found_broken() {
    is_broken(
        Protocol::CheckThenAct,
        Replication::None,
        &[Promise::Once, Promise::NoWins],
        &[
            Action::Approve,
            Action::Present { node: 0 },
            Action::Present { node: 1 },
            Action::Commit(0),
            Action::Commit(1),
            Action::Acknowledge(0),
            Action::Acknowledge(1),
            Action::Send(0),
            Action::Send(1),
            Action::Deliver(0),
            Action::Deliver(1),
        ],
    );
}

/// The yes is still there for whoever comes next, until the write that lags behind the call.
#[test]
fn to_send_before_the_yes_is_spent_is_found_broken() {
    is_broken(
        Protocol::DispatchFirst,
        Replication::None,
        &[Promise::Once, Promise::NoWins, Promise::NotSentIsTrue],
        &[
            Action::Approve,
            Action::Present { node: 0 },
            Action::Crash { node: 0 },
            Action::Deliver(0),
            Action::Present { node: 1 },
            Action::Deliver(1),
        ],
    );
}

/// The standby never heard of the redeem, and takes the place of the one that did.
#[test]
fn a_failover_of_a_store_that_replicates_asynchronously_is_found_broken() {
    is_broken(
        Protocol::Yesgate,
        Replication::Asynchronous,
        &[Promise::Once, Promise::NoWins, Promise::NothingReturns],
        &[
            Action::Approve,
            Action::Replicate,
            Action::Present { node: 0 },
            Action::Commit(0),
            Action::Acknowledge(0),
            Action::Send(0),
            Action::Deliver(0),
            Action::Failover,
            Action::Present { node: 1 },
            Action::Commit(1),
            Action::Acknowledge(1),
            Action::Send(1),
            Action::Deliver(1),
        ],
    );
}

/// Whoever was slow is not dead: its call is on the way when the next one is sent.
#[test]
fn a_job_that_reclaims_what_runs_too_long_is_found_broken() {
    is_broken(
        Protocol::ReclaimJob,
        Replication::None,
        &[Promise::Once, Promise::NothingReturns],
        &[
            Action::Approve,
            Action::Present { node: 0 },
            Action::Commit(0),
            Action::Acknowledge(0),
            Action::Send(0),
            Action::Reclaim,
            Action::Deliver(0),
            Action::Present { node: 1 },
            Action::Commit(1),
            Action::Acknowledge(1),
            Action::Send(1),
            Action::Deliver(1),
        ],
    );
}

/// INV9: a node cannot know whether it had sent before it died.
#[test]
fn to_send_again_after_a_restart_is_found_broken() {
    is_broken(
        Protocol::ResendAfterRestart,
        Replication::None,
        &[Promise::Once, Promise::LostIsUnknown],
        &[
            Action::Approve,
            Action::Present { node: 0 },
            Action::Commit(0),
            Action::Acknowledge(0),
            Action::Send(0),
            Action::Deliver(0),
            Action::Crash { node: 0 },
            Action::Send(1),
            Action::Deliver(1),
        ],
    );
}

/// FC-2: two clients at one node. The second was turned down, does not hear it, and takes the first one's run for its own.
#[test]
fn to_redeem_again_after_a_lost_acknowledgement_is_found_broken() {
    is_broken(
        Protocol::RetryByBoot,
        Replication::None,
        &[Promise::Once],
        &[
            Action::Approve,
            Action::Present { node: 0 },
            Action::Present { node: 0 },
            Action::Commit(0),
            Action::Acknowledge(0),
            Action::Send(0),
            Action::Deliver(0),
            Action::Commit(1),
            Action::LoseWord(1),
            Action::Settle(1),
            Action::Send(1),
            Action::Deliver(1),
        ],
    );
}

/// What breaks the retry above is that a row names a process and not an attempt. One that does would hold; ours needs neither.
#[test]
fn to_redeem_again_would_hold_if_the_row_named_the_attempt() {
    let model =
        Redeeming { protocol: Protocol::RetryByClaim, replication: Replication::None, bounds: TWO_NODES };
    let checker = model.checker().spawn_bfs().join();
    for promise in Promise::ALL {
        checker.assert_no_discovery(promise.name());
    }
}

/// FC-1, FC-2: no word is no yes.
#[test]
fn to_send_without_the_stores_word_is_found_broken() {
    is_broken(
        Protocol::SendInDoubt,
        Replication::None,
        &[Promise::OnlyAfterYes, Promise::Once, Promise::NoWins],
        &[Action::Present { node: 0 }, Action::LoseWord(0), Action::Send(0), Action::Deliver(0)],
    );
}

/// FC-3: PostgreSQL says `UPDATE 1` and a warning when the wait for the standby is cancelled.
#[test]
fn to_believe_an_acknowledgement_with_a_warning_is_found_broken() {
    is_broken(
        Protocol::BelieveWarnings,
        Replication::Synchronous,
        &[Promise::NothingReturns, Promise::Once],
        &[Action::Approve, Action::Present { node: 0 }, Action::Commit(0), Action::Warn(0), Action::Failover],
    );
}

/// FC-2: the follow-up read must tell its own redeem from another one of the same process, or it calls not sent what was sent.
#[test]
fn to_settle_a_doubt_by_the_process_that_runs_it_is_found_broken() {
    is_broken(
        Protocol::SettleByBoot,
        Replication::None,
        &[Promise::NotSentIsTrue, Promise::LostIsUnknown],
        &[
            Action::Approve,
            Action::Present { node: 0 },
            Action::Present { node: 0 },
            Action::Commit(0),
            Action::Acknowledge(0),
            Action::Send(0),
            Action::Deliver(0),
            Action::Commit(1),
            Action::LoseWord(1),
            Action::Settle(1),
        ],
    );
}

/// A promise that nothing breaks would be one that says nothing.
#[test]
fn every_promise_is_broken_by_something() {
    let broken = |promise: Promise| match promise {
        Promise::Once | Promise::NoWins => (Protocol::CheckThenAct, Replication::None),
        Promise::OnlyAfterYes => (Protocol::SendInDoubt, Replication::None),
        Promise::NothingReturns => (Protocol::ReclaimJob, Replication::None),
        Promise::LostIsUnknown => (Protocol::ResendAfterRestart, Replication::None),
        Promise::NotSentIsTrue => (Protocol::SettleByBoot, Replication::None),
    };
    for promise in Promise::ALL {
        let (protocol, replication) = broken(promise);
        is_broken(protocol, replication, &[promise], &[]);
    }
}
