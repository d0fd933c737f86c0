//! What a call costs that passes: the same call to the server alone and through something in between.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::client::Client;
use crate::machine::on_one_core;
use crate::peers::Peer;
use crate::report::{Section, Target};
use crate::server::READ_TOOL;
use crate::stats::{Pace, Series, Times, Unit};
use crate::subject::Subject;

/// One call at a time: how much longer it takes.
pub(crate) fn measure(subject: &Subject, peers: &[Peer], pace: Pace) -> Result<Section> {
    let home = subject.folder()?;
    let mut ways = three_ways(subject, home.path())?;
    let small_load = Load { text_bytes: 16, turns: 20, calls: 50 };
    let small = one_by_one(&mut ways, &small_load, pace, 30, secs(24))?;
    let large =
        one_by_one(&mut ways, &Load { text_bytes: 100_000, turns: 10, calls: 10 }, pace, 15, secs(12))?;
    close(ways)?;
    let one_core = on_one_core(|| {
        let mut ways = three_ways(subject, home.path())?;
        let found = one_by_one(&mut ways, &small_load, pace, 20, secs(12))?;
        close(ways)?;
        Ok(found)
    })?;
    let added = |found: &[Found], of: fn(&Found) -> &Series| match found {
        [alone, _, wrap] => of(wrap).above(of(alone)),
        _ => Series::default(),
    };
    let target =
        |what, limit, found: &[Found], of| Target::at_most(what, limit, &added(found, of), Unit::Micros);
    let targets = vec![
        target("a small call that passes, added at p50", 100e-6, &small, |found| &found.p50),
        target("a small call that passes, added at p99", 500e-6, &small, |found| &found.p99),
        target("the same on one core, added at p50", 100e-6, &one_core, |found| &found.p50),
        target("the same on one core, added at p99", 500e-6, &one_core, |found| &found.p99),
    ];
    let mut table: Vec<Vec<String>> = rows("small", &small)
        .chain(rows("small, one core", &one_core))
        .chain(rows("100 kB", &large))
        .collect();
    if !peers.is_empty() {
        table.extend(rows("small, beside peers", &beside_peers(subject, peers, pace)?).skip(1));
    }
    Ok(Section {
        title: "A call that passes",
        how: "Round trips of `tools/call` of a tool that only reads, from a client over pipes. The plain relay is a \
              process that copies bytes on one thread and looks at nothing. Small: 16 bytes of argument and of \
              answer; 100 kB: 100,000 bytes each way. One core: all processes share one, so that it does not matter \
              where the system puts them; to wake a process on an idle core can take longer than all the work of the \
              gate, on a virtual machine above all. Peers take turns with a gate of their own."
            .to_owned(),
        columns: vec!["call", "way", "p50", "p50 added", "p99", "p99 added"],
        rows: table,
        targets,
    })
}

/// Several calls at a time: how many get through.
pub(crate) fn measure_in_flight(subject: &Subject, pace: Pace) -> Result<Section> {
    let home = subject.folder()?;
    let mut ways = three_ways(subject, home.path())?;
    let rates = in_flight(&mut ways, pace)?;
    close(ways)?;
    let alone = rates.first().map(|(_, alone)| alone.clone()).unwrap_or_default();
    let row = |(name, rate): &(String, Series)| {
        vec![name.clone(), rate.shown(Unit::PerSecond), rate.times(&alone).shown(Unit::Times)]
    };
    Ok(Section {
        title: "Calls in flight",
        how: format!(
            "The same small call, {IN_FLIGHT} in flight: each answer is followed by the next call. Client and server \
             are far simpler than real ones, so this shows where the gate itself would be the limit."
        ),
        columns: vec!["way", "calls", "of the server alone"],
        rows: rates.iter().map(row).collect(),
        targets: Vec::new(),
    })
}

fn three_ways(subject: &Subject, home: &Path) -> Result<Vec<Way>> {
    Ok(vec![
        Way::open("server alone", subject.bare(0))?,
        Way::open("plain relay", subject.relayed(0))?,
        Way::open("yesgate wrap", subject.wrapped(home, 0))?,
    ])
}

/// A way to the server.
struct Way {
    name: String,
    client: Client,
}

impl Way {
    fn open(name: &str, command: std::process::Command) -> Result<Self> {
        let open = || {
            let mut client = Client::open(command)?;
            ensure!(client.list_tools()? == 1, "it does not offer the one tool of the server");
            Ok(client)
        };
        Ok(Self { name: name.to_owned(), client: open().with_context(|| format!("opening `{name}`"))? })
    }
}

/// What is called, and how often in a round: so many turns of so many calls each.
struct Load {
    text_bytes: usize,
    turns: usize,
    calls: usize,
}

/// The times of one way.
#[derive(Debug)]
struct Found {
    name: String,
    p50: Series,
    p99: Series,
}

/// Calls one at a time; the ways take turns many times within each round.
fn one_by_one(ways: &mut [Way], load: &Load, pace: Pace, most: usize, time: Duration) -> Result<Vec<Found>> {
    let text = "x".repeat(load.text_bytes);
    let params = json!({"name": READ_TOOL, "arguments": {"text": text}}).to_string();
    let mut found: Vec<Found> = ways
        .iter()
        .map(|way| Found { name: way.name.clone(), p50: Series::default(), p99: Series::default() })
        .collect();
    for way in ways.iter_mut() {
        // The first calls of a way pay for its caches, and show that it answers what the server says.
        for _ in 0..load.calls {
            let (result, _) =
                way.client.call(&params).with_context(|| format!("calling through `{}`", way.name))?;
            let answer = result.pointer("/content/0/text").and_then(Value::as_str);
            ensure!(answer == Some(&text), "`{}` answers something else than the server", way.name);
        }
    }
    for _ in pace.rounds(most, time) {
        let mut times = vec![Times::default(); ways.len()];
        for _ in 0..pace.repeats(load.turns) {
            for (way, times) in ways.iter_mut().zip(&mut times) {
                for _ in 0..load.calls {
                    times.push(way.client.call(&params)?.1);
                }
            }
        }
        for (found, times) in found.iter_mut().zip(&times) {
            found.p50.push(times.quantile(0.50));
            found.p99.push(times.quantile(0.99));
        }
    }
    Ok(found)
}

/// Calls with several under way; gives the calls per second of each way.
fn in_flight(ways: &mut [Way], pace: Pace) -> Result<Vec<(String, Series)>> {
    let params = json!({"name": READ_TOOL, "arguments": {"text": "x".repeat(16)}}).to_string();
    let calls = pace.repeats(2000);
    let mut rates: Vec<(String, Series)> =
        ways.iter().map(|way| (way.name.clone(), Series::default())).collect();
    for _ in pace.rounds(15, secs(10)) {
        for (way, (_, rate)) in ways.iter_mut().zip(&mut rates) {
            let before = Instant::now();
            for _ in 0..IN_FLIGHT {
                way.client.send_call(&params)?;
            }
            for call in 0..calls {
                way.client.receive()?;
                if call + IN_FLIGHT < calls {
                    way.client.send_call(&params)?;
                }
            }
            rate.push(calls as f64 / before.elapsed().as_secs_f64());
        }
    }
    Ok(rates)
}

/// The same small call through other proxies, which are too slow to take part in the rounds above.
fn beside_peers(subject: &Subject, peers: &[Peer], pace: Pace) -> Result<Vec<Found>> {
    let home = subject.folder()?;
    let mut ways = vec![
        Way::open("server alone", subject.bare(0))?,
        Way::open("yesgate wrap", subject.wrapped(home.path(), 0))?,
    ];
    for peer in peers {
        ways.push(Way::open(&peer.title, peer.command(subject, home.path(), 0))?);
    }
    let found = one_by_one(&mut ways, &Load { text_bytes: 16, turns: 4, calls: 25 }, pace, 10, secs(12))?;
    close(ways)?;
    Ok(found)
}

fn close(ways: Vec<Way>) -> Result<()> {
    ways.into_iter().try_for_each(|way| way.client.close())
}

/// A row for each way; the first is what the others are compared with.
fn rows(load: &'static str, found: &[Found]) -> impl Iterator<Item = Vec<String>> {
    found.iter().enumerate().map(move |(index, way)| {
        let added = |of: &Series, alone: Option<&Series>| match (index, alone) {
            (0, _) | (_, None) => "–".to_owned(),
            (_, Some(alone)) => of.above(alone).shown(Unit::Micros),
        };
        let alone = found.first();
        vec![
            load.to_owned(),
            way.name.clone(),
            way.p50.shown(Unit::Micros),
            added(&way.p50, alone.map(|alone| &alone.p50)),
            way.p99.shown(Unit::Micros),
            added(&way.p99, alone.map(|alone| &alone.p99)),
        ]
    })
}

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

const IN_FLIGHT: usize = 8;
