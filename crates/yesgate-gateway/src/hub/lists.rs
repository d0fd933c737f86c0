//! Lists: one server's as it is, all servers' as one.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::timeout;
use yesgate_core::policy::{Needs, Offer};

use super::{Hub, SEPARATOR, no_such_server, reach, unreachable};
use crate::board::{Ask, Scope};
use crate::book::{Page, definition, next_cursor};
use crate::bridge;
use crate::cancel::Cancel;
use crate::era::Era;
use crate::hearing::Hearing;
use crate::mirror::params::ParamHeaders;
use crate::offer::rewrite_list;
use crate::own_tools::OwnTool;
use crate::raw::{RawObject, bytes, elements, raw};
use crate::reply::Reply;
use crate::server::Server;
use crate::server::link::Link;
use crate::talk::Party;
use crate::upstream::{Answer, Execution, Outgoing};

impl Hub {
    /// Answers `tools/list`.
    pub(super) async fn tools(&self, ask: &Ask) -> Reply {
        match &ask.scope {
            Scope::One(_) => self.tools_of_one(ask).await,
            Scope::All => {
                let lists =
                    self.gather(&ask.scope, &ask.party, |server, link| async move {
                        tools_of(&server, &link).await
                    })
                    .await;
                let mut tools: Vec<Box<RawValue>> = Vec::new();
                let mut gated = false;
                for (server, list) in lists {
                    for (tool, offer) in list {
                        gated |= offer.needs != Needs::Nothing;
                        let offered = crate::offer::offer(&tool, &offer).unwrap_or(tool);
                        tools.extend(prefixed(&server.spec.prefix, &offered));
                    }
                }
                let policy = self.servers().first().map(|server| server.gate.policy());
                if let Some(policy) = policy.filter(|policy| gated && policy.asks()) {
                    for server in self.servers().iter() {
                        let chosen = OwnTool::chosen(&policy, server.gate.name());
                        let chosen = chosen.iter().map(|tool| raw(tool.to_string()));
                        tools.extend(chosen.filter_map(|tool| prefixed(&server.spec.prefix, &tool)));
                    }
                    tools.extend(OwnTool::everywhere(&policy).iter().map(|tool| raw(tool.to_string())));
                }
                whole_list(ask, "tools", &tools)
            }
        }
    }

    /// Answers a list of something else.
    pub(super) async fn list(&self, ask: &Ask) -> Reply {
        let (member, address, capability) = match ask.method.as_str() {
            "prompts/list" => ("prompts", None, "prompts"),
            "resources/list" => ("resources", Some("uri"), "resources"),
            _ => ("resourceTemplates", Some("uriTemplate"), "resources"),
        };
        if let Scope::One(_) = ask.scope {
            return self.only(ask).await;
        }
        let method = ask.method.clone();
        let lists = self
            .gather(&ask.scope, &ask.party, move |_, link| {
                let method = method.clone();
                async move {
                    if link.has(capability) { drain(&link, &method, member).await } else { Some(Vec::new()) }
                }
            })
            .await;
        let mut all: Vec<Box<RawValue>> = Vec::new();
        let mut addresses = HashSet::new();
        for (server, list) in lists {
            match address {
                None => all.extend(list.iter().filter_map(|item| prefixed(&server.spec.prefix, item))),
                // An address that several servers have is the first one's, as it is when it is read.
                Some(address) => all.extend(list.into_iter().filter(|item| {
                    RawObject::parse(item)
                        .and_then(|item| item.text(address))
                        .is_none_or(|found| addresses.insert(found))
                })),
            }
        }
        whole_list(ask, member, &all)
    }

    /// A page of one server's tools, with what our own part in them needs.
    async fn tools_of_one(&self, ask: &Ask) -> Reply {
        let Some(server) = self.server(&ask.scope) else { return no_such_server() };
        let link = match self.link(&server, &ask.party).await {
            Ok(link) => link,
            Err(error) => return unreachable(&error),
        };
        let answer = match self.pass_over(&link, ask, None).await {
            Execution::Answered(answer) => answer,
            execution @ (Execution::Relayed
            | Execution::NotSent(_)
            | Execution::TurnedAway(_)
            | Execution::TooLong
            | Execution::Lost(_)) => {
                return self.reply(ask, &link, execution);
            }
        };
        learn_page(&link, ask, &answer);
        server.gate.sight(&link.upstream).await;
        let offered = read_page(&server, &link, &answer);
        let answer = match offered {
            Some(json) => Answer { json: bytes(json), ..answer },
            None => answer,
        };
        Reply::answer(bridge::answer(&ask.method, answer, link.era, ask.party.era))
    }

    /// Asks all servers at once. One that does not answer is left out, and hides no other.
    pub(super) async fn gather<T, F>(
        &self,
        scope: &Scope,
        party: &Arc<Party>,
        list: impl Fn(Arc<Server>, Arc<Link>) -> F + Clone + Send + Sync + 'static,
    ) -> Vec<(Arc<Server>, T)>
    where
        T: Send + 'static,
        F: Future<Output = Option<T>> + Send,
    {
        let mut asked = JoinSet::new();
        for (index, server) in self.all(scope).into_iter().enumerate() {
            let party = Arc::clone(party);
            let list = list.clone();
            asked.spawn(async move {
                let listing = async {
                    let link = linked(&server, &party).await?;
                    match list(Arc::clone(&server), Arc::clone(&link)).await {
                        // The server has forgotten the session: it is opened again, once.
                        None if link.upstream.is_forgotten() => {
                            list(Arc::clone(&server), linked(&server, &party).await?).await
                        }
                        listed => listed,
                    }
                };
                let listed = timeout(PATIENCE, listing).await.ok().flatten();
                if listed.is_none() {
                    tracing::warn!(server.name = %server.gate.server.name, "a server is left out of a list: it did not answer");
                }
                listed.map(|listed| (index, server, listed))
            });
        }
        let mut lists = Vec::new();
        while let Some(done) = asked.join_next().await {
            lists.extend(done.ok().flatten());
        }
        lists.sort_by_key(|(index, _, _)| *index);
        lists.into_iter().map(|(_, server, list)| (server, list)).collect()
    }
}

async fn linked(server: &Arc<Server>, party: &Arc<Party>) -> Option<Arc<Link>> {
    match reach(server, party).await {
        Ok(link) => Some(link),
        Err(error) => {
            tracing::warn!(%error, "a server is left out of a list: {error}");
            None
        }
    }
}

/// All tools of a server, and how each is offered.
async fn tools_of(server: &Server, link: &Link) -> Option<Vec<(Box<RawValue>, Offer)>> {
    if !link.has("tools") {
        return Some(Vec::new());
    }
    link.upstream.book.refresh(&link.upstream).await.ok()?;
    server.gate.sight(&link.upstream).await;
    let tools = link.upstream.book.all();
    let offered = tools.into_iter().filter(|tool| is_usable(link, tool)).map(|tool| {
        let offer = definition(&tool).map(|definition| server.gate.offer_of(&definition)).unwrap_or_default();
        (tool, offer)
    });
    Some(offered.collect())
}

/// Learns a page of tools.
fn learn_page(link: &Link, ask: &Ask, answer: &Answer) {
    let Some(result) = answer.result() else { return };
    let Some(tools) = result.get("tools").and_then(elements) else { return };
    let cursor = ask.fields().and_then(|fields| fields.get("cursor").map(ToOwned::to_owned));
    let first = cursor.is_none_or(|cursor| cursor.get() == "null");
    let page = if first { Page::First } else { Page::Later };
    link.upstream.book.learn(page, &tools, next_cursor(&result).is_none());
}

/// How a page of tools is offered; `None`: as it is.
fn read_page(server: &Server, link: &Link, answer: &Answer) -> Option<Box<RawValue>> {
    let mut result = answer.result()?;
    let tools = elements(result.get("tools")?)?;
    let last = next_cursor(&result).is_none();
    let book = &link.upstream.book;
    let usable: Vec<Box<RawValue>> = tools.iter().filter(|tool| is_usable(link, tool)).cloned().collect();
    let mut changed = usable.len() < tools.len();
    if changed {
        let list: Vec<&str> = usable.iter().map(|tool| tool.get()).collect();
        result.set("tools", raw(format!("[{}]", list.join(","))));
    }
    let offer_of = |tool: &RawValue| {
        definition(tool).map(|definition| server.gate.offer_of(&definition)).unwrap_or_default()
    };
    let whole = if changed { result.to_raw() } else { raw_of(answer)? };
    let offered = rewrite_list(&whole, offer_of, None);
    changed |= offered.is_some();
    let mut whole = offered.unwrap_or(whole);
    if last {
        let all = book.all();
        let gated = all.iter().any(|tool| offer_of(tool).needs != Needs::Nothing);
        if gated && server.gate.policy().asks() {
            let own = OwnTool::definitions(&server.gate.policy(), server.gate.name());
            whole = rewrite_list(&whole, |_| Offer::default(), Some(&own)).unwrap_or(whole);
            changed = true;
        }
    }
    changed.then(|| for_this_policy(&whole, link.era))
}

/// A list that depends on our rules must not be kept for others.
fn for_this_policy(list: &RawValue, era: Era) -> Box<RawValue> {
    let Some(mut fields) = RawObject::parse(list).filter(|_| era == Era::Modern) else {
        return list.to_owned();
    };
    fields.set("cacheScope", raw(r#""private""#.into()));
    fields.set("ttlMs", raw("0".into()));
    fields.to_raw()
}

/// Whether a tool can be called at all: over HTTP, one whose mirrored parameters are ill-defined cannot.
fn is_usable(link: &Link, tool: &RawValue) -> bool {
    if !link.upstream.mirrors() || !tool.get().contains("x-mcp-header") {
        return true;
    }
    let schema = RawObject::parse(tool).and_then(|tool| tool.get("inputSchema").map(ToOwned::to_owned));
    let schema: Value = schema.and_then(|schema| serde_json::from_str(schema.get()).ok()).unwrap_or_default();
    ParamHeaders::parse(&schema).is_ok()
}

fn raw_of(answer: &Answer) -> Option<Box<RawValue>> {
    serde_json::from_slice(&answer.json).ok()
}

/// All pages of a list.
pub(super) async fn drain(link: &Link, method: &str, member: &str) -> Option<Vec<Box<RawValue>>> {
    let mut all = Vec::new();
    let mut cursor: Option<String> = None;
    for _ in 0..MOST_PAGES {
        let mut params = serde_json::Map::new();
        if let Some(cursor) = &cursor {
            params.insert("cursor".into(), json!(cursor));
        }
        if link.era == Era::Modern {
            params.insert("_meta".into(), Era::own_meta().into());
        }
        let params = Value::Object(params).to_string().into();
        let outgoing = Outgoing { method, params: &params, name: None, mirrored: &HeaderMap::default() };
        let Execution::Answered(answer) =
            link.upstream.pass(outgoing, &Hearing::deaf(), &Cancel::new()).await
        else {
            return None;
        };
        let result = answer.result()?;
        all.extend(elements(result.get(member)?)?);
        cursor = next_cursor(&result);
        if cursor.is_none() {
            return Some(all);
        }
    }
    None
}

/// An item under the name that it has where all servers share an endpoint.
fn prefixed(prefix: &str, item: &RawValue) -> Option<Box<RawValue>> {
    let mut fields = RawObject::parse(item)?;
    let name = fields.text("name")?;
    fields.set("name", raw(Value::from(format!("{prefix}{SEPARATOR}{name}")).to_string()));
    Some(fields.to_raw())
}

fn whole_list(ask: &Ask, member: &str, items: &[Box<RawValue>]) -> Reply {
    let list: Vec<&str> = items.iter().map(|item| item.get()).collect();
    let list = format!(r#"{{"{member}":[{}]}}"#, list.join(","));
    let answer = Answer { kind: yesgate_core::intent::ResultKind::Result, json: list.into() };
    Reply::answer(bridge::answer(&ask.method, answer, Era::Legacy, ask.party.era))
}

/// A list with more pages than this is not a list.
const MOST_PAGES: usize = 100;
/// How long one server may keep the others' lists waiting.
const PATIENCE: Duration = Duration::from_secs(20);
