//! Yeses that are asked for and spent as fast as a ledger can.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
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

/// Asks so many questions and spends the yes to each, some at a time, and says how long that took.
pub(crate) async fn pairs(ledger: &Ledger, in_flight: u64, count: u64) -> Result<Duration> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let left = Arc::new(AtomicU64::new(count));
    let mut tasks = JoinSet::new();
    let before = Instant::now();
    for _ in 0..in_flight {
        let (ledger, left) = (ledger.clone(), Arc::clone(&left));
        tasks.spawn(async move {
            while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
            {
                pair(&ledger, NUMBER.fetch_add(1, Ordering::Relaxed)).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(before.elapsed())
}

/// One question, and the call again with its token.
async fn pair(ledger: &Ledger, number: u64) -> Result<()> {
    let question = question(number)?;
    let call = question.binding.clone();
    let mut entropy = [0; 32];
    for (byte, from) in entropy.iter_mut().zip(number.to_be_bytes().into_iter().cycle()) {
        *byte = from;
    }
    let token = ConfirmToken::from_entropy(&TokenPrefix::default(), entropy);
    let asked_by = Asker { uid: None, boot: None };
    let fresh = Fresh { id: IntentId::from_entropy(entropy), token: Some(token.hash()), asked_by };
    let (boot, again) = (ledger.boot().clone(), ledger.boot().clone());
    let ask = move |slot: &mut Slot, now| slot.ask(question, fresh, &runner(&boot), now);
    let asked = match ledger.ask(&call, AS_FAST_AS_CAN_BE, Vec::new(), ask).await? {
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

/// How many different callers ask.
pub(crate) const CALLERS: u64 = 1_000;

/// The bounds of callers are counted as ever, and never reached.
const AS_FAST_AS_CAN_BE: Pace =
    Pace { breaker: 3, window: SignedDuration::from_mins(10), per_minute: 1_000_000, open: 1_000_000 };
