//! Who wants to hear what changes at a server, and the one stream on which a modern server tells it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use serde_json::json;
use tokio::sync::mpsc;

use super::Server;
use super::link::Link;
use crate::board::Wanted;
use crate::era::{Era, SUBSCRIPTION_ID};
use crate::raw::RawObject;
use crate::talk::{Notice, PartyKey, Talk};
use crate::upstream::exchange::Step;
use crate::upstream::pipe::Interest;
use crate::upstream::{Outgoing, Upstream};

/// Those who want to hear of something.
#[derive(Debug, Default)]
pub(crate) struct Listeners(Mutex<Vec<Listener>>);

#[derive(Debug)]
struct Listener {
    wanted: Wanted,
    sink: Sink,
}

#[derive(Debug)]
enum Sink {
    Stream(mpsc::Sender<Notice>),
    Session(PartyKey, Arc<dyn Talk>),
}

impl Listeners {
    /// Tells a stream what it wants to hear, until it is closed.
    pub(crate) fn add(&self, wanted: Wanted, stream: mpsc::Sender<Notice>) {
        self.lock().push(Listener { wanted, sink: Sink::Stream(stream) });
    }

    /// Tells a session that lists changed, until it leaves.
    pub(crate) fn add_session(&self, key: &PartyKey, talk: &Arc<dyn Talk>) {
        let mut listeners = self.lock();
        let known = listeners.iter().any(|listener| listener.is_of(key));
        if !known {
            let wanted = Wanted { tools: true, prompts: true, resources: true, ..Wanted::default() };
            listeners.push(Listener { wanted, sink: Sink::Session(key.clone(), Arc::clone(talk)) });
        }
    }

    /// Tells everybody who wants to hear it. One that does not listen fast enough is told less.
    pub(crate) fn tell(&self, notice: &Notice) {
        self.lock().retain(|listener| {
            let wants = listener.wants(notice);
            match &listener.sink {
                Sink::Stream(stream) => {
                    if wants && stream.try_send(notice.clone()).is_err() {
                        tracing::debug!("a client misses a notice: it does not listen, or is slow");
                    }
                    !stream.is_closed()
                }
                Sink::Session(_, talk) => {
                    if wants {
                        talk.notify(notice.clone());
                    }
                    true
                }
            }
        });
    }

    /// A session left.
    pub(crate) fn leave(&self, key: &PartyKey) {
        self.lock().retain(|listener| !listener.is_of(key));
    }

    fn anybody(&self) -> bool {
        let mut listeners = self.lock();
        listeners.retain(|listener| match &listener.sink {
            Sink::Stream(stream) => !stream.is_closed(),
            Sink::Session(..) => true,
        });
        !listeners.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Listener>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listener {
    fn is_of(&self, key: &PartyKey) -> bool {
        match &self.sink {
            Sink::Session(known, _) => known == key,
            Sink::Stream(_) => false,
        }
    }

    fn wants(&self, notice: &Notice) -> bool {
        let text = |key: &str| notice.params.as_deref().and_then(RawObject::parse)?.text(key);
        match notice.method.as_ref() {
            "notifications/tools/list_changed" => self.wanted.tools,
            "notifications/prompts/list_changed" => self.wanted.prompts,
            "notifications/resources/list_changed" => self.wanted.resources,
            "notifications/resources/updated" => {
                text("uri").is_some_and(|uri| self.wanted.uris.contains(&uri))
            }
            "notifications/tasks" => text("taskId").is_some_and(|id| self.wanted.tasks.contains(&id)),
            _ => false,
        }
    }
}

/// The stream on which a modern server tells everybody that its lists changed.
#[derive(Debug, Default)]
pub(crate) struct Feed {
    listeners: Listeners,
    running: Mutex<bool>,
}

impl Feed {
    /// A session left.
    pub(crate) fn leave(&self, key: &PartyKey) {
        self.listeners.leave(key);
    }

    /// Tells everybody who wants to hear it.
    pub(crate) fn tell(&self, notice: &Notice) {
        self.listeners.tell(notice);
    }

    fn claim(&self) -> bool {
        !std::mem::replace(&mut *self.running.lock().unwrap_or_else(PoisonError::into_inner), true)
    }

    /// Gives the stream up where nobody listens any more.
    fn give_up(&self) -> bool {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        *running = self.listeners.anybody();
        !*running
    }
}

impl Server {
    /// Lets a stream hear of changed lists, over the one subscription that all share.
    pub(crate) fn follow(self: &Arc<Self>, link: &Arc<Link>, wanted: Wanted, stream: mpsc::Sender<Notice>) {
        self.feed.listeners.add(wanted, stream);
        self.run_feed(link);
    }

    /// Lets a session hear of changed lists.
    pub(crate) fn follow_session(self: &Arc<Self>, link: &Arc<Link>, key: &PartyKey, talk: &Arc<dyn Talk>) {
        self.feed.listeners.add_session(key, talk);
        self.run_feed(link);
    }

    fn run_feed(self: &Arc<Self>, link: &Arc<Link>) {
        if self.feed.claim() {
            tokio::spawn(run(Arc::clone(self), Arc::clone(&link.upstream)));
        }
    }
}

/// Keeps the shared subscription open as long as anybody listens.
async fn run(server: Arc<Server>, upstream: Arc<Upstream>) {
    let wanted = Wanted { tools: true, prompts: true, resources: true, ..Wanted::default() };
    let mut pause = FIRST_PAUSE;
    loop {
        let heard = subscribe(&upstream, &wanted, |notice| {
            if notice.method == "notifications/tools/list_changed" {
                upstream.book.outdated();
            }
            server.feed.listeners.tell(&notice);
            server.feed.listeners.anybody()
        })
        .await;
        if server.feed.give_up() {
            return;
        }
        pause = if heard { FIRST_PAUSE } else { (pause * 2).min(LONGEST_PAUSE) };
        tokio::time::sleep(pause).await;
    }
}

/// Hears of what is wanted on a subscription of its own, until the stream is closed.
pub(crate) async fn follow_alone(upstream: Arc<Upstream>, wanted: Wanted, stream: mpsc::Sender<Notice>) {
    let hearing = subscribe(&upstream, &wanted, |notice| {
        if stream.try_send(notice).is_err() {
            tracing::debug!("a client misses a notice: it does not listen, or is slow");
        }
        !stream.is_closed()
    });
    tokio::select! {
        _ = hearing => {}
        () = stream.closed() => {}
    }
}

/// Opens a subscription, and hands on what comes until `tell` has enough. Says whether anything came.
async fn subscribe(upstream: &Upstream, wanted: &Wanted, mut tell: impl FnMut(Notice) -> bool) -> bool {
    let params = params(wanted);
    let outgoing = Outgoing {
        method: "subscriptions/listen",
        params: &params,
        name: None,
        mirrored: &HeaderMap::default(),
    };
    let Ok(mut exchange) = upstream.start(outgoing, Interest::All, None) else { return false };
    let mut heard = false;
    loop {
        match exchange.next().await {
            Step::Notice(notice) if notice.method == "notifications/subscriptions/acknowledged" => {
                heard = true
            }
            Step::Notice(notice) => {
                heard = true;
                if !tell(untied(notice)) {
                    return heard;
                }
            }
            Step::Request { .. } | Step::Withdrawn { .. } => {}
            Step::Answer(_) | Step::TooLong | Step::Lost(_) | Step::Unsent(_) | Step::TurnedAway(_) => {
                return heard;
            }
        }
    }
}

fn params(wanted: &Wanted) -> Bytes {
    let mut notifications = serde_json::Map::new();
    for (key, wish) in [
        ("toolsListChanged", wanted.tools),
        ("promptsListChanged", wanted.prompts),
        ("resourcesListChanged", wanted.resources),
    ] {
        if wish {
            notifications.insert(key.into(), true.into());
        }
    }
    if !wanted.uris.is_empty() {
        notifications.insert("resourceSubscriptions".into(), json!(wanted.uris));
    }
    if !wanted.tasks.is_empty() {
        notifications.insert("taskIds".into(), json!(wanted.tasks));
    }
    json!({"_meta": Era::own_meta(), "notifications": notifications}).to_string().into()
}

/// A notice without the tie to our own subscription.
fn untied(mut notice: Notice) -> Notice {
    if let Some(mut fields) = notice.params.as_deref().and_then(RawObject::parse)
        && let Some(mut meta) = fields.get("_meta").and_then(RawObject::parse)
        && meta.remove(SUBSCRIPTION_ID).is_some()
    {
        if meta.is_empty() {
            fields.remove("_meta");
        } else {
            fields.set("_meta", meta.to_raw());
        }
        notice.params = if fields.is_empty() { None } else { Some(fields.to_raw()) };
    }
    notice
}

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
