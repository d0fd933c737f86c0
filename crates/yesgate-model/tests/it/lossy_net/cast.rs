//! Everybody but the nodes: the store's host, the server, agents and a human.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::time::sleep;
use yesgate_core::id::{BootId, IntentId};

use super::dice::Dice;
use super::node::{Present, Said};
use super::vault::{Reply, Request, Vault, moment};
use super::wire::{self, Heard};

/// A call, as the server gets it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Delivery {
    pub(crate) intent: IntentId,
    pub(crate) boot: BootId,
}

/// A call, as the server wrote it down.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Received {
    pub(crate) at: Timestamp,
    pub(crate) intent: IntentId,
    pub(crate) boot: BootId,
}

/// A list that one writes and the judge reads.
pub(crate) type Log<T> = Arc<Mutex<Vec<T>>>;

const PATIENCE: Duration = Duration::from_millis(500);

/// The host in front of the ledger. It may die with a request in hand, before or after the commit.
pub(crate) async fn store(vault: Vault, dice: Dice) -> turmoil::Result {
    let listener = wire::listen().await?;
    let dice = Arc::new(Mutex::new(dice));
    loop {
        let (mut stream, _) = listener.accept().await?;
        let (vault, dice) = (vault.clone(), Arc::clone(&dice));
        tokio::task::spawn_local(async move {
            let Ok(request) = wire::read::<Request>(&mut stream).await else { return };
            let (before, after) = {
                let mut dice = dice.lock().unwrap();
                (dice.pause(60), dice.pause(60))
            };
            sleep(before).await;
            let reply = vault.serve(request, now());
            sleep(after).await;
            drop(wire::write(&mut stream, &reply).await);
        });
    }
}

/// The server writes down what it receives before it does anything else.
pub(crate) async fn upstream(log: Log<Received>, dice: Dice) -> turmoil::Result {
    let listener = wire::listen().await?;
    let dice = Arc::new(Mutex::new(dice));
    loop {
        let (mut stream, _) = listener.accept().await?;
        let (log, dice) = (Arc::clone(&log), Arc::clone(&dice));
        tokio::task::spawn_local(async move {
            let Ok(Delivery { intent, boot }) = wire::read(&mut stream).await else { return };
            log.lock().unwrap().push(Received { at: moment(now()), intent, boot });
            let pause = dice.lock().unwrap().pause(200);
            sleep(pause).await;
            drop(wire::write(&mut stream, &()).await);
        });
    }
}

/// An agent presents every token, here and there and again, until it is told how it ended.
pub(crate) async fn agent(
    intents: Vec<IntentId>,
    nodes: Vec<String>,
    mut dice: Dice,
    said: Log<Said>,
) -> turmoil::Result {
    for _ in 0..3 {
        for intent in &intents {
            sleep(dice.pause(150)).await;
            let node = usize::try_from(dice.below(nodes.len() as u64)).unwrap();
            let present = Present(intent.clone());
            if let Heard::Answer(answer) = wire::ask::<_, Said>(&nodes[node], &present, 2 * PATIENCE).await {
                said.lock().unwrap().push(answer);
            }
        }
    }
    Ok(())
}

/// The human says yes to most, no to some, and sometimes no after a yes. What is not acknowledged is said again.
pub(crate) async fn human(intents: Vec<IntentId>, mut dice: Dice, noes: Log<IntentId>) -> turmoil::Result {
    for intent in intents {
        sleep(dice.pause(300)).await;
        let mut words = match dice.below(10) {
            0 => vec![],
            1 => vec![Request::Deny(intent.clone())],
            2 | 3 => vec![Request::Approve(intent.clone()), Request::Deny(intent.clone())],
            _ => vec![Request::Approve(intent.clone())],
        };
        for word in words.drain(..) {
            let is_no = match &word {
                Request::Deny(_) => true,
                Request::Approve(_)
                | Request::Redeem { .. }
                | Request::Finish(_)
                | Request::Lose(_)
                | Request::Started { .. } => false,
            };
            for _ in 0..4 {
                match wire::ask("store", &word, PATIENCE).await {
                    Heard::Answer(Reply::Done(_)) if is_no => {
                        noes.lock().unwrap().push(intent.clone());
                        break;
                    }
                    Heard::Answer(Reply::Done(_) | Reply::Refused) => break,
                    Heard::NotSent | Heard::Silence => {}
                }
            }
        }
    }
    Ok(())
}

fn now() -> Duration {
    turmoil::sim_elapsed().expect("inside the simulation")
}
