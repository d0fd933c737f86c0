//! The profiles, each promise on every lane: stdio and HTTP, in either era.

mod channels;
mod clients;
mod everywhere;
mod handshake;
mod matrix;
mod modes;
mod promises;
mod spend;
mod tasks;
mod times;
mod told;
mod two_key;
mod web;

use serde_json::{Value, json};
use yesgate_testkit::lane::Setup;
use yesgate_testkit::{Lane, Player};

/// Prepares a play on a lane.
#[track_caller]
fn setup(lane: Lane) -> Setup {
    lane.setup(env!("CARGO_BIN_EXE_yesgate"))
}

/// A play with a client that can show forms.
#[track_caller]
fn with_forms(lane: Lane, config: &str) -> Player {
    setup(lane).config(config).open(forms())
}

/// A play with a client that can do nothing.
#[track_caller]
fn plain(lane: Lane, config: &str) -> Player {
    setup(lane).config(config).open(json!({}))
}

/// What a client declares that shows forms.
fn forms() -> Value {
    json!({"elicitation": {}})
}

/// A call of this tool is decided away from the agent.
const ELSEWHERE: &str = "[[rules]]\ntool = \"mock/delete_note\"\nthen = \"ask\"\nchannel = \"out_of_band\"\n";

/// Every no is a human's, however fast.
const CALM: &str = "[times]\nreflex = \"0s\"\n";

/// Nobody answers as fast as a test.
const HASTY: &str = "[times]\nreflex = \"1h\"\n";
