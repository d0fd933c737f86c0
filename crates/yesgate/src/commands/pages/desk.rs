//! What the pages ask of the operator's side: the same as the commands do, under the settings that are in force.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::watch;
use yesgate_core::digest::DefinitionDigest;
use yesgate_core::id::{KeyId, OrgId, ServerName, ToolName};
use yesgate_core::intent::Intent;
use yesgate_core::json::{Limits, parse_lenient};
use yesgate_core::policy::Profile;
use yesgate_core::render::{Sanitized, TooLargeToReview, fence, render_value, reviewable};
use yesgate_gateway::gate::SharedReach;
use yesgate_gateway::rest::openapi;
use yesgate_ledger::Ledger;
use yesgate_web::desk::{
    self, BudgetLine, CallWords, DeskError, Hindsight, PinWish, Pinned, PolicyLook, Revised, ServerTools,
    ToolLine, ToolLook,
};

use super::super::budgets::{self, Sums};
use super::super::edit;
use super::super::help::{annex, of_people};
use super::super::policy::{Call, Explained, ToolSeen, UNSEEN, explained, in_hindsight};
use super::super::serve::keyring::Keyring;
use super::super::tools::{Row, Standing, matrix};
use crate::catalogue::{self, Seen};
use crate::output::Hinted;
use crate::settings::Settings;

/// The operator's side of a gateway that runs.
#[derive(Debug)]
pub(in crate::commands) struct Desk {
    settings: watch::Receiver<Arc<Settings>>,
    ledger: Ledger,
    /// The strongest yes that somebody could give, at every moment.
    reach: SharedReach,
    listed: Listed,
    /// The keys at the door, where there is one.
    keyring: Option<Keyring>,
}

/// Which servers are listed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::commands) enum Listed {
    /// Those of the configuration.
    Configured,
    /// Every one that was ever seen: whoever wraps a server need not configure it.
    Seen,
}

impl Desk {
    pub(in crate::commands) const fn new(
        settings: watch::Receiver<Arc<Settings>>,
        ledger: Ledger,
        reach: SharedReach,
        listed: Listed,
    ) -> Self {
        Self { settings, ledger, reach, listed, keyring: None }
    }

    /// With the door at which agents show keys.
    #[must_use]
    pub(in crate::commands) fn at_the_door(self, keyring: Keyring) -> Self {
        Self { keyring: Some(keyring), ..self }
    }

    /// The settings that are in force now.
    fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings.borrow())
    }

    /// The servers as they were last seen.
    fn seen(&self, settings: &Settings) -> Result<Vec<Seen>, DeskError> {
        let mut seen = catalogue::all(&settings.home).map_err(failed)?;
        match self.listed {
            Listed::Configured => seen.retain(|seen| settings.config.servers.contains_key(&seen.server)),
            Listed::Seen => {}
        }
        Ok(seen)
    }

    async fn rows(&self, settings: &Settings, seen: &Seen) -> Result<Vec<Row>, DeskError> {
        matrix(settings, &self.ledger, seen).await.map_err(failed)
    }

    async fn row(&self, server: &ServerName, tool: &ToolName) -> Result<Option<(Seen, Row)>, DeskError> {
        let settings = self.settings();
        let seen = self.seen(&settings)?.into_iter().find(|seen| seen.server == *server);
        let Some(seen) = seen else { return Ok(None) };
        let rows = self.rows(&settings, &seen).await?;
        Ok(rows.into_iter().find(|row| row.definition.name == *tool).map(|row| (seen, row)))
    }
}

/// How a tool is described, in lines: its words in a box that they cannot leave, then everything else.
fn described(seen: &Seen, digest: DefinitionDigest) -> Option<Result<Vec<Sanitized>, TooLargeToReview>> {
    let raw = seen.described(digest)?;
    let mut value = parse_lenient(raw.get().as_bytes(), Limits::SERVER).ok()?;
    let words = value.as_object_mut().and_then(|fields| fields.remove("description"));
    let rest = render_value(&value);
    let words = words.as_ref().and_then(Value::as_str).map(|words| fence("description", words));
    Some(rest.and_then(|rest| reviewable(words.into_iter().flatten().chain(rest).collect())))
}

fn line(row: &Row) -> ToolLine {
    ToolLine {
        name: row.definition.name.clone(),
        class: row.classified.class,
        source: Sanitized::line(&row.classified.source.to_string()),
        standing: row.standing.as_str(),
        waits: row.standing.waits(),
        asks: row.asks(),
        executes: row.executed().as_str(),
    }
}

#[async_trait]
impl desk::Desk for Desk {
    async fn revise(&self, intent: &Intent, arguments: &str) -> Result<Revised, DeskError> {
        let settings = self.settings();
        edit::revised(&settings, &self.ledger, intent, arguments, &self.reach.get()).await.map_err(failed)
    }

    async fn tools(&self) -> Result<Vec<ServerTools>, DeskError> {
        let settings = self.settings();
        let mut servers = Vec::new();
        for seen in self.seen(&settings)? {
            let rows = self.rows(&settings, &seen).await?;
            servers.push(ServerTools { server: seen.server, tools: rows.iter().map(line).collect() });
        }
        Ok(servers)
    }

    async fn tool(&self, server: &ServerName, tool: &ToolName) -> Result<Option<ToolLook>, DeskError> {
        let Some((seen, row)) = self.row(server, tool).await? else { return Ok(None) };
        let digest = row.definition.digest;
        let said = match row.standing {
            Standing::Changed { from } => described(&seen, from).and_then(Result::ok),
            Standing::Unused | Standing::Accepted | Standing::New => None,
        };
        let Some(says) = described(&seen, digest) else { return Ok(None) };
        let suggestion = row.suggestion();
        Ok(Some(ToolLook {
            line: line(&row),
            definition: digest,
            says,
            said,
            suggested: suggestion.class,
            suggested_by: Sanitized::line(&suggestion.why),
        }))
    }

    async fn pin(&self, wish: PinWish, by: &str) -> Result<Pinned, DeskError> {
        let PinWish { server, tool, definition, class } = wish;
        match self.row(&server, &tool).await? {
            Some((_, row)) if row.definition.digest == definition => {
                row.pin(&self.ledger, &server, class, by).await.map_err(|error| failed(error.into()))?;
                Ok(Pinned::Done)
            }
            Some(_) | None => Ok(Pinned::OtherByNow),
        }
    }

    async fn policy(&self) -> Result<PolicyLook, DeskError> {
        let settings = self.settings();
        let policy = &settings.config.policy;
        let file = settings.config_path.as_ref().map(|path| Sanitized::line(&path.display().to_string()));
        Ok(PolicyLook {
            file,
            profile: policy.profile().map_or("none", Profile::as_str),
            mode: policy.mode().as_str(),
            rules: policy.rules_in_words(),
            otherwise: policy.otherwise_in_words(),
        })
    }

    async fn explain(&self, call: &CallWords) -> Result<Result<Vec<Sanitized>, Sanitized>, DeskError> {
        let settings = self.settings();
        let call = Call { tool: &call.tool, arguments: &call.arguments, state: None, mode: None };
        match explained(&settings, &self.ledger, call, &self.reach.get()).await {
            Ok(Explained { trace, seen }) => {
                let mut lines: Vec<Sanitized> = trace.to_string().lines().map(Sanitized::line).collect();
                if seen == ToolSeen::Never {
                    lines.push(Sanitized::fixed(UNSEEN));
                }
                Ok(Ok(lines))
            }
            // What was written is no call; anything else is not the visitor's to mend.
            Err(error) if error.is::<Hinted>() => Ok(Err(Sanitized::line(&error.to_string()))),
            Err(error) => Err(failed(error)),
        }
    }

    async fn hindsight(&self, intents: &[Intent]) -> Result<Vec<Option<Hindsight>>, DeskError> {
        let settings = self.settings();
        let seen = self.seen(&settings)?;
        let reach = self.reach.get();
        let mut all = Vec::new();
        for intent in intents {
            let trace = in_hindsight(&settings, &self.ledger, &seen, intent, &reach);
            all.push(trace.await.map_err(failed)?.map(|trace| Hindsight {
                decided_by: Sanitized::line(&trace.decided_by.to_string()),
                verdict: Sanitized::line(&trace.answer.to_string()),
            }));
        }
        Ok(all)
    }

    async fn budgets(&self, org: &OrgId) -> Result<Vec<BudgetLine>, DeskError> {
        let settings = self.settings();
        let rows = budgets::all(&settings, &self.ledger).await.map_err(failed)?;
        Ok(rows.iter().filter(|row| row.is_of(org)).map(budget_line).collect())
    }

    fn document(&self) -> Value {
        match self.listed {
            Listed::Configured => openapi::document(&self.settings().config.routes, &annex()),
            Listed::Seen => of_people(),
        }
    }

    async fn revoke_clients(&self, keys: Vec<KeyId>, by: &str) -> Result<(), DeskError> {
        for key in keys {
            self.ledger.revoke_key(&key, by).await.map_err(|error| failed(error.into()))?;
        }
        self.look_at_keys_again().await;
        Ok(())
    }

    async fn look_at_keys_again(&self) {
        if let Some(keyring) = &self.keyring {
            keyring.renew().await;
        }
    }
}

fn budget_line(row: &budgets::Row<'_>) -> BudgetLine {
    let Sums { spent, most, left, per } = row.sums();
    BudgetLine {
        name: row.name().to_owned(),
        whose: Sanitized::line(&row.whose()),
        spent,
        most,
        left,
        per,
        percent: row.percent(),
        over: row.over(),
        frees_at: row.frees_at(),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` has")]
fn failed(error: anyhow::Error) -> DeskError {
    DeskError::new(format!("{error:#}"))
}
