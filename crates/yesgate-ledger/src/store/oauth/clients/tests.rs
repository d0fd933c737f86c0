//! How much work a registration is, counted in steps of the database, and that its counts are right.

use std::cell::Cell;
use std::net::{IpAddr, Ipv4Addr};

use jiff::Timestamp;
use rusqlite::{Connection, StatementStatus};
use yesgate_core::oauth::{AuthMethod, ClientKind, OAuthClient, OAuthClientId, Presentation};

use super::{RoomFound, UNBOUND_BEFORE, bind, end, forget, one, room, see, store};
use crate::engine::sqlite::{connection, schema};
use crate::engine::value::{Row, Value, values};
use crate::engine::{Dialect, Expected, Sql};
use crate::error::LedgerError;
use crate::oauth::Room;
use crate::seal::Seal;

/// A database that counts the steps that its statements take.
struct Counting {
    connection: Connection,
    steps: Cell<i32>,
}

impl Counting {
    fn new() -> Self {
        let mut connection = connection::open_in_memory().unwrap();
        schema::migrate(&mut connection, &Seal::of_this_process().unwrap()).unwrap();
        Self { connection, steps: Cell::new(0) }
    }

    /// Adds the steps that a statement took. It comes back from the cache with its own count.
    fn count(&self, sql: &str) {
        let statement = self.connection.prepare_cached(sql).unwrap();
        self.steps.set(self.steps.get() + statement.reset_status(StatementStatus::VmStep));
    }

    /// The counts that the database keeps, and those that there are.
    fn counts(&self) -> [Vec<(String, i64)>; 2] {
        let unbound = "is_bound = 0 AND ended_at IS NULL AND kind <> 'operator'";
        let kept = "SELECT origin, clients FROM unbound ORDER BY origin".to_owned();
        let counted = format!(
            "SELECT '', count(*) FROM client WHERE {unbound} UNION ALL SELECT * FROM
             (SELECT origin, count(*) FROM client WHERE {unbound} AND origin IS NOT NULL GROUP BY origin ORDER BY origin)"
        );
        [kept, counted].map(|sql| {
            let sql_of: &dyn Sql = &self.connection;
            sql_of.map(&sql, &[], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
        })
    }
}

impl Sql for Counting {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn execute(&self, sql: &str, values: &[Value<'_>]) -> Result<u64, LedgerError> {
        let changed = Sql::execute(&self.connection, sql, values);
        self.count(sql);
        changed
    }

    fn write(&self, sql: &str, values: &[Value<'_>], expected: Expected) -> Result<(), LedgerError> {
        expected.check(Sql::execute(self, sql, values)?, 1)
    }

    fn each(
        &self,
        sql: &str,
        values: &[Value<'_>],
        visit: &mut dyn FnMut(&Row) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        let looked = self.connection.each(sql, values, visit);
        self.count(sql);
        looked
    }

    fn begin_snapshot(&self) -> Result<(), LedgerError> {
        self.connection.begin_snapshot()
    }

    fn end_snapshot(&self) -> Result<(), LedgerError> {
        self.connection.end_snapshot()
    }
}

fn at(second: u32) -> Timestamp {
    Timestamp::from_second(i64::from(second)).unwrap()
}

fn id(seed: u32) -> OAuthClientId {
    let mut entropy = [0; 32];
    entropy[..4].copy_from_slice(&seed.to_be_bytes());
    OAuthClientId::from_entropy(entropy)
}

fn client(seed: u32) -> OAuthClient {
    OAuthClient {
        id: id(seed),
        kind: ClientKind::Registered,
        presentation: Presentation::default(),
        redirect_uris: Vec::new(),
        method: AuthMethod::None,
        method_was_chosen: true,
        grants: [].into(),
        scope: None,
        secret: None,
        management: None,
        created_at: at(seed),
        used_at: at(seed),
        is_bound: false,
        ended_at: None,
    }
}

fn address(last: u8) -> IpAddr {
    Ipv4Addr::new(192, 0, 2, last).into()
}

/// The steps of one more registration from one address where so many are there, half of them from that address.
fn steps(there: u32, room_for: Room) -> i32 {
    let database = Counting::new();
    for seed in 0..there {
        store(&database, &client(seed), Some(address(u8::from(seed % 2 == 0)))).unwrap();
    }
    database.steps.set(0);
    let new = client(there);
    assert_eq!(one(&database, &new.id).unwrap(), None);
    match room(&database, Some(address(1)), room_for).unwrap() {
        RoomFound::Free => {}
        RoomFound::Full(going) => forget(&database, &going.unwrap().id).unwrap(),
    }
    store(&database, &new, Some(address(1))).unwrap();
    let [kept, counted] = database.counts();
    assert_eq!(kept, counted);
    database.steps.get()
}

/// O-R6: a registration is as many steps of the database where there are ten thousand as where there are twenty; where there
/// is room, where somebody else makes room, and where one of the same address does.
#[test]
fn a_registration_is_as_much_work_however_many_there_are() {
    let free = |_| Room { all: u32::MAX, each: u32::MAX };
    let full = |there| Room { all: there, each: u32::MAX };
    let full_there = |there| Room { all: u32::MAX, each: there / 2 };
    for room in [free, full, full_there] as [fn(u32) -> Room; 3] {
        let (few, many) = (steps(20, room(20)), steps(10_000, room(10_000)));
        assert!(few > 0 && many <= few + few / 10, "{few} and {many} steps");
    }
}

/// O-R6: whatever becomes of a client, it is counted where it stands, and no count stays of an address that has none.
#[test]
fn what_the_database_counts_is_what_there_is() {
    let database = Counting::new();
    let sql: &dyn Sql = &database;
    let right = |expected: &[(&str, i64)]| {
        let [kept, counted] = database.counts();
        assert_eq!(kept, counted);
        let kept: Vec<_> = kept.iter().map(|(origin, clients)| (origin.as_str(), *clients)).collect();
        assert_eq!(kept, expected);
    };
    right(&[("", 0)]);
    for seed in 0..6 {
        store(sql, &client(seed), Some(address(u8::from(seed % 2 == 0)))).unwrap();
    }
    store(sql, &client(6), None).unwrap();
    store(sql, &OAuthClient { kind: ClientKind::Operator, ..client(7) }, None).unwrap();
    right(&[("", 7), ("192.0.2.0", 3), ("192.0.2.1", 3)]);
    // One that changed, or was used, stands where it stood.
    store(sql, &OAuthClient { redirect_uris: vec!["https://a.example/b".into()], ..client(0) }, None)
        .unwrap();
    see(sql, &id(2), at(100)).unwrap();
    right(&[("", 7), ("192.0.2.0", 3), ("192.0.2.1", 3)]);
    bind(sql, &id(0), at(100)).unwrap();
    bind(sql, &id(0), at(101)).unwrap();
    end(sql, &id(0), at(102)).unwrap();
    forget(sql, &id(0)).unwrap();
    right(&[("", 6), ("192.0.2.0", 3), ("192.0.2.1", 2)]);
    forget(sql, &id(2)).unwrap();
    forget(sql, &id(2)).unwrap();
    end(sql, &id(4), at(103)).unwrap();
    right(&[("", 4), ("192.0.2.0", 3)]);
    bind(sql, &id(6), at(104)).unwrap();
    right(&[("", 3), ("192.0.2.0", 3)]);
    sql.put(&format!("DELETE FROM {UNBOUND_BEFORE}"), values![i64::MAX]).unwrap();
    right(&[("", 0)]);
}
