//! People, clients and connections that the tests of OAuth start from.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use yesgate_core::caller::Caller;
use yesgate_core::id::{ConnectionId, IntentId, PersonId, SessionId};
use yesgate_core::intent::{Asked, Fresh};
use yesgate_core::oauth::{
    AccessToken, AuthMethod, AuthorizationCode, Challenge, ClientKind, Code, Connection, ConsentSecret,
    DeviceAnswer, DeviceCode, DeviceRequest, Exchange, GrantType, OAuthClient, OAuthClientId, OAuthEvent,
    Parked, ParkedState, Presentation, RefreshToken, Resource, Resources, Scopes, Ticket, UserCode,
};
use yesgate_core::person::{Person, Role, SessionSecret, SignInWay};
use yesgate_core::secret::SecretHash;
use yesgate_ledger::{
    Consent, Exchanged, Issued, Ledger, NewSession, NewTokens, ParkedAnswer, Refreshed, Refreshing,
};

use crate::support::{ask, entropy, fresh, question, t};

pub(crate) const CALLBACK: &str = "http://127.0.0.1:4711/callback";
pub(crate) const HOUR: SignedDuration = SignedDuration::from_hours(1);
pub(crate) const MONTH: SignedDuration = SignedDuration::from_hours(30 * 24);
pub(crate) const MINUTE: SignedDuration = SignedDuration::from_mins(1);
pub(crate) const DAY: i64 = 24 * 60 * 60;

/// Somebody of `acme` who is known and signed in.
pub(crate) async fn somebody(ledger: &Ledger, name: &str, seed: u32) -> (Person, SessionId) {
    let person = person(name, seed);
    ledger.set_person(person.clone(), "the console").await.unwrap().unwrap();
    let session = sign_in(ledger, &person, seed).await;
    (person, session)
}

pub(crate) fn person(name: &str, seed: u32) -> Person {
    Person {
        id: PersonId::from_entropy(entropy(seed)),
        name: name.parse().unwrap(),
        org: "acme".parse().unwrap(),
        mail: None,
        role: Role::Owner,
        groups: BTreeSet::new(),
        added_at: t(0),
        removed_at: None,
    }
}

pub(crate) async fn sign_in(ledger: &Ledger, person: &Person, seed: u32) -> SessionId {
    let secret = SessionSecret::from_entropy(entropy(seed)).hash();
    let new = NewSession { id: SessionId::from_entropy(entropy(seed)), secret, browser: "Firefox".into() };
    ledger.begin_session(&person.id, SignInWay::Console, new).await.unwrap().unwrap().id
}

pub(crate) fn client_id(seed: u32) -> OAuthClientId {
    OAuthClientId::from_entropy(entropy(seed))
}

/// A client that has just registered.
pub(crate) fn client(seed: u32, now: Timestamp) -> OAuthClient {
    OAuthClient {
        id: client_id(seed),
        kind: ClientKind::Registered,
        presentation: Presentation { name: Some("Robot".into()), ..Presentation::default() },
        redirect_uris: vec![CALLBACK.into()],
        method: AuthMethod::None,
        method_was_chosen: true,
        grants: [GrantType::AuthorizationCode, GrantType::RefreshToken].into(),
        scope: None,
        secret: None,
        management: None,
        created_at: now,
        used_at: now,
        is_bound: false,
        ended_at: None,
    }
}

pub(crate) async fn register(ledger: &Ledger, seed: u32) -> OAuthClientId {
    let made = client(seed, ledger.now());
    ledger.store_client(made, 1000).await.unwrap().unwrap();
    client_id(seed)
}

pub(crate) fn challenge(letter: char) -> Challenge {
    Challenge::read(&letter.to_string().repeat(43)).unwrap()
}

pub(crate) fn resources(texts: &[&str]) -> Resources {
    Resources(texts.iter().map(|text| Resource::parse(text).unwrap()).collect())
}

pub(crate) fn everywhere() -> Resources {
    resources(&["https://gate.example.org/api/mcp"])
}

pub(crate) fn ticket(seed: u32) -> SecretHash {
    Ticket::from_entropy(entropy(seed)).hash()
}

pub(crate) fn browser(seed: u32) -> SecretHash {
    ConsentSecret::from_entropy(entropy(seed)).hash()
}

pub(crate) fn code(seed: u32) -> SecretHash {
    AuthorizationCode::from_entropy(entropy(seed)).hash()
}

pub(crate) fn access(seed: u32) -> SecretHash {
    AccessToken::from_entropy(entropy(seed)).hash()
}

pub(crate) fn refresh(seed: u32) -> SecretHash {
    RefreshToken::from_entropy(entropy(seed)).hash()
}

pub(crate) fn device(seed: u32) -> SecretHash {
    DeviceCode::from_entropy(entropy(seed)).hash()
}

pub(crate) fn typed(seed: u32) -> SecretHash {
    UserCode::typed(&format!("CODE{seed}")).hash()
}

pub(crate) fn request(client: &OAuthClientId, now: Timestamp) -> Parked {
    Parked {
        client: client.clone(),
        redirect_uri: CALLBACK.into(),
        state: Some("xyz".into()),
        challenge: challenge('a'),
        scopes: Scopes::read("mcp:call mcp:read"),
        resources: everywhere(),
        browser: browser(1),
        signed_in_since: None,
        made_at: now,
        state_of: ParkedState::Waiting,
    }
}

pub(crate) fn device_request(client: &OAuthClientId, now: Timestamp) -> DeviceRequest {
    DeviceRequest {
        client: client.clone(),
        scopes: Scopes::read("mcp:call mcp:read"),
        resources: everywhere(),
        made_at: now,
        interval: DeviceRequest::INTERVAL,
        polled_at: None,
        answer: DeviceAnswer::Waiting,
    }
}

pub(crate) fn connection_id(seed: u32) -> ConnectionId {
    ConnectionId::from_entropy(entropy(seed))
}

pub(crate) fn caller(person: &Person, client: &OAuthClientId) -> Caller {
    Caller { org: person.org.clone(), principal: person.name.clone(), client: client.client().unwrap() }
}

pub(crate) fn connection(person: &Person, client: &OAuthClientId, seed: u32, now: Timestamp) -> Connection {
    Connection {
        id: connection_id(seed),
        person: person.id.clone(),
        caller: caller(person, client),
        client: client.clone(),
        client_name: Some("Robot".into()),
        verified_host: None,
        redirect_uri: Some(CALLBACK.into()),
        scopes: Scopes::read("mcp:call mcp:read"),
        resources: everywhere(),
        made_at: now,
    }
}

pub(crate) fn code_for(connection: &Connection, now: Timestamp) -> Code {
    Code {
        connection: connection.id.clone(),
        client: connection.client.clone(),
        redirect_uri: connection.redirect_uri.clone().unwrap(),
        challenge: challenge('a'),
        resources: connection.resources.clone(),
        ends_at: now + MINUTE,
        used_at: None,
    }
}

/// A yes to the request that [`request`] makes, with the connection and the code of this seed.
pub(crate) fn yes(ledger: &Ledger, by: &(Person, SessionId), client: &OAuthClientId, seed: u32) -> Consent {
    let connection = connection(&by.0, client, seed, ledger.now());
    let made = code_for(&connection, ledger.now());
    Consent::Yes(Box::new(connection), Some((code(seed), made)), by.1.clone())
}

/// Has somebody allow a client something: the connection and the code of this seed.
pub(crate) async fn allow(ledger: &Ledger, by: &(Person, SessionId), client: &OAuthClientId, seed: u32) {
    ledger.park(ticket(seed), request(client, ledger.now()), 1000).await.unwrap().unwrap();
    let said = ledger.answer_parked(ticket(seed), browser(1), yes(ledger, by, client, seed)).await.unwrap();
    assert_eq!(said, ParkedAnswer::Done);
}

pub(crate) fn exchange(client: &OAuthClientId) -> Exchange {
    Exchange {
        client: client.clone(),
        redirect_uri: Some(CALLBACK.into()),
        challenge: challenge('a'),
        resources: Resources::default(),
    }
}

pub(crate) fn new_tokens(seed: u32) -> NewTokens {
    NewTokens { access: access(seed), access_for: HOUR, refresh: Some((refresh(seed), MONTH)), longest: None }
}

/// Connects a client whole: the connection, the code and the tokens of this seed.
pub(crate) async fn connect(
    ledger: &Ledger,
    by: &(Person, SessionId),
    client: &OAuthClientId,
    seed: u32,
) -> Issued {
    allow(ledger, by, client, seed).await;
    match ledger.exchange(code(seed), exchange(client), new_tokens(seed)).await.unwrap() {
        Exchanged::Tokens(issued) => issued,
        other @ (Exchanged::Fault(_) | Exchanged::Unknown) => panic!("no tokens: {other:?}"),
    }
}

/// A refresh token that is presented, and the seed of what comes of it.
pub(crate) fn refreshing(client: &OAuthClientId, token: u32, new: u32) -> Refreshing {
    Refreshing {
        token: refresh(token),
        client: client.clone(),
        scopes: None,
        resources: Resources::default(),
        new: new_tokens(new),
        sealed: new.to_be_bytes().to_vec(),
        window: MINUTE,
    }
}

pub(crate) async fn refreshed(ledger: &Ledger, client: &OAuthClientId, token: u32, new: u32) -> Refreshed {
    ledger.refresh(refreshing(client, token, new)).await.unwrap()
}

/// Whether an access token lets somebody in.
pub(crate) async fn is_in(ledger: &Ledger, seed: u32) -> bool {
    ledger.admitted(access(seed)).await.unwrap().is_some()
}

/// Asks a question in the name of a caller.
pub(crate) async fn ask_as(ledger: &Ledger, caller: &Caller, seed: u32) -> IntentId {
    let mut asked = question(&format!("tool_{seed}"), &json!({}));
    asked.binding.caller = caller.clone();
    let Fresh { id, .. } = fresh(seed);
    match ask(ledger, seed, asked).await.unwrap() {
        Asked::Open(_) => id,
        other @ (Asked::Claimed(..) | Asked::Refused(_)) => panic!("not open: {other:?}"),
    }
}

/// What the audit trail says of clients and connections.
pub(crate) async fn steps(ledger: &Ledger) -> Vec<OAuthEvent> {
    let rows = ledger.audit(1, 10_000).await.unwrap();
    let entries = rows.iter().map(|row| row.entry().unwrap().event);
    entries
        .filter_map(|event| match serde_json::to_value(&event).unwrap() {
            value if value["event"] == "oauth" => Some(serde_json::from_value(value).unwrap()),
            _ => None,
        })
        .collect()
}

/// The ends that the audit trail tells of, in words.
pub(crate) async fn ends(ledger: &Ledger) -> Vec<String> {
    let steps = steps(ledger).await;
    let values = steps.iter().map(|step| serde_json::to_value(step).unwrap());
    values
        .filter(|value| value["step"] == "ended")
        .map(|value| value["why"].as_str().unwrap().into())
        .collect()
}
