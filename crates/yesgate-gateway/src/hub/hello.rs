//! The first words of a conversation: what an endpoint says of itself, in the client's era.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Hub, no_such_server, unreachable};
use crate::board::{Ask, Scope};
use crate::channel::task::add_tasks;
use crate::era::{Era, SERVER_INFO, own_info};
use crate::front::revision::Revision;
use crate::raw::{RawObject, bytes, raw};
use crate::reply::Reply;
use crate::server::link::Link;

impl Hub {
    /// Opens a session of the old era.
    pub(super) async fn initialize(&self, ask: &Ask) -> Reply {
        let version = ask.party.version.as_str();
        match &ask.scope {
            Scope::All => {
                let mut hello = self.own_hello(&ask.scope);
                hello.set("protocolVersion", raw(json!(version).to_string()));
                hello.set("serverInfo", raw(own_info().to_string()));
                Reply::Result(bytes(hello.to_raw()))
            }
            Scope::One(_) => match self.hello(ask).await {
                Ok((link, hello)) => Reply::Result(bytes(legacy_hello(&link, hello, version))),
                Err(reply) => reply,
            },
        }
    }

    /// Says what a modern client can expect.
    pub(super) async fn discover(&self, ask: &Ask) -> Reply {
        match &ask.scope {
            Scope::All => {
                let mut hello = RawObject::default();
                hello.set("resultType", raw(r#""complete""#.into()));
                hello.set("supportedVersions", supported_versions());
                for (key, value) in self.own_hello(&ask.scope).iter() {
                    hello.set(key, value.to_owned());
                }
                if self.servers().iter().any(|server| server.gate.may_ask()) {
                    add_tasks(&mut hello);
                }
                hello.set("ttlMs", raw("0".into()));
                hello.set("cacheScope", raw(r#""private""#.into()));
                hello.set("_meta", raw(json!({ SERVER_INFO: own_info() }).to_string()));
                Reply::Result(bytes(hello.to_raw()))
            }
            Scope::One(_) => match self.hello(ask).await {
                Ok((link, hello)) => {
                    let mut hello = modern_hello(&link, hello);
                    if self.server(&ask.scope).is_some_and(|server| server.gate.may_ask()) {
                        add_tasks(&mut hello);
                    }
                    Reply::Result(bytes(hello.to_raw()))
                }
                Err(reply) => reply,
            },
        }
    }

    async fn hello(&self, ask: &Ask) -> Result<(std::sync::Arc<Link>, RawObject), Reply> {
        let server = self.server(&ask.scope).ok_or_else(no_such_server)?;
        let link = self.link(&server, &ask.party).await.map_err(|error| unreachable(&error))?;
        let hello = RawObject::parse(&link.hello.result).unwrap_or_default();
        Ok((link, hello))
    }

    /// What the endpoint of all servers says of itself. It does not wait for any of them, so it promises
    /// what any of them might have.
    fn own_hello(&self, scope: &Scope) -> RawObject {
        let capabilities = json!({
            "tools": {"listChanged": true},
            "prompts": {"listChanged": true},
            "resources": {"listChanged": true, "subscribe": true},
            "completions": {},
            "logging": {},
        });
        let prefixes: Vec<String> =
            self.all(scope).iter().map(|server| format!("`{}__`", server.spec.prefix)).collect();
        let instructions = format!(
            "Several MCP servers behind one gateway; the names of tools and prompts begin with their server: {}. \
            A call that may do harm answers first with a summary for the user and runs only once they agreed.",
            prefixes.join(", ")
        );
        let mut hello = RawObject::default();
        hello.set("capabilities", raw(capabilities.to_string()));
        hello.set("instructions", raw(Value::from(instructions).to_string()));
        hello
    }
}

/// A server's hello as a session of the old era expects it.
fn legacy_hello(link: &Link, mut hello: RawObject, version: &str) -> Box<RawValue> {
    match link.era {
        Era::Legacy => {
            hello.set("protocolVersion", raw(json!(version).to_string()));
            hello.to_raw()
        }
        Era::Modern => {
            let mut opened = RawObject::default();
            opened.set("protocolVersion", raw(json!(version).to_string()));
            opened.set("capabilities", capabilities(&hello, &["extensions"]));
            let info = hello.get("_meta").and_then(RawObject::parse);
            let info = info.as_ref().and_then(|meta| meta.get(SERVER_INFO)).map(ToOwned::to_owned);
            opened.set("serverInfo", info.unwrap_or_else(|| raw(own_info().to_string())));
            if let Some(instructions) = hello.remove("instructions") {
                opened.set("instructions", instructions);
            }
            opened.to_raw()
        }
    }
}

/// A server's hello as a modern client expects it.
fn modern_hello(link: &Link, mut hello: RawObject) -> RawObject {
    match link.era {
        Era::Modern => hello,
        Era::Legacy => {
            let mut found = RawObject::default();
            found.set("resultType", raw(r#""complete""#.into()));
            found.set("supportedVersions", supported_versions());
            found.set("capabilities", capabilities(&hello, &["tasks"]));
            if let Some(instructions) = hello.remove("instructions") {
                found.set("instructions", instructions);
            }
            found.set("ttlMs", raw("0".into()));
            found.set("cacheScope", raw(r#""private""#.into()));
            let info = hello.remove("serverInfo").unwrap_or_else(|| raw(own_info().to_string()));
            found.set("_meta", raw(format!(r#"{{"{SERVER_INFO}":{}}}"#, info.get())));
            found
        }
    }
}

/// The revisions that an endpoint of ours speaks, whatever the server behind it does: the same as in the refusal of
/// any other.
fn supported_versions() -> Box<RawValue> {
    raw(json!(Revision::ALL.map(Revision::as_str)).to_string())
}

/// What a server can do, without what does not cross the eras.
fn capabilities(hello: &RawObject, without: &[&str]) -> Box<RawValue> {
    let mut capabilities = hello.get("capabilities").and_then(RawObject::parse).unwrap_or_default();
    for key in without {
        capabilities.remove(key);
    }
    capabilities.to_raw()
}
