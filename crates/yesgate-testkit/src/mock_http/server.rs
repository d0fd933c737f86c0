//! What the mock over HTTP knows, and what it makes of a request: strictly by the rules of its eras.
//!
//! A request of the modern era must carry its mirrored headers, one of the old era a session that is open.
//! Whoever gets this wrong is told so, as a real server would.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot, watch};

use super::MockEras;
use super::arrived::{Arrived, End};
use super::behaviour::{Misbehaviour, Order};
use super::catalogue::{self, Resources};
use super::headers;
use super::plan::{Plan, error_text, result_text};
use super::socket::Request;
use crate::mock_server::flags::Flags;
use crate::mock_server::notes::Notes;
use crate::mock_server::protocol::{Era, LEGACY_VERSION, MODERN_VERSION, PROTOCOL_VERSION, RpcError};

/// A mock server's inside.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) eras: MockEras,
    /// What the tools say of themselves.
    pub(super) flags: Flags,
    pub(super) resources: Resources,
    /// Whether the tool `slow` may answer.
    pub(super) gate: watch::Sender<bool>,
    state: Mutex<State>,
}

/// What changes in the life of a server.
#[derive(Debug)]
pub(super) struct State {
    pub(super) arrived: Vec<Arrived>,
    pub(super) connections: u64,
    pub(super) orders: Vec<Order>,
    /// Results, word for word, by the tool that answers with them.
    pub(super) canned: BTreeMap<String, String>,
    pub(super) notes: Notes,
    /// How many complete lists of tools were begun.
    pub(super) lists: u64,
    /// The sessions, and whether each is open.
    sessions: BTreeMap<String, bool>,
    greeted: u64,
    /// The questions to clients that wait for an answer, by their ids.
    pub(super) asked: HashMap<String, oneshot::Sender<Value>>,
    pub(super) listeners: Vec<Listener>,
    /// Answers that wait to be fetched, by the event after which they come.
    pub(super) polls: BTreeMap<String, String>,
}

/// Somebody who listens to what happens outside of any request.
#[derive(Debug)]
pub(super) struct Listener {
    pub(super) subscription: Option<Subscription>,
    pub(super) sender: mpsc::UnboundedSender<String>,
}

/// A modern subscription: its id, and what it wants to hear.
#[derive(Debug)]
pub(super) struct Subscription {
    pub(super) id: Value,
    pub(super) wants: Value,
}

impl Server {
    pub(super) fn new(eras: MockEras, flags: Flags, resources: Resources) -> Self {
        let state = State {
            arrived: Vec::new(),
            connections: 0,
            orders: Vec::new(),
            canned: BTreeMap::new(),
            notes: Notes::new(),
            lists: 0,
            sessions: BTreeMap::new(),
            greeted: 0,
            asked: HashMap::new(),
            listeners: Vec::new(),
            polls: BTreeMap::new(),
        };
        Self { eras, flags, resources, gate: watch::Sender::new(true), state: Mutex::new(state) }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a request, and says how it is to be answered.
    pub(super) fn receive(&self, connection: u64, request: Request) -> (u64, Plan, Option<Misbehaviour>) {
        let arrived = {
            let mut state = self.state();
            let number = state.arrived.len() as u64 + 1;
            let arrived = Arrived::new(number, connection, request);
            // INVARIANT: kept before anything is done about it.
            state.arrived.push(arrived.clone());
            arrived
        };
        let message = arrived.message().unwrap_or_default();
        let method = message["method"].as_str().unwrap_or_default();
        let tool = message["params"]["name"].as_str().unwrap_or_default();
        let how = {
            let mut state = self.state();
            state.orders.iter_mut().find_map(|order| order.applies(&arrived.method, method, tool))
        };
        if how == Some(Misbehaviour::ForgetSession) {
            self.forget_sessions();
        }
        let plan = match arrived.method.as_str() {
            _ if arrived.target != super::PATH => Plan::status(404),
            "POST" => self.post(&arrived, &message),
            "GET" => self.open_stream(&arrived),
            "DELETE" => self.end_session(&arrived),
            _ => Plan::status(405),
        };
        (arrived.number, plan, how)
    }

    /// Notes how a request ended.
    pub(super) fn ended(&self, number: u64, end: End) {
        let mut state = self.state();
        let place = number.checked_sub(1).and_then(|place| usize::try_from(place).ok());
        if let Some(arrived) = place.and_then(|place| state.arrived.get_mut(place)) {
            arrived.end = end;
        }
    }

    pub(super) fn forget_sessions(&self) {
        let mut state = self.state();
        state.sessions.clear();
        state.listeners.retain(|listener| listener.subscription.is_some());
    }

    fn post(&self, arrived: &Arrived, message: &Value) -> Plan {
        let accept = arrived.header("accept").unwrap_or_default();
        if !accept.contains("application/json") || !accept.contains("text/event-stream") {
            return Plan::status(406);
        }
        if !arrived.header("content-type").is_some_and(|kind| kind.starts_with("application/json")) {
            return Plan::status(415);
        }
        if !message.is_object() {
            return Plan::error(400, &Value::Null, &RpcError::new(-32700, "not one JSON object"));
        }
        let is_modern = arrived.header("mcp-protocol-version") == Some(MODERN_VERSION)
            || message["params"]["_meta"].get(PROTOCOL_VERSION).is_some();
        match (is_modern, self.eras) {
            (true, MockEras::Legacy) => {
                let words =
                    format!("Bad Request: Unsupported protocol version (supported: {LEGACY_VERSION})");
                Plan::error(400, &Value::Null, &RpcError::new(-32000, words))
            }
            (true, MockEras::Modern | MockEras::Both) => self.modern(arrived, message),
            (false, MockEras::Modern) => {
                let data = json!({"supported": [MODERN_VERSION], "requested": LEGACY_VERSION});
                let error = RpcError::new(-32022, "unsupported protocol version").with(data);
                Plan::error(400, &message["id"], &error)
            }
            (false, MockEras::Legacy | MockEras::Both) => self.legacy(arrived, message),
        }
    }

    fn modern(&self, arrived: &Arrived, message: &Value) -> Plan {
        let id = &message["id"];
        let (Some(method), false) = (message["method"].as_str(), id.is_null()) else {
            return if message["method"].is_string() { Plan::status(202) } else { Plan::status(400) };
        };
        if let Err(error) = headers::mirror(arrived, method, &message["params"]) {
            return Plan::error(400, id, &error);
        }
        match Era::of(&message["params"]) {
            Ok(Era::Modern) => {}
            Ok(Era::Legacy) => {
                let error = RpcError::new(-32602, format!("`_meta` lacks `{PROTOCOL_VERSION}`"));
                return Plan::error(400, id, &error);
            }
            Err(error) => return Plan::error(400, id, &error),
        }
        match method {
            "subscriptions/listen" => self.subscribe(id, &message["params"]),
            "server/discover" => {
                Plan::whole(result_text(id, &Era::Modern.complete_list(catalogue::discovered())))
            }
            _ => self.answer(arrived, Era::Modern, method, id, &message["params"]),
        }
    }

    fn legacy(&self, arrived: &Arrived, message: &Value) -> Plan {
        let id = &message["id"];
        let method = message["method"].as_str();
        if method == Some("initialize") {
            return self.greet(id);
        }
        let session = match self.session_of(arrived) {
            Ok(session) => session,
            Err(refused) => return refused,
        };
        match (method, id.is_null()) {
            (Some("notifications/initialized"), true) => {
                self.state().sessions.insert(session, true);
                Plan::status(202)
            }
            (Some(_), true) | (None, true) => Plan::status(202),
            (None, false) => {
                self.answered(id, message);
                Plan::status(202)
            }
            (Some("ping"), false) => Plan::whole(result_text(id, &json!({}))),
            (Some(method), false) => {
                let is_open = self.state().sessions.get(&session).copied().unwrap_or_default();
                if !is_open {
                    let error = RpcError::new(-32600, "the session is not initialized");
                    return Plan::whole(error_text(id, &error));
                }
                self.answer(arrived, Era::Legacy, method, id, &message["params"])
            }
        }
    }

    fn greet(&self, id: &Value) -> Plan {
        let mut state = self.state();
        state.greeted += 1;
        let session = format!("mock-session-{}", state.greeted);
        state.sessions.insert(session.clone(), false);
        Plan::Whole {
            status: 200,
            headers: vec![
                ("Content-Type".into(), "application/json".into()),
                ("Mcp-Session-Id".into(), session),
            ],
            body: result_text(id, &catalogue::initialized()),
        }
    }

    /// The session that a request of the old era names, or how it is refused.
    fn session_of(&self, arrived: &Arrived) -> Result<String, Plan> {
        let Some(session) = arrived.header("mcp-session-id") else {
            let error = RpcError::new(-32000, "Bad Request: Mcp-Session-Id header is required");
            return Err(Plan::error(400, &Value::Null, &error));
        };
        if !self.state().sessions.contains_key(session) {
            return Err(Plan::error(404, &Value::Null, &RpcError::new(-32001, "Session not found")));
        }
        Ok(session.to_owned())
    }

    /// The stream on which a session hears what belongs to no request, or the rest of a broken one.
    fn open_stream(&self, arrived: &Arrived) -> Plan {
        if self.eras == MockEras::Modern || arrived.header("mcp-protocol-version") == Some(MODERN_VERSION) {
            return Plan::status(405);
        }
        if let Err(refused) = self.session_of(arrived) {
            return refused;
        }
        let (sender, rest) = mpsc::unbounded_channel();
        let mut state = self.state();
        if let Some(last) = arrived.header("last-event-id") {
            let first: Vec<String> = state.polls.remove(last).into_iter().collect();
            return if first.is_empty() { Plan::status(404) } else { Plan::Stream { first, rest } };
        }
        state.listeners.push(Listener { subscription: None, sender });
        Plan::Stream { first: Vec::new(), rest }
    }

    fn end_session(&self, arrived: &Arrived) -> Plan {
        match self.session_of(arrived) {
            Ok(session) => {
                self.state().sessions.remove(&session);
                Plan::status(204)
            }
            Err(refused) => refused,
        }
    }

    /// Takes the client's answer to a question of ours.
    fn answered(&self, id: &Value, answer: &Value) {
        if let Some(waiting) = id.as_str().and_then(|id| self.state().asked.remove(id)) {
            let words = answer.get("result").or_else(|| answer.get("error")).cloned().unwrap_or_default();
            // A call whose client left waits no more.
            waiting.send(words).ok();
        }
    }
}
