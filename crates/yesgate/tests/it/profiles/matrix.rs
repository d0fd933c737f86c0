//! The classification matrix is data: it is printed, and each printed cell is what happens (M5).

use std::fmt::Write as _;

use serde_json::{Value, json};
use yesgate_testkit::{Lane, Player, structured};

use super::setup;

/// Every class and every kind of confirmation, once.
const TABLE: &str = r#"
profile = "modes"

[times]
hold = "1s"
wait = "0s"

[[rules]]
tool = "mock/write_note"
class = "safe-write"
preview = { tool = "mock/read_note", args = { id = "args.id" } }

[[rules]]
tool = "mock/pay"
confirm = "simple"
preview = { text = "Would pay {{args.amount}}" }

[[rules]]
tool = "mock/deploy"
confirm = "preview"
preview = { args = { dry_run = true } }

[[rules]]
tool = "mock/delete_note"
confirm = "type"
type = "args.id"
preview = { tool = "mock/read_note", args = { id = "args.id" } }

[[rules]]
tool = "mock/fail"
then = "reject"

[[rules]]
tool = "mock/slow"
confirm = "none"
"#;

const MODES: [&str; 3] = ["ask", "plan", "execute"];

/// A call of each tool in the table.
fn calls() -> [(&'static str, Value); 8] {
    [
        ("read_note", json!({"id": "a"})),
        ("write_note", json!({"id": "a", "text": "x"})),
        ("pay", json!({"amount": 1, "currency": "EUR", "to": "ann"})),
        ("deploy", json!({"name": "shop"})),
        ("delete_note", json!({"id": "a"})),
        ("delete_everything", json!({})),
        ("fail", json!({})),
        ("slow", json!({})),
    ]
}

/// What came of a call, in the words of the table.
fn came_to(answer: &Value) -> &'static str {
    let payload = answer.pointer("/result/structuredContent").unwrap_or(&Value::Null);
    match (payload["error"].as_str(), payload["status"].as_str()) {
        (Some("mode_forbids"), _) => "explained",
        (Some("policy_denied"), _) => "refused",
        (None, Some("preview")) => "previewed",
        (None, Some("confirmation_required" | "approval_required")) => "asks",
        (None, None) => "runs",
        (_, _) => panic!("in no word of the table: {answer:#}"),
    }
}

/// The rows of `yesgate tools --json`, by tool.
fn printed(player: &mut Player) -> Vec<Value> {
    player.list_tools();
    let Value::Array(rows) = player.yesgate(&["tools", "--json"]).ok().json() else { panic!("no list") };
    rows
}

/// M5: tool × class × mode × confirmation, as `yesgate tools` prints it.
#[test]
fn the_matrix_is_printed_as_published() {
    for lane in Lane::ALL {
        let mut player = setup(lane).config(TABLE).server_args(&["--deploy"]).open(json!({}));
        let rows = printed(&mut player);
        let mut table = String::new();
        for (tool, _) in calls() {
            let row = rows.iter().find(|row| row["tool"] == tool).unwrap();
            let [class, ask, plan, execute, confirm] = ["class", "ask", "plan", "execute", "confirm"]
                .map(|column| row[column].as_str().unwrap_or("-"));
            writeln!(table, "{tool:<17}  {class:<10}  {ask:<9}  {plan:<9}  {execute:<7}  {confirm}").unwrap();
        }
        insta::allow_duplicates!(insta::assert_snapshot!(table, @"
        read_note          read-only   runs       runs       runs     none
        write_note         safe-write  explained  previewed  runs     none
        pay                dangerous   explained  previewed  asks     simple
        deploy             dangerous   explained  previewed  asks     preview
        delete_note        dangerous   explained  previewed  asks     type
        delete_everything  dangerous   explained  explained  asks     simple
        fail               dangerous   refused    refused    refused  none
        slow               dangerous   explained  explained  runs     none
        "));
        player.finish(0);
    }
}

/// M1, M3, M5: each printed cell is what a call comes to.
#[test]
fn every_printed_cell_is_what_a_call_comes_to() {
    for lane in Lane::ALL {
        let ungated = ["write_note", "deploy", "slow"];
        let setup = setup(lane).config(TABLE).server_args(&["--deploy"]).ungated(&ungated);
        let mut player = setup.open(json!({}));
        let rows = printed(&mut player);
        for mode in MODES {
            set_mode(&mut player, mode);
            for (tool, arguments) in calls() {
                let row = rows.iter().find(|row| row["tool"] == tool).unwrap();
                let answer = player.call(tool, arguments);
                assert_eq!(came_to(&answer), row[mode], "{tool} in {mode} mode: {answer:#}");
            }
        }
        player.finish(0);
    }
}

/// Sets the mode, with the human's yes where it takes one.
fn set_mode(player: &mut Player, mode: &str) {
    let set = player.call("yesgate_set_mode", json!({"mode": mode}));
    if structured(&set)["status"] != "mode_set" {
        let token = structured(&set)["confirm_token"].clone();
        let set = player.call("yesgate_set_mode", json!({"mode": mode, "confirm_token": token}));
        assert_eq!(structured(&set)["mode"], mode);
    }
}
