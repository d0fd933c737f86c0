//! A mock server over HTTP that was told to misbehave, seen from as near as a socket.
#![cfg(test)]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use yesgate_testkit::mock_http::End;
use yesgate_testkit::{DEADLINE, Misbehaviour, MockEras, MockHttp, On, WebHost, text, until};

/// A server that misbehaves so on every call.
fn server(how: Misbehaviour) -> MockHttp {
    let server = MockHttp::start(MockEras::Both);
    server.misbehave(On::Method("tools/call"), how);
    server
}

/// Makes a call on a connection of its own.
fn connect(server: &MockHttp) -> TcpStream {
    let host = WebHost::new(server.url());
    let meta = host.modern_meta();
    let params = json!({"name": "read_note", "arguments": {"id": "a"}, "_meta": meta});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let address = server.url().replace("http://", "").replace("/mcp", "");
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let head = "POST /mcp HTTP/1.1\r\nHost: mock\r\nContent-Type: application/json\r\n\
                Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
                Mcp-Method: tools/call\r\nMcp-Name: read_note\r\n";
    write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    stream
}

/// Reads until these words came; with none, to the end.
fn read(stream: &mut TcpStream, words: &str) -> String {
    let mut all = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let so_far = String::from_utf8_lossy(&all).into_owned();
        if !words.is_empty() && so_far.contains(words) {
            return so_far;
        }
        match stream.read(&mut piece) {
            Ok(0) => {
                assert!(words.is_empty(), "ended without `{words}`: {so_far}");
                return so_far;
            }
            Ok(length) => all.extend_from_slice(&piece[..length]),
            Err(error) if words == RESET => {
                assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
                return so_far;
            }
            Err(error) => panic!("{error} after {so_far}"),
        }
    }
}

/// In place of words: the connection is reset.
const RESET: &str = "\0reset";

fn call(server: &MockHttp, words: &str) -> String {
    read(&mut connect(server), words)
}

#[test]
fn what_never_ends_is_under_way_until_the_client_leaves() {
    for (how, words) in [
        (Misbehaviour::NeverAnswer, ""),
        (Misbehaviour::HangAfterHead, "Content-Length"),
        (Misbehaviour::HangInStream, "text/event-stream"),
        (Misbehaviour::Drip(Duration::from_millis(1)), "\r\n\r\n{\"id"),
        (Misbehaviour::HugeLength, "Content-Length: 10000000000\r\n\r\n{"),
        (Misbehaviour::EndlessBody, "xxxx"),
        (Misbehaviour::EndlessComments, "\n: xxxx"),
        (Misbehaviour::EndlessEvent, "data: xxxx"),
        (Misbehaviour::EndlessNotices, "notifications/message"),
    ] {
        let server = server(how.clone());
        let mut stream = connect(&server);
        if words.is_empty() {
            server.wait_for("the call", |arrived| arrived.method == "POST");
        } else {
            read(&mut stream, words);
        }
        assert_eq!(server.requests()[0].end, End::Open, "{how:?}");
        drop(stream);
        until("the client is gone", || (server.requests()[0].end == End::ClientLeft).then_some(()));
    }
}

#[test]
fn the_wrong_things_it_says_are_on_the_wire() {
    for (how, words) in [
        (Misbehaviour::ErrorPage, "500 Internal Server Error"),
        (Misbehaviour::PlainText, "It worked!"),
        (Misbehaviour::Gzip, "Content-Encoding: gzip"),
        (Misbehaviour::Redirect("http://127.0.0.1:1/".into()), "Location: http://127.0.0.1:1/"),
        (Misbehaviour::Unauthorized("Bearer realm=\"x\"".into()), "WWW-Authenticate: Bearer realm"),
        (Misbehaviour::WrongId, "\"id\":1000001"),
        (Misbehaviour::TwiceOnTheWire, "the second answer"),
        (Misbehaviour::AfterTheEnd, "0\r\n\r\nHTTP/1.1 200 OK"),
        (Misbehaviour::Huge(100), &"x".repeat(100)),
        (Misbehaviour::Status(204), "204 No Content"),
    ] {
        let server = server(how);
        call(&server, words);
        assert_eq!(server.calls().len(), 1);
    }
}

#[test]
fn it_breaks_off_in_the_middle() {
    let whole = call(&server(Misbehaviour::Drip(Duration::ZERO)), "complete\"}}");
    let broken = call(&server(Misbehaviour::CloseMidBody), "");
    assert!(broken.contains("\r\n\r\n{") && broken.len() < whole.len(), "{broken}");
    assert!(call(&server(Misbehaviour::CloseMidEvent), "").contains("data: {"));
    assert_eq!(call(&server(Misbehaviour::Close), ""), "");
    assert!(call(&server(Misbehaviour::Garbage), "").contains("this is no HTTP"));
    assert_eq!(call(&server(Misbehaviour::Reset), RESET), "");
    assert!(call(&server(Misbehaviour::ResetMidBody), RESET).contains("\r\n\r\n{"));
}

#[tokio::test]
async fn its_streams_have_an_answer_too_many_too_few_or_to_nobody() {
    for (how, ids) in [
        (Misbehaviour::Twice, json!([1, 1])),
        (Misbehaviour::WrongIdFirst, json!([1_000_001, 1])),
        (Misbehaviour::EndUnanswered, json!([])),
    ] {
        let server = server(how);
        let host = WebHost::new(server.url());
        let mut answer = host.draft_call("read_note", json!({"id": "a"})).send().await;
        let mut seen = Vec::new();
        while let Some(message) = answer.next().await {
            seen.push(message["id"].clone());
        }
        assert_eq!(Value::from(seen), ids, "{}", answer.wire());
    }
}

#[tokio::test]
async fn its_gzip_is_one_and_its_broken_json_is_none() {
    let host = |server: &MockHttp| WebHost::new(server.url());
    let packed = server(Misbehaviour::Gzip);
    let body = host(&packed).draft_call("bytes", json!({"count": 70_000})).send().await.rest().await;
    assert_eq!(&body[..3], [0x1f, 0x8b, 8]);
    assert_eq!(u32::from_le_bytes(body[body.len() - 4..].try_into().unwrap()) as usize, body.len() - 28);
    let broken = server(Misbehaviour::BrokenJson);
    let body = host(&broken).draft_call("read_note", json!({})).send().await.rest().await;
    assert!(serde_json::from_slice::<Value>(&body).is_err());
}

#[tokio::test]
async fn it_forgets_the_session_in_which_it_is_called() {
    let server = server(Misbehaviour::ForgetSession);
    let mut host = WebHost::new(server.url());
    host.initialize().await;
    assert_eq!(host.draft_call("read_note", json!({})).send().await.status(), 404);
    assert_eq!(host.draft("tools/list", json!({})).send().await.status(), 404);
}

#[tokio::test]
async fn an_answer_can_be_fetched_after_its_stream_was_closed() {
    let server = server(Misbehaviour::Poll);
    let mut host = WebHost::new(server.url());
    host.initialize().await;
    let mut stream = host.draft_call("read_note", json!({"id": "a"})).send().await;
    let event = stream.event().await.unwrap();
    assert_eq!((event.retry.as_deref(), event.data.as_str()), (Some("10"), ""));
    assert_eq!(stream.event().await, None);
    let mut rest = host.get().header("last-event-id", &event.id.unwrap()).send().await;
    assert_eq!(text(&rest.next().await.unwrap()), "the first note");
    assert_eq!(host.get().header("last-event-id", "poll-9").send().await.status(), 404);
}
