//! The rules of connections, where nothing of the world is needed.

mod promises;
mod resources;
mod secrets;

use jiff::Timestamp;

use super::{Challenge, Code, Connection, Exchange, OAuthClientId, Resource, Resources, Scopes};
use crate::caller::Caller;
use crate::id::{ConnectionId, PersonId};

/// The n-th second of the test's time.
fn t(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

fn resources(texts: &[&str]) -> Resources {
    Resources(texts.iter().map(|text| Resource::parse(text).unwrap()).collect())
}

fn challenge(letter: char) -> Challenge {
    Challenge::read(&letter.to_string().repeat(43)).unwrap()
}

fn client(seed: u8) -> OAuthClientId {
    OAuthClientId::from_entropy([seed; 32])
}

fn connection() -> Connection {
    Connection {
        id: ConnectionId::from_entropy([1; 32]),
        person: PersonId::from_entropy([1; 32]),
        caller: Caller {
            org: "acme".parse().unwrap(),
            principal: "ada".parse().unwrap(),
            client: client(1).client().unwrap(),
        },
        client: client(1),
        client_name: None,
        verified_host: None,
        redirect_uri: Some("http://127.0.0.1/".into()),
        scopes: Scopes::read("mcp:read"),
        resources: resources(&["https://gate.example/api/mcp"]),
        made_at: t(0),
    }
}

fn code() -> Code {
    Code {
        connection: ConnectionId::from_entropy([1; 32]),
        client: client(1),
        redirect_uri: "http://127.0.0.1/".into(),
        challenge: challenge('a'),
        resources: resources(&["https://gate.example/api/mcp"]),
        ends_at: t(60),
        used_at: None,
    }
}

fn exchange() -> Exchange {
    Exchange {
        client: client(1),
        redirect_uri: None,
        challenge: challenge('a'),
        resources: Resources::default(),
    }
}
