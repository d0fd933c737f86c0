//! Calls that become tasks (SEP-2663): done at once, and found to be so by whoever looks twice.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::protocol::{Era, RpcError, object};
use super::wire::Answer;

/// The tasks of one server.
#[derive(Debug, Default)]
pub(super) struct Tasks(HashMap<String, Task>);

#[derive(Debug)]
struct Task {
    result: Value,
    looks: u64,
}

impl Tasks {
    /// Whether whoever makes a call can deal with a task in its place.
    pub(super) fn are_known_to(params: &Value, era: Era) -> bool {
        let declared = &params["_meta"]["io.modelcontextprotocol/clientCapabilities"]["extensions"];
        era == Era::Modern && declared.get("io.modelcontextprotocol/tasks").is_some()
    }

    /// Keeps what a call came to as the result of a task; an error is no task.
    pub(super) fn begin(&mut self, run: u64, answer: Answer) -> Answer {
        let id = format!("mock-task-{run}");
        let result = answer?;
        self.0.insert(id.clone(), Task { result, looks: 0 });
        let mut task = described(&id, "working");
        task["resultType"] = json!("task");
        Ok(task)
    }

    /// Answers `tasks/get`, `tasks/update` or `tasks/cancel`.
    pub(super) fn request(&mut self, method: &str, params: &Value) -> Answer {
        let id = params["taskId"].as_str().unwrap_or_default();
        let task = self.0.get_mut(id).ok_or_else(|| RpcError::new(-32602, "no such task"))?;
        if method != "tasks/get" {
            return Ok(Era::Modern.complete(object(json!({}))));
        }
        task.looks += 1;
        let mut found = if task.looks == 1 { described(id, "working") } else { described(id, "completed") };
        if task.looks > 1 {
            found["result"] = task.result.clone();
        }
        Ok(Era::Modern.complete(object(found)))
    }
}

fn described(id: &str, status: &str) -> Value {
    let time = "2026-01-01T00:00:00Z";
    json!({"taskId": id, "status": status, "createdAt": time, "lastUpdatedAt": time, "ttlMs": null})
}
