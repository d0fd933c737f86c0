//! What the mock's plain tools do: those that answer at once and say nothing else.
//!
//! Shared by the server on stdio and the one over HTTP, so that a test means the same with either.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::protocol::{Era, RpcError, object};

/// The notes, and how many calls were let through to a tool.
#[derive(Debug)]
pub(crate) struct Notes {
    notes: BTreeMap<String, String>,
    runs: u64,
}

impl Notes {
    pub(crate) fn new() -> Self {
        Self { notes: BTreeMap::from([("a".to_owned(), "the first note".to_owned())]), runs: 0 }
    }

    /// Counts a call, and gives back the how manieth it is.
    pub(crate) fn count(&mut self) -> u64 {
        self.runs += 1;
        self.runs
    }

    /// Runs a plain tool, in a call that was counted; `None` if it is not one.
    pub(crate) fn run(&mut self, tool: &str, arguments: &Value, era: Era) -> Option<Result<Value, RpcError>> {
        let note = arguments["id"].as_str().unwrap_or_default().to_owned();
        let run = self.runs;
        Some(match tool {
            "read_note" | "peek_note" => done(era, self.notes.get(&note).map_or("", String::as_str)),
            "write_note" => {
                self.notes.insert(note.clone(), arguments["text"].as_str().unwrap_or_default().to_owned());
                done(era, &format!("run {run}: wrote {note}"))
            }
            "delete_note" => Ok(self.delete(&note, arguments, era)),
            "pay" => {
                let [amount, currency, to] = ["amount", "currency", "to"].map(|key| plain(&arguments[key]));
                done(era, &format!("run {run}: paid {amount} {currency} to {to}"))
            }
            "delete_everything" => {
                self.notes.clear();
                done(era, &format!("run {run}: deleted everything"))
            }
            "deploy" => Ok(self.deploy(arguments, era)),
            "fail" => Ok(failed(era, &format!("run {run}: it failed"))),
            "rpc_error" => Err(RpcError::new(4242, "the mock refuses").with(json!({"run": run}))),
            _ => return None,
        })
    }

    /// Deploys, or previews that. What would be deployed is what is there: another note is another preview.
    fn deploy(&self, arguments: &Value, era: Era) -> Value {
        let name = plain(&arguments["name"]);
        if name == "nowhere" {
            return failed(era, "there is no such place");
        }
        let said = match arguments["dry_run"].as_bool() {
            Some(true) => json!({
                "provisioner": "mock",
                "script": format!("deploy-{name}.sh"),
                "estimated_duration": "2 minutes",
                "notes": self.notes.keys().collect::<Vec<_>>(),
            }),
            Some(false) | None => json!({"run_id": format!("run-{}", self.runs), "deployed": name}),
        };
        let content = json!([{"type": "text", "text": said.to_string()}]);
        era.complete(object(json!({"content": content, "structuredContent": said})))
    }

    /// Deletes a note, and takes no argument but its name.
    fn delete(&mut self, note: &str, arguments: &Value, era: Era) -> Value {
        let unknown = arguments.as_object().and_then(|all| all.keys().find(|key| *key != "id"));
        if let Some(unknown) = unknown {
            return failed(era, &format!("unexpected argument: {unknown}"));
        }
        self.notes.remove(note);
        let deleted = json!({"deleted": note, "run": self.runs});
        let content = json!([{"type": "text", "text": deleted.to_string()}]);
        era.complete(object(json!({"content": content, "structuredContent": deleted})))
    }
}

/// The whole message that answers a call with the bytes of its arguments as they came.
pub(crate) fn echo(call: &[u8], era: Era, id: &Value) -> String {
    let arguments = serde_json::from_slice::<RawCall<'_>>(call)
        .ok()
        .and_then(|call| call.params.arguments)
        .map_or("null", RawValue::get);
    let kind = match era {
        Era::Legacy => "",
        Era::Modern => r#""resultType":"complete","#,
    };
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{{kind}"content":[],"structuredContent":{arguments}}}}}"#
    )
}

#[derive(Deserialize)]
struct RawCall<'a> {
    #[serde(borrow)]
    params: RawParams<'a>,
}

#[derive(Deserialize)]
struct RawParams<'a> {
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

/// A tool's answer that is one text.
pub(crate) fn done(era: Era, text: &str) -> Result<Value, RpcError> {
    Ok(era.complete(object(json!({"content": [{"type": "text", "text": text}]}))))
}

fn failed(era: Era, text: &str) -> Value {
    era.complete(object(json!({"content": [{"type": "text", "text": text}], "isError": true})))
}

/// A value without quotation marks.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
