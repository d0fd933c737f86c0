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
}

impl LedgerConfig {
    pub(super) fn parse(entry: &Entry<'_>) -> Result<Self, ConfigError> {
        match entry.form() {
            Form::Single => Ok(Self { at: Some(parse_database(entry)?), keep: None }),
            Form::Table | Form::List => {
                let section = entry.section(&LEDGER_KEYS)?;
                Ok(Self {
                    at: section.entry("at").map(|at| parse_database(&at)).transpose()?,
                    keep: section.entry("keep").map(|keep| keep.days_or_years()).transpose()?,
                })
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
