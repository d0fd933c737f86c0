//! What tools real servers have, and how their lists come through the gate: of a gated tool only the two
//! schemas are touched, of all others nothing.

use std::ffi::OsString;
use std::fs;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use yesgate_testkit::{Stage, structured};

use super::{Era, Peer, YESGATE, bank, everything, filesystem, git, open, repository};

/// The answer to `tools/list`, its parts still in the sender's own bytes.
#[derive(Deserialize)]
struct Answer<'a> {
    id: Value,
    #[serde(borrow)]
    result: &'a RawValue,
}

#[derive(Deserialize)]
struct List<'a> {
    #[serde(borrow)]
    tools: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tool<'a> {
    name: String,
    #[serde(borrow)]
    input_schema: &'a RawValue,
    #[serde(borrow)]
    output_schema: Option<&'a RawValue>,
    #[serde(default)]
    annotations: Annotations,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Annotations {
    read_only_hint: bool,
}

/// The names that the gateway adds at the end of a list with gated tools.
const OWN: [&str; 3] = ["yesgate_approve", "yesgate_reject", "yesgate_status"];

/// Holds a list through a gate without configuration against the same list of the bare server.
#[track_caller]
pub(super) fn assert_same_tools(bare: &str, gated: &str) {
    let (bare, gated): (Answer<'_>, Answer<'_>) = (read(bare), read(gated));
    assert_eq!(bare.id, gated.id);
    let (bare_list, gated_list): (List<'_>, List<'_>) = (read(bare.result.get()), read(gated.result.get()));
    let around = gated.result.get().replace(gated_list.tools.get(), bare_list.tools.get());
    assert_eq!(around, bare.result.get(), "what stands around the tools");

    let (before, after): (Vec<&RawValue>, Vec<&RawValue>) =
        (read(bare_list.tools.get()), read(gated_list.tools.get()));
    for (before, after) in before.iter().zip(&after) {
        assert_same_tool(before.get(), after.get());
    }
    let added: Vec<String> =
        after.iter().skip(before.len()).map(|tool| read::<Tool<'_>>(tool.get()).name).collect();
    assert_eq!(added, OWN);
}

#[track_caller]
fn assert_same_tool(before: &str, after: &str) {
    let (bare, gated): (Tool<'_>, Tool<'_>) = (read(before), read(after));
    if bare.annotations.read_only_hint {
        assert_eq!(before, after, "a tool that only reads");
        return;
    }
    let mut restored = after.replacen(gated.input_schema.get(), bare.input_schema.get(), 1);
    if let (Some(before), Some(after)) = (bare.output_schema, gated.output_schema) {
        restored = restored.replacen(after.get(), before.get(), 1);
        assert_widened(&read(before.get()), &read(after.get()));
    }
    assert_eq!(before, restored, "a gated tool but for its schemas");

    let (before, mut after): (Value, Value) = (read(bare.input_schema.get()), read(gated.input_schema.get()));
    let properties = after["properties"].as_object_mut().unwrap();
    assert_eq!(properties.remove("confirm_token").unwrap()["type"], "string", "{}", bare.name);
    assert_eq!(properties.remove("__reason").unwrap()["type"], "string", "{}", bare.name);
    // K3: where nobody could send it otherwise.
    let is_strict = before.get("additionalProperties") == Some(&json!(false));
    assert_eq!(properties.remove("__channel").is_some(), is_strict, "{}", bare.name);
    assert_eq!(before, after, "the arguments of {} but for ours", bare.name);
}

/// What was a result of the tool still is one, and an answer of ours is one too.
#[track_caller]
fn assert_widened(before: &Value, after: &Value) {
    let mut first = after["anyOf"][0].clone();
    for root in ["$schema", "$id", "$defs", "definitions"] {
        if let Some(kept) = after.get(root) {
            first[root] = kept.clone();
        }
    }
    assert_eq!(*before, first);
    assert_eq!(after["type"], "object");
    assert_eq!(after["anyOf"][1]["required"], json!(["confirm_required"]));
    assert_eq!(after["anyOf"].as_array().unwrap().len(), 4);
}

#[track_caller]
fn read<'a, T: Deserialize<'a>>(text: &'a str) -> T {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The tools of a server that ask before they run, by `yesgate tools`, which finds out the era for itself.
#[track_caller]
fn asking_tools(peer: &Peer, expected_total: usize) -> Vec<String> {
    let mut words: Vec<OsString> = vec!["tools".into(), "--json".into(), "--".into()];
    words.extend(peer.words.iter().cloned());
    let matrix = Stage::new(YESGATE).yesgate(&words).ok().json();
    let rows = matrix.as_array().unwrap();
    assert_eq!(rows.len(), expected_total);
    let asks = rows.iter().filter(|row| row["execute"] == "asks");
    asks.map(|row| row["tool"].as_str().unwrap().to_owned()).collect()
}

/// H7: with no configuration, what a real server does not call a read asks; both eras are found out.
#[test]
fn the_matrix_of_a_real_server_says_which_of_its_tools_ask() {
    let folder = tempfile::tempdir().unwrap();
    let files = asking_tools(&filesystem(folder.path()), 14);
    assert_eq!(files, ["create_directory", "edit_file", "move_file", "write_file"]);
    let git = asking_tools(&git(&repository(folder.path())), 12);
    assert_eq!(git, ["git_add", "git_checkout", "git_commit", "git_create_branch", "git_reset"]);
    let everything = asking_tools(&everything(), 13);
    assert!(everything.contains(&"toggle-simulated-logging".to_owned()) && everything.len() == 4);
    assert_eq!(asking_tools(&bank(), 3), ["close_account", "pay"]);
}

/// X5: a tool is known by its definition. A server writes it down differently in the two eras, and what a
/// human accepted in one of them holds in the other.
#[test]
fn a_class_that_a_human_accepted_holds_in_both_eras() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("payments");
    let stage = Stage::new(YESGATE).env("BANK_LOG", &log);
    let mut host = bank().gated(&stage);
    open(&mut host, Era::Legacy);
    host.list_tools();
    host.close();
    stage.yesgate(&["tools", "review", "bank", "--accept", "pay=safe-write"]).ok();

    for era in [Era::Legacy, Era::Modern] {
        let mut host = bank().gated(&stage);
        open(&mut host, era);
        let paid = host.call("pay", json!({"to": "Bob", "amount": "1.10"}));
        assert_eq!(structured(&paid)["result"], "paid 1.10 to Bob");
        let held = host.call("close_account", json!({"account": "Ann"}));
        assert_eq!(structured(&held)["confirm_required"], true);
        host.close();
    }
    assert_eq!(fs::read_to_string(&log).unwrap(), "Bob 1.10\nBob 1.10\n");
}
