//! What a reader of messages may rely on, whatever the peer sends and in whatever pieces.

use std::io;
use std::pin::Pin;
use std::process::Stdio;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf};
use tokio::process::Command;

use super::{EDGE, KEPT_CAPACITY, LINE_CAP, LineError, Lines};

/// Gives a few bytes at a time, and at its end what it was told to.
struct Dribble<'a> {
    bytes: &'a [u8],
    piece: usize,
    end: Option<io::ErrorKind>,
}

impl AsyncRead for Dribble<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let (now, later) = self.bytes.split_at(self.piece.min(buf.remaining()).min(self.bytes.len()));
        self.bytes = later;
        buf.put_slice(now);
        match self.end {
            Some(error) if now.is_empty() => Poll::Ready(Err(error.into())),
            Some(_) | None => Poll::Ready(Ok(())),
        }
    }
}

/// Everything that is read, a line that was too long as its length and its ends.
async fn read(mut lines: Lines<impl AsyncRead + Unpin>) -> Vec<String> {
    let mut all = Vec::new();
    while let Some(line) = lines.next().await {
        all.push(match line {
            Ok(line) => String::from_utf8(line.to_vec()).unwrap(),
            Err(LineError::TooLong { length, cap: _, head, tail }) => {
                let (head, tail) = (head.first().copied(), tail.last().copied());
                format!("<{length} {}{}>", char::from(head.unwrap()), char::from(tail.unwrap()))
            }
            Err(LineError::Read(error)) => format!("<{:?}>", error.kind()),
        });
    }
    all
}

async fn check(input: &str, expected: &[&str]) {
    for piece in [1, 2, 3, 7, 4096] {
        let dribble = Dribble { bytes: input.as_bytes(), piece, end: None };
        assert_eq!(read(Lines::with_cap(dribble, 8)).await, expected, "{input:?} by {piece}");
    }
}

#[tokio::test]
async fn a_message_ends_with_its_line_or_with_the_stream() {
    check("", &[]).await;
    check("one\ntwo\n", &["one", "two"]).await;
    check("one\r\ntwo\r\n", &["one", "two"]).await;
    check("one\ntwo", &["one", "two"]).await;
    check("one\ntwo\r", &["one", "two"]).await;
}

#[tokio::test]
async fn an_empty_line_is_no_message() {
    check("\n\r\n\n\none\n\n\r\ntwo\n\n", &["one", "two"]).await;
    check("\r", &[]).await;
}

#[tokio::test]
async fn a_carriage_return_inside_a_message_stays() {
    check("a\rb\n\rc\r\r\n", &["a\rb", "\rc\r"]).await;
}

#[tokio::test]
async fn a_line_may_be_exactly_as_long_as_allowed() {
    check("12345678\n12345678\r\n12345678", &["12345678", "12345678", "12345678"]).await;
    check("12345678\r", &["12345678"]).await;
}

#[tokio::test]
async fn a_line_that_is_too_long_is_reported_once_and_the_next_one_arrives() {
    check("123456789\nnext\n", &["<9 19>", "next"]).await;
    check("a1234567890123456789z\nnext\n", &["<21 az>", "next"]).await;
    check("ok\na1234567890123456789z\nb1234567890123456789y", &["ok", "<21 az>", "<21 by>"]).await;
}

#[tokio::test]
async fn a_broken_stream_is_reported_once_and_nothing_follows() {
    let dribble = Dribble { bytes: b"one\nhalf", piece: 3, end: Some(io::ErrorKind::ConnectionReset) };
    assert_eq!(read(Lines::new(dribble)).await, ["one", "<ConnectionReset>"]);
}

#[tokio::test]
async fn both_ends_of_a_line_that_was_too_long_are_kept_to_name_it_by() {
    let line = format!(r#"{{"id":7,"result":"{}","jsonrpc":"2.0"}}"#, "x".repeat(LINE_CAP));
    let mut lines = Lines::new(line.as_bytes());
    let Some(Err(LineError::TooLong { length, cap, head, tail })) = lines.next().await else {
        panic!("the line was taken");
    };
    assert_eq!((length, cap, head.len(), tail.len()), (line.len(), LINE_CAP, EDGE, EDGE));
    assert!(head.starts_with(br#"{"id":7,"result":"xxx"#));
    assert!(tail.ends_with(br#"xxx","jsonrpc":"2.0"}"#));
}

#[tokio::test]
async fn whoever_stops_waiting_loses_nothing() {
    let (mut peer, ours) = tokio::io::duplex(64);
    let mut lines = Lines::new(ours);
    for part in ["{\"id\"", ":1", "}"] {
        peer.write_all(part.as_bytes()).await.unwrap();
        tokio::select! {
            biased;
            line = lines.next() => panic!("{line:?} before its end"),
            () = tokio::task::yield_now() => {}
        }
    }
    peer.write_all(b"\n").await.unwrap();
    assert_eq!(lines.next().await.unwrap().unwrap(), b"{\"id\":1}");
}

#[tokio::test]
async fn an_endless_line_needs_no_endless_memory() {
    const CAP: usize = 64 * 1024;
    let endless = tokio::io::repeat(b'x').take(64 * 1024 * 1024).chain(&b"\nnext\n"[..]);
    let mut lines = Lines::with_cap(endless, CAP);
    assert!(lines.next().await.unwrap().is_err());
    assert!(lines.buffer.capacity() <= 3 * CAP, "{} bytes", lines.buffer.capacity());
    assert_eq!(lines.next().await.unwrap().unwrap(), b"next");
}

#[tokio::test]
async fn the_memory_of_a_huge_line_is_given_back() {
    let huge = "x".repeat(LINE_CAP);
    let input = format!("{huge}\nsmall\n");
    // Piece by piece, as a pipe gives it.
    let mut lines = Lines::new(Dribble { bytes: input.as_bytes(), piece: 65536, end: None });
    assert_eq!(lines.next().await.unwrap().unwrap(), huge.as_bytes());
    assert!(lines.buffer.capacity() >= LINE_CAP);
    assert_eq!(lines.next().await.unwrap().unwrap(), b"small");
    assert!(lines.next().await.is_none());
    assert!(lines.buffer.capacity() <= KEPT_CAPACITY, "{} bytes", lines.buffer.capacity());
}

#[tokio::test]
async fn a_process_that_writes_five_mebibytes_in_one_line_is_read_on() {
    let script = "head -c 5242880 /dev/zero | tr '\\0' x; echo; echo next";
    let mut child = Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
    let lines = Lines::new(child.stdout.take().unwrap());
    assert_eq!(read(lines).await, ["<5242880 xx>", "next"]);
    assert!(child.wait().await.unwrap().success());
}
