//! `freeze`, `thaw` and `panic`: a human stops a client, or everything.
//!
//! INVARIANT: what is stopped is said at the top of `pending` and `doctor`, so that nobody wonders.

use serde_json::json;
use yesgate_core::caller::Caller;
use yesgate_core::regime::Regimes;
use yesgate_core::render::Sanitized;
use yesgate_ledger::Ledger;

use super::by_this_account;
use crate::cli::{FreezeArgs, PanicArgs, ThawArgs};
use crate::output::{self, Done};
use crate::settings::Settings;

pub(super) async fn freeze(settings: &Settings, args: &FreezeArgs, as_json: bool) -> anyhow::Result<Done> {
    let (ledger, _) = settings.ledger().await?;
    let caller = match named(&ledger, &args.client).await? {
        Ok(caller) => caller,
        Err(done) => return Ok(done),
    };
    let withdrawn = ledger.freeze(&caller, &args.reason, &by_this_account()).await?;
    if as_json {
        output::json(&json!({"frozen": caller, "reason": args.reason, "withdrawn": withdrawn}))?;
    } else {
        output::line(format_args!("{} is frozen: nothing of it runs. {}", shown(&caller), gone(withdrawn)));
        output::line(format_args!("`yesgate thaw \"{}\"` ends it.", shown(&caller)));
    }
    Ok(Done::Ok)
}

pub(super) async fn thaw(settings: &Settings, args: &ThawArgs, as_json: bool) -> anyhow::Result<Done> {
    let (ledger, _) = settings.ledger().await?;
    let caller = match named(&ledger, &args.client).await? {
        Ok(caller) => caller,
        Err(done) => return Ok(done),
    };
    let was_frozen = ledger.thaw(&caller, &by_this_account()).await?;
    if as_json {
        output::json(&json!({"thawed": caller, "was_frozen": was_frozen}))?;
    } else if was_frozen {
        output::line(format_args!("{} is thawed: its calls are judged again.", shown(&caller)));
    } else {
        output::line(format_args!("{} was not frozen. Its noes so far are forgotten.", shown(&caller)));
    }
    Ok(Done::Ok)
}

pub(super) async fn panic(settings: &Settings, args: &PanicArgs, as_json: bool) -> anyhow::Result<Done> {
    let (ledger, _) = settings.ledger().await?;
    if args.lift {
        let was_stopped = ledger.go_on(&by_this_account()).await?;
        if as_json {
            output::json(&json!({"stopped": false, "was_stopped": was_stopped}))?;
        } else if was_stopped {
            output::line("Lifted: calls are judged again. What was withdrawn stays withdrawn.");
        } else {
            output::line("Nothing was stopped.");
        }
        return Ok(Done::Ok);
    }
    let withdrawn = ledger.stop(&args.reason, &by_this_account()).await?;
    if as_json {
        output::json(&json!({"stopped": true, "reason": args.reason, "withdrawn": withdrawn}))?;
    } else {
        output::line(format_args!("EVERYTHING IS STOPPED: no call of anybody runs. {}", gone(withdrawn)));
        output::line(
            "What had been sent before cannot be called back. `yesgate panic --lift` ends the stop.",
        );
    }
    Ok(Done::Ok)
}

/// What is stopped or frozen, a line each, the worst first.
pub(super) fn stops(regimes: &Regimes) -> Vec<String> {
    let reason = |words: &str| Sanitized::line(words);
    let everything = regimes
        .stopped
        .as_deref()
        .map(|words| format!("EVERYTHING IS STOPPED ({}); `yesgate panic --lift` ends it", reason(words)));
    let mut frozen: Vec<String> = regimes
        .callers
        .iter()
        .filter_map(|(caller, regime)| Some((shown(caller), regime.frozen.as_deref()?)))
        .map(|(caller, words)| {
            format!("FROZEN: {caller} ({}); `yesgate thaw \"{caller}\"` ends it", reason(words))
        })
        .collect();
    frozen.sort();
    everything.into_iter().chain(frozen).collect()
}

/// Finds the caller that is meant; where that is not clear, says so.
async fn named(ledger: &Ledger, name: &str) -> anyhow::Result<Result<Caller, Done>> {
    let known = ledger.callers().await?;
    let meant: Vec<&Caller> =
        known.iter().filter(|caller| caller.client.as_str() == name || shown(caller) == name).collect();
    if let [one] = meant.as_slice() {
        return Ok(Ok((*one).clone()));
    }
    if meant.is_empty() {
        // One that has not been heard of yet can be stopped too, by its whole name.
        let mut parts = name.splitn(3, '/');
        if let (Some(org), Some(principal), Some(client)) = (parts.next(), parts.next(), parts.next())
            && let (Ok(org), Ok(principal), Ok(client)) = (org.parse(), principal.parse(), client.parse())
        {
            return Ok(Ok(Caller { org, principal, client }));
        }
    }
    let what = match meant.len() {
        0 => format!("no client `{}` has asked for anything", name.escape_debug()),
        several => format!("{several} callers have a client `{}`", name.escape_debug()),
    };
    let listed = if meant.is_empty() { known.iter().collect() } else { meant };
    let names: Vec<String> = listed.into_iter().map(|caller| format!("\"{}\"", shown(caller))).collect();
    let hint = match names.is_empty() {
        true => "name it as ORG/USER/CLIENT".to_owned(),
        false => format!("name one of {}", names.join(", ")),
    };
    Ok(Err(output::not_found(&what, &hint)))
}

/// A caller as it is named here; all three parts are safe to print.
fn shown(caller: &Caller) -> String {
    format!("{}/{}/{}", caller.org, caller.principal, caller.client)
}

fn gone(withdrawn: usize) -> String {
    match withdrawn {
        0 => "No question was open.".to_owned(),
        1 => "One open question was withdrawn.".to_owned(),
        several => format!("{several} open questions were withdrawn."),
    }
}
