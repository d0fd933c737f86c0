//! `tools`: the matrix – each tool, its class, how we know, and what happens in each mode.

use std::ffi::OsString;

use anyhow::Context as _;
use serde_json::{Value, json};
use yesgate::SystemEntropy;
use yesgate_core::class::{Class, Classified};
use yesgate_core::clock::Entropy as _;
use yesgate_core::definition::ToolDefinition;
use yesgate_core::digest::DefinitionDigest;
use yesgate_core::id::{BootId, ServerName};
use yesgate_core::mode::Mode;
use yesgate_core::policy::{Consequence, Known, Pin, Place};
use yesgate_core::render::Sanitized;
use yesgate_core::suggest::{Suggestion, suggest};
use yesgate_core::verdict::ConfirmType;
use yesgate_gateway::book::definition;
use yesgate_gateway::child::{ChildSpec, guard};
use yesgate_gateway::probe::list_tools;
use yesgate_ledger::{Ledger, LedgerError};

use super::wrap::trust;
use crate::catalogue::{self, Seen};
use crate::output::{self, Done};
use crate::server_name::server_name;
use crate::settings::Settings;

pub(super) async fn run(
    settings: &Settings,
    server: Option<&str>,
    command: &[OsString],
    as_json: bool,
) -> anyhow::Result<Done> {
    let servers = servers(settings, server, command).await?;
    if servers.is_empty() {
        let hint = "wrap a server first, or ask one directly: `yesgate tools NAME -- COMMAND…`";
        return Ok(output::not_found("no server is known yet", hint));
    }
    let (ledger, _) = settings.ledger().await?;
    let mut all = Vec::new();
    for seen in &servers {
        let rows = matrix(settings, &ledger, seen).await?;
        if as_json {
            all.extend(rows.iter().map(|row| row.to_json(&seen.server)));
        } else {
            print(&seen.server, &rows);
        }
    }
    if as_json {
        output::json(&all)?;
    }
    Ok(Done::Ok)
}

/// The servers that are meant: the one that is asked directly, or those that were wrapped.
pub(super) async fn servers(
    settings: &Settings,
    server: Option<&str>,
    command: &[OsString],
) -> anyhow::Result<Vec<Seen>> {
    let configured = |name: &str| {
        let name = name.parse::<ServerName>().ok()?;
        match &settings.config.servers.get(&name)?.place {
            // Only a program that needs nothing but its command line is started here; what others say is
            // known from when they were last used.
            Place::Child(child) if child.folder.is_none() && child.env.is_empty() => {
                Some(child.command.iter().map(OsString::from).collect::<Vec<_>>())
            }
            Place::Child(_) | Place::Http(_) => None,
        }
    };
    let asked = match (server, command) {
        (_, [_, ..]) => Some(command.to_vec()),
        (Some(name), []) => configured(name),
        (None, []) => None,
    };
    if let Some(command) = asked {
        return Ok(vec![ask(settings, server_name(server, &command)?, &command).await?]);
    }
    let mut seen = catalogue::all(&settings.home)?;
    seen.retain(|seen| server.is_none_or(|name| seen.server.as_str() == name));
    Ok(seen)
}

/// Starts a server and asks it.
async fn ask(settings: &Settings, server: ServerName, command: &[OsString]) -> anyhow::Result<Seen> {
    let (program, args) = command.split_first().context("no command was given")?;
    let spec = ChildSpec {
        program: program.clone(),
        args: args.to_vec(),
        environment: settings.environment_of_servers(),
        folder: None,
        guard: guard::prefix(&["guard"])?,
    };
    let boot = BootId::from_entropy(SystemEntropy.draw()?);
    let listing = list_tools(&spec, &boot).await?;
    Ok(Seen {
        server,
        command: command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        untrusted: false,
        tools: listing.tools,
        earlier: Vec::new(),
    })
}

/// One tool of the matrix.
#[derive(Debug)]
pub(super) struct Row {
    confirm: ConfirmType,
    pub(super) definition: ToolDefinition,
    pub(super) classified: Classified,
    pub(super) standing: Standing,
    cells: [Consequence; 3],
}

/// Whether the definition of a tool is one that was accepted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Standing {
    /// The server has not been used yet, so nothing of it is new.
    Unused,
    /// It is.
    Accepted,
    /// The tool came after the first use.
    New,
    /// Another definition was.
    Changed {
        /// That one.
        from: DefinitionDigest,
    },
}

impl Standing {
    fn of(definition: &ToolDefinition, known: Known<'_>) -> Self {
        match known {
            Known::FirstUse => Self::Unused,
            Known::Pinned(pin) if pin.definition == definition.digest => Self::Accepted,
            Known::Pinned(pin) => Self::Changed { from: pin.definition },
            Known::New => Self::New,
        }
    }

    /// The word in lists and for programs.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Unused => "unused",
            Self::Accepted => "accepted",
            Self::New => "new",
            Self::Changed { .. } => "changed",
        }
    }

    /// Whether it waits for somebody to accept it.
    pub(super) const fn waits(self) -> bool {
        match self {
            Self::New | Self::Changed { .. } => true,
            Self::Unused | Self::Accepted => false,
        }
    }
}

pub(super) async fn matrix(settings: &Settings, ledger: &Ledger, seen: &Seen) -> anyhow::Result<Vec<Row>> {
    let pins = ledger.pins(&seen.server).await?;
    let policy = &settings.config.policy;
    let trust = trust(&settings.config, &seen.server, seen.untrusted);
    let rows = seen.tools.iter().filter_map(|tool| definition(tool).ok()).map(|definition| {
        let known = pins.known(&definition.name);
        let standing = Standing::of(&definition, known);
        let classified = policy.classify(&seen.server, &definition, trust, known);
        let cell = |mode| policy.consequence(&seen.server, &definition, trust, classified.class, mode);
        let cells = [cell(Mode::Ask), cell(Mode::Plan), cell(Mode::Execute)];
        let confirm = policy.confirm(&seen.server, &definition.name);
        Row { cells, confirm, classified, standing, definition }
    });
    Ok(rows.collect())
}

impl Row {
    /// Accepts the tool as it is shown, with a class or as its server's own words have it.
    pub(super) async fn pin(
        &self,
        ledger: &Ledger,
        server: &ServerName,
        class: Option<Class>,
        by: &str,
    ) -> Result<Pin, LedgerError> {
        let pin = Pin { definition: self.definition.digest, class };
        ledger.pin(server, &self.definition.name, pin, by).await?;
        Ok(pin)
    }

    /// The class that its words speak for.
    pub(super) fn suggestion(&self) -> Suggestion {
        let ToolDefinition { name, description, input_schema, .. } = &self.definition;
        suggest(name.as_str(), description.as_deref(), input_schema.as_ref())
    }

    /// What comes of a call in execute mode.
    pub(super) const fn executed(&self) -> Consequence {
        let [_, _, execute] = self.cells;
        execute
    }

    /// Whether somebody always has a say before it runs.
    pub(super) const fn asks(&self) -> bool {
        match self.executed() {
            Consequence::Asks | Consequence::TwoKeys => true,
            Consequence::Runs
            | Consequence::Explained
            | Consequence::Previewed
            | Consequence::Refused
            | Consequence::Depends => false,
        }
    }

    fn depends(&self) -> bool {
        self.executed() == Consequence::Depends
    }

    fn runs_unasked(&self) -> bool {
        self.executed() == Consequence::Runs
    }

    /// How a human confirms it in execute mode.
    const fn confirmed(&self) -> &'static str {
        match self.executed() {
            Consequence::Runs | Consequence::Refused | Consequence::Explained | Consequence::Previewed => {
                ConfirmType::None.as_str()
            }
            Consequence::Asks | Consequence::Depends => self.confirm.as_str(),
            Consequence::TwoKeys => "two keys",
        }
    }

    /// Whether the tool may change something and runs without a question in execute mode.
    fn is_ungated_write(&self) -> bool {
        self.classified.class != Class::ReadOnly && self.runs_unasked()
    }

    fn to_json(&self, server: &ServerName) -> Value {
        let [ask, plan, execute] = &self.cells;
        json!({
            "server": server,
            "tool": self.definition.name,
            "class": self.classified.class,
            "source": self.classified.source.to_string(),
            "standing": self.standing.as_str(),
            "confirm": self.confirmed(),
            "ask": ask.as_str(),
            "plan": plan.as_str(),
            "execute": execute.as_str(),
            "ungated_write": self.is_ungated_write(),
            "definition": self.definition.digest,
        })
    }
}

fn print(server: &ServerName, rows: &[Row]) {
    let asks = rows.iter().filter(|row| row.asks()).count();
    output::line(format_args!("{server}: {} tools, {asks} ask before they run", rows.len()));
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let [ask, plan, execute] = &row.cells;
            vec![
                format!("{} {}", if row.standing.waits() { "!" } else { " " }, row.definition.name),
                row.classified.class.to_string(),
                Sanitized::line(&row.classified.source.to_string()).to_string(),
                row.confirmed().to_owned(),
                ask.as_str().into(),
                plan.as_str().into(),
                execute.as_str().into(),
            ]
        })
        .collect();
    output::table(
        &["  TOOL", "CLASS", "KNOWN BY", "CONFIRM", "ASK MODE", "PLAN MODE", "EXECUTE MODE"],
        &cells,
    );
    let ungated: Vec<&str> =
        rows.iter().filter(|row| row.is_ungated_write()).map(|row| row.definition.name.as_str()).collect();
    output::line("");
    let depends: Vec<&str> =
        rows.iter().filter(|row| row.depends()).map(|row| row.definition.name.as_str()).collect();
    for word in ["new", "changed"] {
        let waiting: Vec<&str> = rows
            .iter()
            .filter(|row| row.standing.waits() && row.standing.as_str() == word)
            .map(|row| row.definition.name.as_str())
            .collect();
        if !waiting.is_empty() {
            output::line(format_args!(
                "! {word}, not accepted yet: {}; `yesgate tools accept {server}` tells more",
                waiting.join(", ")
            ));
        }
    }
    if !ungated.is_empty() {
        output::line(format_args!("  NOT gated although they may change something: {}", ungated.join(", ")));
    }
    if !depends.is_empty() {
        output::line(format_args!("  Gated or not by the rules' conditions: {}", depends.join(", ")));
    }
    if ungated.is_empty() && depends.is_empty() {
        output::line("  No tool that may change something runs unasked.");
    }
    let unknown = rows
        .iter()
        .filter(|row| {
            row.classified.class == Class::Dangerous && row.definition.annotations == Default::default()
        })
        .count();
    if unknown > 0 {
        output::line(format_args!(
            "  {unknown} of them say nothing of their risk and count as dangerous; `yesgate tools review {server}` settles them in seconds."
        ));
    }
    output::line("");
}
