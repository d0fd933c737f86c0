//! A wrapped host that is asked: in a session here, and in the modern era in [`modern`].
//!
//! The gate is a real one, but the calls here are answered by a stand-in that asks as it is told.

mod modern;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader, DuplexStream, Lines, duplex};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use yesgate_core::approvers::Reach as People;
use yesgate_core::assurance::Assurance;
use yesgate_core::class::Trust;
use yesgate_core::clock::{Clock, Entropy as _};
use yesgate_core::digest::ServerIdentity;
use yesgate_core::id::BootId;
use yesgate_core::intent::Asker;
use yesgate_core::policy::Policy;
use yesgate_core::proof::NoWitness;
use yesgate_core::switch::OperatorSwitch;
use yesgate_ledger::Ledger;

use super::Session;
use crate::base::Nowhere;
use crate::envelope::Envelope;
use crate::errand::Person;
use crate::front::fixture::{Dice, caller};
use crate::front::pipe::at_once_or_later;
use crate::front::reach::{Charge, HostCall};
use crate::gate::{Gate, GatedServer, Naming, Patience, Setting, SharedReach};
use crate::metrics::Metrics;
use crate::raw::raw;
use crate::reply::Reply;
use crate::stdio::writer::LineWriter;
use crate::talk::{AskError, Boxed, Elicitation, Given, InputAnswer, InputMethod, InputRequest, Notice};
use crate::upstream::Upstream;
use crate::upstream::pipe::Pipe;

/// The ledger is not asked for the time here.
#[derive(Debug)]
struct Standing;

impl Clock for Standing {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

/// A session between a host and a server that both do as they are told.
struct Scene {
    session: Session,
    tasks: JoinSet<()>,
    host: Lines<BufReader<DuplexStream>>,
    server: Lines<BufReader<DuplexStream>>,
    /// What whoever asked came to.
    fates: mpsc::UnboundedReceiver<String>,
    fate: mpsc::UnboundedSender<String>,
}

impl Scene {
    async fn new() -> Self {
        let boot = BootId::from_entropy(Dice::default().draw().unwrap());
        let ledger = Ledger::in_memory(Arc::new(Standing), boot.clone()).await.unwrap();
        let identity = ServerIdentity::of_command([b"notes".as_slice()], b"/", []);
        let server = GatedServer { name: "notes".parse().unwrap(), identity, trust: Trust::None };
        let setting = Setting {
            asker: Asker { uid: None, boot: Some(boot.clone()) },
            boot: boot.clone(),
            switch: OperatorSwitch::DryRun,
            reach: SharedReach::new(People::anybody(Assurance::Local)),
            naming: Naming::BySelf,
            patience: Patience::default(),
            metrics: Metrics::new(),
            manners: Arc::default(),
            witness: Arc::new(NoWitness),
            pages: Arc::new(Nowhere),
        };
        let (policy, dice) = (Arc::new(Policy::default()), Arc::new(Dice::default()));
        let gate = Arc::new(Gate::new(server, policy, ledger, setting, dice, None).await.unwrap());
        let pipe = Arc::new(Pipe::new(&boot));
        let way = Arc::new(Upstream::over_pipe(Arc::clone(&pipe)));
        let ((ours, host), (to_server, server)) = (duplex(1 << 16), duplex(1 << 16));
        pipe.up(LineWriter::new(to_server));
        let session = Session::new(gate, (pipe, way), LineWriter::new(ours), caller("ann"));
        let (fate, fates) = mpsc::unbounded_channel();
        let [host, server] = [host, server].map(|end| BufReader::new(end).lines());
        Self { session, tasks: JoinSet::new(), host, server, fates, fate }
    }

    /// A host that opened a session of this revision, which its server agreed to.
    async fn open(version: &str, capabilities: Value) -> Self {
        let mut scene = Self::new().await;
        scene.initialize("2025-11-25", version, capabilities).await;
        scene
    }

    async fn initialize(&mut self, wish: &str, agreed: &str, capabilities: Value) {
        let params =
            json!({"protocolVersion": wish, "capabilities": capabilities, "clientInfo": {"name": "c"}});
        self.host_says(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})).await;
        assert_eq!(self.server_hears().await["method"], "initialize");
        self.server_says(&json!({"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": agreed}}));
        assert_eq!(self.host_hears().await["result"]["protocolVersion"], agreed);
    }

    async fn host_says(&mut self, message: Value) {
        self.session.hear_host(message.to_string().as_bytes(), &mut self.tasks).await;
    }

    fn server_says(&self, message: &Value) {
        self.session.hear_server(message.to_string().as_bytes());
    }

    async fn host_hears(&mut self) -> Value {
        serde_json::from_str(&self.host.next_line().await.unwrap().unwrap()).unwrap()
    }

    async fn server_hears(&mut self) -> Value {
        serde_json::from_str(&self.server.next_line().await.unwrap().unwrap()).unwrap()
    }

    /// Nothing went to the host or to the server before this.
    async fn nothing_else_passed(&mut self) {
        self.server_says(&json!({"jsonrpc": "2.0", "method": "notifications/message"}));
        assert_eq!(self.host_hears().await["method"], "notifications/message");
        self.host_says(json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})).await;
        assert_eq!(self.server_hears().await["method"], "notifications/roots/list_changed");
    }

    async fn fate(&mut self) -> String {
        self.fates.recv().await.unwrap()
    }

    /// The host makes a call, and whoever answers it does this.
    async fn call<A, F>(&mut self, message: Value, answer: A)
    where
        A: FnOnce(Charge) -> F,
        F: Future<Output = String> + Send + 'static,
    {
        let line = message.to_string();
        let envelope = Envelope::parse(line.as_bytes()).unwrap();
        let caller = caller("ann");
        let call = HostCall {
            id: envelope.id.unwrap(),
            params: envelope.params,
            line: line.as_bytes(),
            caller: &caller,
        };
        let fate = self.fate.clone();
        let carried = self.session.reach.carry(call, |charge| {
            let cancel = charge.cancel.clone();
            // The gate asks in a task of its own, which nobody stops.
            let asking = tokio::spawn(answer(charge));
            let told = tokio::spawn(async move {
                let said = asking.await.unwrap();
                let withdrawn = if cancel.is_fired() { ", withdrawn" } else { "" };
                fate.send(format!("{said}{withdrawn}")).ok();
                Reply::Result(json!({"said": said}).to_string().into())
            });
            Box::pin(async move { told.await.unwrap() }) as Boxed<'static, Reply>
        });
        at_once_or_later(carried.unwrap(), &mut self.tasks).await;
    }

    /// The host makes a call that is asked about by this form.
    async fn ask(&mut self, message: Value) {
        self.call(message, |charge| async move { asked(&charge.person.unwrap(), FORM).await }).await;
    }
}

const FORM: &str = r#"{"mode":"form","message":"Really?","requestedSchema":{}}"#;

/// Puts one question, and says what came of it.
async fn asked(person: &Person, params: &str) -> String {
    let request =
        InputRequest { key: "q".into(), method: InputMethod::Elicitation, params: raw(params.to_owned()) };
    words(person.talk.ask(vec![request]).await)
}

fn words(given: Result<Vec<InputAnswer>, AskError>) -> String {
    let text = |answer: &InputAnswer| match &answer.answer {
        Given::Result(given) | Given::Error(given) => given.get().to_owned(),
    };
    given.map_or_else(|error| error.to_string(), |answers| answers.iter().map(text).collect())
}

fn call(id: u32) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "t", "arguments": {}}})
}

fn response(question: &Value, action: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": action}})
}

fn cancelled(id: impl Into<Value>) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id.into()}})
}

const GONE: &str = "the client went before it answered";

#[tokio::test]
async fn a_host_in_a_session_is_asked_by_a_request_and_its_answer_stays_with_us() {
    let mut scene = Scene::open("2025-06-18", json!({"elicitation": {}})).await;
    scene.ask(call(1)).await;
    let question = scene.host_hears().await;
    assert_eq!(question["method"], "elicitation/create");
    assert!(question["id"].as_str().unwrap().starts_with("yg-"));
    assert_eq!(question["params"], json!({"message": "Really?", "requestedSchema": {}}));
    scene.host_says(response(&question, "accept")).await;
    let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {"said": r#"{"action":"accept"}"#}});
    assert_eq!(scene.host_hears().await, answer);
    scene.host_says(response(&question, "decline")).await;
    scene.nothing_else_passed().await;

    scene.ask(call(2)).await;
    let question = scene.host_hears().await;
    scene.host_says(json!({"jsonrpc": "2.0", "id": question["id"], "error": {"code": 1}})).await;
    assert_eq!(scene.host_hears().await["result"]["said"], r#"{"code":1}"#);
    scene.nothing_else_passed().await;
}

#[tokio::test]
async fn the_revision_that_the_server_agreed_to_says_what_the_host_can_be_asked() {
    let both = || json!({"elicitation": {"form": {}, "url": {}}});
    for (agreed, can) in [
        ("2025-11-25", "form true url true"),
        ("2025-06-18", "form true url false"),
        ("2025-03-26", "form false url false"),
        ("2024-11-05", "nobody"),
        ("2026-07-28", "nobody"),
    ] {
        let mut scene = Scene::open(agreed, both()).await;
        scene.call(call(1), |charge| async move { able(charge.person.as_ref()) }).await;
        assert_eq!(scene.host_hears().await["result"]["said"], can, "{agreed}");
    }
    let mut scene = Scene::new().await;
    scene.call(call(1), |charge| async move { able(charge.person.as_ref()) }).await;
    assert_eq!(scene.host_hears().await["result"]["said"], "nobody", "before any session");
}

fn able(person: Option<&Person>) -> String {
    let Some(person) = person else { return "nobody".into() };
    let [form, url] = [Elicitation::Form, Elicitation::Url].map(|mode| person.party.can_elicit(mode));
    format!("form {form} url {url}")
}

/// A22: a yes that comes after the call was withdrawn is no yes.
#[tokio::test]
async fn a_question_goes_with_its_call_and_a_late_answer_reaches_nobody() {
    let mut scene = Scene::open("2025-11-25", json!({"elicitation": {}})).await;
    scene.ask(call(1)).await;
    let question = scene.host_hears().await;
    scene.host_says(cancelled(1)).await;
    scene.host_says(response(&question, "accept")).await;
    assert_eq!(scene.host_hears().await, cancelled(question["id"].clone()));
    assert_eq!(scene.fate().await, format!("{GONE}, withdrawn"));
    scene.host_says(response(&question, "accept")).await;
    scene.host_says(cancelled(question["id"].clone())).await;
    while scene.tasks.join_next().await.is_some() {}
    scene.nothing_else_passed().await;
}

/// What is open when the host goes stays open; only the question through the host is over.
#[tokio::test]
async fn a_host_that_goes_can_be_asked_nothing_and_withdraws_nothing() {
    let mut scene = Scene::open("2025-11-25", json!({"elicitation": {}})).await;
    let twice = |charge: Charge| async move {
        let person = charge.person.unwrap();
        let first = asked(&person, FORM).await;
        format!("{first}; {}", asked(&person, FORM).await)
    };
    scene.call(call(1), twice).await;
    scene.host_hears().await;
    scene.session.host_gone();
    assert_eq!(scene.fate().await, format!("{GONE}; {GONE}"));
}

#[tokio::test(start_paused = true)]
async fn a_question_that_nobody_waits_for_is_taken_back() {
    let mut scene = Scene::open("2025-11-25", json!({"elicitation": {}})).await;
    let impatient = |charge: Charge| async move {
        let person = charge.person.unwrap();
        let asking = tokio::time::timeout(Duration::from_secs(5), asked(&person, FORM));
        if asking.await.is_ok() { "answered".to_owned() } else { asked(&person, FORM).await }
    };
    scene.call(call(1), impatient).await;
    for said in ["", "the client did not answer in time"] {
        let question = scene.host_hears().await;
        assert_eq!(question["method"], "elicitation/create");
        assert_eq!(scene.host_hears().await, cancelled(question["id"].clone()));
        if !said.is_empty() {
            assert_eq!(scene.host_hears().await["result"]["said"], said);
        }
    }
}

/// A server must not get a yes for us, nor us one for a server.
#[tokio::test]
async fn no_request_of_the_server_can_pass_for_one_of_ours() {
    let mut scene = Scene::open("2025-11-25", json!({"elicitation": {}})).await;
    scene.ask(call(1)).await;
    let question = scene.host_hears().await;
    let harmless = |id: &Value| json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": {"message": "Tea?"}});
    scene.server_says(&harmless(&question["id"]));
    let refused = scene.server_hears().await;
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&question["id"], &json!(-32600)));
    // However it is spelled.
    let spelled = question["id"].as_str().unwrap().replacen('y', "\\u0079", 1);
    scene.session.hear_server(format!(r#"{{"jsonrpc":"2.0","id":"{spelled}","method":"ping"}}"#).as_bytes());
    assert_eq!(scene.server_hears().await["error"]["code"], -32600);

    // What only looks like ours is the server's own.
    for id in [json!("yg-1-0"), json!("yg-"), json!(1)] {
        scene.server_says(&harmless(&id));
        assert_eq!(scene.host_hears().await, harmless(&id));
        scene.host_says(response(&harmless(&id), "accept")).await;
        assert_eq!(scene.server_hears().await, response(&harmless(&id), "accept"));
    }
    assert!(scene.fates.try_recv().is_err(), "a server's tea was taken for a yes");
    scene.host_says(response(&question, "decline")).await;
    assert_eq!(scene.fate().await, r#"{"action":"decline"}"#);
}

#[tokio::test]
async fn a_host_that_opens_its_session_again_is_never_asked_under_an_old_id() {
    let mut scene = Scene::open("2025-11-25", json!({"elicitation": {}})).await;
    scene.ask(call(1)).await;
    let first = scene.host_hears().await;
    scene.initialize("2025-11-25", "2025-06-18", json!({"elicitation": {}})).await;
    scene.ask(call(2)).await;
    let second = scene.host_hears().await;
    assert_ne!(first["id"], second["id"]);
    scene.host_says(response(&first, "accept")).await;
    assert_eq!(scene.host_hears().await["id"], 1);
    scene.host_says(response(&second, "decline")).await;
    assert_eq!(scene.host_hears().await["result"]["said"], r#"{"action":"decline"}"#);
}

#[tokio::test]
async fn whoever_asks_by_url_names_the_question_and_says_that_it_is_over() {
    let mut scene = Scene::open("2025-11-25", json!({"elicitation": {"url": {}}})).await;
    let by_url = |charge: Charge| async move {
        let person = charge.person.unwrap();
        let params = r#"{"mode":"url","elicitationId":"e-1","url":"https://x","message":"?"}"#;
        let said = asked(&person, params).await;
        person.talk.notify(Notice::elicitation_complete("e-1"));
        said
    };
    scene.call(call(1), by_url).await;
    let question = scene.host_hears().await;
    assert_eq!(question["params"]["elicitationId"], "e-1");
    scene.host_says(response(&question, "accept")).await;
    let complete = scene.host_hears().await;
    assert_eq!(complete["method"], "notifications/elicitation/complete");
    assert_eq!(complete["params"], json!({"elicitationId": "e-1"}));
    assert_eq!(scene.host_hears().await["id"], 1);
}

#[tokio::test]
async fn an_answer_to_us_need_not_wait_for_a_server_that_starts_again() {
    let mut scene = Scene::open("2025-11-25", json!({"elicitation": {}})).await;
    scene.ask(call(1)).await;
    let question = scene.host_hears().await;
    let itself = |message: &Value| scene.session.answers_itself(message.to_string().as_bytes());
    assert!(itself(&response(&question, "accept")));
    assert!(!itself(&response(&json!({"id": 7}), "accept")));
    assert!(itself(&cancelled(1)));
    assert!(!itself(&call(2)));
    let mut back = call(3);
    back["params"]["requestState"] = "yg1.x".into();
    assert!(itself(&back));
    let id: Box<RawValue> = raw(question["id"].to_string());
    assert!(scene.session.reach.is_own(&id));
}
