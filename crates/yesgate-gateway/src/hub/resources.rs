//! Resources and completions where several servers share an endpoint: whose is this address?

use std::sync::Arc;

use serde_json::value::RawValue;
use yesgate_core::intent::ResultKind;

use super::lists::drain;
use super::{Hub, unreachable};
use crate::board::{Ask, Scope};
use crate::era::Era;
use crate::raw::{RawObject, raw};
use crate::reply::Reply;
use crate::server::Server;
use crate::server::feed::follow_alone;
use crate::server::link::Link;
use crate::talk::Party;
use crate::upstream::Execution;

impl Hub {
    /// Reads a resource, or begins or ends to hear of its changes.
    pub(super) async fn resource(&self, ask: &Ask) -> Reply {
        let Some(uri) = ask.fields().and_then(|fields| fields.text("uri")) else {
            return Reply::error(-32602, "`uri` must be a string", None);
        };
        let server = match self.server(&ask.scope) {
            Some(server) => Some(server),
            None => self.owner(ask, &uri).await,
        };
        match server {
            Some(server) => match ask.method.as_str() {
                "resources/read" => self.pass(&server, ask, None).await,
                _ => self.subscribe(&server, ask, uri).await,
            },
            // Nobody lists it: whoever can read it has it.
            None if ask.method == "resources/read" => self.first_that_reads(ask).await,
            None => Reply::error(-32602, "no server lists this resource", None),
        }
    }

    /// Completes an argument of a prompt or of a resource template.
    pub(super) async fn complete(&self, ask: &Ask) -> Reply {
        if let Scope::One(_) = ask.scope {
            return self.only(ask).await;
        }
        let Some(mut reference) =
            ask.fields().and_then(|fields| fields.get("ref").and_then(RawObject::parse))
        else {
            return Reply::error(-32602, "`ref` must be an object", None);
        };
        if let Some((server, name)) = reference.text("name").and_then(|name| self.split(&name)) {
            reference.set("name", raw(serde_json::Value::from(name).to_string()));
            let mut fields = ask.fields().unwrap_or_default();
            fields.set("ref", reference.to_raw());
            let renamed = ask.with(ask.message.clone(), fields.to_raw().into());
            return self.pass(&server, &renamed, None).await;
        }
        let template = reference.text("uri").unwrap_or_default();
        let lists = self
            .gather(&ask.scope, &ask.party, |_, link| async move {
                drain(&link, "resources/templates/list", "resourceTemplates").await
            })
            .await;
        let owner = lists.into_iter().find(|(_, templates)| {
            let is_it = |item: &RawObject| item.text("uriTemplate").as_deref() == Some(template.as_str());
            templates.iter().filter_map(|item| RawObject::parse(item)).any(|item| is_it(&item))
        });
        match owner {
            Some((server, _)) => self.pass(&server, ask, None).await,
            None => Reply::error(-32602, "no server has this prompt or template", None),
        }
    }

    /// The server that lists a resource, or a template that it may come from.
    async fn owner(&self, ask: &Ask, uri: &str) -> Option<Arc<Server>> {
        self.owners(&ask.party, &[uri.to_owned()]).await.into_iter().next().flatten()
    }

    /// The same for each of several resources.
    pub(super) async fn owners(&self, party: &Arc<Party>, uris: &[String]) -> Vec<Option<Arc<Server>>> {
        let lists = self
            .gather(&Scope::All, party, |_, link| async move {
                if !link.has("resources") {
                    return Some(Default::default());
                }
                let resources = drain(&link, "resources/list", "resources").await.unwrap_or_default();
                let templates = drain(&link, "resources/templates/list", "resourceTemplates").await;
                let is_known = !link.upstream.is_forgotten();
                is_known.then(|| (resources, templates.unwrap_or_default()))
            })
            .await;
        let texts = |items: &[Box<RawValue>], key: &str| -> Vec<String> {
            items.iter().filter_map(|item| RawObject::parse(item)?.text(key)).collect()
        };
        let lists: Vec<_> = lists
            .iter()
            .map(|(server, (resources, templates))| {
                (server, texts(resources, "uri"), texts(templates, "uriTemplate"))
            })
            .collect();
        let owner = |uri: &String| {
            let listed = lists.iter().find(|(_, resources, _)| resources.contains(uri));
            let fitting = || {
                lists.iter().find(|(_, _, templates)| templates.iter().any(|template| fits(template, uri)))
            };
            listed.or_else(fitting).map(|(server, _, _)| Arc::clone(server))
        };
        uris.iter().map(owner).collect()
    }

    async fn first_that_reads(&self, ask: &Ask) -> Reply {
        let mut last = Reply::error(-32602, "no server has this resource", None);
        for server in self.all(&ask.scope) {
            let link = match self.link(&server, &ask.party).await {
                Ok(link) if link.has("resources") => link,
                Ok(_) | Err(_) => continue,
            };
            let execution = self.pass_over(&link, ask, None).await;
            let found = match &execution {
                Execution::Answered(answer) => answer.kind == ResultKind::Result,
                Execution::Relayed
                | Execution::NotSent(_)
                | Execution::TurnedAway(_)
                | Execution::TooLong
                | Execution::Lost(_) => false,
            };
            last = self.reply(ask, &link, execution);
            if found {
                return last;
            }
        }
        last
    }

    /// A session of the old era begins or ends to hear of a resource's changes.
    async fn subscribe(&self, server: &Arc<Server>, ask: &Ask, uri: String) -> Reply {
        let link = match self.link(server, &ask.party).await {
            Ok(link) => link,
            Err(error) => return unreachable(&error),
        };
        match link.era {
            Era::Legacy => {
                let execution = self.pass_over(&link, ask, None).await;
                self.reply(ask, &link, execution)
            }
            Era::Modern => {
                self.follow_uris(server, &link, ask, uri);
                Reply::Result("{}".into())
            }
        }
    }

    /// In the modern era a subscription lasts as long as its stream: the session's wishes are one stream at each
    /// server.
    fn follow_uris(&self, server: &Server, link: &Arc<Link>, ask: &Ask, uri: String) {
        let Some(talk) = ask.party.session.clone() else { return };
        let (uris, mut heard) = {
            let mut sessions = self.sessions();
            let notes = sessions.entry(ask.party.key.clone()).or_default();
            let notes = notes.follows.entry(server.gate.server.name.clone()).or_default();
            notes.uris.retain(|known| *known != uri);
            if ask.method == "resources/subscribe" {
                notes.uris.push(uri);
            }
            let (stream, heard) = tokio::sync::mpsc::channel(STREAM);
            // The earlier stream ends when its sender goes.
            notes.stream = Some(stream);
            (notes.uris.clone(), heard)
        };
        if uris.is_empty() {
            return;
        }
        let upstream = Arc::clone(&link.upstream);
        let wanted = crate::board::Wanted { uris, ..Default::default() };
        tokio::spawn(async move {
            let (stream, mut notices) = tokio::sync::mpsc::channel(STREAM);
            let following = tokio::spawn(follow_alone(upstream, wanted, stream));
            loop {
                tokio::select! {
                    notice = notices.recv() => match notice {
                        Some(notice) => talk.notify(notice),
                        None => break,
                    },
                    // Nothing is ever sent: the end of it means that the wishes changed.
                    _ = heard.recv() => break,
                }
            }
            following.abort();
        });
    }
}

/// How many notices wait for a client that is slow.
const STREAM: usize = 32;

/// Whether an address may come from a template (RFC 6570, level 1): the fixed parts occur in order.
fn fits(template: &str, uri: &str) -> bool {
    let mut rest = uri;
    let mut parts = template.split('{').map(|part| part.split_once('}').map_or(part, |(_, fixed)| fixed));
    let Some(stripped) = parts.next().and_then(|first| rest.strip_prefix(first)) else { return false };
    rest = stripped;
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn an_address_fits_the_templates_that_it_may_come_from() {
        for (template, uri, expected) in [
            ("file:///{path}", "file:///a/b", true),
            ("db://{table}/rows/{id}", "db://users/rows/7", true),
            ("db://{table}/rows/{id}/x", "db://users/rows/7/x", true),
            ("db://{table}/rows/{id}/x", "db://users/rows/7/y", false),
            ("a://b", "a://b", true),
            ("a://b", "a://bc", false),
            ("a://{x}", "b://1", false),
        ] {
            assert_eq!(fits(template, uri), expected, "{template} {uri}");
        }
    }
}
