//! `[servers.NAME]`: one server behind the gateway, a program that we start or a URL that we call.
//!
//! INVARIANT: a server is one of the two. A key of the other kind is an error and not ignored: who
//! writes `headers` for a program believes in a protection that is not there.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::super::SERVER_KEYS;
use super::super::error::ConfigError;
use super::super::reader::{Entry, Section, shown};
use super::prefix::{ParsePrefixError, Prefix};
use super::remote::{self, HttpPlace};
use super::variables::{OWN_HINT, Template, TemplateError, is_own, is_variable};
use crate::class::Trust;
use crate::id::ServerName;

/// One server behind the gateway.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ServerConfig {
    /// Where the server is.
    pub place: Place,
    /// What its tools are called on the endpoint of all servers.
    pub prefix: Prefix,
    /// Which protocol it is spoken to in.
    pub era: EraSetting,
    /// Whether the operator believes what the server says of its own tools.
    pub trusted: Option<bool>,
}

/// Where a server is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Place {
    /// A program that the gateway starts and speaks to over its stdin and stdout.
    Child(ChildPlace),
    /// Somewhere else, reached over HTTP.
    Http(HttpPlace),
}

/// A program to start.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ChildPlace {
    /// The program and its arguments; never empty.
    pub command: Vec<String>,
    /// The working directory, an absolute path; `None` is the gateway's own.
    pub folder: Option<PathBuf>,
    /// Variables of its environment.
    pub env: BTreeMap<String, Template>,
    /// Variables of the gateway's own environment that it gets as they are, if they are set.
    pub pass_env: Vec<String>,
}

/// Which protocol a server is spoken to in.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum EraSetting {
    /// As its answer to the first message shows.
    #[default]
    Auto,
    /// With sessions, up to 2025-11-25.
    Legacy,
    /// Without, from 2026-07-28.
    Modern,
}

impl ServerConfig {
    /// How far the server is believed: as the operator wrote, else as the way it was started suggests.
    pub const fn trust(&self, unless_written: Trust) -> Trust {
        match self.trusted {
            Some(true) => Trust::Full,
            Some(false) => Trust::None,
            None => unless_written,
        }
    }

    fn parse(name: &ServerName, section: &Section<'_>) -> Result<Self, ConfigError> {
        let place = match (section.entry("command"), section.entry("url")) {
            (Some(command), None) => {
                refuse_keys(section, &HTTP_KEYS, "is started by `command`", "goes with `url`")?;
                Place::Child(ChildPlace::parse(section, &command)?)
            }
            (None, Some(url)) => {
                refuse_keys(section, &CHILD_KEYS, "is reached by `url`", "goes with `command`")?;
                Place::Http(remote::parse(section, &url)?)
            }
            (Some(_), Some(url)) => {
                return Err(url.error("`command` and `url` exclude each other").with_hint(
                    "a program that is started, or a server that is called; two servers are two tables",
                ));
            }
            (None, None) => {
                return Err(section.error("`command` or `url` is missing").with_hint(
                    "write command = [\"program\", \"argument\", …] or url = \"https://host/mcp\"",
                ));
            }
        };
        let prefix = match section.entry("prefix") {
            Some(prefix) => {
                let text = prefix.text()?;
                text.parse().map_err(|error: ParsePrefixError| {
                    prefix.error(format!("`{}` cannot be a prefix", shown(text))).with_hint(error.to_string())
                })?
            }
            None => name.as_str().parse().map_err(|error: ParsePrefixError| {
                section
                    .error(format!("the name `{name}` cannot be a prefix of the server's tools"))
                    .with_hint(format!("keep the name and set `prefix`: {error}"))
            })?,
        };
        let era = section.entry("era").map(|era| era.word(&ERAS)).transpose()?.unwrap_or_default();
        let trusted = section.entry("trusted").map(|trusted| trusted.boolean()).transpose()?;
        Ok(Self { place, prefix, era, trusted })
    }
}

impl ChildPlace {
    fn parse(section: &Section<'_>, command: &Entry<'_>) -> Result<Self, ConfigError> {
        let words = command
            .items()?
            .iter()
            .map(|word| without_nul(word, word.text()?).map(str::to_owned))
            .collect::<Result<Vec<_>, _>>()?;
        if words.first().is_none_or(|program| program.trim().is_empty()) {
            return Err(command
                .error("`command` names no program")
                .with_hint("write [\"program\", \"argument\", …]"));
        }
        let folder = section.entry("folder").map(|folder| parse_folder(&folder)).transpose()?;
        let mut env = BTreeMap::new();
        if let Some(table) = section.entry("env") {
            for entry in table.named_entries()? {
                let value = parse_template(&entry)?;
                without_nul(&entry, value.unexpanded())?;
                env.insert(parse_variable(&entry, "env", entry.name())?, value);
            }
        }
        let pass_env = match section.entry("pass_env") {
            Some(list) => list.distinct(|item| {
                let name = parse_variable(item, item.name(), item.text()?)?;
                if is_own(&name) {
                    let own = format!("`{}` is for the gateway alone", shown(&name));
                    return Err(item.error(own).with_hint(OWN_HINT));
                }
                if env.contains_key(&name) {
                    let twice = format!("`{}` stands in `env` too", shown(&name));
                    return Err(item
                        .error(twice)
                        .with_hint("`env` sets it, `pass_env` passes it on: keep one"));
                }
                Ok(name)
            })?,
            None => Vec::new(),
        };
        Ok(Self { command: words, folder, env, pass_env })
    }
}

/// Reads `[servers]`.
pub(super) fn parse_all(entry: &Entry<'_>) -> Result<BTreeMap<ServerName, ServerConfig>, ConfigError> {
    let mut servers: BTreeMap<ServerName, ServerConfig> = BTreeMap::new();
    for entry in entry.named_entries()? {
        let name: ServerName = entry.name().parse().map_err(|error| entry.error(format!("{error}")))?;
        if [".", ".."].contains(&name.as_str()) {
            return Err(entry
                .error(format!("a server cannot be called `{name}`: it has no place in a URL"))
                .with_hint("give it another name"));
        }
        let section = entry.section(&SERVER_KEYS)?;
        let server = ServerConfig::parse(&name, &section)?;
        if let Some((other, _)) = servers.iter().find(|(_, other)| other.prefix.is_like(&server.prefix)) {
            let same = format!("the servers `{other}` and `{name}` have one prefix, `{}`", server.prefix);
            return Err(section
                .entry("prefix")
                .map_or_else(|| section.error(same.as_str()), |prefix| prefix.error(same.as_str()))
                .with_hint("set another `prefix`; large and small letters count as the same"));
        }
        servers.insert(name, server);
    }
    Ok(servers)
}

/// Reads a text with `${NAME}` in it.
pub(super) fn parse_template(entry: &Entry<'_>) -> Result<Template, ConfigError> {
    entry.text()?.parse().map_err(|error: TemplateError| {
        entry.error(format!("`{}` cannot be read: {error}", shown(entry.name()))).with_hint(error.hint())
    })
}

/// Reads the name of a variable. What is no name is not repeated: it may be `NAME=secret`.
fn parse_variable(entry: &Entry<'_>, key: &str, name: &str) -> Result<String, ConfigError> {
    if is_variable(name) {
        Ok(name.to_owned())
    } else {
        Err(entry
            .error(format!("`{key}` has something that is not the name of a variable"))
            .with_hint("letters, digits and `_`, and no digit in front"))
    }
}

pub(super) fn parse_folder(entry: &Entry<'_>) -> Result<PathBuf, ConfigError> {
    let text = without_nul(entry, entry.text()?)?;
    if text.starts_with('/') {
        Ok(PathBuf::from(text))
    } else {
        Err(entry
            .error(format!("`{}` is not an absolute path", shown(text)))
            .with_hint("begin it with `/`: where the gateway was started must not matter"))
    }
}

/// Refuses what cannot be handed to a program.
fn without_nul<'t>(entry: &Entry<'_>, text: &'t str) -> Result<&'t str, ConfigError> {
    if text.contains('\0') {
        Err(entry
            .error(format!("`{}` holds a zero byte", shown(entry.name())))
            .with_hint("no program can be given one"))
    } else {
        Ok(text)
    }
}

fn refuse_keys(
    section: &Section<'_>,
    keys: &[&'static str],
    is: &str,
    goes: &str,
) -> Result<(), ConfigError> {
    match keys.iter().find_map(|key| section.entry(key)) {
        Some(entry) => {
            let key = entry.name();
            let wrong = format!("`{key}` has no meaning for a server that {is}");
            Err(entry.error(wrong).with_hint(format!("`{key}` {goes}")))
        }
        None => Ok(()),
    }
}

const ERAS: [(&str, EraSetting); 3] =
    [("auto", EraSetting::Auto), ("legacy", EraSetting::Legacy), ("modern", EraSetting::Modern)];

/// The keys that only a program has.
const CHILD_KEYS: [&str; 3] = ["folder", "env", "pass_env"];

/// The keys that only a server over HTTP has.
const HTTP_KEYS: [&str; 7] =
    ["insecure", "headers", "auth", "scopes", "client_id", "client_secret", "client_metadata_url"];
