//! Who is heard on the pipe from a child.

use std::io::{self, PipeWriter, Write};
use std::sync::Arc;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;

use super::{ChildOutput, Output, not_started};
use crate::stdio::lines::Lines;

fn piped() -> (PipeWriter, Arc<Output>, Lines<ChildOutput>) {
    let (ours, theirs) = io::pipe().unwrap();
    let output = Arc::new(Output::new(pipe::Receiver::from_owned_fd(ours.into()).unwrap()));
    (theirs, Arc::clone(&output), Lines::new(ChildOutput::new(output)))
}

#[tokio::test]
async fn what_the_guard_says_is_no_message() {
    let (mut theirs, output, mut lines) = piped();
    theirs.write_all(&not_started("there is no such program")).unwrap();
    drop(theirs);
    assert!(lines.next().await.is_none());
    assert_eq!(output.why_not_started().unwrap(), "there is no such program");
}

#[tokio::test]
async fn the_guard_is_understood_before_anybody_reads() {
    let (mut theirs, output, mut lines) = piped();
    theirs.write_all(&not_started(&"long ".repeat(1000))).unwrap();
    drop(theirs);
    assert!(output.why_not_started().unwrap().starts_with("long long"));
    assert!(output.why_not_started().is_some());
    assert!(lines.next().await.is_none());
}

#[tokio::test]
async fn asking_first_takes_nothing_from_the_program() {
    let (mut theirs, output, mut lines) = piped();
    assert_eq!(output.why_not_started(), None);
    theirs.write_all(b"one\ntwo\nthr").unwrap();
    assert_eq!(output.why_not_started(), None);
    theirs.write_all(b"ee\n").unwrap();
    drop(theirs);
    for expected in ["one", "two", "three"] {
        assert_eq!(lines.next().await.unwrap().unwrap(), expected.as_bytes());
    }
    assert!(lines.next().await.is_none());
    assert_eq!(output.why_not_started(), None);
}

#[tokio::test]
async fn small_reads_lose_nothing() {
    let (mut theirs, output, _lines) = piped();
    theirs.write_all(b"some words").unwrap();
    drop(theirs);
    let (mut all, mut reader) = (Vec::new(), ChildOutput::new(output));
    let mut three = [0; 3];
    while let count @ 1.. = reader.read(&mut three).await.unwrap() {
        all.extend_from_slice(&three[..count]);
    }
    assert_eq!(all, b"some words");
}
