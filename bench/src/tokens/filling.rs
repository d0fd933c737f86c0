//! A ledger that knows many clients, some of which somebody has let in.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use jiff::SignedDuration;
use tokio::task::JoinSet;
use yesgate_core::caller::Caller;
use yesgate_core::clock::Clock as _;
use yesgate_core::id::{BootId, ConnectionId, PersonId, SessionId};
use yesgate_core::oauth::{
    AccessToken, AuthMethod, AuthorizationCode, Challenge, ClientKind, Code, Connection, ConsentSecret,
    Exchange, GrantType, OAuthClient, OAuthClientId, Parked, ParkedState, Presentation, RefreshToken,
    Resource, Resources, Scopes, Ticket,
};
use yesgate_core::person::{Person, Role, SessionSecret, SignInWay};
use yesgate_ledger::{Consent, Exchanged, Ledger, NewSession, NewTokens, ParkedAnswer, SecretKey};

use crate::pages::{Counting, Now};

/// A client that somebody has let in, and what it holds.
#[derive(Debug)]
pub(super) struct Connected {
    pub(super) client: String,
    pub(super) refresh: String,
    pub(super) access: String,
    /// From where it comes.
    pub(super) address: String,
}

/// How many clients are known.
pub(super) const CLIENTS: usize = 10_000;

/// Fills a ledger for the gateway at this origin, and lets so many of its clients in.
pub(super) async fn fill(home: &Path, origin: &str, connected: usize) -> Result<Vec<Connected>> {
    let key = SecretKey::load(home, None, &Counting)?;
    let boot = BootId::from_entropy([1; 32]);
    let ledger = Ledger::open(&home.join("ledger.db"), &key, Arc::new(Now), boot).await?;
    let resource = Resource::parse(&format!("{origin}/api/mcp"))?;
    let by = somebody(&ledger).await?;
    let mut under_way = JoinSet::new();
    let mut all = Vec::new();
    for number in 0..CLIENTS {
        if under_way.len() >= AT_ONCE {
            all.extend(under_way.join_next().await.context("nothing is under way")??);
        }
        let (ledger, by, resource) = (ledger.clone(), by.clone(), resource.clone());
        under_way.spawn(async move {
            let client = register(&ledger, number).await?;
            if number >= connected {
                return Ok(None);
            }
            connect(&ledger, &by, client, &resource, number).await.map(Some)
        });
    }
    for done in under_way.join_all().await {
        all.push(done?);
    }
    let all: Vec<Connected> = all.into_iter().flatten().collect();
    ensure!(all.len() == connected, "{} were let in", all.len());
    Ok(all)
}

async fn somebody(ledger: &Ledger) -> Result<(Person, SessionId)> {
    let person = Person {
        id: PersonId::from_entropy([2; 32]),
        name: "owner".parse()?,
        org: "local".parse()?,
        mail: None,
        role: Role::Owner,
        groups: BTreeSet::new(),
        added_at: Now.now(),
        removed_at: None,
    };
    ledger.set_person(person.clone(), "the benchmark").await??;
    let id = SessionId::from_entropy([3; 32]);
    let secret = SessionSecret::from_entropy([3; 32]).hash();
    let new = NewSession { id: id.clone(), secret, browser: "bench".into() };
    ledger.begin_session(&person.id, SignInWay::Console, new).await?.context("nobody is signed in")?;
    Ok((person, id))
}

async fn register(ledger: &Ledger, number: usize) -> Result<OAuthClientId> {
    let id = OAuthClientId::from_entropy(dice(number));
    let client = OAuthClient {
        id: id.clone(),
        kind: ClientKind::Registered,
        presentation: Presentation { name: Some("Bench".into()), ..Presentation::default() },
        redirect_uris: vec![CALLBACK.into()],
        method: AuthMethod::None,
        method_was_chosen: true,
        grants: [GrantType::AuthorizationCode, GrantType::RefreshToken].into(),
        scope: None,
        secret: None,
        management: None,
        created_at: ledger.now(),
        used_at: ledger.now(),
        is_bound: false,
        ended_at: None,
    };
    let most = u32::try_from(CLIENTS)?;
    ensure!(ledger.store_client(client, most).await?.is_ok(), "there is no room for client {number}");
    Ok(id)
}

/// Has somebody let a client in, and fetches its tokens.
async fn connect(
    ledger: &Ledger,
    by: &(Person, SessionId),
    client: OAuthClientId,
    resource: &Resource,
    number: usize,
) -> Result<Connected> {
    let (person, session) = by;
    let (now, dice) = (ledger.now(), dice(number));
    let challenge = Challenge::read(&"a".repeat(43)).context("no challenge")?;
    let (scopes, resources) = (Scopes::read("mcp:call mcp:read"), Resources([resource.clone()].into()));
    let browser = ConsentSecret::from_entropy(dice).hash();
    let parked = Parked {
        client: client.clone(),
        redirect_uri: CALLBACK.into(),
        state: None,
        challenge: challenge.clone(),
        scopes: scopes.clone(),
        resources: resources.clone(),
        browser,
        signed_in_since: None,
        made_at: now,
        state_of: ParkedState::Waiting,
    };
    let ticket = Ticket::from_entropy(dice).hash();
    ensure!(ledger.park(ticket, parked, u32::MAX).await?.is_ok(), "there is no room for request {number}");
    let connection = Connection {
        id: ConnectionId::from_entropy(dice),
        person: person.id.clone(),
        caller: Caller { org: person.org.clone(), principal: person.name.clone(), client: client.client()? },
        client: client.clone(),
        client_name: Some("Bench".into()),
        verified_host: None,
        redirect_uri: Some(CALLBACK.into()),
        scopes,
        resources: resources.clone(),
        made_at: now,
    };
    let code = Code {
        connection: connection.id.clone(),
        client: client.clone(),
        redirect_uri: CALLBACK.into(),
        challenge: challenge.clone(),
        resources,
        ends_at: now + HOUR,
        used_at: None,
    };
    let secret = AuthorizationCode::from_entropy(dice).hash();
    let yes = Consent::Yes(Box::new(connection), Some((secret, code)), session.clone());
    let answered = ledger.answer_parked(ticket, browser, yes).await?;
    ensure!(answered == ParkedAnswer::Done, "client {number} was not let in: {answered:?}");
    let exchange = Exchange {
        client: client.clone(),
        redirect_uri: Some(CALLBACK.into()),
        challenge,
        resources: Resources::default(),
    };
    let (access, refresh) = (AccessToken::from_entropy(dice), RefreshToken::from_entropy(dice));
    let tokens = NewTokens {
        access: access.hash(),
        access_for: HOUR,
        refresh: Some((refresh.hash(), HOUR)),
        longest: None,
    };
    match ledger.exchange(secret, exchange, tokens).await? {
        Exchanged::Tokens(_) => {}
        other @ (Exchanged::Fault(_) | Exchanged::Unknown) => {
            bail!("client {number} has no tokens: {other:?}")
        }
    }
    Ok(Connected {
        client: client.to_string(),
        refresh: refresh.expose().to_owned(),
        access: access.expose().to_owned(),
        address: format!("203.0.{}.{}", number / 250, number % 250),
    })
}

/// Other bytes for each.
fn dice(number: usize) -> [u8; 32] {
    let mut dice = [0; 32];
    for (byte, from) in dice.iter_mut().zip(number.to_be_bytes().into_iter().cycle()) {
        *byte = from;
    }
    dice
}

const CALLBACK: &str = "http://127.0.0.1:4711/callback";
const HOUR: SignedDuration = SignedDuration::from_hours(1);
/// How many are made at once: they share commits.
const AT_ONCE: usize = 512;
