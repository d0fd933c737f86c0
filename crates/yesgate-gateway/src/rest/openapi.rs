//! The REST front described for programs (OpenAPI 3.1), from the table that it is routed by: a path that is not
//! described does not exist, and the other way round.

use serde_json::{Map, Value, json};
use yesgate_core::policy::{RouteTarget, Routes};

use super::consent::{
    CONSUME_KEYS, LONGEST_SECONDS, LONGEST_SUMMARY, MINT_KEYS, OUTCOME_KEYS, USUAL_SECONDS,
};
use super::table::{Endpoint, ROUTES, Route, Verb, encoded};

/// The whole document, with the paths that the operator named.
pub fn document(routes: &Routes) -> Value {
    let mut paths = Map::new();
    for route in ROUTES {
        paths.insert(route.path.to_owned(), path_item(&route));
    }
    for (path, target) in routes {
        paths.insert(path.clone(), named(target));
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Yesgate",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "A consent gateway for MCP. A call of a gated tool is held: it answers 202 with a summary \
                and a token, and runs only when it is repeated with the token after a human agreed, exactly once.",
        },
        "security": [{"key": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"key": {
                "type": "http", "scheme": "bearer",
                "description": "A key of `yesgate keys add`. Without any key only this machine may call.",
            }},
            "schemas": schemas(),
            "responses": responses(),
        },
    })
}

fn path_item(route: &Route) -> Value {
    let mut operation = operation(route.endpoint);
    let parameters: Vec<Value> = route.names().map(parameter).collect();
    if let (false, Some(operation)) = (parameters.is_empty(), operation.as_object_mut()) {
        operation.insert("parameters".into(), parameters.into());
    }
    let verb = match route.verb {
        Verb::Get => "get",
        Verb::Post => "post",
    };
    json!({ verb: operation })
}

/// A path of the operator's: the call of one tool.
fn named(target: &RouteTarget) -> Value {
    let RouteTarget { server, tool } = target;
    let mut call = operation(Endpoint::Call);
    if let Some(call) = call.as_object_mut() {
        let id = format!("call_{server}_{tool}");
        call.insert("operationId".into(), id.into());
        call.insert("summary".into(), format!("Call `{tool}` of `{server}`").into());
        let same = format!("The same as /api/tools/{server}/{}.", encoded(tool.as_str()));
        call.insert("description".into(), same.into());
    }
    json!({ "post": call })
}

fn parameter(name: &str) -> Value {
    let words = match name {
        "server" => "The operator's name of the server.",
        "tool" => "The tool, as its server calls it.",
        _ => "The question. It is no secret, and decides nothing.",
    };
    json!({"name": name, "in": "path", "required": true, "description": words, "schema": {"type": "string"}})
}

fn operation(endpoint: Endpoint) -> Value {
    match endpoint {
        Endpoint::Call => json!({
            "operationId": "call_tool",
            "summary": "Call a tool",
            "description": "The body has the tool's arguments, and with them, where they are needed, the gateway's own: \
                `confirm_token`, `__typed`, `__confirm`, `__mode`, `__channel`, `__reason`. Closing the connection withdraws the call.",
            "requestBody": body(&json!({"$ref": "#/components/schemas/Arguments"})),
            "responses": answers(&[
                ("200", any("It ran: the tool's structured content, or the whole result.")),
                ("202", reference("Held")),
                ("400", failure("The body is no call that can be judged.")),
                ("402", reference("Refused")),
                ("403", reference("Refused")),
                ("404", failure("There is no such server, or no such tool.")),
                ("409", reference("Refused")),
                ("413", reference("Refused")),
                ("422", any("It ran, and the tool says that it failed.")),
                ("502", failure("The server answered with an error, or could not be reached.")),
                ("503", reference("Refused")),
            ], Verb::Post),
        }),
        Endpoint::Look => json!({
            "operationId": "look",
            "summary": "Look up a question",
            "description": "Only reads. For the caller that asked; for everybody else there is no such question.",
            "responses": answers(&[
                ("200", content("Where it stands.", &json!({"$ref": "#/components/schemas/Standing"}))),
                ("404", failure("There is no such question for this caller.")),
                ("503", reference("Refused")),
            ], Verb::Get),
        }),
        Endpoint::Mint => json!({
            "operationId": "mint",
            "summary": "Ask for consent to an operation of an application",
            "description": "The application is the client of the key. Nothing runs.",
            "requestBody": body(&object(&MINT_KEYS, &["operation"])),
            "responses": answers(&[
                ("202", reference("Held")),
                ("400", failure("The body is not understood.")),
                ("403", reference("Refused")),
                ("409", reference("Refused")),
                ("413", reference("Refused")),
                ("503", reference("Refused")),
            ], Verb::Post),
        }),
        Endpoint::Consume => json!({
            "operationId": "consume",
            "summary": "Spend the yes to an operation of an application",
            "description": "Answers 200 once for each yes. Then do it, with the `params` of the answer, and say how \
                it ended.",
            "requestBody": body(&object(&CONSUME_KEYS, &["confirm_token", "operation"])),
            "responses": answers(&[
                ("200", content("It may run, once.", &json!({
                    "type": "object",
                    "required": ["permit", "intent_id", "params"],
                    "properties": {
                        "permit": {"type": "string", "description": "The question whose yes was spent."},
                        "intent_id": {"type": "string", "description": "The same."},
                        "params": {"type": "object", "description": "What the human agreed to."},
                    },
                }))),
                ("400", failure("The body is not understood.")),
                ("402", reference("Refused")),
                ("403", reference("Refused")),
                ("409", reference("Refused")),
                ("503", reference("Refused")),
            ], Verb::Post),
        }),
        Endpoint::Outcome => json!({
            "operationId": "outcome",
            "summary": "Say how a permitted operation ended",
            "description": "Without a word the outcome becomes `unknown`, and a human has to settle it.",
            "requestBody": body(&object(&OUTCOME_KEYS, &["outcome"])),
            "responses": answers(&[
                ("200", any("It is written down.")),
                ("400", failure("The body is not understood.")),
                ("404", failure("There is no such question of this application.")),
                ("409", reference("Refused")),
                ("503", reference("Refused")),
            ], Verb::Post),
        }),
        Endpoint::Document => json!({
            "operationId": "document",
            "summary": "Read this document, with the paths that the operator named",
            "responses": answers(&[("200", any("This document."))], Verb::Get),
        }),
    }
}

/// The responses of one operation, and those that all with this method have.
fn answers(own: &[(&str, Value)], verb: Verb) -> Value {
    let mut all: Map<String, Value> =
        own.iter().map(|(status, response)| ((*status).to_owned(), response.clone())).collect();
    all.insert("401".into(), failure("A bearer key is needed, or is not valid."));
    match verb {
        Verb::Get => {}
        Verb::Post => {
            all.insert("415".into(), failure("The content type is not application/json."));
            all.insert("429".into(), failure("This caller has too much under way."));
        }
    }
    all.sort_keys();
    Value::Object(all)
}

fn body(schema: &Value) -> Value {
    json!({"required": true, "content": {"application/json": {"schema": schema}}})
}

fn content(words: &str, schema: &Value) -> Value {
    json!({"description": words, "content": {"application/json": {"schema": schema}}})
}

fn any(words: &str) -> Value {
    content(words, &json!({}))
}

fn failure(words: &str) -> Value {
    content(words, &json!({"$ref": "#/components/schemas/Failure"}))
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/responses/{name}")})
}

/// A body that has these keys and no others.
fn object(keys: &[&str], required: &[&str]) -> Value {
    let properties: Map<String, Value> = keys.iter().map(|key| ((*key).to_owned(), member(key))).collect();
    json!({
        "type": "object", "properties": properties, "required": required, "additionalProperties": false,
    })
}

/// What a key of the applications' bodies holds.
fn member(key: &str) -> Value {
    match key {
        "operation" => json!({"type": "string", "description": "What is to be done."}),
        "params" => json!({"type": "object", "description": "With what; the yes is bound to exactly this."}),
        "summary" => json!({
            "type": "string", "maxLength": LONGEST_SUMMARY, "description": "What the human reads first.",
        }),
        "principal" => json!({
            "type": "string", "description": "For which user of the same organisation. Absent: the key's.",
        }),
        "client" => json!({"type": "string", "description": "By which program. Absent: the key's."}),
        "ttl_seconds" => json!({
            "type": "integer", "minimum": 1, "maximum": LONGEST_SECONDS, "default": USUAL_SECONDS,
        }),
        "assurance" => json!({
            "enum": ["asserted", "relayed", "client", "local"], "default": "relayed",
            "description": "The least proof of a human that will do.",
        }),
        "confirm_token" => json!({"type": "string"}),
        "outcome" => json!({"enum": ["done", "failed", "not_run"]}),
        "result" => json!({"description": "What came of it; kept with the question. Not for `not_run`."}),
        _ => json!({}),
    }
}

fn responses() -> Value {
    json!({
        "Held": {
            "description": "A human is asked. Nothing has run.",
            "headers": {"Location": {
                "description": "Where to look the question up.", "schema": {"type": "string"},
            }},
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Held"}}},
        },
        "Refused": {
            "description": "It does not run.",
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Refusal"}}},
        },
    })
}

fn schemas() -> Value {
    let text = || json!({"type": "string"});
    json!({
        "Arguments": {
            "type": "object",
            "description": "The tool's own arguments, and the gateway's.",
            "properties": {
                "confirm_token": {"type": "string", "description": "The token of the held answer."},
                "__typed": {"type": "string", "description": "What the human typed, where the question wants that."},
                "__confirm": {"type": "boolean", "description": "The caller's key of two keys."},
                "__mode": {"enum": ["ask", "plan", "execute"]},
                "__reason": {"type": "string", "maxLength": 1000, "description": "Why, for the human who is asked: shown as the agent's words."},
                "__channel": {"enum": ["chat", "web"], "description": "Where the human is to be asked."},
            },
            "additionalProperties": true,
        },
        "Held": {
            "type": "object",
            "required": ["status", "intent_id", "summary", "message", "expires_at", "match_code"],
            "properties": {
                "status": {"enum": ["confirmation_required", "approval_required"]},
                "confirm_required": {"const": true},
                "confirm_token": {"type": "string", "description": "Absent where a human must decide elsewhere."},
                "summary": text(),
                "message": {"type": "string", "description": "The summary and what to do next."},
                "ttl_seconds": {"type": "integer"},
                "expires_in": {"type": "integer"},
                "expires_at": {"type": "string", "format": "date-time"},
                "intent_id": text(),
                "confirm_type": text(),
                "match_code": {"type": "string", "description": "The human compares it on both sides."},
                "polling_url": {"type": "string", "format": "uri"},
                "approval_url": {"type": "string", "format": "uri"},
                "poll_interval_seconds": {"type": "integer"},
            },
        },
        "Standing": {
            "type": "object",
            "required": ["intent_id", "status", "state", "summary", "match_code"],
            "properties": {
                "intent_id": text(),
                "status": {
                    "enum": ["pending", "approved", "denied", "expired", "cancelled", "superseded", "voided",
                        "unknown", "resolved"],
                    "description": "`pending`: look again. `approved`: it ran, or, for an operation of an \
                        application, may be consumed.",
                },
                "state": {"type": "string", "description": "The exact state, as `yesgate show` has it."},
                "summary": text(),
                "match_code": text(),
                "message": text(),
                "reason": {"type": "string", "description": "Why a human said no; a claim where only the agent brought the words."},
                "outcome": {"enum": ["ok", "tool_error", "not_sent"]},
                "result": {"description": "What the call itself would have been answered with."},
                "assurance": {"type": "string", "description": "How well a human was proven."},
                "edited": {"type": "boolean", "description": "A human changed the arguments before they said yes; \
                    everything here is about the changed call."},
                "arguments": {"type": "object", "description": "What a human changed the arguments to."},
                "expires_at": {"type": "string", "format": "date-time"},
                "poll_interval_seconds": {"type": "integer"},
            },
        },
        "Refusal": {
            "type": "object",
            "required": ["error", "message", "details"],
            "properties": {
                "error": {"type": "string", "description": "The code to match on, such as `consent_token_expired`."},
                "message": {"type": "string", "description": "What happened, that nothing ran, and the next step."},
                "details": {"type": "object", "description": "The next steps that the rule declares."},
                "intent_id": text(),
            },
        },
        "Failure": {
            "type": "object",
            "required": ["error", "message"],
            "properties": {"error": text(), "message": text(), "details": {}},
        },
    })
}
