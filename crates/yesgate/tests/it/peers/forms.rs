//! Humans behind other people's clients: the forms of the TypeScript and the Python SDK, over stdio and HTTP, in both
//! eras, in the hands of somebody who answers, who is not there, or who is late.
//!
//! What ran is read from the server's own log at the end of each play. Nothing here takes a length of time but what
//! the configuration says.

use serde_json::{Value, json};
use yesgate_testkit::{Gateway, ServeStage, Stage, confirm_token, intent_id, refusal, structured, until};

use super::YESGATE;
use super::serve::scripted::{Library, ScriptedHost};

/// One way from a client to the server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Way {
    transport: Transport,
    era: Era,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Transport {
    /// The client starts `yesgate wrap`.
    Stdio,
    /// The client calls `yesgate serve`.
    Http,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Era {
    Legacy,
    Modern,
}

impl Way {
    const ALL: [Self; 4] = [
        Self { transport: Transport::Stdio, era: Era::Legacy },
        Self { transport: Transport::Stdio, era: Era::Modern },
        Self { transport: Transport::Http, era: Era::Legacy },
        Self { transport: Transport::Http, era: Era::Modern },
    ];

    /// Those on which a call stays open while its human reads. A modern client lets go of it.
    const SESSIONS: [Self; 2] = [
        Self { transport: Transport::Stdio, era: Era::Legacy },
        Self { transport: Transport::Http, era: Era::Legacy },
    ];
}

/// A client, and the server at the other end of the gateway.
struct Play<'a> {
    host: &'a mut ScriptedHost,
    way: Way,
    stage: ServeStage,
    gateway: Option<Gateway>,
}

impl Play<'_> {
    /// Opens a conversation under a name.
    #[track_caller]
    fn connect(&mut self, name: &str) {
        let target = match &self.gateway {
            Some(gateway) => json!(format!("{}/mcp/mock", gateway.url())),
            None => self.command(),
        };
        let (mode, version) = match self.way.era {
            Era::Legacy => ("legacy", "2025-11-25"),
            Era::Modern => ("auto", "2026-07-28"),
        };
        let order = json!({"connect": target, "mode": mode, "name": name});
        assert_eq!(self.host.order(&order)["version"], version);
    }

    /// What a host has in its configuration.
    fn command(&self) -> Value {
        let yesgate = self.stage.stage().command::<&str>(&[]);
        let env: serde_json::Map<String, Value> = yesgate
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value?.to_str()?.into())))
            .collect();
        let mut args = vec!["wrap".to_owned(), "--name".into(), "mock".into(), "--".into()];
        args.extend(self.stage.child_words("mock", &[]));
        json!({"command": YESGATE, "args": args, "env": env, "cwd": yesgate.get_current_dir()})
    }

    /// Makes the call, with a human who answers like this.
    #[track_caller]
    fn call(&mut self, human: &Value) -> Value {
        self.host.order(&json!({"call": "delete_note", "arguments": note(), "human": human}))
    }

    /// Makes the call, and leaves the form to the test; gives the order's number back.
    #[track_caller]
    fn begin(&mut self) -> u64 {
        self.begin_with(&json!({}))
    }

    /// The same with more to the order.
    #[track_caller]
    fn begin_with(&mut self, more: &Value) -> u64 {
        let mut order = json!({"call": "delete_note", "arguments": note(), "human": "test"});
        order.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let number = self.host.begin(&order);
        assert!(self.host.form()["message"].as_str().unwrap().contains("delete_note on mock"));
        number
    }

    /// Makes the call when nobody may be asked.
    #[track_caller]
    fn call_unasked(&mut self) -> Value {
        let answer = self.call(&yes());
        assert_eq!(answer["asked"], json!([]), "{answer:#}");
        answer
    }

    /// The agent brings the token of a held answer back.
    #[track_caller]
    fn bring(&mut self, held: &Value) -> Value {
        let arguments = json!({"id": "a", "confirm_token": confirm_token(held)});
        self.host.order(&json!({"call": "delete_note", "arguments": arguments, "human": no()}))
    }

    fn runs(&self) -> usize {
        self.stage.calls("mock").len()
    }

    /// The one question that is open.
    #[track_caller]
    fn question(&self) -> String {
        self.stage.stage().wait_for_question()["intent_id"].as_str().unwrap().to_owned()
    }

    fn state(&self, intent: &str) -> String {
        self.stage.shown(intent)["state"].as_str().unwrap().to_owned()
    }

    /// The fields of what the audit trail has of one kind.
    fn audited(&self, event: &str, field: &str) -> Vec<Value> {
        let rows = self.stage.stage().audit().into_iter().map(|row| row["entry"].clone());
        rows.filter(|entry| entry["event"] == event).map(|entry| entry[field].clone()).collect()
    }

    /// Ends the conversation and the gateway: so many calls ran after a yes.
    #[track_caller]
    fn end(mut self, gated: usize) {
        self.host.hang_up();
        if let Some(gateway) = &mut self.gateway {
            let status = gateway.close();
            assert!(status.success(), "{status}\n{}", gateway.stderr());
        }
        assert_eq!(self.stage.check_history("mock", &[]).gated, gated);
    }
}

/// Plays a scene on each of these ways, with the client of either library.
#[track_caller]
fn on(ways: &[Way], config: &str, scene: impl Fn(Play<'_>)) {
    for library in Library::ALL {
        let base = Stage::new(YESGATE);
        let mut host = library.start(&base, "auto");
        for way in ways.iter().copied() {
            eprintln!("{library:?}: {way:?}");
            let stage = ServeStage::new(YESGATE);
            let server = stage.child("mock", &[]);
            let stage = stage.config(&format!("{config}\n{server}"));
            let gateway = match way.transport {
                Transport::Stdio => None,
                Transport::Http => Some(stage.start()),
            };
            scene(Play { host: &mut host, way, stage, gateway });
        }
        host.leave();
    }
}

fn note() -> Value {
    json!({"id": "a"})
}

fn yes() -> Value {
    json!({"action": "accept", "content": {"approve": true}})
}

fn no() -> Value {
    json!({"action": "decline"})
}

/// Every no is a human's, however fast.
const CALM: &str = "[times]\nreflex = \"0s\"\n";

/// Nobody answers as fast as a test.
const HASTY: &str = "[times]\nreflex = \"1h\"\n";

/// A form is not waited for.
const SHORT: &str = "[times]\nhold = \"1s\"\nreflex = \"0s\"\n";

/// X1, X9: a yes in the form runs the call once, and the library takes the result for what its schema promises.
#[test]
fn a_yes_in_a_librarys_form_runs_the_call_once() {
    on(&Way::ALL, "", |mut play| {
        play.connect("library");
        let ran = play.call(&yes());
        assert_eq!(structured(&ran), &json!({"deleted": "a", "run": 1}));
        assert_eq!(ran["asked"].as_array().unwrap().len(), 1);
        assert_eq!(play.audited("approved", "assurance"), ["client"]);
        play.end(1);
    });
}

/// X9: a human's no holds, whether they decline or accept without the tick, and a form that is closed is asked again.
#[test]
fn a_no_in_a_librarys_form_is_a_no_and_closing_it_is_none() {
    on(&Way::ALL, CALM, |mut play| {
        for (name, human) in
            [("declines", no()), ("unticked", json!({"action": "accept", "content": {"approve": false}}))]
        {
            play.connect(name);
            let answer = play.call(&human);
            assert_eq!(refusal(&answer), "denied");
            assert_eq!(play.state(&intent_id(&answer)), "denied");
            assert_eq!(refusal(&play.call_unasked()), "denied");
        }
        play.connect("closes");
        assert_eq!(refusal(&play.call(&json!({"action": "cancel"}))), "cancelled");
        assert_eq!(play.runs(), 0);
        assert_eq!(structured(&play.call(&yes()))["deleted"], "a");
        play.end(1);
    });
}

/// X9: a no at once, and an accepted form with nothing in it, are nobody's. The question stays open, the agent is told
/// the next way, and the client is shown no further form.
#[test]
fn a_library_with_nobody_there_is_asked_another_way() {
    let answers = [
        no(),
        json!({"action": "cancel"}),
        json!({"action": "accept"}),
        json!({"action": "accept", "content": {}}),
    ];
    on(&Way::ALL, HASTY, |mut play| {
        for (index, human) in answers.iter().enumerate() {
            play.connect(&format!("client {index}"));
            let told = play.call(human);
            assert_eq!(told["asked"].as_array().unwrap().len(), 1, "{human}");
            assert_eq!(structured(&told)["status"], "confirmation_required", "{human}");
            assert_eq!(play.question(), intent_id(&told));
            assert_eq!(play.runs(), index, "{human}");
            let again = play.call_unasked();
            assert_eq!(intent_id(&again), intent_id(&told));
            assert_eq!(structured(&play.bring(&again))["deleted"], "a");
        }
        play.end(answers.len());
    });
}

/// I5, X9: nobody answers the form, ever. A yes at the command line runs the call, and the agent that makes it again
/// has the result. In a session the agent is told so after `times.hold`; a modern library just waits for its human.
#[test]
fn a_form_that_nobody_answers_leaves_the_question_to_the_command_line() {
    on(&Way::ALL, SHORT, |mut play| {
        play.connect("library");
        let hanging = play.begin();
        if play.way.era == Era::Legacy {
            let held = play.host.answer(hanging);
            assert_eq!(structured(&held)["status"], "confirmation_required");
            assert_eq!(play.question(), intent_id(&held));
        }
        assert_eq!(play.runs(), 0);
        play.stage.approve(&play.question()).ok();
        assert_eq!(play.runs(), 1);
        assert_eq!(structured(&play.call_unasked())["deleted"], "a");
        assert_eq!(play.audited("approved", "assurance"), ["local"]);
        play.end(1);
    });
}

/// Time: what comes after the question ended runs nothing, and a no that comes is written down all the same.
#[test]
fn an_answer_in_a_librarys_form_after_the_end_is_void() {
    on(&Way::ALL, "[times]\ndecide = \"1s\"\nreflex = \"0s\"\n", |mut play| {
        for (name, answer) in [("late yes", yes()), ("late no", no())] {
            play.connect(name);
            let late = play.begin();
            until("the end of the question", || play.stage.stage().pending().is_empty().then_some(()));
            play.host.fill_in(&answer);
            assert_eq!(refusal(&play.host.answer(late)), "expired", "{name}");
        }
        // In a session the form may have been taken back before the no was said.
        if play.way.era == Era::Modern {
            assert_eq!(play.audited("late_answer", "answer").last(), Some(&json!("deny")));
        }
        play.end(0);
    });
}

/// X9: a yes in the form after a no at the command line is void: the first decision holds.
#[test]
fn a_yes_in_a_librarys_form_after_a_no_elsewhere_is_void() {
    on(&Way::ALL, CALM, |mut play| {
        play.connect("library");
        let late = play.begin();
        play.stage.deny(&play.question()).ok();
        play.host.fill_in(&yes());
        assert_eq!(refusal(&play.host.answer(late)), "denied");
        play.end(0);
    });
}

/// Time: a form that is no longer waited for is taken back. What is still said in it runs nothing, and the question is
/// where the agent was told.
#[test]
fn an_answer_in_a_form_that_was_taken_back_runs_nothing() {
    on(&Way::SESSIONS, SHORT, |mut play| {
        play.connect("library");
        let late = play.begin();
        let held = play.host.answer(late);
        assert_eq!(structured(&held)["status"], "confirmation_required");
        play.host.fill_in(&yes());
        assert_eq!(play.question(), intent_id(&play.call_unasked()));
        play.end(0);
    });
}

/// Time: a library that gives its call up while the form is open withdraws the question, and a late yes is void,
/// wherever it is said.
#[test]
fn a_yes_after_a_library_gave_its_call_up_is_void() {
    on(&Way::SESSIONS, CALM, |mut play| {
        play.connect("library");
        let given_up = play.begin_with(&json!({"timeout": 1000}));
        let told = play.host.answer(given_up);
        assert!(told.get("result").is_none(), "{told:#}");
        let intents = until("the withdrawal", || {
            let withdrawn = play.audited("cancelled", "intent");
            (!withdrawn.is_empty()).then_some(withdrawn)
        });
        play.host.fill_in(&yes());
        assert_eq!(play.stage.approve(intents[0].as_str().unwrap()).code(), 3);
        play.end(0);
    });
}
