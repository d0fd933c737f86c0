//! How many yeses a ledger can take and spend in a second, in a file and in PostgreSQL, beside the same two statements
//! without a ledger, and in a file beside the same rows without one; and whether that changes when a million rows are
//! there.

mod filling;
mod load;
mod plain;
mod rows;
pub(crate) mod trail;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use jiff::Timestamp;
use tokio::runtime::Runtime;
use yesgate_core::clock::{Clock, Entropy, EntropyError};
use yesgate_core::id::BootId;
use yesgate_ledger::{Ledger, SecretKey};
use yesgate_testkit::postgres::{Cluster, Database, program};

use self::rows::Extent;
use crate::report::{Section, Target};
use crate::stats::{Pace, Series, Unit};
use crate::subject::Subject;

/// Both ledgers beside the plain statements.
pub(crate) fn measure(subject: &Subject, pace: Pace) -> Result<Section> {
    let stage = Stage::set(subject)?;
    let (file, shared) = (stage.in_file(1)?, stage.in_database(2)?);
    stage.database.psql(plain::TABLES);
    let mut raw = plain::PlainFile::open(&stage.home.path().join("plain.db"))?;
    let mut rows = rows::SameRows::open(&stage.made_by_a_ledger("rows.db")?, Extent::All)?;
    let mut questions = rows::SameRows::open(&stage.made_by_a_ledger("questions.db")?, Extent::Question)?;
    let pgbench = |statements| {
        plain::pgbench(&program("pgbench"), &stage.database, statements, IN_FLIGHT, SECONDS_OF_PGBENCH)
    };
    let [mut lean, mut same, mut in_database, mut plain, mut two, mut same_rows, mut in_file] =
        [const { Series::new() }; 7];
    let mut groups = Series::new();
    for _ in pace.rounds(7, Duration::from_secs(90)) {
        let count = COUNT * pace.repeats(4) as u64 / 4;
        lean.push(pgbench(plain::LEAN)?);
        same.push(pgbench(plain::SAME)?);
        in_database.push(stage.rate(&shared, count)?);
        in_file.push(stage.rate(&file, count)?);
        let together = stage.runtime.block_on(load::together(&file))?;
        groups.push(together as f64);
        plain.push(raw.pairs(together, 4 * count)?);
        // As many as the ledger writes: both files grow alike.
        two.push(questions.pairs(together, count)?);
        same_rows.push(rows.pairs(together, count)?);
    }
    stage.end((file, shared));
    let row = |what: &str, rate: &Series, lean: &Series, same: &Series| {
        let times = |beside: &Series| rate.times(beside).shown(Unit::Times);
        vec![what.to_owned(), rate.shown(Unit::PerSecond), times(same), times(lean)]
    };
    let target =
        |what, rate: &Series, beside: &Series| Target::at_least(what, 0.7, &rate.times(beside), Unit::Times);
    Ok(Section {
        title: "Ledgers",
        how: format!(
            "A question with its token, and the same call again that spends it: two durable changes with their audit \
             rows, counts and the usual bounds, as the gateway makes them, {IN_FLIGHT} at a time by {CALLERS} callers, on a disk that is \
             waited for. In PostgreSQL the same are the two statements of the ledger, its insert and its conditional update, on a table \
             with its columns and indexes; lean, an insert and a conditional update of a row of the same size with two indexes \
             in place of nine; both by `pgbench` with {IN_FLIGHT} clients, each statement a transaction. In a file the same are all rows that the ledger \
             has of a pair, in its own tables and indexes with its settings (the question and its conditional update, four audit rows, what \
             its caller has asked, sums, the end of the trail); the two statements, only the question and its conditional update, in the same tables; \
             lean, those on the small table; all by one thread with prepared statements, and as many changes \
             to a transaction as the ledger had to a commit in the same round ({:.0} here). In neither is anything looked up, judged, \
             sealed or hashed, and nobody has to be told.",
            groups.median()
        ),
        columns: vec!["", "pairs", "of the same", "of the lean"],
        rows: vec![
            row("PostgreSQL, lean", &lean, &lean, &same),
            row("PostgreSQL, the same", &same, &lean, &same),
            row("PostgreSQL, ledger", &in_database, &lean, &same),
            row("SQLite, lean", &plain, &plain, &same_rows),
            row("SQLite, the two statements", &two, &plain, &same_rows),
            row("SQLite, the same", &same_rows, &plain, &same_rows),
            row("SQLite, ledger", &in_file, &plain, &same_rows),
        ],
        targets: vec![
            target("asked and spent in PostgreSQL, of pgbench with the same statements", &in_database, &same),
            target("asked and spent in SQLite, of the same rows written plainly", &in_file, &same_rows),
        ],
    })
}

/// The same ledgers with a thousand rows and with a million.
pub(crate) fn measure_large(subject: &Subject, pace: Pace) -> Result<Section> {
    let (small, large) = (Stage::set(subject)?, Stage::set(subject)?);
    // Ledgers make their tables when they are first opened.
    for (stage, rows) in [(&small, FEW), (&large, MANY)] {
        stage.end((stage.in_file(1)?, stage.in_database(2)?));
        filling::fill_database(&stage.database, rows);
        filling::fill_file(&stage.file(), rows)?;
    }
    let open = |stage: &Stage| anyhow::Ok((stage.in_file(3)?, stage.in_database(4)?));
    let ((few_file, few_base), (many_file, many_base)) = (open(&small)?, open(&large)?);
    let [mut few_in_file, mut few_in_base, mut many_in_file, mut many_in_base] = [const { Series::new() }; 4];
    for _ in pace.rounds(7, Duration::from_secs(60)) {
        let count = COUNT * pace.repeats(4) as u64 / 8;
        few_in_base.push(small.rate(&few_base, count)?);
        many_in_base.push(large.rate(&many_base, count)?);
        few_in_file.push(small.rate(&few_file, count)?);
        many_in_file.push(large.rate(&many_file, count)?);
    }
    small.end((few_file, few_base));
    large.end((many_file, many_base));
    let row = |what: &str, few: &Series, many: &Series| {
        vec![
            what.to_owned(),
            few.shown(Unit::PerSecond),
            many.shown(Unit::PerSecond),
            few.times(many).shown(Unit::Times),
        ]
    };
    let target =
        |what, few: &Series, many: &Series| Target::at_most(what, 1.3, &few.times(many), Unit::Times);
    Ok(Section {
        title: "Ledgers that have grown",
        how: format!(
            "The same pairs, on ledgers that hold {FEW} finished questions and as many audit rows for each as a question has, and \
             on ledgers that hold {MANY} audit rows of them. More work: how many times longer a pair takes there."
        ),
        columns: vec!["", "few rows", "many rows", "more work"],
        rows: vec![
            row("PostgreSQL", &few_in_base, &many_in_base),
            row("SQLite", &few_in_file, &many_in_file),
        ],
        targets: vec![
            target(
                "a pair in PostgreSQL with a million rows, of one with a thousand",
                &few_in_base,
                &many_in_base,
            ),
            target(
                "a pair in SQLite with a million rows, of one with a thousand",
                &few_in_file,
                &many_in_file,
            ),
        ],
    })
}

/// A file and a database, and the key of both.
struct Stage {
    home: tempfile::TempDir,
    key: SecretKey,
    database: Database,
    runtime: Runtime,
}

impl Stage {
    fn set(subject: &Subject) -> Result<Self> {
        let home = subject.folder()?;
        let key = SecretKey::load(home.path(), None, &Fixed)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        Ok(Self { home, key, database: Cluster::own(&[]).database(), runtime })
    }

    fn file(&self) -> std::path::PathBuf {
        Path::new(self.home.path()).join("ledger.db")
    }

    fn in_file(&self, seed: u8) -> Result<Ledger> {
        self.ledger_at(&self.file(), seed)
    }

    fn ledger_at(&self, at: &Path, seed: u8) -> Result<Ledger> {
        let boot = BootId::from_entropy([seed; 32]);
        Ok(self.runtime.block_on(Ledger::open(at, &self.key, Arc::new(Now), boot))?)
    }

    /// A file with the tables of a ledger, which is closed again.
    fn made_by_a_ledger(&self, name: &str) -> Result<std::path::PathBuf> {
        let folder = self.home.path().join(name).with_extension("");
        std::fs::create_dir_all(&folder)?;
        let (at, ledger) = (folder.join(name), self.ledger_at(&folder.join(name), 9)?);
        self.runtime.block_on(async { drop(ledger) });
        Ok(at)
    }

    fn in_database(&self, seed: u8) -> Result<Ledger> {
        let address = self.database.address().parse()?;
        let boot = BootId::from_entropy([seed; 32]);
        Ok(self.runtime.block_on(Ledger::connect(&address, &self.key, Arc::new(Now), boot))?)
    }

    /// How many pairs a ledger makes in a second.
    fn rate(&self, ledger: &Ledger, count: u64) -> Result<f64> {
        let took = self.runtime.block_on(load::pairs(ledger, IN_FLIGHT, count))?;
        Ok(count as f64 / took.as_secs_f64())
    }

    /// Closes ledgers where their last words can still be said.
    fn end(&self, ledgers: (Ledger, Ledger)) {
        self.runtime.block_on(async { drop(ledgers) });
    }
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
const CALLERS: u64 = load::CALLERS;
const COUNT: u64 = 8_000;
const SECONDS_OF_PGBENCH: u64 = 3;
/// How many rows the audit trail has in a small ledger, and in a large one.
const FEW: u64 = 1_000;
const MANY: u64 = 1_000_000;
