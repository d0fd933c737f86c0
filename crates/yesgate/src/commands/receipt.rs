//! `receipt show`, `receipt verify` and `receipt key`: what became of a question, for whoever was not there.
//!
//! INVARIANT: a receipt counts only under a key that somebody named or that is this installation's own; the key that
//! stands in it is its own word.

use std::io::Read as _;
use std::path::Path;

use anyhow::Context as _;
use serde_json::json;
use yesgate_core::intent::{Answer, Receipt, Word};
use yesgate_core::render::Sanitized;
use yesgate_proof::receipt::{ReceiptPublicKey, SignedReceipt};

use super::questions::{Found, find};
use crate::cli::{ReceiptCommand, ReceiptVerifyArgs};
use crate::output::{self, Done, Hinted};
use crate::settings::Settings;

pub(super) async fn run(
    settings: impl Fn() -> anyhow::Result<Settings>,
    command: &ReceiptCommand,
    as_json: bool,
) -> anyhow::Result<Done> {
    match command {
        ReceiptCommand::Show(args) => show(&settings()?, &args.id).await,
        ReceiptCommand::Verify(args) => verify(settings, args, as_json),
        ReceiptCommand::Key => {
            let key = settings()?.home.receipt_key()?.public();
            if as_json {
                output::json(&json!({"key": key}))?
            } else {
                output::line(key)
            }
            Ok(Done::Ok)
        }
    }
}

async fn show(settings: &Settings, id: &str) -> anyhow::Result<Done> {
    let (ledger, _) = settings.ledger().await?;
    let intent = match find(&ledger, id).await? {
        Found::One(intent) => intent,
        Found::Other(done) => return Ok(done),
    };
    let Some(receipt) = intent.receipt() else {
        let words = format!("`{}` is {}: only what is over has a receipt", intent.id(), intent.state());
        return Ok(output::not_found(&words, "`yesgate show ID` says how it stands"));
    };
    output::line(settings.home.receipt_key()?.sign(receipt)?.text()?);
    Ok(Done::Ok)
}

fn verify(
    settings: impl Fn() -> anyhow::Result<Settings>,
    args: &ReceiptVerifyArgs,
    as_json: bool,
) -> anyhow::Result<Done> {
    let text = read(&args.file)?;
    let (key, whose) = match args.key {
        Some(key) => (key, "the key that you named"),
        None => (own_key(&settings()?)?, "this installation's key"),
    };
    let checked = SignedReceipt::verify(&text, &key);
    if as_json {
        let claimed = SignedReceipt::claimed_key(&text).ok();
        output::json(&json!({
            "holds": checked.is_ok(),
            "problem": checked.as_ref().err().map(ToString::to_string),
            "trusted_key": key,
            "claimed_key": claimed,
            "receipt": checked.as_ref().ok(),
        }))?;
    }
    match checked {
        Ok(receipt) if !as_json => {
            words(&receipt).iter().for_each(output::line);
            output::line("");
            output::line(format_args!("The signature holds: {whose} signed exactly this."));
            output::line(format_args!("  {key}"));
            Ok(Done::Ok)
        }
        Ok(_) => Ok(Done::Ok),
        Err(error) => {
            eprintln!("Error: {error}");
            eprintln!("Hint: believe nothing that it says; ask for the receipt again where it was made");
            Ok(Done::Problem)
        }
    }
}

/// The key of this installation, where there is one: none is made to check something with.
fn own_key(settings: &Settings) -> anyhow::Result<ReceiptPublicKey> {
    if !settings.home.has_key() {
        let hint = "name the one that you trust with `--key`; `yesgate receipt key` prints it where receipts are made";
        return Err(Hinted::new("this installation has no key of its own", Some(hint)).into());
    }
    Ok(settings.home.receipt_key()?.public())
}

fn read(file: &Path) -> anyhow::Result<String> {
    let cannot = || format!("the receipt `{}` cannot be read", file.display());
    let mut bytes = Vec::new();
    if file == Path::new("-") {
        std::io::stdin().take(MOST + 1).read_to_end(&mut bytes).with_context(cannot)?;
    } else {
        let file = std::fs::File::open(file).with_context(cannot)?;
        file.take(MOST + 1).read_to_end(&mut bytes).with_context(cannot)?;
    }
    String::from_utf8(bytes).with_context(cannot)
}

/// What a receipt says, in words.
fn words(receipt: &Receipt) -> Vec<String> {
    let mut lines = vec![receipt.outcome.sentence().to_owned(), String::new()];
    let mut row = |name: &str, value: String| lines.push(format!("  {name:<10} {}", Sanitized::line(&value)));
    row("question", receipt.intent_id.to_string());
    row("call", format!("{}/{}, {}", receipt.server, receipt.tool, receipt.class));
    row("digest", receipt.digest.to_string());
    row("code", receipt.digest.match_code());
    row("definition", receipt.definition.0.to_string());
    row(
        "asked by",
        format!("{} for {} of {}", receipt.caller.client, receipt.caller.principal, receipt.caller.org),
    );
    row("asked at", receipt.asked_at.to_string());
    if let Some(rule) = &receipt.rule {
        row("rule", rule.clone());
    }
    row("needed", format!("level {}, people {}", receipt.least_assurance, receipt.people_needed));
    for yes in &receipt.yeses {
        row("one of them", said(yes));
    }
    match &receipt.decision {
        Some(decision) => row("decided", said(decision)),
        None => row("decided", "by nobody".to_owned()),
    }
    if let Some(edited) = &receipt.edited {
        row("changed", format!("a human made it of {}", edited.from));
    }
    if let Some(changed) = &receipt.edited_as {
        row("changed", format!("a human made {changed} of it"));
    }
    if let Some(ended) = receipt.ended_at {
        row("ended at", ended.to_string());
    }
    lines
}

fn said(word: &Word) -> String {
    let answer = match word.answer {
        Answer::Approve => "yes",
        Answer::Deny => "no",
        Answer::Respond => "in words",
    };
    let key = match &word.signed {
        Some(signed) => format!(", signed with {} of {}", signed.credential, signed.identity),
        None => String::new(),
    };
    format!("{answer}, by {} at level {}, {}{key}", word.by, word.assurance, word.at)
}

/// No receipt is longer.
const MOST: u64 = 1 << 20;
