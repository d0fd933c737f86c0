//! The shapes that the description of the REST front names: what is held, where a question stands, what went wrong.

use serde_json::{Value, json};

pub(super) fn responses() -> Value {
    json!({
        "Held": {
            "description": "A human is asked. Nothing has run.",
            "headers": {"Location": {
                "description": "Where to look the question up.", "schema": {"type": "string"},
            }},
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Held"}}},
        },
        "Refused": super::problem("It does not run.", "Refusal"),
        "TooSoon": {
            "description": "Nobody has decided, and this was polled before the interval was over (`slow_down`).",
            "headers": {"Retry-After": {"description": "Seconds.", "schema": {"type": "integer"}}},
            "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
        },
    })
}

pub(super) fn schemas() -> Value {
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
        "Problem": problem_schema(&[]),
        "Refusal": problem_schema(&["details"]),
    })
}

/// What went wrong (RFC 9457), with the payload that MCP has beside it (H6).
fn problem_schema(more: &[&str]) -> Value {
    let text = |words: &str| json!({"type": "string", "description": words});
    let usual = ["type", "title", "status", "detail", "code", "error", "message"];
    let required: Vec<&str> = usual.into_iter().chain(more.iter().copied()).collect();
    json!({
        "type": "object",
        "description": "A problem as RFC 9457 has it.",
        "required": required,
        "properties": {
            "type": {"type": "string", "format": "uri-reference", "description": "Where the code is explained."},
            "title": text("What the code means, the same whenever it comes."),
            "status": {"type": "integer", "description": "The HTTP status again."},
            "detail": text("What happened, that nothing ran, and the next step."),
            "code": text("The code to match on, such as `consent_token_expired`."),
            "error": text("The same as `code`."),
            "message": text("The same as `detail`."),
            "details": {"description": "For a refusal an object: the next steps that the rule declares. For a \
                server's error: that error."},
            "intent_id": text("The question that it is about."),
            "poll_interval_seconds": {"type": "integer", "description": "With `slow_down`: how long to wait from here on."},
        },
    })
}
