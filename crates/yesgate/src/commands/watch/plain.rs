//! The same for programs, and where there is no terminal: one line for each change.

use std::io::Write as _;

use serde_json::json;
use tokio::time::sleep_until;
use yesgate_core::intent::Intent;
use yesgate_core::json::on_screen;
use yesgate_ledger::{Filter, Ledger};

use super::super::questions::describe;
use super::first_end;
use super::screen::{fate, in_a_line};
use crate::output::Done;

/// Writes a line for each question that is opened, and one for each that is open no longer, until nobody reads them.
pub(super) async fn follow(ledger: &Ledger, as_json: bool) -> anyhow::Result<Done> {
    let mut changes = ledger.changes();
    let mut open: Vec<Intent> = Vec::new();
    loop {
        ledger.sweep().await?;
        let now = ledger.intents(Filter::Pending).await?;
        let has = |some: &[Intent], one: &Intent| some.iter().any(|other| other.id() == one.id());
        let mut written = Ok(());
        for gone in open.iter().filter(|intent| !has(&now, intent)) {
            if let Some(ended) = ledger.intent(gone.id()).await? {
                let words = format!("over  {}  {}", ended.id(), fate(&ended));
                written = written.and_then(|()| write(&ended, "over", &words, ledger, as_json));
            }
        }
        for new in now.iter().filter(|intent| !has(&open, intent)) {
            let words = format!("open  {}", in_a_line(new, ledger.now()));
            written = written.and_then(|()| write(new, "open", &words, ledger, as_json));
        }
        if written.is_err() {
            return Ok(Done::Ok);
        }
        open = now;
        tokio::select! {
            () = changes.changed() => {}
            () = sleep_until(first_end(&open, ledger.now())) => {}
        }
    }
}

fn write(intent: &Intent, change: &str, words: &str, ledger: &Ledger, as_json: bool) -> std::io::Result<()> {
    let line = if as_json {
        let value = json!({"change": change, "question": describe(intent, ledger.now())});
        on_screen(&value.to_string())
    } else {
        words.to_owned()
    };
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}
