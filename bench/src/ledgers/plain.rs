//! The two statements without a ledger: a question is inserted, and conditionally updated when it is redeemed.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use rusqlite::{Connection, params};
use yesgate_testkit::postgres::Database;

/// What `pgbench` does in a second, each statement a transaction of its own, with so many clients.
pub(crate) fn pgbench(
    program: &Path,
    database: &Database,
    statements: &str,
    clients: u64,
    seconds: u64,
) -> Result<f64> {
    static FIRST: AtomicU64 = AtomicU64::new(1_000_000_000);
    let first = FIRST.fetch_add(10_000_000, Ordering::Relaxed);
    let folder = tempfile::tempdir()?;
    let script = folder.path().join("pairs.sql");
    std::fs::write(&script, statements)?;
    let output = Command::new(program)
        .args(["-n", "-M", "prepared", "-j", "2", "-U", "yesgate", "-h"])
        .arg(database.cluster().socket())
        .arg("-f")
        .arg(&script)
        .args(["-D", &format!("n={first}"), "-c", &clients.to_string(), "-T", &seconds.to_string()])
        .arg(database.name())
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    let rate = said.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
    rate.with_context(|| format!("pgbench failed: {}", String::from_utf8_lossy(&output.stderr)))
}

/// What the statements need, once a ledger has made its tables.
pub(crate) const TABLES: &str = "CREATE TABLE same (LIKE intent INCLUDING ALL);
     CREATE TABLE plain (id TEXT PRIMARY KEY, token_hash BYTEA, state TEXT NOT NULL,
     run_by BIGINT NOT NULL, sealed BYTEA NOT NULL);
     CREATE UNIQUE INDEX plain_by_token ON plain (token_hash) WHERE token_hash IS NOT NULL;
     CREATE INDEX plain_by_state ON plain (state);";

/// The two statements of the ledger, on a table that is like the ledger's own: columns, indexes, and what stands in a row.
/// Ids and times come one after the other, as those of the ledgers do here; digests are anywhere.
pub(crate) const SAME: &str = "\\set n :n + 1
\\set a :n * 64 + :client_id
INSERT INTO same (id, version, slot, digest, token_hash, state, server, identity, decide_by, run_by,
        boot, handed_over, purged_at, is_awaited, matters_until, touched_at, org, sealed)
    VALUES ('intent_' || :a, 1, sha256(int8send(:a)), sha256(int8send(-(:a)::bigint)), sha256(int8send((:a)::bigint << 20)),
        'pending', 'files', sha256('files'), :a, NULL, NULL, 0, NULL, 0, 9223372036854775807, :a, 'local',
        decode(repeat('ab', 1400), 'hex'));
UPDATE same
    SET version = version + 1, token_hash = sha256(int8send((:a)::bigint << 20)), state = 'running', decide_by = :a,
        run_by = :a, boot = 'boot_3030d0r1040g2081', handed_over = 0, purged_at = NULL, is_awaited = 0,
        matters_until = 9223372036854775807, touched_at = :a, sealed = decode(repeat('cd', 1592), 'hex')
    WHERE id = 'intent_' || :a AND version = 1 AND state = 'pending' AND digest = sha256(int8send(-(:a)::bigint));
";

/// An insert and a conditional update of a row of the size that ours have, and of nothing else.
pub(crate) const LEAN: &str = "\\set a random(1, 9000000000000000000)
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
