//! `policy check|test|lint|explain`.

use serde_json::json;
use yesgate_core::call::{Presented, ToolCall};
use yesgate_core::caller::Caller;
use yesgate_core::definition::ToolDefinition;
use yesgate_core::digest::{Binding, ServerIdentity};
use yesgate_core::id::{ServerName, ToolName};
use yesgate_core::json::{CanonicalJson, Limits, parse_strict};
use yesgate_core::mode::Mode;
use yesgate_core::policy::{ClientWays, Facts};
use yesgate_core::regime::Regime;
use yesgate_core::switch::OperatorSwitch;

use super::tools::matrix;
use super::wrap::{REACH, trust};
use crate::catalogue;
use crate::cli::{ExplainArgs, PolicyCommand};
use crate::output::{self, Done, Hinted};
use crate::settings::{Settings, now};

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
    let (server, tool) = parse_tool(&args.tool)?;
    let arguments = parse_strict(args.args.as_bytes(), Limits::default())
        .map_err(|error| Hinted::new(format!("the arguments are not readable: {error}"), None::<String>))?;
    let state = args
        .state
        .as_ref()
        .map(|state| parse_strict(state.as_bytes(), Limits::default()))
        .transpose()
        .map_err(|error| Hinted::new(format!("the state is not readable: {error}"), None::<String>))?;
    let mode = args.mode.as_deref().map(str::parse::<Mode>).transpose()?;
    let (ledger, _) = settings.ledger().await?;
    let pins = ledger.pins(&server).await?;
    let mut known = catalogue::all(&settings.home)?;
    known.retain(|seen| seen.server == server);
    let mut definition = None;
    let mut untrusted = false;
    for seen in &known {
        untrusted = seen.untrusted;
        definition = matrix(settings, &ledger, seen)
            .await?
            .into_iter()
            .map(|row| row.definition)
            .find(|definition| definition.name == tool);
    }
    let unseen = definition.is_none();
    let definition = match definition {
        Some(definition) => definition,
        None => ToolDefinition::parse(&json!({"name": tool}))?,
    };
    // As `wrap` calls it.
    let account = format!("uid-{}", rustix::process::getuid().as_raw());
    let call = ToolCall {
        binding: Binding {
            caller: Caller { org: "local".parse()?, principal: account.parse()?, client: "explain".parse()? },
            identity: ServerIdentity::of_application(&server),
            server: server.clone(),
            method: "tools/call".into(),
            definition: definition.digest,
            arguments: CanonicalJson::of(&arguments)?,
            meta: CanonicalJson::empty_object(),
            mode: Mode::Execute,
            preview: None,
            tool: tool.clone(),
        },
    };
    let windows = settings.config.policy.windows(&call.binding);
    let spent = ledger.spent(windows, call.binding.digest()).await?;
    let facts = Facts {
        definition: &definition,
        trust: trust(&settings.config, &server, untrusted),
        known: pins.known(&tool),
        regime: &Regime { mode, ..Regime::default() },
        ways: ClientWays::default(),
        switch: OperatorSwitch::parse(std::env::var("MCP_DRY_RUN").ok().as_deref()),
        reach: REACH,
        state: state.as_ref(),
        spent: &spent,
        now: now(),
    };
    let trace = settings.config.policy.explain(&call, &Presented::default(), &facts);
    if as_json {
        output::json(&trace)?;
    } else {
        output::line(trace.to_string().trim_end());
        if unseen {
            output::line(
                "(The server has not been wrapped yet, so nothing is known of this tool but its name.)",
            );
        }
    }
    Ok(Done::Ok)
}

fn parse_tool(words: &str) -> anyhow::Result<(ServerName, ToolName)> {
    let parsed =
        words.split_once('/').and_then(|(server, tool)| Some((server.parse().ok()?, tool.parse().ok()?)));
    parsed.ok_or_else(|| {
        Hinted::new(format!("`{}` names no tool", words.escape_debug()), Some("write SERVER/TOOL")).into()
    })
}
