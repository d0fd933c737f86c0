//! How few rows are read.

use rusqlite::Connection;
use serde_json::json;

use crate::figures::{figures, today};
use crate::support::{Place, open_question};

/// However many questions there are, the rows that are read are few, and they are found by their key.
#[tokio::test]
async fn the_sums_stay_few() {
    let place = Place::in_file();
    let ledger = place.open(1).await;
    for seed in 1..=30 {
        open_question(&ledger, seed, &json!({"n": seed})).await;
    }
    assert_eq!(today(&figures(&ledger).await)[0], 30);
    drop(ledger);
    let connection = Connection::open(place.path()).unwrap();
    let rows: i64 = connection.query_row("SELECT count(*) FROM tally", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 1);
    let plan: String = connection
        .query_row(
            "EXPLAIN QUERY PLAN SELECT * FROM tally WHERE org = 'acme' AND day BETWEEN 1 AND 2",
            [],
            |row| row.get("detail"),
        )
        .unwrap();
    assert!(plan.contains("SEARCH tally USING PRIMARY KEY"), "{plan}");
}
