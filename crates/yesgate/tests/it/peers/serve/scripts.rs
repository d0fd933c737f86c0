//! The clients of three libraries, in both eras, on the whole tour and on all that is more than calls: questions
//! of servers, progress, resources and prompts.

use serde_json::json;
use yesgate_testkit::{confirm_token, structured, text};

use super::scripted::ScriptedHost;
use super::{Client as _, LEGACY, MODERN, Served};

/// The tour, and what else a server may have, all of it at the endpoint of all servers.
#[track_caller]
fn check(
    start: fn(&yesgate_testkit::Stage, &'static str) -> ScriptedHost,
    mode: &'static str,
    version: &str,
) {
    let served = Served::start();
    let mut host = start(&served.stage, mode);
    let tools = served.tour_all(&mut host, version);
    check_questions(&mut host, version);
    check_progress(&mut host);
    check_documents(&mut host);
    served.tour_each(&mut host, version, tools);
    host.leave();
    served.end(3);
}

/// X10: a gated tool of a legacy server asks the user while it runs, after the yes, and a read of a server of
/// both eras does too. Either question reaches the client in the way of the client's era.
#[track_caller]
fn check_questions(host: &mut ScriptedHost, version: &str) {
    let tool = "everything__trigger-elicitation-request";
    let held = host.order(&json!({"call": tool, "arguments": {}, "accept": {"name": "Ann"}}));
    assert_eq!(structured(&held)["confirm_required"], true, "{held:#}");
    assert_eq!(held["asked"], json!([]));
    let arguments = json!({"confirm_token": confirm_token(&held)});
    let ran = host.order(&json!({"call": tool, "arguments": arguments, "accept": {"name": "Ann"}}));
    assert_eq!(ran["asked"], json!(["Please provide inputs for the following fields:"]), "{ran:#}");
    assert!(ran["result"]["content"][1]["text"].as_str().unwrap().contains("- Name: Ann"), "{ran:#}");

    let (tool, arguments) = if version == LEGACY {
        ("fixture__test_elicitation", json!({"message": "What is your name?"}))
    } else {
        ("fixture__test_input_required_result_elicitation", json!({}))
    };
    let accept = json!({"username": "Ann", "email": "ann@example.com", "name": "Ann"});
    let read = host.order(&json!({"call": tool, "arguments": arguments, "accept": accept}));
    assert_eq!(read["asked"], json!(["What is your name?"]), "{read:#}");
    assert!(text(&read).contains("Ann"), "{read:#}");
}

/// X10: progress comes while a call runs, from a legacy server over stdio and from the one over HTTP.
#[track_caller]
fn check_progress(host: &mut ScriptedHost) {
    let arguments = json!({"duration": 0.2, "steps": 2});
    let ran = host.call("everything__trigger-long-running-operation", &arguments);
    assert!(text(&ran).starts_with("Long running operation completed"), "{ran:#}");
    assert_eq!(steps(&ran), [1.0, 2.0]);
    let ran = host.call("fixture__test_tool_with_progress", &json!({}));
    assert_eq!(steps(&ran), [0.0, 50.0, 100.0]);
}

fn steps(answer: &serde_json::Value) -> Vec<f64> {
    answer["progress"].as_array().unwrap().iter().map(|step| step.as_f64().unwrap()).collect()
}

/// X10: resources keep their addresses, prompts have prefixed names, and both are those of all servers.
#[track_caller]
fn check_documents(host: &mut ScriptedHost) {
    let resources = host.names("resources");
    for (uri, words) in [
        ("test://static-text", "This is the content of the static text resource."),
        ("demo://resource/static/document/startup.md", "Server"),
    ] {
        assert!(resources.iter().any(|listed| listed == uri), "{resources:?}");
        let read = host.order(&json!({"read": uri}));
        let content = &read["result"]["contents"][0];
        assert_eq!(content["uri"], uri, "{read:#}");
        assert!(content["text"].as_str().unwrap().contains(words), "{read:#}");
    }
    let prompts = host.names("prompts");
    for (name, words) in [
        ("fixture__test_simple_prompt", "This is a simple prompt for testing."),
        ("everything__simple-prompt", "This is a simple prompt without arguments."),
    ] {
        assert!(prompts.iter().any(|listed| listed == name), "{prompts:?}");
        let prompt = host.order(&json!({"prompt": name, "arguments": {}}));
        assert_eq!(prompt["result"]["messages"][0]["content"]["text"], words, "{prompt:#}");
    }
}

/// X10, H1, H4, I5: the TypeScript SDK as it is without any setting.
#[test]
fn the_legacy_typescript_client_uses_six_servers_through_one_gateway() {
    check(ScriptedHost::typescript, "legacy", LEGACY);
}

/// X10, H1, H4, I5: the same client finds the modern era by itself.
#[test]
fn a_typescript_client_that_tries_both_eras_uses_six_servers_in_the_modern_one() {
    check(ScriptedHost::typescript, "auto", MODERN);
}

/// X10, H1, H4, I5: the Python SDK after `initialize`.
#[test]
fn the_legacy_python_client_uses_six_servers_through_one_gateway() {
    check(ScriptedHost::python, "legacy", LEGACY);
}

/// X10, H1, H4, I5: the Python SDK as it is without any setting.
#[test]
fn a_python_client_that_tries_both_eras_uses_six_servers_in_the_modern_one() {
    check(ScriptedHost::python, "auto", MODERN);
}

/// X10, H1, H4, I5: FastMCP's client after `initialize`.
#[test]
fn the_legacy_fastmcp_client_uses_six_servers_through_one_gateway() {
    check(ScriptedHost::fastmcp, "legacy", LEGACY);
}

/// X10, H1, H4, I5: FastMCP's client as it is without any setting.
#[test]
fn a_fastmcp_client_that_tries_both_eras_uses_six_servers_in_the_modern_one() {
    check(ScriptedHost::fastmcp, "auto", MODERN);
}
