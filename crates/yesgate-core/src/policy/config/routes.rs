//! `[routes]`: further paths of the REST front, each for one tool (H8).
//!
//! INVARIANT: a route leads to a tool of a server that there is, by a path that is spelled in one way and is none
//! of the gateway's own. It is another name for the call, never another way to it.

use std::collections::BTreeMap;

use super::super::error::{ConfigError, hint_for};
use super::super::reader::{Entry, shown};
use super::server::ServerConfig;
use crate::id::{ServerName, ToolName};

/// Where each path leads.
pub type Routes = BTreeMap<String, RouteTarget>;

/// The tool that a path stands for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RouteTarget {
    /// Its server.
    pub server: ServerName,
    /// Its name there.
    pub tool: ToolName,
}

/// What may not follow `/api/` in a path of the operator's: the gateway's own, now or later.
pub const OWN_SEGMENTS: [&str; 10] =
    ["mcp", "tools", "intents", "consent", "openapi.json", "me", "grants", "audit", "clients", "docs"];

/// Reads `[routes]`; the servers are those of the same configuration.
pub(super) fn parse(
    entry: &Entry<'_>,
    servers: &BTreeMap<ServerName, ServerConfig>,
) -> Result<Routes, ConfigError> {
    let mut routes = Routes::new();
    for route in entry.named_entries()? {
        let path = parse_path(&route)?;
        routes.insert(path, parse_target(&route, servers)?);
    }
    Ok(routes)
}

fn parse_path(route: &Entry<'_>) -> Result<String, ConfigError> {
    let path = route.name();
    let is_segment = |segment: &str| {
        !segment.is_empty()
            && !segment.starts_with('.')
            && segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
    };
    let own_words = path.strip_prefix("/api/").filter(|rest| rest.split('/').all(is_segment));
    let Some(rest) = own_words.filter(|_| path.len() <= LONGEST_PATH) else {
        return Err(route.error(format!("`{}` cannot be the path of a route", shown(path))).with_hint(
            "write \"/api/\" and words of A-Z a-z 0-9 - _ . ~ between slashes: \"/api/billing/upgrade\"",
        ));
    };
    match OWN_SEGMENTS.iter().find(|own| rest.split('/').next() == Some(**own)) {
        Some(own) => Err(route
            .error(format!("`{}` is among the gateway's own paths", shown(path)))
            .with_hint(format!("begin with anything but \"/api/{own}\""))),
        None => Ok(path.to_owned()),
    }
}

fn parse_target(
    route: &Entry<'_>,
    servers: &BTreeMap<ServerName, ServerConfig>,
) -> Result<RouteTarget, ConfigError> {
    let text = route.text()?;
    let parts = text.split_once('/').and_then(|(server, tool)| {
        Some((server.parse::<ServerName>().ok()?, tool.parse::<ToolName>().ok()?))
    });
    let Some((server, tool)) = parts else {
        return Err(route
            .error(format!("`{}` is no tool of a server", shown(text)))
            .with_hint("write \"server/tool\": \"billing/upgrade_plan\""));
    };
    if !servers.contains_key(&server) {
        let known: Vec<&str> = servers.keys().map(ServerName::as_str).collect();
        let error = route.error(format!("there is no server `{server}`"));
        return Err(match known.is_empty() {
            true => error.with_hint(format!("name it in this file: [servers.{server}]")),
            false => error.with_hint(hint_for(server.as_str(), &known)),
        });
    }
    Ok(RouteTarget { server, tool })
}

const LONGEST_PATH: usize = 200;
