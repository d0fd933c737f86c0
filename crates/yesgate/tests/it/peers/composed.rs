//! Gated tools of the Rust SDK's server that themselves ask their user, used by other people's clients: one human,
//! asked by us first and by the server then, in the way of the client's era (MCP §2.6).

use std::process::Command;

use serde_json::{Value, json};
use yesgate_testkit::{Host, ServeStage, refusal, text, until};

use super::YESGATE;
use super::serve::scripted::{Library, ScriptedHost};

/// What the user answers to the server, whatever it asks for.
fn answers() -> Value {
    json!({"name": "Ann", "color": "blue", "ok": true, "username": "ann", "email": "ann@example.com"})
}

/// A tool, its arguments, how often it asks, and what it says in the end.
type Scene = (&'static str, Value, usize, &'static str);

/// Without a state, with a state under the server's seal, and in two rounds.
fn modern() -> [Scene; 3] {
    [
        ("test_input_required_result_elicitation", json!({}), 1, "Hello, Ann!"),
        ("test_input_required_result_request_state", json!({}), 1, "state-ok: confirmed"),
        ("test_input_required_result_multi_round", json!({}), 2, "Both steps are done"),
    ]
}

/// By a request in the middle of the call.
fn legacy() -> [Scene; 1] {
    [("test_elicitation", json!({"message": "Who?"}), 1, "Ann")]
}

/// Plays the scenes with the client of each library: a yes to us is followed by the server's own questions, and after a
/// no the server asks nothing.
#[track_caller]
fn check(mode: &'static str, scenes: &[Scene]) {
    let stage = ServeStage::new(YESGATE);
    let mut fixture = Command::new(stage.stage().conformance_server());
    fixture.args(["--http", "127.0.0.1:0"]);
    let fixture = Host::spawn(fixture);
    let url = until("the server's address", || fixture.all_stdout().into_iter().next());
    let rule = "[[rules]]\ntool = \"fixture/*\"\nclass = \"dangerous\"\n";
    let server = format!("[servers.fixture]\nurl = {}\n", Value::from(url));
    let stage = stage.config(&format!("[times]\nreflex = \"0s\"\n{rule}{server}"));
    let mut gateway = stage.start();
    let url = format!("{}/mcp/fixture", gateway.url());

    for library in Library::ALL {
        let mut host = library.start(stage.stage(), mode);
        // A no counts for the client that said it: each answer has a client of its own.
        let connect = |host: &mut ScriptedHost, answer: &str| {
            host.order(&json!({"connect": url, "mode": mode, "name": format!("{library:?}, {answer}")}));
        };
        for (tool, arguments, questions, said) in scenes {
            connect(&mut host, "yes");
            let order = json!({"call": tool, "arguments": arguments, "human": "test"});
            let running = host.begin(&order);
            for question in 0..=*questions {
                let form = host.form();
                let is_ours = form["message"].as_str().unwrap().contains(&format!("{tool} on fixture"));
                assert_eq!(is_ours, question == 0, "{form:#}");
                let content = if is_ours { json!({"approve": true}) } else { answers() };
                host.fill_in(&json!({"action": "accept", "content": content}));
            }
            let ran = host.answer(running);
            assert_eq!(ran["asked"].as_array().unwrap().len(), 1 + questions, "{ran:#}");
            assert!(text(&ran).contains(said), "{ran:#}");

            connect(&mut host, "no");
            let no = json!({"action": "decline"});
            let answer = host.order(&json!({"call": tool, "arguments": arguments, "human": no}));
            assert_eq!(refusal(&answer), "denied");
            assert_eq!(answer["asked"].as_array().unwrap().len(), 1, "{answer:#}");
        }
        host.leave();
    }
    assert!(gateway.close().success(), "{}", gateway.stderr());
    assert_eq!(super::audited(stage.stage(), "redeemed"), 2 * scenes.len());
}

/// X10: a client and a server of the new era.
#[test]
fn a_modern_library_answers_us_and_then_the_server_in_rounds() {
    check("auto", &modern());
}

/// X10: a client and a server in a session.
#[test]
fn a_library_in_a_session_answers_us_and_then_the_server() {
    check("legacy", &legacy());
}
