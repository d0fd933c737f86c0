//! What a modern client wants to hear of outside of its requests.

use std::sync::Arc;

use http::HeaderMap;
use serde_json::json;
use tokio::sync::mpsc;

use super::{Hub, unreachable};
use crate::board::{Listening, Scope, Wanted};
use crate::cancel::Cancel;
use crate::era::Era;
use crate::hearing::Hearing;
use crate::reply::Reply;
use crate::server::Server;
use crate::server::feed::follow_alone;
use crate::server::link::Link;
use crate::talk::{Notice, Party};
use crate::upstream::Outgoing;

impl Hub {
    pub(super) async fn begin_to_listen(
        &self,
        scope: &Scope,
        party: &Arc<Party>,
        mut wanted: Wanted,
    ) -> Result<Listening, Reply> {
        wanted.tasks = self.without_own(wanted.tasks, scope).await;
        let (stream, notices) = mpsc::channel(STREAM);
        let mut granted = Wanted::default();
        let shares = self.shares(scope, party, &wanted).await;
        for server in self.all(scope) {
            let link = match (self.link(&server, party).await, scope) {
                (Ok(link), _) => link,
                (Err(error), Scope::One(_)) => return Err(unreachable(&error)),
                // A dead server does not hide the others.
                (Err(_), Scope::All) => continue,
            };
            let part = possible(&link, &share(&shares, &server, &wanted));
            match link.era {
                Era::Modern if part.uris.is_empty() && part.tasks.is_empty() => {
                    server.follow(&link, part.clone(), stream.clone());
                }
                Era::Modern => {
                    tokio::spawn(follow_alone(Arc::clone(&link.upstream), part.clone(), stream.clone()));
                }
                Era::Legacy => {
                    link.aside.listeners.add(part.clone(), stream.clone());
                    if !part.uris.is_empty() {
                        tokio::spawn(subscribe(Arc::clone(&link), part.uris.clone(), stream.clone()));
                    }
                }
            }
            merge(&mut granted, part);
        }
        Ok(Listening { granted, notices })
    }
}

/// An address, and the server that has it.
type Owned = (String, Option<Arc<Server>>);

impl Hub {
    /// Whose each address is, where that has to be found out: no server is told of another one's.
    async fn shares(&self, scope: &Scope, party: &Arc<Party>, wanted: &Wanted) -> Option<Vec<Owned>> {
        match scope {
            Scope::One(_) => None,
            Scope::All if wanted.uris.is_empty() => Some(Vec::new()),
            Scope::All => {
                let owners = self.owners(party, &wanted.uris).await;
                Some(wanted.uris.iter().cloned().zip(owners).collect())
            }
        }
    }
}

/// What of the wishes concerns a server. Where several share an endpoint there are no tasks.
fn share(shares: &Option<Vec<Owned>>, server: &Arc<Server>, wanted: &Wanted) -> Wanted {
    let Some(shares) = shares else { return wanted.clone() };
    let is_its = |owner: &Option<Arc<Server>>| owner.as_ref().is_some_and(|owner| Arc::ptr_eq(owner, server));
    let uris = shares.iter().filter(|(_, owner)| is_its(owner)).map(|(uri, _)| uri.clone()).collect();
    Wanted { uris, tasks: Vec::new(), ..wanted.clone() }
}

/// What of the wishes a server can fulfil.
fn possible(link: &Link, wanted: &Wanted) -> Wanted {
    let subscribes =
        link.does("resources", "subscribe") || (link.era == Era::Modern && link.has("resources"));
    Wanted {
        tools: wanted.tools && link.does("tools", "listChanged"),
        prompts: wanted.prompts && link.does("prompts", "listChanged"),
        resources: wanted.resources && link.does("resources", "listChanged"),
        uris: if subscribes { wanted.uris.clone() } else { Vec::new() },
        tasks: match link.era {
            Era::Modern => wanted.tasks.clone(),
            Era::Legacy => Vec::new(),
        },
    }
}

fn merge(granted: &mut Wanted, part: Wanted) {
    granted.tools |= part.tools;
    granted.prompts |= part.prompts;
    granted.resources |= part.resources;
    for uri in part.uris {
        if !granted.uris.contains(&uri) {
            granted.uris.push(uri);
        }
    }
    for task in part.tasks {
        if !granted.tasks.contains(&task) {
            granted.tasks.push(task);
        }
    }
}

/// Subscribes at a server of the old era, for as long as somebody listens.
async fn subscribe(link: Arc<Link>, uris: Vec<String>, stream: mpsc::Sender<Notice>) {
    for uri in &uris {
        tell(&link, "resources/subscribe", uri).await;
    }
    stream.closed().await;
    for uri in &uris {
        tell(&link, "resources/unsubscribe", uri).await;
    }
}

async fn tell(link: &Link, method: &str, uri: &str) {
    let params = json!({ "uri": uri }).to_string().into();
    let outgoing = Outgoing { method, params: &params, name: None, mirrored: &HeaderMap::default() };
    link.upstream.pass(outgoing, &Hearing::deaf(), &Cancel::new()).await;
}

/// How many notices wait for a client that is slow.
const STREAM: usize = 16;
