-- What made schema 2 of schema 1, as it was released. Never change it.
CREATE TABLE pin_of_2 (
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
CREATE TABLE kept (
         name   TEXT PRIMARY KEY,
         sealed BLOB NOT NULL
     ) STRICT, WITHOUT ROWID;
PRAGMA user_version = 2;
