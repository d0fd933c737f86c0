//! Hosts as they really behave, each as a scripted client: what they say first, what they declare, and what they make
//! of a question. A row of the table is one host; new hosts are new rows.
//!
//! INVARIANT: on every row the dangerous call runs only after the answer on the channel that its question ended on, and
//! runs once; the question is open at the command line all the while.

mod table;

use std::ops::RangeInclusive;

use serde_json::{Value, json};
use yesgate_testkit::{Answers, Lane, LaneEra, Player, Told, confirm_token, intent_id, structured, text};

use self::table::{End, Hello, Manner, Row, rows};

/// What all of them want to do.
fn note() -> Value {
    json!({"id": "a"})
}

impl Row {
    /// The lanes that such a host comes by: with the server that it finds, it speaks one era or the other.
    fn lanes(&self) -> Vec<Lane> {
        match self.hello {
            Hello::Discover => vec![Lane::StdioModern, Lane::StdioLegacy, Lane::HttpModern],
            Hello::Session(_) => vec![Lane::StdioLegacy, Lane::HttpLegacy],
        }
    }

    #[track_caller]
    fn open(&self, lane: Lane) -> Player {
        eprintln!("{}: {:?}", self.name, self.manner);
        let setup = lane.setup(env!("CARGO_BIN_EXE_yesgate")).config(self.manner.times());
        let setup = match (self.hello, lane.era()) {
            (Hello::Discover, LaneEra::Legacy) => setup.falling_back(),
            (Hello::Discover, LaneEra::Modern) => setup,
            (Hello::Session(revision), _) => setup.revision(revision),
        };
        setup.open_as(self.name, self.capabilities.clone())
    }

    /// Makes the call, with the host's own manners.
    #[track_caller]
    fn call(&self, player: &mut Player) -> Told {
        let told = player.call_answering("delete_note", note(), self.manner);
        for form in &told.asked {
            check_form(form);
        }
        told
    }

    fn has_a_human(&self) -> bool {
        match self.manner {
            Manner::HasAHuman => true,
            Manner::DeclaresNone
            | Manner::CancelsAtOnce
            | Manner::DeclinesAtOnce
            | Manner::AcceptsOnlyEmptyForms
            | Manner::FillsInDefaults
            | Manner::FillsInZeros
            | Manner::Drops => false,
        }
    }

    /// How many forms it is shown for one call. A host that is known to drop them need not be shown any.
    fn forms(&self) -> RangeInclusive<usize> {
        match self.manner {
            Manner::DeclaresNone => 0..=0,
            Manner::Drops => 0..=1,
            Manner::HasAHuman
            | Manner::CancelsAtOnce
            | Manner::DeclinesAtOnce
            | Manner::AcceptsOnlyEmptyForms
            | Manner::FillsInDefaults
            | Manner::FillsInZeros => 1..=1,
        }
    }

    /// Where the question of such a host ends in an era, after it was shown so many forms.
    fn end(&self, era: LaneEra, forms: usize) -> End {
        match (self.manner, era) {
            (Manner::HasAHuman, _) => End::Form,
            // The answer to the call was the question, and the host keeps both to itself.
            (Manner::Drops, LaneEra::Modern) if forms > 0 => End::CommandLine,
            (
                Manner::Drops
                | Manner::DeclaresNone
                | Manner::CancelsAtOnce
                | Manner::DeclinesAtOnce
                | Manner::AcceptsOnlyEmptyForms
                | Manner::FillsInDefaults
                | Manner::FillsInZeros,
                _,
            ) => End::Conversation,
        }
    }
}

impl Manner {
    /// Times under which it is what it is, however busy the machine.
    fn times(self) -> &'static str {
        match self {
            Self::DeclaresNone | Self::HasAHuman => "",
            Self::CancelsAtOnce
            | Self::DeclinesAtOnce
            | Self::AcceptsOnlyEmptyForms
            | Self::FillsInDefaults
            | Self::FillsInZeros => "[times]\nreflex = \"1h\"\n",
            Self::Drops => "[times]\nhold = \"1s\"\n",
        }
    }
}

impl Answers for Manner {
    fn answer(&mut self, form: &Value) -> Option<Value> {
        let fields = form["requestedSchema"]["properties"].as_object().expect("a form has fields");
        let accepted = |content: Value| json!({"action": "accept", "content": content});
        Some(match self {
            Self::DeclaresNone => panic!("a host without forms is shown one: {form:#}"),
            Self::HasAHuman => accepted(json!({"approve": true})),
            Self::CancelsAtOnce => json!({"action": "cancel"}),
            Self::AcceptsOnlyEmptyForms if fields.is_empty() => accepted(json!({})),
            Self::DeclinesAtOnce | Self::AcceptsOnlyEmptyForms => json!({"action": "decline"}),
            Self::FillsInDefaults => {
                let filled = fields
                    .iter()
                    .filter_map(|(name, field)| Some((name.clone(), field.get("default")?.clone())));
                accepted(Value::Object(filled.collect()))
            }
            Self::FillsInZeros => {
                let filled = fields.iter().map(|(name, field)| {
                    let zero = if field["type"] == "boolean" { json!(false) } else { json!("") };
                    (name.clone(), field.get("default").cloned().unwrap_or(zero))
                });
                accepted(Value::Object(filled.collect()))
            }
            Self::Drops => return None,
        })
    }
}

/// No form of ours is one that a host answers by itself.
#[track_caller]
fn check_form(form: &Value) {
    let schema = &form["requestedSchema"];
    assert_eq!(schema["required"], json!(["approve"]), "{form:#}");
    assert_eq!(schema["properties"]["approve"]["type"], "boolean", "{form:#}");
    assert!(!schema.to_string().contains("default"), "{form:#}");
}

/// The call ran, once.
#[track_caller]
fn assert_ran(answer: &Value, player: &Player) {
    assert_eq!(structured(answer)["deleted"], "a", "{answer:#}");
    assert_eq!(player.runs("delete_note"), [note()]);
}

/// X9, DESIGN "the ladder": whatever a host declares and does, its question gets to a human some way, and what they say
/// there runs the call, once.
#[test]
fn the_question_of_every_host_reaches_a_human_and_the_yes_runs_it_once() {
    for row in rows() {
        for lane in row.lanes() {
            let mut player = row.open(lane);
            assert_eq!(text(&player.call("read_note", note())), "the first note");
            let told = row.call(&mut player);
            assert!(row.forms().contains(&told.asked.len()), "{:#?}", told.asked);
            let proof = match row.end(lane.era(), told.asked.len()) {
                End::Form => {
                    assert_ran(&told.answer, &player);
                    "client"
                }
                End::Conversation => {
                    assert_eq!(structured(&told.answer)["status"], "confirmation_required");
                    assert_eq!(player.question(), intent_id(&told.answer));
                    assert!(player.runs("delete_note").is_empty());
                    let token = confirm_token(&told.answer);
                    let ran = player.call("delete_note", json!({"id": "a", "confirm_token": token}));
                    assert_ran(&ran, &player);
                    "relayed"
                }
                End::CommandLine => {
                    assert!(player.runs("delete_note").is_empty());
                    player.approve(&player.question()).ok();
                    assert_ran(&player.call("delete_note", note()), &player);
                    "local"
                }
            };
            assert_eq!(player.yeses(), [proof]);
            player.finish(1);
        }
    }
}

/// I5, X9: where a host gave no answer, the question can be answered at the command line, and the agent that makes its
/// call again gets the result of the one run.
#[test]
fn what_no_host_answered_is_answered_at_the_command_line() {
    for row in rows().iter().filter(|row| !row.has_a_human()) {
        for lane in row.lanes() {
            let mut player = row.open(lane);
            row.call(&mut player);
            assert!(player.runs("delete_note").is_empty());
            player.approve(&player.question()).ok();
            assert_ran(&player.call("delete_note", note()), &player);
            assert!(player.pending().is_empty());
            player.finish(1);
        }
    }
}

/// H7: a host that gives no proper answer, however often it is asked, runs nothing.
#[test]
fn no_host_runs_anything_by_asking_again() {
    for row in rows().iter().filter(|row| !row.has_a_human()) {
        for lane in row.lanes() {
            let mut player = row.open(lane);
            for _ in 0..3 {
                row.call(&mut player);
            }
            assert_eq!(player.pending().len(), 1, "it is one question");
            player.finish(0);
        }
    }
}

/// I5, X3: a host with tasks that is closed before it looked does not take the result along: the same call made again
/// has it, and nothing runs twice.
#[test]
fn the_result_waits_for_a_host_that_never_looked_at_its_task() {
    let capabilities =
        json!({"elicitation": {"form": {}}, "extensions": {"io.modelcontextprotocol/tasks": {}}});
    for lane in [Lane::StdioModern, Lane::HttpModern] {
        let mut player =
            lane.setup(env!("CARGO_BIN_EXE_yesgate")).open_as("claude-code", capabilities.clone());
        let task = player.call("delete_note", note());
        assert_eq!(task["result"]["resultType"], "task", "{task:#}");
        player.approve(&player.question()).ok();
        let mut again = player.another("claude-code", capabilities.clone());
        assert_ran(&again.call("delete_note", note()), &player);
        again.leave();
        player.finish(1);
    }
}
