//! The two statements without a ledger: a question is inserted, and conditionally updated when it is redeemed.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use rusqlite::{Connection, params};
use yesgate_testkit::postgres::Database;

/// What `pgbench` does in a second, each statement a transaction of its own, with so many clients.
pub(crate) fn pgbench(program: &Path, database: &Database, clients: u64, seconds: u64) -> Result<f64> {
    let folder = tempfile::tempdir()?;
    let script = folder.path().join("pairs.sql");
    std::fs::write(&script, SCRIPT)?;
    let output = Command::new(program)
        .args(["-n", "-M", "prepared", "-j", "2", "-U", "yesgate", "-h"])
        .arg(database.cluster().socket())
        .arg("-f")
        .arg(&script)
        .args(["-c", &clients.to_string(), "-T", &seconds.to_string(), database.name()])
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    let rate = said.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
    rate.with_context(|| format!("pgbench failed: {}", String::from_utf8_lossy(&output.stderr)))
}

/// What the statements of [`pgbench`] need.
pub(crate) const TABLE: &str =
    "CREATE TABLE plain (id TEXT PRIMARY KEY, token_hash BYTEA, state TEXT NOT NULL,
     run_by BIGINT NOT NULL, sealed BYTEA NOT NULL);
     CREATE UNIQUE INDEX plain_by_token ON plain (token_hash) WHERE token_hash IS NOT NULL;
     CREATE INDEX plain_by_state ON plain (state);";

/// A question of the size that ours have.
const SCRIPT: &str = "\\set a random(1, 9000000000000000000)
\\set b random(1, 9000000000000000000)
INSERT INTO plain VALUES (:a || '-' || :b, decode(md5((:a)::text || (:b)::text), 'hex'), 'approved', :a,
    decode(repeat('ab', 1400), 'hex'));
UPDATE plain SET state = 'running', token_hash = NULL
    WHERE token_hash = decode(md5((:a)::text || (:b)::text), 'hex') AND state = 'approved' AND run_by > 0;
";

/// A file with the same table.
pub(crate) struct PlainFile {
    connection: Connection,
    number: i64,
}

impl PlainFile {
    pub(crate) fn open(at: &Path) -> Result<Self> {
        let connection = Connection::open(at)?;
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
             CREATE TABLE plain (id TEXT PRIMARY KEY, token_hash BLOB, state TEXT NOT NULL,
                 run_by INTEGER NOT NULL, sealed BLOB NOT NULL) STRICT;
             CREATE UNIQUE INDEX plain_by_token ON plain (token_hash) WHERE token_hash IS NOT NULL;
             CREATE INDEX plain_by_state ON plain (state);",
        )?;
        Ok(Self { connection, number: 0 })
    }

    /// How many pairs it makes in a second, so many statements to a commit.
    pub(crate) fn pairs(&mut self, together: u64, count: u64) -> Result<f64> {
        let sealed = [0xab_u8; 1400];
        let before = Instant::now();
        for _ in 0..count.div_ceil(together) {
            let numbers = self.number..self.number + i64::try_from(together)?;
            self.number = numbers.end;
            let asking = self.connection.transaction()?;
            let mut insert =
                asking.prepare_cached("INSERT INTO plain VALUES (?1, ?2, 'approved', ?3, ?4)")?;
            for number in numbers.clone() {
                insert.execute(params![spread(number), hash(number), number + 1, sealed])?;
            }
            drop(insert);
            asking.commit()?;
            let spending = self.connection.transaction()?;
            let mut update = spending.prepare_cached(
                "UPDATE plain SET state = 'running', token_hash = NULL
                 WHERE token_hash = ?1 AND state = 'approved' AND run_by > 0",
            )?;
            for number in numbers {
                ensure!(update.execute([hash(number)])? == 1, "a yes was not spent");
            }
            drop(update);
            spending.commit()?;
        }
        let rounds = count.div_ceil(together) * together;
        Ok(rounds as f64 / before.elapsed().as_secs_f64())
    }
}

/// An id that comes after another one is not beside it in the index.
fn spread(number: i64) -> String {
    format!("{:016x}-{number:016x}", number.wrapping_mul(-7_046_029_254_386_353_131))
}

fn hash(number: i64) -> [u8; 16] {
    let mut hash = [0; 16];
    for (byte, from) in hash.iter_mut().zip(spread(number).bytes()) {
        *byte = from;
    }
    hash
}
