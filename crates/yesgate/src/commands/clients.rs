//! `clients`: what people have connected, and taking it back.
//!
//! INVARIANT: no secret is printed: there is none here to print. What clients call themselves is shown as foreign text.

use serde_json::{Value, json};
use yesgate_core::id::{ConnectionId, PrincipalId};
use yesgate_core::oauth::{End, OAuthClient, OAuthClientId};
use yesgate_core::render::Sanitized;
use yesgate_ledger::{KeptConnection, Ledger};

use super::{by_this_account, people};
use crate::cli::clients::{ClientsCommand, RevokeAllArgs};
use crate::output::{self, Done, Hinted};
use crate::settings::Settings;

pub(super) async fn run(settings: &Settings, command: ClientsCommand, as_json: bool) -> anyhow::Result<Done> {
    let (ledger, _) = settings.ledger().await?;
    match command {
        ClientsCommand::List(args) if args.registered => list_registered(&ledger, as_json).await,
        ClientsCommand::List(_) => list(&ledger, as_json).await,
        ClientsCommand::Show(args) => show(&ledger, &args.id, as_json).await,
        ClientsCommand::Revoke(args) => revoke(&ledger, &args.id, as_json).await,
    }
}

/// Ends everything of one person: `revoke-all`.
pub(super) async fn revoke_all(
    settings: &Settings,
    args: &RevokeAllArgs,
    as_json: bool,
) -> anyhow::Result<Done> {
    let (ledger, _) = settings.ledger().await?;
    let Some(person) = people::find(&ledger, &args.org, &args.user).await? else {
        return Ok(people::nobody(&args.user));
    };
    if !args.yes && !is_meant(&args.user)? {
        output::line("Nothing was revoked.");
        return Ok(Done::Refused);
    }
    let ended = ledger.end_everything_of(&person.id, &by_this_account()).await?;
    if as_json {
        output::json(&json!({
            "user": person.name,
            "org": person.org,
            "sessions": ended.sessions,
            "connections": ended.connections,
            "keys": ended.keys,
            "clients": ended.clients,
            "questions": ended.intents,
        }))?;
        return Ok(Done::Ok);
    }
    output::line(format_args!(
        "Revoked of {}: {} connected clients, {} signed-in browsers, {} keys, {} registrations. {} questions were withdrawn.",
        person.name, ended.connections, ended.sessions, ended.keys, ended.clients, ended.intents
    ));
    Ok(Done::Ok)
}

/// Asks whether that is really meant. Where nobody can be asked, it has to be said with `--yes`.
fn is_meant(user: &PrincipalId) -> anyhow::Result<bool> {
    use std::io::{BufRead as _, IsTerminal as _, Write as _};
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        let words = format!("this signs {user} and all clients of theirs out everywhere");
        return Err(Hinted::new(words, Some("say so with `--yes`")).into());
    }
    eprint!("Sign {user} out everywhere, and end all clients and keys of theirs? [y/N] ");
    std::io::stderr().flush()?;
    let mut answer = String::new();
    stdin.lock().read_line(&mut answer)?;
    Ok(["y", "yes"].contains(&answer.trim()))
}

async fn list(ledger: &Ledger, as_json: bool) -> anyhow::Result<Done> {
    let connections = ledger.connections().await?;
    if as_json {
        output::json(&connections.iter().map(to_json).collect::<Vec<_>>())?;
        return Ok(Done::Ok);
    }
    if connections.is_empty() {
        output::line(
            "No client is connected. A client connects by the URL of `yesgate serve`, and somebody's yes.",
        );
        return Ok(Done::Ok);
    }
    let row = |kept: &KeptConnection| {
        let connection = &kept.connection;
        vec![
            connection.id.to_string(),
            named(connection.client_name.as_deref()),
            connection.verified_host.as_deref().map_or_else(|| "-".to_owned(), shown),
            connection.caller.principal.to_string(),
            connection.caller.org.to_string(),
            connection.made_at.strftime("%Y-%m-%d %H:%M").to_string(),
            kept.used_at.strftime("%Y-%m-%d %H:%M").to_string(),
            connection.scopes.to_string(),
        ]
    };
    let rows: Vec<Vec<String>> = connections.iter().map(row).collect();
    output::table(&["ID", "CLIENT", "HOST", "USER", "ORG", "SINCE", "LAST USE", "SCOPES"], &rows);
    Ok(Done::Ok)
}

async fn list_registered(ledger: &Ledger, as_json: bool) -> anyhow::Result<Done> {
    let clients = ledger.oauth_clients().await?;
    if as_json {
        output::json(&clients.iter().map(client_to_json).collect::<Vec<_>>())?;
        return Ok(Done::Ok);
    }
    if clients.is_empty() {
        output::line("No client has registered.");
        return Ok(Done::Ok);
    }
    let row = |client: &OAuthClient| {
        vec![
            shown(client.id.as_str()),
            named(client.presentation.name.as_deref()),
            client.kind.as_str().to_owned(),
            if client.is_bound { "yes" } else { "no" }.to_owned(),
            client.created_at.strftime("%Y-%m-%d %H:%M").to_string(),
            client.used_at.strftime("%Y-%m-%d %H:%M").to_string(),
        ]
    };
    let rows: Vec<Vec<String>> = clients.iter().map(row).collect();
    output::table(&["ID", "NAME", "KIND", "ALLOWED", "SINCE", "LAST USE"], &rows);
    Ok(Done::Ok)
}

async fn show(ledger: &Ledger, id: &str, as_json: bool) -> anyhow::Result<Done> {
    let connections = ledger.connections().await?;
    let found = connections.iter().find(|kept| kept.connection.id.as_str() == id);
    let told = match found {
        Some(kept) => to_json(kept),
        None => match client(ledger, id).await? {
            Some(client) => client_to_json(&client),
            None => return Ok(unknown()),
        },
    };
    if as_json {
        output::json(&told)?;
        return Ok(Done::Ok);
    }
    let lines = told.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    for (key, value) in lines {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        output::line(format_args!("{key:<14} {}", Sanitized::line(&text)));
    }
    Ok(Done::Ok)
}

async fn revoke(ledger: &Ledger, id: &str, as_json: bool) -> anyhow::Result<Done> {
    let by = by_this_account();
    if let Ok(connection) = id.parse::<ConnectionId>()
        && ledger.end_connection(&connection, End::Revoked, &by).await?
    {
        return told(as_json, id, 1, "is revoked: no token of it counts any more.");
    }
    if let Ok(client) = id.parse::<OAuthClientId>()
        && let Some(connections) = ledger.end_client(&client, &by).await?
    {
        return told(as_json, id, connections, "is ended, with all that people had allowed it.");
    }
    Ok(unknown())
}

fn told(as_json: bool, id: &str, connections: usize, words: &str) -> anyhow::Result<Done> {
    match as_json {
        true => output::json(&json!({"id": id, "connections": connections}))?,
        false => output::line(format_args!("{} {words}", shown(id))),
    }
    Ok(Done::Ok)
}

async fn client(ledger: &Ledger, id: &str) -> anyhow::Result<Option<OAuthClient>> {
    match id.parse::<OAuthClientId>() {
        Ok(id) => Ok(ledger.client(&id).await?),
        Err(_) => Ok(None),
    }
}

fn unknown() -> Done {
    output::not_found(
        "there is no such client or connection",
        "`yesgate clients list` lists what is connected",
    )
}

fn shown(text: &str) -> String {
    Sanitized::line(text).to_string()
}

fn named(name: Option<&str>) -> String {
    name.map_or_else(|| "-".to_owned(), shown)
}

/// A connection for programs.
fn to_json(kept: &KeptConnection) -> Value {
    let connection = &kept.connection;
    json!({
        "id": connection.id,
        "client_id": connection.client,
        "client_name": connection.client_name,
        "verified_host": connection.verified_host,
        "user": connection.caller.principal,
        "org": connection.caller.org,
        "scopes": connection.scopes,
        "resources": connection.resources,
        "made_at": connection.made_at,
        "used_at": kept.used_at,
        "used_from": kept.used_from,
    })
}

/// A registration for programs.
fn client_to_json(client: &OAuthClient) -> Value {
    json!({
        "client_id": client.id,
        "client_name": client.presentation.name,
        "kind": client.kind.as_str(),
        "verified_host": client.verified_host(),
        "redirect_uris": client.redirect_uris,
        "method": client.method.as_str(),
        "is_allowed": client.is_bound,
        "created_at": client.created_at,
        "used_at": client.used_at,
        "ended_at": client.ended_at,
    })
}
