//! `approve`, `deny` and `resolve`: a human answers at the command line.

use std::collections::BTreeSet;
use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::time::Duration;

use anyhow::Context as _;
use tokio::time::{Instant, timeout_at};
use yesgate::SystemEntropy;
use yesgate_core::assurance::Assurance;
use yesgate_core::clock::Entropy as _;
use yesgate_core::grant::{Wish, WishedScope};
use yesgate_core::id::IntentId;
use yesgate_core::intent::{Approver, Edit, Intent, State, Surface};
use yesgate_core::refusal::{Refusal, Why};
use yesgate_core::render::Sanitized;
use yesgate_ledger::Ledger;
use yesgate_web::desk::Revised;

use super::outlook::reach_here;
use super::questions::{Found, describe, find, print, print_preview_now};
use super::{edit, grants, sign};
use crate::cli::{ApproveArgs, DenyArgs, ResolveArgs, RespondArgs};
use crate::output::{self, Done, Hinted};
use crate::settings::{Settings, now};

/// How long `approve` waits to tell how the call ended.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) async fn approve(settings: &Settings, args: &ApproveArgs, as_json: bool) -> anyhow::Result<Done> {
    let wish = grants::wish(&args.remember)?;
    let (ledger, _) = settings.ledger().await?;
    let intent = match find(&ledger, &args.id).await? {
        Found::One(intent) => intent,
        Found::Other(done) => return Ok(done),
    };
    if intent.state() != State::Pending {
        return Ok(output::refusal(&intent.ending()));
    }
    if args.code.as_ref().is_some_and(|code| *code != intent.digest().match_code()) {
        return Ok(output::refusal(&Why::ContentChanged.into()));
    }
    if let Some(file) = &args.edit
        && let Some(done) = approve_edited(settings, &ledger, &intent, args, file, as_json).await?
    {
        return Ok(done);
    }
    let typed = if args.yes {
        Some(args.typed.clone())
    } else {
        wish.iter().for_each(announce);
        confirmed(&intent)?
    };
    let Some(typed) = typed else {
        output::line("Not approved. The question stays open; `yesgate deny` says no.");
        return Ok(Done::Refused);
    };
    // The yes is to what was shown, whatever the question has become meanwhile.
    let seen = intent.digest();
    let by = match &args.sign {
        Some(file) => sign::signer(settings, &ledger, &intent, file).await?,
        None => approver(),
    };
    let by = Approver { typed, ..by };
    let assurance = by.assurance;
    let answered = match wish {
        Some(wish) => {
            let remembered = ledger.approve_and_remember(intent.id(), by, seen, wish).await?;
            remembered.map(|remembered| remembered.map(Some))
        }
        None => {
            ledger
                .update(intent.id(), move |intent, now| intent.approve(&by, seen, now).map(|()| None))
                .await?
        }
    };
    match answered {
        Some(Ok(None)) => {}
        Some(Ok(Some(grant))) if as_json => eprintln!("Remembered as {}.", grants::in_words(&grant)),
        Some(Ok(Some(grant))) => {
            output::line(format_args!("Remembered as {}.", grants::in_words(&grant)));
            output::line(format_args!("`yesgate grants revoke {}` takes it back.", grant.id));
        }
        Some(Err(refusal)) => return counted(&ledger, &intent, &refusal, as_json).await,
        None => return Ok(output::not_found("the question is gone", "`yesgate pending` lists what is open")),
    }
    if !as_json {
        output::line(format_args!("Approved {} at level `{assurance}`.", intent.id()));
    }
    tell_the_end(&ledger, intent.id(), as_json).await
}

/// Changes the arguments of a question, shows what came of it, and says yes to that. `None`: nothing was changed, and
/// the question is decided as it is.
async fn approve_edited(
    settings: &Settings,
    ledger: &Ledger,
    intent: &Intent,
    args: &ApproveArgs,
    file: &str,
    as_json: bool,
) -> anyhow::Result<Option<Done>> {
    let text = edit::changed_text(intent, file)?;
    let reach = reach_here(settings, ledger).await?;
    let question = match edit::revised(settings, ledger, intent, &text, &reach).await? {
        Revised::As(question) => *question,
        Revised::Same => return Ok(None),
        Revised::Refused(refusal) => return Ok(Some(output::refusal(&refusal))),
        Revised::Unreadable(why) => return Err(Hinted::new(why, None::<String>).into()),
    };
    let id = IntentId::from_entropy(SystemEntropy.draw()?);
    // Only to be looked at: the ledger opens the real one.
    let draft = Intent::open(id.clone(), question.clone(), intent.asked_by().clone(), now());
    if !args.yes && confirmed(&draft)?.is_none() {
        output::line("Not approved, and not changed. The question stays open; `yesgate deny` says no.");
        return Ok(Some(Done::Refused));
    }
    let edit =
        Edit { of: intent.id().clone(), seen: intent.digest(), id: id.clone(), question, by: approver() };
    if let Err(refusal) = ledger.edit(edit).await? {
        return Ok(Some(output::refusal(&refusal)));
    }
    if !as_json {
        output::line(format_args!("Changed {} to {id}, and approved it. The agent is told.", intent.id()));
    }
    tell_the_end(ledger, &id, as_json).await.map(Some)
}

/// Waits for the end of what was approved, and says how it ended.
async fn tell_the_end(ledger: &Ledger, id: &IntentId, as_json: bool) -> anyhow::Result<Done> {
    let ended = wait_for_end(ledger, id).await?;
    if as_json {
        output::json(&describe(&ended, now()))?;
    }
    match ended.state() {
        State::Done(_) | State::Unknown | State::Approved | State::Running if as_json => {}
        State::Done(done) => output::line(format_args!("It ran once: {}.", done.as_str())),
        State::Unknown => output::line("It was sent, and the answer was lost: see `yesgate pending`."),
        State::Approved | State::Running => {
            output::line(
                "No gateway has run it yet. One that can reach the server runs it within a minute of the",
            );
            output::line("yes, or not at all; `yesgate show` tells how it ended.");
        }
        State::Pending
        | State::Resolved { .. }
        | State::Denied
        | State::Expired
        | State::Cancelled
        | State::Superseded
        | State::Voided => {
            if !as_json {
                print_preview_now(&ended);
            }
            return Ok(output::refusal(&ended.ending()));
        }
    }
    Ok(Done::Ok)
}

/// A yes that is one of several is no refusal, if it was counted.
async fn counted(ledger: &Ledger, before: &Intent, refusal: &Refusal, as_json: bool) -> anyhow::Result<Done> {
    let current = ledger.intent(before.id()).await?.context("the question is gone")?;
    if current.yeses().len() == before.yeses().len() {
        return Ok(output::refusal(refusal));
    }
    let (have, need) = (current.yeses().len(), current.question().quorum.people());
    let words =
        format!("Your yes is counted: {have} of {need}. It runs when enough others have said yes too.");
    finish(ledger, before, as_json, &words).await
}

/// Says that more than one call is at stake, before the question is put.
fn announce(wish: &Wish) {
    let scope = match &wish.scope {
        WishedScope::Exact => "the same call again".to_owned(),
        WishedScope::Pattern(pattern) => format!("calls where {}", Sanitized::line(pattern.as_str())),
        WishedScope::Tool => "EVERY call of this tool".to_owned(),
    };
    output::line(format_args!("Your yes will also count, without asking, for {scope} by the same client."));
    output::line("");
}

/// Shows the question and asks. Only a terminal is asked; its end, or anything but `y`, is no yes. Where
/// something must be typed, that is the yes; it comes along.
fn confirmed(intent: &Intent) -> anyhow::Result<Option<Option<String>>> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        let hint = "look at it with `yesgate show`, then use `yesgate approve ID --yes --code CODE`";
        return Err(Hinted::new("there is no terminal to ask at", Some(hint)).into());
    }
    print(intent);
    output::line("");
    // What was typed before the question was shown is no answer to it; what comes after the prompt is.
    rustix::termios::tcflush(&stdin, rustix::termios::QueueSelector::IFlush)
        .context("the terminal cannot be read")?;
    match intent.text_to_type() {
        Some(text) => eprint!("To run exactly this, once, type {}: ", Sanitized::quoted(text)),
        None => eprint!("Run exactly this, once? [y/N] "),
    }
    std::io::stderr().flush()?;
    let mut answer = String::new();
    stdin.lock().read_line(&mut answer)?;
    let answer = answer.trim_end_matches(['\n', '\r']);
    Ok(match intent.text_to_type() {
        Some(_) => Some(answer.to_owned()).filter(|typed| !typed.is_empty()).map(Some),
        None => ["y", "yes"].contains(&answer.trim().to_lowercase().as_str()).then_some(None),
    })
}

/// Who answers here. Whoever can write this ledger could also pretend to be another account, so it is
/// never more than `local`.
pub(super) fn approver() -> Approver {
    let uid = rustix::process::getuid().as_raw();
    Approver {
        name: format!("account {uid} at the command line"),
        // As the local caller's principal is named: whoever the call is made for is no second person.
        identity: Some(format!("uid-{uid}")),
        // An account of the machine is in no group: whoever may write this ledger could have any account.
        groups: BTreeSet::new(),
        surface: Surface::Human,
        assurance: Assurance::Local,
        typed: None,
        proof: None,
    }
}

async fn wait_for_end(ledger: &Ledger, id: &IntentId) -> anyhow::Result<Intent> {
    let mut changes = ledger.changes();
    let deadline = Instant::now() + PATIENCE;
    loop {
        // A yes that nobody used in its time is none, whether somebody noticed or not.
        let noticed = ledger.update(id, |intent, now| {
            intent.notice_expiry(now);
            intent.clone()
        });
        let current = noticed.await?.context("the question is gone")?;
        if !current.state().is_under_way() || Instant::now() >= deadline {
            return Ok(current);
        }
        let left = current.ends_at().map(|end| end.duration_since(ledger.now()).unsigned_abs());
        let look_again = left.map_or(deadline, |left| deadline.min(Instant::now() + left));
        drop(timeout_at(look_again, changes.changed()).await);
    }
}

pub(super) async fn deny(settings: &Settings, args: &DenyArgs, as_json: bool) -> anyhow::Result<Done> {
    let (ledger, _) = settings.ledger().await?;
    let intent = match find(&ledger, &args.id).await? {
        Found::One(intent) => intent,
        Found::Other(done) => return Ok(done),
    };
    let by = approver();
    let reason = args.reason.clone();
    if args.suspicious {
        let reason = reason.unwrap_or_else(|| "a human found a question of it suspicious".to_owned());
        let suspected = ledger.suspect(&intent, by, &reason).await?;
        let client = Sanitized::line(intent.question().binding.caller.client.as_str());
        return match suspected.denied {
            Ok(()) => {
                let words = format!("Denied. `{client}` is frozen: nothing of it runs until `yesgate thaw`.");
                finish(&ledger, &intent, as_json, &words).await
            }
            Err(refusal) => {
                output::line(format_args!("`{client}` is frozen, but for this question it is too late:"));
                Ok(output::refusal(&refusal))
            }
        };
    }
    match ledger.update(intent.id(), move |intent, now| intent.deny(&by, reason, now)).await? {
        Some(Ok(())) => finish(&ledger, &intent, as_json, "Denied. Nothing ran; the agent is told.").await,
        Some(Err(refusal)) => Ok(output::refusal(&refusal)),
        None => Ok(output::not_found("the question is gone", "`yesgate pending` lists what is open")),
    }
}

pub(super) async fn respond(settings: &Settings, args: &RespondArgs, as_json: bool) -> anyhow::Result<Done> {
    if args.text.trim().is_empty() {
        let hint = "write what the agent should know; `yesgate deny` says no without words";
        return Err(Hinted::new("there are no words to answer with", Some(hint)).into());
    }
    let (ledger, _) = settings.ledger().await?;
    let intent = match find(&ledger, &args.id).await? {
        Found::One(intent) => intent,
        Found::Other(done) => return Ok(done),
    };
    let (by, text) = (approver(), args.text.clone());
    match ledger.update(intent.id(), move |intent, now| intent.respond(&by, text, now)).await? {
        Some(Ok(())) => {
            finish(&ledger, &intent, as_json, "Answered. Nothing ran; the agent is told your words.").await
        }
        Some(Err(refusal)) => Ok(output::refusal(&refusal)),
        None => Ok(output::not_found("the question is gone", "`yesgate pending` lists what is open")),
    }
}

pub(super) async fn resolve(settings: &Settings, args: &ResolveArgs, as_json: bool) -> anyhow::Result<Done> {
    let (ledger, _) = settings.ledger().await?;
    let intent = match find(&ledger, &args.id).await? {
        Found::One(intent) => intent,
        Found::Other(done) => return Ok(done),
    };
    let by = approver().name;
    let ran = args.ran;
    match ledger.update(intent.id(), move |intent, now| intent.resolve(&by, ran, now)).await? {
        Some(Ok(())) => {
            let words =
                if ran { "Settled: it ran." } else { "Settled: it did not run. It may be asked again." };
            finish(&ledger, &intent, as_json, words).await
        }
        Some(Err(refusal)) => Ok(output::refusal(&refusal)),
        None => Ok(output::not_found("the question is gone", "`yesgate pending` lists what is open")),
    }
}

async fn finish(ledger: &Ledger, intent: &Intent, as_json: bool, words: &str) -> anyhow::Result<Done> {
    if as_json {
        let current = ledger.intent(intent.id()).await?.context("the question is gone")?;
        output::json(&describe(&current, now()))?;
    } else {
        output::line(words);
    }
    Ok(Done::Ok)
}
