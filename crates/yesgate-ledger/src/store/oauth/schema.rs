//! The tables of clients, connections and what is under them, in their first form.

/// Secrets are hashes. The columns beside a body are there to be searched; where the body has the same, the columns count.
/// Connections are never removed, for the audit trail tells of them. `is_settled`: what was asked through one that has ended
/// was withdrawn.
pub(crate) const SCHEMA: &str = "
     CREATE TABLE client (
         number     INTEGER PRIMARY KEY,
         id         TEXT    NOT NULL UNIQUE,
         kind       TEXT    NOT NULL,
         body       TEXT    NOT NULL,
         created_at INTEGER NOT NULL,
         used_at    INTEGER NOT NULL,
         is_bound   INTEGER NOT NULL,
         ended_at   INTEGER
     ) STRICT;
     CREATE INDEX client_unbound ON client ((used_at > created_at), used_at)
         WHERE is_bound = 0 AND ended_at IS NULL AND kind <> 'operator';
     CREATE INDEX client_by_use ON client (used_at) WHERE is_bound = 1 AND kind <> 'operator';

     CREATE TABLE parked (
         hash    BLOB    PRIMARY KEY,
         client  TEXT    NOT NULL,
         body    TEXT    NOT NULL,
         made_at INTEGER NOT NULL
     ) STRICT, WITHOUT ROWID;
     CREATE INDEX parked_by_time ON parked (made_at);
     CREATE INDEX parked_by_client ON parked (client);

     CREATE TABLE connection (
         number     INTEGER PRIMARY KEY,
         id         TEXT    NOT NULL UNIQUE,
         person     TEXT    NOT NULL REFERENCES person (id),
         client     TEXT    NOT NULL,
         caller     BLOB    NOT NULL,
         org        TEXT    NOT NULL,
         body       TEXT    NOT NULL,
         used_at    INTEGER NOT NULL,
         used_from  TEXT,
         ended_at   INTEGER,
         why        TEXT,
         ended_by   TEXT,
         is_settled INTEGER NOT NULL DEFAULT 0
     ) STRICT;
     CREATE INDEX connection_by_person ON connection (person, client);
     CREATE INDEX connection_by_client ON connection (client) WHERE ended_at IS NULL;
     CREATE INDEX connection_by_caller ON connection (caller) WHERE ended_at IS NULL;
     CREATE INDEX connection_by_use ON connection (used_at) WHERE ended_at IS NULL;
     CREATE INDEX connection_unsettled ON connection (number) WHERE ended_at IS NOT NULL AND is_settled = 0;

     CREATE TABLE code (
         hash       BLOB    PRIMARY KEY,
         connection TEXT    NOT NULL REFERENCES connection (id),
         body       TEXT    NOT NULL,
         ends_at    INTEGER NOT NULL,
         used_at    INTEGER
     ) STRICT, WITHOUT ROWID;
     CREATE INDEX code_by_connection ON code (connection);
     CREATE INDEX code_by_time ON code (ends_at);

     CREATE TABLE access_token (
         hash       BLOB    PRIMARY KEY,
         connection TEXT    NOT NULL REFERENCES connection (id),
         scopes     TEXT    NOT NULL,
         resources  TEXT    NOT NULL,
         ends_at    INTEGER NOT NULL
     ) STRICT, WITHOUT ROWID;
     CREATE INDEX access_token_by_connection ON access_token (connection);
     CREATE INDEX access_token_by_time ON access_token (ends_at);

     CREATE TABLE refresh_token (
         hash           BLOB    PRIMARY KEY,
         connection     TEXT    NOT NULL REFERENCES connection (id),
         generation     INTEGER NOT NULL,
         ends_at        INTEGER NOT NULL,
         rotated_at     INTEGER,
         sealed         BLOB,
         successor_used INTEGER NOT NULL DEFAULT 0
     ) STRICT, WITHOUT ROWID;
     -- Whatever else happens, a connection has one chain of refresh tokens.
     CREATE UNIQUE INDEX refresh_token_chain ON refresh_token (connection, generation);
     CREATE INDEX refresh_token_by_time ON refresh_token (ends_at);

     CREATE TABLE device (
         hash       BLOB    PRIMARY KEY,
         user_hash  BLOB    NOT NULL UNIQUE,
         client     TEXT    NOT NULL,
         connection TEXT    REFERENCES connection (id),
         body       TEXT    NOT NULL,
         made_at    INTEGER NOT NULL
     ) STRICT, WITHOUT ROWID;
     CREATE INDEX device_by_time ON device (made_at);
     CREATE INDEX device_by_client ON device (client);
     CREATE INDEX device_by_connection ON device (connection) WHERE connection IS NOT NULL;
";
