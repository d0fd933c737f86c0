//! A stdio MCP server that owns the truth: every line it receives is on disk before it acts on it.
//!
//! It speaks both eras, strictly: in a session nothing but `ping` is answered before
//! `notifications/initialized`, and a modern request without its `_meta` is an error. Its tools:
//!
//! | tool | what it does |
//! |---|---|
//! | `read_note` | reads; says so (`readOnlyHint`) |
//! | `write_note` | writes; says nothing about itself |
//! | `delete_note` | deletes; says so; strict input schema, output schema `{deleted, run}` |
//! | `pay` | pays `amount`, `currency`, `to` |
//! | `delete_everything` | deletes; says that it only reads |
//! | `ask_user` | asks the client (`elicitation/create`, or `input_required`) whether it can elicit or not; `rounds` times |
//! | `slow` | three progress notifications for the `progressToken`; answers when the gate file is there |
//! | `log_and_list_changed` | `notifications/message` and `notifications/tools/list_changed` |
//! | `fail` | `isError: true` |
//! | `rpc_error` | JSON-RPC error 4242 with `data` |
//!
//! Whatever does something says in its text, and `delete_note` in `run`, the how manieth call of its
//! process it was: a second run never looks like the first. Flags (all may be repeated in the file that
//! `--behaviour FILE` names, one word per line, read at each start):
//!
//! `--log FILE` · `--era legacy|modern|both` · `--gate FILE` · `--read-only TOOL` (adds the hint) · `--idempotent TOOL` (the same) ·
//! `--die-on TOOL` (exit code 3, unanswered) · `--die-at-start` · `--hang-on TOOL` · `--stop-reading-after N` ·
//! `--garbage` · `--answer-twice` (differently) · `--answer-wrong-id` (before the right answer) · `--huge TOOL`
//! (6 MiB) · `--echo TOOL` (its arguments as `structuredContent`, byte for byte) · `--task-on TOOL` (a task, where
//! the client has those: under way at the first look, done at the second) · `--rug-pull-after N` · `--rug-pull-also TOOL` · `--grow-after N` (`peek_note`) · `--deploy` (`deploy`, which previews itself with
//! `dry_run`) · `--pages N` (the first cursor is the empty string) · `--silent-discover` · `--slow-start-ms N`.

pub(crate) mod flags;
pub(crate) mod notes;
pub(crate) mod protocol;
mod tasks;
pub(crate) mod tools;
mod wire;

use std::collections::HashMap;
use std::io::BufRead as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use self::flags::Flags;
use self::notes::Notes;
use self::protocol::{Era, RpcError, discovered, initialized, object, of_subscription};
use self::tasks::Tasks;
use self::wire::{Answer, Wire};
use crate::upstream_log::Writer;
use crate::wait::pause;

/// Serves stdin until it ends.
pub fn main() -> ExitCode {
    let flags = match Flags::parse(std::env::args().skip(1)) {
        Ok(flags) => flags,
        Err(problem) => {
            eprintln!("mock-server: {problem}");
            return ExitCode::from(2);
        }
    };
    eprintln!("mock-server: process {} is up", std::process::id());
    if flags.die_at_start {
        return ExitCode::from(DEATH);
    }
    std::thread::sleep(flags.slow_start);
    let mut log = match Writer::open(&flags.log) {
        Ok(log) => log,
        Err(error) => {
            eprintln!("mock-server: the log cannot be opened: {error}");
            return ExitCode::from(2);
        }
    };
    let stop_after = flags.stop_reading_after;
    let mut server = Server::new(flags);
    let mut lines = 0;
    let mut stdin = std::io::stdin().lock();
    loop {
        if stop_after == Some(lines) {
            // Alive, and deaf. Whoever started us ends us; if they cannot, we end some day.
            std::thread::sleep(Duration::from_secs(120));
            return ExitCode::from(4);
        }
        let mut line = Vec::new();
        match stdin.read_until(b'\n', &mut line) {
            Ok(0) => return ExitCode::SUCCESS,
            Ok(_) => {}
            Err(error) => {
                eprintln!("mock-server: stdin cannot be read: {error}");
                return ExitCode::FAILURE;
            }
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        // INVARIANT: written down before anything is done about it.
        if let Err(error) = log.write(&line) {
            eprintln!("mock-server: the log cannot be written: {error}");
            return ExitCode::FAILURE;
        }
        lines += 1;
        server.hear(&line);
    }
}

/// The exit code of a server that was told to die.
const DEATH: u8 = 3;

/// The questions to the client that wait for an answer, by their ids.
type Asked = Arc<Mutex<HashMap<String, Sender<Value>>>>;

struct Server {
    flags: Flags,
    wire: Arc<Wire>,
    session: Session,
    /// How many complete lists of tools were begun.
    lists: u64,
    notes: Notes,
    asked: Asked,
    /// The ids of modern `subscriptions/listen` requests.
    subscriptions: Vec<Value>,
    tasks: Tasks,
}

/// How far a legacy session is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Session {
    None,
    Greeted,
    Open,
}

impl Server {
    fn new(flags: Flags) -> Self {
        Self {
            wire: Arc::new(Wire::new(&flags)),
            flags,
            session: Session::None,
            lists: 0,
            notes: Notes::new(),
            asked: Asked::default(),
            subscriptions: Vec::new(),
            tasks: Tasks::default(),
        }
    }

    fn hear(&mut self, line: &[u8]) {
        let message: Value = match serde_json::from_slice(line) {
            Ok(message) => message,
            Err(error) => {
                return self.wire.answer(&Value::Null, &Err(RpcError::new(-32700, error.to_string())));
            }
        };
        match (message["method"].as_str(), message.get("id")) {
            (Some(method), Some(id)) => self.request(method, id, &message["params"], line),
            (Some("notifications/initialized"), None) if self.session == Session::Greeted => {
                self.session = Session::Open;
            }
            (Some(_), None) => {}
            (None, Some(id)) => self.answered(id, &message),
            (None, None) => self.wire.answer(&Value::Null, &Err(RpcError::new(-32600, "no message"))),
        }
    }

    fn request(&mut self, method: &str, id: &Value, params: &Value, line: &[u8]) {
        let era = match Era::of(params).and_then(|era| self.admit(method, era)) {
            Ok(era) => era,
            Err(error) => return self.wire.answer(id, &Err(error)),
        };
        let answer = match (method, era) {
            ("initialize", Era::Legacy) => {
                self.session = Session::Greeted;
                Ok(initialized(params))
            }
            ("server/discover", Era::Modern) if self.flags.silent_discover => return,
            ("server/discover", Era::Modern) => Ok(era.complete_list(discovered())),
            ("ping" | "logging/setLevel", Era::Legacy) => Ok(json!({})),
            ("subscriptions/listen", Era::Modern) => return self.subscribe(id, params),
            ("prompts/list", _) => Ok(era.complete_list(object(json!({"prompts": []})))),
            ("tools/list", _) => self.list(params, era),
            ("tools/call", _) => return self.call(id, params, era, line),
            ("tasks/get" | "tasks/update" | "tasks/cancel", Era::Modern) => {
                self.tasks.request(method, params)
            }
            (_, _) => Err(RpcError::new(-32601, format!("no such method: {method}"))),
        };
        self.wire.answer(id, &answer);
    }

    /// Whether a request of this era may be made now.
    fn admit(&self, method: &str, era: Era) -> Result<Era, RpcError> {
        match (era, self.flags.only) {
            (Era::Legacy, Some(Era::Modern)) => {
                return Err(RpcError::new(-32602, "a request without a protocol version in `_meta`"));
            }
            // A legacy server does not know what `_meta` would mean.
            (Era::Modern, Some(Era::Legacy)) => return self.admit(method, Era::Legacy),
            (Era::Modern, Some(Era::Modern) | None) => return Ok(era),
            (Era::Legacy, Some(Era::Legacy) | None) => {}
        }
        match (method, self.session) {
            ("initialize" | "ping" | "server/discover", _) | (_, Session::Open) => Ok(era),
            (_, Session::None | Session::Greeted) => {
                Err(RpcError::new(-32600, "the session is not initialized"))
            }
        }
    }

    fn list(&mut self, params: &Value, era: Era) -> Answer {
        let cursor = params["cursor"].as_str();
        let tools = tools::definitions(&self.flags, self.lists);
        if cursor.is_none() {
            self.lists += 1;
        }
        tools::listed(&self.flags, tools, cursor, era)
    }

    fn subscribe(&mut self, id: &Value, params: &Value) {
        self.subscriptions.push(id.clone());
        self.wire.say(&json!({
            "jsonrpc": "2.0",
            "method": "notifications/subscriptions/acknowledged",
            "params": {"_meta": of_subscription(id), "notifications": params["notifications"]},
        }));
    }

    fn call(&mut self, id: &Value, params: &Value, era: Era, line: &[u8]) {
        let tool = params["name"].as_str().unwrap_or_default();
        let is_in = |tools: &[String]| tools.iter().any(|name| name == tool);
        if is_in(&self.flags.die_on) {
            std::process::exit(DEATH.into());
        }
        if is_in(&self.flags.hang_on) {
            return;
        }
        let run = self.notes.count();
        if is_in(&self.flags.echo) {
            return self.wire.say_raw(notes::echo(line, era, id));
        }
        let answer = match tool {
            _ if is_in(&self.flags.huge) => notes::done(era, &"x".repeat(6 << 20)),
            "ask_user" => return self.ask_user(id, params, era, run),
            "slow" => return self.slow(id, params, era, run),
            "log_and_list_changed" => {
                self.announce(params, era);
                notes::done(era, &format!("run {run}: announced"))
            }
            other => self
                .notes
                .run(other, &params["arguments"], era)
                .unwrap_or_else(|| Err(RpcError::new(-32602, format!("unknown tool: {other}")))),
        };
        let becomes_task = is_in(&self.flags.task_on) && Tasks::are_known_to(params, era);
        let answer = if becomes_task { self.tasks.begin(run, answer) } else { answer };
        self.wire.answer_call(id, &answer);
    }

    /// Asks the client in the way of the era, once or as often as `rounds` says, and answers with what it said last.
    fn ask_user(&self, id: &Value, params: &Value, era: Era, run: u64) {
        let arguments = &params["arguments"];
        let question = json!({
            "mode": "form",
            "message": arguments["question"].as_str().unwrap_or("What do you say?"),
            "requestedSchema": {"type": "object", "properties": {"words": {"type": "string"}}},
        });
        let rounds = arguments["rounds"].as_u64().unwrap_or(1);
        match era {
            Era::Modern => {
                let answer = match next_round(params, rounds) {
                    None => {
                        let text = params["inputResponses"]["answer"].to_string();
                        object(json!({"content": [{"type": "text", "text": text}]}))
                    }
                    Some(state) => {
                        let ask = json!({"answer": {"method": "elicitation/create", "params": question}});
                        let mut asking =
                            object(json!({"resultType": "input_required", "inputRequests": ask}));
                        asking.extend(state.map(|state| ("requestState".to_owned(), state)));
                        asking
                    }
                };
                self.wire.answer_call(id, &Ok(era.complete(answer)));
            }
            Era::Legacy => {
                let (wire, id, asked) = (Arc::clone(&self.wire), id.clone(), Arc::clone(&self.asked));
                std::thread::spawn(move || {
                    let mut last = Value::Null;
                    for round in 1..=rounds {
                        let (sender, answer) = mpsc::channel::<Value>();
                        let question_id = format!("mock-ask-{run}-{round}");
                        lock(&asked).insert(question_id.clone(), sender);
                        wire.say(&json!({
                            "jsonrpc": "2.0",
                            "id": question_id,
                            "method": "elicitation/create",
                            "params": question,
                        }));
                        let Ok(answer) = answer.recv() else { return };
                        last = answer;
                    }
                    let content = json!({"content": [{"type": "text", "text": last.to_string()}]});
                    wire.answer_call(&id, &Ok(content));
                });
            }
        }
    }

    /// Reports progress at once, and answers as soon as the gate is open.
    fn slow(&self, id: &Value, params: &Value, era: Era, run: u64) {
        if let Some(token) = params["_meta"].get("progressToken") {
            for step in 1..=3 {
                self.wire.say(&json!({
                    "jsonrpc": "2.0",
                    "method": "notifications/progress",
                    "params": {"progressToken": token, "progress": step, "total": 3},
                }));
            }
        }
        let answer = notes::done(era, &format!("run {run}: slowly done"));
        let (wire, id, gate) = (Arc::clone(&self.wire), id.clone(), self.flags.gate.clone());
        // The end of stdin ends the process, and with it this thread.
        std::thread::spawn(move || {
            while !gate.as_deref().is_none_or(Path::exists) {
                pause();
            }
            wire.answer_call(&id, &answer);
        });
    }

    fn announce(&self, params: &Value, era: Era) {
        if era.wants_log(params) {
            self.wire.say(&json!({
                "jsonrpc": "2.0",
                "method": "notifications/message",
                "params": {"level": "info", "logger": "mock", "data": "something happened"},
            }));
        }
        let changed = |params: Value| {
            self.wire.say(&json!({
                "jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": params,
            }));
        };
        match era {
            Era::Legacy => changed(json!({})),
            // Nobody hears what they did not subscribe to.
            Era::Modern => {
                self.subscriptions.iter().for_each(|id| changed(json!({"_meta": of_subscription(id)})));
            }
        }
    }

    /// Takes the client's answer to a question of ours.
    fn answered(&self, id: &Value, answer: &Value) {
        if let Some(waiting) = id.as_str().and_then(|id| lock(&self.asked).remove(id)) {
            let words = answer.get("result").or_else(|| answer.get("error")).cloned().unwrap_or_default();
            // The thread that waits lives until it has its answer.
            waiting.send(words).ok();
        }
    }
}

/// What a modern client brings back with the user's answer.
pub(crate) const STATE: &str = "mock-state";

/// The state of the next round of questions, where there is to be one: without any if the caller says
/// `"state": "none"`. `None`: all was asked.
fn next_round(params: &Value, rounds: u64) -> Option<Option<Value>> {
    if params["arguments"]["state"] == "none" {
        return params["inputResponses"].get("answer").is_none().then_some(None);
    }
    let asked = params["requestState"].as_str().and_then(|state| state.strip_prefix(STATE));
    let done =
        asked.map_or(0, |round| round.strip_prefix('-').and_then(|round| round.parse().ok()).unwrap_or(1));
    (done < rounds).then(|| {
        let next = done + 1;
        Some(if next == 1 { json!(STATE) } else { json!(format!("{STATE}-{next}")) })
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
