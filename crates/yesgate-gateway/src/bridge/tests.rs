//! What must change between the eras changes, and nothing else does.

use bytes::Bytes;
use yesgate_core::caller::Caller;
use yesgate_core::intent::ResultKind;

use super::{Crossing, answer};
use crate::era::Era;
use crate::hearing::LogLevel;
use crate::raw::{Params, raw};
use crate::talk::{Party, PartyKey};
use crate::upstream::Answer;

fn party(era: Era) -> Party {
    Party {
        key: PartyKey("p".into()),
        caller: Caller {
            org: "acme".parse().unwrap(),
            principal: "alice".parse().unwrap(),
            client: "c".parse().unwrap(),
        },
        era,
        version: "v".into(),
        capabilities: raw(r#"{"roots":{}}"#.into()),
        info: Some(raw(r#"{"name":"c"}"#.into())),
        client: None,
        session: None,
    }
}

#[track_caller]
fn check_params(client: Era, server: Era, params: &str, expected: &str) {
    let party = party(client);
    let crossing = Crossing { party: &party, server, log: LogLevel::named("info") };
    let params = crossing.params(Some(&Params::from(raw(params.into()))), None);
    assert_eq!(std::str::from_utf8(&params).unwrap(), expected);
}

#[track_caller]
fn check_answer(
    server: Era,
    client: Era,
    method: &str,
    given: (ResultKind, &str),
    expected: (ResultKind, &str),
) {
    let given = Answer { kind: given.0, json: Bytes::from(given.1.to_owned()) };
    let found = answer(method, given, server, client);
    assert_eq!((found.kind, std::str::from_utf8(&found.json).unwrap()), expected);
}

#[test]
fn within_one_era_nothing_is_copied() {
    let party = party(Era::Modern);
    let crossing = Crossing { party: &party, server: Era::Modern, log: None };
    let message = Bytes::from_static(br#"{"method":"tools/call","params":{"name":"x"},"id":1}"#);
    let read = crate::envelope::Envelope::parse(&message).unwrap();
    let params =
        crossing.params(read.params.map(|params| Params::within(&message, params.into())).as_ref(), None);
    assert_eq!(params, br#"{"name":"x"}"#.as_slice());
    assert!(message.as_ptr_range().contains(&params.as_ptr()));
    assert_eq!(crossing.params(None, None), b"{}".as_slice());
}

#[test]
fn within_one_era_not_a_byte_changes() {
    let odd = r#"{ "name":"x" , "_meta":{"io.modelcontextprotocol/logLevel":"info","v":1e2}}"#;
    check_params(Era::Legacy, Era::Legacy, odd, odd);
    check_params(Era::Modern, Era::Modern, odd, odd);
    let odd = r#"{ "content":[] , "ttlMs": 1.0e1 }"#;
    check_answer(
        Era::Legacy,
        Era::Legacy,
        "tools/list",
        (ResultKind::Result, odd),
        (ResultKind::Result, odd),
    );
    check_answer(
        Era::Modern,
        Era::Modern,
        "tools/list",
        (ResultKind::Result, odd),
        (ResultKind::Result, odd),
    );
}

#[test]
fn an_old_client_s_request_says_to_a_new_server_who_it_is() {
    let expected = concat!(
        r#"{"name":"x","_meta":{"progressToken":7,"io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
        r#""io.modelcontextprotocol/clientCapabilities":{"roots":{}},"#,
        r#""io.modelcontextprotocol/clientInfo":{"name":"c"},"io.modelcontextprotocol/logLevel":"info"}}"#
    );
    check_params(Era::Legacy, Era::Modern, r#"{"name":"x","_meta":{"progressToken":7}}"#, expected);
}

#[test]
fn an_old_server_sees_nothing_of_the_new_era() {
    let modern = r#"{"name":"x","requestState":"s","inputResponses":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","traceparent":"t"}}"#;
    check_params(Era::Modern, Era::Legacy, modern, r#"{"name":"x","_meta":{"traceparent":"t"}}"#);
    let modern = r#"{"cursor":"","_meta":{"io.modelcontextprotocol/clientCapabilities":{}}}"#;
    check_params(Era::Modern, Era::Legacy, modern, r#"{"cursor":""}"#);
}

#[test]
fn answers_get_and_lose_what_only_the_new_era_has() {
    use ResultKind::{Error, Result};
    let (old, new) = (Era::Legacy, Era::Modern);
    check_answer(
        old,
        new,
        "tools/call",
        (Result, r#"{"content":[]}"#),
        (Result, r#"{"resultType":"complete","content":[]}"#),
    );
    check_answer(
        old,
        new,
        "tools/list",
        (Result, r#"{"tools":[],"x":1.0}"#),
        (Result, r#"{"resultType":"complete","tools":[],"x":1.0,"ttlMs":0,"cacheScope":"private"}"#),
    );
    check_answer(
        new,
        old,
        "tools/list",
        (Result, r#"{"resultType":"complete","tools":[],"ttlMs":5,"cacheScope":"public"}"#),
        (Result, r#"{"tools":[]}"#),
    );
    check_answer(
        old,
        new,
        "resources/read",
        (Error, r#"{"code":-32002,"message":"m"}"#),
        (Error, r#"{"code":-32602,"message":"m"}"#),
    );
    check_answer(
        old,
        new,
        "tools/call",
        (
            Error,
            r#"{"code":-32042,"message":"m","data":{"elicitations":[{"mode":"url","elicitationId":"e1","url":"https://a.example","message":"go"}]}}"#,
        ),
        (
            Result,
            r#"{"resultType":"input_required","inputRequests":{"e1":{"method":"elicitation/create","params":{"mode":"url","url":"https://a.example","message":"go"}}}}"#,
        ),
    );
}
