//! One client on a lane, and what it does with a call.

use std::ops::Deref;
use std::sync::Arc;

use serde_json::{Value, json};

use super::client::{Awaited, Client, Sent};
use super::human::Answers;
use super::{LaneEra, Play, promise};
use crate::serve_stage::Gateway;

/// One client. What it shares with others of the same play can be called on it too.
#[derive(Debug)]
pub struct Player {
    play: Arc<Play>,
    name: String,
    capabilities: Value,
    client: Option<Client>,
    /// How calls of each tool were answered.
    answered: Vec<(Value, Value)>,
}

/// A call that has not been answered yet.
#[derive(Debug)]
pub struct Pending {
    params: Value,
    sent: Sent,
}

/// How a call ended, and what the human was asked on the way.
#[derive(Clone, Debug)]
pub struct Told {
    /// The last message: the answer; of a modern client whose human hangs, the request for input.
    pub answer: Value,
    /// The parameters of every `elicitation/create`, in order.
    pub asked: Vec<Value>,
    /// How often a modern client came back.
    pub rounds: usize,
}

impl Player {
    #[track_caller]
    pub(super) fn enter(play: Arc<Play>, name: &str, capabilities: Value) -> Self {
        let era = play.lane.era();
        let client = match &play.web {
            Some(web) => {
                let host = web.host().named(name).capable(capabilities.clone());
                Client::over_http(host, era, &play.greeting, web.runtime.handle().clone())
            }
            None => {
                let host = play.wrap().named(name).capable(capabilities.clone());
                Client::over_pipe(host, era, &play.greeting)
            }
        };
        Self { play, name: name.into(), capabilities, client: Some(client), answered: Vec::new() }
    }

    /// Another client of the same play.
    #[track_caller]
    pub fn another(&self, name: &str, capabilities: Value) -> Self {
        Self::enter(Arc::clone(&self.play), name, capabilities)
    }

    /// What all clients share, for whoever acts beside this one.
    pub fn play(&self) -> Arc<Play> {
        Arc::clone(&self.play)
    }

    /// Goes, has the gateway started anew, and comes back under the same name. Other clients are cut off.
    #[track_caller]
    pub fn restart(&mut self) {
        self.leave();
        if let Some(web) = &self.play.web {
            web.close();
            *web.gateway() = Some(self.play.stage.start());
        }
        let back = Self::enter(Arc::clone(&self.play), &self.name, self.capabilities.clone());
        self.client = back.client;
    }

    /// Calls a tool, and waits for the answer. A modern client that is asked for input has that as its answer.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let pending = self.begin(tool, arguments);
        self.answer(pending)
    }

    /// Calls a tool with further parameters, such as `requestState`, and waits for the answer.
    #[track_caller]
    pub fn call_with(&mut self, tool: &str, arguments: Value, further: &Value) -> Value {
        let pending = self.begin_with(tool, arguments, further);
        self.answer(pending)
    }

    /// The same without waiting.
    pub fn begin_with(&mut self, tool: &str, arguments: Value, further: &Value) -> Pending {
        self.send(with(&json!({"name": tool, "arguments": arguments}), further))
    }

    /// Calls a tool; [`Self::answer`] waits for the answer.
    pub fn begin(&mut self, tool: &str, arguments: Value) -> Pending {
        self.send(json!({"name": tool, "arguments": arguments}))
    }

    /// Waits for the answer to a call.
    ///
    /// # Panics
    /// When it does not come in time. A form that comes meanwhile is left where it is.
    #[track_caller]
    pub fn answer(&mut self, pending: Pending) -> Value {
        self.next(&pending, Awaited::Answer)
    }

    /// Makes any other request, and waits for the answer.
    #[track_caller]
    pub fn request(&mut self, method: &'static str, params: Value) -> Value {
        let sent = self.client().request(method, params.clone());
        self.next(&Pending { params, sent }, Awaited::Answer)
    }

    /// Gives a call up: by a notification, or by going away where that is how it is done.
    pub fn cancel(&mut self, pending: &Pending) {
        let era = self.era();
        self.client().cancel(&pending.sent, era);
    }

    /// Calls a tool, has the human answer all that is asked, and goes on to the end.
    ///
    /// # Panics
    /// When the answer does not come in time, or there is no end to the rounds.
    #[track_caller]
    pub fn call_answering(&mut self, tool: &str, arguments: Value, human: impl Answers) -> Told {
        let pending = self.begin(tool, arguments);
        self.go_on(pending, human)
    }

    /// The same for a call that has begun.
    ///
    /// # Panics
    /// When the answer does not come in time, or there is no end to the rounds.
    #[track_caller]
    pub fn go_on(&mut self, mut pending: Pending, mut human: impl Answers) -> Told {
        let (mut asked, mut rounds) = (Vec::new(), 0);
        for _ in 0..MOST_MESSAGES {
            let message = self.next(&pending, Awaited::Anything);
            let is_input = message.pointer("/result/resultType") == Some(&json!("input_required"));
            if message.get("method").is_some() {
                asked.push(message["params"].clone());
                if let Some(result) = human.answer(&message["params"]) {
                    self.client().respond(&message, result);
                }
            } else if is_input {
                let Some(further) = answers(&message["result"], &mut human, &mut asked) else {
                    return Told { answer: message, asked, rounds };
                };
                rounds += 1;
                pending = self.send(with(&pending.params, &further));
            } else {
                return Told { answer: message, asked, rounds };
            }
        }
        panic!("there is no end to it: {asked:#?}")
    }

    /// All tools that the gateway offers.
    #[track_caller]
    pub fn list_tools(&mut self) -> Vec<Value> {
        self.client().list_tools()
    }

    /// Everything that the agent heard: all messages, without what a client shows to its human only.
    pub fn heard_by_agent(&self) -> String {
        let mut messages = self.client.as_ref().map(Client::heard).unwrap_or_default();
        for message in &mut messages {
            if message["method"] == "elicitation/create" {
                message["params"] = Value::Null;
            }
            let requests = message.pointer_mut("/result/inputRequests").and_then(Value::as_object_mut);
            for request in requests.into_iter().flat_map(|requests| requests.values_mut()) {
                request["params"] = Value::Null;
            }
        }
        Value::from(messages).to_string()
    }

    /// What the gateway wrote to stderr so far.
    pub fn stderr(&self) -> String {
        match (&self.play.web, &self.client) {
            (Some(web), _) => web.gateway().as_ref().map(Gateway::stderr).unwrap_or_default(),
            (None, client) => client.as_ref().map(Client::stderr).unwrap_or_default(),
        }
    }

    /// Goes away.
    #[track_caller]
    pub fn leave(&mut self) {
        let era = self.era();
        if let Some(mut client) = self.client.take() {
            let tools = if self.answered.is_empty() { Vec::new() } else { client.list_tools() };
            for (name, answer) in self.answered.drain(..) {
                tools
                    .iter()
                    .filter(|tool| tool["name"] == name)
                    .for_each(|tool| promise::check(tool, &answer));
            }
            client.close(era);
        }
    }

    /// Ends the play, and compares the server's log with the ledger: so many calls ran after a yes.
    ///
    /// # Panics
    /// When something does not end well, or the two do not fit.
    #[track_caller]
    pub fn finish(mut self, gated: usize) {
        self.leave();
        if let Some(web) = &self.play.web {
            web.close();
        }
        self.play.check_history(gated);
    }

    fn era(&self) -> LaneEra {
        self.play.lane.era()
    }

    fn send(&mut self, params: Value) -> Pending {
        let sent = self.client().request("tools/call", params.clone());
        Pending { params, sent }
    }

    #[track_caller]
    fn next(&mut self, pending: &Pending, awaited: Awaited) -> Value {
        match self.client().next(&pending.sent, awaited) {
            Some(message) => {
                if let Some(tool) = pending.params.get("name") {
                    self.answered.push((tool.clone(), message.clone()));
                }
                message
            }
            None => panic!("never: what comes of {}", pending.params),
        }
    }

    #[track_caller]
    fn client(&mut self) -> &mut Client {
        self.client.as_mut().expect("a client that left does nothing")
    }
}

impl Deref for Player {
    type Target = Play;

    fn deref(&self) -> &Play {
        &self.play
    }
}

/// What a modern client comes back with; `None`: its human never answers.
fn answers(asking: &Value, human: &mut impl Answers, asked: &mut Vec<Value>) -> Option<Value> {
    let mut further = json!({});
    if let Some(state) = asking.get("requestState") {
        further["requestState"] = state.clone();
    }
    for (key, request) in asking["inputRequests"].as_object().into_iter().flatten() {
        assert_eq!(request["method"], "elicitation/create", "{asking:#}");
        asked.push(request["params"].clone());
        further["inputResponses"][key] = human.answer(&request["params"])?;
    }
    Some(further)
}

/// The parameters of a call, and some more.
fn with(params: &Value, further: &Value) -> Value {
    let mut params = params.clone();
    for (key, value) in further.as_object().into_iter().flatten() {
        params[key] = value.clone();
    }
    params
}

/// More than any test needs.
const MOST_MESSAGES: usize = 32;
