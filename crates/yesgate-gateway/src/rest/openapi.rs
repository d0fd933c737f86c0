//! The REST front described for programs (OpenAPI 3.1), from the table that it is routed by: a path that is not
//! described does not exist, and the other way round.

mod shapes;

use serde_json::{Map, Value, json};
use yesgate_core::policy::{RouteTarget, Routes};

use self::shapes::{responses, schemas};
use super::consent::{
    CONSUME_KEYS, LONGEST_SECONDS, LONGEST_SUMMARY, MINT_KEYS, OUTCOME_KEYS, USUAL_SECONDS,
};
use super::table::{Endpoint, ROUTES, Route, Verb, encoded};
use yesgate_http::problem::TITLES;

/// What others add to the document: the paths that people have, and what they are told there.
#[derive(Clone, Debug, Default)]
pub struct Annex {
    /// Their paths.
    pub paths: Map<String, Value>,
    /// Their shapes, by name.
    pub schemas: Map<String, Value>,
}

/// The whole document, with the paths that the operator named.
pub fn document(routes: &Routes, annex: &Annex) -> Value {
    let mut paths = annex.paths.clone();
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
        "tags": [
            {"name": "agents", "description": "For agents and applications, with a key."},
            {"name": "both", "description": "For agents with a key, and for people with their session. They are told \
                different things."},
            {"name": "people", "description": "For people who are signed in, with the session of their browser."},
        ],
        "paths": paths,
        "components": {
            "securitySchemes": security_schemes(),
            "schemas": all_schemas(annex),
            "responses": responses(),
        },
        "x-problems": TITLES.iter().map(|(code, title)| json!({"code": code, "title": title})).collect::<Vec<_>>(),
    })
}

fn security_schemes() -> Value {
    json!({
        "key": {
            "type": "http", "scheme": "bearer",
            "description": "A key of `yesgate keys add`. Without any key only this machine may call.",
        },
        "session": {
            "type": "apiKey", "in": "cookie", "name": "__Host-yesgate",
            "description": "The session of a browser in which somebody has signed in; over plain HTTP the cookie is \
                called `yesgate-PORT`. Whoever shows a key as well is an agent.",
        },
        "token": {
            "type": "apiKey", "in": "header", "name": "X-Yesgate-Token",
            "description": "The `token` of `GET /api/me`. What changes something also needs the gateway's own `Origin`.",
        },
    })
}

fn all_schemas(annex: &Annex) -> Value {
    let mut all = annex.schemas.clone();
    if let Value::Object(own) = schemas() {
        all.extend(own);
    }
    all.sort_keys();
    Value::Object(all)
}

fn path_item(route: &Route) -> Value {
    let mut operation = operation(route.endpoint);
    let parameters: Vec<Value> = route.names().map(parameter).collect();
    if let (false, Some(operation)) = (parameters.is_empty(), operation.as_object_mut()) {
        operation.insert("parameters".into(), parameters.into());
    }
    let tag = match route.endpoint {
        Endpoint::Look | Endpoint::Decide | Endpoint::Cancel | Endpoint::Document => "both",
        Endpoint::Call | Endpoint::Mint | Endpoint::Consume | Endpoint::Outcome => "agents",
    };
    if let Some(operation) = operation.as_object_mut() {
        operation.insert("tags".into(), json!([tag]));
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
                ("403", failure("A human, or the time they had, decided against it; or only agents may.")),
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
            "description": "Only reads. For the caller that asked: where it stands. For a person of its organisation: \
                all that its page has. For everybody else there is no such question.",
            "security": [{"key": []}, {"session": []}],
            "responses": answers(&[
                ("200", content("Where it stands, or all of it.", &seen_by_both())),
                ("404", failure("There is no such question for this caller.")),
                ("429", reference("TooSoon")),
                ("503", reference("Refused")),
            ], Verb::Get),
        }),
        Endpoint::Decide => json!({
            "operationId": "decide",
            "summary": "Decide a question",
            "description": "A person says yes (to the `digest` that they have `seen`), no, something else, or that the \
                client is to be frozen; where a key of theirs must sign, `approval_url` of the answer leads to the page. \
                An agent passes on what its user said in the conversation: `approve` or `deny` of its own question, and \
                only where the rule takes a `relayed` yes; an approved call runs, and is answered like the call itself.",
            "security": [{"key": []}, {"session": [], "token": []}],
            "requestBody": body(&decision()),
            "responses": answers(&[
                ("200", any("For a person: the question as it is now. For an agent: what became of the call.")),
                ("202", reference("Held")),
                ("400", failure("The body is not understood.")),
                ("402", reference("Refused")),
                ("403", failure("Not for this caller, or not enough proof of a human (`assurance_too_low`).")),
                ("404", failure("There is no such question for this caller.")),
                ("409", reference("Refused")),
                ("413", reference("Refused")),
                ("422", any("It ran, and the tool says that it failed.")),
                ("502", failure("The server answered with an error, or could not be reached.")),
                ("503", failure("Consent can be neither asked nor recorded.")),
            ], Verb::Post),
        }),
        Endpoint::Cancel => json!({
            "operationId": "cancel",
            "summary": "Withdraw a question before it runs",
            "description": "For the caller that asked, and for approvers of its organisation. The body is `{}`.",
            "security": [{"key": []}, {"session": [], "token": []}],
            "requestBody": body(&object(&[], &[])),
            "responses": answers(&[
                ("200", content("It is withdrawn.", &seen_by_both())),
                ("400", failure("The body is not understood.")),
                ("402", reference("Refused")),
                ("403", failure("Not for this caller, or it is over already.")),
                ("404", failure("There is no such question for this caller.")),
                ("409", reference("Refused")),
                ("503", failure("The ledger cannot be used.")),
            ], Verb::Post),
        }),
        Endpoint::Mint => json!({
            "operationId": "mint",
            "summary": "Ask for consent to an operation of an application",
            "description": "The application is the client of the key. Nothing runs.",
            "requestBody": body(&object(&MINT_KEYS, &["operation"])),
            "responses": answers(&[
                ("202", reference("Held")),
                ("400", failure("The body is not understood.")),
                ("403", failure("A human, or the time they had, decided against it; or only agents may.")),
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
                ("403", failure("A human, or the time they had, decided against it; or only agents may.")),
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
            "security": [{"key": []}, {"session": []}],
            "responses": answers(&[("200", any("This document."))], Verb::Get),
        }),
    }
}

fn seen_by_both() -> Value {
    json!({"anyOf": [{"$ref": "#/components/schemas/Standing"}, {"$ref": "#/components/schemas/Question"}]})
}

/// What can be said of a question. An agent has `answer`, `reason` and `typed`.
fn decision() -> Value {
    json!({
        "type": "object", "required": ["answer"], "additionalProperties": false,
        "properties": {
            "answer": {"enum": ["approve", "deny", "respond", "report"]},
            "seen": {"type": "string", "description": "With a person's `approve`: the `digest` of what they saw."},
            "reason": {"type": "string", "maxLength": 2000, "description": "Why not, or the words to answer with."},
            "typed": {"type": "string", "description": "What the human typed, where something must be."},
            "remember": {
                "type": "object", "required": ["scope"], "additionalProperties": false,
                "description": "Remember a person's yes, with at least one limit.",
                "properties": {
                    "scope": {"enum": ["exact", "pattern", "tool"]},
                    "pattern": {"type": "string", "description": "A condition over `args`, for the scope `pattern`."},
                    "uses": {"type": "integer", "minimum": 1, "maximum": 1000},
                    "minutes": {"type": "integer", "minimum": 1, "maximum": 10080},
                },
            },
        },
    })
}

/// The responses of one operation, and those that all with this method have.
fn answers(own: &[(&str, Value)], verb: Verb) -> Value {
    let mut all: Map<String, Value> =
        own.iter().map(|(status, response)| ((*status).to_owned(), response.clone())).collect();
    all.insert("401".into(), failure("A bearer key, or a session, is needed, or is not valid."));
    all.entry("403").or_insert_with(|| failure("Not for people, or not for agents."));
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
    problem(words, "Problem")
}

fn problem(words: &str, schema: &str) -> Value {
    let schema = json!({"$ref": format!("#/components/schemas/{schema}")});
    json!({"description": words, "content": {"application/problem+json": {"schema": schema}}})
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
