//! What `tools/list` says: a gated tool can be confirmed, everything else is as the server wrote it.

use serde_json::{Value, json};
use yesgate_testkit::{Host, confirm_token, structured};

use crate::support::{Era, legacy, stage};

fn named<'a>(tools: &'a [Value], name: &str) -> &'a Value {
    tools.iter().find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("no tool {name}"))
}

fn names(tools: &[Value]) -> Vec<&str> {
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

/// Lists the tools once, and gives back the line that came.
fn listed_line(host: &mut Host) -> String {
    host.list_tools();
    host.all_stdout().pop().unwrap()
}

/// Everything passes: a policy under which nothing is gated.
const NOTHING_GATED: &str = "[[rules]]\ntool = \"*\"\nthen = \"run\"\n";

/// X10: where nothing is gated, the list is the server's, byte for byte.
#[test]
fn a_list_without_gated_tools_is_not_touched() {
    for era in Era::BOTH {
        let stage = stage().config(NOTHING_GATED);
        let (mut host, mut bare) = (era.greet(stage.host()), era.greet(stage.bare()));
        assert_eq!(listed_line(&mut host), listed_line(&mut bare));
        assert!(host.close().success());
    }
}

/// H2: a gated tool can take a token, and strict clients do not throw its held answer away; reads are untouched,
/// and of a gated tool nothing but the two schemas is.
#[test]
fn a_gated_tool_offers_the_token_and_may_be_held() {
    for era in Era::BOTH {
        let stage = stage();
        let (mut host, mut bare) = (era.greet(stage.host()), era.greet(stage.bare()));
        let (offered, original) = (host.list_tools(), bare.list_tools());
        let own = ["yesgate_approve", "yesgate_reject", "yesgate_status"];
        assert_eq!(names(&offered), [names(&original), own.to_vec()].concat());
        assert_eq!(named(&offered, "read_note"), named(&original, "read_note"));
        for tool in &original {
            let mut seen = named(&offered, tool["name"].as_str().unwrap()).clone();
            assert_eq!(seen["inputSchema"]["required"], tool["inputSchema"]["required"], "it stays optional");
            if tool["name"] != "read_note" {
                let properties = seen["inputSchema"]["properties"].as_object_mut().unwrap();
                assert_eq!(properties.remove("confirm_token").unwrap()["type"], "string");
                assert_eq!(properties.remove("__reason").unwrap()["type"], "string");
                // Only its schema would forbid it.
                assert_eq!(properties.remove("__channel").is_some(), tool["name"] == "delete_note");
            }
            seen["outputSchema"] = tool["outputSchema"].clone();
            let mut tool = tool.clone();
            tool["outputSchema"] = seen["outputSchema"].clone();
            assert_eq!(seen, tool);
        }

        let widened = &named(&offered, "delete_note")["outputSchema"];
        let [ran, held, ..] = widened["anyOf"].as_array().unwrap().as_slice() else { panic!("{widened:#}") };
        assert_eq!(widened["type"], "object");
        assert_eq!(ran, &named(&original, "delete_note")["outputSchema"]);
        assert_eq!(held["required"], json!(["confirm_required"]));
        assert_eq!(held["properties"], json!({"confirm_required": {"const": true}}));
        let answer = host.call("delete_note", json!({"id": "a"}));
        assert_eq!(structured(&answer)["confirm_required"], true);
        confirm_token(&answer);
        assert!(host.close().success());
    }
}

/// I5: where the yes comes from elsewhere there is no token to offer; held answers are still possible.
#[test]
fn a_tool_that_is_decided_elsewhere_offers_no_token() {
    let stage =
        stage().config("[[rules]]\ntool = \"*/delete_note\"\nthen = \"ask\"\nchannel = \"out_of_band\"\n");
    let (mut host, mut bare) = (legacy(&stage), Era::Legacy.greet(stage.bare()));
    let (offered, original) = (host.list_tools(), bare.list_tools());
    let (mut seen, tool) = (named(&offered, "delete_note").clone(), named(&original, "delete_note"));
    assert!(seen["inputSchema"]["properties"].as_object_mut().unwrap().remove("__reason").is_some());
    assert_eq!(seen["inputSchema"], tool["inputSchema"]);
    assert_eq!(seen["outputSchema"]["anyOf"][0], tool["outputSchema"]);
    assert!(host.close().success());
}

/// A list in pages is offered whole, and its tools are known whatever page they stand on.
#[test]
fn a_list_in_pages_keeps_its_pages_and_ends_with_ours() {
    for era in Era::BOTH {
        let stage = stage().server_args(&["--pages", "3"]);
        let (mut host, mut bare) = (era.greet(stage.host()), era.greet(stage.bare()));
        let (offered, original) = (host.list_tools(), bare.list_tools());
        assert_eq!(offered.len(), original.len() + 3);
        assert_eq!(names(&offered)[..original.len()], names(&original)[..]);
        let held = host.call("rpc_error", json!({}));
        assert_eq!(structured(&held)["confirm_required"], true, "the last tool of the last page");
        assert_eq!(host.call("no_such_tool", json!({}))["error"]["code"], -32602);
        assert!(host.close().success());
        assert!(stage.upstream_calls().is_empty());
    }
}
