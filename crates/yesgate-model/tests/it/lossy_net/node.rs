//! A node: spends the yes, and sends the call after the store's word for it and for no other reason.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use turmoil::net::TcpStream;
use yesgate_core::id::{BootId, IntentId};

use super::cast::Delivery;
use super::dice::Dice;
use super::vault::{Reply, Request};
use super::wire::{self, Heard};

/// How a node behaves.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Habit {
    /// As ours do.
    Yesgate,
    /// It sends when the store's word is lost.
    SendInDoubt,
    /// It sends, and spends the yes afterwards.
    DispatchFirst,
    /// After a restart it sends what was running when it died.
    ResendAfterRestart,
}

/// What a client asks a node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Present(pub(crate) IntentId);

/// What a node says to a client.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub(crate) enum Said {
    /// It ran.
    Ran,
    /// It may have run.
    Unknown,
    /// It did not run, for want of a yes.
    Refused,
    /// It did not run: the store gave no word.
    Unavailable,
}

/// What survives a node's death: only who it was.
pub(crate) type Boots = Arc<Mutex<Vec<BootId>>>;

const PATIENCE_WITH_STORE: Duration = Duration::from_millis(400);
const PATIENCE_WITH_SERVER: Duration = Duration::from_millis(600);

/// One life of a node.
pub(crate) async fn run(habit: Habit, boots: Boots, mut dice: Dice) -> turmoil::Result {
    let (boot, ended) = {
        let mut boots = boots.lock().unwrap();
        // The dice of one node fall the same way in each life.
        for _ in 0..boots.len() {
            dice.entropy();
        }
        let boot = BootId::from_entropy(dice.entropy());
        let ended = boots.clone();
        boots.push(boot.clone());
        (boot, ended)
    };
    let at_start = boot.clone();
    // On the host's own list, here and elsewhere: what dies with a host goes in the order in which it came, whatever
    // else the process has run before, and a seed tells the same story each time.
    tokio::task::spawn_local(async move {
        let started = Request::Started { ended };
        for _ in 0..5 {
            if let Heard::Answer(Reply::Done(lost)) = wire::ask("store", &started, PATIENCE_WITH_STORE).await
            {
                if habit == Habit::ResendAfterRestart {
                    for intent in lost {
                        send(&intent, &at_start).await;
                    }
                }
                return;
            }
        }
    });
    let listener = wire::listen().await?;
    loop {
        let (stream, _) = listener.accept().await?;
        let boot = boot.clone();
        tokio::task::spawn_local(async move { handle(habit, stream, boot).await });
    }
}

async fn handle(habit: Habit, mut stream: TcpStream, boot: BootId) {
    let Ok(Present(intent)) = wire::read(&mut stream).await else { return };
    let said = redeem_and_send(habit, &intent, &boot).await;
    // Nobody may wait for it any more, which changes nothing.
    drop(wire::write(&mut stream, &said).await);
}

async fn redeem_and_send(habit: Habit, intent: &IntentId, boot: &BootId) -> Said {
    if habit == Habit::DispatchFirst {
        send(intent, boot).await;
    }
    let redeem = Request::Redeem { intent: intent.clone(), boot: boot.clone() };
    match wire::ask("store", &redeem, PATIENCE_WITH_STORE).await {
        Heard::Answer(Reply::Done(_)) if habit == Habit::DispatchFirst => return Said::Ran,
        Heard::Answer(Reply::Done(_)) => {}
        Heard::Answer(Reply::Refused) => return Said::Refused,
        Heard::Silence if habit == Habit::SendInDoubt => {}
        // Whether it was spent is not known. It is not tried again, and nothing is sent.
        Heard::NotSent | Heard::Silence => return Said::Unavailable,
    }
    match send(intent, boot).await {
        Heard::Answer(()) => {
            tell_store(Request::Finish(intent.clone())).await;
            Said::Ran
        }
        Heard::NotSent | Heard::Silence => {
            tell_store(Request::Lose(intent.clone())).await;
            Said::Unknown
        }
    }
}

async fn send(intent: &IntentId, boot: &BootId) -> Heard<()> {
    let call = Delivery { intent: intent.clone(), boot: boot.clone() };
    wire::ask("upstream", &call, PATIENCE_WITH_SERVER).await
}

/// Says how it ended. To say that again is no harm: the second time changes nothing.
async fn tell_store(end: Request) {
    for _ in 0..3 {
        if let Heard::Answer(Reply::Done(_) | Reply::Refused) =
            wire::ask("store", &end, PATIENCE_WITH_STORE).await
        {
            return;
        }
    }
}
