//! `policy check|test|lint|explain`.

use serde_json::{Value, json};
use yesgate_core::approvers::Reach;
use yesgate_core::call::{Presented, ToolCall};
use yesgate_core::caller::Caller;
use yesgate_core::definition::ToolDefinition;
use yesgate_core::digest::{Binding, ServerIdentity};
use yesgate_core::id::{ServerName, ToolName};
use yesgate_core::intent::Intent;
use yesgate_core::json::{CanonicalJson, Limits, parse_strict};
use yesgate_core::mode::Mode;
use yesgate_core::policy::Trace;
use yesgate_core::regime::Regime;
use yesgate_ledger::Ledger;

use super::outlook::{self, Outlook, Tool, reach_here};
use super::wrap::local_caller;
use crate::catalogue::{self, Seen};
use crate::cli::{ExplainArgs, PolicyCommand};
use crate::output::{self, Done, Hinted};
use crate::settings::Settings;

pub(super) async fn run(settings: &Settings, command: &PolicyCommand, as_json: bool) -> anyhow::Result<Done> {
    match command {
        PolicyCommand::Check => check(settings, as_json),
        PolicyCommand::Test => test(settings, as_json),
        PolicyCommand::Lint => lint(settings, as_json),
        PolicyCommand::Explain(args) => explain(settings, args, as_json).await,
    }
}

/// Loading is checking: a configuration that is not sound never gets this far.
fn check(settings: &Settings, as_json: bool) -> anyhow::Result<Done> {
    let policy = &settings.config.policy;
    let path = settings.config_path.as_ref().map(|path| path.display().to_string());
    let profile = policy.profile().map_or("none", |profile| profile.as_str());
    if as_json {
        output::json(&json!({
            "configuration": path,
            "profile": profile,
            "mode": policy.mode(),
            "rules": policy.rule_count(),
            "examples": settings.config.examples,
        }))?;
    } else {
        output::line(path.unwrap_or_else(|| "No configuration: the built-in policy holds.".into()));
        output::line(format_args!(
            "  profile {profile}, {} mode, {} rules, {} examples: sound",
            policy.mode(),
            policy.rule_count(),
            settings.config.examples
        ));
    }
    Ok(Done::Ok)
}

/// The examples ran while the configuration was loaded; a failing one is a load error.
fn test(settings: &Settings, as_json: bool) -> anyhow::Result<Done> {
    let count = settings.config.examples;
    if as_json {
        output::json(&json!({"examples": count, "failed": 0}))?;
    } else {
        output::line(format_args!("{count} examples hold."));
    }
    Ok(Done::Ok)
}

fn lint(settings: &Settings, as_json: bool) -> anyhow::Result<Done> {
    let lints = settings.config.lint();
    if as_json {
        let found: Vec<_> = lints
            .iter()
            .map(|lint| json!({"rule": lint.rule(), "line": lint.line(), "text": lint.to_string()}))
            .collect();
        output::json(&found)?;
    } else if lints.is_empty() {
        output::line("Nothing to remark.");
    } else {
        for lint in &lints {
            output::line(format_args!("line {lint}"));
        }
    }
    Ok(if lints.is_empty() { Done::Ok } else { Done::Problem })
}

async fn explain(settings: &Settings, args: &ExplainArgs, as_json: bool) -> anyhow::Result<Done> {
    let mode = args.mode.as_deref().map(str::parse::<Mode>).transpose()?;
    let (ledger, _) = settings.ledger().await?;
    let call = Call { tool: &args.tool, arguments: &args.args, state: args.state.as_deref(), mode };
    let reach = reach_here(settings, &ledger).await?;
    let Explained { trace, seen } = explained(settings, &ledger, call, &reach).await?;
    if as_json {
        output::json(&trace)?;
        return Ok(Done::Ok);
    }
    output::line(trace.to_string().trim_end());
    if seen == ToolSeen::Never {
        output::line(format_args!("({UNSEEN})"));
    }
    Ok(Done::Ok)
}

/// A call that nobody makes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call<'a> {
    /// `SERVER/TOOL`.
    pub(super) tool: &'a str,
    pub(super) arguments: &'a str,
    /// What a lookup would find.
    pub(super) state: Option<&'a str>,
    pub(super) mode: Option<Mode>,
}

/// What the policy says of it.
#[derive(Debug)]
pub(super) struct Explained {
    pub(super) trace: Trace,
    pub(super) seen: ToolSeen,
}

/// Whether a tool was ever seen.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ToolSeen {
    Once,
    Never,
}

/// What is said where a tool was never seen.
pub(super) const UNSEEN: &str =
    "The server has not been wrapped yet, so nothing is known of this tool but its name.";

/// Asks the policy about a call that nobody makes.
pub(super) async fn explained(
    settings: &Settings,
    ledger: &Ledger,
    call: Call<'_>,
    reach: &Reach,
) -> anyhow::Result<Explained> {
    let (server, tool) = parse_tool(call.tool)?;
    let arguments = parse_json("arguments are", call.arguments)?;
    let state = call.state.map(|state| parse_json("state is", state)).transpose()?;
    let known = catalogue::all(&settings.home)?;
    let found = outlook::find(&known, &server, |definition| definition.name == tool);
    let seen = if found.is_some() { ToolSeen::Once } else { ToolSeen::Never };
    let found = match found {
        Some(found) => found,
        None => Tool {
            definition: ToolDefinition::parse(&json!({"name": tool}))?,
            untrusted: known.iter().any(|seen| seen.server == server && seen.untrusted),
        },
    };
    let binding = Binding {
        // As `wrap` calls it.
        caller: Caller { client: "explain".parse()?, ..local_caller()? },
        identity: ServerIdentity::of_application(&server),
        server,
        method: "tools/call".into(),
        definition: found.definition.digest,
        arguments: CanonicalJson::of(&arguments)?,
        meta: CanonicalJson::empty_object(),
        mode: Mode::Execute,
        preview: None,
        tool,
    };
    let outlook = Outlook::of(&settings.config, ledger, &binding, found).await?;
    let outlook = outlook.under(Regime { mode: call.mode, ..Regime::default() });
    let facts = outlook.facts(&settings.config, &binding, reach, state.as_ref());
    let call = ToolCall { binding: binding.clone() };
    Ok(Explained { trace: settings.config.policy.explain(&call, &Presented::default(), &facts), seen })
}

/// What the policy would say now of a call that was asked about. `None`: its tool is described differently by now.
pub(super) async fn in_hindsight(
    settings: &Settings,
    ledger: &Ledger,
    seen: &[Seen],
    intent: &Intent,
    reach: &Reach,
) -> anyhow::Result<Option<Trace>> {
    let binding = &intent.question().binding;
    let tool = outlook::find(seen, &binding.server, |definition| definition.digest == binding.definition);
    let Some(tool) = tool else { return Ok(None) };
    let outlook = Outlook::of(&settings.config, ledger, binding, tool).await?;
    let facts = outlook.facts(&settings.config, binding, reach, None);
    let presented = Presented { mode: Some(binding.mode), ..Presented::default() };
    let call = ToolCall { binding: binding.clone() };
    Ok(Some(settings.config.policy.explain(&call, &presented, &facts)))
}

fn parse_json(what: &str, text: &str) -> anyhow::Result<Value> {
    parse_strict(text.as_bytes(), Limits::default())
        .map_err(|error| Hinted::new(format!("the {what} not readable: {error}"), None::<String>).into())
}

fn parse_tool(words: &str) -> anyhow::Result<(ServerName, ToolName)> {
    let parsed =
        words.split_once('/').and_then(|(server, tool)| Some((server.parse().ok()?, tool.parse().ok()?)));
    parsed.ok_or_else(|| {
        Hinted::new(format!("`{}` names no tool", words.escape_debug()), Some("write SERVER/TOOL")).into()
    })
}
