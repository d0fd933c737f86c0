//! The tables, and how an older file comes to have them.

use rusqlite::{Connection, TransactionBehavior};

use super::contents::{self, Cleaning};
use super::fault::Fault;
use crate::error::LedgerError;
use crate::lock;
use crate::seal::Seal;
use crate::store::oauth;

/// Brings the file to our schema, whole or not at all. A ledger that is sealed under another key is refused
/// before anything of it changes.
pub(crate) fn migrate(connection: &mut Connection, seal: &Seal) -> Result<(), LedgerError> {
    step(connection, seal).map_err(LedgerError::from)
}

fn step(connection: &mut Connection, seal: &Seal) -> Result<(), Fault> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let known = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    if found > known {
        return Err(LedgerError::NewerSchema { found, known }.into());
    }
    if is_foreign(&transaction, found)? {
        return Err(LedgerError::NotALedger.into());
    }
    if found >= SEALED {
        lock::try_key(&*transaction, seal)?;
    }
    let done = usize::try_from(found).unwrap_or_default();
    for (schema, migration) in (1..).zip(MIGRATIONS).skip(done) {
        transaction.execute_batch(migration)?;
        if schema == SEALED {
            let cleaning = if found == 0 { Cleaning::NotNeeded } else { Cleaning::Needed };
            contents::seal_all(&transaction, seal, cleaning)?;
        }
    }
    if found < known {
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", known)?;
    }
    transaction.commit()?;
    Ok(())
}

/// Whether the file holds somebody else's tables.
fn is_foreign(connection: &Connection, version: i64) -> Result<bool, Fault> {
    let application: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if application == APPLICATION_ID {
        return Ok(false);
    }
    let objects: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(application != 0 || version != 0 || objects != 0)
}

/// "YESG", so that nobody's photo library becomes a ledger.
const APPLICATION_ID: i64 = 0x5945_5347;

/// From this schema on, contents are sealed.
pub(crate) const SEALED: i64 = 8;

/// The n-th one makes schema n of schema n - 1. Never change one that was released.
const MIGRATIONS: [&str; 12] = [
    // Times are nanoseconds since 1970. The columns of `intent` are there to be searched; the body
    // is the intent. `matters_until` says how long an intent is part of its slot.
    "CREATE TABLE intent (
         number        INTEGER PRIMARY KEY,
         id            TEXT    NOT NULL UNIQUE,
         version       INTEGER NOT NULL,
         slot          BLOB    NOT NULL,
         digest        BLOB    NOT NULL,
         token_hash    BLOB,
         state         TEXT    NOT NULL,
         server        TEXT    NOT NULL,
         identity      BLOB    NOT NULL,
         decide_by     INTEGER NOT NULL,
         run_by        INTEGER,
         boot          TEXT,
         handed_over   INTEGER NOT NULL,
         matters_until INTEGER,
         body          TEXT    NOT NULL
     ) STRICT;
     CREATE UNIQUE INDEX intent_by_token ON intent (token_hash) WHERE token_hash IS NOT NULL;
     CREATE INDEX intent_by_slot ON intent (slot, matters_until) WHERE matters_until IS NOT NULL;
     CREATE INDEX intent_by_state ON intent (state);
     CREATE INDEX intent_pending_until ON intent (decide_by) WHERE state = 'pending';
     CREATE INDEX intent_approved_until ON intent (run_by) WHERE state = 'approved';

     CREATE TABLE audit (
         sequence INTEGER PRIMARY KEY,
         intent   TEXT REFERENCES intent (id),
         event    TEXT NOT NULL,
         body     TEXT NOT NULL,
         hash     BLOB NOT NULL
     ) STRICT;
     -- At most once, for ever: even an intent that was set back by hand finds its first redemption.
     CREATE UNIQUE INDEX audit_one_redemption ON audit (intent) WHERE event = 'redeemed';
     CREATE TRIGGER audit_is_not_rewritten BEFORE UPDATE ON audit
         BEGIN SELECT raise(ABORT, 'the audit trail is not rewritten'); END;
     CREATE TRIGGER audit_is_not_shortened BEFORE DELETE ON audit
         BEGIN SELECT raise(ABORT, 'the audit trail is not shortened'); END;

     CREATE TABLE pin (
         server     TEXT NOT NULL,
         tool       TEXT NOT NULL,
         definition BLOB NOT NULL,
         class      TEXT NOT NULL,
         PRIMARY KEY (server, tool)
     ) STRICT, WITHOUT ROWID;

     -- The end of the audit trail, and the latest time that was ever written down.
     CREATE TABLE head (
         only     INTEGER PRIMARY KEY CHECK (only = 1),
         sequence INTEGER NOT NULL,
         hash     BLOB    NOT NULL,
         time     INTEGER NOT NULL
     ) STRICT;
     INSERT INTO head (only, sequence, hash, time) VALUES (1, 0, zeroblob(32), 0);",
    // A pin without a class is a definition that was accepted as it is. Servers that were reviewed
    // under schema 1 are not in use yet: their next list of tools is their first.
    "CREATE TABLE pin_of_2 (
         server     TEXT NOT NULL,
         tool       TEXT NOT NULL,
         definition BLOB NOT NULL,
         class      TEXT,
         PRIMARY KEY (server, tool)
     ) STRICT, WITHOUT ROWID;
     INSERT INTO pin_of_2 SELECT server, tool, definition, class FROM pin;
     DROP TABLE pin;
     ALTER TABLE pin_of_2 RENAME TO pin;

     CREATE TABLE server_in_use (server TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;

     CREATE TABLE bearer_key (
         id         TEXT    PRIMARY KEY,
         hash       BLOB    NOT NULL UNIQUE,
         name       TEXT    NOT NULL,
         org        TEXT    NOT NULL,
         principal  TEXT    NOT NULL,
         client     TEXT    NOT NULL,
         created_at INTEGER NOT NULL,
         revoked_at INTEGER
     ) STRICT, WITHOUT ROWID;

     -- Sealed by whoever keeps them.
     CREATE TABLE kept (
         name   TEXT PRIMARY KEY,
         sealed BLOB NOT NULL
     ) STRICT, WITHOUT ROWID;",
    // The last word of humans about a caller, or about all of them.
    "CREATE TABLE regime (
         kind  TEXT NOT NULL,
         name  TEXT NOT NULL,
         words TEXT NOT NULL,
         PRIMARY KEY (kind, name)
     ) STRICT, WITHOUT ROWID;",
    // What counts in budgets. The amount is its exact text; no database adds it up.
    "CREATE TABLE spend (
         intent    TEXT    NOT NULL REFERENCES intent (id),
         budget    TEXT    NOT NULL,
         org       TEXT    NOT NULL,
         principal TEXT    NOT NULL,
         currency  TEXT,
         recipient BLOB,
         amount    TEXT    NOT NULL,
         at        INTEGER NOT NULL,
         PRIMARY KEY (intent, budget)
     ) STRICT, WITHOUT ROWID;
     CREATE INDEX spend_by_budget ON spend (budget, at);",
    // Yeses that humans had remembered. The body never changes; a use is one conditional write.
    "CREATE TABLE remembered (
         number     INTEGER PRIMARY KEY,
         id         TEXT    NOT NULL UNIQUE,
         slot       BLOB    NOT NULL,
         server     TEXT    NOT NULL,
         body       TEXT    NOT NULL,
         uses       INTEGER,
         used       INTEGER NOT NULL CHECK (uses IS NULL OR used <= uses),
         revoked_at INTEGER
     ) STRICT;
     CREATE INDEX remembered_by_slot ON remembered (slot) WHERE revoked_at IS NULL;
     CREATE INDEX remembered_by_server ON remembered (server) WHERE revoked_at IS NULL;",
    // What callers have asked lately, and when a human last lifted what their noes had led to.
    "CREATE TABLE asked (
         intent    TEXT    PRIMARY KEY,
         caller    BLOB    NOT NULL,
         asked_at  INTEGER NOT NULL,
         is_open   INTEGER NOT NULL,
         denied_at INTEGER
     ) STRICT, WITHOUT ROWID;
     CREATE INDEX asked_by_caller ON asked (caller, asked_at);
     CREATE INDEX asked_and_denied ON asked (caller, denied_at) WHERE denied_at IS NOT NULL;
     CREATE INDEX asked_and_open ON asked (caller) WHERE is_open = 1;

     CREATE TABLE lifted (
         caller BLOB PRIMARY KEY,
         at     INTEGER NOT NULL
     ) STRICT, WITHOUT ROWID;",
    // People who decide, what lets them in and what they hold then; secrets as their hashes. Whose a question is can
    // be searched: people see those of their own organisation.
    "CREATE TABLE person (
         number INTEGER PRIMARY KEY,
         id     TEXT NOT NULL UNIQUE,
         body   TEXT NOT NULL
     ) STRICT;

     CREATE TABLE link (
         hash     BLOB    PRIMARY KEY,
         person   TEXT    NOT NULL REFERENCES person (id),
         way      TEXT    NOT NULL,
         made_at  INTEGER NOT NULL,
         ends_at  INTEGER NOT NULL,
         spent_at INTEGER,
         browser  BLOB
     ) STRICT, WITHOUT ROWID;

     CREATE TABLE session (
         id       TEXT    PRIMARY KEY,
         hash     BLOB    NOT NULL UNIQUE,
         person   TEXT    NOT NULL REFERENCES person (id),
         way      TEXT    NOT NULL,
         begun_at INTEGER NOT NULL,
         seen_at  INTEGER NOT NULL,
         browser  TEXT    NOT NULL,
         ended_at INTEGER
     ) STRICT, WITHOUT ROWID;

     -- Sealed by whoever enrolled them.
     CREATE TABLE credential (
         id         TEXT    PRIMARY KEY,
         person     TEXT    NOT NULL REFERENCES person (id),
         sealed     TEXT    NOT NULL,
         created_at INTEGER NOT NULL,
         revoked_at INTEGER
     ) STRICT, WITHOUT ROWID;

     ALTER TABLE intent ADD COLUMN org TEXT NOT NULL DEFAULT '';
     UPDATE intent SET org = json_extract(body, '$.question.binding.caller.org');
     CREATE INDEX intent_by_org ON intent (org, state, number);",
    // Contents are sealed: what stood in `body` is moved by `contents::seal_all`, which drops that column.
    // `touched_at` is when something last happened to the question, `purged_at` when its contents went.
    "ALTER TABLE intent ADD COLUMN sealed BLOB NOT NULL DEFAULT x'';
     ALTER TABLE intent ADD COLUMN touched_at INTEGER NOT NULL DEFAULT 0;
     ALTER TABLE intent ADD COLUMN purged_at INTEGER;
     ALTER TABLE intent ADD COLUMN is_awaited INTEGER NOT NULL DEFAULT 0;
     UPDATE intent SET is_awaited = 1 WHERE json_valid(body) AND body ->> '$.awaited' = 'yes';
     CREATE INDEX intent_to_purge ON intent (touched_at)
         WHERE purged_at IS NULL AND state NOT IN ('pending', 'approved', 'running', 'unknown');
     ALTER TABLE remembered ADD COLUMN sealed BLOB NOT NULL DEFAULT x'';

     -- Which key everything is sealed under, and whether all pages were written since.
     CREATE TABLE lock (
         only     INTEGER PRIMARY KEY CHECK (only = 1),
         key      TEXT    NOT NULL,
         sealed   BLOB    NOT NULL,
         is_clean INTEGER NOT NULL
     ) STRICT;",
    // How many questions each day had, and how they were decided; counted from here on.
    "CREATE TABLE tally (
         org   TEXT    NOT NULL,
         day   INTEGER NOT NULL,
         what  TEXT    NOT NULL,
         who   TEXT    NOT NULL,
         took  INTEGER NOT NULL,
         count INTEGER NOT NULL,
         PRIMARY KEY (org, day, what, who, took)
     ) STRICT, WITHOUT ROWID;
     -- What is over, from the newest on, however much waits.
     CREATE INDEX intent_over ON intent (org, number)
         WHERE state NOT IN ('pending', 'approved', 'running', 'unknown');",
    // Clients that people connect, what they were allowed, and the tokens under that; secrets as their hashes.
    oauth::schema::SCHEMA,
    // From where clients came that nobody has allowed anything, and how many of those there are: under '' of everybody, and
    // of each address. The database keeps count, so that nobody has to.
    "ALTER TABLE client ADD COLUMN origin TEXT;
     CREATE INDEX client_unbound_there ON client (origin, (used_at > created_at), used_at)
         WHERE is_bound = 0 AND ended_at IS NULL AND kind <> 'operator';
     CREATE TABLE unbound (
         origin  TEXT    PRIMARY KEY,
         clients INTEGER NOT NULL
     ) STRICT, WITHOUT ROWID;
     INSERT INTO unbound (origin, clients)
         SELECT '', count(*) FROM client WHERE is_bound = 0 AND ended_at IS NULL AND kind <> 'operator';

     CREATE TRIGGER client_is_counted AFTER INSERT ON client
         WHEN new.is_bound = 0 AND new.ended_at IS NULL AND new.kind <> 'operator'
         BEGIN
             INSERT INTO unbound (origin, clients) SELECT '', 1 WHERE true
                 ON CONFLICT (origin) DO UPDATE SET clients = clients + 1;
             INSERT INTO unbound (origin, clients) SELECT new.origin, 1 WHERE new.origin IS NOT NULL
                 ON CONFLICT (origin) DO UPDATE SET clients = clients + 1;
         END;
     CREATE TRIGGER client_is_discounted AFTER DELETE ON client
         WHEN old.is_bound = 0 AND old.ended_at IS NULL AND old.kind <> 'operator'
         BEGIN
             UPDATE unbound SET clients = clients - 1 WHERE origin IN ('', old.origin);
             DELETE FROM unbound WHERE origin = old.origin AND clients < 1;
         END;
     CREATE TRIGGER client_is_counted_anew AFTER UPDATE OF kind, is_bound, ended_at, origin ON client
         BEGIN
             UPDATE unbound SET clients = clients - 1
                 WHERE old.is_bound = 0 AND old.ended_at IS NULL AND old.kind <> 'operator'
                 AND origin IN ('', old.origin);
             INSERT INTO unbound (origin, clients)
                 SELECT '', 1 WHERE new.is_bound = 0 AND new.ended_at IS NULL AND new.kind <> 'operator'
                 ON CONFLICT (origin) DO UPDATE SET clients = clients + 1;
             INSERT INTO unbound (origin, clients)
                 SELECT new.origin, 1 WHERE new.is_bound = 0 AND new.ended_at IS NULL AND new.kind <> 'operator'
                 AND new.origin IS NOT NULL
                 ON CONFLICT (origin) DO UPDATE SET clients = clients + 1;
             DELETE FROM unbound WHERE origin = old.origin AND clients < 1;
         END;",
    // Where the trail begins once its first rows were taken out, and what stands in their place: rows that still matter
    // (`whole`: the question that they belong to was not settled), and of each question whether it was redeemed and, once
    // settled, what its rows made of it.
    "CREATE TABLE beginning (
         only     INTEGER PRIMARY KEY CHECK (only = 1),
         sequence INTEGER NOT NULL,
         hash     BLOB    NOT NULL,
         signed   TEXT    NOT NULL,
         sealed   BLOB    NOT NULL
     ) STRICT;
     CREATE TABLE carried (
         sequence INTEGER PRIMARY KEY,
         whole    INTEGER NOT NULL,
         body     TEXT    NOT NULL
     ) STRICT;
     CREATE TABLE past (
         intent   TEXT    PRIMARY KEY,
         redeemed INTEGER NOT NULL,
         told     BLOB
     ) STRICT, WITHOUT ROWID;
     DROP TRIGGER IF EXISTS audit_is_not_shortened;
     CREATE TRIGGER audit_is_not_shortened BEFORE DELETE ON audit
         WHEN old.sequence > coalesce((SELECT sequence FROM beginning), 0)
         BEGIN SELECT raise(ABORT, 'the audit trail is not shortened'); END;
     -- At most once, for ever: also where the row of the first time was taken out.
     CREATE TRIGGER audit_redeems_once BEFORE INSERT ON audit
         WHEN new.event = 'redeemed' AND EXISTS (SELECT 1 FROM past WHERE intent = new.intent AND redeemed = 1)
         BEGIN SELECT raise(ABORT, 'it was redeemed before'); END;
     CREATE TRIGGER past_stays BEFORE DELETE ON past
         BEGIN SELECT raise(ABORT, 'what was redeemed stays redeemed'); END;
     CREATE TRIGGER past_is_not_undone BEFORE UPDATE ON past WHEN new.redeemed < old.redeemed
         BEGIN SELECT raise(ABORT, 'what was redeemed stays redeemed'); END;
     CREATE TRIGGER beginning_stays BEFORE DELETE ON beginning
         BEGIN SELECT raise(ABORT, 'the beginning of the audit trail stays'); END;
     CREATE TRIGGER beginning_goes_on BEFORE UPDATE ON beginning WHEN new.sequence <= old.sequence
         BEGIN SELECT raise(ABORT, 'the beginning of the audit trail goes on only'); END;",
];
