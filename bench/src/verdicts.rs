//! How long the judgement takes: a verdict under many rules, alone and with the reading of the call.

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::json;
use yesgate_core::approvers::Reach;
use yesgate_core::assurance::Assurance;
use yesgate_core::budget::Sums;
use yesgate_core::call::{CallRequest, Presented, ToolCall};
use yesgate_core::caller::Caller;
use yesgate_core::class::Trust;
use yesgate_core::definition::ToolDefinition;
use yesgate_core::digest::{Binding, ServerIdentity};
use yesgate_core::json::CanonicalJson;
use yesgate_core::mode::Mode;
use yesgate_core::policy::{ClientWays, Config, Facts, Known, Policy};
use yesgate_core::regime::Regime;
use yesgate_core::switch::OperatorSwitch;
use yesgate_core::verdict::Verdict;

use crate::report::{Section, Target};
use crate::stats::{Pace, Series, Times, Unit};

pub(crate) fn measure(pace: Pace) -> Result<Section> {
    let scene = Scene::new()?;
    let cases = [
        Case::new(
            "no rules, a read runs",
            "",
            r#"{"amount":"3.50","to":"ann"}"#,
            "get_balance",
            Outcome::Runs,
        ),
        Case::new(
            "100 rules, the last runs it",
            &rules(),
            r#"{"amount":"3.50","to":"ann"}"#,
            "pay",
            Outcome::Runs,
        ),
        Case::new(
            "100 rules, the last asks",
            &rules(),
            r#"{"amount":"30.50","to":"ann"}"#,
            "pay",
            Outcome::Asks,
        ),
    ];
    let mut found = Vec::new();
    for case in cases {
        found.push(Judged::new(case?, &scene)?);
    }
    for _ in pace.rounds(20, Duration::from_secs(8)) {
        for judged in &mut found {
            judged.round(&scene, pace.repeats(2000))?;
        }
    }
    let target = |what, index: usize, of: fn(&Judged) -> &Series| {
        let series = found.get(index).map(of).cloned().unwrap_or_default();
        Target::at_most(what, 50e-6, &series, Unit::Micros)
    };
    Ok(Section {
        title: "A verdict",
        how: "In one process, without a wire. Of the 100 rules, five name the tool and have a condition each; they \
              stand at places 20, 40, 60, 80 and 100, and only the last one holds, so all five are evaluated. Read \
              and judged: from the bytes of the whole `tools/call` to the verdict."
            .to_owned(),
        columns: vec!["case", "judged, p50", "judged, p99", "read and judged, p50", "read and judged, p99"],
        rows: found.iter().map(Judged::row).collect(),
        targets: vec![
            target("a verdict under 100 rules that runs, p50", 1, |judged| &judged.judged.p50),
            target("a verdict under 100 rules that asks, p50", 2, |judged| &judged.judged.p50),
            target("a call read and judged under 100 rules, p50", 1, |judged| &judged.read_and_judged.p50),
        ],
    })
}

/// A hundred rules; five are about `wallet/pay`.
fn rules() -> String {
    let conditions = [
        ("decimal(args.amount) > 1000.00", "reject"),
        ("args.to in ['mallory', 'trudy', 'eve']", "reject"),
        ("caller.client != 'bench' && tool.class == 'dangerous'", "reject"),
        ("args.to.startsWith('test-') && time.weekday > 5", "reject"),
        ("decimal(args.amount) <= 5.00", "run"),
    ];
    let mut text = String::new();
    for number in 1..=100 {
        let condition = (number % 20 == 0).then(|| conditions.get(number / 20 - 1)).flatten();
        // To write into a string cannot fail.
        match condition {
            Some((when, then)) => {
                writeln!(text, "[[rules]]\ntool = \"wallet/pay\"\nwhen = \"{when}\"\nthen = \"{then}\"").ok()
            }
            None => writeln!(text, "[[rules]]\ntool = \"server-{number}/tool_*\"\nthen = \"ask\"").ok(),
        };
    }
    text
}

/// Everything about a call that is the same in all cases.
struct Scene {
    caller: Caller,
    identity: ServerIdentity,
    now: jiff::Timestamp,
}

impl Scene {
    fn new() -> Result<Self> {
        Ok(Self {
            caller: Caller {
                org: "local".parse()?,
                principal: "uid-1000".parse()?,
                client: "bench".parse()?,
            },
            identity: ServerIdentity::of_command([b"wallet-mcp".as_slice()], b"/srv", []),
            now: "2026-03-04T12:00:00Z".parse()?,
        })
    }

    fn call(&self, case: &Case, arguments: CanonicalJson) -> Result<ToolCall> {
        let binding = Binding {
            caller: self.caller.clone(),
            server: "wallet".parse()?,
            identity: self.identity,
            method: "tools/call".into(),
            tool: case.definition.name.clone(),
            definition: case.definition.digest,
            arguments,
            meta: CanonicalJson::empty_object(),
            mode: Mode::Execute,
            preview: None,
        };
        Ok(ToolCall { binding })
    }

    fn judge(&self, case: &Case, call: ToolCall, presented: &Presented) -> Verdict {
        let (regime, reach) = (Regime::default(), Reach::anybody(Assurance::Local));
        let facts = Facts {
            definition: &case.definition,
            trust: Trust::ReadOnlyHint,
            known: Known::FirstUse,
            regime: &regime,
            ways: ClientWays::default(),
            switch: OperatorSwitch::DryRun,
            reach: &reach,
            state: None,
            spent: Sums::UNKNOWN,
            now: self.now,
        };
        case.policy.decide(call, presented, &facts)
    }
}

/// What is expected of a verdict.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Outcome {
    Runs,
    Asks,
}

impl Outcome {
    fn of(verdict: &Verdict) -> Result<Self> {
        match verdict {
            Verdict::Forward(_) => Ok(Self::Runs),
            Verdict::Ask(_) | Verdict::AskWithPreview(..) => Ok(Self::Asks),
            Verdict::Explain(_) | Verdict::Preview(_) | Verdict::Unneeded(_) | Verdict::Refuse(_) => {
                bail!("neither runs nor asks: {verdict:?}")
            }
        }
    }
}

/// One call under one policy.
struct Case {
    name: &'static str,
    policy: Policy,
    definition: ToolDefinition,
    message: String,
    outcome: Outcome,
}

impl Case {
    fn new(name: &'static str, rules: &str, arguments: &str, tool: &str, outcome: Outcome) -> Result<Self> {
        let config = Config::parse(rules).with_context(|| format!("the rules of `{name}`"))?;
        let only_reads = tool.starts_with("get_");
        Ok(Self {
            name,
            policy: config.policy,
            definition: ToolDefinition::parse(&json!({
                "name": tool,
                "inputSchema": {"type": "object"},
                "annotations": {"readOnlyHint": only_reads, "destructiveHint": !only_reads},
            }))?,
            message: format!(
                r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
            ),
            outcome,
        })
    }
}

#[derive(Debug, Default)]
struct Quantiles {
    p50: Series,
    p99: Series,
}

impl Quantiles {
    fn push(&mut self, times: &Times) {
        self.p50.push(times.quantile(0.50));
        self.p99.push(times.quantile(0.99));
    }
}

/// A case and its times.
struct Judged {
    case: Case,
    call: ToolCall,
    judged: Quantiles,
    read_and_judged: Quantiles,
}

impl Judged {
    fn new(case: Case, scene: &Scene) -> Result<Self> {
        let request = CallRequest::parse(case.message.as_bytes())?;
        let call = scene.call(&case, request.arguments)?;
        let outcome = Outcome::of(&scene.judge(&case, call.clone(), &request.presented))?;
        ensure!(outcome == case.outcome, "`{}`: {outcome:?}", case.name);
        Ok(Self { case, call, judged: Quantiles::default(), read_and_judged: Quantiles::default() })
    }

    fn round(&mut self, scene: &Scene, count: usize) -> Result<()> {
        let (mut judged, mut read_and_judged) = (Times::default(), Times::default());
        let presented = Presented::default();
        for _ in 0..count {
            let call = self.call.clone();
            let before = Instant::now();
            let verdict = black_box(scene.judge(&self.case, black_box(call), &presented));
            judged.push(before.elapsed());
            drop(verdict);

            let before = Instant::now();
            let request = CallRequest::parse(black_box(self.case.message.as_bytes()))?;
            let call = scene.call(&self.case, request.arguments)?;
            let verdict = black_box(scene.judge(&self.case, call, &request.presented));
            read_and_judged.push(before.elapsed());
            drop(verdict);
        }
        self.judged.push(&judged);
        self.read_and_judged.push(&read_and_judged);
        Ok(())
    }

    fn row(&self) -> Vec<String> {
        let times =
            [&self.judged.p50, &self.judged.p99, &self.read_and_judged.p50, &self.read_and_judged.p99];
        let times = times.into_iter().map(|series| series.shown(Unit::Micros));
        std::iter::once(self.case.name.to_owned()).chain(times).collect()
    }
}
