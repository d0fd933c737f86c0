//! Rows of questions that are over, as many as a ledger has after years. Nobody reads them again, so they say nothing.

use std::path::Path;

use anyhow::Result;
use rusqlite::Connection;
use yesgate_testkit::postgres::Database;

/// Puts so many audit rows, and the questions that they tell of, into a database.
pub(crate) fn fill_database(database: &Database, audit_rows: u64) {
    let (questions, zeros) = (audit_rows / ROWS_EACH, "decode(repeat('00', 32), 'hex')");
    database.psql(&format!(
        "INSERT INTO intent (id, version, slot, digest, token_hash, state, server, identity, decide_by, run_by, boot,
             handed_over, matters_until, org, touched_at, purged_at, is_awaited, sealed)
         SELECT 'old_' || md5(n::text), 4, decode(md5(n::text) || md5(n::text), 'hex'), {zeros}, NULL, 'done', 'files',
             {zeros}, n, n, NULL, 1, NULL, 'local', n, NULL, 0, decode(repeat('ab', 1400), 'hex')
         FROM generate_series(1, {questions}) AS n;
         INSERT INTO audit (sequence, intent, event, body, hash)
         SELECT (n - 1) * {ROWS_EACH} + m, 'old_' || md5(n::text), (ARRAY['opened', 'approved', 'redeemed', 'finished'])[m],
             repeat('x', 300), {zeros}
         FROM generate_series(1, {questions}) AS n, generate_series(1, {ROWS_EACH}) AS m;
         UPDATE head SET sequence = (SELECT max(sequence) FROM audit);"
    ));
    database.psql("VACUUM ANALYZE");
}

/// Puts the same into a file.
pub(crate) fn fill_file(at: &Path, audit_rows: u64) -> Result<()> {
    let questions = audit_rows / ROWS_EACH;
    let connection = Connection::open(at)?;
    connection.execute_batch(&format!(
        "BEGIN;
         CREATE TEMP TABLE n AS WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {questions})
             SELECT n, 'old_' || lower(hex(randomblob(16))) AS id FROM n;
         INSERT INTO intent (id, version, slot, digest, token_hash, state, server, identity, decide_by, run_by, boot,
             handed_over, matters_until, org, touched_at, purged_at, is_awaited, sealed)
         SELECT id, 4, randomblob(32), zeroblob(32), NULL, 'done', 'files', zeroblob(32), n, n, NULL, 1, NULL, 'local', n,
             NULL, 0, zeroblob(1400) FROM n;
         INSERT INTO audit (sequence, intent, event, body, hash)
         SELECT (n - 1) * {ROWS_EACH} + m.column1, id, m.column2, substr(hex(zeroblob(150)), 1, 300), zeroblob(32)
         FROM n, (VALUES (1, 'opened'), (2, 'approved'), (3, 'redeemed'), (4, 'finished')) AS m ORDER BY 1;
         UPDATE head SET sequence = (SELECT max(sequence) FROM audit);
         COMMIT;
         PRAGMA wal_checkpoint(TRUNCATE);"
    ))?;
    Ok(())
}

/// How many rows of the audit trail a question leaves.
const ROWS_EACH: u64 = 4;
