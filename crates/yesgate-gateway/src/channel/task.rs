//! A call that waits for its human as a task, where the client declared that it can deal with those (SEP-2663).
//!
//! The task is the question: it has the question's id, its state is read from the ledger, and whoever knows the id
//! without being the caller finds nothing.
//! - INVARIANT: a client is told of a task when its question is durable, and only if it declared tasks with that
//!   very request.
//! - INVARIANT: asking after a task, and withdrawing it, runs nothing. Only an answer to what it asks can.

use std::sync::Arc;

use http::HeaderMap;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;
use yesgate_core::id::IntentId;
use yesgate_core::intent::{DoneKind, Intent, State};
use yesgate_core::policy::{Belief, HostWay};

use crate::base::Base;
use crate::bridge;
use crate::cancel::Cancel;
use crate::era::Era;
use crate::errand::{Errand, Person};
use crate::front::message::Malformed;
use crate::gate::Gate;
use crate::gate::asking::{Held, to_its_end};
use crate::hearing::Hearing;
use crate::job::{Begun, EXTENSION, Job};
use crate::raw::{RawObject, bytes, raw};
use crate::reply::{Own, Reply};
use crate::talk::{Party, Talk};
use crate::upstream::{Execution, Outgoing, Upstream};

/// A call that may become a task.
#[derive(Debug)]
pub(crate) struct Prospect {
    errand: Errand,
    job: Arc<Job>,
    created: oneshot::Receiver<Box<Intent>>,
}

/// A client's request about a task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TaskRequest<'a> {
    /// `tasks/get`, `tasks/update` or `tasks/cancel`.
    pub(crate) method: &'a str,
    /// Its parameters.
    pub(crate) params: &'a RawObject,
    /// Who makes it.
    pub(crate) party: &'a Party,
    /// Where our pages are, as far as that is known.
    pub(crate) base: Option<&'a Base>,
    /// The way to the server, which may have made a task of its own of what was approved.
    pub(crate) way: Option<&'a Upstream>,
}

impl TaskRequest<'_> {
    /// The id that a request names, if it can be one of ours.
    pub(crate) fn id(params: &RawObject) -> Option<IntentId> {
        params.text("taskId")?.parse().ok()
    }
}

impl Gate {
    /// The errand as one that goes on without the client's request; `None`: the client has to wait.
    pub(crate) fn as_task(&self, errand: &Errand) -> Option<Prospect> {
        let person = errand.person.as_ref().filter(|person| person.party.has_extension(EXTENSION))?;
        match self.belief(HostWay::Task, &person.party) {
            Belief::Sworn | Belief::Usual => {}
            Belief::None => return None,
        }
        let (job, created) = Job::new(Arc::clone(&person.party), Arc::clone(&self.entropy));
        let talk: Arc<dyn Talk> = Arc::clone(&job) as _;
        let errand = Errand {
            hearing: errand.hearing.after(&talk),
            cancel: job.cancel.clone(),
            person: Some(Person { talk, ..person.clone() }),
            job: Some(Arc::clone(&job)),
            ..errand.clone()
        };
        Some(Prospect { errand, job, created })
    }

    /// Asks for a yes. As soon as the question is open the client is let go with a task.
    pub(crate) async fn ask_as_task(self: Arc<Self>, held: Held, task: Prospect, request: Cancel) -> Reply {
        let Prospect { errand, job, created } = task;
        let base = self.pages_for(&errand);
        let asking = async move {
            let asking = self.ask_every_way(held, &errand);
            tokio::pin!(asking);
            let reply = tokio::select! {
                biased;
                reply = &mut asking => reply,
                () = job.withdrawn_with(&request) => {
                    job.cancel.fire();
                    asking.await
                }
            };
            self.jobs.end(&job, &reply);
            reply
        };
        tokio::select! {
            biased;
            Ok(intent) = created => Own::Task(described(&intent, base.as_ref())).into(),
            reply = to_its_end(asking) => reply,
        }
    }

    /// Lets the client of an open question go with a task. An answer means that an earlier call is the task already.
    pub(crate) fn begin_task(&self, intent: &Intent, errand: &Errand) -> Option<Reply> {
        let job = errand.job.as_ref()?;
        match self.jobs.begin(intent.id(), job) {
            Begun::Now => {
                job.created(intent);
                None
            }
            Begun::Before => Some(Own::Task(described(intent, self.pages_for(errand).as_ref())).into()),
        }
    }

    /// Answers a request about a task; `None`: it is none of this caller's here.
    pub(crate) async fn task(&self, request: TaskRequest<'_>) -> Option<Reply> {
        let id = TaskRequest::id(request.params)?;
        let caller = request.party.known_as(self.setting.naming);
        let intent = match self.present(&id).await {
            // Naming a task proves nothing: it must be this caller's own.
            Ok(Some(intent)) if intent.question().binding.caller == caller && self.serves(&intent) => intent,
            Ok(Some(_) | None) => return None,
            Err(error) => return Some(Reply::error(-32603, error.public_reason(), None)),
        };
        if !request.party.has_extension(EXTENSION) {
            return Some(undeclared());
        }
        if let Some(theirs) = self.task_of_server(&intent) {
            return Some(follow(request, &id, &theirs).await);
        }
        Some(match request.method {
            "tasks/get" => self.task_now(&id, &intent, request.base).await,
            "tasks/update" => self.task_answered(&id, request.params.get("inputResponses")),
            "tasks/cancel" => {
                match self.jobs.live(&id) {
                    Some(job) => job.cancel.fire(),
                    None => self.withdraw(intent.id()).await,
                }
                done()
            }
            _ => return None,
        })
    }

    fn task_answered(&self, id: &IntentId, responses: Option<&RawValue>) -> Reply {
        match self.jobs.live(id).map(|job| job.answered(responses)) {
            // What is not asked any more needs no answer.
            Some(Ok(())) | None => done(),
            Some(Err(Malformed(words))) => Reply::error(-32602, &words, None),
        }
    }

    /// Where a task stands, in the words of `tasks/get`.
    async fn task_now(&self, id: &IntentId, intent: &Intent, base: Option<&Base>) -> Reply {
        let mut task = described(intent, base);
        if intent.state().is_over() {
            // What it says of itself is its result.
            task.remove("statusMessage");
        }
        task.insert("resultType".into(), "complete".into());
        task.insert("taskId".into(), id.as_str().into());
        if let Some(job) = self.jobs.live(id) {
            return match job.asks() {
                Some(requests) => with(task, "input_required", Some(("inputRequests", requests))),
                None => with(task, "working", None),
            };
        }
        let reply = match self.jobs.over(id) {
            Some(own) => own.into(),
            None => match intent.state() {
                State::Pending | State::Approved | State::Running => return with(task, "working", None),
                State::Cancelled => return with(task, "cancelled", None),
                State::Done(DoneKind::Ok | DoneKind::ToolError) => match intent.result() {
                    Some(stored) => {
                        self.note_fetched(intent).await;
                        Reply::stored(stored.clone())
                    }
                    None => self.still_open(intent.id()).await,
                },
                State::Done(DoneKind::NotSent)
                | State::Unknown
                | State::Resolved { .. }
                | State::Denied
                | State::Expired
                | State::Superseded
                | State::Voided => self.still_open(intent.id()).await,
            },
        };
        match reply.in_era(Era::Modern) {
            Reply::Result(json) => {
                with(task, "completed", Some(("result", text(&bridge::complete("tools/call", &json)))))
            }
            Reply::Error(json) => with(task, "failed", Some(("error", text(&json)))),
            Reply::Relayed | Reply::Own(_) | Reply::Silent => with(task, "working", None),
        }
    }

    async fn note_fetched(&self, intent: &Intent) {
        if !intent.handed_over()
            && let Err(error) = self.ledger.update(intent.id(), |intent, now| intent.hand_over(now)).await
        {
            tracing::error!(intent.id = %intent.id(), %error, "a hand-over could not be written: {error}");
        }
    }

    /// The server's own id, where what was approved became a task there.
    fn task_of_server(&self, intent: &Intent) -> Option<String> {
        let stored = intent.result()?;
        let result = RawObject::parse(&RawValue::from_string(stored.json.clone()).ok()?)?;
        let is_task = result.text("resultType").as_deref() == Some("task");
        result.text("taskId").filter(|_| is_task)
    }
}

/// Passes a request on about what became a task at the server; the client knows it under our id.
async fn follow(request: TaskRequest<'_>, ours: &IntentId, theirs: &str) -> Reply {
    let Some(way) = request.way else {
        return Reply::error(-32603, "The server that has the task cannot be reached now.", None);
    };
    let mut params = request.params.clone();
    params.set("taskId", raw(json!(theirs).to_string()));
    let params = bytes(params.to_raw());
    let outgoing = Outgoing {
        method: request.method,
        params: &params,
        name: Some(theirs),
        mirrored: &HeaderMap::default(),
    };
    match way.pass(outgoing, &Hearing::deaf(), &Cancel::new()).await {
        Execution::Answered(answer) => match answer.result() {
            Some(mut result) if result.get("taskId").is_some() => {
                result.set("taskId", raw(json!(ours.as_str()).to_string()));
                Reply::Result(bytes(result.to_raw()))
            }
            Some(_) | None => Reply::answer(answer),
        },
        Execution::NotSent(_)
        | Execution::TurnedAway(_)
        | Execution::TooLong
        | Execution::Lost(_)
        | Execution::Relayed => Reply::error(-32603, "The server that has the task did not answer.", None),
    }
}

/// A task that goes on.
fn described(intent: &Intent, base: Option<&Base>) -> Map<String, Value> {
    let question = intent.question();
    let changed = intent.decision().map_or(intent.opened_at(), |decision| decision.at);
    let told = if intent.state().is_under_way() {
        "A human said yes; the call runs.".to_owned()
    } else {
        let place = base.map(|base| format!(" at {}", base.approval(intent.id()))).unwrap_or_default();
        let code = intent.digest().match_code();
        format!("Waiting for a human's yes{place} (code {code}): {}", question.summary)
    };
    [
        ("resultType", json!("task")),
        ("taskId", json!(intent.id().as_str())),
        ("status", json!("working")),
        ("statusMessage", json!(told)),
        ("createdAt", json!(intent.opened_at().to_string())),
        ("lastUpdatedAt", json!(changed.to_string())),
        // The ledger keeps it.
        ("ttlMs", Value::Null),
        ("pollIntervalMs", json!(POLL_MS)),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into_iter()
    .collect()
}

fn with(mut task: Map<String, Value>, status: &str, more: Option<(&str, Box<RawValue>)>) -> Reply {
    task.insert("status".into(), status.into());
    let mut fields = RawObject::default();
    for (key, value) in &task {
        fields.set(key, raw(value.to_string()));
    }
    if let Some((key, value)) = more {
        fields.set(key, value);
    }
    Reply::Result(bytes(fields.to_raw()))
}

fn text(json: &[u8]) -> Box<RawValue> {
    raw(String::from_utf8_lossy(json).into_owned())
}

fn done() -> Reply {
    Reply::Result(r#"{"resultType":"complete"}"#.into())
}

/// The answer to a client that asks after tasks and did not declare them.
pub(crate) fn undeclared() -> Reply {
    let needed = json!({"requiredCapabilities": {"extensions": {EXTENSION: {}}}});
    Reply::error(-32021, "Missing required client capability", Some(needed))
}

/// Says of an endpoint that it has tasks. Where it has them already, it stays as it is. Clients that have none, or tell
/// only with a call, hear it too.
pub(crate) fn add_tasks(hello: &mut RawObject) {
    let mut capabilities = hello.get("capabilities").and_then(RawObject::parse).unwrap_or_default();
    let mut extensions = capabilities.get("extensions").and_then(RawObject::parse).unwrap_or_default();
    if extensions.get(EXTENSION).is_none() {
        extensions.set(EXTENSION, raw("{}".into()));
        capabilities.set("extensions", extensions.to_raw());
        hello.set("capabilities", capabilities.to_raw());
    }
}

/// How often a client should look: a form that waits is to be seen soon.
const POLL_MS: u64 = 1000;
