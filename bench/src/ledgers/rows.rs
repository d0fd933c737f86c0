//! The same rows without a ledger: whatever a file of ours has of a question that was asked and spent, or only the question
//! itself, in tables and indexes that a ledger has made, written by one thread that judges, seals, chains and looks up
//! nothing.

use std::ops::Range;
use std::path::Path;
use std::time::Instant;

use anyhow::{Result, ensure};
use rusqlite::{Connection, Transaction, params};

/// Which rows are written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Extent {
    /// All that a ledger has of a pair.
    All,
    /// The question alone: one insert and one conditional update.
    Question,
}

/// A file that a ledger has made, and nobody else has open.
pub(crate) struct SameRows {
    connection: Connection,
    extent: Extent,
    /// How many questions there are.
    number: i64,
    /// The last row of the audit trail.
    sequence: i64,
}

impl SameRows {
    /// Opens it with the settings that the ledger has.
    pub(crate) fn open(at: &Path, extent: Extent) -> Result<Self> {
        let connection = Connection::open(at)?;
        connection.set_prepared_statement_cache_capacity(96);
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA fullfsync = ON;
             PRAGMA checkpoint_fullfsync = ON; PRAGMA wal_autocheckpoint = 2000;
             PRAGMA journal_size_limit = 16777216; PRAGMA foreign_keys = ON; PRAGMA cell_size_check = ON;
             PRAGMA mmap_size = 0; PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -4096;",
        )?;
        let sequence = connection.query_row("SELECT sequence FROM head", [], |row| row.get(0))?;
        Ok(Self { connection, extent, number: 0, sequence })
    }

    /// How many pairs it makes in a second, so many changes to a commit.
    pub(crate) fn pairs(&mut self, together: u64, count: u64) -> Result<f64> {
        let before = Instant::now();
        for _ in 0..count.div_ceil(together) {
            let numbers = self.number..self.number + i64::try_from(together)?;
            self.number = numbers.end;
            self.write(numbers.clone(), "asked", [("opened", 397), ("token_issued", 97)], ask, open)?;
            self.write(numbers, "approved", [("approved", 156), ("redeemed", 124)], spend, close)?;
        }
        let rounds = count.div_ceil(together) * together;
        Ok(rounds as f64 / before.elapsed().as_secs_f64())
    }

    /// One commit: the same change of many questions, and what else a ledger has of it.
    fn write(
        &mut self,
        numbers: Range<i64>,
        what: &str,
        events: [(&str, usize); 2],
        change: Change,
        beside: Change,
    ) -> Result<()> {
        let changing = self.connection.transaction()?;
        let count = numbers.end - numbers.start;
        for number in numbers {
            change(&changing, number)?;
            if self.extent == Extent::Question {
                continue;
            }
            beside(&changing, number)?;
            for (event, body) in events {
                self.sequence += 1;
                append(&changing, self.sequence, number, event, body)?;
            }
        }
        if self.extent == Extent::All {
            end(&changing, self.sequence, what, count)?;
        }
        Ok(changing.commit()?)
    }
}

/// One change for one question.
type Change = fn(&Transaction<'_>, i64) -> Result<()>;

/// A question.
fn ask(asking: &Transaction<'_>, number: i64) -> Result<()> {
    let mut insert = asking.prepare_cached(
        "INSERT INTO intent (id, version, slot, digest, token_hash, state, server, identity, decide_by, run_by, boot,
             handed_over, purged_at, is_awaited, matters_until, touched_at, org, sealed)
         VALUES (?1, 1, ?2, ?3, ?4, 'pending', 'files', ?5, ?6, NULL, NULL, 0, NULL, 0, ?7, ?6, 'local', ?8)",
    )?;
    let (id, at) = (id(number), AT + number);
    insert.execute(params![
        id,
        digest(number, 1),
        digest(number, 2),
        digest(number, 3),
        digest(0, 4),
        at,
        i64::MAX,
        [0xab_u8; ASKED]
    ])?;
    Ok(())
}

/// That its caller has asked it.
fn open(asking: &Transaction<'_>, number: i64) -> Result<()> {
    let mut open = asking
        .prepare_cached("INSERT INTO asked (intent, caller, asked_at, is_open) VALUES (?1, ?2, ?3, 1)")?;
    open.execute(params![id(number), digest(number % super::CALLERS as i64, 5), AT + number])?;
    Ok(())
}

/// The question as it is when its yes is spent: one conditional write.
fn spend(spending: &Transaction<'_>, number: i64) -> Result<()> {
    let mut update = spending.prepare_cached(
        "UPDATE intent
         SET version = version + 1, token_hash = ?1, state = 'running', decide_by = ?2, run_by = ?3, boot = ?4,
             handed_over = 0, purged_at = NULL, is_awaited = 0, matters_until = ?5, touched_at = ?3, sealed = ?6
         WHERE id = ?7 AND version = 1 AND state = 'pending' AND digest = ?8",
    )?;
    let (id, at) = (id(number), AT + number);
    let changed = update.execute(params![
        digest(number, 3),
        at,
        at + 1,
        "boot_3030d0r1040g2081",
        i64::MAX,
        [0xcd_u8; SPENT],
        id,
        digest(number, 2)
    ])?;
    ensure!(changed == 1, "a yes was not spent");
    Ok(())
}

/// That the caller has one less that is open.
fn close(spending: &Transaction<'_>, number: i64) -> Result<()> {
    let mut close =
        spending.prepare_cached("UPDATE asked SET is_open = 0, denied_at = NULL WHERE intent = ?1")?;
    close.execute([id(number)])?;
    Ok(())
}

/// A row of the audit trail, with a body of that many letters.
fn append(changing: &Transaction<'_>, sequence: i64, number: i64, event: &str, body: usize) -> Result<()> {
    let mut append = changing.prepare_cached(
        "INSERT INTO audit (sequence, intent, event, body, hash) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    append.execute(params![sequence, id(number), event, "x".repeat(body), digest(sequence, 6)])?;
    Ok(())
}

/// What a commit has once: the sum of its changes, and where the trail ends.
fn end(changing: &Transaction<'_>, sequence: i64, what: &str, count: i64) -> Result<()> {
    let mut add = changing.prepare_cached(
        "INSERT INTO tally (org, day, what, who, took, count) VALUES ('local', 20775, ?1, '', -1, ?2)
         ON CONFLICT (org, day, what, who, took) DO UPDATE SET count = tally.count + excluded.count",
    )?;
    add.execute(params![what, count])?;
    let mut head = changing.prepare_cached("UPDATE head SET sequence = ?1, hash = ?2, time = ?3")?;
    ensure!(head.execute(params![sequence, digest(sequence, 6), AT])? == 1, "the trail has no end");
    Ok(())
}

/// Ids come one after the other, as those of the ledgers do here.
fn id(number: i64) -> String {
    format!("intent_{number:016x}")
}

/// Thirty-two bytes that look like a digest: those of the next number are nowhere near (SplitMix64).
fn digest(number: i64, kind: u64) -> [u8; 32] {
    let mut digest = [0; 32];
    let mut state = number.cast_unsigned().wrapping_mul(8).wrapping_add(kind);
    for part in digest.as_chunks_mut::<8>().0 {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        *part = (mixed ^ (mixed >> 31)).to_be_bytes();
    }
    digest
}

/// How many bytes a question has while it is open, and once its yes was spent.
const ASKED: usize = 1400;
const SPENT: usize = 1592;
/// A time of these days.
const AT: i64 = 1_790_000_000_000_000_000;
