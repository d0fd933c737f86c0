//! `ledger`: where what is stored is, and how long it is kept.

use jiff::SignedDuration;

use super::super::LEDGER_KEYS;
use super::super::error::ConfigError;
use super::super::reader::{Entry, Form};
use super::server::parse_template;
use super::variables::Template;

/// Where what is stored is, and how long it is kept.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct LedgerConfig {
    /// The database that several nodes share; `None`: a file in the home folder.
    pub at: Option<Template>,
    /// For how long the contents of a question are kept once it is over; `None`: until somebody purges them.
    pub keep: Option<SignedDuration>,
    /// What becomes of it when the database is lost.
    pub standby: Standby,
}

/// What becomes of the ledger when its database is lost.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Standby {
    /// It is away until the same one is back. Whoever takes its place all the same is not believed.
    #[default]
    NoneMeant,
    /// A standby takes over that has all that was committed, and the gateway makes sure of that.
    TakesOver,
}

impl LedgerConfig {
    pub(super) fn parse(entry: &Entry<'_>) -> Result<Self, ConfigError> {
        match entry.form() {
            Form::Single => Ok(Self { at: Some(parse_database(entry)?), ..Self::default() }),
            Form::Table | Form::List => {
                let section = entry.section(&LEDGER_KEYS)?;
                let at = section.entry("at").map(|at| parse_database(&at)).transpose()?;
                let standby = match section.entry("ha") {
                    Some(ha) if ha.boolean()? => match &at {
                        Some(_) => Standby::TakesOver,
                        None => {
                            return Err(ha
                                .error("no standby can take over from a file")
                                .with_hint("`at` names the database; see docs/nodes.md"));
                        }
                    },
                    Some(_) | None => Standby::NoneMeant,
                };
                let keep = section.entry("keep").map(|keep| keep.days_or_years()).transpose()?;
                Ok(Self { at, keep, standby })
            }
        }
    }
}

/// Reads the address of a database. What it says of a password is not repeated.
fn parse_database(entry: &Entry<'_>) -> Result<Template, ConfigError> {
    let address = parse_template(entry)?;
    if address.is_reference() {
        return Ok(address);
    }
    let rest = SCHEMES.iter().find_map(|scheme| address.unexpanded().strip_prefix(scheme));
    let Some(rest) = rest else {
        return Err(entry
            .error("the ledger is a file in the home folder, or a database at a `postgres://` address")
            .with_hint("write \"postgres://user:${PASSWORD}@host/database\", or leave it out"));
    };
    let login = rest.split(['/', '?']).next().and_then(|authority| authority.rsplit_once('@'));
    let password = login.and_then(|(login, _)| login.split_once(':'));
    match password {
        Some((_, password)) if !password.parse::<Template>().is_ok_and(|word| word.is_reference()) => {
            Err(entry
                .error("the password of the database must be a variable")
                .with_hint("write `${NAME}` in its place and put it into the environment of the gateway"))
        }
        Some(_) | None => Ok(address),
    }
}

const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];
