//! The gateway's own tools: completing, rejecting and looking up a held call (I3).

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tracing::Instrument as _;
use yesgate_core::assurance::Assurance;
use yesgate_core::call::CallRequest;
use yesgate_core::caller::Caller;
use yesgate_core::id::IntentId;
use yesgate_core::intent::{Approver, Awaited, Intent, ResultKind, Runner, State, Surface};
use yesgate_core::json::{Limits, parse_lenient};
use yesgate_core::policy::Policy;
use yesgate_core::refusal::Why;

use crate::errand::Errand;
use crate::gate::{Gate, forgotten};
use crate::reply::{IsError, Reply};

/// A tool that the gateway itself answers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum OwnTool {
    /// Runs a held call after the user agreed in the conversation.
    Approve,
    /// Takes a held call back.
    Reject,
    /// Looks a held call up.
    Status,
}

impl OwnTool {
    const ALL: [Self; 3] = [Self::Approve, Self::Reject, Self::Status];

    const fn name(self) -> &'static str {
        match self {
            Self::Approve => "yesgate_approve",
            Self::Reject => "yesgate_reject",
            Self::Status => "yesgate_status",
        }
    }

    /// The own tool of this name, where the policy has questions at all.
    pub(crate) fn named(name: &str, policy: &Policy) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name).filter(|_| policy.asks())
    }

    /// Whether a tool of this name is one of the gateway's own.
    pub(crate) fn is_one(name: &str) -> bool {
        Self::ALL.into_iter().any(|tool| tool.name() == name)
    }

    /// What `tools/list` says of them.
    pub(crate) fn definitions() -> Vec<Value> {
        let id = json!({"type": "string", "description": "The intent_id of the held call."});
        let schema = |extra: Value| {
            let mut properties = json!({ "intent_id": id });
            if let (Some(all), Value::Object(extra)) = (properties.as_object_mut(), extra) {
                all.extend(extra);
            }
            json!({"type": "object", "properties": properties, "required": ["intent_id"]})
        };
        Self::ALL
            .into_iter()
            .map(|tool| match tool {
                Self::Approve => json!({
                    "name": tool.name(),
                    "title": "Run a held call",
                    "description": "Runs a held call exactly as it was held, once. Call this only after the \
                        user has seen the summary and said yes in this conversation.",
                    "inputSchema": schema(json!({})),
                    "annotations": {"readOnlyHint": false, "destructiveHint": true, "idempotentHint": false},
                }),
                Self::Reject => json!({
                    "name": tool.name(),
                    "title": "Take back a held call",
                    "description": "Takes a held call back after the user said no. It will not run.",
                    "inputSchema": schema(json!({
                        "reason": {"type": "string", "description": "The user's words, if they gave any."}
                    })),
                    "annotations": {"readOnlyHint": false, "destructiveHint": false, "idempotentHint": true},
                }),
                Self::Status => json!({
                    "name": tool.name(),
                    "title": "Look up a held call",
                    "description": "Says where a held call stands, and gives its result once it ran.",
                    "inputSchema": schema(json!({})),
                    "annotations": {"readOnlyHint": true},
                }),
            })
            .collect()
    }
}

impl Gate {
    pub(crate) async fn own_tool(
        self: &Arc<Self>,
        tool: OwnTool,
        errand: &Errand,
        request: &CallRequest,
    ) -> Reply {
        let caller = &errand.caller;
        let arguments = request.arguments.to_value();
        let text = |key: &str| arguments.get(key).and_then(Value::as_str);
        let Some(id) = text("intent_id").and_then(|id| id.parse::<IntentId>().ok()) else {
            return self.refused(caller, None, &Why::NoSuchIntent.into()).await;
        };
        // Naming an intent proves nothing: it must be this caller's own.
        let intent = match self.present(&id).await {
            Ok(Some(intent)) if intent.question().binding.caller == *caller && self.serves(&intent) => intent,
            Ok(Some(_) | None) => return self.refused(caller, None, &Why::NoSuchIntent.into()).await,
            Err(error) => {
                let why = Why::ConsentUnavailable { reason: error.public_reason() };
                return self.refused(caller, None, &why.into()).await;
            }
        };
        match tool {
            OwnTool::Approve => self.approve_held(intent, request, errand).await,
            OwnTool::Reject => self.reject_held(caller, &intent, text("reason").map(str::to_owned)).await,
            OwnTool::Status => self.status(intent).await,
        }
    }

    pub(crate) fn serves(&self, intent: &Intent) -> bool {
        let binding = &intent.question().binding;
        binding.server == self.server.name && binding.identity == self.server.identity
    }

    async fn approve_held(self: &Arc<Self>, intent: Intent, request: &CallRequest, errand: &Errand) -> Reply {
        let (gate, request, errand) = (Arc::clone(self), request.clone(), errand.clone());
        // Like every run, it goes to its end even if whoever waits for it vanishes.
        let running = async move { gate.run_held(&intent, &request, &errand).await };
        tokio::spawn(running.in_current_span())
            .await
            .unwrap_or_else(|_| Reply::error(-32603, "The gateway was stopped before it could answer.", None))
    }

    async fn run_held(&self, intent: &Intent, request: &CallRequest, errand: &Errand) -> Reply {
        let caller = &errand.caller;
        let tool = intent.question().binding.tool.clone();
        let ground = match self.ground(&errand.way, intent.question()).await {
            Ok(ground) => ground,
            Err(_) if errand.way.is_forgotten() => return forgotten(errand),
            Err(refusal) => return self.refused(caller, Some(&tool), &refusal).await,
        };
        if errand.cancel.is_fired() {
            return Reply::Silent;
        }
        let boot = self.setting.boot.clone();
        let claim = self
            .ledger
            .update(intent.id(), move |intent, now| {
                intent.claim_by_approve_tool(&Runner { boot: &boot, ground, awaited: Awaited::Yes }, now)
            })
            .await;
        match claim {
            Ok(Some(claim)) => self.claimed(&tool, intent.id(), claim, request, errand).await,
            Ok(None) => self.refused(caller, Some(&tool), &Why::NoSuchIntent.into()).await,
            Err(error) => self.unavailable(caller, &tool, &error).await,
        }
    }

    async fn reject_held(&self, caller: &Caller, intent: &Intent, reason: Option<String>) -> Reply {
        let tool = &intent.question().binding.tool;
        let by = Approver {
            name: "the user, relayed by the agent".into(),
            surface: Surface::Agent,
            assurance: Assurance::Relayed,
        };
        match self.ledger.update(intent.id(), move |intent, now| intent.deny(&by, reason, now)).await {
            Ok(Some(Ok(()))) => {
                let mut payload = Map::new();
                payload.insert("status".into(), "denied".into());
                payload.insert("intent_id".into(), intent.id().as_str().into());
                payload.insert("message".into(), "The held call was taken back. Nothing ran.".into());
                Reply::tool_result(payload, IsError::No)
            }
            Ok(Some(Err(refusal))) => self.refused(caller, Some(tool), &refusal).await,
            Ok(None) => self.refused(caller, Some(tool), &Why::NoSuchIntent.into()).await,
            Err(error) => self.unavailable(caller, tool, &error).await,
        }
    }

    /// Only reads, but for noting that the agent has had the result.
    async fn status(&self, intent: Intent) -> Reply {
        let mut payload = Map::new();
        let mut set = |key: &str, value: Value| {
            payload.insert(key.to_owned(), value);
        };
        set("intent_id", intent.id().as_str().into());
        set("status", intent.state().as_str().into());
        set("summary", intent.question().summary.as_str().into());
        set("match_code", intent.digest().match_code().into());
        match intent.state() {
            State::Pending => set("expires_at", intent.decide_by().to_string().into()),
            State::Done(done) => set("outcome", done.as_str().into()),
            State::Resolved { ran } => set("ran", ran.into()),
            State::Unknown
            | State::Denied
            | State::Expired
            | State::Cancelled
            | State::Superseded
            | State::Voided => set("message", intent.ending().why.message().into()),
            State::Approved | State::Running => {
                set("message", "A human said yes; the call is about to run or runs now.".into());
            }
        }
        if let Some(decision) = intent.decision() {
            set("assurance", decision.assurance.as_str().into());
        }
        if let Some(stored) = intent.result() {
            let key = match stored.kind {
                ResultKind::Result => "result",
                ResultKind::Error => "error",
            };
            let value = parse_lenient(stored.json.as_bytes(), Limits::SERVER)
                .unwrap_or_else(|_| Value::from(stored.json.as_str()));
            set(key, value);
            if let Err(error) = self.ledger.update(intent.id(), |intent, now| intent.hand_over(now)).await {
                tracing::error!(intent.id = %intent.id(), %error, "a hand-over could not be written: {error}");
            }
        }
        Reply::tool_result(payload, IsError::No)
    }
}
