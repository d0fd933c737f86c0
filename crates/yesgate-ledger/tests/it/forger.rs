//! Somebody who has the key and may write the file: what the seal does not stop, the audit trail has to find.

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use rusqlite::{Connection, params};

use crate::support::{At, Place, key};

impl Place {
    /// Opens every body of a table, changes it, and seals it again.
    pub(crate) fn forge(&self, table: &str, change: impl Fn(&str) -> String) {
        let sealed = |id: &str, body: &str| seal(table, id, change(body).as_bytes());
        if let At::Database(_) = self.at {
            return self.forge_in_database(table, sealed);
        }
        let connection = Connection::open(self.path()).unwrap();
        for (id, body) in bodies(&connection, table) {
            connection
                .execute(
                    &format!("UPDATE {table} SET sealed = ?2 WHERE id = ?1"),
                    params![id, sealed(&id, &body)],
                )
                .unwrap();
        }
    }

    fn forge_in_database(&self, table: &str, sealed: impl Fn(&str, &str) -> Vec<u8>) {
        let rows = self
            .database(|database| database.psql(&format!("SELECT id, encode(sealed, 'hex') FROM {table}")));
        for (id, hex) in rows.lines().map(|row| row.split_once('|').unwrap()) {
            let (pairs, []) = hex.as_bytes().as_chunks::<2>() else { panic!("no bytes") };
            let body = open(table, id, &pairs.iter().map(byte).collect::<Vec<u8>>());
            let digits: String = sealed(id, &body).iter().map(|byte| format!("{byte:02x}")).collect();
            self.tamper(&format!("UPDATE {table} SET sealed = decode('{digits}', 'hex') WHERE id = '{id}'"));
        }
    }

    /// Makes the file what it was before contents were sealed.
    pub(crate) fn make_as_before_seals(&self) {
        let connection = Connection::open(self.path()).unwrap();
        for table in ["intent", "remembered"] {
            connection
                .execute_batch(&format!("ALTER TABLE {table} ADD COLUMN body TEXT NOT NULL DEFAULT ''"))
                .unwrap();
            for (id, body) in bodies(&connection, table) {
                connection
                    .execute(&format!("UPDATE {table} SET body = ?2 WHERE id = ?1"), params![id, body])
                    .unwrap();
            }
        }
        connection
            .execute_batch(&format!(
                "DROP TRIGGER audit_is_not_shortened;
                 DROP TRIGGER audit_redeems_once;
                 CREATE TRIGGER audit_is_not_shortened BEFORE DELETE ON audit
                     BEGIN SELECT raise(ABORT, 'the audit trail is not shortened'); END;
                 DROP TABLE beginning;
                 DROP TABLE carried;
                 DROP TABLE past;
                 DROP TABLE device;
                 DROP TABLE refresh_token;
                 DROP TABLE access_token;
                 DROP TABLE code;
                 DROP TABLE connection;
                 DROP TABLE parked;
                 DROP TABLE client;
                 DROP TABLE unbound;
                 DROP TABLE tally;
                 DROP INDEX intent_over;
                 DROP INDEX intent_to_purge;
                 DROP TABLE lock;
                 ALTER TABLE intent DROP COLUMN sealed;
                 ALTER TABLE intent DROP COLUMN touched_at;
                 ALTER TABLE intent DROP COLUMN purged_at;
                 ALTER TABLE intent DROP COLUMN is_awaited;
                 ALTER TABLE remembered DROP COLUMN sealed;
                 PRAGMA user_version = {};",
                SEALED - 1
            ))
            .unwrap();
    }

    /// All bytes of the ledger's files, or of its tables.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        if let At::Database(_) = self.at {
            return self.bytes_of_tables();
        }
        let folder = std::fs::read_dir(self.path().parent().unwrap()).unwrap();
        let files = folder.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
        files.flat_map(|path| std::fs::read(path).unwrap()).collect()
    }
}

impl Place {
    /// Everything that stands in the tables, and what the digits in it stand for.
    fn bytes_of_tables(&self) -> Vec<u8> {
        let everything = self.database(|database| {
            database.psql(
                "SET xmlbinary = hex;
                 SELECT query_to_xml(format('SELECT * FROM %I', tablename), true, true, '')
                 FROM pg_tables WHERE schemaname = 'public'",
            )
        });
        let mut bytes = everything.as_bytes().to_vec();
        for digits in everything.split(|letter: char| !letter.is_ascii_hexdigit()) {
            let (pairs, _) = digits.as_bytes().as_chunks::<2>();
            bytes.extend(pairs.iter().map(byte));
        }
        bytes
    }
}

fn byte(pair: &[u8; 2]) -> u8 {
    u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()
}

/// Whether some bytes stand in others.
pub(crate) fn holds(bytes: &[u8], some: &[u8]) -> bool {
    bytes.windows(some.len()).any(|window| window == some)
}

fn bodies(connection: &Connection, table: &str) -> Vec<(String, String)> {
    let mut statement = connection.prepare(&format!("SELECT id, sealed FROM {table}")).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(|row: rusqlite::Result<(String, Vec<u8>)>| {
        let (id, sealed) = row.unwrap();
        let body = open(table, &id, &sealed);
        (id, body)
    })
    .collect()
}

fn cipher() -> LessSafeKey {
    let bytes = key(7).derive("yesgate/ledger/contents/1");
    LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, &bytes).unwrap())
}

fn label(table: &str, id: &str) -> Aad<Vec<u8>> {
    let part = |part: &str| [&(part.len() as u64).to_be_bytes(), part.as_bytes()].concat();
    Aad::from([MAGIC.to_vec(), part(table), part(id)].concat())
}

fn open(table: &str, id: &str, sealed: &[u8]) -> String {
    let (nonce, text) = sealed.strip_prefix(MAGIC).unwrap().split_first_chunk::<NONCE_LEN>().unwrap();
    let mut text = text.to_vec();
    let nonce = Nonce::assume_unique_for_key(*nonce);
    let plain = cipher().open_in_place(nonce, label(table, id), &mut text).unwrap();
    String::from_utf8(plain.to_vec()).unwrap()
}

fn seal(table: &str, id: &str, text: &[u8]) -> Vec<u8> {
    let nonce = [5; NONCE_LEN];
    let mut text = text.to_vec();
    cipher()
        .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), label(table, id), &mut text)
        .unwrap();
    [MAGIC.as_slice(), &nonce, &text].concat()
}

const MAGIC: &[u8; 4] = b"ygl1";

/// The schema from which on contents are sealed.
pub(crate) const SEALED: i64 = 8;

/// The schema that this program writes.
pub(crate) const LATEST: i64 = 12;
