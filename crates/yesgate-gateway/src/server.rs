//! One server behind the gateway: where it is, which eras it speaks, and the links to it.
//!
//! A modern server over HTTP keeps nothing between two requests, so everybody shares one link to it. In
//! all other cases what a server remembers, asks and tells belongs to one client: each has its own link.
//! A server that cannot be reached is tried again with growing pauses, and hides no other.

pub(crate) mod aside;
mod connect;
pub(crate) mod feed;
pub(crate) mod link;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use yesgate_core::caller::Caller;

use self::feed::Feed;
use self::link::{Link, LinkKey, Slot};
use crate::child::ChildSpec;
use crate::era::{Era, LEGACY_VERSION};
use crate::errand::Ways;
use crate::gate::Gate;
use crate::raw::raw;
use crate::talk::{Boxed, Notice, Party, PartyKey};
use crate::trace::Tracing;
use crate::upstream::Upstream;
use crate::upstream::web::WebPlace;
use yesgate_http::fetch::HttpClient;

/// What the operator says of a server.
#[derive(Clone, Debug)]
pub struct ServerSpec {
    /// What its tools' names begin with where several servers share an endpoint.
    pub prefix: String,
    /// Where it is.
    pub place: Place,
    /// The only era to speak with it; `None`: to be found out.
    pub era: Option<Era>,
}

/// Where a server is.
#[derive(Clone, Debug)]
pub enum Place {
    /// A process of ours.
    Child(ChildSpec),
    /// Somewhere else.
    Web(WebPlace),
}

/// One server behind the gateway.
#[derive(Debug)]
pub struct Server {
    pub(crate) spec: ServerSpec,
    /// Where its calls are judged.
    pub gate: Arc<Gate>,
    client: HttpClient,
    tracing: Tracing,
    children: Arc<Semaphore>,
    links: Mutex<HashMap<LinkKey, Arc<Slot>>>,
    eras: Mutex<Eras>,
    pub(crate) feed: Feed,
}

/// What is known of the eras that a server speaks.
#[derive(Clone, Copy, Debug, Default)]
struct Eras {
    no_legacy: bool,
    no_modern: bool,
}

/// A server cannot be reached now.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the server `{server}` cannot be reached: {why}")]
pub struct Unreachable {
    pub(crate) server: String,
    pub(crate) why: String,
}

/// How a server does.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Health {
    /// Nobody needed it yet.
    Idle,
    /// It answers.
    Up,
    /// It did not answer when it was last needed.
    Down(String),
}

impl Server {
    /// Puts a server behind its gate. Nothing is started before it is needed.
    pub fn new(
        spec: ServerSpec,
        gate: Arc<Gate>,
        client: HttpClient,
        tracing: Tracing,
        children: Arc<Semaphore>,
    ) -> Self {
        Self {
            spec,
            gate,
            client,
            tracing,
            children,
            links: Mutex::default(),
            eras: Mutex::default(),
            feed: Feed::default(),
        }
    }

    /// How it does.
    pub fn health(&self) -> Health {
        let slots: Vec<Arc<Slot>> = self.links().values().cloned().collect();
        let mut health = Health::Idle;
        for slot in slots {
            match slot.health() {
                Health::Up => return Health::Up,
                down @ Health::Down(_) => health = down,
                Health::Idle => {}
            }
        }
        health
    }

    /// The link for a client, in the client's own era where the server speaks it.
    pub(crate) async fn link(self: &Arc<Self>, party: &Arc<Party>) -> Result<Arc<Link>, Unreachable> {
        match &self.spec.place {
            Place::Child(_) => {
                self.link_of(LinkKey::Party(party.key.clone()), party, &self.order(party)).await
            }
            Place::Web(_) => {
                let mut failed = None;
                for era in self.order(party) {
                    let key = match era {
                        Era::Modern => LinkKey::Shared,
                        Era::Legacy => LinkKey::Party(party.key.clone()),
                    };
                    match self.link_of(key, party, &[era]).await {
                        Ok(link) => return Ok(link),
                        Err(error) => failed = failed.or(Some(error)),
                    }
                }
                Err(failed.unwrap_or_else(|| self.unreachable("no era to speak with it is left".into())))
            }
        }
    }

    /// The link that is kept for a client.
    pub(crate) fn link_to(&self, party: &PartyKey) -> Option<Arc<Link>> {
        self.links().get(&LinkKey::Party(party.clone())).and_then(|slot| slot.up())
    }

    /// Tells everybody who listens to this server.
    pub(crate) fn tell(&self, notice: &Notice) {
        self.feed.tell(notice);
        let slots: Vec<Arc<Slot>> = self.links().values().cloned().collect();
        for link in slots.iter().filter_map(|slot| slot.up()) {
            link.aside.tell(notice);
        }
    }

    /// A client left: the links that were kept for it go.
    pub(crate) fn leave(&self, party: &PartyKey) {
        let slot = self.links().remove(&LinkKey::Party(party.clone()));
        self.feed.leave(party);
        if let Some(slot) = slot {
            slot.close();
        }
    }

    /// Ends all links.
    pub(crate) fn close(&self) {
        let slots: Vec<Arc<Slot>> = self.links().drain().map(|(_, slot)| slot).collect();
        for slot in slots {
            slot.close();
        }
    }

    /// Ends links that nobody has used for a while. Those of sessions end with the session.
    pub(crate) fn sweep(&self) {
        let mut idle = Vec::new();
        self.links().retain(|_, slot| {
            let keeps = !slot.is_idle(IDLE);
            if !keeps {
                idle.push(Arc::clone(slot));
            }
            keeps
        });
        for slot in idle {
            slot.close();
        }
    }

    /// The eras to try, in order.
    fn order(&self, party: &Party) -> Vec<Era> {
        if let Some(era) = self.spec.era {
            return vec![era];
        }
        let eras = *self.eras.lock().unwrap_or_else(PoisonError::into_inner);
        let all = match party.era {
            Era::Modern => [Era::Modern, Era::Legacy],
            Era::Legacy => [Era::Legacy, Era::Modern],
        };
        let possible = |era: &Era| match era {
            Era::Modern => !eras.no_modern,
            Era::Legacy => !eras.no_legacy,
        };
        let known: Vec<Era> = all.into_iter().filter(possible).collect();
        // A server that spoke neither may have been ill.
        if known.is_empty() { all.to_vec() } else { known }
    }

    /// Notes that the server answered in one era, and would not in another.
    fn learn(&self, speaks: Era, not: &[Era]) {
        self.learn_refusal(not);
        let mut eras = self.eras.lock().unwrap_or_else(PoisonError::into_inner);
        match speaks {
            Era::Modern => eras.no_modern = false,
            Era::Legacy => eras.no_legacy = false,
        }
    }

    /// Notes that the server would not speak in an era. One that refused them all may have been ill.
    fn learn_refusal(&self, not: &[Era]) {
        let mut eras = self.eras.lock().unwrap_or_else(PoisonError::into_inner);
        for era in not {
            match era {
                Era::Modern => eras.no_modern = true,
                Era::Legacy => eras.no_legacy = true,
            }
        }
    }

    async fn link_of(
        self: &Arc<Self>,
        key: LinkKey,
        party: &Arc<Party>,
        order: &[Era],
    ) -> Result<Arc<Link>, Unreachable> {
        let slot = Arc::clone(self.links().entry(key).or_default());
        if let Some(link) = slot.up() {
            return Ok(link);
        }
        // In a box: it is rare, and needs more room than all the rest of a call.
        match Box::pin(slot.connect(|| connect::connect(self, party, order))).await {
            Ok(link) => {
                self.gate.metrics.is_up();
                Ok(link)
            }
            Err(why) => {
                self.gate.metrics.is_down();
                Err(self.unreachable(why))
            }
        }
    }

    fn unreachable(&self, why: String) -> Unreachable {
        Unreachable { server: self.gate.server.name.to_string(), why }
    }

    fn links(&self) -> MutexGuard<'_, HashMap<LinkKey, Arc<Slot>>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long a link that nobody uses is kept.
const IDLE: Duration = Duration::from_secs(600);

/// The ways that calls take whose caller is not there any more.
#[derive(Debug)]
pub(crate) struct ServerWays(pub(crate) Arc<Server>);

impl Ways for ServerWays {
    fn way<'a>(&'a self, caller: &'a Caller) -> Boxed<'a, Option<Arc<Upstream>>> {
        Box::pin(async move {
            let slots: Vec<Arc<Slot>> = self.0.links().values().cloned().collect();
            let naming = self.0.gate.setting.naming;
            let own = slots.iter().filter_map(|slot| slot.up()).find(|link| link.serves(caller, naming));
            let link = match own {
                Some(link) => link,
                None => self.0.link(&Arc::new(absent(caller))).await.ok()?,
            };
            Some(Arc::clone(&link.upstream))
        })
    }
}

/// A client that is not there: it can be asked nothing.
pub(crate) fn absent(caller: &Caller) -> Party {
    Party {
        key: PartyKey(format!("absent {} {} {}", caller.org, caller.principal, caller.client)),
        caller: caller.clone(),
        era: Era::Modern,
        version: LEGACY_VERSION.into(),
        capabilities: raw("{}".into()),
        info: None,
        client: None,
        session: None,
    }
}

/// What a server said when it was first spoken to.
#[derive(Clone, Debug)]
pub(crate) struct Hello {
    /// The result of `initialize` or of `server/discover`.
    pub(crate) result: Box<RawValue>,
}

/// Looks after a moment that lies in the past.
pub(crate) fn is_past(moment: Instant) -> bool {
    Instant::now() >= moment
}
