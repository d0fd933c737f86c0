//! How many yeses a ledger can take and spend in a second, in a file and in PostgreSQL, beside `pgbench`.

mod load;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use jiff::Timestamp;
use yesgate_core::clock::{Clock, Entropy, EntropyError};
use yesgate_core::id::BootId;
use yesgate_ledger::{Ledger, SecretKey};
use yesgate_testkit::postgres::{Cluster, program};

use crate::report::{Section, Target};
use crate::stats::{Pace, Series, Unit};
use crate::subject::Subject;

pub(crate) fn measure(subject: &Subject, pace: Pace) -> Result<Section> {
    let home = subject.folder()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let key = SecretKey::load(home.path(), None, &Fixed)?;
    let database = Cluster::own(&[]).database();
    database.psql(load::TABLE);
    let pgbench = program("pgbench");
    let (socket, name) = (database.cluster().socket().to_owned(), database.name().to_owned());
    let boot = |seed| BootId::from_entropy([seed; 32]);
    let file =
        runtime.block_on(Ledger::open(&home.path().join("ledger.db"), &key, Arc::new(Now), boot(1)))?;
    let address = database.address().parse()?;
    let shared = runtime.block_on(Ledger::connect(&address, &key, Arc::new(Now), boot(2)))?;

    let (mut plain, mut in_file, mut in_database) = (Series::default(), Series::default(), Series::default());
    for _ in pace.rounds(7, Duration::from_secs(60)) {
        let count = COUNT * pace.repeats(2) as u64 / 2;
        let rate = |time: Duration| count as f64 / time.as_secs_f64();
        let (pgbench, socket) = (pgbench.to_string_lossy(), socket.to_string_lossy());
        plain.push(load::pgbench(&pgbench, &socket, &name, IN_FLIGHT, 3)?);
        in_database.push(rate(runtime.block_on(load::pairs(&shared, IN_FLIGHT, count))?));
        in_file.push(rate(runtime.block_on(load::pairs(&file, IN_FLIGHT, count))?));
    }
    runtime.block_on(async { drop((file, shared)) });
    let row = |what: &str, rate: &Series| {
        vec![what.to_owned(), rate.shown(Unit::PerSecond), rate.times(&plain).shown(Unit::Times)]
    };
    Ok(Section {
        title: "Ledgers",
        how: format!(
            "A question with its token, and the same call again that spends it: two durable changes with their audit \
             rows, {IN_FLIGHT} at a time, on a server that waits for the disk. `pgbench` does the same as two plain \
             statements, an insert and a conditional update, each a transaction of its own, without any audit trail."
        ),
        columns: vec!["", "pairs", "of pgbench"],
        rows: vec![
            row("pgbench, plain statements", &plain),
            row("ledger in PostgreSQL", &in_database),
            row("ledger in a file", &in_file),
        ],
        targets: vec![Target::at_least(
            "asked and spent in PostgreSQL, of pgbench's rate",
            0.7,
            &in_database.times(&plain),
            Unit::Times,
        )],
    })
}

#[derive(Debug)]
struct Now;

impl Clock for Now {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

#[derive(Debug)]
struct Fixed;

impl Entropy for Fixed {
    fn draw(&self) -> Result<[u8; 32], EntropyError> {
        Ok([7; 32])
    }
}

const IN_FLIGHT: u64 = 64;
const COUNT: u64 = 4_000;
