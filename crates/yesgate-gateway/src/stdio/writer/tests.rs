//! What a sender of messages may rely on, whether the peer reads, dawdles or is gone.

use std::io::{self, IoSlice, Read};
use std::pin::Pin;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::AsyncWrite;
use tokio::net::unix::pipe;
use tokio::process::Command;

use super::{BACKLOG_CAP, LineWriter, WriteError};
use crate::stdio::lines::Lines;

const DEADLINE: Duration = Duration::from_secs(30);

/// A writer into a pipe, and the pipe's other end.
async fn piped(cap: usize) -> (LineWriter, io::PipeReader) {
    let (theirs, ours) = io::pipe().unwrap();
    let ours = pipe::Sender::from_owned_fd(ours.into()).unwrap();
    // Until the runtime has looked at a pipe once, it does not know that there is room in it.
    ours.writable().await.unwrap();
    (LineWriter::with_cap(ours, cap), theirs)
}

/// Reads to the end on a thread of its own, as another process would.
async fn read_all(mut theirs: io::PipeReader) -> String {
    let reader = move || {
        let mut all = String::new();
        theirs.read_to_string(&mut all).map(|_| all)
    };
    let reader = tokio::task::spawn_blocking(reader);
    tokio::time::timeout(DEADLINE, reader).await.expect("the end is never closed").unwrap().unwrap()
}

/// Takes everything, and notes each write.
#[derive(Clone, Default)]
struct Noted(Arc<Mutex<Vec<String>>>);

impl AsyncWrite for Noted {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let bytes: Vec<u8> = parts.iter().flat_map(|part| part.iter().copied()).collect();
        self.0.lock().unwrap().push(String::from_utf8(bytes.clone()).unwrap());
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn a_line_is_one_write_and_is_written_when_send_returns() {
    let noted = Noted::default();
    let writer = LineWriter::new(noted.clone());
    writer.send(b"one").unwrap();
    writer.send(b"two").unwrap();
    assert_eq!(*noted.0.lock().unwrap(), ["one\n", "two\n"]);
}

#[tokio::test]
async fn a_message_with_a_line_break_in_it_is_refused() {
    let noted = Noted::default();
    let writer = LineWriter::new(noted.clone());
    assert_eq!(writer.send(b"{\"id\":1}\n{\"id\":2}"), Err(WriteError::LineBreak));
    assert!(noted.0.lock().unwrap().is_empty());
}

#[tokio::test]
async fn ten_thousand_lines_keep_their_order_through_a_slow_reader() {
    // The shell reads byte by byte; that is as slow as a reader gets without sleeping.
    let script = "while read -r line; do echo \"$line\"; done";
    let mut child =
        Command::new("sh").args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let writer = LineWriter::new(child.stdin.take().unwrap());
    let mut lines = Lines::new(child.stdout.take().unwrap());
    for number in 0..10_000 {
        writer.send(format!("message {number}").as_bytes()).unwrap();
    }
    writer.close();
    for number in 0..10_000 {
        let line = tokio::time::timeout(DEADLINE, lines.next()).await.unwrap();
        assert_eq!(line.unwrap().unwrap(), format!("message {number}").as_bytes());
    }
    assert!(lines.next().await.is_none());
    assert!(child.wait().await.unwrap().success());
}

#[tokio::test]
async fn a_peer_that_reads_nothing_blocks_nobody_and_is_given_no_more_than_the_cap() {
    let (writer, theirs) = piped(BACKLOG_CAP).await;
    let line = vec![b'x'; 1024 * 1024 - 1];
    let taken = (0..100).take_while(|_| writer.send(&line).is_ok()).count();
    // 64 MiB, and a little more, for what the pipe itself holds does not count.
    assert_eq!(taken, 64);
    assert_eq!(writer.send(&line), Err(WriteError::Backlog));
    writer.send(b"a small one still fits").unwrap();
    writer.close();

    let all = read_all(theirs).await;
    // Not half a line of what was refused.
    assert_eq!(all.lines().filter(|arrived| arrived.len() == line.len()).count(), taken);
    assert_eq!(all.lines().last(), Some("a small one still fits"));
    assert_eq!(all.lines().count(), taken + 1);
}

#[tokio::test]
async fn a_line_longer_than_the_cap_is_refused_before_its_first_byte() {
    let (writer, theirs) = piped(10).await;
    assert_eq!(writer.send(b"0123456789"), Err(WriteError::Backlog));
    writer.send(b"012345678").unwrap();
    drop(writer);
    assert_eq!(read_all(theirs).await, "012345678\n");
}

#[tokio::test]
async fn lines_from_many_threads_arrive_whole() {
    let (writer, theirs) = piped(BACKLOG_CAP).await;
    let threads: Vec<_> = ('a'..='h')
        .map(|letter| {
            let writer = writer.clone();
            std::thread::spawn(move || {
                for length in 1..=2000 {
                    writer.send(letter.to_string().repeat(length).as_bytes()).unwrap();
                }
            })
        })
        .collect();
    drop(writer);
    let all = read_all(theirs).await;
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(all.lines().count(), 8 * 2000);
    for letter in 'a'..='h' {
        let lengths = all.lines().filter(|line| line.starts_with(letter)).map(|line| {
            assert!(line.chars().all(|other| other == letter));
            line.len()
        });
        assert!(lengths.eq(1..=2000), "the lines of {letter} are whole and in order");
    }
}

#[tokio::test]
async fn a_peer_that_is_gone_is_told_at_once() {
    let (writer, theirs) = piped(BACKLOG_CAP).await;
    writer.send(b"one").unwrap();
    drop(theirs);
    assert_eq!(writer.send(b"two"), Err(WriteError::Closed));
    assert_eq!(writer.send(b"three"), Err(WriteError::Closed));
}

#[tokio::test]
async fn a_peer_that_leaves_with_lines_waiting_ends_the_wait() {
    let (writer, theirs) = piped(BACKLOG_CAP).await;
    for _ in 0..4 {
        writer.send(&[b'x'; 65536]).unwrap();
    }
    drop(theirs);
    tokio::time::timeout(DEADLINE, writer.flushed()).await.expect("waits for nobody");
    assert_eq!(writer.send(b"more"), Err(WriteError::Closed));
}

#[tokio::test]
async fn flushed_means_that_the_peer_can_have_it_all() {
    let (writer, theirs) = piped(BACKLOG_CAP).await;
    writer.flushed().await;
    for _ in 0..4 {
        writer.send(&[b'x'; 65535]).unwrap();
    }
    let mut theirs = io::BufReader::new(theirs);
    let mut piece = vec![0; 3 * 65536];
    let reading = tokio::task::spawn_blocking(move || theirs.read_exact(&mut piece).map(|()| theirs));
    tokio::time::timeout(DEADLINE, writer.flushed()).await.expect("one pipe full is left, and fits");
    writer.close();
    let rest = reading.await.unwrap().unwrap();
    assert_eq!(rest.buffer().len() + read_all(rest.into_inner()).await.len(), 65536);
}

#[tokio::test]
async fn closing_delivers_what_was_taken_and_takes_no_more() {
    let (writer, theirs) = piped(BACKLOG_CAP).await;
    for _ in 0..4 {
        writer.send(&[b'x'; 65535]).unwrap();
    }
    writer.close();
    assert_eq!(writer.clone().send(b"late"), Err(WriteError::Closed));
    assert_eq!(read_all(theirs).await.len(), 4 * 65536);
    tokio::time::timeout(DEADLINE, writer.flushed()).await.unwrap();
}

#[tokio::test]
async fn the_last_handle_to_go_leaves_nothing_undelivered() {
    let (writer, theirs) = piped(BACKLOG_CAP).await;
    for _ in 0..4 {
        writer.send(&[b'x'; 65535]).unwrap();
    }
    drop(writer);
    assert_eq!(read_all(theirs).await.len(), 4 * 65536);
}
