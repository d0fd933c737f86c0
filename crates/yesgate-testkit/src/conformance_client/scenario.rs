//! What each client scenario of the suite needs to see.
//!
//! | scenario | what is done | what the suite looks at |
//! |---|---|---|
//! | `initialize` | list the tools | the gateway's own `initialize` |
//! | `tools_call` | list, call the first tool with `a` and `b` | that the call arrives with both numbers |
//! | `elicitation-sep1034-client-defaults` | call, answer the form with its defaults | that the answer arrives whole |
//! | `sse-retry` | call the one tool | that the gateway takes the broken stream up again, after `retry`, with `Last-Event-ID` |
//! | `request-metadata` | discover, list | `_meta` and headers of every request, and a second try after −32022 |
//! | `sep-2322-client-request-state` | call all four tools, answer the rounds | `requestState` unchanged, absent where none was given, never mixed up |
//! | `http-standard-headers` | list and use tools, resources, prompts | `Mcp-Method` and `Mcp-Name` |
//! | `http-custom-headers` | list, make the calls of the context | `Mcp-Param-*`, and their encoding |
//! | `http-invalid-tool-headers` | list, call every tool that is listed | that tools with an invalid `x-mcp-header` are not listed |
//! | `json-schema-ref-no-deref` | list the tools | that no `$ref` is fetched |
//! | `json-schema-2020-12-preservation` | list, send the schema back | that the schema has come through whole |
//! | `auth/*` | sign in, list, call `test-tool`; sign in again when the gateway says so | the OAuth requests of the gateway |
//!
//! In `auth/*` the human is played too: the driver runs `yesgate connect`, opens the URL it prints, and is
//! sent on to the gateway's callback by the suite's authorization server, which asks nothing. In the
//! scenarios in which the gateway has to refuse (such as `auth/iss-wrong-issuer`) the driver fails with it,
//! which the suite allows there. `auth/pre-registration` has the client's id and secret in its context;
//! the client metadata URL that `auth/basic-cimd` expects is given in all others.

use std::time::Duration;

use serde_json::{Value, json};

use super::caller::Caller;
use super::gateway::{Gateway, SignIn};
use super::{Failure, Way};

/// Plays the scenario that the environment names against the suite's server.
pub async fn play(url: &str, way: Way) -> Result<(), Failure> {
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO")?;
    let version = std::env::var("MCP_CONFORMANCE_PROTOCOL_VERSION")?;
    let context: Value = match std::env::var("MCP_CONFORMANCE_CONTEXT") {
        Ok(text) => serde_json::from_str(&text)?,
        Err(_) => json!({}),
    };
    let needs_sign_in = scenario.starts_with("auth/");
    match way {
        Way::Bare => {
            let mut caller = Caller::open(url, &version).await?;
            act(&scenario, &context, &mut caller).await
        }
        Way::Gateway => {
            let sign_in = if needs_sign_in { SignIn::from_context(&context) } else { SignIn::None };
            let gateway = Gateway::start(url, &version, sign_in).await?;
            if needs_sign_in {
                return signed_in(&gateway, &version).await;
            }
            let mut caller = Caller::open(gateway.url(), &version).await?;
            act(&scenario, &context, &mut caller).await
        }
    }
}

async fn act(scenario: &str, context: &Value, caller: &mut Caller) -> Result<(), Failure> {
    match scenario {
        "initialize" | "json-schema-ref-no-deref" => caller.list("tools").await.map(drop),
        "tools_call" | "elicitation-sep1034-client-defaults" | "sse-retry" => {
            let tools = caller.list("tools").await?;
            let first = tools.first().ok_or("no tool is listed")?;
            caller.call(name(first)?, json!({"a": 2, "b": 3})).await.map(drop)
        }
        "request-metadata" => {
            caller.request("server/discover", json!({})).await?;
            caller.list("tools").await.map(drop)
        }
        "sep-2322-client-request-state" => {
            caller.list("tools").await?;
            let tools = [
                "test_mrtr_echo_state",
                "test_mrtr_unrelated",
                "test_mrtr_no_state",
                "test_mrtr_no_result_type",
            ];
            for tool in tools {
                caller.call(tool, json!({})).await?;
            }
            Ok(())
        }
        "http-standard-headers" => use_everything(caller).await,
        "http-custom-headers" => {
            caller.list("tools").await?;
            for call in context["toolCalls"].as_array().ok_or("the context has no calls")? {
                caller.call(name(call)?, call["arguments"].clone()).await?;
            }
            Ok(())
        }
        "http-invalid-tool-headers" => {
            for tool in caller.list("tools").await? {
                caller.call(name(&tool)?, arguments_for(&tool)).await?;
            }
            Ok(())
        }
        "json-schema-2020-12-preservation" => {
            let tools = caller.list("tools").await?;
            let tool = tools.iter().find(|tool| tool["name"] == "json_schema_2020_12_tool");
            let schema = &tool.ok_or("the tool is not listed")?["inputSchema"];
            caller.call("json_schema_echo", json!({"schema": schema})).await.map(drop)
        }
        unknown => Err(format!("the driver does not know the scenario `{unknown}`").into()),
    }
}

async fn use_everything(caller: &mut Caller) -> Result<(), Failure> {
    for tool in caller.list("tools").await? {
        caller.call(name(&tool)?, json!({})).await?;
    }
    for resource in caller.list("resources").await? {
        caller.request("resources/read", json!({"uri": resource["uri"]})).await?;
    }
    for prompt in caller.list("prompts").await? {
        caller.request("prompts/get", json!({"name": name(&prompt)?})).await?;
    }
    Ok(())
}

/// Signs in, and again whenever the gateway says that this would help: as an operator does, who does what
/// they are told and nothing else.
async fn signed_in(gateway: &Gateway, version: &str) -> Result<(), Failure> {
    gateway.connect().await?;
    for _again in 1..MOST_SIGN_INS {
        match list_and_call(gateway, version).await {
            Err(refusal) if wants_sign_in(&refusal) => {}
            done => return done,
        }
        gateway.connect().await?;
        tokio::time::sleep(HEARD).await;
    }
    list_and_call(gateway, version).await
}

fn wants_sign_in(refusal: &Failure) -> bool {
    refusal.to_string().contains("yesgate connect")
}

/// More than the three that `auth/scope-retry-limit` allows: it is the gateway that has to stop, not we.
const MOST_SIGN_INS: u32 = 5;

/// A gateway that has looked for a sign-in before hears of another one within a second.
const HEARD: Duration = Duration::from_millis(1100);

async fn list_and_call(gateway: &Gateway, version: &str) -> Result<(), Failure> {
    let mut caller = Caller::open(gateway.url(), version).await?;
    caller.list("tools").await?;
    caller.call("test-tool", json!({})).await.map(drop)
}

fn name(listed: &Value) -> Result<&str, Failure> {
    listed["name"].as_str().ok_or_else(|| "something is listed without a name".into())
}

/// Makes up a value for each property of a tool's schema.
fn arguments_for(tool: &Value) -> Value {
    let properties = tool["inputSchema"]["properties"].as_object();
    let made_up = properties.into_iter().flatten().map(|(name, schema)| {
        let value = match schema["type"].as_str() {
            Some("object") => json!({}),
            Some("array") => json!([]),
            Some("null") => Value::Null,
            Some("number" | "integer") => json!(1),
            Some("boolean") => json!(true),
            Some(_) | None => json!("text"),
        };
        (name.clone(), value)
    });
    Value::Object(made_up.collect())
}
