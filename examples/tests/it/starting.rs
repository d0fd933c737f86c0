//! How a story finds its gate, and what it says where it cannot be told.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::example::{ALL, SPEND};

/// `cargo run` builds the story and not the gate: the story has cargo build that, as it was built itself, and is not told
/// where that fails.
#[test]
fn a_story_that_cargo_started_has_the_gate_built_first() {
    let folder = tempfile::tempdir().unwrap();
    let (cargo, heard) = (folder.path().join("cargo"), folder.path().join("heard"));
    fs::write(
        &cargo,
        format!("#!/bin/sh\necho \"$@ for $CARGO_MANIFEST_DIR.\" > '{}'\nexit 101\n", heard.display()),
    )
    .unwrap();
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o700)).unwrap();
    let output = Command::new(SPEND.program).env("CARGO", &cargo).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), b"".as_slice()));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "Error: the gate cannot be built\n");
    let heard = fs::read_to_string(heard).unwrap();
    let words = "build --package yesgate-examples --package yesgate --bin yesgate --locked --profile dev";
    assert!(heard.starts_with(words), "{heard}");
    // What it says of one package would have others built anew.
    assert!(heard.ends_with(" for .\n"), "{heard}");
}

/// A word that is not known is an error that says which are.
#[test]
fn an_unknown_word_is_answered_with_the_known_ones() {
    for example in ALL {
        let output = Command::new(example.program).arg("serve").output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let name = example.name;
        let expected = format!("Error: `{name}` tells the story; `{name} server` is the MCP server in it\n");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), expected);
    }
}
