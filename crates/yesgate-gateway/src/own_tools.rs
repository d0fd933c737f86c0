//! The gateway's own tools: completing, rejecting and looking up a held call (I3).

use std::sync::Arc;

use serde_json::{Map, Value, json};
use yesgate_core::call::CallRequest;
use yesgate_core::caller::Caller;
use yesgate_core::id::{IntentId, ServerName};
use yesgate_core::intent::{Approver, Intent, ResultKind, State};
use yesgate_core::json::{Limits, parse_lenient};
use yesgate_core::mode::Mode;
use yesgate_core::policy::{OwnNames, Policy};
use yesgate_core::refusal::Why;
use yesgate_core::verdict::Quorum;

use crate::errand::Errand;
use crate::gate::Gate;
use crate::gate::asking::to_its_end;
use crate::reply::{Own, Reply};

/// A tool that the gateway itself answers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum OwnTool {
    /// Runs a held call after the user agreed in the conversation.
    Approve,
    /// Takes a held call back.
    Reject,
    /// Looks a held call up.
    Status,
    /// Sets how far the caller may go (M2).
    SetMode,
}

impl OwnTool {
    const ALL: [Self; 4] = [Self::Approve, Self::Reject, Self::Status, Self::SetMode];

    /// What it is called where nobody chose another name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Approve => "yesgate_approve",
            Self::Reject => "yesgate_reject",
            Self::Status => "yesgate_status",
            Self::SetMode => "yesgate_set_mode",
        }
    }

    fn name_of(self, names: &OwnNames) -> &str {
        match self {
            Self::Approve => &names.approve,
            Self::Reject => &names.reject,
            Self::Status => &names.status,
            Self::SetMode => self.name(),
        }
    }

    /// The own tool of this name at a server, where the policy has questions at all.
    pub(crate) fn named(name: &str, policy: &Policy, server: &ServerName) -> Option<Self> {
        let chosen = policy.chosen_names(server);
        let is = |tool: &Self| tool.name() == name || chosen.is_some_and(|names| tool.name_of(names) == name);
        Self::ALL.into_iter().find(is).filter(|_| policy.asks())
    }

    /// Whether a tool of this name is one of the gateway's own everywhere.
    pub(crate) fn is_one(name: &str) -> bool {
        Self::ALL.into_iter().any(|tool| tool.name() == name)
    }

    /// The own tools that are offered: setting the mode only where callers begin below the highest.
    fn offered(policy: &Policy) -> impl Iterator<Item = Self> {
        let with_modes = policy.mode() < Mode::Execute;
        Self::ALL.into_iter().filter(move |tool| *tool != Self::SetMode || with_modes)
    }

    /// What `tools/list` of an endpoint for all servers says of them.
    pub(crate) fn everywhere(policy: &Policy) -> Vec<Value> {
        Self::offered(policy).map(|tool| tool.definition(&OwnNames::default())).collect()
    }

    /// What `tools/list` of one server says of them.
    pub(crate) fn definitions(policy: &Policy, server: &ServerName) -> Vec<Value> {
        let names = policy.own_names(server);
        Self::offered(policy).map(|tool| tool.definition(&names)).collect()
    }

    /// Those that have a name of their own at a server, for an endpoint with all servers.
    pub(crate) fn chosen(policy: &Policy, server: &ServerName) -> Vec<Value> {
        let Some(names) = policy.chosen_names(server) else { return Vec::new() };
        let renamed = |tool: &Self| tool.name_of(names) != tool.name();
        Self::offered(policy).filter(renamed).map(|tool| tool.definition(names)).collect()
    }

    fn definition(self, names: &OwnNames) -> Value {
        let id = json!({"type": "string", "description": "The intent_id of the held call."});
        let schema = |extra: Value| {
            let mut properties = json!({ "intent_id": id });
            if let (Some(all), Value::Object(extra)) = (properties.as_object_mut(), extra) {
                all.extend(extra);
            }
            json!({"type": "object", "properties": properties, "required": ["intent_id"]})
        };
        let name = self.name_of(names);
        match self {
            Self::Approve => json!({
                "name": name,
                "title": "Run a held call",
                "description": "Runs a held call exactly as it was held, once. Call this only after the \
                    user has seen the summary and said yes in this conversation.",
                "inputSchema": schema(json!({})),
                "annotations": {"readOnlyHint": false, "destructiveHint": true, "idempotentHint": false},
            }),
            Self::Reject => json!({
                "name": name,
                "title": "Take back a held call",
                "description": "Takes a held call back after the user said no. It will not run.",
                "inputSchema": schema(json!({
                    "reason": {"type": "string", "description": "The user's words, if they gave any."}
                })),
                "annotations": {"readOnlyHint": false, "destructiveHint": false, "idempotentHint": true},
            }),
            Self::Status => json!({
                "name": name,
                "title": "Look up a held call",
                "description": "Says where a held call stands, and gives its result once it ran.",
                "inputSchema": schema(json!({})),
                "annotations": {"readOnlyHint": true},
            }),
            Self::SetMode => json!({
                "name": name,
                "title": "Set the mode",
                "description": "Sets how far your calls may go. ask: reads run, writes are explained. plan: \
                    reads run, writes are previewed. execute: writes run, dangerous ones after a human's yes. \
                    Lowering is free; a human is asked before the mode is raised.",
                "inputSchema": {
                    "type": "object",
                    "properties": {
                        "mode": {"type": "string", "enum": ["ask", "plan", "execute"]},
                        "confirm_token": {
                            "type": "string",
                            "description": "Only after the user agreed to raise the mode.",
                        },
                    },
                    "required": ["mode"],
                },
                "annotations": {"readOnlyHint": false, "destructiveHint": false, "idempotentHint": true},
            }),
        }
    }
}

impl Gate {
    /// What the completing tools are called here.
    pub(crate) fn own_names(&self) -> OwnNames {
        self.policy().own_names(&self.server.name)
    }

    /// What the gateway's tools are called for a caller whose call was judged in this mode. A call that lowered
    /// its own mode has nothing to set.
    pub(crate) fn names_in(&self, mode: Mode, caller: &Caller) -> OwnNames {
        let names = self.own_names();
        let is_set = mode >= self.mode_in_force(caller);
        OwnNames { set_mode: names.set_mode.filter(|_| is_set), ..names }
    }

    pub(crate) async fn own_tool(
        self: &Arc<Self>,
        tool: OwnTool,
        errand: &Errand,
        request: &CallRequest,
    ) -> Reply {
        let caller = &errand.caller;
        if tool == OwnTool::SetMode {
            return self.ask_to_set_mode(errand, request).await;
        }
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
            OwnTool::Approve => match self.unscoped_now(errand, &intent).await {
                Some(reply) => reply,
                None => self.approve_held(intent, request, errand).await,
            },
            OwnTool::Reject => self.reject_held(caller, &intent, text("reason").map(str::to_owned)).await,
            OwnTool::Status | OwnTool::SetMode => self.status(intent).await,
        }
    }

    pub(crate) fn serves(&self, intent: &Intent) -> bool {
        let binding = &intent.question().binding;
        binding.server == self.server.name && binding.identity == self.server.identity
    }

    async fn approve_held(self: &Arc<Self>, intent: Intent, request: &CallRequest, errand: &Errand) -> Reply {
        let (gate, request, errand) = (Arc::clone(self), request.clone(), errand.clone());
        to_its_end(async move { gate.run_held(&intent, &request, &errand).await }).await
    }

    async fn run_held(&self, intent: &Intent, request: &CallRequest, errand: &Errand) -> Reply {
        let typed = request.presented.text.clone();
        self.yes_now(intent, Approver::relayed("the agent, with the approve tool", typed), request, errand)
            .await
    }

    async fn reject_held(&self, caller: &Caller, intent: &Intent, reason: Option<String>) -> Reply {
        let tool = &intent.question().binding.tool;
        let by = Approver::relayed(Approver::RELAYED_NO, None);
        match self.ledger.update(intent.id(), move |intent, now| intent.deny(&by, reason, now)).await {
            Ok(Some(Ok(()))) => {
                let mut payload = Map::new();
                payload.insert("status".into(), "denied".into());
                payload.insert("intent_id".into(), intent.id().as_str().into());
                payload.insert("message".into(), "The held call was taken back. Nothing ran.".into());
                Own::Told(payload).into()
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
            State::Pending => {
                let need = intent.question().quorum;
                if need > Quorum::ONE {
                    set("status", "quorum_pending".into());
                    set("quorum", json!({"have": intent.yeses().len(), "need": need.people()}));
                }
                set("expires_at", intent.decide_by().to_string().into());
            }
            State::Done(done) => set("outcome", done.as_str().into()),
            State::Resolved { ran } => set("ran", ran.into()),
            State::Unknown
            | State::Denied
            | State::Expired
            | State::Cancelled
            | State::Superseded
            | State::Voided => {
                let mut ending = intent.ending().payload();
                for key in ["message", "details"] {
                    set(key, ending.remove(key).unwrap_or_default());
                }
            }
            State::Approved | State::Running => {
                set("message", "A human said yes; the call is about to run or runs now.".into());
            }
        }
        if intent.edited().is_some() && intent.purged_at().is_none() {
            set("edited", true.into());
            set("arguments", intent.question().binding.arguments.to_value());
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
        Own::Told(payload).into()
    }
}
