//! REST for people described for programs (OpenAPI 3.1): their own paths, and the shapes of what they are told.
//!
//! INVARIANT: every path that only people have stands here, and no other; a test compares it with the table.

use serde_json::{Map, Value, json};

use super::intents::{MOST_LISTED, STATES, USUAL_LISTED};

/// The people's part of the description.
#[derive(Clone, Debug)]
pub struct Described {
    /// Their paths.
    pub paths: Map<String, Value>,
    /// What they are told, by name.
    pub schemas: Map<String, Value>,
}

/// Describes it.
pub fn described() -> Described {
    Described { paths: members(paths()), schemas: members(schemas()) }
}

fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}

fn paths() -> Value {
    let no_such = ("404", problem("There is no such thing for this person."));
    json!({
        "/api/me": {
            "get": read("me", "Who is signed in", "With the `token` that goes with every request that changes \
                something, in the header `X-Yesgate-Token`.", &[], ("Them.", "Me"), &[]),
        },
        "/api/me/sessions": {
            "get": read("sessions", "The browsers in which you are signed in", "", &[], ("They.", "Sessions"), &[]),
            "delete": change("end_everything", "Sign out everywhere, and revoke all clients and keys of yours",
                "All sessions of the person end, this one too, no client that they connected and no key with which agents \
                 call for them counts, and what these have asked is withdrawn. It wants a sign-in within the last 15 \
                 minutes.",
                &[], ("How many there were.", "Ended"), &[]),
        },
        "/api/me/sessions/{session_id}": {
            "delete": change("end_session", "Sign one browser out", "", &[in_path("session_id")],
                ("It is.", "Ended"), std::slice::from_ref(&no_such)),
        },
        "/api/intents": {
            "get": read("list_intents", "List questions", "Those of your organisation, some at a time: `next` is \
                the `after` of the next request, and null where there is no more. Waiting ones come the oldest first, \
                all others the newest first.", &[
                    query("state", &json!({"enum": STATES}), "Only those in this state."),
                    query("server", &text(), "Only those of this server."),
                    query("tool", &text(), "Only those of this tool."),
                    query("caller", &text(), "Only those of this user, or of this client."),
                    query("search", &text(), "Only those with all these words in what a list shows."),
                    query("after", &json!({"type": "string", "pattern": "^[0-9]{1,18}$"}), "Where to go on."),
                    query("limit", &json!({"type": "integer", "minimum": 1, "maximum": MOST_LISTED,
                        "default": USUAL_LISTED}), "How many at most."),
                ], ("Some of them.", "Questions"), &[]),
        },
        "/api/grants": {
            "get": read("grants", "List remembered yeses", "The newest first.", &[], ("They.", "Grants"), &[]),
        },
        "/api/grants/{grant_id}": {
            "get": read("grant", "One remembered yes", "", &[in_path("grant_id")], ("It.", "Grant"),
                std::slice::from_ref(&no_such)),
            "delete": change("revoke_grant", "Take a remembered yes back", "For approvers.", &[in_path("grant_id")],
                ("It is.", "Grant"), std::slice::from_ref(&no_such)),
        },
        "/api/audit": { "get": export() },
        "/api/clients": {
            "get": read("clients", "List connected clients and the keys of agents", "Your own; for an owner, those of the \
                organisation. Connections that ended are not among them.",
                &[], ("They, without their keys and tokens.", "Clients"), &[]),
        },
        "/api/clients/{client_id}": {
            "delete": change("revoke_client", "Revoke a connected client or a key", "It counts no more from the next \
                request on.",
                &[in_path("client_id")], ("It is.", "Client"), std::slice::from_ref(&no_such)),
        },
        "/api/mcp/oauth/clients/{oauth_client_id}": {
            "delete": change("revoke_connected", "Revoke what a client was allowed", "By the id of one connection, or by \
                the `client_id` of a client, percent-encoded: then all that it has of yours end; for an owner, all that it \
                has in the organisation. Its tokens count no more from the next request on.",
                &[in_path("oauth_client_id")], ("How many connections ended.", "Revoked"),
                std::slice::from_ref(&no_such)),
        },
    })
}

fn export() -> Value {
    let row = json!({"type": "integer", "minimum": 1, "maximum": i64::MAX});
    let mut operation = read(
        "export_audit",
        "Export the audit trail",
        "JSON lines, for owners: a row each with `sequence`, `hash` and `entry`, and at the end a line with `end` and \
         the number of `rows`. Without that line it is not whole.",
        &[query("from", &row, "The first row.")],
        ("The rows.", "AuditRow"),
        &[],
    );
    if let Some(answer) = operation.pointer_mut("/responses/200") {
        let lines = json!({"type": "string", "description": "Each line is an `AuditRow`."});
        *answer = json!({"description": "The rows.", "content": {"application/jsonl": {"schema": lines}}});
    }
    operation
}

/// What only reads.
fn read(
    id: &str,
    summary: &str,
    words: &str,
    parameters: &[Value],
    answer: (&str, &str),
    more: &[(&str, Value)],
) -> Value {
    let invalid = [("400", problem("The request is not understood."))];
    let more: Vec<_> =
        invalid.into_iter().filter(|_| !parameters.is_empty()).chain(more.iter().cloned()).collect();
    operation((id, summary, words), parameters, answer, &more, &json!([{"session": []}]))
}

/// What changes something.
fn change(
    id: &str,
    summary: &str,
    words: &str,
    parameters: &[Value],
    answer: (&str, &str),
    more: &[(&str, Value)],
) -> Value {
    operation((id, summary, words), parameters, answer, more, &json!([{"session": [], "token": []}]))
}

fn operation(
    (id, summary, words): (&str, &str, &str),
    parameters: &[Value],
    (answer, schema): (&str, &str),
    more: &[(&str, Value)],
    security: &Value,
) -> Value {
    let schema = json!({"$ref": format!("#/components/schemas/{schema}")});
    let ok = json!({"description": answer, "content": {"application/json": {"schema": schema}}});
    let usual = [
        ("200", ok),
        ("401", problem("Nobody is signed in.")),
        ("403", problem("Not for this role, not for an agent, or not sent by a page of this gateway.")),
        ("503", problem("The ledger cannot be used.")),
    ];
    let mut responses: Map<String, Value> =
        usual.iter().chain(more).map(|(status, value)| ((*status).to_owned(), value.clone())).collect();
    responses.sort_keys();
    let mut operation = json!({
        "operationId": id, "summary": summary, "tags": ["people"], "security": security, "responses": responses,
    });
    if let Some(operation) = operation.as_object_mut() {
        if !words.is_empty() {
            operation.insert("description".into(), words.into());
        }
        if !parameters.is_empty() {
            operation.insert("parameters".into(), parameters.into());
        }
    }
    operation
}

fn problem(words: &str) -> Value {
    let schema = json!({"$ref": "#/components/schemas/Problem"});
    json!({"description": words, "content": {"application/problem+json": {"schema": schema}}})
}

fn in_path(name: &str) -> Value {
    json!({"name": name, "in": "path", "required": true, "schema": text()})
}

fn query(name: &str, schema: &Value, words: &str) -> Value {
    json!({"name": name, "in": "query", "description": words, "schema": schema})
}

fn text() -> Value {
    json!({"type": "string"})
}

fn schemas() -> Value {
    let time = || json!({"type": "string", "format": "date-time"});
    let maybe = |kind: &str| json!({"type": [kind, "null"]});
    let maybe_time = || json!({"type": ["string", "null"], "format": "date-time"});
    let number = || json!({"type": "integer"});
    let texts = || json!({"type": "array", "items": {"type": "string"}});
    let line = json!({
        "intent_id": text(), "state": {"enum": STATES}, "summary": text(), "server": text(), "tool": text(),
        "class": text(), "client": text(), "user": text(), "match_code": text(),
        "digest": {"type": "string", "description": "What a yes is bound to: send it as `seen`."},
        "asked_at": time(), "decide_by": time(),
        "quorum": object(&json!({"have": number(), "need": number()})),
        "approval_url": {"type": "string", "format": "uri", "description": "Its page."},
    });
    let mut whole = members(line.clone());
    whole.extend(members(json!({
        "arguments": {"description": "Exactly what would run."},
        "shown": {"type": "array", "items": {"type": "string"}, "description": "The same as people see it: safe to \
            show, nothing hidden."},
        "preview": {"type": ["array", "null"], "items": {"type": "string"}},
        "definition": text(), "rule": maybe("string"), "reason": maybe("string"),
        "needs": {"type": "string", "description": "The least proof of a human that will do."},
        "whose_yes": {"type": ["string", "null"], "description": "Who must say yes, where the rule names groups."},
        "claim": {"type": ["array", "null"], "items": {"type": "string"}, "description": "What only the agent says."},
        "confirm": text(),
        "to_type": {"type": ["string", "null"], "description": "What must be typed, in quotes."},
        "remember": {"type": "array", "items": {"enum": ["exact", "pattern", "tool"]}},
        "decision": {"type": ["object", "null"], "properties": {
            "answer": {"enum": ["approve", "deny", "respond"]}, "by": text(), "assurance": text(), "at": time(),
            "reason": maybe("string"),
        }},
        "result": {"type": ["array", "null"], "items": {"type": "string"}, "description": "What the server answered, \
            with secrets taken out."},
    })));
    let session = json!({
        "id": text(), "browser": text(), "way": text(), "begun_at": time(), "seen_at": time(),
        "current": {"type": "boolean"},
    });
    let list = |name: &str, schema: &str| {
        let items = json!({"$ref": format!("#/components/schemas/{schema}")});
        object(&json!({ name: {"type": "array", "items": items} }))
    };
    json!({
        "Me": object(&json!({
            "id": text(), "name": text(), "org": text(), "role": {"enum": ["viewer", "approver", "owner"]},
            "groups": texts(), "assurance": {"type": "string", "description": "What a yes of yours proves here."},
            "session": {"$ref": "#/components/schemas/Session"},
            "token": {"type": "string", "description": "For the header `X-Yesgate-Token`; good for eight hours."},
        })),
        "Session": object(&session),
        "Sessions": list("sessions", "Session"),
        "Ended": object(&json!({
            "sessions": number(),
            "connections": {"type": "integer", "description": "Clients that were connected."},
            "clients": {"type": "integer", "description": "Keys of agents."},
            "intents": number(),
        })),
        "Revoked": object(&json!({"connections": number()})),
        "QuestionLine": object(&line),
        "Question": object(&Value::Object(whole)),
        "Questions": object(&json!({
            "intents": {"type": "array", "items": {"$ref": "#/components/schemas/QuestionLine"}},
            "next": {"type": ["string", "null"]},
        })),
        "Grant": object(&json!({
            "id": text(), "standing": {"enum": ["live", "used_up", "expired", "revoked"]}, "from": text(),
            "server": text(), "tool": text(), "scope": text(), "client": text(), "user": text(), "by": text(),
            "assurance": text(), "made_at": time(), "until": maybe_time(), "uses": maybe("integer"),
            "used": number(), "revoked_at": maybe_time(),
        })),
        "Grants": list("grants", "Grant"),
        "AuditRow": object(&json!({"sequence": number(), "hash": text(), "entry": {"type": "object"}})),
        "Client": object(&json!({
            "kind": {"enum": ["connection", "key"]},
            "id": text(), "name": text(), "user": text(), "org": text(), "client": text(),
            "verified_host": {"type": ["string", "null"], "description": "Who vouched for a client that was connected."},
            "scopes": {"type": ["array", "null"], "items": {"type": "string"}, "description": "What it may do; null for \
                keys."},
            "resources": {"type": ["array", "null"], "items": {"type": "string"}, "description": "Where; null for keys."},
            "created_at": time(), "revoked_at": maybe_time(), "used_at": maybe_time(), "used_from": maybe("string"),
            "asks": {"type": "integer", "description": "How many questions its calls have led to."},
            "first_asked_at": maybe_time(), "last_asked_at": maybe_time(),
        })),
        "Clients": list("clients", "Client"),
    })
}

/// An object that has all of these.
fn object(properties: &Value) -> Value {
    let required: Vec<String> = members(properties.clone()).keys().cloned().collect();
    json!({"type": "object", "required": required, "properties": properties})
}

#[cfg(test)]
mod tests {
    use super::described;
    use crate::table::{API, Place};

    /// What agents have too is described on their side, with what people may do there.
    const SHARED: [&str; 4] = [
        "/api/openapi.json",
        "/api/intents/{intent_id}",
        "/api/intents/{intent_id}/decide",
        "/api/intents/{intent_id}/cancel",
    ];

    #[test]
    fn every_path_that_only_people_have_is_described_and_no_other() {
        let described = described();
        let has = |method: &str, path: &str| {
            described.paths.get(path).is_some_and(|item| item.get(method.to_lowercase()).is_some())
        };
        let of_people =
            || API.iter().filter(|entry| entry.place != Place::Reference && !SHARED.contains(&entry.path));
        for entry in of_people() {
            assert!(has(entry.method, entry.path), "{} {}", entry.method, entry.path);
        }
        let operations: usize = described.paths.values().map(|item| item.as_object().unwrap().len()).sum();
        assert_eq!(operations, of_people().count());
    }
}
