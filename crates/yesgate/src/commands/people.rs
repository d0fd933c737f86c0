//! `people`: those who look, decide and rule on the pages of `serve`.
//!
//! INVARIANT: a sign-in link is printed once, by the command that made it. It stands in no list, no log and no file
//! of ours.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value, json};
use yesgate::SystemEntropy;
use yesgate_core::clock::Entropy as _;
use yesgate_core::id::{OrgId, PersonId, PrincipalId};
use yesgate_core::person::{Link, LinkSecret, LinkWay, Person};
use yesgate_core::policy::ServeConfig;
use yesgate_ledger::Ledger;

use super::pages::office::{Office, Sight};
use super::{by_this_account, sign};
use crate::cli::{PeopleAddArgs, PeopleCommand, PeopleSetArgs};
use crate::output::{self, Done, Hinted};
use crate::settings::Settings;

pub(super) async fn run(settings: &Settings, command: PeopleCommand, as_json: bool) -> anyhow::Result<Done> {
    let (ledger, _) = settings.ledger().await?;
    match command {
        PeopleCommand::Add(args) => add(settings, &ledger, args, as_json).await,
        PeopleCommand::List => list(&ledger, as_json).await,
        PeopleCommand::Link(args) => match find(&ledger, &args.org, &args.name).await? {
            Some(person) => tell_link(settings, &ledger, &person, as_json).await,
            None => Ok(nobody(&args.name)),
        },
        PeopleCommand::AddKey(args) => match find(&ledger, &args.org, &args.name).await? {
            Some(person) => {
                let credential = sign::enrol(settings, &ledger, &person, &args.file, args.label).await?;
                match as_json {
                    true => output::json(&json!({"id": credential.id, "label": credential.label}))?,
                    false => output::line(format_args!("{} is enrolled for {}.", credential.id, person.name)),
                }
                Ok(Done::Ok)
            }
            None => Ok(nobody(&args.name)),
        },
        PeopleCommand::ForgetKeys(args) => match find(&ledger, &args.org, &args.name).await? {
            Some(person) => {
                let revoked = sign::forget(&ledger, &person).await?;
                match as_json {
                    true => output::json(&json!({"revoked": revoked}))?,
                    false => output::line(format_args!("{revoked} keys of {} count no more.", person.name)),
                }
                Ok(Done::Ok)
            }
            None => Ok(nobody(&args.name)),
        },
        PeopleCommand::Set(args) => set(&ledger, args, as_json).await,
        PeopleCommand::Remove(args) => match find(&ledger, &args.org, &args.name).await? {
            Some(person) => {
                let removed = Person { removed_at: Some(ledger.now()), ..person };
                let words = format!("{} is removed, and signed out everywhere.", removed.name);
                store(&ledger, removed, as_json, &words).await
            }
            None => Ok(nobody(&args.name)),
        },
        PeopleCommand::SignOut(args) => match find(&ledger, &args.org, &args.name).await? {
            Some(person) => {
                let ended = ledger.end_sessions(&person.id, None, &by_this_account()).await?;
                match as_json {
                    true => output::json(&json!({"ended": ended}))?,
                    false => output::line(format_args!("{} is signed out of {ended} browsers.", person.name)),
                }
                Ok(Done::Ok)
            }
            None => Ok(nobody(&args.name)),
        },
    }
}

async fn add(
    settings: &Settings,
    ledger: &Ledger,
    args: PeopleAddArgs,
    as_json: bool,
) -> anyhow::Result<Done> {
    let person = Person {
        id: PersonId::from_entropy(SystemEntropy.draw()?),
        name: args.name,
        org: args.org,
        mail: args.mail,
        role: args.role,
        groups: args.groups.into_iter().collect(),
        added_at: ledger.now(),
        removed_at: None,
    };
    match ledger.set_person(person.clone(), &by_this_account()).await? {
        Ok(()) => tell_link(settings, ledger, &person, as_json).await,
        Err(why) => {
            let hint = "`yesgate people list` lists everybody; `yesgate people link NAME` makes a new link";
            Err(Hinted::new(why.to_string(), Some(hint)).into())
        }
    }
}

async fn set(ledger: &Ledger, args: PeopleSetArgs, as_json: bool) -> anyhow::Result<Done> {
    let Some(person) = find(ledger, &args.org, &args.name).await? else { return Ok(nobody(&args.name)) };
    let groups = match (args.no_groups, args.groups.is_empty()) {
        (true, _) => BTreeSet::new(),
        (false, true) => person.groups.clone(),
        (false, false) => args.groups.into_iter().collect(),
    };
    let changed = Person {
        role: args.role.unwrap_or(person.role),
        mail: if args.no_mail { None } else { args.mail.or(person.mail.clone()) },
        groups,
        ..person
    };
    let words = format!("{} is {} now.", changed.name, changed.role);
    store(ledger, changed, as_json, &words).await
}

async fn store(ledger: &Ledger, person: Person, as_json: bool, words: &str) -> anyhow::Result<Done> {
    match ledger.set_person(person.clone(), &by_this_account()).await? {
        Ok(()) if as_json => output::json(&to_json(&person))?,
        Ok(()) => output::line(words),
        Err(why) => return Err(Hinted::new(why.to_string(), None::<String>).into()),
    }
    Ok(Done::Ok)
}

async fn list(ledger: &Ledger, as_json: bool) -> anyhow::Result<Done> {
    let mut people = ledger.people().await?;
    let connections = ledger.connections().await?;
    let connected =
        |person: &Person| connections.iter().filter(|kept| kept.connection.person == person.id).count();
    if as_json {
        let told = |person: &Person| {
            let mut told = to_json(person);
            if let Some(told) = told.as_object_mut() {
                told.insert("connections".into(), connected(person).into());
            }
            told
        };
        output::json(&people.iter().map(told).collect::<Vec<_>>())?;
        return Ok(Done::Ok);
    }
    people.retain(|person| person.removed_at.is_none());
    if people.is_empty() {
        output::line("Nobody can sign in. `yesgate people add NAME --role owner` adds somebody.");
        return Ok(Done::Ok);
    }
    let row = |person: &Person| {
        let groups: Vec<&str> = person.groups.iter().map(|group| group.as_str()).collect();
        vec![
            person.name.to_string(),
            person.org.to_string(),
            person.role.to_string(),
            if groups.is_empty() { "-".to_owned() } else { groups.join(" ") },
            person.mail.as_ref().map_or("-", |mail| mail.as_str()).to_owned(),
            connected(person).to_string(),
            person.added_at.strftime("%Y-%m-%d %H:%M").to_string(),
        ]
    };
    let rows: Vec<Vec<String>> = people.iter().map(row).collect();
    output::table(&["NAME", "ORG", "ROLE", "GROUPS", "MAIL", "CLIENTS", "SINCE"], &rows);
    Ok(Done::Ok)
}

/// Makes a link and prints it, this once.
async fn tell_link(
    settings: &Settings,
    ledger: &Ledger,
    person: &Person,
    as_json: bool,
) -> anyhow::Result<Done> {
    let (secret, ends_at) = make_link(ledger, person).await?;
    // Where the pages are now; where nobody serves them, where they will be.
    let found = Office::of(&settings.home).look().ok().and_then(Sight::origin);
    let origin = found.unwrap_or_else(|| origin(&settings.config.serve));
    let url = format!("{origin}/sign-in#{}", secret.expose());
    if as_json {
        let mut told = to_json(person);
        if let Some(told) = told.as_object_mut() {
            told.insert("link".into(), url.into());
            told.insert("link_ends_at".into(), ends_at.to_string().into());
        }
        output::json(&told)?;
        return Ok(Done::Ok);
    }
    // What is piped away is the link alone.
    output::line(&url);
    eprintln!("It lets in whoever opens it first as {}, once, within 15 minutes.", person.name);
    eprintln!("It is shown this once; `yesgate people link {}` makes another.", person.name);
    Ok(Done::Ok)
}

/// Makes a sign-in link for somebody; an earlier one counts no more.
pub(super) async fn make_link(ledger: &Ledger, person: &Person) -> anyhow::Result<(LinkSecret, Timestamp)> {
    let secret = LinkSecret::from_entropy(SystemEntropy.draw()?);
    let link = Link::new(&person.id, LinkWay::Console, ledger.now());
    let ends_at = link.ends_at;
    ledger.make_link(link, secret.hash(), &by_this_account()).await?;
    Ok((secret, ends_at))
}

/// Where people reach the gateway, as far as the configuration tells. A loopback is called by its name: passkeys
/// belong to names, not to numbers.
pub(super) fn origin(serve: &ServeConfig) -> String {
    origin_at(serve, serve.listen)
}

/// The same where it is known at which address the gateway listens.
pub(super) fn origin_at(serve: &ServeConfig, listen: std::net::SocketAddr) -> String {
    match &serve.public_url {
        Some(url) => url.to_string().trim_end_matches('/').to_owned(),
        None => local_origin(listen),
    }
}

/// Where people on this machine reach a gateway that listens here.
pub(super) fn local_origin(listen: std::net::SocketAddr) -> String {
    match listen.ip().is_loopback() || listen.ip().is_unspecified() {
        true => format!("http://localhost:{}", listen.port()),
        false => format!("http://{listen}"),
    }
}

pub(super) async fn find(ledger: &Ledger, org: &OrgId, name: &PrincipalId) -> anyhow::Result<Option<Person>> {
    let people = ledger.people().await?;
    let is_meant =
        |person: &Person| person.removed_at.is_none() && person.org == *org && person.name == *name;
    Ok(people.into_iter().find(is_meant))
}

pub(super) fn nobody(name: &PrincipalId) -> Done {
    output::not_found(&format!("there is nobody called `{name}`"), "`yesgate people list` lists everybody")
}

/// A person for programs.
fn to_json(person: &Person) -> Value {
    json!({
        "id": person.id,
        "name": person.name,
        "org": person.org,
        "role": person.role,
        "groups": person.groups,
        "mail": person.mail,
        "added_at": person.added_at,
        "removed_at": person.removed_at,
    })
}
