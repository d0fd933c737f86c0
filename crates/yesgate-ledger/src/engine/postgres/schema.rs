//! The tables on PostgreSQL, and how an older database comes to have them.
//!
//! INVARIANT: one node at a time brings the schema, whole or not at all. A node that does not know a schema does not
//! touch it.

use super::connection::PgConnection;
use crate::engine::Sql;
use crate::engine::value::values;
use crate::error::LedgerError;
use crate::lock;
use crate::seal::Seal;
use crate::store::oauth;

/// Brings the database to our schema, whole or not at all. A ledger that is sealed under another key is refused before
/// anything of it changes.
pub(crate) fn migrate(connection: &PgConnection, seal: &Seal) -> Result<(), LedgerError> {
    connection.batch("BEGIN ISOLATION LEVEL READ COMMITTED")?;
    let migrated = step(connection, seal).and_then(|()| {
        connection.take_notice();
        connection.commit()
    });
    if migrated.is_err() {
        connection.batch("ROLLBACK").ok();
        connection.take_notice();
    }
    migrated
}

/// Looks whether the database is the ledger that it was: after a lost connection another one may answer.
pub(crate) fn check(connection: &PgConnection, seal: &Seal) -> Result<(), LedgerError> {
    match found(connection)? {
        Some(found) if found == known() => lock::try_key(connection, seal),
        Some(found) if found > known() => Err(LedgerError::NewerSchema { found, known: known() }),
        Some(_) | None => Err(LedgerError::NotALedger),
    }
}

fn step(postgres: &PgConnection, seal: &Seal) -> Result<(), LedgerError> {
    let connection: &dyn Sql = postgres;
    // Whoever comes second finds the work of the first.
    connection.first("SELECT pg_advisory_xact_lock(?1)", values![LOCK])?;
    let found = found(connection)?;
    if found.is_some_and(|found| found > known()) {
        return Err(LedgerError::NewerSchema { found: found.unwrap_or_default(), known: known() });
    }
    if found.is_none() && is_there(connection, "intent")? {
        return Err(LedgerError::NotALedger);
    }
    if found.is_some() {
        lock::try_key(connection, seal)?;
    }
    let done = usize::try_from(found.unwrap_or_default()).unwrap_or_default();
    for migration in MIGRATIONS.iter().skip(done) {
        match migration {
            Migration::Own(tables) => postgres.batch(tables)?,
            Migration::Shared(tables) => postgres.batch(&translated(tables))?,
        }
    }
    match found {
        None => {
            lock::put_key(connection, seal, true)?;
            connection.put("INSERT INTO yesgate_schema (version) VALUES (?1)", values![known()])?;
        }
        Some(found) if found < known() => {
            connection.put("UPDATE yesgate_schema SET version = ?1", values![known()])?;
        }
        Some(_) => {}
    }
    postgres.settle()
}

/// The schema of the database. `None`: it has none of ours.
fn found(connection: &dyn Sql) -> Result<Option<i64>, LedgerError> {
    if is_there(connection, "yesgate_schema")? {
        connection.number("SELECT version FROM yesgate_schema", &[]).map(Some)
    } else {
        Ok(None)
    }
}

fn is_there(connection: &dyn Sql, table: &str) -> Result<bool, LedgerError> {
    let there = connection.number("SELECT (to_regclass(?1) IS NOT NULL)::int", values![table])?;
    Ok(there != 0)
}

/// The newest schema that this program knows.
pub(super) fn known() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// Tables to make.
enum Migration {
    /// As PostgreSQL says it.
    Own(&'static str),
    /// As SQLite says it.
    Shared(&'static str),
}

/// The same tables with PostgreSQL's names of types. Texts are compared byte by byte.
fn translated(tables: &str) -> String {
    tables
        .replace("INTEGER PRIMARY KEY", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY")
        .replace("INTEGER", "BIGINT")
        .replace("BLOB", "BYTEA")
        .replace("TEXT", "TEXT COLLATE \"C\"")
        .replace(" STRICT, WITHOUT ROWID;", ";")
        .replace(" STRICT;", ";")
}

/// The number that nodes agree upon for bringing the schema: "YESG".
const LOCK: i64 = 0x5945_5347;

/// The n-th one makes schema n of schema n - 1. Never change one that was released.
const MIGRATIONS: [Migration; 6] = [
    // As SQLite has it at its schema 9, with the same columns in the same meaning. Texts are compared byte by byte.
    Migration::Own("CREATE TABLE yesgate_schema (
         single  BOOLEAN PRIMARY KEY DEFAULT true CHECK (single),
         version BIGINT  NOT NULL
     );

     CREATE TABLE intent (
         number        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
         id            TEXT COLLATE \"C\" NOT NULL UNIQUE,
         version       BIGINT NOT NULL,
         slot          BYTEA  NOT NULL,
         digest        BYTEA  NOT NULL,
         token_hash    BYTEA,
         state         TEXT COLLATE \"C\" NOT NULL,
         server        TEXT COLLATE \"C\" NOT NULL,
         identity      BYTEA  NOT NULL,
         decide_by     BIGINT NOT NULL,
         run_by        BIGINT,
         boot          TEXT COLLATE \"C\",
         handed_over   BIGINT NOT NULL,
         matters_until BIGINT,
         org           TEXT COLLATE \"C\" NOT NULL,
         touched_at    BIGINT NOT NULL,
         purged_at     BIGINT,
         is_awaited    BIGINT NOT NULL,
         sealed        BYTEA  NOT NULL
     );
     CREATE UNIQUE INDEX intent_by_token ON intent (token_hash) WHERE token_hash IS NOT NULL;
     CREATE INDEX intent_by_slot ON intent (slot, matters_until) WHERE matters_until IS NOT NULL;
     CREATE INDEX intent_by_state ON intent (state)
         WHERE state IN ('pending', 'approved', 'running', 'unknown');
     CREATE INDEX intent_pending_until ON intent (decide_by) WHERE state = 'pending';
     CREATE INDEX intent_approved_until ON intent (run_by) WHERE state = 'approved';
     CREATE INDEX intent_by_org ON intent (org, state, number);
     CREATE INDEX intent_over ON intent (org, number)
         WHERE state NOT IN ('pending', 'approved', 'running', 'unknown');
     CREATE INDEX intent_to_purge ON intent (touched_at)
         WHERE purged_at IS NULL AND state NOT IN ('pending', 'approved', 'running', 'unknown');

     CREATE TABLE audit (
         sequence BIGINT PRIMARY KEY,
         intent   TEXT COLLATE \"C\" REFERENCES intent (id),
         event    TEXT COLLATE \"C\" NOT NULL,
         body     TEXT COLLATE \"C\" NOT NULL,
         hash     BYTEA NOT NULL
     );
     -- At most once, for ever: even an intent that was set back by hand finds its first redemption.
     CREATE UNIQUE INDEX audit_one_redemption ON audit (intent) WHERE event = 'redeemed';
     CREATE FUNCTION audit_stays() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE EXCEPTION 'the audit trail is neither rewritten nor shortened'; END $$;
     CREATE TRIGGER audit_is_not_rewritten BEFORE UPDATE ON audit
         FOR EACH ROW EXECUTE FUNCTION audit_stays();
     CREATE TRIGGER audit_is_not_shortened BEFORE DELETE ON audit
         FOR EACH ROW EXECUTE FUNCTION audit_stays();
     CREATE TRIGGER audit_is_not_emptied BEFORE TRUNCATE ON audit
         FOR EACH STATEMENT EXECUTE FUNCTION audit_stays();

     -- The end of the audit trail, and the latest time that was ever written down. Whoever changes anything holds it.
     CREATE TABLE head (
         single   BOOLEAN PRIMARY KEY DEFAULT true CHECK (single),
         sequence BIGINT NOT NULL,
         hash     BYTEA  NOT NULL,
         time     BIGINT NOT NULL
     ) WITH (fillfactor = 10);
     INSERT INTO head (sequence, hash, time) VALUES (0, decode(repeat('00', 32), 'hex'), 0);

     -- Which key everything is sealed under.
     CREATE TABLE lock (
         single   BOOLEAN PRIMARY KEY DEFAULT true CHECK (single),
         key      TEXT COLLATE \"C\" NOT NULL,
         sealed   BYTEA  NOT NULL,
         is_clean BIGINT NOT NULL
     );

     -- Nodes that others see alive.
     CREATE TABLE node (
         boot    TEXT COLLATE \"C\" PRIMARY KEY,
         lock    BIGINT NOT NULL,
         seen_at BIGINT NOT NULL
     );

     CREATE TABLE pin (
         server     TEXT COLLATE \"C\" NOT NULL,
         tool       TEXT COLLATE \"C\" NOT NULL,
         definition BYTEA NOT NULL,
         class      TEXT COLLATE \"C\",
         PRIMARY KEY (server, tool)
     );

     CREATE TABLE server_in_use (server TEXT COLLATE \"C\" PRIMARY KEY);

     CREATE TABLE bearer_key (
         id         TEXT COLLATE \"C\" PRIMARY KEY,
         hash       BYTEA NOT NULL UNIQUE,
         name       TEXT COLLATE \"C\" NOT NULL,
         org        TEXT COLLATE \"C\" NOT NULL,
         principal  TEXT COLLATE \"C\" NOT NULL,
         client     TEXT COLLATE \"C\" NOT NULL,
         created_at BIGINT NOT NULL,
         revoked_at BIGINT
     );

     CREATE TABLE kept (
         name   TEXT COLLATE \"C\" PRIMARY KEY,
         sealed BYTEA NOT NULL
     );

     CREATE TABLE regime (
         kind  TEXT COLLATE \"C\" NOT NULL,
         name  TEXT COLLATE \"C\" NOT NULL,
         words TEXT COLLATE \"C\" NOT NULL,
         PRIMARY KEY (kind, name)
     );

     CREATE TABLE spend (
         intent    TEXT COLLATE \"C\" NOT NULL REFERENCES intent (id),
         budget    TEXT COLLATE \"C\" NOT NULL,
         org       TEXT COLLATE \"C\" NOT NULL,
         principal TEXT COLLATE \"C\" NOT NULL,
         currency  TEXT COLLATE \"C\",
         recipient BYTEA,
         amount    TEXT COLLATE \"C\" NOT NULL,
         at        BIGINT NOT NULL,
         PRIMARY KEY (intent, budget)
     );
     CREATE INDEX spend_by_budget ON spend (budget, at);

     CREATE TABLE remembered (
         number     BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
         id         TEXT COLLATE \"C\" NOT NULL UNIQUE,
         slot       BYTEA  NOT NULL,
         server     TEXT COLLATE \"C\" NOT NULL,
         sealed     BYTEA  NOT NULL,
         uses       BIGINT,
         used       BIGINT NOT NULL CHECK (uses IS NULL OR used <= uses),
         revoked_at BIGINT
     );
     CREATE INDEX remembered_by_slot ON remembered (slot) WHERE revoked_at IS NULL;
     CREATE INDEX remembered_by_server ON remembered (server) WHERE revoked_at IS NULL;

     CREATE TABLE asked (
         intent    TEXT COLLATE \"C\" PRIMARY KEY,
         caller    BYTEA  NOT NULL,
         asked_at  BIGINT NOT NULL,
         is_open   BIGINT NOT NULL,
         denied_at BIGINT
     );
     CREATE INDEX asked_by_caller ON asked (caller, asked_at);
     CREATE INDEX asked_and_denied ON asked (caller, denied_at) WHERE denied_at IS NOT NULL;
     CREATE INDEX asked_and_open ON asked (caller) WHERE is_open = 1;

     CREATE TABLE lifted (
         caller BYTEA PRIMARY KEY,
         at     BIGINT NOT NULL
     );

     CREATE TABLE person (
         number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
         id     TEXT COLLATE \"C\" NOT NULL UNIQUE,
         body   TEXT COLLATE \"C\" NOT NULL
     );

     CREATE TABLE link (
         hash     BYTEA PRIMARY KEY,
         person   TEXT COLLATE \"C\" NOT NULL REFERENCES person (id),
         way      TEXT COLLATE \"C\" NOT NULL,
         made_at  BIGINT NOT NULL,
         ends_at  BIGINT NOT NULL,
         spent_at BIGINT,
         browser  BYTEA
     );

     CREATE TABLE session (
         id       TEXT COLLATE \"C\" PRIMARY KEY,
         hash     BYTEA  NOT NULL UNIQUE,
         person   TEXT COLLATE \"C\" NOT NULL REFERENCES person (id),
         way      TEXT COLLATE \"C\" NOT NULL,
         begun_at BIGINT NOT NULL,
         seen_at  BIGINT NOT NULL,
         browser  TEXT COLLATE \"C\" NOT NULL,
         ended_at BIGINT
     );

     CREATE TABLE credential (
         id         TEXT COLLATE \"C\" PRIMARY KEY,
         person     TEXT COLLATE \"C\" NOT NULL REFERENCES person (id),
         sealed     TEXT COLLATE \"C\" NOT NULL,
         created_at BIGINT NOT NULL,
         revoked_at BIGINT
     );

     CREATE TABLE tally (
         org   TEXT COLLATE \"C\" NOT NULL,
         day   BIGINT NOT NULL,
         what  TEXT COLLATE \"C\" NOT NULL,
         who   TEXT COLLATE \"C\" NOT NULL,
         took  BIGINT NOT NULL,
         count BIGINT NOT NULL,
         PRIMARY KEY (org, day, what, who, took)
     );"),
    // Clients that people connect, what they were allowed, and the tokens under that; secrets as their hashes.
    Migration::Shared(oauth::schema::SCHEMA),
    // From where clients came that nobody has allowed anything, and how many of those there are: under '' of everybody, and
    // of each address. The database keeps count, so that nobody has to.
    Migration::Own("ALTER TABLE client ADD COLUMN origin TEXT COLLATE \"C\";
     CREATE INDEX client_unbound_there ON client (origin, (used_at > created_at), used_at)
         WHERE is_bound = 0 AND ended_at IS NULL AND kind <> 'operator';
     CREATE TABLE unbound (
         origin  TEXT COLLATE \"C\" PRIMARY KEY,
         clients BIGINT NOT NULL
     ) WITH (fillfactor = 50);
     INSERT INTO unbound (origin, clients)
         SELECT '', count(*) FROM client WHERE is_bound = 0 AND ended_at IS NULL AND kind <> 'operator';

     CREATE FUNCTION count_clients() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         IF TG_OP <> 'INSERT' THEN
             IF OLD.is_bound = 0 AND OLD.ended_at IS NULL AND OLD.kind <> 'operator' THEN
                 UPDATE unbound SET clients = clients - 1 WHERE origin IN ('', OLD.origin);
             END IF;
         END IF;
         IF TG_OP <> 'DELETE' THEN
             IF NEW.is_bound = 0 AND NEW.ended_at IS NULL AND NEW.kind <> 'operator' THEN
                 INSERT INTO unbound (origin, clients) VALUES ('', 1)
                     ON CONFLICT (origin) DO UPDATE SET clients = unbound.clients + 1;
                 INSERT INTO unbound (origin, clients) SELECT NEW.origin, 1 WHERE NEW.origin IS NOT NULL
                     ON CONFLICT (origin) DO UPDATE SET clients = unbound.clients + 1;
             END IF;
         END IF;
         IF TG_OP <> 'INSERT' THEN
             DELETE FROM unbound WHERE origin = OLD.origin AND clients < 1;
         END IF;
         RETURN NULL;
     END $$;
     CREATE TRIGGER client_is_counted AFTER INSERT OR DELETE OR UPDATE OF kind, is_bound, ended_at, origin ON client
         FOR EACH ROW EXECUTE FUNCTION count_clients();"),
    // Which history of which database wrote last, and whether its commits were certain to have copies.
    Migration::Own(
        "CREATE TABLE origin (
         single   BOOLEAN PRIMARY KEY DEFAULT true CHECK (single),
         system   TEXT COLLATE \"C\" NOT NULL,
         timeline BIGINT NOT NULL,
         copies   BIGINT NOT NULL
     );",
    ),
    // Where the trail begins once its first rows were taken out, and what stands in their place, as in SQLite's schema 12.
    Migration::Own(
        "CREATE TABLE beginning (
         single   BOOLEAN PRIMARY KEY DEFAULT true CHECK (single),
         sequence BIGINT NOT NULL,
         hash     BYTEA  NOT NULL,
         signed   TEXT COLLATE \"C\" NOT NULL,
         sealed   BYTEA  NOT NULL
     );
     CREATE TABLE carried (
         sequence BIGINT PRIMARY KEY,
         whole    BIGINT NOT NULL,
         body     TEXT COLLATE \"C\" NOT NULL
     );
     CREATE TABLE past (
         intent   TEXT COLLATE \"C\" PRIMARY KEY,
         redeemed BIGINT NOT NULL,
         told     BYTEA
     );
     CREATE FUNCTION audit_is_kept() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN
             IF OLD.sequence > coalesce((SELECT sequence FROM beginning), 0) THEN
                 RAISE EXCEPTION 'the audit trail is neither rewritten nor shortened';
             END IF;
             RETURN OLD;
         END $$;
     DROP TRIGGER IF EXISTS audit_is_not_shortened ON audit;
     CREATE TRIGGER audit_is_not_shortened BEFORE DELETE ON audit
         FOR EACH ROW EXECUTE FUNCTION audit_is_kept();
     -- At most once, for ever: also where the row of the first time was taken out.
     CREATE FUNCTION audit_was_redeemed() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN
             IF EXISTS (SELECT 1 FROM past WHERE intent = NEW.intent AND redeemed = 1) THEN
                 RAISE EXCEPTION 'it was redeemed before';
             END IF;
             RETURN NEW;
         END $$;
     CREATE TRIGGER audit_redeems_once BEFORE INSERT ON audit
         FOR EACH ROW WHEN (NEW.event = 'redeemed') EXECUTE FUNCTION audit_was_redeemed();
     CREATE FUNCTION past_is_kept() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE EXCEPTION 'what was redeemed stays redeemed'; END $$;
     CREATE TRIGGER past_stays BEFORE DELETE ON past
         FOR EACH ROW EXECUTE FUNCTION past_is_kept();
     CREATE TRIGGER past_is_not_undone BEFORE UPDATE ON past
         FOR EACH ROW WHEN (NEW.redeemed < OLD.redeemed) EXECUTE FUNCTION past_is_kept();
     CREATE TRIGGER past_is_not_emptied BEFORE TRUNCATE ON past
         FOR EACH STATEMENT EXECUTE FUNCTION past_is_kept();
     CREATE FUNCTION beginning_is_kept() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE EXCEPTION 'the beginning of the audit trail goes on only'; END $$;
     CREATE TRIGGER beginning_stays BEFORE DELETE ON beginning
         FOR EACH ROW EXECUTE FUNCTION beginning_is_kept();
     CREATE TRIGGER beginning_goes_on BEFORE UPDATE ON beginning
         FOR EACH ROW WHEN (NEW.sequence <= OLD.sequence) EXECUTE FUNCTION beginning_is_kept();",
    ),
    // Rows name questions that are there: the one who writes both sees to it, and `audit verify` looks. To have the database look
    // as well, row by row, was a third of what a yes costs here; that questions are not removed is kept at no cost.
    Migration::Own(
        "ALTER TABLE audit DROP CONSTRAINT audit_intent_fkey;
     CREATE FUNCTION intent_is_kept() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE EXCEPTION 'questions are not removed'; END $$;
     CREATE TRIGGER intent_stays BEFORE DELETE ON intent
         FOR EACH STATEMENT EXECUTE FUNCTION intent_is_kept();
     CREATE TRIGGER intent_is_not_emptied BEFORE TRUNCATE ON intent
         FOR EACH STATEMENT EXECUTE FUNCTION intent_is_kept();",
    ),
];
