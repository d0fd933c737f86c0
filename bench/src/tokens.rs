//! How long clients wait for tokens, and for calls that a token lets in, where ten thousand clients are known.
//!
//! The ledger is a real file, filled through its own door; the gateway is the real program with the limits that it comes
//! with. So that these are not what is measured, the load is many clients of many addresses behind a proxy that the gateway
//! knows: each comes no more often than it may.

mod filling;
mod lane;

use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::task::JoinSet;

use self::filling::{CLIENTS, Connected};
use self::lane::{Does, Lane};
use crate::http::process::{Running, free_address};
use crate::report::{Section, Target};
use crate::stats::{Pace, Series, Times, Unit};
use crate::subject::Subject;

/// What is measured: its name, and what the lanes do, which alternate.
const LOADS: [(&str, [Does; 2]); 3] = [
    ("all refresh", [Does::Refresh, Does::Refresh]),
    ("all call", [Does::Call, Does::Call]),
    ("half of them refresh, the others call", [Does::Refresh, Does::Call]),
];

pub(crate) fn measure(subject: &Subject, pace: Pace) -> Result<Section> {
    let home = subject.folder()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (address, behind) = (free_address()?, Running::server(subject, "web-server")?);
    let origin = format!("http://{address}");
    let clients = runtime.block_on(filling::fill(home.path(), &origin, LANES * EACH))?;
    let config = home.path().join("yesgate.toml");
    let words = format!(
        "[serve]\nlisten = \"{address}\"\npublic_url = \"{origin}\"\nproxies = [\"127.0.0.1\"]\n\
         [servers.notes]\nurl = \"http://{}/mcp\"\ntrusted = true\nera = \"modern\"\n",
        behind.address
    );
    std::fs::write(&config, words)?;
    let _gateway = Running::kept(subject, &subject.serving(home.path(), &config), address)?;
    let mut lanes = Vec::new();
    let mut clients = clients.into_iter();
    for _ in 0..LANES {
        let share: Vec<Connected> = clients.by_ref().take(EACH).collect();
        lanes.push(runtime.block_on(Lane::open(address, share))?);
    }
    let mut found = Vec::new();
    for (load, does) in LOADS {
        let mut by_kind = does.map(|does| (does, Found::default()));
        for _ in pace.rounds(9, Duration::from_secs(20)) {
            let (back, times) = runtime.block_on(go(lanes, does)).with_context(|| load.to_owned())?;
            lanes = back;
            for ((_, found), times) in by_kind.iter_mut().zip(times) {
                found.push(times);
            }
        }
        found.push((load, by_kind));
    }
    Ok(section(found))
}

/// What the rounds of one thing showed.
#[derive(Default)]
struct Found {
    p50: Series,
    p99: Series,
    all: Times,
}

impl Found {
    fn push(&mut self, times: Times) {
        self.p50.push(times.quantile(0.50));
        self.p99.push(times.quantile(0.99));
        self.all.extend(times);
    }

    /// The longest of all rounds.
    fn longest(&self) -> Series {
        [self.all.quantile(1.0)].into_iter().collect()
    }
}

/// Has every lane go through its clients once, all lanes at once. Gives the times of the even ones and of the odd ones.
async fn go(lanes: Vec<Lane>, does: [Does; 2]) -> Result<(Vec<Lane>, [Times; 2])> {
    let mut under_way = JoinSet::new();
    for (number, (mut lane, does)) in lanes.into_iter().zip(does.into_iter().cycle()).enumerate() {
        under_way.spawn(async move {
            let times = lane.go(does).await?;
            anyhow::Ok((number, lane, times))
        });
    }
    let (mut back, mut even, mut odd) = (Vec::new(), Times::default(), Times::default());
    while let Some(done) = under_way.join_next().await {
        let (number, lane, times) = done??;
        if number % 2 == 0 {
            even.extend(times)
        } else {
            odd.extend(times)
        }
        back.push((number, lane));
    }
    back.sort_by_key(|(number, _)| *number);
    Ok((back.into_iter().map(|(_, lane)| lane).collect(), [even, odd]))
}

fn section(found: Vec<(&'static str, [(Does, Found); 2])>) -> Section {
    let (mut rows, mut targets) = (Vec::new(), Vec::new());
    for (load, [(first, mut one), (second, other)]) in found {
        let mut kinds = Vec::new();
        if first == second {
            // Both halves did the same.
            one.all.extend(other.all);
            one.p50 = one.p50.with(&other.p50, f64::max);
            one.p99 = one.p99.with(&other.p99, f64::max);
            kinds.push((first, one));
        } else {
            kinds.extend([(first, one), (second, other)]);
        }
        for (does, found) in kinds {
            let name = does.name();
            rows.push(vec![
                load.to_owned(),
                name.to_owned(),
                found.p50.shown(Unit::Millis),
                found.p99.shown(Unit::Millis),
                found.longest().shown(Unit::Millis),
            ]);
            let what = format!("{name}, {LANES} connections, {load}");
            targets.push(Target::at_most(&format!("{what}, p99"), LIMIT, &found.p99, Unit::Millis));
            targets.push(Target::at_most(&format!("{what}, longest"), LIMIT, &found.longest(), Unit::Millis));
        }
    }
    Section {
        title: "Tokens, where 10,000 clients are known",
        how: format!(
            "A ledger file with {CLIENTS} clients, of which {} are connected; `yesgate serve` on it with a `public_url`, and \
             with its usual limits. {LANES} connections that are kept, on each of them one request after the other, each \
             for another client and from another address, which a proxy names. Every refresh uses the token of the one \
             before, and every call the newest access token. The time is from the request to the last byte.",
            LANES * EACH
        ),
        columns: vec!["load", "what", "p50", "p99", "longest of all"],
        rows,
        targets,
    }
}

/// How many come at once.
const LANES: usize = 32;
/// How many clients come by one connection.
const EACH: usize = 64;
/// O-T8: some clients wait no longer than five seconds.
const LIMIT: f64 = 1.0;
