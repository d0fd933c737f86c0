//! What the tests of the fronts share: a board that does as it is told; clients of it are in [`client`].

pub(crate) mod client;

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use bytes::Bytes;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};
use yesgate_core::caller::Caller;
use yesgate_core::clock::{Entropy, EntropyError};

use crate::board::{Ask, Board, Listening, Scope, Wanted};
use crate::cancel::Cancel;
use crate::raw::raw;
use crate::reply::Reply;
use crate::talk::{Boxed, Given, InputMethod, InputRequest, Notice, Party};

/// A caller of this name.
pub(crate) fn caller(name: &str) -> Caller {
    Caller {
        org: "acme".parse().unwrap(),
        principal: name.parse().unwrap(),
        client: "tester".parse().unwrap(),
    }
}

/// Dice that never show the same twice.
#[derive(Debug, Default)]
pub(crate) struct Dice(AtomicU8);

impl Entropy for Dice {
    fn draw(&self) -> Result<[u8; 32], EntropyError> {
        Ok([self.0.fetch_add(1, Ordering::Relaxed); 32])
    }
}

/// A board whose tools have telling names.
#[derive(Debug, Default)]
pub(crate) struct Script {
    /// What happened, in words.
    log: Mutex<Vec<String>>,
    news: Notify,
    /// Lets one waiting call go on.
    pub(crate) go: Notify,
    listener: Mutex<Option<mpsc::Sender<Notice>>>,
    parties: Mutex<Vec<Arc<Party>>>,
}

impl Script {
    pub(crate) fn note(&self, words: impl Into<String>) {
        self.log.lock().unwrap().push(words.into());
        self.news.notify_waiters();
    }

    pub(crate) fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    /// Waits until something happened.
    pub(crate) async fn noted(&self, words: &str) {
        loop {
            let news = self.news.notified();
            if self.log().iter().any(|noted| noted == words) {
                return;
            }
            news.await;
        }
    }

    /// The party of the last request.
    pub(crate) fn party(&self) -> Arc<Party> {
        Arc::clone(self.parties.lock().unwrap().last().unwrap())
    }

    /// Tells whoever listens; `None` ends the listening.
    pub(crate) async fn tell(&self, notice: Option<Notice>) {
        let sender = self.listener.lock().unwrap().clone().unwrap();
        match notice {
            Some(notice) => sender.send(notice).await.unwrap(),
            None => *self.listener.lock().unwrap() = None,
        }
    }

    async fn call(&self, tool: &str, ask: &Ask) -> Reply {
        let text = |text: &str| Reply::Result(json!({"said": text}).to_string().into());
        match tool {
            "progress" => {
                ask.talk.notify(progress("1"));
                ask.talk.notify(progress("2"));
                text("done")
            }
            "chatty" => {
                for n in 0..1000 {
                    ask.talk.notify(progress(&n.to_string()));
                }
                text("done")
            }
            "wait" => {
                tokio::select! {
                    () = self.go.notified() => text("done"),
                    () = ask.cancel.fired() => Reply::Silent,
                }
            }
            // It does not even listen for a withdrawal.
            "stubborn" => {
                self.go.notified().await;
                text("done")
            }
            "progress_then_wait" => {
                ask.talk.notify(progress("1"));
                self.go.notified().await;
                text("done")
            }
            "ask" => self.asks(ask, &["a"], r#"{"message":"?","requestedSchema":{}}"#).await,
            "ask_two" => self.asks(ask, &["a", "b"], r#"{"message":"?","requestedSchema":{}}"#).await,
            "ask_url" => self.asks(ask, &["a"], r#"{"mode":"url","url":"https://x","message":"?"}"#).await,
            "ask_url_to_the_end" => {
                let params = r#"{"mode":"url","elicitationId":"e-1","url":"https://x","message":"?"}"#;
                let reply = self.asks(ask, &["a"], params).await;
                ask.talk.notify(Notice::elicitation_complete("e-1"));
                reply
            }
            "rest" => match ask.talk.rest().await {
                Ok(()) => text("rested"),
                Err(error) => {
                    self.note(format!("did not rest: {error}"));
                    text(&error.to_string())
                }
            },
            "rest_then_ask" => {
                let rested = ask.talk.rest().await.and(ask.talk.rest().await);
                self.note(format!("rested {}", rested.is_ok()));
                self.asks(ask, &["a"], r#"{"message":"?","requestedSchema":{}}"#).await
            }
            "ask_again" => {
                let first = self.asks(ask, &["a"], "{}").await;
                ask.talk.notify(progress("2"));
                drop(first);
                self.asks(ask, &["b"], "{}").await
            }
            "wait_then_ask" => {
                self.go.notified().await;
                self.asks(ask, &["a"], "{}").await
            }
            "ask_without_end" => {
                let mut open: Vec<_> = (0..5000).map(|_| ask.talk.ask(vec![input("a", "{}")])).collect();
                let turned_away = std::future::poll_fn(|context| {
                    let polled = open.iter_mut().map(|asking| asking.as_mut().poll(context));
                    Poll::Ready(polled.filter(Poll::is_ready).count())
                })
                .await;
                text(if turned_away >= 3000 { "bounded" } else { "unbounded" })
            }
            "pretty" => Reply::Result(Bytes::from_static(b"{\n  \"said\":\r\n \"done\"\n}")),
            "missing" => Reply::error(-32601, "no", None),
            "incapable" => Reply::error(-32021, "no", None),
            "bad" => Reply::error(-32602, "no", None),
            "none" => Reply::Silent,
            "relayed" => Reply::Relayed,
            other => text(other),
        }
    }

    async fn asks(&self, ask: &Ask, keys: &[&str], params: &str) -> Reply {
        let requests = keys.iter().map(|key| input(key, params)).collect();
        match ask.talk.ask(requests).await {
            Ok(answers) => {
                let words: Vec<String> = answers
                    .iter()
                    .map(|answer| match &answer.answer {
                        Given::Result(result) => format!("{}={}", answer.key, result.get()),
                        Given::Error(error) => format!("{}!{}", answer.key, error.get()),
                    })
                    .collect();
                self.note(format!("answered {}", words.join(" ")));
                Reply::Result(json!({"said": words.join(" ")}).to_string().into())
            }
            Err(error) => {
                self.note(format!("not answered: {error}"));
                Reply::error(-32603, &error.to_string(), None)
            }
        }
    }
}

fn input(key: &str, params: &str) -> InputRequest {
    InputRequest { key: key.to_owned(), method: InputMethod::Elicitation, params: raw(params.to_owned()) }
}

/// One step of progress.
pub(crate) fn progress(step: &str) -> Notice {
    Notice {
        method: "notifications/progress".into(),
        params: Some(raw(format!(r#"{{"progressToken":"t","progress":{step}}}"#))),
    }
}

/// Notes what became of a request: one that is dropped must have been withdrawn as well.
struct Fate<'a> {
    script: &'a Script,
    what: String,
    cancel: Cancel,
    answered: bool,
}

impl Drop for Fate<'_> {
    fn drop(&mut self) {
        let fate = match (self.answered, self.cancel.is_fired()) {
            (true, _) => "answered",
            (false, true) => "dropped",
            (false, false) => "dropped without a withdrawal",
        };
        self.script.note(format!("{fate} {}", self.what));
    }
}

impl Board for Script {
    fn has(&self, scope: &Scope) -> bool {
        *scope != Scope::One("nowhere".parse().unwrap())
    }

    fn request(&self, ask: Ask) -> Boxed<'_, Reply> {
        Box::pin(async move {
            let name = ask.params.as_ref().and_then(|params| {
                let params: Value = serde_json::from_slice(&params.bytes()).ok()?;
                Some(params.get("name")?.as_str()?.to_owned())
            });
            let what = name.clone().unwrap_or_else(|| ask.method.clone());
            self.note(format!("request {what}"));
            self.parties.lock().unwrap().push(Arc::clone(&ask.party));
            let mut fate = Fate { script: self, what, cancel: ask.cancel.clone(), answered: false };
            let reply = match (ask.method.as_str(), name) {
                ("initialize", _) => {
                    let result =
                        json!({"protocolVersion": "2024-11-05", "capabilities": {}, "serverInfo": {}});
                    Reply::Result(result.to_string().into())
                }
                ("tools/call", Some(name)) => self.call(&name, &ask).await,
                _ => Reply::Result(Bytes::from_static(b"{}")),
            };
            fate.answered = true;
            if ask.cancel.is_fired() {
                self.note(format!("withdrawn {}", fate.what));
            }
            reply
        })
    }

    fn notify(&self, _: &Scope, party: &Arc<Party>, method: &str, _: Option<&RawValue>) {
        self.parties.lock().unwrap().push(Arc::clone(party));
        self.note(format!("told {method}"));
    }

    fn listen(&self, _: Scope, _: Arc<Party>, wanted: Wanted) -> Boxed<'_, Result<Listening, Reply>> {
        Box::pin(async move {
            if wanted.prompts {
                return Err(Reply::error(-32602, "no prompts here", None));
            }
            let (sender, notices) = mpsc::channel(4);
            *self.listener.lock().unwrap() = Some(sender);
            let granted = Wanted { resources: false, ..wanted };
            Ok(Listening { granted, notices })
        })
    }

    fn leave(&self, _: &Party) {
        self.note("left");
    }
}
