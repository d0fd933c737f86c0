//! `yesgate serve --stdio`: all servers for one client, on its stdin and stdout.

use serde_json::{Value, json};
use yesgate_testkit::{
    Host, MockEras, MockHttp, ServeStage, confirm_token, intent_id, refusal, structured, text, until,
};

use crate::support::Era;

const UNGATED: [&str; 1] = ["read_note"];

/// A server on stdio, `notes`, and two over HTTP, one of each era.
struct Play {
    stage: ServeStage,
    web: [(&'static str, MockHttp); 2],
}

impl Play {
    #[track_caller]
    fn new(further: &str) -> Self {
        let web = [("new", MockHttp::start(MockEras::Modern)), ("old", MockHttp::start(MockEras::Legacy))];
        let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate"));
        let mut toml = format!("{further}{}", stage.child("notes", &[]));
        for (name, server) in &web {
            toml.push_str(&stage.web(name, server));
        }
        Self { stage: stage.config(&toml), web }
    }

    /// Closes stdin, and looks at what was left behind.
    #[track_caller]
    fn finish(&self, mut host: Host, gated: usize) {
        assert_eq!(host.close().code(), Some(0), "{}", host.stderr());
        host.assert_only_json_rpc();
        assert_eq!(self.stage.check_history("notes", &UNGATED).gated, gated);
        for (name, server) in &self.web {
            assert_eq!(self.stage.check_web_history(name, server, &UNGATED).gated, gated);
        }
    }
}

fn names(tools: &[Value]) -> Vec<&str> {
    tools.iter().filter_map(|tool| tool["name"].as_str()).collect()
}

/// I4, H1: at one pipe a client of either era lists, reads, is held and, after a human's yes, gets the result, at
/// servers of both eras; stdout has JSON-RPC and nothing else, and the end of stdin is the end, with status 0.
#[test]
fn one_client_on_a_pipe_uses_all_servers_through_the_gate() {
    for era in Era::BOTH {
        let play = Play::new("");
        let mut host = era.greet(play.stage.stdio());
        let tools = host.list_tools();
        for server in ["notes", "new", "old"] {
            let name = |tool: &str| format!("{server}__{tool}");
            for tool in ["read_note", "delete_note"] {
                assert!(names(&tools).contains(&name(tool).as_str()), "{tools:#?}");
            }
            let read = host.call(&name("read_note"), json!({"id": "a"}));
            assert_eq!(text(&read), "the first note");

            let arguments = json!({"id": server});
            let held = host.call(&name("delete_note"), arguments.clone());
            let token = confirm_token(&held);
            let ran = host.call(&name("delete_note"), json!({"id": server, "confirm_token": token}));
            assert_eq!(structured(&ran)["deleted"], server, "{ran:#}");

            let held = host.call(&name("delete_note"), arguments.clone());
            play.stage.approve(&intent_id(&held)).ok();
            until("the run", || (play.stage.shown(&intent_id(&held))["state"] == "done").then_some(()));
            let ran = host.call(&name("delete_note"), arguments);
            assert_eq!(structured(&ran)["deleted"], server, "{ran:#}");

            let denied = host.call(&name("delete_note"), json!({"id": "no"}));
            play.stage.deny(&intent_id(&denied)).ok();
            assert_eq!(refusal(&host.call(&name("delete_note"), json!({"id": "no"}))), "denied");
        }
        play.finish(host, 2);
    }
}

/// With `--only` one server is shown, under its own names.
#[test]
fn one_server_on_a_pipe_keeps_its_own_names() {
    for era in Era::BOTH {
        let mut play = Play::new("");
        play.stage = play.stage.serve_args(&["--only", "new"]);
        let mut host = era.greet(play.stage.stdio());
        assert!(names(&host.list_tools()).contains(&"read_note"));
        assert_eq!(text(&host.call("read_note", json!({"id": "a"}))), "the first note");
        play.finish(host, 0);
    }
}

/// What is under way at the end of stdin is answered before the end.
#[test]
fn a_call_under_way_at_the_end_of_input_is_answered() {
    for era in Era::BOTH {
        let play = Play::new("");
        let mut host = era.greet(play.stage.stdio());
        let read = host.call_async("notes__read_note", json!({"id": "a"}));
        assert_eq!(host.close().code(), Some(0), "{}", host.stderr());
        assert_eq!(text(&host.answer_to(read)), "the first note");
        host.assert_only_json_rpc();
    }
}

/// A line that is no message is answered as JSON-RPC demands, and those after it are read.
#[test]
fn a_line_that_is_no_message_is_answered_and_the_next_one_is_read() {
    let play = Play::new("");
    let mut host = Era::Modern.greet(play.stage.stdio());
    host.send_raw("this is no JSON");
    let complaint =
        host.expect_message("an error", |message| message["id"].is_null() && message.get("error").is_some());
    assert_eq!(complaint["error"]["code"], -32700);
    assert_eq!(text(&host.call("notes__read_note", json!({"id": "a"}))), "the first note");
    play.finish(host, 0);
}
