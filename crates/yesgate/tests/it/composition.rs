//! A gated tool of a server that itself asks its user: our question comes first, and then the server's own, as many as
//! it has, in either era on either side (MCP §2.6).
//!
//! INVARIANT: one yes is one run, however many rounds the run takes; and the server sees nothing of ours.

use serde_json::{Value, json};
use yesgate_testkit::lane::Setup;
use yesgate_testkit::{Lane, LaneEra, Player, Told, confirm_token, error_code, refusal, structured, text};

#[track_caller]
fn setup(lane: Lane) -> Setup {
    // Every no is a human's, however fast.
    lane.setup(env!("CARGO_BIN_EXE_yesgate")).config("[times]\nreflex = \"0s\"\n")
}

#[track_caller]
fn open(setup: Setup) -> Player {
    setup.open(json!({"elicitation": {}}))
}

/// The server's ways to ask, and how often it asks: without a state of its own, with one, and twice.
fn ways_to_ask() -> [(Value, usize); 3] {
    [
        (json!({"question": "Who?", "state": "none"}), 1),
        (json!({"question": "Who?"}), 1),
        (json!({"question": "Who?", "rounds": 2}), 2),
    ]
}

fn yes() -> Value {
    json!({"action": "accept", "content": {"approve": true}})
}

/// What the user tells the server.
fn words(number: usize) -> Value {
    json!({"action": "accept", "content": {"words": format!("Ann {number}")}})
}

/// Makes the call with a human who says yes to us and then answers the server, and has every question in between.
#[track_caller]
fn ask(player: &mut Player, arguments: &Value) -> Told {
    let mut forms = 0;
    player.call_answering("ask_user", arguments.clone(), |form: &Value| {
        forms += 1;
        let is_ours = form["message"].as_str().unwrap().contains("ask_user on mock");
        assert_eq!(is_ours, forms == 1, "ours is the first and only the first: {form:#}");
        if is_ours { yes() } else { words(forms - 1) }
    })
}

/// X10: a client of one era and a server of the other: each is asked, and asks, in its own way.
#[test]
fn a_gated_tool_of_a_server_of_the_other_era_asks_after_our_question() {
    for (lane, era) in [(Lane::HttpLegacy, "modern"), (Lane::HttpModern, "legacy")] {
        for (arguments, questions) in ways_to_ask() {
            let mut player = open(setup(lane).server_args(&["--era", era]));
            let told = ask(&mut player, &arguments);
            assert_eq!(told.asked.len(), 1 + questions, "{arguments}: {:#?}", told.asked);
            assert!(text(&told.answer).contains(&format!("Ann {questions}")), "{:#}", told.answer);
            assert_eq!(player.yeses(), ["client"]);
            player.finish(1);
        }
    }
}

/// MCP §2.6: a modern server gets its own state back and the answers to its own questions, and nothing else; where it
/// gave no state it gets none. The client never sees the server's state.
#[test]
fn a_server_gets_back_its_own_state_and_answers_and_nothing_of_ours() {
    for lane in [Lane::StdioModern, Lane::HttpModern, Lane::HttpLegacy] {
        for (arguments, questions) in ways_to_ask() {
            let mut player = open(setup(lane).server_args(&["--era", "modern"]));
            ask(&mut player, &arguments);
            let calls = player.upstream_calls();
            assert_eq!(calls.len(), 1 + questions, "{arguments}");
            for (round, call) in calls.iter().enumerate() {
                let params = &call["params"];
                assert_eq!(params["arguments"], arguments);
                let (answers, state) = match round {
                    0 => (None, None),
                    1 if arguments["state"] == "none" => (Some(json!({"answer": words(1)})), None),
                    1 => (Some(json!({"answer": words(1)})), Some(json!("mock-state"))),
                    _ => (Some(json!({"answer": words(2)})), Some(json!("mock-state-2"))),
                };
                assert_eq!(params.get("inputResponses"), answers.as_ref(), "{call:#}");
                assert_eq!(params.get("requestState"), state.as_ref(), "{call:#}");
            }
            assert!(!Value::from(calls).to_string().contains("dev.yesgate"));
            assert!(!player.heard_by_agent().contains("mock-state"));
            player.finish(1);
        }
    }
}

/// MCP §2.6: what a client is given for the server's question after the yes is good once, for that call: one yes is
/// not as many runs as there are answers.
#[test]
fn the_state_of_a_servers_question_is_good_once() {
    for lane in Lane::ALL.into_iter().filter(|lane| lane.era() == LaneEra::Modern) {
        let mut player = open(setup(lane));
        let arguments = json!({"question": "Who?"});
        let go_on = |player: &mut Player, arguments: &Value, asking: &Value, answer: Value| {
            let result = &asking["result"];
            let key = result["inputRequests"].as_object().unwrap().keys().next().unwrap();
            let further = json!({"requestState": result["requestState"], "inputResponses": {key: answer}});
            player.call_with("ask_user", arguments.clone(), &further)
        };
        let ours = player.call("ask_user", arguments.clone());
        assert!(player.upstream_calls().is_empty(), "nobody looks at the server before the yes");
        let theirs = go_on(&mut player, &arguments, &ours, yes());
        let other = json!({"question": "What?"});
        assert_eq!(error_code(&go_on(&mut player, &other, &theirs, words(1))), -32602);
        assert!(text(&go_on(&mut player, &arguments, &theirs, words(1))).contains("Ann 1"));
        for spent in [&ours, &theirs] {
            assert_eq!(error_code(&go_on(&mut player, &arguments, spent, words(2))), -32602);
        }
        assert_eq!(player.upstream_calls().len(), 2);
        player.finish(1);
    }
}

/// A no to our question is the end: the server is not called. A no to the server's own question is the server's to
/// understand, and the run is over as the server says.
#[test]
fn a_no_goes_to_whoever_asked() {
    for lane in Lane::ALL {
        let mut player = open(setup(lane));
        let no = json!({"action": "decline"});
        let told = player.call_answering("ask_user", json!({"question": "Ours?"}), |_: &Value| no.clone());
        assert_eq!((refusal(&told.answer), told.asked.len()), ("denied", 1));
        assert!(player.upstream_calls().is_empty());

        let told = player.call_answering("ask_user", json!({"question": "Theirs?"}), |form: &Value| {
            if form["message"] == "Theirs?" { no.clone() } else { yes() }
        });
        assert_eq!((text(&told.answer), told.asked.len()), (r#"{"action":"decline"}"#, 2));
        player.finish(1);
    }
}

/// H1, X10: the same where our question was put in the conversation: the call that brings the token is the one on which
/// the server asks.
#[test]
fn the_call_that_brings_the_token_is_asked_by_the_server() {
    for lane in Lane::ALL {
        for (arguments, questions) in ways_to_ask() {
            let mut player = open(setup(lane).config("channel = \"chat\"\n"));
            let held = player.call("ask_user", arguments.clone());
            assert_eq!(structured(&held)["status"], "confirmation_required");
            let mut with_token = arguments.clone();
            with_token["confirm_token"] = confirm_token(&held).into();
            let mut forms = 0;
            let told = player.call_answering("ask_user", with_token, |_: &Value| {
                forms += 1;
                words(forms)
            });
            assert_eq!(told.asked.len(), questions, "{arguments}");
            assert!(text(&told.answer).contains(&format!("Ann {questions}")), "{:#}", told.answer);
            assert_eq!(player.yeses(), ["relayed"]);
            player.finish(1);
        }
    }
}
