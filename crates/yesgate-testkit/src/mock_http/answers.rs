//! What the mock over HTTP does for each method and tool.

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::arrived::Arrived;
use super::catalogue;
use super::plan::{Plan, Turn, error_text, result_text};
use super::server::{Listener, Server, Subscription};
use crate::mock_server::STATE;
use crate::mock_server::notes::{done, echo};
use crate::mock_server::protocol::{Era, RpcError, object, of_subscription};
use crate::mock_server::tools;

impl Server {
    /// Answers a request that its era admits.
    pub(super) fn answer(
        &self,
        arrived: &Arrived,
        era: Era,
        method: &str,
        id: &Value,
        params: &Value,
    ) -> Plan {
        let result = match (method, era) {
            ("tools/call", _) => return self.call(arrived, era, id, params),
            ("tools/list", _) => self.list(params, era),
            ("resources/list", _) => Ok(era.complete_list(self.resources.list())),
            ("resources/templates/list", _) => Ok(era.complete_list(self.resources.templates())),
            ("resources/read", _) => self.resources.read(params).map(|found| era.complete_list(found)),
            ("prompts/list", _) => Ok(era.complete_list(catalogue::prompts())),
            ("completion/complete", _) => Ok(era.complete(self.resources.complete(params))),
            ("prompts/get", _) => catalogue::prompt(params).map(|found| era.complete(found)),
            ("logging/setLevel" | "resources/subscribe" | "resources/unsubscribe", Era::Legacy) => {
                Ok(json!({}))
            }
            (_, Era::Modern) => {
                return Plan::error(404, id, &RpcError::new(-32601, format!("no such method: {method}")));
            }
            (_, Era::Legacy) => Err(RpcError::new(-32601, format!("no such method: {method}"))),
        };
        Plan::whole(text_of(id, &result))
    }

    fn list(&self, params: &Value, era: Era) -> Result<Value, RpcError> {
        let cursor = params["cursor"].as_str();
        let mut state = self.state();
        let all = catalogue::tools(&self.flags, state.lists);
        if cursor.is_none() {
            state.lists += 1;
        }
        tools::listed(&self.flags, all, cursor, era)
    }

    fn call(&self, arrived: &Arrived, era: Era, id: &Value, params: &Value) -> Plan {
        let tool = params["name"].as_str().unwrap_or_default();
        let arguments = &params["arguments"];
        let run = {
            let mut state = self.state();
            let run = state.notes.count();
            if let Some(result) = state.canned.get(tool) {
                return Plan::whole(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#));
            }
            if let Some(result) = state.notes.run(tool, arguments, era) {
                return Plan::whole(text_of(id, &result));
            }
            run
        };
        match tool {
            "echo" => Plan::whole(echo(&arrived.body, era, id)),
            "bytes" => {
                let count = arguments["count"].as_u64().and_then(|count| count.try_into().ok());
                Plan::whole(text_of(id, &done(era, &"x".repeat(count.unwrap_or_default()))))
            }
            "slow" => slow(era, id, params, run),
            "ask_user" => self.ask_user(era, id, params, run),
            "log_and_list_changed" => {
                let mut turns = Vec::new();
                if era.wants_log(params) {
                    let log = json!({"level": "info", "logger": "mock", "data": "something happened"});
                    turns.push(Turn::Say(notice("notifications/message", &log)));
                }
                self.tell("notifications/tools/list_changed", "toolsListChanged", &json!({}));
                turns.push(Turn::Answer(text_of(id, &done(era, &format!("run {run}: announced")))));
                Plan::Turns(turns)
            }
            other => Plan::whole(error_text(id, &RpcError::new(-32602, format!("unknown tool: {other}")))),
        }
    }

    /// Asks the client in the way of the era, and answers with what it said.
    fn ask_user(&self, era: Era, id: &Value, params: &Value, run: u64) -> Plan {
        let question = json!({
            "mode": "form",
            "message": params["arguments"]["question"].as_str().unwrap_or("What do you say?"),
            "requestedSchema": {"type": "object", "properties": {"words": {"type": "string"}}},
        });
        match era {
            Era::Modern if params["requestState"] == STATE => {
                let words = params["inputResponses"]["answer"].to_string();
                Plan::whole(text_of(id, &done(era, &words)))
            }
            Era::Modern => {
                let ask = json!({"answer": {"method": "elicitation/create", "params": question}});
                let wanted =
                    json!({"resultType": "input_required", "inputRequests": ask, "requestState": STATE});
                Plan::whole(result_text(id, &era.complete(object(wanted))))
            }
            Era::Legacy => {
                let (sender, answer) = oneshot::channel();
                let asked = format!("mock-ask-{run}");
                self.state().asked.insert(asked.clone(), sender);
                let question = json!({
                    "jsonrpc": "2.0", "id": asked, "method": "elicitation/create", "params": question,
                });
                Plan::Turns(vec![Turn::Ask { question: question.to_string(), answer, call: id.clone() }])
            }
        }
    }

    /// Opens a modern subscription; its first word says what was granted.
    pub(super) fn subscribe(&self, id: &Value, params: &Value) -> Plan {
        let (sender, rest) = mpsc::unbounded_channel();
        let wants = params["notifications"].clone();
        let granted = json!({"_meta": of_subscription(id), "notifications": wants});
        let first = vec![notice("notifications/subscriptions/acknowledged", &granted)];
        let subscription = Some(Subscription { id: id.clone(), wants });
        self.state().listeners.push(Listener { subscription, sender });
        Plan::Stream { first, rest }
    }

    /// Tells everybody who listens, and of the modern ones those that asked for it under this key.
    pub(super) fn tell(&self, method: &str, key: &str, params: &Value) {
        let is_wanted = |wants: &Value| match &wants[key] {
            Value::Bool(wanted) => *wanted,
            Value::Array(uris) => uris.contains(&params["uri"]),
            Value::Null | Value::Number(_) | Value::String(_) | Value::Object(_) => false,
        };
        // Whoever has left listens no more.
        self.state().listeners.retain(|listener| match &listener.subscription {
            None => listener.sender.send(notice(method, params)).is_ok(),
            Some(subscription) if is_wanted(&subscription.wants) => {
                let mut params = params.clone();
                params["_meta"] = of_subscription(&subscription.id);
                listener.sender.send(notice(method, &params)).is_ok()
            }
            Some(_) => !listener.sender.is_closed(),
        });
    }

    /// Ends all streams outside of requests, modern ones with the result that they are owed.
    pub(super) fn end_streams(&self) {
        for listener in self.state().listeners.drain(..) {
            if let Some(Subscription { id, .. }) = listener.subscription {
                let result = json!({"resultType": "complete", "_meta": of_subscription(&id)});
                // Whoever has left needs no farewell.
                listener.sender.send(result_text(&id, &result)).ok();
            }
        }
    }
}

fn slow(era: Era, id: &Value, params: &Value, run: u64) -> Plan {
    let mut turns = Vec::new();
    if let Some(token) = params["_meta"].get("progressToken") {
        for step in 1..=3 {
            let progress = json!({"progressToken": token, "progress": step, "total": 3});
            turns.push(Turn::Say(notice("notifications/progress", &progress)));
        }
    }
    turns.push(Turn::Gate);
    turns.push(Turn::Answer(text_of(id, &done(era, &format!("run {run}: slowly done")))));
    Plan::Turns(turns)
}

fn notice(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
}

fn text_of(id: &Value, result: &Result<Value, RpcError>) -> String {
    match result {
        Ok(result) => result_text(id, result),
        Err(error) => error_text(id, error),
    }
}
