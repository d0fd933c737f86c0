//! Yeses that are asked for and spent as fast as a ledger can.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use jiff::SignedDuration;
use serde_json::json;
use tokio::task::JoinSet;
use yesgate_core::assurance::Assurance;
use yesgate_core::caller::Caller;
use yesgate_core::class::{Class, ClassSource, Classified};
use yesgate_core::definition::ToolDefinition;
use yesgate_core::digest::{Binding, ServerIdentity};
use yesgate_core::id::{BootId, IntentId};
use yesgate_core::intent::{Asked, Asker, Awaited, Claim, Fresh, Ground, Intent, Runner, Slot};
use yesgate_core::json::CanonicalJson;
use yesgate_core::mode::Mode;
use yesgate_core::pace::Pace;
use yesgate_core::proof::NoWitness;
use yesgate_core::render::Sanitized;
use yesgate_core::token::{ConfirmToken, TokenPrefix};
use yesgate_core::verdict::{Channel, ConfirmType, Question, Quorum, Remember, Times};
use yesgate_ledger::Ledger;

/// Asks so many questions and spends the yes to each, some at a time, and says how long that took. The questions are there
/// before: what it takes to make one is not the ledger's.
pub(crate) async fn pairs(ledger: &Ledger, in_flight: u64, count: u64) -> Result<Duration> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let first = NUMBER.fetch_add(count, Ordering::Relaxed);
    let questions = (first..first + count).map(Asking::new).collect::<Result<VecDeque<_>>>()?;
    let questions = Arc::new(Mutex::new(questions));
    let mut tasks = JoinSet::new();
    let before = Instant::now();
    for _ in 0..in_flight {
        let (ledger, questions) = (ledger.clone(), Arc::clone(&questions));
        let next = move || questions.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        tasks.spawn(async move {
            while let Some(asking) = next() {
                pair(&ledger, asking).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(before.elapsed())
}

/// A question that is about to be asked.
struct Asking {
    question: Question,
    call: Binding,
    fresh: Fresh,
    token: ConfirmToken,
}

impl Asking {
    fn new(number: u64) -> Result<Self> {
        let question = question(number)?;
        let mut entropy = [0; 32];
        for (byte, from) in entropy.iter_mut().zip(number.to_be_bytes().into_iter().cycle()) {
            *byte = from;
        }
        let token = ConfirmToken::from_entropy(&TokenPrefix::default(), entropy);
        let asked_by = Asker { uid: None, boot: None };
        let fresh = Fresh { id: IntentId::from_entropy(entropy), token: Some(token.hash()), asked_by };
        Ok(Self { call: question.binding.clone(), question, fresh, token })
    }
}

/// How many changes a commit held lately: all that share one have its time.
pub(crate) async fn together(ledger: &Ledger) -> Result<u64> {
    let rows = ledger.audit_last(LATELY).await?;
    let times = rows.iter().map(|row| Ok(row.entry()?.at)).collect::<Result<BTreeSet<_>>>()?;
    let (changes, commits) = (rows.len() as u64 / ROWS_A_CHANGE, times.len() as u64);
    Ok(changes.div_ceil(commits.max(1)).max(1))
}

/// One question, and the call again with its token.
async fn pair(ledger: &Ledger, Asking { question, call, fresh, token }: Asking) -> Result<()> {
    let (boot, again) = (ledger.boot().clone(), ledger.boot().clone());
    let ask = move |slot: &mut Slot, now| slot.ask(question, fresh, &runner(&boot), now);
    let asked = match ledger.ask(&call, Pace::default(), Vec::new(), ask).await? {
        Asked::Open(_) => true,
        Asked::Claimed(..) | Asked::Refused(_) => false,
    };
    ensure!(asked, "a question was not asked");
    let run = move |intent: &mut Intent, now| intent.claim_with_token(&call, None, &runner(&again), now);
    let ran = match ledger.update_by_token(&token.hash(), run).await?.context("a token is gone")? {
        Claim::Run(_) => true,
        Claim::Replay(_) | Claim::Wait | Claim::Refused(_) => false,
    };
    ensure!(ran, "a yes was not spent");
    Ok(())
}

fn runner(boot: &BootId) -> Runner<'_> {
    Runner { boot, ground: Ground::Holds, awaited: Awaited::No, witness: &NoWitness }
}

fn question(number: u64) -> Result<Question> {
    let tool = format!("tool_{number}");
    Ok(Question {
        binding: Binding {
            caller: Caller {
                org: "local".parse()?,
                principal: "ann".parse()?,
                client: format!("agent {}", number % CALLERS).parse()?,
            },
            server: "files".parse()?,
            identity: ServerIdentity::of_command([b"files".as_slice()], b"/", []),
            method: "tools/call".into(),
            tool: tool.parse()?,
            definition: ToolDefinition::parse(&json!({"name": tool}))?.digest,
            arguments: CanonicalJson::of(&json!({"path": format!("/srv/data/{number}"), "recursive": true}))?,
            meta: CanonicalJson::empty_object(),
            mode: Mode::Execute,
            preview: None,
        },
        classified: Classified { class: Class::Dangerous, source: ClassSource::Unknown },
        rule: None,
        reason: None,
        summary: Sanitized::fixed("Delete a file"),
        confirm: ConfirmType::Simple,
        channel: Channel::Chat,
        least: Assurance::Relayed,
        typed: None,
        preview: None,
        quorum: Quorum::ONE,
        approvers: None,
        claim: None,
        remember: Remember::AnyScope,
        next: serde_json::Map::new(),
        spend: None,
        standing: None,
        times: Times {
            token: SignedDuration::from_mins(10),
            decide: SignedDuration::from_mins(30),
            run: SignedDuration::from_mins(10),
            cool_off: SignedDuration::from_mins(10),
        },
    })
}

/// How many different callers ask, one after the other: so many that nobody reaches a bound.
pub(crate) const CALLERS: u64 = 100_000;

/// How many rows of the trail are looked at for that, and how many a change has: it was opened and has a token, or it was
/// approved and redeemed.
const LATELY: u32 = 4_000;
const ROWS_A_CHANGE: u64 = 2;
