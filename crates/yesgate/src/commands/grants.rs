//! `grants`: the yeses that are remembered, and what `approve --remember` wishes for.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use yesgate::SystemEntropy;
use yesgate_core::clock::Entropy as _;
use yesgate_core::grant::{Grant, GrantRecord, Limits, Scope, Standing, Wish, WishedScope};
use yesgate_core::id::GrantId;
use yesgate_core::policy::Pattern;
use yesgate_core::render::Sanitized;

use super::by_this_account;
use crate::cli::{GrantsCommand, RememberArgs, RememberedScope};
use crate::length;
use crate::output::{self, Done, Hinted};
use crate::settings::{Settings, now};

pub(super) async fn run(settings: &Settings, command: &GrantsCommand, as_json: bool) -> anyhow::Result<Done> {
    let (ledger, _) = settings.ledger().await?;
    let records = ledger.grants().await?;
    match command {
        GrantsCommand::List if as_json => output::json(&records.iter().map(to_json).collect::<Vec<_>>())?,
        GrantsCommand::List => list(&records),
        GrantsCommand::Show(args) => match find(&records, &args.id) {
            Ok(record) if as_json => output::json(&to_json(record))?,
            Ok(record) => print(record),
            Err(done) => return Ok(done),
        },
        GrantsCommand::Revoke(args) => {
            let id = match find(&records, &args.id) {
                Ok(record) => record.grant.id.clone(),
                Err(done) => return Ok(done),
            };
            // One that was taken back before is taken back: that is what was asked for.
            ledger.revoke_grant(&id, &by_this_account()).await?;
            if as_json {
                let records = ledger.grants().await?;
                output::json(&records.iter().find(|record| record.grant.id == id).map(to_json))?;
            } else {
                output::line(format_args!("{id} is revoked: a human is asked again."));
            }
        }
    }
    Ok(Done::Ok)
}

/// What is to be remembered, where anything is.
pub(super) fn wish(args: &RememberArgs) -> anyhow::Result<Option<Wish>> {
    let Some(scope) = args.remember else { return Ok(None) };
    let scope = match (scope, &args.pattern) {
        (RememberedScope::Exact, None) => WishedScope::Exact,
        (RememberedScope::Tool, None) => WishedScope::Tool,
        (RememberedScope::Pattern, Some(source)) => {
            WishedScope::Pattern(Pattern::parse(source).map_err(|error| {
                Hinted::new(format!("--pattern: {error}"), error.hint().map(str::to_owned))
            })?)
        }
        (RememberedScope::Pattern, None) | (RememberedScope::Exact | RememberedScope::Tool, Some(_)) => {
            let hint = r#"write --remember pattern --pattern 'args.path.startsWith("/tmp/")'"#;
            return Err(Hinted::new("--pattern belongs to `--remember pattern`", Some(hint)).into());
        }
    };
    let (now, id) = (now(), GrantId::from_entropy(SystemEntropy.draw()?));
    let limits = Limits::new(args.uses, until(args, now)?, now);
    let limits = limits.ok_or_else(|| {
        Hinted::new(
            "a yes is not remembered without a limit that lies ahead",
            Some("give --uses, --for or --until"),
        )
    })?;
    Ok(Some(Wish { id, scope, limits }))
}

/// The earlier of `--for` and `--until`.
fn until(args: &RememberArgs, now: Timestamp) -> anyhow::Result<Option<Timestamp>> {
    let lasting = args.lasting.as_deref().map(|text| {
        let end = now.checked_add(length::parse(text)?);
        end.map_err(|_| anyhow::anyhow!("`{}` is too long", text.escape_debug()))
    });
    let date = args.until.as_deref().map(|text| {
        let moment = text.parse::<Timestamp>().ok();
        let day = || text.parse::<Date>().ok()?.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp());
        moment.or_else(day).ok_or_else(|| {
            let hint = "write 2027-01-31 (the beginning of that day in UTC) or 2027-01-31T18:00:00Z";
            Hinted::new(format!("`{}` is no date", text.escape_debug()), Some(hint))
        })
    });
    Ok([lasting.transpose()?, date.transpose()?].into_iter().flatten().min())
}

/// A grant in one line, for whoever makes it.
pub(super) fn in_words(grant: &Grant) -> String {
    let Grant { id, scope, limits, .. } = grant;
    let scope = Sanitized::line(&scope.to_string());
    let uses = limits.uses().map(|uses| format!(", {uses} more times")).unwrap_or_default();
    let until = limits.until().map(|until| format!(", until {until:.0}")).unwrap_or_default();
    format!("{id}: {scope}{uses}{until}")
}

fn find<'a>(records: &'a [GrantRecord], id: &str) -> Result<&'a GrantRecord, Done> {
    let beginning = format!("{}{}", GrantId::PREFIX, id.strip_prefix(GrantId::PREFIX).unwrap_or(id));
    let found: Vec<_> =
        records.iter().filter(|record| record.grant.id.as_str().starts_with(&beginning)).collect();
    let hint = "`yesgate grants list` lists the yeses that are remembered";
    match found.as_slice() {
        [one] => Ok(one),
        [] => Err(output::not_found(&format!("there is no grant `{}`", id.escape_debug()), hint)),
        several => Err(output::not_found(
            &format!("{} grants begin with `{}`", several.len(), id.escape_debug()),
            hint,
        )),
    }
}

fn list(records: &[GrantRecord]) {
    if records.is_empty() {
        output::line("Nothing is remembered. `yesgate approve ID --remember exact --uses 5` would do it.");
        return;
    }
    let cells: Vec<Vec<String>> = records
        .iter()
        .map(|record| {
            let grant = &record.grant;
            vec![
                grant.id.to_string(),
                record.standing(now()).as_str().to_owned(),
                record.uses_left().map_or_else(|| "–".to_owned(), |left| left.to_string()),
                grant.limits.until().map_or_else(|| "–".to_owned(), |until| format!("{until:.0}")),
                Sanitized::line(grant.caller.client.as_str()).to_string(),
                format!("{}/{}", grant.server, grant.tool),
                Sanitized::line(&grant.scope.to_string()).to_string(),
            ]
        })
        .collect();
    output::table(&["ID", "STATE", "USES LEFT", "UNTIL", "CLIENT", "TOOL", "COVERS"], &cells);
}

fn print(record: &GrantRecord) {
    let grant = &record.grant;
    let row = |name: &str, value: &dyn std::fmt::Display| output::line(format_args!("  {name:<10} {value}"));
    output::line(in_words(grant));
    output::line("");
    row("state", &record.standing(now()).as_str());
    row("covers", &Sanitized::line(&grant.scope.to_string()));
    row("tool", &format_args!("{}/{} (definition {})", grant.server, grant.tool, grant.definition.0.short()));
    let caller = &grant.caller;
    row(
        "calls of",
        &format_args!(
            "{} for {} of {}",
            Sanitized::line(caller.client.as_str()),
            caller.principal,
            caller.org
        ),
    );
    row("used", &record.used);
    if let Some(left) = record.uses_left() {
        row("uses left", &left);
    }
    if let Some(until) = grant.limits.until() {
        row("until", &until);
    }
    row("made from", &grant.from);
    row("made by", &format_args!("{} at level `{}`", Sanitized::line(&grant.by), grant.assurance));
    row("made at", &grant.made_at);
    if let Some(at) = record.revoked_at {
        row("revoked at", &at);
    }
}

fn to_json(record: &GrantRecord) -> Value {
    let grant = &record.grant;
    let pattern = match &grant.scope {
        Scope::Pattern(pattern) => Some(pattern.as_str()),
        Scope::Exact(_) | Scope::Tool => None,
    };
    let standing: Standing = record.standing(now());
    json!({
        "id": grant.id,
        "state": standing,
        "scope": grant.scope.as_str(),
        "pattern": pattern,
        "uses": grant.limits.uses(),
        "used": record.used,
        "uses_left": record.uses_left(),
        "until": grant.limits.until(),
        "caller": grant.caller,
        "server": grant.server,
        "tool": grant.tool,
        "definition": grant.definition,
        "assurance": grant.assurance,
        "by": grant.by,
        "from": grant.from,
        "made_at": grant.made_at,
        "revoked_at": record.revoked_at,
    })
}
