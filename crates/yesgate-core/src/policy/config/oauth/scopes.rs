//! Reads `[oauth.scopes]`: the operator's words for what a client may be allowed.
//!
//! INVARIANT: no scope is about deciding. Whoever writes one that seems to be is told so, instead of believing that it works.

use std::collections::{BTreeMap, BTreeSet};

use super::super::super::error::ConfigError;
use super::super::super::glob::ToolGlob;
use super::super::super::reader::{Entry, Form, shown};
use super::super::super::{CLASSES, SCOPE_KEYS};
use super::{ScopePolicy, ScopeRule};
use crate::class::Class;
use crate::id::ScopeName;
use crate::oauth::Scopes;

/// Reads all of them.
pub(super) fn parse(table: &Entry<'_>) -> Result<ScopePolicy, ConfigError> {
    let mut rules = BTreeMap::new();
    let entries = table.named_entries()?;
    for entry in &entries {
        rules.insert(parse_name(entry)?, parse_rule(entry)?);
    }
    for entry in &entries {
        refuse_unknown(entry, &rules)?;
    }
    if !rules.values().any(|rule| rule.is_usual) {
        return Err(table
            .error("a client that asks for nothing would be given nothing: no scope is `usual`")
            .with_hint("write usual = true at the scopes that clients are to ask for first"));
    }
    Ok(ScopePolicy(rules))
}

fn parse_name(entry: &Entry<'_>) -> Result<ScopeName, ConfigError> {
    let text = entry.name();
    let name: ScopeName = text.parse().map_err(|_| {
        entry
            .error(format!("`{}` can be no scope", shown(text)))
            .with_hint("visible ASCII characters without `\"` and `\\`: \"workspaces:read\"")
    })?;
    let mut words = text.split([':', '.', '/', '_', '-']).map(str::to_ascii_lowercase);
    let first = words.next().unwrap_or_default();
    let is_about_deciding = OWN_MATTERS.contains(&first.as_str()) || words.any(|word| word == "decide");
    if is_about_deciding {
        return Err(entry
            .error(format!("`{name}` would pretend to decide: there is no scope for saying yes"))
            .with_hint(
                "people decide, signed in, at the command line or with their keys; a client only ever asks",
            ));
    }
    if RESERVED.contains(&text) {
        return Err(entry
            .error(format!("`{name}` means something else everywhere"))
            .with_hint("clients may ask for it, and it gives them nothing; leave it out"));
    }
    Ok(name)
}

fn parse_rule(entry: &Entry<'_>) -> Result<ScopeRule, ConfigError> {
    let section = entry.section(&SCOPE_KEYS)?;
    let flag = |key| section.entry(key).map_or(Ok(false), |flag| flag.boolean());
    let tools = match section.entry("tools") {
        Some(tools) => globs(&tools)?,
        None => Vec::new(),
    };
    let includes = match section.entry("includes") {
        Some(includes) => includes.names::<ScopeName>()?.into_iter().collect(),
        None => Scopes::default(),
    };
    Ok(ScopeRule {
        says: section.required("says")?.line()?.to_owned(),
        tools,
        classes: section.entry("classes").map(|classes| parse_classes(&classes)).transpose()?,
        includes,
        is_usual: flag("usual")?,
        wants_fresh: flag("fresh")?,
    })
}

fn globs(entry: &Entry<'_>) -> Result<Vec<ToolGlob>, ConfigError> {
    let glob = |item: &Entry<'_>| {
        let text = item.text()?;
        ToolGlob::parse(text)
            .map_err(|error| item.error(format!("`{}` names no tools: {error}", shown(text))))
    };
    match entry.form() {
        Form::List => match entry.distinct(glob)? {
            // An empty list would be every tool.
            globs if globs.is_empty() => {
                Err(entry.error("`tools` is an empty list").with_hint("leave it out for all tools"))
            }
            globs => Ok(globs),
        },
        Form::Single | Form::Table => Ok(vec![glob(entry)?]),
    }
}

fn parse_classes(entry: &Entry<'_>) -> Result<BTreeSet<Class>, ConfigError> {
    let classes = match entry.form() {
        Form::List => entry.distinct(|class| class.word(&CLASSES))?,
        Form::Single | Form::Table => vec![entry.word(&CLASSES)?],
    };
    if classes.is_empty() {
        return Err(entry.error("`classes` is an empty list").with_hint("leave it out for all classes"));
    }
    Ok(classes.into_iter().collect())
}

fn refuse_unknown(entry: &Entry<'_>, rules: &BTreeMap<ScopeName, ScopeRule>) -> Result<(), ConfigError> {
    let Some(includes) = entry.section(&SCOPE_KEYS)?.entry("includes") else { return Ok(()) };
    let unknown = includes.names::<ScopeName>()?.into_iter().find(|scope| !rules.contains_key(scope));
    match unknown {
        Some(scope) => Err(includes
            .error(format!("`includes` names `{scope}`, and there is no such scope"))
            .with_hint(format!("write [oauth.scopes.\"{scope}\"], or leave it out"))),
        None => Ok(()),
    }
}

/// What only people have to do with.
const OWN_MATTERS: [&str; 8] =
    ["approval", "approvals", "approve", "consent", "consents", "decide", "decisions", "intents"];
/// Scopes of OpenID Connect that clients ask for out of habit.
const RESERVED: [&str; 3] = ["offline_access", "openid", "profile"];
