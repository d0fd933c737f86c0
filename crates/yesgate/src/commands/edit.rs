//! `approve --edit`, and the same on a page: a human changes the arguments, and says yes to what came of it.
//!
//! INVARIANT: the changed call is judged here by the policy and the pins, shown whole, and judged again by the gate
//! that runs it, which also knows the present state. The stricter of the two holds.

use std::io::{IsTerminal as _, Read as _};
use std::process::Command;

use anyhow::Context as _;
use yesgate_core::approvers::Reach;
use yesgate_core::call::{Presented, ToolCall};
use yesgate_core::intent::Intent;
use yesgate_core::json::{CanonicalJson, Limits, parse_strict};
use yesgate_core::refusal::Why;
use yesgate_core::render::{Sanitized, render_value};
use yesgate_core::verdict::{Question, Verdict};
use yesgate_ledger::Ledger;
use yesgate_web::desk::Revised;

use super::outlook::{self, Outlook};
use crate::catalogue;
use crate::output::Hinted;
use crate::settings::Settings;

/// The question with changed arguments, as the policy puts it, where it can be put.
pub(super) async fn revised(
    settings: &Settings,
    ledger: &Ledger,
    intent: &Intent,
    text: &str,
    reach: &Reach,
) -> anyhow::Result<Revised> {
    let arguments = match parse_strict(text.as_bytes(), Limits::default()) {
        Ok(arguments) => arguments,
        Err(error) => return Ok(Revised::Unreadable(format!("the arguments are not readable: {error}"))),
    };
    if !arguments.is_object() {
        return Ok(Revised::Unreadable("the arguments are no JSON object".to_owned()));
    }
    let old = intent.question();
    let mut binding = old.binding.clone();
    binding.arguments = CanonicalJson::of(&arguments)?;
    if binding.arguments == old.binding.arguments {
        return Ok(Revised::Same);
    }
    // The definition that the question is bound to, and no other.
    let seen = catalogue::all(&settings.home)?;
    let tool = outlook::find(&seen, &binding.server, |definition| definition.digest == binding.definition);
    let Some(tool) = tool else { return Ok(Revised::Refused(Why::ToolChanged.into())) };
    let outlook = Outlook::of(&settings.config, ledger, &binding, tool).await?;
    let facts = outlook.facts(&settings.config, &binding, reach, None);
    let presented = Presented { mode: Some(binding.mode), ..Presented::default() };
    // A human decides in earnest, even while the policy is only tried.
    let policy = settings.config.policy.in_earnest();
    let question = match policy.decide(ToolCall { binding: binding.clone() }, &presented, &facts) {
        // Whatever a rule would say by itself, it is this human's yes.
        Verdict::Ask(question) => Question { standing: None, ..*question },
        // It would run unasked, or change nothing; the human says yes all the same.
        Verdict::Forward(_) | Verdict::Unneeded(_) => {
            if let Err(too_large) = render_value(&arguments) {
                return Ok(Revised::Refused(Why::TooLargeToReview { bytes: too_large.bytes }.into()));
            }
            let words = format!("{} on {} with changed arguments", binding.tool, binding.server);
            let summary = Sanitized::line(&words);
            Question { binding, summary, spend: None, ..old.clone() }
        }
        Verdict::Refuse(refusal) => return Ok(Revised::Refused(refusal)),
        Verdict::AskWithPreview(..) | Verdict::Explain(_) | Verdict::Preview(_) => {
            return Ok(Revised::Refused(Why::NotEditable.into()));
        }
    };
    if !question.can_be_edited() {
        return Ok(Revised::Refused(Why::NotEditable.into()));
    }
    let least = question.least.max(old.least);
    Ok(Revised::As(Box::new(Question { least, ..question })))
}

/// The new arguments: from a file, from stdin, or out of an editor that begins with the old ones.
pub(super) fn changed_text(intent: &Intent, file: &str) -> anyhow::Result<String> {
    match file {
        "-" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).context("stdin cannot be read")?;
            Ok(text)
        }
        "" => out_of_editor(intent),
        path => std::fs::read_to_string(path).with_context(|| format!("`{path}` cannot be read")),
    }
}

fn out_of_editor(intent: &Intent) -> anyhow::Result<String> {
    if !std::io::stdin().is_terminal() {
        let hint = "name a file with the arguments: --edit FILE, or --edit - for stdin";
        return Err(Hinted::new("there is no terminal to edit at", Some(hint)).into());
    }
    let editor = std::env::var("EDITOR").ok().filter(|editor| !editor.trim().is_empty());
    let editor = editor
        .ok_or_else(|| Hinted::new("$EDITOR is not set", Some("set it, or name a file: --edit FILE")))?;
    // In a folder of its own that nobody else can look into.
    let folder = Folder::make()?;
    let path = folder.0.join("arguments.json");
    let before = serde_json::to_string_pretty(&intent.question().binding.arguments.to_value())?;
    std::fs::write(&path, before)?;
    // As other programs do: the variable may hold options too.
    let mut words = editor.split_whitespace();
    let status = Command::new(words.next().unwrap_or_default()).args(words).arg(&path).status();
    let status = status.with_context(|| format!("`{editor}` cannot be started"))?;
    if !status.success() {
        return Err(Hinted::new("the editor failed; nothing was changed", None::<String>).into());
    }
    Ok(std::fs::read_to_string(&path)?)
}

/// A folder that goes when it is no longer needed.
struct Folder(std::path::PathBuf);

impl Folder {
    fn make() -> anyhow::Result<Self> {
        use std::os::unix::fs::DirBuilderExt as _;
        let name = format!("yesgate-edit-{}", yesgate_core::id::BootId::from_entropy(draw()?));
        let path = std::env::temp_dir().join(name);
        std::fs::DirBuilder::new().mode(0o700).create(&path).context("no folder can be made to edit in")?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            eprintln!("Error: {} could not be removed: {error}", self.0.display());
        }
    }
}

fn draw() -> anyhow::Result<[u8; 32]> {
    use yesgate_core::clock::Entropy as _;
    Ok(yesgate::SystemEntropy.draw()?)
}
