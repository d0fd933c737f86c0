//! Codes, refresh tokens, requests and connections.

use std::collections::BTreeSet;

use jiff::SignedDuration;

use super::super::{
    Access, Challenge, Code, CodeFault, Connection, DeviceAnswer, DeviceRequest, End, Exchange, Parked,
    ParkedState, Poll, Presented, Refresh, Resources, Rotated, Scopes,
};
use super::{challenge, client, code, connection, exchange, resources, t};
use crate::id::ConnectionId;
use crate::person::{Person, Role};
use crate::secret::SecretHash;

/// O-T3: each thing that must fit is looked at, and a code that fits is exchanged until it is too old.
#[test]
fn a_code_is_exchanged_where_all_fits() {
    assert_eq!(code().check(&exchange(), t(59)), Ok(()));
    assert_eq!(code().check(&exchange(), t(60)), Err(CodeFault::Old));
    let said = Exchange { redirect_uri: Some("http://127.0.0.1/".into()), ..exchange() };
    assert_eq!(code().check(&said, t(0)), Ok(()));
    for other in ["http://127.0.0.1", "http://127.0.0.1/a", "HTTP://127.0.0.1/"] {
        let said = Exchange { redirect_uri: Some(other.into()), ..exchange() };
        assert_eq!(code().check(&said, t(0)), Err(CodeFault::Redirect), "{other}");
    }
    let below = Exchange { resources: resources(&["https://gate.example/api/mcp/x"]), ..exchange() };
    assert_eq!(code().check(&below, t(0)), Ok(()));
    let two = resources(&["https://gate.example/api/mcp", "https://gate.example/mcp/files"]);
    assert_eq!(code().check(&Exchange { resources: two, ..exchange() }, t(0)), Err(CodeFault::Resource));
}

/// O-T3, O-T4: what comes before what. A stranger is told that the code is not theirs, whatever else is wrong; a code that
/// comes back is a replay, however old; and only where all else fits is the verifier looked at, which uses the code up.
#[test]
fn the_first_thing_that_does_not_fit_is_named() {
    let mut used = Code { used_at: Some(t(1)), ..code() };
    let mut wrong = Exchange {
        client: client(2),
        redirect_uri: Some("http://elsewhere/".into()),
        challenge: challenge('b'),
        resources: resources(&["https://elsewhere.example"]),
    };
    assert_eq!(used.check(&wrong, t(99)), Err(CodeFault::OtherClient));
    wrong.client = client(1);
    assert_eq!(used.check(&wrong, t(99)), Err(CodeFault::Replayed));
    used.used_at = None;
    assert_eq!(used.check(&wrong, t(99)), Err(CodeFault::Old));
    assert_eq!(used.check(&wrong, t(0)), Err(CodeFault::Redirect));
    wrong.redirect_uri = None;
    assert_eq!(used.check(&wrong, t(0)), Err(CodeFault::Resource));
    wrong.resources = Resources::default();
    assert_eq!(used.check(&wrong, t(0)), Err(CodeFault::Verifier));
}

/// O-A3: a challenge is 43 letters of base64url.
#[test]
fn a_challenge_has_one_form() {
    assert!(Challenge::read("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM").is_some());
    let short = "a".repeat(42);
    let long = "a".repeat(44);
    let plus = format!("{short}+");
    let padded = format!("{short}=");
    let foreign = format!("{}é", "a".repeat(41));
    for text in ["", &short, &long, &plus, &padded, &foreign] {
        assert!(Challenge::read(text).is_none(), "{text}");
    }
    assert!(challenge('a').is(&challenge('a')) && !challenge('a').is(&challenge('b')));
}

fn token(rotated: Option<(i64, bool)>) -> Refresh {
    let rotated = rotated.map(|(at, successor_used)| Rotated { at: t(at), sealed: vec![1], successor_used });
    Refresh { connection: ConnectionId::from_entropy([1; 32]), generation: 1, ends_at: t(1000), rotated }
}

/// O-F1, O-F3: the windows of a refresh token, at the second before and at the second itself.
#[test]
fn a_refresh_token_is_used_once_and_asked_about_for_a_minute() {
    let minute = SignedDuration::from_secs(60);
    let table = [
        (token(None), 999, Presented::Rotate),
        (token(None), 1000, Presented::Idle),
        (token(Some((100, false))), 100, Presented::Again),
        (token(Some((100, false))), 159, Presented::Again),
        (token(Some((100, false))), 160, Presented::Reused),
        (token(Some((100, true))), 101, Presented::Reused),
        (token(Some((100, false))), 5000, Presented::Reused),
    ];
    for (token, second, expected) in table {
        assert_eq!(token.present(minute, t(second)), expected, "{token:?} at {second}");
    }
    let at_once = token(Some((100, false))).present(SignedDuration::ZERO, t(100));
    assert_eq!(at_once, Presented::Reused, "where there is no window, there is none");
}

fn device() -> DeviceRequest {
    DeviceRequest {
        client: client(1),
        scopes: Scopes::read("mcp:read mcp:call"),
        resources: resources(&["https://gate.example/api/mcp"]),
        made_at: t(0),
        interval: DeviceRequest::INTERVAL,
        polled_at: None,
        answer: DeviceAnswer::Waiting,
    }
}

/// O-S4: whoever looks too often has to wait longer each time (RFC 8628 §3.5), and whoever waits is not slowed down.
#[test]
fn a_device_that_looks_too_often_is_slowed_down() {
    let mut waiting = device();
    let looks = [
        (0, Poll::Pending, 5),
        (5, Poll::Pending, 5),
        (9, Poll::SlowDown, 10),
        (18, Poll::SlowDown, 15),
        (33, Poll::Pending, 15),
    ];
    for (second, said, interval) in looks {
        assert_eq!(waiting.poll(t(second)), said, "at {second}");
        assert_eq!(waiting.interval, interval, "at {second}");
    }
    for second in 34..100 {
        assert_eq!(waiting.poll(t(second)), Poll::SlowDown);
    }
    assert_eq!(waiting.interval, 60, "and not for ever longer");
}

/// O-S4: a yes is fetched once and in time, a no is heard, and after ten minutes it is too late.
#[test]
fn a_device_fetches_once() {
    let id = ConnectionId::from_entropy([1; 32]);
    let mut allowed = DeviceRequest { answer: DeviceAnswer::Allowed { connection: id.clone() }, ..device() };
    assert!(!allowed.waits(t(1)) && device().waits(t(599)) && !device().waits(t(600)));
    let mut late = allowed.clone();
    assert_eq!(late.poll(t(600)), Poll::Expired);
    assert_eq!(late.poll(t(599)), Poll::Allowed(id.clone()), "being late takes nothing away");
    assert_eq!(allowed.poll(t(1)), Poll::Allowed(id));
    assert_eq!(allowed.poll(t(10)), Poll::Spent);
    assert_eq!(allowed.poll(t(10_000)), Poll::Spent);
    let mut denied = DeviceRequest { answer: DeviceAnswer::Denied, ..device() };
    assert_eq!(denied.poll(t(1)), Poll::Denied);
    assert_eq!(device().poll(t(600)), Poll::Expired);
}

/// O-S4: an answer is to what the device asked for.
#[test]
fn a_device_is_allowed_no_more_than_it_asked() {
    let typed = Connection { redirect_uri: None, ..connection() };
    assert!(device().is_answered_by(&typed));
    assert!(!device().is_answered_by(&connection()), "that one has a browser");
    let wider = Connection { scopes: Scopes::read("admin"), ..typed.clone() };
    assert!(!device().is_answered_by(&wider));
    let elsewhere = Connection { resources: resources(&["https://gate.example"]), ..typed };
    assert!(!device().is_answered_by(&elsewhere));
}

fn parked() -> Parked {
    let Code { client, redirect_uri, challenge, resources, .. } = code();
    Parked {
        client,
        redirect_uri,
        state: None,
        challenge,
        scopes: Scopes::read("mcp:read mcp:call"),
        resources,
        browser: SecretHash(crate::audit::GENESIS),
        signed_in_since: None,
        made_at: t(0),
        state_of: ParkedState::Waiting,
    }
}

/// O-A7, O-K1: a request counts ten minutes, and an answer gives no more than was asked, to nobody else.
#[test]
fn a_request_is_answered_by_what_was_asked() {
    assert!(parked().counts(t(599)) && !parked().counts(t(600)));
    assert!(parked().is_answered_by(&connection(), &code()));
    let others = [
        (Connection { scopes: Scopes::read("mcp:read admin"), ..connection() }, code()),
        (Connection { resources: resources(&["https://gate.example"]), ..connection() }, code()),
        (Connection { client: client(2), ..connection() }, code()),
        (Connection { redirect_uri: None, ..connection() }, code()),
        (connection(), Code { challenge: challenge('b'), ..code() }),
        (connection(), Code { client: client(2), ..code() }),
        (connection(), Code { redirect_uri: "http://elsewhere/".into(), ..code() }),
        (connection(), Code { connection: ConnectionId::from_entropy([2; 32]), ..code() }),
        (connection(), Code { resources: resources(&["https://gate.example"]), ..code() }),
    ];
    for (connection, code) in others {
        assert!(!parked().is_answered_by(&connection, &code), "{connection:?} {code:?}");
    }
}

/// O-S11: whatever of a connection changes, it is another one.
#[test]
fn a_fingerprint_tells_connections_apart() {
    let others = [
        Connection { scopes: Scopes::read("mcp:call"), ..connection() },
        Connection { resources: Resources::default(), ..connection() },
        Connection { client: client(2), ..connection() },
        Connection { made_at: t(1), ..connection() },
        Connection { redirect_uri: None, ..connection() },
        Connection { client_name: Some("Robot".into()), ..connection() },
    ];
    let prints: BTreeSet<_> = others.iter().chain([&connection()]).map(Connection::fingerprint).collect();
    assert_eq!(prints.len(), 7);
    assert_eq!(connection().fingerprint(), connection().fingerprint());
}

/// O-V2: a connection is somebody's only under the name and in the organisation that it calls for.
#[test]
fn a_connection_is_of_whom_it_calls_for() {
    let ada = Person {
        id: connection().person,
        name: "ada".parse().unwrap(),
        org: "acme".parse().unwrap(),
        mail: None,
        role: Role::Viewer,
        groups: BTreeSet::new(),
        added_at: t(0),
        removed_at: None,
    };
    assert!(connection().is_of(&ada));
    assert!(!connection().is_of(&Person { name: "eve".parse().unwrap(), ..ada.clone() }));
    assert!(!connection().is_of(&Person { org: "other".parse().unwrap(), ..ada.clone() }));
    let other = crate::id::PersonId::from_entropy([2; 32]);
    assert!(!connection().is_of(&Person { id: other, ..ada }));
}

/// O-D8: what a token allows is cut to its connection.
#[test]
fn a_token_allows_no_more_than_its_connection() {
    let access = Access {
        connection: connection().id,
        scopes: Scopes::read("mcp:read admin"),
        resources: resources(&["https://gate.example/api/mcp/x", "https://gate.example/other"]),
        ends_at: t(1),
    };
    let cut = access.under(&connection());
    assert_eq!(cut.scopes, Scopes::read("mcp:read"));
    assert_eq!(cut.resources, resources(&["https://gate.example/api/mcp/x"]));
}

/// O-S11: each reason has the same word in the store and in the audit trail.
#[test]
fn an_end_has_one_word() {
    for end in End::ALL {
        assert_eq!(serde_json::to_value(end).unwrap(), end.as_str());
    }
}
