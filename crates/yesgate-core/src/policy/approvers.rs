//! Whose yes a rule wants, as it is written.
//!
//! ```toml
//! approvers = ["ops", "finance"]
//! fallback = { after = "10m", approvers = "leads" }
//! ```

use super::error::ConfigError;
use super::reader::{Entry, Section};
use super::rule::Rule;
use super::{FALLBACK_KEYS, Policy};
use crate::approvers::{Approvers, Fallback};

/// Reads `approvers` and `fallback` of a rule.
pub(super) fn parse(section: &Section<'_>) -> Result<Option<Approvers>, ConfigError> {
    let fallback = section.entry("fallback");
    match (section.entry("approvers"), fallback) {
        (None, None) => Ok(None),
        (None, Some(fallback)) => Err(fallback
            .error("`fallback` says who steps in for the `approvers`, and the rule names none")
            .with_hint("without `approvers` everybody who may decide can say yes")),
        (Some(named), fallback) => {
            let groups = named.names()?.into_iter().collect();
            let fallback = fallback.map(|entry| parse_fallback(&entry)).transpose()?;
            Ok(Some(Approvers { groups, fallback }))
        }
    }
}

fn parse_fallback(entry: &Entry<'_>) -> Result<Fallback, ConfigError> {
    let section = entry.section(&FALLBACK_KEYS)?;
    let after = section.required("after")?.duration()?;
    let groups = section.required("approvers")?.names()?.into_iter().collect();
    Ok(Fallback { after, groups })
}

impl Policy {
    /// Whoever steps in after the question is over never does.
    pub(super) fn check_fallback(&self, rule: &Rule, section: &Section<'_>) -> Result<(), ConfigError> {
        let fallback = rule.approvers.as_ref().and_then(|approvers| approvers.fallback.as_ref());
        let decide = self.defaults.times.decide;
        match fallback.filter(|fallback| fallback.after >= decide) {
            None => Ok(()),
            Some(_) => Err(section
                .required("fallback")?
                .error(format!("`after` is too late: questions are over after {decide:#}"))
                .with_hint("make it shorter, or `decide` under [times] longer")),
        }
    }
}
