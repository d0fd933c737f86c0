//! The gate in front of servers over HTTP, next to a plain HTTP proxy and to other gateways.
//!
//! Everything is this machine's loopback. The load, the servers and what stands between share its cores, so a
//! rate says how much work a call is for all of them together.

mod client;
mod memory;
mod peers;
pub(crate) mod process;
mod sdk;
mod server;
mod ways;

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result};

use self::client::{Crowd, Era, Load};
use self::ways::{Scene, Server, Way};
use crate::report::{Section, Target};
use crate::stats::{Pace, Series, Times, Unit};
use crate::subject::Subject;

pub(crate) use self::memory::{call_a_little, measure as measure_memory};
pub(crate) use self::peers::measure as measure_peers;
pub(crate) use self::process::{keep, on_path};
pub(crate) use self::sdk::serve as serve_sdk;
pub(crate) use self::server::serve as serve_lean;

/// One kind of call, and the ways that are compared with it.
struct Kind {
    name: &'static str,
    server: Server,
    era: Era,
    text_bytes: usize,
    ways: &'static [Way],
}

const KINDS: [Kind; 8] = [
    Kind {
        name: "2025-11-25, 100 B",
        server: Server::Lean,
        era: Era::Legacy,
        text_bytes: 100,
        ways: &[Way::Alone, Way::Nginx, Way::Gate, Way::GateAcrossEras],
    },
    Kind {
        name: "2025-11-25, 100 kB",
        server: Server::Lean,
        era: Era::Legacy,
        text_bytes: 100_000,
        ways: &[Way::Alone, Way::Nginx, Way::Gate],
    },
    Kind {
        name: "2026-07-28, 100 B",
        server: Server::Lean,
        era: Era::Modern,
        text_bytes: 100,
        ways: &[Way::Alone, Way::Nginx, Way::Gate, Way::GateShared],
    },
    Kind {
        name: "2026-07-28, 100 kB",
        server: Server::Lean,
        era: Era::Modern,
        text_bytes: 100_000,
        ways: &[Way::Alone, Way::Nginx, Way::Gate],
    },
    Kind {
        name: "2025-11-25, 100 B, SDK",
        server: Server::Sdk,
        era: Era::Legacy,
        text_bytes: 100,
        ways: &[Way::Alone, Way::Nginx, Way::Gate],
    },
    Kind {
        name: "2025-11-25, 100 kB, SDK",
        server: Server::Sdk,
        era: Era::Legacy,
        text_bytes: 100_000,
        ways: &[Way::Alone, Way::Nginx, Way::Gate],
    },
    Kind {
        name: "2026-07-28, 100 B, SDK",
        server: Server::Sdk,
        era: Era::Modern,
        text_bytes: 100,
        ways: &[Way::Alone, Way::Nginx, Way::Gate],
    },
    Kind {
        name: "2026-07-28, 100 kB, SDK",
        server: Server::Sdk,
        era: Era::Modern,
        text_bytes: 100_000,
        ways: &[Way::Alone, Way::Nginx, Way::Gate],
    },
];

impl Kind {
    const fn is_large(&self) -> bool {
        self.text_bytes > 10_000
    }
}

/// What one way of one kind of call showed.
struct Found {
    way: Way,
    p50: Series,
    p99: Series,
    rate: Series,
    /// The processor time that what stands between took for one call, in seconds.
    work: Series,
}

impl Found {
    fn new(way: Way) -> Self {
        let empty = Series::default;
        Self { way, p50: empty(), p99: empty(), rate: empty(), work: empty() }
    }
}

/// One call at a time: how much longer it takes.
pub(crate) fn measure_one(subject: &Subject, pace: Pace) -> Result<Section> {
    let mut rows = Vec::new();
    let mut targets = Vec::new();
    for (kind, found) in measure_kinds(subject, pace, 1)? {
        let nginx = of(&found, Way::Nginx);
        let alone = of(&found, Way::Alone);
        if let (Some(nginx), Some(gate)) = (nginx, of(&found, Way::Gate))
            && !kind.is_large()
            && kind.server == Server::Lean
        {
            let what = match kind.era {
                Era::Legacy => "a call over HTTP, 2025-11-25, 100 B, p50 above nginx's",
                Era::Modern => "a call over HTTP, 2026-07-28, 100 B, p50 above nginx's",
            };
            targets.push(Target::at_most(what, 60e-6, &gate.p50.above(&nginx.p50), Unit::Micros));
        }
        for way in &found {
            let beside = |other: Option<&Found>| match other {
                Some(other) if other.way != way.way => way.p50.above(&other.p50).shown(Unit::Micros),
                Some(_) | None => "–".to_owned(),
            };
            rows.push(vec![
                kind.name.to_owned(),
                way.way.name().to_owned(),
                way.p50.shown(Unit::Micros),
                beside(alone),
                beside(nginx),
                way.p99.shown(Unit::Micros),
            ]);
        }
    }
    Ok(Section {
        title: "A call over HTTP, one at a time",
        how: format!(
            "Round trips of `tools/call` of a tool that only reads, over one connection that is kept. The text goes \
             both ways: 100 or 100,000 bytes of argument, and the same of answer. {SCENE}"
        ),
        columns: vec!["call", "way", "p50", "above the server alone", "above nginx", "p99"],
        rows,
        targets,
    })
}

/// Many calls at a time: how many get through.
pub(crate) fn measure_many(subject: &Subject, pace: Pace) -> Result<Section> {
    let mut rows = Vec::new();
    let mut targets = Vec::new();
    for (kind, found) in measure_kinds(subject, pace, CONNECTIONS)? {
        let nginx = of(&found, Way::Nginx);
        let alone = of(&found, Way::Alone);
        if let (Some(nginx), Some(gate)) = (nginx, of(&found, Way::Gate)) {
            let what = format!("calls over HTTP, {}, of nginx's rate", kind.name);
            targets.push(Target::at_least(&what, 0.8, &gate.rate.times(&nginx.rate), Unit::Times));
        }
        for way in &found {
            let beside = |other: Option<&Found>| match other {
                Some(other) => way.rate.times(&other.rate).shown(Unit::Times),
                None => "–".to_owned(),
            };
            let work = match way.way {
                Way::Alone => "–".to_owned(),
                Way::Nginx | Way::Gate | Way::GateAcrossEras | Way::GateShared => {
                    way.work.shown(Unit::Micros)
                }
            };
            rows.push(vec![
                kind.name.to_owned(),
                way.way.name().to_owned(),
                way.rate.shown(Unit::PerSecond),
                beside(alone),
                beside(nginx),
                work,
            ]);
        }
    }
    Ok(Section {
        title: "Calls over HTTP, many at a time",
        how: format!(
            "The same calls over {CONNECTIONS} connections that are kept, on each of them one after the other; in \
             the old era each has a session. Work is the processor time of what stands between, for one call. {SCENE}"
        ),
        columns: vec!["call", "way", "calls", "of the server alone", "of nginx", "work"],
        rows,
        targets,
    })
}

fn of(found: &[Found], way: Way) -> Option<&Found> {
    found.iter().find(|found| found.way == way)
}

fn measure_kinds(subject: &Subject, pace: Pace, connections: usize) -> Result<Vec<(Kind, Vec<Found>)>> {
    let scene = Scene::set(subject)?;
    let runtime = runtime()?;
    KINDS
        .into_iter()
        .map(|kind| {
            let found = runtime.block_on(measure_kind(&scene, &kind, pace, connections));
            let found = found.with_context(|| format!("calling: {}", kind.name))?;
            Ok((kind, found))
        })
        .collect()
}

/// The ways take turns many times within each round.
async fn measure_kind(scene: &Scene, kind: &Kind, pace: Pace, connections: usize) -> Result<Vec<Found>> {
    let calls = match (connections, kind.is_large()) {
        (1, false) => 50,
        (1, true) => 20,
        (_, false) => 250,
        (_, true) => 25,
    };
    let load = Load { text_bytes: kind.text_bytes, calls };
    let mut ways = Vec::new();
    for way in kind.ways.iter().copied().filter(|way| scene.has(*way)) {
        let workers = workers(scene, way)?;
        let endpoint = scene.endpoint(way, kind.server, kind.era);
        let mut crowd = Crowd::gather(&endpoint, connections)
            .await
            .with_context(|| format!("opening `{}`", way.name()))?;
        // The first calls of a way pay for its caches and its connections behind.
        crowd.call(load).await.with_context(|| format!("calling through `{}`", way.name()))?;
        ways.push((crowd, workers, Found::new(way)));
    }
    for _ in pace.rounds(15, Duration::from_secs(6)) {
        let mut sums = vec![(Times::default(), Duration::ZERO, 0.0, 0_usize); ways.len()];
        for _ in 0..pace.repeats(TURNS) {
            for ((crowd, workers, _), (times, time, work, count)) in ways.iter_mut().zip(&mut sums) {
                let before = processor_time(workers);
                let (new, took) = crowd.call(load).await?;
                *work += processor_time(workers) - before;
                *time += took;
                *count += connections * load.calls;
                times.extend(new);
            }
        }
        for ((_, _, found), (times, time, work, count)) in ways.iter_mut().zip(&sums) {
            found.p50.push(times.quantile(0.50));
            found.p99.push(times.quantile(0.99));
            found.rate.push(*count as f64 / time.as_secs_f64());
            found.work.push(work / *count as f64);
        }
    }
    Ok(ways.into_iter().map(|(_, _, found)| found).collect())
}

/// The processes of what stands between.
fn workers(scene: &Scene, way: Way) -> Result<Vec<u32>> {
    let Some(running) = scene.between(way) else { return Ok(Vec::new()) };
    let process = running.process_id()?;
    Ok(std::iter::once(process).chain(crate::memory::children_of(process)).collect())
}

/// The processor time that these processes have had, in seconds.
fn processor_time(processes: &[u32]) -> f64 {
    let threads = processes.iter().flat_map(|process| fs::read_dir(format!("/proc/{process}/task")));
    let nanos = threads.flat_map(Iterator::flatten).filter_map(|thread| {
        let numbers = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        numbers.split(' ').next()?.parse::<f64>().ok()
    });
    nanos.sum::<f64>() * 1e-9
}

/// What a request of the modern era carries beside its own parameters.
pub(crate) const fn modern_meta() -> &'static str {
    Era::Modern.meta()
}

/// One thread: the load must not take more of the machine than it needs.
fn runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

const CONNECTIONS: usize = 32;
const TURNS: usize = 4;

const SCENE: &str = "The server is one thread that does as little as it can; SDK: one made with the Rust SDK. nginx is a plain \
     `proxy_pass` with connections kept on both sides, bodies in memory and no log. `yesgate serve` has an endpoint \
     for each server; server of the other era: it translates; shared endpoint: the one for all servers, where names \
     have a prefix.";
