//! The mock server of the demo: billing, wallet and deploy tools over stdio, and nothing behind them.
//!
//! It knows nothing of the gate: whatever reaches it, runs. It counts what reaches it, so that its own
//! word can be held against the gate's.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};

use serde_json::{Map, Value, json};
use yesgate_gateway::era::{Era, LEGACY_VERSION, MODERN_VERSION};

/// Serves one client until it closes its end.
pub(super) fn serve(input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let mut server = Server::default();
    for line in input.split(b'\n') {
        if let Some(answer) = server.hear(&line?) {
            writeln!(output, "{answer}")?;
            output.flush()?;
        }
    }
    Ok(())
}

/// An answer, or the code and the words of an error.
type Answer = Result<Map<String, Value>, (i64, String)>;

#[derive(Debug, Default)]
struct Server {
    plan: Plan,
    /// How often each tool ran.
    runs: BTreeMap<&'static str, u64>,
}

#[derive(Clone, Copy, Debug, Default)]
enum Plan {
    #[default]
    Pro,
    Scale,
}

impl Plan {
    fn named(name: &str) -> Option<Self> {
        match name {
            "pro" => Some(Self::Pro),
            "scale" => Some(Self::Scale),
            _ => None,
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Pro => "pro, 19.00 EUR a month",
            Self::Scale => "scale, 49.00 EUR a month",
        }
    }
}

impl Server {
    /// Takes one message; notifications and answers get no answer.
    fn hear(&mut self, line: &[u8]) -> Option<Value> {
        let message: Value = match serde_json::from_slice(line) {
            Ok(message) => message,
            Err(error) => return Some(message_of(&Value::Null, Err((-32700, error.to_string())))),
        };
        let id = message.get("id")?;
        let method = message.get("method")?.as_str()?;
        let params = message.get("params").and_then(Value::as_object).cloned().unwrap_or_default();
        let meta = params.get("_meta").and_then(Value::as_object).cloned().unwrap_or_default();
        let answer = self.answer(method, &params).map(|result| in_era(result, method, Era::of_meta(&meta)));
        Some(message_of(id, answer))
    }

    fn answer(&mut self, method: &str, params: &Map<String, Value>) -> Answer {
        match method {
            "initialize" => Ok(object(json!({
                "protocolVersion": version(params),
                "capabilities": {"tools": {}},
                "serverInfo": info(),
            }))),
            "server/discover" => Ok(object(json!({
                "supportedVersions": [MODERN_VERSION],
                "capabilities": {"tools": {}},
                "_meta": {"io.modelcontextprotocol/serverInfo": info()},
            }))),
            "ping" => Ok(Map::new()),
            "tools/list" => Ok(object(json!({ "tools": Tool::ALL.map(Tool::definition) }))),
            "tools/call" => self.call(params),
            _ => Err((-32601, format!("there is no method `{}`", method.escape_debug()))),
        }
    }

    fn call(&mut self, params: &Map<String, Value>) -> Answer {
        let name = params.get("name").and_then(Value::as_str).unwrap_or_default();
        let Some(tool) = Tool::ALL.into_iter().find(|tool| tool.name() == name) else {
            return Err((-32602, format!("there is no tool `{}`", name.escape_debug())));
        };
        let text = |key: &str| {
            let value =
                params.get("arguments").and_then(|arguments| arguments.get(key)).and_then(Value::as_str);
            value.ok_or_else(|| (-32602, format!("the argument `{key}` is missing or no text")))
        };
        let words = match tool {
            Tool::GetPlan => format!("the plan is {}", self.plan.words()),
            Tool::UpgradePlan => {
                let wished = Plan::named(text("to")?);
                self.plan = wished.ok_or_else(|| (-32602, "there is no such plan".to_owned()))?;
                format!("the plan is now {}", self.plan.words())
            }
            Tool::Pay => format!("paid {} {} to {}", text("amount")?, text("currency")?, text("to")?),
            Tool::Deploy => format!("deployed {} to {}", text("service")?, text("environment")?),
            Tool::CallCounts => return Ok(self.counts()),
        };
        let run = self.runs.entry(tool.name()).or_default();
        *run += 1;
        Ok(result(&words, &json!({"message": words, "run": run})))
    }

    /// How often each tool ran, but for this one.
    fn counts(&self) -> Map<String, Value> {
        let tools = Tool::ALL.into_iter().filter(|tool| *tool != Tool::CallCounts);
        let counts = tools.map(|tool| (tool.name(), self.runs.get(tool.name()).copied().unwrap_or_default()));
        let words: Vec<String> = counts.clone().map(|(name, count)| format!("{name} {count}")).collect();
        result(&words.join(", "), &json!(counts.collect::<BTreeMap<_, _>>()))
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Tool {
    GetPlan,
    UpgradePlan,
    Pay,
    Deploy,
    CallCounts,
}

impl Tool {
    const ALL: [Self; 5] = [Self::GetPlan, Self::UpgradePlan, Self::Pay, Self::Deploy, Self::CallCounts];

    const fn name(self) -> &'static str {
        match self {
            Self::GetPlan => "get_plan",
            Self::UpgradePlan => "upgrade_plan",
            Self::Pay => "pay",
            Self::Deploy => "deploy",
            Self::CallCounts => "call_counts",
        }
    }

    fn definition(self) -> Value {
        let (description, arguments): (_, &[&str]) = match self {
            Self::GetPlan => ("Says which plan is paid for.", &[]),
            Self::UpgradePlan => ("Changes the plan: `pro` or `scale`.", &["to"]),
            Self::Pay => ("Pays from the wallet.", &["amount", "currency", "to"]),
            Self::Deploy => ("Deploys a service.", &["service", "environment"]),
            Self::CallCounts => ("Says how often each tool ran.", &[]),
        };
        let properties: Map<String, Value> =
            arguments.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect();
        let mut definition = json!({
            "name": self.name(),
            "description": description,
            "inputSchema": {
                "type": "object",
                "properties": properties,
                "required": arguments,
                "additionalProperties": false,
            },
        });
        if let (true, Some(members)) = (self.only_reads(), definition.as_object_mut()) {
            members.insert("annotations".into(), json!({"readOnlyHint": true}));
        }
        definition
    }

    const fn only_reads(self) -> bool {
        match self {
            Self::GetPlan | Self::CallCounts => true,
            Self::UpgradePlan | Self::Pay | Self::Deploy => false,
        }
    }
}

fn result(words: &str, structure: &Value) -> Map<String, Value> {
    object(json!({"content": [{"type": "text", "text": words}], "structuredContent": structure}))
}

/// The client's revision where it opens sessions, else the newest that does.
fn version(params: &Map<String, Value>) -> &str {
    let wished = params.get("protocolVersion").and_then(Value::as_str).unwrap_or(LEGACY_VERSION);
    let known = ["2024-11-05", "2025-03-26", "2025-06-18", LEGACY_VERSION];
    if known.contains(&wished) { wished } else { LEGACY_VERSION }
}

/// Adds what results must carry from 2026-07-28 on.
fn in_era(mut result: Map<String, Value>, method: &str, era: Era) -> Map<String, Value> {
    match era {
        Era::Legacy => {}
        Era::Modern => {
            result.insert("resultType".into(), "complete".into());
            if method != "tools/call" {
                result.insert("ttlMs".into(), 0.into());
                result.insert("cacheScope".into(), "private".into());
            }
        }
    }
    result
}

fn message_of(id: &Value, answer: Answer) -> Value {
    match answer {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err((code, words)) => {
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": words}})
        }
    }
}

fn info() -> Value {
    json!({"name": "yesgate-demo", "version": env!("CARGO_PKG_VERSION")})
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}

#[cfg(test)]
mod tests;
