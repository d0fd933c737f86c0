//! What only a file of SQLite has: who may read it, its older schemas, its traces, its disk.
//!
//! None of it says anything about a ledger elsewhere, so `.config/nextest.toml` leaves these tests out of the suites
//! `on_file` and `on_postgres`.

mod disk;
mod files;
mod migrations;
mod tables;
mod traces;
