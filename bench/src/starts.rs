//! How long it takes until a host that starts a server has its first answer.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::client::Client;
use crate::peers::Peer;
use crate::report::{Section, Target};
use crate::stats::{Pace, Series, Unit};
use crate::subject::Subject;

pub(crate) fn measure(subject: &Subject, peers: &[Peer], pace: Pace) -> Result<Section> {
    let known_home = subject.folder()?;
    start(subject.wrapped(known_home.path(), 0))?;
    let mut rows: Vec<(&str, Series)> =
        ["server alone", "plain relay", "yesgate wrap, known home", "yesgate wrap, new home"]
            .map(|name| (name, Series::default()))
            .into();
    for _ in pace.rounds(40, Duration::from_secs(15)) {
        let new_home = subject.folder()?;
        let commands = [
            subject.bare(0),
            subject.relayed(0),
            subject.wrapped(known_home.path(), 0),
            subject.wrapped(&new_home.path().join("home"), 0),
        ];
        for ((name, series), command) in rows.iter_mut().zip(commands) {
            series.push(start(command).with_context(|| format!("starting `{name}`"))?);
        }
    }
    let alone = rows.first().map(|(_, alone)| alone.clone()).unwrap_or_default();
    let target = |what, index: usize| {
        let series = rows.get(index).map(|(_, series)| series.above(&alone)).unwrap_or_default();
        Target::at_most(what, 30e-3, &series, Unit::Millis)
    };
    let targets = vec![
        target("start to first answer, added, known home", 2),
        target("start to first answer, added, new home", 3),
    ];
    let mut table: Vec<Vec<String>> = rows.iter().map(|(name, series)| row(name, series, &alone)).collect();
    table.extend(beside_peers(subject, peers, pace)?);
    Ok(Section {
        title: "Start to the first answer",
        how:
            "From before the process is started until its answer to `initialize` is here. A known home is a \
              ledger that an earlier start made; a new home is none."
                .to_owned(),
        columns: vec!["way", "time", "added"],
        rows: table,
        targets,
    })
}

/// Peers take a second and more; they get a few rounds of their own.
fn beside_peers(subject: &Subject, peers: &[Peer], pace: Pace) -> Result<Vec<Vec<String>>> {
    let mut alone = Series::default();
    let mut found = vec![Series::default(); peers.len()];
    if peers.is_empty() {
        return Ok(Vec::new());
    }
    let folder = subject.folder()?;
    for _ in pace.rounds(5, Duration::from_secs(12)) {
        alone.push(start(subject.bare(0))?);
        for (peer, series) in peers.iter().zip(&mut found) {
            series.push(start(peer.command(subject, folder.path(), 0)).with_context(|| peer.title.clone())?);
        }
    }
    Ok(peers.iter().zip(&found).map(|(peer, series)| row(&peer.title, series, &alone)).collect())
}

/// Starts a server, ends it again, and gives the seconds from one to its first answer.
fn start(command: Command) -> Result<f64> {
    let (client, time) = Client::open_timed(command)?;
    client.close()?;
    Ok(time.as_secs_f64())
}

fn row(name: &str, series: &Series, alone: &Series) -> Vec<String> {
    let added =
        if name == "server alone" { "–".to_owned() } else { series.above(alone).shown(Unit::Millis) };
    vec![name.to_owned(), series.shown(Unit::Millis), added]
}
