//! What does not come in, and what no request by another name does.

use std::io::Write as _;
use std::net::TcpStream;

use serde_json::{Value, json};
use yesgate_testkit::{RestAnswer, eventually};

use super::{Play, assert_refused};

/// H3, H8: no method but the one that a path has does anything, whatever the path.
#[tokio::test]
async fn no_other_method_decides_or_runs_anything() {
    let play = Play::new();
    let host = play.host();
    let held = host.call("notes", "delete_note", json!({"id": "a"})).await;
    let (intent, token) = (held.text_of("intent_id"), held.text_of("confirm_token"));
    let with_token = json!({"id": "a", "confirm_token": token}).to_string();
    let own = json!({"intent_id": intent}).to_string();
    let paths = [
        ("POST", "/api/tools/notes/delete_note".to_owned(), &with_token),
        ("POST", "/api/tools/notes/yesgate_approve".to_owned(), &own),
        ("POST", "/api/consent/mint".to_owned(), &own),
        ("POST", "/api/consent/consume".to_owned(), &with_token),
        ("POST", format!("/api/consent/{intent}/outcome"), &own),
        ("GET", format!("/api/intents/{intent}"), &with_token),
        ("GET", "/api/openapi.json".to_owned(), &own),
    ];
    for (right, path, body) in &paths {
        for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "get"] {
            if method == *right {
                continue;
            }
            let draft = host.draft(method, path).body((*body).clone());
            let answer = RestAnswer::read(draft.send().await).await;
            assert_eq!((answer.status, answer.header("allow")), (405, Some(*right)), "{method} {path}");
        }
        if *right == "GET" {
            let answer = RestAnswer::read(host.draft("GET", path).body((*body).clone()).send().await).await;
            assert_eq!(answer.status, 200, "{path}: what a GET carries is not looked at");
        }
    }
    assert_eq!(play.stage.shown(&intent)["state"], "pending");
    assert_eq!(play.ran(), 0);
    play.finish(0);
}

/// H8: what a form or a script of another site can send is not taken.
#[tokio::test]
async fn only_json_that_is_said_to_be_json_is_taken() {
    let play = Play::new();
    let host = play.host();
    let paths = ["/api/tools/notes/delete_everything", "/api/consent/mint", "/api/consent/consume"];
    for path in paths {
        for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""]
        {
            let draft = host.draft("POST", path).body("{}").header("content-type", kind);
            assert_refused(&RestAnswer::read(draft.send().await).await, 415, "unsupported_media_type");
        }
        let none = host.draft("POST", path).body("{}").without("content-type");
        assert_eq!(none.send().await.status(), 415);
        for (name, value) in
            [("origin", "https://evil.example"), ("sec-fetch-site", "cross-site"), ("host", "evil.example")]
        {
            let foreign = host.draft("POST", path).body("{}").header(name, value).send().await;
            assert_eq!(foreign.status(), 403, "{name}");
        }
    }
    assert_eq!(play.ran(), 0);
    play.finish(0);
}

/// H8: a body that is no call, or could be read in two ways, is 400, and cannot change the message around it.
#[tokio::test]
async fn a_body_that_is_not_one_plain_object_is_400() {
    let play = Play::new();
    let host = play.host();
    for body in [
        "",
        "[]",
        "null",
        "\"{}\"",
        "{",
        "{} {}",
        "{}}",
        r#"{},"name":"delete_everything""#,
        r#"{}},"params":{"name":"delete_everything","arguments":{}"#,
        r#"{"id":"a","id":"b"}"#,
        r#"{"id":"a","ID":"b"}"#,
        r#"{"id":1e999}"#,
        r#"{"id":9007199254740993}"#,
        r#"{"confirm_token":7}"#,
        r#"{"__mode":"root"}"#,
        r#"{"__channel":"sms"}"#,
    ] {
        let answer = host.draft("POST", "/api/tools/notes/delete_note").body(body.to_owned()).send().await;
        assert_refused(&RestAnswer::read(answer).await, 400, "invalid_call");
    }
    let deep = format!("{}1{}", r#"{"a":"#.repeat(100), "}".repeat(100));
    let answer = host.draft("POST", "/api/tools/notes/delete_note").body(deep).send().await;
    assert_eq!(answer.status(), 400);
    let large = json!({"id": "x".repeat(2 << 20)}).to_string();
    let answer = host.draft("POST", "/api/tools/notes/delete_note").body(large).send().await;
    assert_eq!(answer.status(), 413);
    assert_eq!(play.ran(), 0);
    play.finish(0);
}

/// H8: there is nothing where there is no server, no tool or no path.
#[tokio::test]
async fn what_is_not_there_is_404() {
    let play = Play::new();
    let host = play.host();
    for (path, code) in [
        ("/api/tools/nobody/read_note", "no_such_server"),
        ("/api/tools/notes/nothing", "no_such_tool"),
        ("/api/tools/notes/read%20note", "no_such_tool"),
        ("/api/tools/notes/%C3%A4", "no_such_tool"),
        ("/api/tools/n%2Fotes/read_note", "not_found"),
    ] {
        assert_refused(&host.post(path, json!({"id": "a"})).await, 404, code);
    }
    for path in [
        "/api",
        "/api/",
        "/api/tools",
        "/api/tools/notes",
        "/api/tools/notes/read_note/",
        "/api/consent",
        "/approve/",
    ] {
        assert_eq!(host.post(path, json!({"id": "a"})).await.status, 404, "{path}");
    }
    assert_eq!(play.ran(), 0);
    play.finish(0);
}

/// Without a key that counts nobody comes in, and is told what to show.
#[tokio::test]
async fn whoever_has_no_key_is_401() {
    let (play, [ann]) = Play::keyed("", [("ann", "agent")]);
    assert_eq!(ann.call("notes", "read_note", json!({"id": "a"})).await.status, 200);
    for host in [play.host(), play.host().bearer("ygk_made-up")] {
        for (method, path) in [
            ("POST", "/api/tools/notes/read_note"),
            ("POST", "/api/consent/mint"),
            ("POST", "/api/consent/consume"),
            ("POST", "/api/consent/intent_040g2081040g2081/outcome"),
            ("GET", "/api/intents/intent_040g2081040g2081"),
            ("GET", "/api/openapi.json"),
        ] {
            let answer = RestAnswer::read(host.draft(method, path).body("{}").send().await).await;
            assert_refused(&answer, 401, "unauthorized");
            assert!(answer.header("www-authenticate").is_some_and(|words| words.starts_with("Bearer")));
            assert_ne!(answer.body["message"], Value::Null);
        }
    }
    play.finish(0);
}

/// FC-27: a caller that has too much under way is told to come back.
#[tokio::test]
async fn whoever_takes_too_much_is_429() {
    let play =
        Play::with("[serve.limits]\nbody = \"64KiB\"\nbytes = \"1MiB\"\nbytes_per_caller = \"64KiB\"\n", &[]);
    let host = play.host();
    let address = play.gateway.url().strip_prefix("http://").unwrap().to_owned();
    let head = format!(
        "POST /api/tools/notes/read_note HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         content-length: 65536\r\n\r\n"
    );
    let busy = eventually("the share is taken", async || {
        // It announces all that one caller may take, and sends nothing of it. Whoever comes second is turned away.
        let mut slow = TcpStream::connect(&address).unwrap();
        slow.write_all(head.as_bytes()).unwrap();
        let answer = host.call("notes", "read_note", json!({"id": "a"})).await;
        (answer.status != 200).then_some(answer)
    })
    .await;
    assert_refused(&busy, 429, "busy");
    assert_eq!(busy.header("retry-after"), Some("1"));
    play.finish(0);
}
