//! `keys`: the bearer keys with which clients say who is calling over HTTP.
//!
//! INVARIANT: a key is printed once, by the command that made it. It stands in no list, no log and
//! no file of ours.

use serde_json::{Value, json};
use yesgate::SystemEntropy;
use yesgate_core::caller::Caller;
use yesgate_core::clock::Entropy as _;
use yesgate_core::id::{KeyId, KeyName};
use yesgate_core::key::{BearerKey, KeyRecord};

use crate::cli::{KeysAddArgs, KeysCommand};
use crate::output::{self, Done};
use crate::settings::Settings;

pub(super) async fn run(settings: &Settings, command: KeysCommand, as_json: bool) -> anyhow::Result<Done> {
    match command {
        KeysCommand::Add(args) => add(settings, args, as_json).await,
        KeysCommand::List => list(settings, as_json).await,
        KeysCommand::Revoke(args) => revoke(settings, &args.id, as_json).await,
    }
}

async fn add(settings: &Settings, args: KeysAddArgs, as_json: bool) -> anyhow::Result<Done> {
    let KeysAddArgs { user, org, client, name } = args;
    let name = match name {
        Some(name) => name,
        None => user.as_str().parse::<KeyName>()?,
    };
    let (ledger, _) = settings.ledger().await?;
    let key = BearerKey::from_entropy(SystemEntropy.draw()?);
    let record = KeyRecord {
        id: KeyId::from_entropy(SystemEntropy.draw()?),
        name,
        caller: Caller { org, principal: user, client },
        created_at: ledger.now(),
        revoked_at: None,
    };
    ledger.add_key(record.clone(), key.hash(), &super::by_this_account()).await?;
    if as_json {
        let mut made = to_json(&record);
        if let Some(made) = made.as_object_mut() {
            made.insert("key".into(), key.expose().into());
        }
        output::json(&made)?;
        return Ok(Done::Ok);
    }
    // What is piped away is the key alone.
    output::line(key.expose());
    let KeyRecord { id, caller: Caller { org, principal, client }, .. } = &record;
    eprintln!("This is {id}: calls with it are made for {principal} of {org}, by the client `{client}`.");
    eprintln!("It is shown this once. A client sends it with every request: `Authorization: Bearer KEY`.");
    eprintln!("`yesgate keys revoke {id}` takes it back.");
    Ok(Done::Ok)
}

async fn list(settings: &Settings, as_json: bool) -> anyhow::Result<Done> {
    let (ledger, _) = settings.ledger().await?;
    let keys = ledger.keys().await?;
    if as_json {
        output::json(&keys.iter().map(to_json).collect::<Vec<_>>())?;
        return Ok(Done::Ok);
    }
    if keys.is_empty() {
        output::line("There are no keys. `yesgate keys add --user NAME` makes one.");
        return Ok(Done::Ok);
    }
    let cells: Vec<Vec<String>> = keys
        .iter()
        .map(|key| {
            vec![
                key.id.to_string(),
                key.name.to_string(),
                key.caller.principal.to_string(),
                key.caller.org.to_string(),
                key.caller.client.to_string(),
                key.created_at.to_string(),
                key.revoked_at.map_or_else(|| "-".to_owned(), |at| at.to_string()),
            ]
        })
        .collect();
    output::table(&["ID", "NAME", "USER", "ORG", "CLIENT", "MADE", "REVOKED"], &cells);
    Ok(Done::Ok)
}

async fn revoke(settings: &Settings, id: &str, as_json: bool) -> anyhow::Result<Done> {
    let (ledger, _) = settings.ledger().await?;
    let id = id.parse::<KeyId>().ok();
    if let Some(id) = &id {
        ledger.revoke_key(id, &super::by_this_account()).await?;
    }
    // One that was revoked before is revoked: that is what was asked for.
    let Some(key) = ledger.keys().await?.into_iter().find(|key| Some(&key.id) == id.as_ref()) else {
        return Ok(output::not_found("there is no such key", "`yesgate keys list` lists the keys"));
    };
    if as_json {
        output::json(&to_json(&key))?;
    } else {
        output::line(format_args!("{} ({}) is revoked and counts no more.", key.id, key.name));
    }
    Ok(Done::Ok)
}

/// A key for programs, without the key.
fn to_json(record: &KeyRecord) -> Value {
    json!({
        "id": record.id,
        "name": record.name,
        "user": record.caller.principal,
        "org": record.caller.org,
        "client": record.caller.client,
        "created_at": record.created_at,
        "revoked_at": record.revoked_at,
    })
}
