//! What a look at the whole audit trail takes, in time and memory, when the trail is long.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use yesgate_ledger::Ledger;

use super::{IN_FLIGHT, Stage, load};
use crate::machine::field;
use crate::report::{Section, Target};
use crate::stats::{Pace, Series, Unit};
use crate::subject::Subject;

/// `yesgate audit verify` of trails that were really written.
pub(crate) fn measure(subject: &Subject, pace: Pace) -> Result<Section> {
    let long = match pace {
        Pace::Full => 1_000_000,
        Pace::Quick => 100_000,
    };
    let stage = Stage::set(subject)?;
    let mut looks = Vec::new();
    for rows in [SHORT, long] {
        let ledger = stage.in_file(1)?;
        grow(&stage, &ledger, rows)?;
        stage.runtime.block_on(async { drop(ledger) });
        let mut look = Look::default();
        for _ in 0..3 {
            look.take(subject, &stage)?;
        }
        looks.push((rows, look));
    }
    let row = |(rows, look): &(u64, Look)| {
        let each = look.time.with(&look.time, |time, _| time / *rows as f64);
        vec![
            rows.to_string(),
            look.time.shown(Unit::Millis),
            each.shown(Unit::Micros),
            look.peak.shown(Unit::Megabytes),
        ]
    };
    let rows = looks.iter().map(row).collect();
    let [(_, short), (_, long)] = looks.as_slice() else { anyhow::bail!("there are two lengths") };
    let more = long.peak.above(&short.peak);
    Ok(Section {
        title: "The whole audit trail",
        how: "`yesgate audit verify` of a file, with trails that real questions and redemptions wrote, four rows each. None of \
              those calls has ended, and what has not ended stays in memory: this is the most that a trail can take. The peak is the most that the process had in memory, as it was last seen, every few milliseconds."
            .to_owned(),
        columns: vec!["rows", "time", "for each row", "peak"],
        rows,
        targets: vec![Target::at_most(
            "memory of a look at the longest trail, above one at 20,000 rows",
            64e6,
            &more,
            Unit::Megabytes,
        )],
    })
}

/// Asks and spends until the trail is so long.
fn grow(stage: &Stage, ledger: &Ledger, rows: u64) -> Result<()> {
    let there = stage.runtime.block_on(ledger.audit_last(1))?;
    let there = there.first().map_or(0, |row| row.sequence);
    let pairs = rows.saturating_sub(there).div_ceil(ROWS_EACH);
    stage.runtime.block_on(load::pairs(ledger, IN_FLIGHT, pairs))?;
    Ok(())
}

#[derive(Debug, Default)]
struct Look {
    time: Series,
    peak: Series,
}

impl Look {
    fn take(&mut self, subject: &Subject, stage: &Stage) -> Result<()> {
        let mut command = subject.asking(stage.home.path());
        command.args(["audit", "verify"]).stdout(std::process::Stdio::null());
        let before = Instant::now();
        let mut child = command.spawn()?;
        let (table, mut peak) = (format!("/proc/{}/status", child.id()), None);
        let status = loop {
            let seen =
                field(&table, "VmHWM").and_then(|text| text.trim_end_matches(" kB").parse::<f64>().ok());
            peak = seen.or(peak);
            match child.try_wait()? {
                Some(status) => break status,
                None => thread::sleep(Duration::from_millis(2)),
            }
        };
        self.time.push(before.elapsed().as_secs_f64());
        ensure!(status.success(), "the trail is not sound: {status}");
        self.peak.push(peak.context("a process does not tell its size")? * 1024.0);
        Ok(())
    }
}

/// How many rows a question leaves that was asked and spent.
const ROWS_EACH: u64 = 4;
const SHORT: u64 = 20_000;
