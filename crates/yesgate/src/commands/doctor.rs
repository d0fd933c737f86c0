//! `doctor`: what this set-up can promise, what it cannot, and what to do about it.

mod checkpoints;
mod database;
pub(super) mod oauth;
mod standing;

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use serde::Serialize;
use yesgate::KeySource;
use yesgate_core::approvers::{Reach, any_of};
use yesgate_core::assurance::Assurance;
use yesgate_core::person::{Person, Role};
use yesgate_core::policy::{ByMail, LintKind};
use yesgate_core::render::Sanitized;
use yesgate_ledger::Filter;

use super::outlook::reach_here;
use super::regime::stops;
use super::shadow;
use crate::output::{self, Done};
use crate::settings::Settings;

/// One finding.
#[derive(Debug, Serialize)]
struct Finding {
    weight: Weight,
    topic: &'static str,
    text: String,
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Weight {
    /// As it should be.
    Fine,
    /// A limit that you should know.
    Know,
    /// Something to mend.
    Mend,
}

pub(super) async fn run(settings: &Settings, as_json: bool) -> anyhow::Result<Done> {
    let mut findings = vec![configuration(settings)];
    findings.extend(shadow::warning(&settings.config.policy).map(|warning| mend("SHADOW", warning)));
    findings.extend(database::findings(settings).await);
    findings.extend(ledger(settings).await);
    findings.extend(budgets(settings).await);
    let reach = reach(settings).await.ok();
    findings.extend(standing::findings(settings, reach.as_ref().map(Reach::strongest)));
    let reach = reach.unwrap_or_else(|| Reach::anybody(Assurance::Local));
    let strongest = reach.strongest();
    findings.extend(unreachable_rules(settings, strongest));
    findings.extend(quorums(settings));
    findings.extend(empty_groups(settings, &reach));
    findings.extend(mail(settings).await);
    findings.extend(provider(settings).await);
    findings.extend(system());
    let broken = findings.iter().any(|finding| finding.weight == Weight::Mend);
    if as_json {
        output::json(&findings)?;
    } else {
        print(&findings, strongest);
    }
    Ok(if broken { Done::Problem } else { Done::Ok })
}

fn print(findings: &[Finding], strongest: Assurance) {
    for finding in findings {
        let mark = match finding.weight {
            Weight::Fine => "ok  ",
            Weight::Know => "know",
            Weight::Mend => "MEND",
        };
        output::line(format_args!("{mark}  {:<13} {}", finding.topic, Sanitized::line(&finding.text)));
    }
    output::line("");
    output::line("What each kind of yes proves:");
    for level in Assurance::ALL {
        let reach = match level {
            Assurance::Asserted => "with the two-key profile",
            Assurance::Relayed | Assurance::Local => "reachable here",
            Assurance::Client => {
                "where the host shows dialogs; elsewhere a `local` yes, which counts as more"
            }
            Assurance::SignedIn if level <= strongest => "reachable with `yesgate serve`",
            Assurance::Verified if level <= strongest => "reachable here, with an enrolled key",
            Assurance::SignedIn => "not reachable here: it takes people, and keys for their agents",
            Assurance::Verified => "not reachable here: nobody who may decide has enrolled a key",
        };
        output::line(format_args!("  {:<10} {} ({reach})", level.as_str(), level.meaning()));
    }
}

fn fine(topic: &'static str, text: impl Into<String>) -> Finding {
    Finding { weight: Weight::Fine, topic, text: text.into() }
}

fn know(topic: &'static str, text: impl Into<String>) -> Finding {
    Finding { weight: Weight::Know, topic, text: text.into() }
}

fn mend(topic: &'static str, text: impl Into<String>) -> Finding {
    Finding { weight: Weight::Mend, topic, text: text.into() }
}

fn configuration(settings: &Settings) -> Finding {
    match &settings.config_path {
        None => fine("configuration", "none: reads that the server vouches for pass, everything else asks"),
        Some(path) if others_may_write(path) => mend(
            "configuration",
            format!("{} can be changed by other accounts; `chmod go-w` it", path.display()),
        ),
        Some(path) => fine("configuration", format!("{} is sound", path.display())),
    }
}

fn others_may_write(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|data| data.mode() & 0o022 != 0)
}

async fn ledger(settings: &Settings) -> Vec<Finding> {
    let place = match settings.place() {
        Ok(place) => place,
        Err(error) => return vec![mend("ledger", format!("{error:#}"))],
    };
    let ledger = match settings.ledger().await {
        Ok((ledger, _)) => ledger,
        Err(error) => return vec![mend("ledger", format!("{error:#}"))],
    };
    let mut findings = vec![match ledger.verify().await {
        Ok(report) if report.is_sound() && checkpoints::begins_as_signed(settings, &report) => {
            fine("ledger", format!("{place}: {} rows, the chain is whole", report.rows))
        }
        Ok(report) => mend(
            "ledger",
            format!(
                "{place}: the chain is broken, {} problems; see `yesgate audit verify`",
                report.faults.len()
            ),
        ),
        Err(error) => mend("ledger", format!("{place}: {error}")),
    }];
    findings.extend(contents(settings));
    findings.push(checkpoints::finding(settings, &ledger).await);
    match ledger.intents(Filter::Unknown).await {
        Ok(unknown) if unknown.is_empty() => {}
        Ok(unknown) => findings.push(mend(
            "unknown",
            format!(
                "{} calls were sent and their answer was lost; settle them with `yesgate resolve`",
                unknown.len()
            ),
        )),
        Err(error) => findings.push(mend("unknown", error.to_string())),
    }
    match ledger.regimes().await {
        Ok(regimes) => findings.extend(stops(&regimes).into_iter().map(|stop| mend("stopped", stop))),
        Err(error) => findings.push(mend("stopped", error.to_string())),
    }
    if fs::metadata(settings.home.path()).is_ok_and(|data| data.mode() & 0o077 != 0) {
        findings.push(mend(
            "home",
            format!("{} is open to other accounts; `chmod 700` it", settings.home.path().display()),
        ));
    }
    findings
}

/// Under which key contents are sealed, what that protects, and how long they are kept.
fn contents(settings: &Settings) -> Vec<Finding> {
    let sealed = match settings.home.key() {
        Ok((key, source)) => {
            let (place, readers) = match source {
                KeySource::File => (
                    settings.home.path().join("secret.key").display().to_string(),
                    "Whoever can read that file and the ledger reads them all, so does every program of this account",
                ),
                KeySource::Variable => (
                    "YESGATE_SECRET_KEY".to_owned(),
                    "Whoever can read that variable and the ledger reads them all, so does every program of this account",
                ),
            };
            let text = format!(
                "arguments, previews and results are encrypted under the key {} ({place}): a copy of the ledger alone \
                 does not show them. {readers}. Names, times, digests, amounts in budgets and the words of a no are not \
                 encrypted. Without the key the contents are lost: back it up, apart from the ledger",
                key.name()
            );
            fine("contents", text)
        }
        Err(error) => mend("contents", format!("{error:#}")),
    };
    let kept = match settings.config.ledger.keep {
        Some(keep) => {
            fine("keep", format!("contents are purged {} hours after a question is over", keep.as_hours()))
        }
        None => know(
            "keep",
            "contents are kept until somebody says `yesgate purge`; `keep` in [ledger] sets a time",
        ),
    };
    vec![sealed, kept]
}

/// Budgets that limit nothing, and those that are used up.
async fn budgets(settings: &Settings) -> Vec<Finding> {
    let unused = settings.config.lint().into_iter().filter(|lint| *lint.kind() == LintKind::UnusedBudget);
    let mut findings: Vec<Finding> = unused
        .map(|lint| mend("budget", format!("`{}` is used by no rule: it limits nothing", lint.rule())))
        .collect();
    let (ledger, _) = match settings.ledger().await {
        Ok(opened) => opened,
        Err(error) => {
            findings.push(mend("budget", format!("{error:#}")));
            return findings;
        }
    };
    match super::budgets::all(settings, &ledger).await {
        Ok(rows) => findings.extend(rows.iter().filter(|row| row.is_used_up()).map(|row| {
            know("budget", format!("`{}` is used up for {}; see `yesgate budgets`", row.name(), row.whose()))
        })),
        Err(error) => findings.push(mend("budget", format!("{error:#}"))),
    }
    findings
}

/// Who could say yes to what is asked here.
async fn reach(settings: &Settings) -> anyhow::Result<Reach> {
    let (ledger, _) = settings.ledger().await?;
    reach_here(settings, &ledger).await
}

/// Rules that ask for more than anybody can give here.
fn unreachable_rules(settings: &Settings, strongest: Assurance) -> Vec<Finding> {
    settings
        .config
        .policy
        .least_assurances()
        .into_iter()
        .filter(|(_, least)| *least > strongest)
        .map(|(name, least)| {
            know(
                "unreachable",
                format!(
                    "{name} needs a yes at level `{least}`, which cannot be given here: its calls are refused"
                ),
            )
        })
        .collect()
}

/// Rules that name groups in which nobody is who may decide.
fn empty_groups(settings: &Settings, reach: &Reach) -> Vec<Finding> {
    let rules = settings.config.policy.approvers().into_iter();
    let unreached = rules.filter(|(_, approvers)| !reach.knows_any_of(approvers));
    unreached
        .map(|(name, approvers)| {
            let groups = any_of(approvers.in_the_end());
            let text = format!(
                "rule {name} wants the yes of somebody in {groups}, and nobody who may decide is: its calls are \
                 refused. `yesgate people set NAME --group GROUP` puts somebody there"
            );
            know("approvers", text)
        })
        .collect()
}

/// Rules that want several people, where one account is one person.
fn quorums(settings: &Settings) -> Vec<Finding> {
    let rules = settings.config.policy.quorums().into_iter();
    rules
        .map(|(name, quorum)| {
            let text = format!(
                "rule {name} wants the yes of {} different people; all who answer at the command line under this \
                 account are one, and none where the agent runs under it too",
                quorum.people()
            );
            know("quorum", text)
        })
        .collect()
}

/// Whether mail leaves, where it is to, and who would get none.
async fn mail(settings: &Settings) -> Vec<Finding> {
    let Some(config) = &settings.config.mail else { return Vec::new() };
    let tried = match super::mail::open(config, Box::new(|_| {})) {
        Ok(mailer) => mailer.try_out().await.map_err(anyhow::Error::from),
        Err(error) => Err(error),
    };
    let mut findings = vec![match tried {
        Ok(()) => fine("mail", format!("mail leaves as {}", config.from.as_str())),
        Err(error) => {
            mend("mail", format!("{error:#}: sign-in links and notices by mail do not arrive; see [mail]"))
        }
    }];
    if settings.config.notices.mail == ByMail::Told
        && let Ok((ledger, _)) = settings.ledger().await
        && let Ok(people) = ledger.people().await
    {
        let is_deaf = |person: &&Person| person.may(Role::Approver) && person.mail.is_none();
        let deaf = people.iter().filter(is_deaf).map(|person| format!("{} ({})", person.name, person.org));
        let deaf: Vec<String> = deaf.collect();
        if !deaf.is_empty() {
            let text = format!("no mail address, so no notices by mail: {}", deaf.join(", "));
            findings.push(know("mail", text));
        }
    }
    findings
}

/// Whether the provider by way of which people sign in can be asked.
async fn provider(settings: &Settings) -> Option<Finding> {
    let config = settings.config.oidc.as_ref()?;
    let tried = match super::provider::open(Some(config)) {
        Ok(Some(upstream)) => {
            upstream.provider.try_out(jiff::Timestamp::now()).await.map_err(anyhow::Error::from)
        }
        Ok(None) => return None,
        Err(error) => Err(error),
    };
    Some(match tried {
        Ok(()) => fine("provider", format!("people sign in by way of {}", config.issuer)),
        Err(error) => mend("provider", format!("{error:#}: nobody signs in by way of {}", config.issuer)),
    })
}

/// Settings of the machine that let one process act for another.
fn system() -> Vec<Finding> {
    let read = |path: &str| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    let mut findings = Vec::new();
    if read("/proc/sys/kernel/yama/ptrace_scope").as_deref() == Some("0") {
        findings.push(know(
            "ptrace",
            "any process of this account may control the others (kernel.yama.ptrace_scope = 0)",
        ));
    }
    if read("/proc/sys/dev/tty/legacy_tiocsti").as_deref() == Some("1") {
        findings.push(know("terminal", "programs may type into your terminal (dev.tty.legacy_tiocsti = 1)"));
    }
    findings
}
