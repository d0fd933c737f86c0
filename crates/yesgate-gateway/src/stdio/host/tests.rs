//! What a host may give us as stdin, stdout and stderr, and how we leave it.

use std::fs::File;
use std::io::{self, PipeWriter};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream as StdUnixStream;

use rustix::fs::OFlags;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

use super::{HostReader, HostWriter, ReadingEnd, WritingEnd, open};
use crate::stdio::lines::Lines;
use crate::stdio::writer::LineWriter;

fn blocks(fd: impl AsFd) -> bool {
    !rustix::fs::fcntl_getfl(fd).unwrap().contains(OFlags::NONBLOCK)
}

fn kinds(reader: &HostReader, writer: &HostWriter) -> (&'static str, &'static str) {
    let reading = match reader.end {
        ReadingEnd::Pipe(_) => "pipe",
        ReadingEnd::Socket(_) => "socket",
        ReadingEnd::Threaded(_) => "thread",
    };
    let writing = match writer.end {
        WritingEnd::Pipe(_) => "pipe",
        WritingEnd::Socket(_) => "socket",
        WritingEnd::Threaded(_) => "thread",
    };
    (reading, writing)
}

fn log() -> PipeWriter {
    io::pipe().unwrap().1
}

/// A message to us, and one back.
async fn converse(
    (reader, writer): (HostReader, HostWriter),
    mut to_us: impl AsyncWrite + Unpin,
    from_us: impl AsyncRead + Unpin,
) {
    to_us.write_all(b"ping\n").await.unwrap();
    assert_eq!(Lines::new(reader).next().await.unwrap().unwrap(), b"ping");
    LineWriter::new(writer).send(b"pong").unwrap();
    assert_eq!(Lines::new(from_us).next().await.unwrap().unwrap(), b"pong");
}

#[tokio::test]
async fn pipes_are_spoken_over_without_a_thread_and_left_as_they_were() {
    let (stdin, to_us) = io::pipe().unwrap();
    let (from_us, stdout) = io::pipe().unwrap();
    let halves = open(stdin.as_fd(), stdout.as_fd(), log().as_fd()).unwrap();
    assert_eq!(kinds(&halves.0, &halves.1), ("pipe", "pipe"));
    assert!(!blocks(&stdin) && !blocks(&stdout));
    let to_us = pipe::Sender::from_owned_fd(to_us.into()).unwrap();
    let from_us = pipe::Receiver::from_owned_fd(from_us.into()).unwrap();
    converse(halves, to_us, from_us).await;
    assert!(blocks(&stdin) && blocks(&stdout));
}

#[tokio::test]
async fn sockets_are_spoken_over_without_a_thread_and_left_as_they_were() {
    let (stdin, to_us) = StdUnixStream::pair().unwrap();
    let (stdout, from_us) = StdUnixStream::pair().unwrap();
    let halves = open(stdin.as_fd(), stdout.as_fd(), log().as_fd()).unwrap();
    assert_eq!(kinds(&halves.0, &halves.1), ("socket", "socket"));
    for end in [&to_us, &from_us] {
        end.set_nonblocking(true).unwrap();
    }
    converse(halves, UnixStream::from_std(to_us).unwrap(), UnixStream::from_std(from_us).unwrap()).await;
    assert!(blocks(&stdin) && blocks(&stdout));
}

#[tokio::test]
async fn one_socket_may_be_stdin_and_stdout() {
    let (ours, theirs) = StdUnixStream::pair().unwrap();
    theirs.set_nonblocking(true).unwrap();
    let halves = open(ours.as_fd(), ours.as_fd(), log().as_fd()).unwrap();
    assert_eq!(kinds(&halves.0, &halves.1), ("socket", "socket"));
    let (from_us, to_us) = UnixStream::from_std(theirs).unwrap().into_split();
    converse(halves, to_us, from_us).await;
    assert!(blocks(&ours));
}

#[tokio::test]
async fn dropping_one_half_does_not_make_the_other_one_block() {
    let (ours, _theirs) = StdUnixStream::pair().unwrap();
    let (reader, writer) = open(ours.as_fd(), ours.as_fd(), log().as_fd()).unwrap();
    drop(reader);
    assert!(!blocks(&ours));
    drop(writer);
    assert!(blocks(&ours));
}

#[tokio::test]
async fn stderr_keeps_its_mode_where_it_is_the_same_open_file() {
    let (stdin, _to_us) = io::pipe().unwrap();
    let (_from_us, stdout) = io::pipe().unwrap();
    let stderr = stdout.try_clone().unwrap();
    let (reader, writer) = open(stdin.as_fd(), stdout.as_fd(), stderr.as_fd()).unwrap();
    assert_eq!(kinds(&reader, &writer), ("pipe", "thread"));
    assert!(blocks(&stderr));

    let (all, _theirs) = StdUnixStream::pair().unwrap();
    let (reader, writer) = open(all.as_fd(), all.as_fd(), all.as_fd()).unwrap();
    assert_eq!(kinds(&reader, &writer), ("thread", "thread"));
    assert!(blocks(&all));
}

#[tokio::test]
async fn files_and_devices_go_through_a_thread() {
    let file = tempfile::tempfile().unwrap();
    let nothing = File::options().read(true).write(true).open("/dev/null").unwrap();
    let (reader, writer) = open(nothing.as_fd(), file.as_fd(), nothing.as_fd()).unwrap();
    assert_eq!(kinds(&reader, &writer), ("thread", "thread"));
}
