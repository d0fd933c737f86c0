//! What calls for people: the clients that they connected and the keys of their machines, and taking that back.
//!
//! INVARIANT: everybody sees and revokes their own, and an owner those of their organisation (O-V4). What was revoked
//! counts no more on the next request (O6, O-V2).

use std::collections::HashMap;

use askama::Template;
use http::StatusCode;
use yesgate_core::caller::Caller;
use yesgate_core::id::{ConnectionId, KeyId};
use yesgate_core::key::KeyRecord;
use yesgate_core::oauth::{ClientKind, End, OAuthClientId};
use yesgate_core::person::Role;
use yesgate_core::render::Sanitized;
use yesgate_ledger::{Asks, EndedAll, KeptConnection};

use crate::alarms::Alarm;
use crate::answer::{self, Answer};
use crate::connect::sign_in_anew;
use crate::consent::{in_words, initials};
use crate::goal::Goal;
use crate::site::{Site, Trouble, Visit};
use crate::token::Pace;
use crate::view::{Frame, Tab, ago, moment};
use crate::visit::Visitor;

#[derive(Template)]
#[template(path = "clients.html")]
struct Page {
    frame: Frame,
    /// What ended because somebody else had a copy of a secret.
    alarms: Vec<Alarm>,
    /// The visitor's own clients.
    own: Vec<Line>,
    /// Those of others, for owners.
    others: Vec<Line>,
    keys: Vec<KeyLine>,
    /// Where clients connect.
    endpoint: String,
    /// The tokens of the forms that revoke all of the visitor's own, and that end everything.
    revoke_all: String,
    end_all: String,
}

struct Line {
    id: String,
    initials: String,
    name: Sanitized,
    /// The host that vouched for it.
    host: Option<Sanitized>,
    whose: String,
    scopes: Vec<(Sanitized, String)>,
    places: Vec<Sanitized>,
    since: String,
    used: String,
    used_at: String,
    from: Option<Sanitized>,
    asks: u64,
    revoke: String,
}

struct KeyLine {
    id: String,
    name: Sanitized,
    whose: Sanitized,
    since: String,
    asks: u64,
    revoke: String,
}

/// Something that calls for a person.
pub(crate) enum Connected {
    /// A client that they connected.
    Client(Box<KeptConnection>),
    /// A key of a machine.
    Key(Box<KeyRecord>),
}

impl Site {
    pub(crate) async fn clients_page(&self, visit: &Visit, visitor: &Visitor) -> Result<Answer, Trouble> {
        let asks = self.asks().await?;
        let issuer = self.server()?.issuer();
        let (mut own, mut others) = (Vec::new(), Vec::new());
        for kept in self.connections_for(visitor).await? {
            let line = self.line((visit, visitor), &kept, &asks)?;
            match kept.connection.person == visitor.person.id {
                true => own.push(line),
                false => others.push(line),
            }
        }
        let mut keys = Vec::new();
        for key in self.keys_for(visitor).await?.into_iter().filter(|key| key.revoked_at.is_none()) {
            keys.push(KeyLine {
                id: key.id.to_string(),
                name: Sanitized::line(key.name.as_str()),
                whose: Sanitized::line(&format!("{} for {}", key.caller.client, key.caller.principal)),
                since: moment(key.created_at),
                asks: asks.get(&key.caller).map_or(0, |asks| asks.count),
                revoke: self.token(visitor, &revoke_path(key.id.as_str()), visit.now)?,
            });
        }
        let page = Page {
            frame: self.frame(visitor, Tab::Clients, "Connected clients").await?,
            alarms: self.alarms(visit, visitor).await?,
            own,
            others,
            keys,
            endpoint: format!("{issuer}/api/mcp"),
            revoke_all: self.token(visitor, "/settings/connected-clients/revoke-all", visit.now)?,
            end_all: self.token(visitor, "/settings/connected-clients/end-everything", visit.now)?,
        };
        Ok(answer::page(StatusCode::OK, &page))
    }

    fn line(
        &self,
        (visit, visitor): (&Visit, &Visitor),
        kept: &KeptConnection,
        asks: &HashMap<Caller, Asks>,
    ) -> Result<Line, Trouble> {
        let (connection, server) = (&kept.connection, self.server()?);
        let name = connection.client_name.as_deref().unwrap_or(connection.client.as_str());
        let scopes = connection.scopes.iter().map(|scope| {
            let says =
                server.says(scope).unwrap_or_else(|| "No longer known here, and good for nothing".to_owned());
            (Sanitized::line(&says), scope.to_string())
        });
        let places = connection.resources.0.iter().map(|resource| in_words(resource, server.issuer()));
        Ok(Line {
            id: connection.id.to_string(),
            initials: initials(name),
            name: Sanitized::line(name),
            host: connection.verified_host.as_deref().map(Sanitized::line),
            whose: connection.caller.principal.to_string(),
            scopes: scopes.collect(),
            places: places.collect(),
            since: moment(connection.made_at),
            used: ago(kept.used_at, visit.now),
            used_at: moment(kept.used_at),
            from: kept.used_from.as_deref().map(Sanitized::line),
            asks: asks.get(&connection.caller).map_or(0, |asks| asks.count),
            revoke: self.token(visitor, &revoke_path(connection.id.as_str()), visit.now)?,
        })
    }

    pub(crate) async fn revoke_connected(&self, visit: &Visit, visitor: &Visitor) -> Result<Answer, Trouble> {
        let found = self.connected(&visit.name, visitor).await?.ok_or(Trouble::NotFound)?;
        self.take(visit, visitor, Pace::Any)?;
        self.revoke(&found, visitor).await?;
        Ok(answer::see("/settings/connected-clients"))
    }

    /// Revokes all that is the visitor's own: clients and keys. They stay signed in.
    pub(crate) async fn revoke_all_connected(
        &self,
        visit: &Visit,
        visitor: &Visitor,
    ) -> Result<Answer, Trouble> {
        self.take(visit, visitor, Pace::Any)?;
        let person = &visitor.person;
        for kept in self.connections_for(visitor).await? {
            if kept.connection.person == person.id {
                self.revoke(&Connected::Client(Box::new(kept)), visitor).await?;
            }
        }
        let keys = self.keys_for(visitor).await?;
        let own = |key: &KeyRecord| key.revoked_at.is_none() && key.caller.principal == person.name;
        let keys = keys.into_iter().filter(own).map(|key| key.id).collect();
        self.desk.revoke_clients(keys, &self.approver(visitor, None).name).await?;
        Ok(answer::see("/settings/connected-clients"))
    }

    /// O7: ends everything of the visitor's, this session too.
    pub(crate) async fn end_everything_on_a_page(
        &self,
        visit: &Visit,
        visitor: &Visitor,
    ) -> Result<Answer, Trouble> {
        self.take(visit, visitor, Pace::Any)?;
        if !visitor.is_fresh(visit.now) {
            return Ok(sign_in_anew(&Goal::Clients));
        }
        self.end_all_of(visitor).await?;
        let mut answer = answer::see("/sign-in");
        answer.headers_mut().extend(visit.address.forget());
        Ok(answer)
    }

    /// Ends everything of somebody in one step, and has the door know it before anybody is told.
    pub(crate) async fn end_all_of(&self, visitor: &Visitor) -> Result<EndedAll, Trouble> {
        let by = self.approver(visitor, None).name;
        let ended = self.ledger.end_everything_of(&visitor.person.id, &by).await?;
        self.desk.look_at_keys_again().await;
        Ok(ended)
    }

    /// What calls for a person and has this id, as far as the visitor may see it.
    pub(crate) async fn connected(&self, id: &str, visitor: &Visitor) -> Result<Option<Connected>, Trouble> {
        if let Ok(id) = id.parse::<ConnectionId>() {
            let mut all = self.connections_for(visitor).await?.into_iter();
            let found = all.find(|kept| kept.connection.id == id);
            return Ok(found.map(|kept| Connected::Client(Box::new(kept))));
        }
        let Ok(id) = id.parse::<KeyId>() else { return Ok(None) };
        let found = self.keys_for(visitor).await?.into_iter().find(|key| key.id == id);
        Ok(found.map(|key| Connected::Key(Box::new(key))))
    }

    /// Revokes it.
    pub(crate) async fn revoke(&self, connected: &Connected, visitor: &Visitor) -> Result<(), Trouble> {
        let by = self.approver(visitor, None).name;
        match connected {
            Connected::Client(kept) => {
                // One that ended meanwhile has ended: that is what was asked for.
                self.ledger.end_connection(&kept.connection.id, End::Revoked, &by).await?;
            }
            Connected::Key(key) => self.desk.revoke_clients(vec![key.id.clone()], &by).await?,
        }
        Ok(())
    }

    /// Revokes the connection of this id, or all connections of the client of this id that the visitor may see. A client
    /// that registered by itself and has no others is ended, so that it is told to register anew. Says how many ended.
    pub(crate) async fn revoke_named(&self, named: &str, visitor: &Visitor) -> Result<usize, Trouble> {
        if let Some(found @ Connected::Client(_)) = self.connected(named, visitor).await? {
            self.revoke(&found, visitor).await?;
            return Ok(1);
        }
        let Ok(client) = named.parse::<OAuthClientId>() else { return Ok(0) };
        let mut seen = self.connections_for(visitor).await?;
        seen.retain(|kept| kept.connection.client == client);
        if seen.is_empty() {
            return Ok(0);
        }
        let of_client = |kept: &&KeptConnection| kept.connection.client == client;
        let all = self.ledger.connections().await?.iter().filter(of_client).count();
        let registered = self.ledger.client(&client).await?;
        if all == seen.len() && registered.is_some_and(|client| client.kind == ClientKind::Registered) {
            let by = self.approver(visitor, None).name;
            return Ok(self.ledger.end_client(&client, &by).await?.unwrap_or_default());
        }
        let number = seen.len();
        for kept in seen {
            self.revoke(&Connected::Client(Box::new(kept)), visitor).await?;
        }
        Ok(number)
    }

    /// The connections that a person may see.
    pub(crate) async fn connections_for(&self, visitor: &Visitor) -> Result<Vec<KeptConnection>, Trouble> {
        let person = &visitor.person;
        let mut all = self.ledger.connections().await?;
        all.retain(|kept| {
            let connection = &kept.connection;
            connection.caller.org == person.org && (person.may(Role::Owner) || connection.person == person.id)
        });
        Ok(all)
    }

    /// The keys that a person may see.
    pub(crate) async fn keys_for(&self, visitor: &Visitor) -> Result<Vec<KeyRecord>, Trouble> {
        let person = &visitor.person;
        let mut keys = self.ledger.keys().await?;
        keys.retain(|key| {
            let Caller { org, principal, .. } = &key.caller;
            *org == person.org && (person.may(Role::Owner) || *principal == person.name)
        });
        Ok(keys)
    }

    /// How much was asked, by whom.
    pub(crate) async fn asks(&self) -> Result<HashMap<Caller, Asks>, Trouble> {
        let asks = self.ledger.asks().await?;
        Ok(asks.into_iter().map(|asks| (asks.caller.clone(), asks)).collect())
    }
}

fn revoke_path(id: &str) -> String {
    format!("/settings/connected-clients/{id}/revoke")
}
