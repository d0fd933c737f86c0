//! The wire of one client: a message goes out, and what belongs to it comes back, on a pipe or over HTTP.

use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use super::{First, Greeting, LaneEra};
use crate::host::Host;
use crate::wait::DEADLINE;
use crate::web_host::WebHost;

/// One client's end of the wire.
#[derive(Debug)]
pub(super) enum Client {
    Pipe(Box<Host>),
    Web(WebClient),
}

#[derive(Debug)]
pub(super) struct WebClient {
    host: Arc<WebHost>,
    runtime: Handle,
    heard: Arc<Mutex<Vec<Value>>>,
}

/// A request that was made.
#[derive(Debug)]
pub(super) struct Sent {
    id: Value,
    /// Over HTTP, what comes for it and what reads that.
    stream: Option<(Receiver<Value>, AbortHandle)>,
}

/// What a client waits for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Awaited {
    /// The answer to its request.
    Answer,
    /// That, or a question on the way to it.
    Anything,
}

impl Client {
    pub(super) fn over_http(mut host: WebHost, era: LaneEra, greeting: &Greeting, runtime: Handle) -> Self {
        match era {
            LaneEra::Legacy => drop(runtime.block_on(host.initialize_as(&greeting.revision))),
            LaneEra::Modern => {}
        }
        Self::Web(WebClient { host: Arc::new(host), runtime, heard: Arc::default() })
    }

    #[track_caller]
    pub(super) fn over_pipe(host: Host, era: LaneEra, greeting: &Greeting) -> Self {
        let mut host = host.revision(&greeting.revision);
        match greeting.first {
            First::ItsEra => {}
            First::Discover => {
                let answer = host.discover_modern();
                assert_eq!(answer["error"]["code"], -32601, "{answer:#}");
            }
        }
        let hello = match era {
            LaneEra::Legacy => host.initialize_legacy(),
            LaneEra::Modern => host.discover_modern(),
        };
        assert!(hello.get("result").is_some(), "no hello: {hello:#}");
        Self::Pipe(Box::new(host))
    }

    pub(super) fn request(&mut self, method: &'static str, params: Value) -> Sent {
        match self {
            Self::Pipe(host) => {
                let params = host.in_era(params);
                Sent { id: host.request_async(method, params).into(), stream: None }
            }
            Self::Web(web) => web.request(method, params),
        }
    }

    /// The next message for a request. `None`: nothing comes.
    pub(super) fn next(&mut self, sent: &Sent, awaited: Awaited) -> Option<Value> {
        match (self, &sent.stream) {
            (Self::Pipe(host), _) => host.recv_where(|message| awaited.is(message, &sent.id), DEADLINE),
            (Self::Web(_), Some((stream, _))) => loop {
                let message = stream.recv_timeout(DEADLINE).ok()?;
                if awaited.is(&message, &sent.id) {
                    return Some(message);
                }
            },
            (Self::Web(_), None) => None,
        }
    }

    /// Answers a question.
    pub(super) fn respond(&mut self, question: &Value, result: Value) {
        match self {
            Self::Pipe(host) => host.respond(question, result),
            // Whether it is still wanted is the gateway's to know.
            Self::Web(web) => drop(web.runtime.block_on(web.host.respond(&question["id"], result))),
        }
    }

    /// Gives a request up, as the era has it.
    pub(super) fn cancel(&mut self, sent: &Sent, era: LaneEra) {
        match (self, era) {
            (Self::Pipe(host), _) => host.cancel(sent.id.clone()),
            (Self::Web(web), LaneEra::Legacy) => {
                let params = json!({"requestId": sent.id, "reason": "the test says so"});
                web.runtime.block_on(web.host.notify("notifications/cancelled", params));
            }
            (Self::Web(_), LaneEra::Modern) => {
                if let Some((_, reader)) = &sent.stream {
                    reader.abort();
                }
            }
        }
    }

    /// All tools.
    pub(super) fn list_tools(&mut self) -> Vec<Value> {
        match self {
            Self::Pipe(host) => host.list_tools(),
            Self::Web(web) => web.runtime.block_on(web.host.list_tools()),
        }
    }

    /// Every message that came so far, but for lists and hellos over HTTP.
    pub(super) fn heard(&self) -> Vec<Value> {
        match self {
            Self::Pipe(host) => {
                let lines = host.all_stdout();
                lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect()
            }
            Self::Web(web) => lock(&web.heard).clone(),
        }
    }

    pub(super) fn stderr(&self) -> String {
        match self {
            Self::Pipe(host) => host.stderr(),
            Self::Web(_) => String::new(),
        }
    }

    /// Goes, as a client does that has enough.
    #[track_caller]
    pub(super) fn close(self, era: LaneEra) {
        match (self, era) {
            (Self::Pipe(mut host), _) => {
                let status = host.close();
                assert!(status.success(), "{status}\n{}", host.stderr());
                host.assert_only_json_rpc();
            }
            (Self::Web(web), LaneEra::Legacy) => drop(web.runtime.block_on(web.host.leave())),
            (Self::Web(_), LaneEra::Modern) => {}
        }
    }
}

impl WebClient {
    fn request(&self, method: &'static str, params: Value) -> Sent {
        let (sender, receiver) = mpsc::channel();
        let (host, heard) = (Arc::clone(&self.host), Arc::clone(&self.heard));
        let id = host.draw_id();
        let request = id.clone();
        let reading = self.runtime.spawn(async move {
            let mut answer = host.draft_as(id, method, params).send().await;
            while let Some(message) = answer.next().await {
                lock(&heard).push(message.clone());
                // Whoever asked may wait no longer; what came is kept all the same.
                sender.send(message).ok();
            }
        });
        Sent { id: request, stream: Some((receiver, reading.abort_handle())) }
    }
}

impl Awaited {
    fn is(self, message: &Value, id: &Value) -> bool {
        match (message.get("method"), self) {
            (Some(_), Self::Answer) => false,
            (Some(method), Self::Anything) => method == "elicitation/create",
            (None, _) => {
                message.get("id") == Some(id) || (message.get("error").is_some() && message["id"].is_null())
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
